#!/bin/sh
# package_check.sh BUILD_FOLDER
#
# Packages warp-reduce-sys as `cargo publish` would, unpacks it outside the repository, builds the library from the
# packaged sources and runs the tests there, those of a crate that depends on it too. Needs no network once the
# crates of Cargo.lock are in cargo's cache. A package that has passed is not tried again until its bytes, or those of
# the check, change.
set -eu

build=$1
mkdir -p "$build"
build=$(cd "$build" && pwd)
cd "$(dirname "$0")"
CARGO_TARGET_DIR="$build" cargo package --package warp-reduce-sys --locked --offline --allow-dirty --no-verify
package=$(ls -t "$build"/package/warp-reduce-sys-*.crate | head -n 1)
digest=$(cat "$package" package_check.sh dependent/* dependent/*/* 2>/dev/null | sha256sum | cut -d ' ' -f 1)
if [ "$(cat "$build/passed" 2>/dev/null || true)" = "$digest" ]; then
    echo "$(basename "$package") has passed before, byte for byte"
    exit 0
fi

outside=$(mktemp -d)
trap 'rm -rf "$outside"' EXIT
mkdir "$outside/warp-reduce-sys"
tar -xzf "$package" -C "$outside/warp-reduce-sys" --strip-components 1
cp -R dependent "$outside"

unset WARP_REDUCE_LIB_DIR
export WARP_REDUCE_NO_PKG_CONFIG=1 CARGO_TARGET_DIR="$outside/target"
cd "$outside/warp-reduce-sys"
cargo test --locked --offline
cargo run --locked --offline --example sum
cargo run --locked --offline --example trace_columns
cd "$outside/dependent"
cargo test --offline

echo "$digest" >"$build/passed"
