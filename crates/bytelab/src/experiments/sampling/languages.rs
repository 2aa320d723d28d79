//! The study that needed a sampler was in C++: every record was read, and kept with a probability.
//! This is that program, unchanged.

use lab::experiment::{How, Method};
use lab::run::Role;

pub(super) fn methods() -> Vec<Method> {
    vec![
        method(
            "binary",
            "read",
            "C++: ifstream::read of 64 bytes, kept with a probability; binary only",
        ),
        method("text", "getline", "C++: getline, kept with a probability; text only"),
    ]
}

fn method(kind: &'static str, name: &str, about: &str) -> Method {
    let argv = ["{workers/cpp}", "sampling", name];
    Method {
        name: format!("cpp-{name}"),
        about: about.to_owned(),
        reads: vec!["samples", "records", "kind", "dir", "file"],
        how: How::Worker { argv: argv.map(str::to_owned).to_vec() },
        role: Role::Contender,
        bypasses_cache: false,
        default: false,
        job: Some(kind),
    }
}
