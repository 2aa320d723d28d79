//! Facts of this program: its sources, its compiler and its build options.

use std::fs;
use std::time::{Duration, UNIX_EPOCH};

use super::tree::Facts;
use crate::clock;

/// Set by the build script; empty where it does not know the value.
const BUILD: &[(&str, &str)] = &[
    ("build_opt_level", env!("BYTELAB_OPT_LEVEL")),
    ("build_profile", env!("BYTELAB_PROFILE")),
    ("build_target", env!("BYTELAB_TARGET")),
    ("build_target_cpu", env!("BYTELAB_TARGET_CPU")),
    ("build_target_features", env!("BYTELAB_TARGET_FEATURES")),
    ("bytelab_revision", env!("BYTELAB_REVISION")),
    ("bytelab_version", env!("CARGO_PKG_VERSION")),
    ("rustc_version", env!("BYTELAB_RUSTC_VERSION")),
];

/// Whether the figures of the built-in methods are meaningful.
pub fn optimised() -> bool {
    !cfg!(debug_assertions) && env!("BYTELAB_OPT_LEVEL") != "0"
}

pub(super) fn add(facts: &mut Facts) {
    for (fact, text) in BUILD {
        facts.insert((*fact).into(), (!text.is_empty()).then_some(*text).into());
    }
    facts.insert("build_debug_assertions".into(), cfg!(debug_assertions).into());
    facts.insert("build_optimised".into(), optimised().into());
    facts.insert("bytelab_dirty".into(), env!("BYTELAB_DIRTY").parse::<bool>().ok().into());
    // Two builds of one revision can differ by edits in the meantime.
    let file = std::env::current_exe().ok().and_then(|path| fs::metadata(path).ok());
    let modified =
        file.as_ref().and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    facts.insert("program_bytes".into(), file.as_ref().map(fs::Metadata::len).into());
    facts.insert(
        "program_modified".into(),
        modified.map(|time: Duration| clock::rfc3339(time)).into(),
    );
}
