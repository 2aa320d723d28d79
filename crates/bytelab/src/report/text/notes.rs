//! The notes below the tables: at most three short ones, of those that could change the answer; or
//! all of them as they are.

use lab::run::{Warning, WarningKind};
use unicode_width::UnicodeWidthStr;

use super::page::Page;
use crate::report::model::Varying;
use crate::report::model::table::Style;

const SHOWN_MAX: usize = 3;
/// More methods than these are counted instead of named.
const NAMED_MAX: usize = 2;
const MARK: &str = "note: ";

pub(super) fn all(page: &mut Page, notes: &[Warning], varying: &Varying<'_>) {
    for note in notes.iter().filter(|note| !stands_above(note)) {
        let about = match about(note, varying) {
            about if about.is_empty() => about,
            about => format!("{about}: "),
        };
        page.paragraph(Style::Dim, MARK, &format!("{about}{note}"));
    }
}

/// Writes the most important ones, and returns the number of the others.
pub(super) fn some(page: &mut Page, notes: &[Warning], varying: &Varying<'_>) -> usize {
    let all = notes.iter().filter(|note| !stands_above(note)).count();
    let mut short: Vec<Short> = Vec::new();
    for new in notes.iter().filter_map(|note| Short::new(note, varying)) {
        match short.iter_mut().find(|old| old.is_like(&new)) {
            Some(old) => old.add(new),
            None => short.push(new),
        }
    }
    short.sort_by_key(|short| short.rank);
    short.truncate(SHOWN_MAX);
    for short in &short {
        page.paragraph(Style::Dim, MARK, &short.text(page.width() - MARK.width()));
    }
    all.saturating_sub(short.iter().map(|short| short.notes).sum())
}

/// The method and the point that it concerns.
fn about(note: &Warning, varying: &Varying<'_>) -> String {
    let at = note.point.as_ref().map(|point| varying.shown(point)).unwrap_or_default();
    match (note.method.as_deref(), at.as_str()) {
        (Some(method), "") => method.to_owned(),
        (Some(method), at) => format!("{method} ({at})"),
        (None, at) => at.to_owned(),
    }
}

/// Whether the page already has a line for it, for each cell separately.
fn stands_above(note: &Warning) -> bool {
    match note.kind {
        WarningKind::WrongAnswer | WarningKind::Failed(_) | WarningKind::Skipped(_) => true,
        _ => note.missing_metric().is_some(),
    }
}

/// Notes of one kind in few words: what was found, in which methods, and what to do.
struct Short {
    /// The smaller, the more it may change the answer.
    rank: u8,
    before: String,
    methods: Vec<String>,
    after: String,
    /// The number of notes that it stands for.
    notes: usize,
}

impl Short {
    /// None for a note that cannot change a verdict.
    fn new(note: &Warning, varying: &Varying<'_>) -> Option<Short> {
        let detail = |end: &str| note.detail.split(end).next().unwrap_or_default().to_owned();
        let advice = format!(": {}", note.advice);
        let what_to_do = note.advice.split_once("; ").map(|(_, advice)| format!(": {advice}"));
        let not_counted = format!(" do not count{}", what_to_do.unwrap_or_default());
        let (rank, before, after) = match &note.kind {
            WarningKind::Noted if note.method.is_none() => (0, whole(note, varying), ""),
            WarningKind::Imported => {
                let text =
                    "bytelab did not measure this: no verdict; import five such files a side";
                (1, text.to_owned(), "")
            }
            WarningKind::FailedRuns => (1, whole(note, varying), ""),
            WarningKind::NoVerdict => (2, "no verdict on ".to_owned(), advice.as_str()),
            WarningKind::Reference => (3, whole(note, varying), "; or name a --reference"),
            WarningKind::NotCounted => (4, "samples of ".to_owned(), not_counted.as_str()),
            WarningKind::Throttled => {
                (5, String::new(), " waited for a CPU: give its control group a larger quota")
            }
            WarningKind::Waited => {
                (5, String::new(), " waited for a CPU: measure on a quieter machine")
            }
            WarningKind::Steal => (6, detail(" (steal)"), ": measure at another time"),
            WarningKind::WarmUp => (7, "slow first samples of ".to_owned(), ": add --warm-up"),
            WarningKind::Chance => (8, detail(":"), ": measure a surprising verdict again"),
            WarningKind::Predecessor => (9, whole(note, varying), ""),
            WarningKind::Modes => (9, "two modes of ".to_owned(), ": look at --percentiles"),
            WarningKind::Noted => (10, whole(note, varying), ""),
            _ => return None,
        };
        let is_sentence = !before.is_empty() && !before.ends_with(' ');
        let methods = match &note.cells {
            _ if is_sentence => Vec::new(),
            Some(cells) => cells.methods.clone(),
            None => vec![about(note, varying)],
        };
        Some(Short { rank, before, methods, after: after.to_owned(), notes: 1 })
    }

    fn is_like(&self, other: &Short) -> bool {
        (self.rank, &self.before) == (other.rank, &other.before)
    }

    fn add(&mut self, other: Short) {
        self.methods.extend(other.methods);
        self.notes += other.notes;
    }

    /// On one line of this width, unless it is a sentence that was recorded while measuring.
    fn text(&self, width: usize) -> String {
        let Short { before, methods, after, .. } = self;
        let named = format!("{before}{}{after}", methods.join(", "));
        if methods.len() <= NAMED_MAX && named.width() <= width || methods.is_empty() {
            return named;
        }
        let plural = if methods.len() == 1 { "" } else { "s" };
        format!("{before}{} method{plural}{after}", methods.len())
    }
}

fn whole(note: &Warning, varying: &Varying<'_>) -> String {
    match about(note, varying) {
        about if about.is_empty() => note.to_string(),
        about => format!("{about}: {note}"),
    }
}
