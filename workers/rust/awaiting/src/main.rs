//! The methods of the experiment `awaiting`: `bytelab-awaiting awaiting METHOD` speaks the line
//! protocol.

#[path = "../../src/protocol.rs"]
mod protocol;

#[path = "../../../../crates/experiments/src/shared/fold.rs"]
#[expect(dead_code, reason = "the bytes of one whole file are folded one by one")]
mod fold;

mod jobs;
mod stream;
mod tasks;

use std::process::ExitCode;

use bytelab_awaiting::ByteStream;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [experiment, method] if experiment == "awaiting" => {
            protocol::serve(method, |arguments| jobs::job(method, arguments))
        }
        _ => {
            eprintln!(
                "bytelab-awaiting: it is started by bytelab, with an experiment and a method"
            );
            ExitCode::from(2)
        }
    }
}
