//! `cargo run -p generate-bindings` writes the bindings anew after the header has changed.

use std::process::ExitCode;

fn main() -> ExitCode {
    for file in generate_bindings::generate() {
        if let Err(error) = std::fs::write(&file.place, file.text) {
            eprintln!("{}: {error}", file.place.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
