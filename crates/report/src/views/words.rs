//! Words and phrases that all kinds of text share, and text that cannot control a terminal.

use std::borrow::Cow;
use std::collections::BTreeSet;

use analysis::BUSY_SHARE;
use model::metric::WALL;
use model::param::bytes;
use model::path_text::byte_of;
use model::run::{CacheState, Cell, Imported, MeasuredRevision, Plan, Role, Run};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::units::ns;
use super::{View, view};

/// The text with every character escaped that would move the cursor, start an escape sequence or
/// change the direction of writing; white space of any kind becomes a space.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => escaped.push(' '),
            c => match byte_of(c) {
                Some(byte) => escaped.extend(std::ascii::escape_default(byte).map(char::from)),
                None if is_control(c) => escaped.extend(c.escape_unicode()),
                None => escaped.push(c),
            },
        }
    }
    Cow::Owned(escaped)
}

/// The lines of a file as they may be shown on a terminal: escaped as by [`escape_controls`], but
/// for tabs and the zero width space, which Org mode needs.
pub fn escape_controls_in_lines(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for part in text.split_inclusive(['\n', '\t', '\u{200b}']) {
        let end = part.chars().next_back().filter(|end| ['\n', '\t', '\u{200b}'].contains(end));
        escaped.push_str(&escape_controls(&part[..part.len() - end.map_or(0, char::len_utf8)]));
        escaped.extend(end);
    }
    escaped
}

/// Whether a terminal interprets the character as a control, such as a movement of the cursor.
pub(crate) fn is_control(c: char) -> bool {
    c.is_control()
        || byte_of(c).is_some()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// The text with its middle left out, so that it takes at most `width` columns.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let head = fitting(text.chars(), room.div_ceil(2));
    let tail: String = fitting(text.chars().rev(), room / 2).chars().rev().collect();
    format!("{head}…{tail}")
}

/// The first of these characters that take at most this many columns.
pub(crate) fn fitting(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect()
}

/// These facts in a line, without the unknown ones.
pub(crate) fn joined(facts: impl IntoIterator<Item = String>) -> String {
    let known = facts.into_iter().filter(|fact| !fact.is_empty());
    known.collect::<Vec<_>>().join(" · ")
}

/// The plan of the measurement, or its source.
pub(crate) fn measured(plan: &Plan) -> String {
    if let Some(Imported { tool, file }) = &plan.imported {
        return format!("measured by {tool}, not by bytelab · imported from {file}");
    }
    let conditions = joined([
        cache(plan.cache).to_owned(),
        constraints(plan.memory_limit_bytes, plan.medium.as_deref()),
    ]);
    format!("{conditions} · {}{}", rounds(plan), margin(plan))
}

/// The limit of the memory of each method, and the slow medium of the files, if there are any.
pub(crate) fn constraints(memory_limit_bytes: Option<u64>, medium: Option<&str>) -> String {
    let memory = memory_limit_bytes.map(|limit| format!("in {} of memory", bytes(limit)));
    joined([memory.unwrap_or_default(), medium.unwrap_or_default().to_owned()])
}

/// Up to which difference two methods are the same, if that was given.
pub(crate) fn margin(plan: &Plan) -> String {
    plan.margin_percent.map(|n| format!(" · same: within {n} %")).unwrap_or_default()
}

pub(crate) fn cache(state: CacheState) -> &'static str {
    match state {
        CacheState::Warm => "warm cache",
        CacheState::Cold => "cold cache",
        CacheState::AsIs => "cache as is",
    }
}

pub(crate) fn rounds(plan: &Plan) -> String {
    if !plan.design.is_fixed() {
        let seconds = plan.time_limit_ns.div_ceil(1_000_000_000);
        let of = if plan.limits_all { "" } else { " of rounds" };
        return format!("until all is decided, or {seconds} s{of}");
    }
    let sessions = match plan.sessions {
        0 | 1 => String::new(),
        n => format!(" in up to {n} sessions"),
    };
    let rounds = u64::from(plan.rounds) * u64::from(plan.sessions.max(1));
    format!("up to {rounds} rounds{sessions}")
}

/// The revisions whose programs were measured, each with its commit; empty if there is none.
pub(crate) fn revisions(run: &Run) -> String {
    let shown = |revision: &MeasuredRevision| {
        let changed = if revision.commit.dirty == Some(true) { "-dirty" } else { "" };
        let subject = revision.commit.subject.as_deref().unwrap_or_default();
        let subject = shortened(subject, SUBJECT_WIDTH);
        format!("{}{changed} {subject}", revision.label()).trim_end().to_owned()
    };
    let revisions = MeasuredRevision::from_facts(&run.environment.facts);
    revisions.iter().map(shown).collect::<Vec<_>>().join(" · ")
}

/// The width of the subject of a commit beside others.
const SUBJECT_WIDTH: usize = 50;

/// Where all words are explained.
pub const GLOSSARY: &str = "https://github.com/bytelab/bytelab/blob/main/docs/glossary.md";

/// `AMD EPYC 7763, 2 CPUs`: the machine, in the words that distinguish it.
pub(crate) fn machine(run: &Run) -> String {
    let facts = &run.environment.facts;
    let model = facts.get("cpu_model").and_then(serde_json::Value::as_str).unwrap_or_default();
    let model = model.split(" @ ").next().unwrap_or_default();
    let model = ["(R)", "(TM)", " CPU", " Processor"]
        .iter()
        .fold(model.to_owned(), |model, word| model.replace(word, ""));
    let cpus = facts.get("cpu_threads").and_then(serde_json::Value::as_u64);
    let cpus = cpus.map(|n| format!("{n} CPU{}", if n == 1 { "" } else { "s" }));
    let known = [model.trim().to_owned(), cpus.unwrap_or_default()];
    let known: Vec<String> = known.into_iter().filter(|fact| !fact.is_empty()).collect();
    known.join(", ")
}

/// `6 to 96 rounds`: those that were taken, of the method with the fewest and of the one with the
/// most; none before the first sample, and for what another program measured.
pub(crate) fn rounds_taken(run: &Run) -> Option<String> {
    taken_parts(run).map(|(rounds, _)| rounds)
}

/// The rounds and sessions that were taken, and the time of all samples.
pub(crate) fn taken(run: &Run) -> Option<String> {
    let (rounds, sessions) = taken_parts(run)?;
    let of_samples = |cell: &Cell| -> f64 {
        cell.counted(WALL).map(|(sample, ns)| ns * sample.ops as f64).sum()
    };
    let all_ns: f64 = run.cells.iter().map(of_samples).sum();
    Some(format!("{rounds} in {sessions}, {} of samples", ns(all_ns)))
}

/// The rounds and the sessions that were taken.
fn taken_parts(run: &Run) -> Option<(String, String)> {
    let contenders = run.cells.iter().filter(|cell| cell.role == Role::Contender);
    let of_cell = |cell: &Cell| {
        let counted = cell.counted(WALL).map(|(sample, _)| sample.session);
        let sessions: Vec<u32> = counted.collect();
        let rounds = sessions.len();
        (rounds > 0).then(|| (rounds, sessions.into_iter().collect::<BTreeSet<u32>>().len()))
    };
    let taken: Vec<(usize, usize)> = contenders.filter_map(of_cell).collect();
    if run.plan.imported.is_some() || taken.is_empty() {
        return None;
    }
    let range = |numbers: &mut dyn Iterator<Item = usize>, noun: &str| {
        let (low, high) = numbers.fold((usize::MAX, 0), |(l, h), n| (l.min(n), h.max(n)));
        let plural = if high == 1 { "" } else { "s" };
        match low {
            low if low == high => format!("{low} {noun}{plural}"),
            low => format!("{low} to {high} {noun}{plural}"),
        }
    };
    let rounds = range(&mut taken.iter().map(|(rounds, _)| *rounds), "round");
    let sessions = range(&mut taken.iter().map(|(_, sessions)| *sessions), "session");
    Some((rounds, sessions))
}

/// `2026-01-02 03:04 UTC` from an RFC 3339 time in UTC.
pub(crate) fn minute(started: &str) -> String {
    let minute: String = started.chars().take(16).collect();
    if minute.is_empty() { minute } else { minute.replacen('T', " ", 1) + " UTC" }
}

/// A smaller share of periods in which the control group was throttled is not mentioned.
const THROTTLED_SHARE: f64 = 0.05;

/// `other programs used 66 % of the CPU time`; none where the machine was quiet, or is not known.
pub fn noise(run: &Run) -> Option<String> {
    let share = |fact: &str, least: f64| {
        let share = run.environment.facts.get(fact).and_then(serde_json::Value::as_f64);
        share.filter(|share| *share > least).map(|share| format!("{:.0} %", 100.0 * share))
    };
    let others = share("busy_share_of_others", BUSY_SHARE)
        .map(|share| format!("other programs used {share} of the CPU time"));
    let quota = share("cgroup_throttled_share", THROTTLED_SHARE).map(|share| {
        format!("the quota of its control group stopped this run in {share} of the quota's periods")
    });
    let said: Vec<String> = quota.into_iter().chain(others).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// From this share on, another run is likely to have other times.
const REPEAT_SHARE: f64 = 0.2;

/// The same, with what follows for whoever quotes the figures of a table.
pub(crate) fn noise_with_advice(run: &Run) -> Option<String> {
    let noise = noise(run)?;
    let share = run.environment.facts.get("busy_share_of_others");
    let share = share.and_then(serde_json::Value::as_f64).unwrap_or_default();
    if share <= REPEAT_SHARE || view(run) == View::Rows {
        return Some(noise);
    }
    let contenders = run.cells.iter().filter(|cell| cell.role == Role::Contender);
    let methods: BTreeSet<&str> = contenders.map(|cell| cell.method.as_str()).collect();
    let advice = match methods.len() {
        0 | 1 => "repeat before you quote a time",
        _ => "quote only the ratio, or repeat",
    };
    Some(format!("{noise}; {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_text_keeps_both_ends_and_fits() {
        assert_eq!(shortened("mmap-populate", 13), "mmap-populate");
        assert_eq!(shortened("mmap-populate", 9), "mmap…late");
        assert_eq!(shortened("読み込み方法", 7), "読…法");
        for width in 1..20 {
            assert!(shortened("読み込みabc方法x", width).width() <= width, "{width}");
        }
    }
}
