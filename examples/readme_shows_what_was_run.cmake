# The C program in README is C_EXAMPLE to the letter, and its Rust code is in CRATE_README, whose code `cargo test` runs.
cmake_minimum_required(VERSION 3.25)

function(contains text part what)
    string(FIND "${text}" "${part}" position)
    if(position EQUAL -1)
        message(FATAL_ERROR "${README} does not show ${what}")
    endif()
endfunction()

file(READ "${README}" readme)
file(READ "${C_EXAMPLE}" example)
contains("${readme}" "```c\n${example}```" "${C_EXAMPLE}")

file(READ "${CRATE_README}" crate_readme)
string(FIND "${readme}" "```rust\n" begin)
if(begin EQUAL -1)
    message(FATAL_ERROR "${README} has no Rust code")
endif()
string(SUBSTRING "${readme}" ${begin} -1 rust)
string(FIND "${rust}" "\n```\n" end)
string(SUBSTRING "${rust}" 0 ${end} rust)
contains("${crate_readme}" "${rust}" "Rust code of ${CRATE_README}")
