//! The calls through the bindings, on the host stream. The references are plain Rust and share no code with the
//! library.

mod calls;
mod extremes;
mod library;
mod means;
mod random;
mod refusals;
mod softmax;
mod sums;
mod threads;
