#!/bin/sh
# package_check.sh BUILD_FOLDER
#
# Packages warp-reduce-sys as `cargo publish` would, unpacks it outside the repository, builds the library from the
# packaged sources and runs the tests there, those of a crate that depends on it too. Needs no network once the
# crates of Cargo.lock are in cargo's cache. The environment is that of a distribution's package being built, and
# worse; the folder's name has a comma and a space. A package that has passed is not tried again until its bytes, or
# those of the check, change.
set -eu

build=$1
mkdir -p "$build"
build=$(cd "$build" && pwd)
cd "$(dirname "$0")"
launcher=$(cd ../../tests/install && pwd)/compile_what_runs.sh
CARGO_TARGET_DIR="$build" cargo package --package warp-reduce-sys --locked --offline --allow-dirty --no-verify
package=$(ls -t "$build"/package/warp-reduce-sys-*.crate | head -n 1)
digest=$(cat "$package" package_check.sh "$launcher" dependent/* dependent/*/* 2>/dev/null | sha256sum | cut -d ' ' -f 1)
if [ "$(cat "$build/passed" 2>/dev/null || true)" = "$digest" ]; then
    echo "$(basename "$package") has passed before, byte for byte"
    exit 0
fi

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
outside="$temporary/a, b"
mkdir -p "$outside/warp-reduce-sys"
tar -xzf "$package" -C "$outside/warp-reduce-sys" --strip-components 1
cp -R dependent "$outside"

export DESTDIR="$temporary/elsewhere" CMAKE_INSTALL_MODE=ABS_SYMLINK CMAKE_BUILD_TYPE=Debug CMAKE_CONFIG_TYPE=Debug
export CFLAGS=-Ofast CXXFLAGS='-Ofast -ffast-math -mrecip' LDFLAGS=-ffast-math
export CMAKE_CXX_COMPILER_LAUNCHER="$launcher"
unset WARP_REDUCE_LIB_DIR
export WARP_REDUCE_NO_PKG_CONFIG=1 CARGO_TARGET_DIR="$outside/target"
(cd "$outside/warp-reduce-sys" && cargo metadata --locked --offline --format-version 1 >/dev/null)
# Of one workspace, so that the library is built once for both; its lock is the package's with one crate more.
cp "$outside/warp-reduce-sys/Cargo.lock" "$outside"
printf '[workspace]\nmembers = ["warp-reduce-sys", "dependent"]\nresolver = "2"\n' >"$outside/Cargo.toml"
cd "$outside"
cargo test --offline --workspace
cargo run --offline --package warp-reduce-sys --example sum
cargo run --offline --package warp-reduce-sys --example trace_columns
if [ -e "$DESTDIR" ]; then
    echo "the library was installed into DESTDIR"
    exit 1
fi

# refused SENTENCE_BEGINS VARIABLE... - the build script under other targets: it stops with that sentence.
refused() {
    sentence="warp-reduce-sys: $1"
    shift
    if answer=$(env TARGET=a-target CARGO_CFG_TARGET_OS=linux CARGO_CFG_TARGET_POINTER_WIDTH=64 "$@" \
        "$outside"/target/debug/build/warp-reduce-sys-*/build-script-build 2>&1 >/dev/null); then
        echo "not refused: $*"
        exit 1
    fi
    case $answer in
    "$sentence"*) ;;
    *)
        echo "expected: $sentence...; the answer: $answer"
        exit 1
        ;;
    esac
}
refused "programs for x86_64-unknown-linux-musl are linked statically here" TARGET=x86_64-unknown-linux-musl \
    CARGO_CFG_TARGET_ENV=musl CARGO_CFG_TARGET_FEATURE=crt-static,fxsr,sse,sse2
refused "programs for a-target are linked statically here" CARGO_CFG_TARGET_ENV=gnu CARGO_CFG_TARGET_FEATURE=sse,crt-static
refused "libwarp_reduce is for Linux on 64-bit processors" CARGO_CFG_TARGET_POINTER_WIDTH=32
refused "libwarp_reduce is for Linux on 64-bit processors" CARGO_CFG_TARGET_OS=windows

echo "$digest" >"$build/passed"
