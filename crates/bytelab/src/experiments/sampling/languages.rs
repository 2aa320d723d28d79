//! The study that asked for a sampler was in C++: every record read, and kept with a probability. Here it is as it was.

use lab::experiment::{How, Method};
use lab::run::Role;

pub(super) fn methods() -> Vec<Method> {
    vec![
        method("read", "C++: ifstream::read of 64 bytes, kept with a probability; binary only"),
        method("getline", "C++: getline, kept with a probability; text only"),
    ]
}

fn method(name: &str, about: &str) -> Method {
    let argv = ["{workers/cpp}", "sampling", name];
    Method {
        name: format!("cpp-{name}"),
        about: about.to_owned(),
        reads: vec!["samples", "records", "kind", "dir", "file"],
        how: How::Worker { argv: argv.map(str::to_owned).to_vec() },
        role: Role::Contender,
        bypasses_cache: false,
        // One of the two does not fit.
        default: false,
        job: None,
    }
}
