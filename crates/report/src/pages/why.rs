//! Which functions a difference is in: a table of those that differ, of a run with a profile.

use analysis::{FunctionDifference, Why};
use model::profile::Profile;

use crate::document::Document;
use crate::views::made_of::more_ns;
use crate::views::table::{NAME_MIN, Style, Table, TableCell, TableColumn, TooWide};
use crate::views::units::{Unit, ns, ratio};

/// The pairs of this profile.
pub(super) fn compose_all(page: &mut Document, profile: &Profile, pairs: &[Why]) {
    for why in pairs {
        compose(page, profile, why);
    }
}

/// What is said above the table, and the table, if a function is shown to differ.
pub(super) fn compose(page: &mut Document, profile: &Profile, why: &Why) {
    page.gap();
    page.paragraph(Style::Plain, "why: ", &sentence(profile, why));
    if !why.functions.is_empty() {
        page.table(table(&why.functions, kind(profile)));
    }
}

/// What the table is of: without perf events, of system calls.
fn kind(profile: &Profile) -> &'static str {
    if profile.traced_slowdown.is_some() { "system call" } else { "function" }
}

fn sentence(profile: &Profile, why: &Why) -> String {
    let Why { method, reference, jobs, total_ns, functions, candidates, found_ns, .. } = why;
    let (how, of) = match profile.traced_slowdown {
        None => ("profiled", ""),
        Some(_) => ("traced", " in system calls"),
    };
    let profiled = format!(
        "{method} against {reference} in {jobs} {how} runs of each: {}{of}",
        more_ns(*total_ns)
    );
    let kind = kind(profile);
    let what = match (*candidates, functions.len()) {
        (1, _) => format!("the only {kind} of 1 % or more"),
        (n, _) => format!("the {n} {kind}s of 1 % or more"),
    };
    let shown = match functions.len() {
        0 if profile.traced_slowdown.is_some() => format!("of {what} none is shown to differ"),
        0 => format!(
            "of {what} none is shown to differ; {} would have been found of one that takes a tenth of \
             the time",
            ns(*found_ns)
        ),
        1 => format!("of {what} this one differs"),
        _ => format!("of {what} these differ"),
    };
    let lost = if profile.lost > 0 { " (samples were lost)" } else { "" };
    let cost = profile.traced_slowdown.map(|times| {
        format!(
            " Tracing, which is part of these times, made a run take {} times as long.",
            ratio(times, 1)
        )
    });
    format!("{profiled}; {shown}{lost}.{}", cost.unwrap_or_default())
}

fn table(functions: &[FunctionDifference], kind: &str) -> Table {
    let all = functions.iter().flat_map(|one| [one.mean_ns, one.value_ns, one.reference_ns]);
    let unit = Unit::for_values("ns", all);
    let number = |value: f64| TableCell::number(unit.number(value), value);
    let bounds = |one: &FunctionDifference| {
        format!("{} to {}", unit.number(one.low_ns), unit.number(one.high_ns))
    };
    let name = TableColumn {
        gap: 0,
        width_min: NAME_MIN,
        too_wide: TooWide::Shorten,
        ..TableColumn::left(kind)
    };
    let right = |heading: &str| TableColumn::right(heading).unit(unit.name);
    Table::of_columns(vec![
        name.unit("").with_cells(functions.iter(), |one| one.name.as_str()),
        right("difference").with_cells(functions.iter(), |one| number(one.mean_ns)),
        right("interval").with_cells(functions.iter(), bounds),
        right("time").with_cells(functions.iter(), |one| number(one.value_ns)),
        right("reference").with_cells(functions.iter(), |one| number(one.reference_ns)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::PageLayout;

    fn page(functions: Vec<FunctionDifference>, traced_slowdown: Option<f64>) -> String {
        let why = Why {
            method: "b".to_owned(),
            reference: "a".to_owned(),
            cell: 1,
            reference_cell: 0,
            jobs: 12,
            total_ns: 34e6,
            functions,
            candidates: 7,
            level: 0.95,
            found_ns: 2.8e6,
        };
        let mut page = Document::new(100);
        compose(&mut page, &Profile { traced_slowdown, ..Profile::default() }, &why);
        page.text(&PageLayout { width: 100, colour: false })
    }

    #[test]
    fn functions_that_differ_are_a_table() {
        let function = |name: &str, mean: f64| FunctionDifference {
            name: name.to_owned(),
            mean_ns: mean * 1e6,
            low_ns: (mean - 1.0) * 1e6,
            high_ns: (mean + 1.0) * 1e6,
            value_ns: 50e6,
            reference_ns: (50.0 - mean) * 1e6,
        };
        let shown = page(vec![function("parse", 30.0), function("copy", -4.0)], None);
        let lines: Vec<String> = shown
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert!(
            lines.contains(
                &"why: b against a in 12 profiled runs of each: 34 ms more; of the 7 functions of 1 % or more these"
                    .to_owned()
            ),
            "{shown}"
        );
        for row in ["parse 30.0 29.0 to 31.0 50.0 20.0", "copy -4.00 -5.00 to -3.00 50.0 54.0"] {
            assert!(lines.iter().any(|line| line == row), "{row}: {shown}");
        }
    }

    #[test]
    fn without_perf_events_it_is_of_system_calls_and_says_what_tracing_costs() {
        let shown = page(Vec::new(), Some(7.3));
        let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            line,
            "why: b against a in 12 traced runs of each: 34 ms more in system calls; of the 7 system \
             calls of 1 % or more none is shown to differ. Tracing, which is part of these times, \
             made a run take 7.3 times as long."
        );
    }

    #[test]
    fn what_could_have_been_found_is_said_where_nothing_is() {
        let shown = page(Vec::new(), None);
        let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            line.contains("none is shown to differ; 2.8 ms would have been found of one that"),
            "{shown}"
        );
    }
}
