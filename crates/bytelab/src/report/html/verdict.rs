//! The answer of several runs: what one side takes for what the other takes.

use lab::analyze::{Analysis, Effect, MetricChange, compare_sides, refusal};
use lab::metric;
use lab::run::{Role, Run};

use super::Html;
use super::table::{self, ROWS_MAX};
use crate::report::model::compare::{Side, answer, bounds, notes, verdict_word};
use crate::report::model::table::{Cell, CellKind, Column, Standing, Table};
use crate::report::model::units::{amount, ratio};
use crate::report::model::{Varying, charts};

/// `places` are the params in which the two sides may differ.
pub(super) fn write(html: &mut Html, shown: &[(Run, Analysis)], places: &[&str]) {
    let Some([a, b]) = sides(shown) else {
        html.raw(
            "<p class=\"warning\">Runs side by side, without a verdict between them: two runs, ",
        );
        html.raw("or runs of two labels, are compared.</p>\n");
        return;
    };
    if let Some(why) = refusal(&a.runs, &b.runs) {
        html.element("<p class=\"warning\">Not compared: ", &why, ".</p>\n");
        return;
    }
    let sides = compare_sides(&a.runs, &b.runs, places);
    html.element("<p class=\"answer\">", &answer(&a, &b, &sides), "</p>\n");
    let lines: Vec<&MetricChange> = sides.lines.iter().filter(|line| line.decides).collect();
    if !lines.is_empty() {
        let caption = format!("A: {}. B: {}.", a.name, b.name);
        let left = lines.len().saturating_sub(ROWS_MAX);
        table::write(html, "", &caption, &changes(&lines[..lines.len() - left]));
        table::left_out(html, left);
    }
    for note in notes(&a, &b) {
        html.element("<p class=\"small\">Note: ", &note, "</p>\n");
    }
}

/// Two runs, or the runs of two labels.
fn sides(shown: &[(Run, Analysis)]) -> Option<[Side; 2]> {
    let mut sides: Vec<(Option<&str>, Side)> = Vec::new();
    for (run, _) in shown {
        let label = run.label.as_deref();
        let known = sides.iter_mut().find(|(own, _)| shown.len() > 2 && *own == label);
        if let Some((_, side)) = known {
            side.runs.push(run.clone());
            continue;
        }
        let name = match label {
            _ if shown.len() == 2 => charts::name(run),
            Some(label) => format!("label {label}"),
            None => "without a label".to_owned(),
        };
        sides.push((label, Side { name, runs: vec![run.clone()] }));
    }
    let sides: Vec<Side> = sides.into_iter().map(|(_, side)| side).collect();
    sides.try_into().ok()
}

fn changes(lines: &[&MetricChange]) -> Table {
    let points: Vec<_> = lines.iter().map(|line| &line.point).collect();
    let varying = Varying::of_points(&points);
    let method = |line: &&MetricChange| format!("{}{}", line.method, varying.of(&line.point));
    let p50 = |line: &MetricChange, half: &lab::analyze::SideSummary| {
        let p50 = half.percentiles.iter().find(|percentile| percentile.p >= 50.0);
        let unit = metric::unit(&line.metric);
        p50.map_or_else(Cell::none, |p50| Cell::number(amount(unit, p50.value), p50.value))
    };
    let value = |effect: Option<&Effect>| match effect.and_then(|effect| effect.ratio) {
        Some(value) => Cell::number(ratio(value, 3), value),
        None => Cell::none(),
    };
    let interval = |effect: Option<&Effect>| -> Cell {
        let Some(effect) = effect else { return "".into() };
        let text = bounds(effect.low, effect.high);
        match effect.low.zip(effect.high) {
            Some((low, high)) => Cell::number(text, high - low),
            None => text.into(),
        }
    };
    let judged = |line: &&MetricChange| -> Cell {
        let effect = line.relative.as_ref().unwrap_or(&line.absolute);
        let standing = if line.role == Role::Contender {
            Standing::Compared(effect.verdict)
        } else {
            Standing::Yardstick
        };
        Cell { kind: CellKind::Verdict(standing), ..Cell::from(verdict_word(effect)) }
    };
    Table::of_columns(vec![
        Column::left("method").filled(lines.iter(), method),
        Column::right("B/A").filled(lines.iter(), |line| value(Some(&line.absolute))),
        Column::left("verdict").filled(lines.iter(), judged),
        Column::right("interval").filled(lines.iter(), |line| interval(Some(&line.absolute))),
        Column::right("to the reference")
            .filled(lines.iter(), |line| value(line.relative.as_ref())),
        Column::right("its interval").filled(lines.iter(), |line| interval(line.relative.as_ref())),
        Column::right("A p50").filled(lines.iter(), |line| p50(line, &line.a)),
        Column::right("B p50").filled(lines.iter(), |line| p50(line, &line.b)),
    ])
}
