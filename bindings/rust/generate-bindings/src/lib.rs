//! Makes the bindings of `warp-reduce-sys`, and its page of general rules, from `capi/include/warp_reduce.h`.
//!
//! The result depends on the header and on the versions in `Cargo.lock` alone: the target is fixed, the two standard
//! headers come from `freestanding/`, and prettyplease does the formatting.

mod header;
mod markdown;

use bindgen::callbacks::{EnumVariantCustomBehavior, EnumVariantValue, ParseCallbacks};
use bindgen::{Builder, EnumVariation, RustEdition, RustTarget};
use std::path::{Path, PathBuf};

/// A file that is kept in the tree, and the text that the header gives for it today.
pub struct Generated {
    pub place: PathBuf,
    pub text: String,
}

/// Everything that is made from the header.
///
/// # Panics
///
/// Where libclang cannot be loaded (the environment variable `LIBCLANG_PATH` says in which folder it is) or the header
/// does not compile.
pub fn generate() -> [Generated; 2] {
    let header = header_text();
    let sources = workspace().join("warp-reduce-sys/src");
    [
        Generated {
            place: sources.join("bindings.rs"),
            text: header::with_rules_of_tiles(&bindings(), &header),
        },
        Generated {
            place: sources.join("rules.md"),
            text: header::rules_of_every_call(&header),
        },
    ]
}

/// The header itself.
///
/// # Panics
///
/// Where it cannot be read.
pub fn header_text() -> String {
    let place = header_place();
    std::fs::read_to_string(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()))
}

fn header_place() -> PathBuf {
    workspace().join("../../capi/include/warp_reduce.h")
}

fn bindings() -> String {
    let oldest_rust = RustTarget::stable(77, 0)
        .unwrap_or_else(|_| panic!("bindgen does not know the crate's rust-version"));
    Builder::default()
        .header(path(&header_place()))
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
