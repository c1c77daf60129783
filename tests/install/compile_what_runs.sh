#!/bin/sh
# compile_what_runs.sh COMPILER ARGUMENT... - a compiler launcher for tests that build the host device once more. Its
# kernels are compiled for several instruction sets, of which this processor runs one: the others are compiled all the
# same, but without optimization, which is two thirds of their time.
case " $* " in
*.baseline.cpp*) better=avx2 ;;
*.avx2.cpp*) better=avx512vl ;;
*) exec "$@" ;;
esac
if grep -q "^flags.* $better\b" /proc/cpuinfo 2>/dev/null; then
    exec "$@" -O0
fi
exec "$@"
