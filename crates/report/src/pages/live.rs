//! A run that is being measured: its tables on a screen of any size, and its looks in one line.

use analysis::{Analysis, Family, StoppingDecision, Verdict};
use model::run::{Role, Run};

use super::{results, sweep as sweeps};
use crate::document::Document;
use crate::text::{PageLayout, grid};
use crate::views::rows;
use crate::views::sweep::{PointOrSweep, groups};
use crate::views::table::{Style, Table};
use crate::views::{VaryingParams, View, view};

pub struct LiveRun<'a> {
    pub run: &'a Run,
    /// The medians until now, and the verdicts of the last look.
    pub analysis: &'a Analysis,
    /// Indexed by cell of the run: whether its method no longer takes part.
    pub left: &'a [bool],
    /// The lines below the tables.
    pub below: &'a [String],
}

/// At most `height` lines: the tables, of which the last rows are left out if there is no room for
/// them, and the lines below. A run that has no verdicts has no tables.
pub fn text(live: &LiveRun<'_>, layout: &PageLayout, height: usize) -> String {
    let LiveRun { run, analysis, left, below } = live;
    let mut page = Document::new(layout.width);
    let room = height.saturating_sub(below.len());
    if view(run) == View::Tables {
        let varying = VaryingParams::of_run(run);
        let mut all = rows::all(run, analysis);
        for rows in &mut all {
            rows.left = Some(left);
        }
        let width = page.width();
        let of_group = |group: PointOrSweep<'_, '_>| match group {
            PointOrSweep::Point(rows) => {
                let point = varying.shown(&rows.family.point);
                vec![(point, results::fitted(rows, width).0)]
            }
            PointOrSweep::Sweep(sweep) => {
                let titled = |table| (sweep.title.clone(), table);
                grid::parts(&sweeps::table(&sweep), width).into_iter().map(titled).collect()
            }
        };
        let tables = groups(&all, &varying).into_iter().flat_map(of_group).collect();
        write_tables(&mut page, tables, room);
    }
    for line in below.iter().take(height) {
        page.line(&[(Style::Plain, line)]);
    }
    page.text(layout)
}

/// Writes at most this number of lines. Tables with a title have a line for it.
fn write_tables(page: &mut Document, mut tables: Vec<(String, Table)>, mut room: usize) {
    tables.retain(|(_, table)| !table.rows.is_empty());
    let head = |(title, table): &(String, Table)| {
        let headings = table.columns.first().map_or(0, |column| column.heading.len());
        usize::from(!title.is_empty()) + headings + 1
    };
    let body = |table: &Table| table.rows.len() + table.rows.iter().filter(|r| r.is_ruled).count();
    let needed: usize = tables.iter().map(|titled| head(titled) + body(&titled.1)).sum();
    let has_room = room > 0;
    if needed > room {
        // The line that says how many are left out.
        room = room.saturating_sub(1);
    }
    let mut left_out = 0;
    for mut titled in tables {
        let of_head = head(&titled);
        let (title, table) = (titled.0.clone(), &mut titled.1);
        let rows = table.rows.len();
        while !table.rows.is_empty() && of_head + body(table) > room {
            table.rows.pop();
        }
        left_out += rows - table.rows.len();
        // All tables after the first one that does not fit are left out, too.
        room = if left_out > 0 { 0 } else { room - of_head - body(table) };
        if table.rows.is_empty() {
            continue;
        }
        if !title.is_empty() {
            page.title(&title);
        }
        page.table(titled.1);
    }
    if left_out > 0 && has_room {
        page.line(&[(Style::Dim, &format!("… {left_out} more"))]);
    }
}

/// More names than these are counted instead.
const NAMED_MAX: usize = 4;

/// The findings of a look, in one line.
pub fn look(run: &Run, decided: &StoppingDecision, left: &[bool]) -> String {
    let decisions = || {
        decided.families.iter().flat_map(|family| {
            family.compared.iter().filter_map(|cell| decided.decision(family, *cell))
        })
    };
    let open = decisions().filter(|comparison| comparison.verdict == Verdict::Undecided).count();
    let all = decisions().count();
    if all == 0 {
        return "no two methods can be compared until now".to_owned();
    }
    let mut said = vec![format!("{} of {all} decided{}", all - open, apart(run, decided, all))];
    let varying = VaryingParams::of_run(run);
    let name = |cell: usize| {
        run.cells
            .get(cell)
            .map(|cell| format!("{}{}", cell.method, varying.in_parentheses(&cell.point)))
    };
    let gone = left.iter().enumerate().filter(|(_, left)| **left);
    let gone: Vec<String> = gone.filter_map(|(cell, _)| name(cell)).collect();
    if !gone.is_empty() {
        said.push(format!("done: {}", listed(&gone)));
    }
    let best = |family: &Family| {
        let at = varying.in_parentheses(&family.point);
        let names = family.best.iter().filter_map(|cell| Some(&run.cells.get(*cell)?.method));
        names.map(|name| format!("{name}{at}")).collect::<Vec<_>>()
    };
    let best: Vec<String> = decided.families.iter().flat_map(best).collect();
    if !best.is_empty() {
        said.push(format!("best so far: {}", listed(&best)));
    }
    said.join("; ")
}

/// ` (apart from the reference, 3 yardsticks, 1 not compared)`: what is measured, and is not among
/// those that are decided. Of a reference alone every reader knows.
fn apart(run: &Run, decided: &StoppingDecision, compared: usize) -> String {
    let references = decided.families.iter().filter(|family| family.reference.is_some()).count();
    let yardsticks = run.cells.iter().filter(|cell| cell.role == Role::Yardstick).count();
    let others = run.cells.len().saturating_sub(compared + references + yardsticks);
    if yardsticks + others == 0 {
        return String::new();
    }
    let counted = |n: usize, one: &str, several: &str| match n {
        0 => None,
        1 => Some(one.to_owned()),
        n => Some(format!("{n} {several}")),
    };
    let parts = [
        counted(references, "the reference", "references"),
        counted(yardsticks, "1 yardstick", "yardsticks"),
        counted(others, "1 not compared", "not compared"),
    ];
    format!(" (apart from {})", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn listed(names: &[String]) -> String {
    let named = names.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
