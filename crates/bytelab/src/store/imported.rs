//! Which runs came from elsewhere, so that no command from them is started.

use lab::run::Environment;

const FROM: &str = "imported_from";

/// Records in a run's environment from where it was imported.
pub(crate) fn mark_imported(environment: &mut Environment, from: &str) {
    environment.facts.insert(FROM.to_owned(), from.into());
}

/// Commands of such a run are untrusted: anybody may have written them.
pub(crate) fn is_imported(environment: &Environment) -> bool {
    environment.facts.contains_key(FROM)
}
