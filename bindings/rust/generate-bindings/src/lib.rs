//! Makes the bindings of `warp-reduce-sys` from `capi/include/warp_reduce.h`.
//!
//! The result depends on the header and on the versions in `Cargo.lock` alone: the target is fixed, the two standard
//! headers come from `freestanding/`, and prettyplease does the formatting.

mod markdown;

use bindgen::callbacks::{EnumVariantCustomBehavior, EnumVariantValue, ParseCallbacks};
use bindgen::{Builder, EnumVariation, RustEdition, RustTarget};
use std::path::{Path, PathBuf};

/// Where the bindings are kept.
pub fn checked_in() -> PathBuf {
    workspace().join("warp-reduce-sys/src/bindings.rs")
}

/// The text that the header gives today.
///
/// # Panics
///
/// Where libclang cannot be loaded (the environment variable `LIBCLANG_PATH` says in which folder it is) or the header
/// does not compile.
pub fn generate() -> String {
    let oldest_rust = RustTarget::stable(77, 0)
        .unwrap_or_else(|_| panic!("bindgen does not know the crate's rust-version"));
    Builder::default()
        .header(path(&workspace().join("../../capi/include/warp_reduce.h")))
        .clang_args([
            "-x",
            "c",
            "-std=c99",
            "--target=x86_64-unknown-linux-gnu",
            "-nostdinc",
            "-isystem",
        ])
        .clang_arg(path(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("freestanding"),
        ))
        .clang_arg("-fparse-all-comments")
        .allowlist_item("(wr|WR)_.*")
        .rust_target(oldest_rust)
        .rust_edition(RustEdition::Edition2021)
        .use_core()
        .default_enum_style(EnumVariation::NewType {
            is_bitfield: false,
            is_global: false,
        })
        .derive_default(true)
        .merge_extern_blocks(true)
        .layout_tests(true)
        .parse_callbacks(Box::new(HeaderForRust))
        .formatter(bindgen::Formatter::Prettyplease)
        .generate()
        .unwrap_or_else(|error| panic!("{error}"))
        .to_string()
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn path(path: &Path) -> String {
    path.to_str()
        .unwrap_or_else(|| panic!("{} is not valid UTF-8", path.display()))
        .to_owned()
}

#[derive(Debug)]
struct HeaderForRust;

impl ParseCallbacks for HeaderForRust {
    fn process_comment(&self, comment: &str) -> Option<String> {
        Some(markdown::from_plain_text(comment))
    }

    /// These values make a C enum 32 bits wide; a Rust newtype has its width already.
    fn enum_variant_behavior(
        &self,
        _enum_name: Option<&str>,
        variant: &str,
        _value: EnumVariantValue,
    ) -> Option<EnumVariantCustomBehavior> {
        variant
            .ends_with("_FORCE_INT32")
            .then_some(EnumVariantCustomBehavior::Hide)
    }
}
