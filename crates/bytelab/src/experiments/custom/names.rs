//! The names in braces that commands and paths may contain.

use std::ops::Range;

use lab::template;

use super::place::{Mistake, suggestion};

/// `{file}`, `{dir}` and so on: names besides the params.
pub(super) const DIR: &str = "dir";
pub(super) const FILE: &str = "file";
pub(super) const HERE: &str = "here";
pub(super) const METHOD: &str = "method";
/// From `check --against old=PATH,new=PATH`: the program of the side.
pub(crate) const PROGRAM: &str = "program";
pub(super) const OWN: [&str; 4] = [DIR, FILE, HERE, METHOD];

/// The names in braces that each part of the file may contain.
pub(super) struct Placeholders {
    /// Params, and the location of the file.
    pub(super) constant: Vec<&'static str>,
    /// These, the folder of the point, and the data.
    pub(super) of_method: Vec<&'static str>,
    /// These, and the method: for hooks that belong to a method.
    pub(super) of_hook: Vec<&'static str>,
}

/// Fails if a name is unknown.
pub(super) fn check(text: &str, known: &[&str], span: &Range<usize>) -> Result<(), Mistake> {
    for name in template::names(text) {
        if !known.contains(&name) {
            let known = suggestion(name, known.iter().copied());
            let text = format!(
                "{{{name}}} is no param and nothing else that is known{known}; {{{{{name}}}}} stands \
                 for the text {{{name}}}"
            );
            return Err(Mistake::at(span, text));
        }
    }
    Ok(())
}

/// A process measures one file and ends, so strings from the file may live as long as the process.
pub(super) fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}
