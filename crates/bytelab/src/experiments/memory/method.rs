//! What all methods of this experiment share.

use lab::experiment::{Build, How, Method};
use lab::run::Role;

pub(super) fn method(
    job: &'static str,
    name: &str,
    about: &str,
    reads: &[&'static str],
    build: Build,
) -> Method {
    Method {
        name: name.to_owned(),
        about: about.to_owned(),
        reads: reads.to_vec(),
        how: How::BuiltIn(build),
        role: Role::Contender,
        bypasses_cache: false,
        default: true,
        job: Some(job),
    }
}
