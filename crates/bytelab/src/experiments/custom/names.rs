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

/// What the parts of the file may name in braces.
pub(super) struct Placeholders {
    /// Params, and where the file is.
    pub(super) constant: Vec<&'static str>,
    /// These, the folder of the point, and the data.
    pub(super) of_method: Vec<&'static str>,
    /// These, and the method: in hooks that belong to one.
    pub(super) of_hook: Vec<&'static str>,
}

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

/// A program measures one file and ends: what the file says may live as long as the program.
pub(super) fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}
