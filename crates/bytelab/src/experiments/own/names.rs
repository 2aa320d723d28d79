//! The names in braces that commands and paths may hold.

use std::ops::Range;

use lab::template;

use super::place::{Mistake, suggestion};

/// `{file}`, `{dir}` and so on: what is known beside the params.
pub(super) const DIR: &str = "dir";
pub(super) const FILE: &str = "file";
pub(super) const HERE: &str = "here";
pub(super) const METHOD: &str = "method";
/// Of `check --against old=PATH,new=PATH`: the program of the side.
pub(crate) const PROGRAM: &str = "program";
pub(super) const OWN: [&str; 4] = [DIR, FILE, HERE, METHOD];

/// A name that is not known is a mistake.
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
