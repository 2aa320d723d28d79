//! Loads files into memory, and prints the way of each and the reason.
//!
//! ```sh
//! cargo run --release -p byte-stream --example load -- FILE...
//! ```

use std::process::ExitCode;

use byte_stream::{LoadOptions, load};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example")]
fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for path in std::env::args_os().skip(1) {
        match load(&path, &LoadOptions::new()) {
            Ok(loaded) => {
                println!("{}: {} bytes, {}", path.display(), loaded.len(), loaded.choice());
            }
            Err(error) => {
                eprintln!("{error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
