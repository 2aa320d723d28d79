//! The lines above the tables: the question, the date, and how it was measured.

use lab::run::{CacheState, Imported, Plan, Run};

use super::page::{Page, Style};
use super::varying::Varying;

pub(super) fn write(page: &mut Page, run: &Run, varying: &Varying<'_>) {
    let fixed = run.points.first().map(|point| varying.fixed(point)).unwrap_or_default();
    let question = if run.question.is_empty() { &run.experiment } else { &run.question };
    page.paragraph(Style::Bold, &format!("{}: ", run.experiment), question);
    let facts = [
        if run.id.is_empty() { String::new() } else { format!("run {}", run.id) },
        run.label.clone().unwrap_or_default(),
        minute(&run.started),
        measured(&run.plan),
        fixed,
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    page.paragraph(Style::Plain, "", &facts.join(" · "));
    if !run.complete {
        page.paragraph(Style::Red, "not complete: ", "it was stopped before all was measured");
    }
}

/// The plan of the measurement, or its source.
pub(super) fn measured(plan: &Plan) -> String {
    match &plan.imported {
        Some(Imported { tool, file }) => {
            format!("measured by {tool}, not by bytelab · imported from {file}")
        }
        None => format!("{} · {}", cache(plan.cache), rounds(plan)),
    }
}

pub(super) fn cache(state: CacheState) -> &'static str {
    match state {
        CacheState::Warm => "warm cache",
        CacheState::Cold => "cold cache",
        CacheState::AsIs => "cache as is",
    }
}

pub(super) fn rounds(plan: &Plan) -> String {
    if !plan.design.is_fixed() {
        return "until all is decided".to_owned();
    }
    let sessions = match plan.sessions {
        0 | 1 => String::new(),
        n => format!(" in up to {n} sessions"),
    };
    let rounds = u64::from(plan.rounds) * u64::from(plan.sessions.max(1));
    format!("up to {rounds} rounds{sessions}")
}

/// `2026-01-02 03:04 UTC` from an RFC 3339 time in UTC.
pub(super) fn minute(started: &str) -> String {
    let minute: String = started.chars().take(16).collect();
    if minute.is_empty() { minute } else { minute.replacen('T', " ", 1) + " UTC" }
}
