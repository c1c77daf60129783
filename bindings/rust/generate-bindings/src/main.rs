//! `cargo run -p generate-bindings` writes the bindings anew after the header has changed.

use std::process::ExitCode;

fn main() -> ExitCode {
    let place = generate_bindings::checked_in();
    match std::fs::write(&place, generate_bindings::generate()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", place.display());
            ExitCode::FAILURE
        }
    }
}
