//! The HTTP clients that byte-stream competes with: `bytelab-http reading METHOD` speaks the line
//! protocol.

#[path = "../../src/protocol.rs"]
mod protocol;

#[path = "../../../../crates/experiments/src/shared/fold.rs"]
#[expect(dead_code, reason = "no client reads a resource in parts that are folded apart")]
mod fold;

mod jobs;

mod atto;
mod hyper;
mod reqwest;
mod ureq;

use std::process::ExitCode;

use jobs::{Job, Remote, Result, job};
use protocol::Arguments;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [experiment, method] if experiment == "reading" => {
            protocol::serve(method, |arguments| reading(method, arguments))
        }
        _ => {
            eprintln!("bytelab-http: it is started by bytelab, with an experiment and a method");
            ExitCode::from(2)
        }
    }
}

/// An error that starts with `skip ` skips the method.
fn reading(method: &str, arguments: &Arguments) -> Result<Box<dyn Job>> {
    use jobs::Access::{Bytes, Chunks, Whole};
    let each = |make: &dyn Fn(&Remote) -> Result<Box<dyn jobs::Pass>>| job(arguments, make);
    match method {
        "attohttpc" => each(&|remote| Ok(Box::new(atto::Atto::new(remote)?))),
        "hyper" => each(&|remote| Ok(Box::new(hyper::Hyper::new(remote)?))),
        "reqwest" => each(&|remote| Ok(Box::new(reqwest::Async::new(remote, Chunks)?))),
        "reqwest-whole" => each(&|remote| Ok(Box::new(reqwest::Async::new(remote, Whole)?))),
        "reqwest-bytes" => each(&|remote| Ok(Box::new(reqwest::Async::new(remote, Bytes)?))),
        "reqwest-blocking" => each(&|remote| Ok(Box::new(reqwest::Blocking::new(remote)?))),
        "ureq" => each(&|remote| Ok(Box::new(ureq::Ureq::new(remote, Chunks)?))),
        "ureq-whole" => each(&|remote| Ok(Box::new(ureq::Ureq::new(remote, Whole)?))),
        _ => Err(format!("there is no method {method}")),
    }
}
