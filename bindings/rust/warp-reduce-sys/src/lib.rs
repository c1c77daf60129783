#![doc = include_str!("../README.md")]
#![doc = include_str!("rules.md")]
#![no_std]

#[rustfmt::skip]
#[allow(non_camel_case_types)]
mod bindings;

pub use bindings::*;
