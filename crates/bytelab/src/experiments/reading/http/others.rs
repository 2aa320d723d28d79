//! Clients of others: Rust libraries in a worker that is built on demand, and the command curl.

use lab::experiment::{Command, How, Method};

use super::remote::contender;

pub(super) fn methods() -> Vec<Method> {
    vec![
        worker("attohttpc", "attohttpc: read into a reused buffer; plain HTTP only"),
        worker("hyper", "hyper: chunks, asynchronous"),
        worker("reqwest", "reqwest: chunks, asynchronous"),
        worker("reqwest-blocking", "reqwest, blocking: read into a reused buffer"),
        worker("reqwest-bytes", "reqwest, a byte per await"),
        worker("reqwest-whole", "reqwest: bytes(), the whole"),
        worker("ureq", "ureq: read into a reused buffer"),
        worker("ureq-whole", "ureq: read_to_end, the whole in a new Vec"),
        Method {
            // One curl reads one resource, whatever the value of `parallel`.
            reads: vec!["source", "server", "size", "file"],
            ..contender("curl", "the command curl, to /dev/null", &[], curl()).as_yardstick()
        },
    ]
}

/// A method of `workers/rust/http`.
fn worker(name: &str, about: &str) -> Method {
    let how = How::worker(["{workers/rust/http}", "reading", name]);
    contender(name, about, &["buffer"], how)
}

fn curl() -> How {
    // The certificate is not verified: its file name would become a part of what is read.
    let fixed = ["curl", "--silent", "--show-error", "--fail", "--insecure", "--noproxy", "*"];
    let rest = ["--output", "/dev/null", "{url}"];
    How::Command(Command::plain([fixed.as_slice(), &rest].concat()))
}
