//! Which functions a difference is in: a table of those that differ, of a run with a profile.

use analysis::{FunctionDifference, Why};
use model::profile::Profile;

use crate::document::Document;
use crate::views::made_of::signed;
use crate::views::table::{NAME_MIN, Style, Table, TableCell, TableColumn, TooWide};
use crate::views::units::{Unit, ns};

/// What is said above the table, and the table, if a function is shown to differ.
pub(super) fn compose(page: &mut Document, profile: &Profile, why: &Why) {
    page.gap();
    page.paragraph(Style::Plain, "why: ", &sentence(profile, why));
    if !why.functions.is_empty() {
        page.table(table(&why.functions));
    }
}

fn sentence(profile: &Profile, why: &Why) -> String {
    let Why { method, reference, jobs, total_ns, functions, candidates, found_ns, .. } = why;
    let profiled = format!(
        "{method} against {reference} in {jobs} profiled runs of each: {}",
        signed(*total_ns)
    );
    let what = match (*candidates, functions.len()) {
        (1, _) => "the only function of 1 % or more".to_owned(),
        (n, _) => format!("the {n} functions of 1 % or more"),
    };
    let shown = match functions.len() {
        0 => format!(
            "of {what} none is shown to differ; {} would have been found of one that takes a tenth of \
             the time",
            ns(*found_ns)
        ),
        1 => format!("of {what} this one differs"),
        _ => format!("of {what} these differ"),
    };
    let lost = if profile.lost > 0 { " (samples were lost)" } else { "" };
    format!("{profiled}; {shown}{lost}.")
}

fn table(functions: &[FunctionDifference]) -> Table {
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
        ..TableColumn::left("function")
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
