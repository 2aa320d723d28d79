//! How a doubt about some cells becomes a note.

use crate::run::{Note, Run};

/// A kind of doubt.
#[derive(Clone, Copy)]
pub(super) struct Kind<'a> {
    pub(super) what: &'a str,
    /// What to do about it, or what it means.
    pub(super) advice: &'a str,
}

/// Cells with what was found in each.
pub(super) type Found = Vec<(usize, String)>;

/// One note per cell, or a single one where there are many.
pub(super) fn note(run: &Run, kind: Kind<'_>, found: Found, notes: &mut Vec<Note>) {
    let Kind { what, advice } = kind;
    if found.len() > SINGLE_MAX {
        let mut names: Vec<&str> = Vec::new();
        for (cell, _) in &found {
            let name = run.cells[*cell].method.as_str();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let of = if names.len() == found.len() {
            format!("{} methods", names.len())
        } else {
            format!("{} cells of {}", found.len(), plural(names.len(), "method"))
        };
        let more = if names.len() > NAMED_MAX { " …" } else { "" };
        names.truncate(NAMED_MAX);
        let text = format!("{what} in {of} ({}{more}): {advice}", names.join(", "));
        notes.push(Note { method: None, point: None, text });
        return;
    }
    for (index, detail) in found {
        let cell = &run.cells[index];
        let several = run.cells.iter().filter(|other| other.method == cell.method).count() > 1;
        let detail = if detail.is_empty() { detail } else { format!(": {detail}") };
        notes.push(Note {
            method: Some(cell.method.clone()),
            point: several.then(|| cell.point.clone()),
            text: format!("{what}{detail}; {advice}"),
        });
    }
}

fn plural(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

pub(super) fn percent(share: f64) -> String {
    if share < 0.1 { format!("{:.1} %", 100.0 * share) } else { format!("{:.0} %", 100.0 * share) }
}

/// About so many cells a doubt is noted one by one.
const SINGLE_MAX: usize = 3;

/// So many methods are named in one note.
const NAMED_MAX: usize = 6;
