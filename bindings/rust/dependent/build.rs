//! Checks what warp-reduce-sys tells the build scripts of its dependents.

use std::env;
use std::path::PathBuf;

fn main() {
    // Without a library there is nothing to tell.
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    assert!(told("DEP_WARP_REDUCE_INCLUDE")
        .join("warp_reduce.h")
        .is_file());
    assert!(told("DEP_WARP_REDUCE_LIB_DIR")
        .join("libwarp_reduce.so")
        .is_file());
    assert!(told("DEP_WARP_REDUCE_ROOT").is_dir());
}

fn told(name: &str) -> PathBuf {
    PathBuf::from(env::var_os(name).unwrap_or_else(|| panic!("{name} is not set")))
}
