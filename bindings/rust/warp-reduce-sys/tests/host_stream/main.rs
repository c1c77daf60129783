//! The calls through the bindings, on the host stream. The references are plain Rust and share no code with the
//! library.

mod calls;
mod dots;
mod extremes;
mod field_arithmetic;
mod fields;
mod library;
mod means;
mod options;
mod pairwise;
mod positions;
mod random;
mod refusals;
mod segments;
mod softmax;
mod sums;
mod threads;
mod tiles;
