# wr_add_isa_variant(<target> <source> <name> [flag...])
#
# Compiles <source> once more into <target>, for another instruction set: with the flags, and with WR_ISA defined as
# <name>, which names the namespace that the source puts its functions into.
#
# Whatever else such a source defines must be local to it (always inlined, or in its own namespace): of an ordinary
# inline function the linker keeps one copy for all, and it may be the one that this machine's processor cannot run.
# The test host.isa_variants_share_no_code sees to that.

include_guard(GLOBAL)

function(wr_add_isa_variant target source name)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    cmake_path(GET source STEM LAST_ONLY stem)
    set(variant "${CMAKE_CURRENT_BINARY_DIR}/${stem}.${name}.cpp")
    file(CONFIGURE OUTPUT "${variant}" CONTENT "#include \"@source@\" // NOLINT(bugprone-suspicious-include)\n" @ONLY)
    # Without optimization the compiler leaves functions of the standard library out of line, for variants to share.
    set(options ${ARGN} $<$<NOT:$<CONFIG:Release>>:-O2>)
    set_source_files_properties(
        "${variant}" PROPERTIES COMPILE_OPTIONS "${options}" COMPILE_DEFINITIONS "WR_ISA=${name}"
    )
    target_sources(${target} PRIVATE "${variant}")
endfunction()
