#!/usr/bin/env bash
# Proves the library on a machine with a GPU, in one call and without a network: builds, runs every test, points
# compute-sanitizer at every kernel, measures. `prove_on_gpu.sh --help` says the rest.
set -u

readonly NOT_RUN=77 # the exit status of a program that could not do its work here
readonly SANITIZER_FOUND=86
readonly STEPS=(build host gpu sanitize large bench peers)
readonly TOOLS=(racecheck initcheck memcheck synccheck)

usage() {
    cat <<'END'
usage: prove_on_gpu.sh [--only STEP,STEP...] [--quick] [BUILD_FOLDER]

Needs an NVIDIA GPU, CUDA 12.8 or newer with compute-sanitizer, CMake, ninja, Python 3 with NumPy and rich.

  BUILD_FOLDER   where to build; without it build/gpu
  --only STEPS   these steps alone, on what is built already (unless build is one of them)
  --quick        less of sanitize; large and peers only where --only names them

  build      the library, the tests, the tool and the benchmark, for this machine's GPU
  host       every test that needs no GPU, and the tool's
  gpu        every test of the GPU against the host device, bit by bit
  sanitize   the four tools of compute-sanitizer over every kernel; each must find its planted bug and nothing else
  large      more than 2^31 elements: 32 GB of memory and 18 GB of the GPU's
  bench      the library beside CUB; a demand that is missed is shown and fails nothing
  peers      bench/gate.py: PyTorch, torch.compile, Triton and CUB at the same jobs, where they are installed

environment
  LOGS       a folder for the whole output of each step; without it BUILD_FOLDER/logs
  BUDGET     seconds that the whole may take, 900; a step that would overrun is stopped and has failed

exit status: 0 all passed, 1 something failed, 2 something that it needs is missing or an argument is wrong
END
}

refuse() {
    printf 'prove_on_gpu: %s\n' "$1" >&2
    exit 2
}

# ---- arguments

only=""
quick=0
build_folder=""
while (($# > 0)); do
    case "$1" in
    -h | --help)
        usage
        exit 0
        ;;
    --only)
        [[ -n "${2:-}" ]] || refuse "--only needs a list of steps: ${STEPS[*]}"
        only="$2"
        shift
        ;;
    --only=*) only="${1#--only=}" ;;
    --quick) quick=1 ;;
    -*) refuse "unknown option $1; --help lists them" ;;
    *)
        [[ -z "$build_folder" ]] || refuse "one build folder, not two: $build_folder and $1"
        build_folder="$1"
        ;;
    esac
    shift
done

is_step() {
    local step
    for step in "${STEPS[@]}"; do
        [[ "$1" == "$step" ]] && return 0
    done
    return 1
}

IFS=, read -r -a only_steps <<<"$only"
for step in "${only_steps[@]}"; do
    is_step "$step" || refuse "no step is called '$step'; the steps are: ${STEPS[*]}"
done

wanted() {
    if [[ -n "$only" ]]; then
        [[ ",$only," == *",$1,"* ]]
    else
        ((!quick)) || [[ "$1" != large && "$1" != peers ]]
    fi
}

# ---- what it needs

source_folder="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build_folder="${build_folder:-$source_folder/build/gpu}"
command -v nvcc >/dev/null || PATH="$PATH:/usr/local/cuda/bin"

check_needs() {
    local missing=() program
    { command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; } || missing+=("an NVIDIA GPU")
    for program in nvcc compute-sanitizer cmake ninja python3 taskset; do
        command -v "$program" >/dev/null || missing+=("$program")
    done
    local list
    list="$(printf ', %s' "${missing[@]}")"
    ((${#missing[@]} == 0)) || refuse "not found, and needed: ${list#, }"
    wanted build || [[ -f "$build_folder/CMakeCache.txt" ]] || refuse "nothing is built in $build_folder: run the step build"
}
check_needs

mkdir -p "$build_folder" "${LOGS:=$build_folder/logs}" || exit 2
build_folder="$(cd "$build_folder" && pwd)"
LOGS="$(cd "$LOGS" && pwd)"
tests_folder="$build_folder/tests"
planted_folder="$tests_folder/planted"
results="$(mktemp -d)" || exit 2
trap 'rm -rf "$results"' EXIT

# ---- running things and keeping what came of them

readonly DEADLINE=$((EPOCHSECONDS + ${BUDGET:-900}))

# within SECONDS COMMAND...: runs it for so long at most, and never past the deadline of the whole.
within() {
    local limit="$1" left=$((DEADLINE - EPOCHSECONDS))
    shift
    ((limit < left)) || limit="$left"
    if ((limit < 1)); then
        echo "not started: the budget is spent"
        return 124
    fi
    timeout --kill-after=5 "$limit" "$@"
}

# record KEY VERDICT NOTE: a line of the table, timed since $began.
record() { printf '%s\t%s\t%s\n' "$2" "$((SECONDS - began))" "$3" >"$results/$1"; }

verdict_of() {
    case "$1" in
    0) echo passed ;;
    124 | 137) echo "TIMED OUT" ;;
    "$NOT_RUN") echo "not run" ;;
    *) echo FAILED ;;
    esac
}

# What harness programs say last: "NAME: 12 checks passed, 0 failed".
tally_of() { grep -a -o '[0-9]* checks passed, [0-9]* failed' "$1" | tail -n 1; }

# ---- steps

step_build() {
    local log="$LOGS/build.log" status note="" began=$SECONDS
    # pip asks for an index only where it is told to: without a network it would wait for one.
    {
        PIP_NO_INDEX="${PIP_NO_INDEX-1}" within 100 cmake -S "$source_folder" -B "$build_folder" -G Ninja \
            -D CMAKE_BUILD_TYPE=Release -D WARP_REDUCE_CUDA=ON -D WARP_REDUCE_BUILD_TESTS=ON \
            -D WARP_REDUCE_BUILD_TOOLS=ON -D WARP_REDUCE_BUILD_BENCH=ON &&
            PIP_NO_INDEX="${PIP_NO_INDEX-1}" within 240 cmake --build "$build_folder"
    } >"$log" 2>&1
    status=$?
    if ((status == 0)); then
        note="$(stat -L -c '%s' "$build_folder/lib/libwarp_reduce.so") bytes of libwarp_reduce.so"
    else
        note="$(grep -a -m 1 -E 'FAILED:|error|CMake Error' "$log" | cut -c 1-80)"
    fi
    record build "$(verdict_of $status)" "$note"
    return $status
}

# The names under "The following tests did not run:" and "FAILED:" of CTest's output, "NAME (reason)" each.
tests_under() {
    awk -v title="$1" 'index($0, title) { on = 1; next } on && /^[ \t]+[0-9]+ - / { print $3; next } on && NF { on = 0 }' "$2"
}

# Tests that want cargo, pkg-config or a second compiler may be missing where there is none; no others.
may_be_missing() { grep -v -E '^(rust_|install\.pkg_config$|vectors\.are_what_the_program_makes$|header_compiles_alone\.)'; }

# run_tests KEY SECONDS CTEST_ARGUMENTS...
run_tests() {
    local key="$1" limit="$2" log="$LOGS/$1.log" status note missing began=$SECONDS
    shift 2
    within "$limit" ctest --test-dir "$build_folder" --output-on-failure --no-tests=error "$@" >"$log" 2>&1
    status=$?
    note="$(grep -a -o -E '[0-9]+ tests failed out of [0-9]+' "$log" | tail -n 1)"
    tests_under "The following tests FAILED:" "$log" >"$results/failed.$key"
    tests_under "The following tests did not run:" "$log" >"$results/not_run.$key"
    missing="$(may_be_missing <"$results/not_run.$key" | tr '\n' ' ')"
    if ((status == 0)) && [[ -n "$missing" ]]; then
        status=1
        note="must run here and did not: $missing"
    fi
    record "$key" "$(verdict_of $status)" "$note"
}

step_host() { run_tests host 240 --label-exclude '^gpu$' --parallel 8; }

# large_sizes is a step of its own.
# The tests are many small calls: without the multi-process service the GPU would give each program a slice of time in
# turn, and they would take three times as long.
with_multi_process_service() {
    local folder="$results/mps" status
    command -v nvidia-cuda-mps-control >/dev/null || { "$@"; return; }
    mkdir -p "$folder"
    export CUDA_MPS_PIPE_DIRECTORY="$folder" CUDA_MPS_LOG_DIRECTORY="$folder"
    nvidia-cuda-mps-control -d >/dev/null 2>&1
    "$@"
    status=$?
    echo quit | nvidia-cuda-mps-control >/dev/null 2>&1
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    return $status
}

gpu_tests() { run_tests gpu 340 --label-regex '^gpu$' --exclude-regex '^large_sizes' --parallel 8; }
step_gpu() { with_multi_process_service gpu_tests; }

step_large() {
    local log="$LOGS/large.log" status began=$SECONDS
    WARP_REDUCE_TESTS_LARGE=1 within 300 "$tests_folder/large_sizes" gpu >"$log" 2>&1
    status=$?
    ((status != NOT_RUN)) || status=1
    record large "$(verdict_of $status)" "$(tally_of "$log")"
}

# sanitize TOOL SLOT COMMAND...: the harness checks what calls return, the tool what kernels do. Of what runs at the same
# time each has a slot, with ports of its own to talk to its program and a core of its own: the host device takes as many
# threads as it may have cores.
sanitize() {
    local tool="$1" slot="$2" options=(--port "$((49200 + 10 * $2))")
    shift 2
    [[ "$tool" != memcheck ]] || options+=(--report-api-errors no)
    # Clusters that stay have more barriers in shared memory than these tools follow unasked; synccheck is slow with so
    # many.
    if [[ "$tool" == racecheck || ("$tool" == synccheck && "${*: -1}" == many_*) ]]; then
        options+=(--num-cuda-barriers 65536)
    fi
    printf '\n== %s: %s\n' "$tool" "$*"
    within 300 taskset --cpu-list "$((slot % $(nproc)))" \
        compute-sanitizer --tool "$tool" "${options[@]}" --error-exitcode "$SANITIZER_FOUND" "$@"
}

complaint_of() {
    case "$1" in
    memcheck) echo 'Invalid __global__ read' ;;
    racecheck) echo 'Race reported between' ;;
    initcheck) echo 'Uninitialized __global__ memory read' ;;
    synccheck) echo 'Barrier error detected' ;;
    esac
}

find_planted_bug() {
    local tool="$1" log="$results/planted.$1.log" status began=$SECONDS
    sanitize "$tool" 0 "$planted_folder/planted_bugs" "$tool" >"$log" 2>&1
    status=$?
    if ((status != 0)) && grep -a -q -i "$(complaint_of "$tool")" "$log" && grep -a -q "planted_for_$tool" "$log"; then
        record "planted.$tool" found "$(complaint_of "$tool")"
    else
        record "planted.$tool" "NOT FOUND" "$(grep -a -m 1 -E 'ERROR SUMMARY|RACECHECK SUMMARY|Error' "$log" | cut -c 1-80)"
    fi
}

# Whether a tool is shown a part of every_kernel. Large arrays say nothing about shared memory or barriers that small
# ones don't. synccheck (2025.3) takes the barriers of a cluster's ninth block and those behind it for others as soon as
# some ten such clusters run at a time: it says so of a kernel of 30 lines too that does nothing but wait for states, and
# of none with clusters of 8 blocks, or with 8 clusters of 9.
is_watched() {
    case "$2" in
    large*) [[ "$1" == memcheck || "$1" == initcheck ]] && ((!quick)) ;;
    many_wide_clusters*) [[ "$1" != synccheck ]] ;;
    esac
}

# What a tool watches, a line each: parts of every_kernel, and random problems.
walks_for() {
    local part
    for part in $("$planted_folder/every_kernel" parts); do
        if is_watched "$1" "$part"; then
            echo "$1 $planted_folder/every_kernel gpu $part"
        fi
    done
    echo "$1 $tests_folder/random_problems gpu $((quick ? 40 : 60))"
}

# walk SLOT TOOL COMMAND...: it must pass its own checks, and the tool must have looked and found nothing.
walk() {
    local slot="$1" tool="$2" log status began=$SECONDS
    log="$results/walk.$tool.${*: -1}.log"
    shift 2
    sanitize "$tool" "$slot" "$@" >"$log" 2>&1
    status=$?
    echo "took $((SECONDS - began)) s" >>"$log"
    if ((status == 0)) && ! grep -a -q -E \
        'ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards displayed \(0 errors, 0 warnings\)' "$log"; then
        status=1
    fi
    printf '%s\t%s\t%s\n' "$status" "$((SECONDS - began))" "$*" >"$log.status"
}

# A line of the table of all walks of a tool: the first that failed, or how many there were.
record_walks() {
    local tool="$1" log="$LOGS/sanitize.$1.log" status seconds what verdict=passed note="" walks=0 longest=0 file
    cat "$results/walk.$tool".*.log >"$log" 2>/dev/null
    for file in "$results/walk.$tool".*.status; do
        IFS=$'\t' read -r status seconds what <"$file" || continue
        walks=$((walks + 1))
        ((seconds <= longest)) || longest="$seconds"
        if ((status != 0)) && [[ "$verdict" == passed ]]; then
            verdict="$(verdict_of "$status")"
            note="${what##*/} $(grep -a -h -E '^========= .*SUMMARY' "$results/walk.$tool.${what##* }.log" |
                grep -a -v -E ': 0 (errors|hazards)' | head -n 1 | cut -c 11-60)"
        fi
    done
    [[ "$walks" == "$(walks_for "$tool" | wc -l)" ]] || verdict="NOT DONE"
    printf '%s\t%s\t%s\n' "$verdict" "$longest" "${note:-$walks programs, nothing found}" >"$results/walk.$tool"
}

# Watched programs stand in each other's way on the GPU (racecheck over "tiles" on an H200: 3 s alone, 6 s each of 4 side
# by side, 37 s each of 14).
readonly WALKS_AT_A_TIME=4

step_sanitize() {
    local tool
    for tool in "${TOOLS[@]}"; do
        find_planted_bug "$tool"
    done
    export DEADLINE SANITIZER_FOUND results
    export -f within sanitize walk
    for tool in "${TOOLS[@]}"; do
        walks_for "$tool"
    done | xargs -P "$WALKS_AT_A_TIME" -L 1 --process-slot-var=SLOT bash -c 'walk "$SLOT" "$@"' walk
    for tool in "${TOOLS[@]}"; do
        record_walks "$tool"
    done
    cat "$results"/planted.*.log >"$LOGS/sanitize.planted.log" 2>/dev/null
}

step_bench() {
    local log="$LOGS/bench.log" status began=$SECONDS
    {
        within 150 "$build_folder/bin/gpu_bench" && within 150 "$build_folder/bin/reduce_bench" &&
            within 200 "$build_folder/bin/softmax_bench" && within 60 "$build_folder/bin/softmax_bench" hot rows
    } >"$log" 2>&1
    status=$?
    record bench "$(verdict_of $status)" "$(grep -a -E 'demands missed|^bench:' "$log" | paste -s -d ',')"
}

step_peers() {
    local log="$LOGS/peers.log" status began=$SECONDS
    within 240 python3 "$source_folder/bench/gate.py" \
        --library "$build_folder/lib/libwarp_reduce.so" --peers "$build_folder/lib/libgate_peers.so" \
        --compile 60 --budget 230 --output "$LOGS/gate.json" >"$log" 2>&1
    status=$?
    record peers "$(verdict_of $status)" "$(grep -a -E '^(grid|common): ' "$log" | paste -s -d ',' | cut -c 1-118)"
}

# ---- the table

failures=0

# row STEP KEY NAME: a step that was wanted and left no result has failed.
row() {
    local step="$1" key="$2" name="$3" verdict="NOT DONE" seconds=0 note=""
    wanted "$step" || return 0
    [[ ! -f "$results/$key" ]] || IFS=$'\t' read -r verdict seconds note <"$results/$key"
    case "$verdict" in
    passed | found | "not run") ;;
    *) failures=$((failures + 1)) ;;
    esac
    printf '%-28s %-9s %4d s  %s\n' "$name" "$verdict" "$seconds" "$note"
}

# some TITLE FILE MOST: at most so many lines of a file, under a title.
some() {
    local lines
    [[ -s "$2" ]] || return 0
    lines="$(wc -l <"$2")"
    printf '%s\n' "$1"
    head -n "$3" "$2" | cut -c 1-118 | sed 's/^/  /'
    ((lines <= $3)) || printf '  ... and %d more in the logs\n' "$((lines - $3))"
}

print_table() {
    local tool
    printf '\n%s\n' "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1), $(nvcc --version | grep -o 'release [0-9.]*')"
    row build build "build"
    row host host "host device and tools"
    row gpu gpu "GPU against host, by memcmp"
    for tool in "${TOOLS[@]}"; do
        row sanitize "planted.$tool" "$tool, planted bug"
        row sanitize "walk.$tool" "$tool, every kernel"
    done
    row large large "more than 2^31 elements"
    row bench bench "bench beside CUB"
    row peers peers "the gate, beside PyTorch"
    cat "$results"/failed.* 2>/dev/null | paste -s -d ' ' | fold -s -w 114 | grep . >"$results/failed"
    some "failed tests:" "$results/failed" 4
    cat "$results"/not_run.* 2>/dev/null | paste -s -d ' ' | fold -s -w 114 | grep . >"$results/not_run"
    some "tests not run (rust_* want cargo, install.pkg_config pkg-config, vectors.* mpmath):" "$results/not_run" 3
    grep -a -h MISSED "$LOGS/bench.log" 2>/dev/null | tr -s ' ' >"$results/missed"
    ! wanted bench || some "demands missed:" "$results/missed" 8
    if ((failures == 0)); then
        printf 'passed in %d s; logs in %s\n' "$SECONDS" "$LOGS"
    else
        printf '%d FAILED, in %d s; logs in %s\n' "$failures" "$SECONDS" "$LOGS"
    fi
}

# ---- all of it: large arrays keep one core busy while the others test, and so do the host's tests beside the sanitizers,
# which have a few cores; the benchmarks have the machine to themselves.

run_steps() {
    local step
    for step in "${STEPS[@]}"; do
        ! wanted "$step" || rm -f "$LOGS/$step.log"
    done
    if wanted build && ! step_build; then
        return
    fi
    ! wanted large || step_large &
    ! wanted gpu || step_gpu
    ! wanted host || step_host &
    ! wanted sanitize || step_sanitize
    wait
    ! wanted bench || step_bench
    ! wanted peers || step_peers
}
run_steps
print_table
((failures == 0))
