//! The study that needed a sampler was in C++: every record was read, and kept with a probability.
//! This is that program, unchanged.

use lab::experiment::{How, Method};

use super::drawing::PARAMS;

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
    let how = How::worker(["{workers/cpp}", "sampling", name]);
    let method = Method::contender(format!("cpp-{name}"), about, how).reads(&PARAMS).job(kind);
    Method { default: false, ..method }
}
