//! A run as text for a terminal: the lines above the tables, the table of each point or sweep, and
//! the answer; the table of `bytelab numbers`; and the tables of a run that is being measured.

use analysis::{Analysis, Family, StoppingDecision, Verdict};
use model::run::Run;

use super::foot::{self, Footnotes};
use super::grid::{self, HeadingStyle};
use super::results::{self, Omitted};
use super::{Page, PageLayout};
use crate::views::numbers::{self, LAYOUTS, MeasuredNumber, NumbersColumn, legend, numbers, table};
use crate::views::rows::{self, Rows, TableOptions};
use crate::views::sweep::{self, PointOrSweep, groups};
use crate::views::table::{Style, Table};
use crate::views::words::{self, cache, margin, measured, minute, revisions, taken};
use crate::views::{VaryingParams, View, answer, view};

/// The options of the page of a run.
#[derive(Clone, Copy, Default)]
pub struct TextOptions<'a> {
    pub table: TableOptions<'a>,
    /// All notes, and not only those that could change the answer.
    pub all_notes: bool,
}

/// The table of each point or sweep, the answer in one sentence, and the warnings.
pub fn text(run: &Run, analysis: &Analysis, shown: TextOptions<'_>, layout: &PageLayout) -> String {
    if view(run) == View::Rows {
        return numbers_text(run, analysis, &[], layout);
    }
    let mut page = Page::new(layout);
    let varying = VaryingParams::of_run(run);
    head(&mut page, run, &varying);
    let all = rows::arranged(run, analysis, shown.table);
    let mut left = Vec::new();
    super::sweep::write_size_sweep(&mut page, run);
    let (rungs, tables): (Vec<_>, Vec<_>) =
        all.iter().partition(|rows| sweep::size_sweep_holds(run, &rows.family.point));
    let mut has_points = false;
    for group in sweep::groups(tables, &varying) {
        page.blank();
        match group {
            PointOrSweep::Sweep(sweep) => left.push(super::sweep::write(&mut page, &sweep)),
            PointOrSweep::Point(rows) => {
                has_points = true;
                let title =
                    if all.len() > 1 { varying.shown(&rows.family.point) } else { String::new() };
                left.extend(point(&mut page, rows, &title));
            }
        }
    }
    if all.len() != 1 && rungs.is_empty() {
        page.blank();
        page.paragraph(Style::Plain, "", &answer::of_all(&all, &varying));
    }
    if rungs.is_empty() {
        page.paragraph(Style::Plain, "", &answer::over_points(&analysis.overall));
    }
    foot::custom_metrics(&mut page, analysis, shown.table.own, &varying);
    foot::param_effects(&mut page, analysis, &varying);
    foot::thresholds(&mut page, analysis, &varying);
    page.blank();
    let all_notes = shown.all_notes;
    let foot = Footnotes {
        run,
        analysis,
        all: &all,
        varying: &varying,
        left: &left,
        has_points,
        all_notes,
    };
    foot.write(&mut page);
    page.into_text()
}

/// The table of a point, and its answer.
fn point(page: &mut Page, rows: &Rows<'_>, title: &str) -> Option<Omitted> {
    if !title.is_empty() {
        page.line(&[(Style::Bold, title)]);
    }
    let mut left = None;
    if rows.iter().next().is_some() {
        if let Some(judged_by) = rows.judged_by() {
            page.paragraph(Style::Dim, "", &judged_by);
        }
        left = Some(results::write(page, rows));
        page.blank();
    }
    page.paragraph(Style::Plain, "", &answer::of_family(rows));
    left
}

/// The lines above the tables: the question, the date, and how it was measured.
pub(crate) fn head(page: &mut Page, run: &Run, varying: &VaryingParams<'_>) {
    let fixed = run.points.first().map(|point| varying.fixed(point)).unwrap_or_default();
    let fact = match taken(run) {
        Some(taken) if run.plan.design.is_fixed() => {
            format!("{} · {taken}{}", cache(run.plan.cache), margin(&run.plan))
        }
        Some(taken) => format!("{} · {taken}", measured(&run.plan)),
        None => measured(&run.plan),
    };
    head_with(page, run, [fact, fixed]);
    let revisions = revisions(run);
    if !revisions.is_empty() {
        page.paragraph(Style::Plain, "revisions: ", &revisions);
    }
}

/// The head of the page, with two more facts about the run.
pub(super) fn head_with(page: &mut Page, run: &Run, [fact, last]: [String; 2]) {
    let question = if run.question.is_empty() { &run.experiment } else { &run.question };
    page.paragraph(Style::Bold, &format!("{}: ", run.experiment), question);
    let facts = [
        if run.id.is_empty() { String::new() } else { format!("run {}", run.id) },
        run.label.clone().unwrap_or_default(),
        minute(&run.started),
        fact,
        last,
    ];
    let facts: Vec<String> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
    page.paragraph(Style::Plain, "", &facts.join(" · "));
    if let Some(noise) = words::noise(run) {
        page.paragraph(Style::Bold, "busy: ", &noise);
    }
    if !run.complete {
        page.paragraph(Style::Red, "not complete: ", "it was stopped before all was measured");
    }
}

// The table of `bytelab numbers`: a line per row, in units that fit it, with published figures.

fn fitting(numbers: &[MeasuredNumber], width: usize) -> Vec<NumbersColumn> {
    let fits = |columns: &&&[NumbersColumn]| grid::width(&table(numbers, columns)) <= width;
    LAYOUTS.iter().find(fits).unwrap_or(&LAYOUTS[LAYOUTS.len() - 1]).to_vec()
}

/// The table as text; if no columns are given, as many as fit.
pub fn numbers_text(
    run: &Run,
    analysis: &Analysis,
    columns: &[NumbersColumn],
    layout: &PageLayout,
) -> String {
    let numbers = numbers(run);
    let mut page = Page::new(layout);
    let cpu = run.environment.facts.get("cpu_model").and_then(|model| model.as_str());
    let sessions = if run.plan.design.is_fixed() {
        format!("{} sessions of up to {} rounds", run.plan.sessions, run.plan.rounds)
    } else {
        words::rounds(&run.plan)
    };
    head_with(&mut page, run, [cpu.unwrap_or_default().to_owned(), sessions]);
    let columns =
        if columns.is_empty() { fitting(&numbers, page.width()) } else { columns.to_vec() };
    page.blank();
    grid::write(&mut page, &table(&numbers, &columns), HeadingStyle::Ruled);
    page.blank();
    numbers_foot(&mut page, run, analysis, &numbers, &columns);
    page.into_text()
}

fn numbers_foot(
    page: &mut Page,
    run: &Run,
    analysis: &Analysis,
    numbers: &[MeasuredNumber],
    columns: &[NumbersColumn],
) {
    for number in numbers {
        if let Err(reason) = &number.figures {
            page.paragraph(Style::Red, &format!("{}: ", number.row.title.trim()), reason);
        }
    }
    for (about, text) in numbers::all_notes(run, analysis, numbers) {
        page.paragraph(Style::Plain, "note: ", &format!("{about}{text}"));
    }
    page.paragraph(Style::Plain, "", &legend(columns));
}

// A run that is being measured: its tables on a screen of any size, and its looks in one line.

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
pub fn live_text(live: &LiveRun<'_>, layout: &PageLayout, height: usize) -> String {
    let LiveRun { run, analysis, left, below } = live;
    let mut page = Page::new(layout);
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
                super::sweep::tables(&sweep, width).into_iter().map(titled).collect()
            }
        };
        let tables = groups(&all, &varying).into_iter().flat_map(of_group).collect();
        write_tables(&mut page, tables, room);
    }
    for line in below.iter().take(height) {
        page.line(&[(Style::Plain, line)]);
    }
    page.into_text()
}

/// Writes at most this number of lines. Tables with a title have a line for it.
fn write_tables(page: &mut Page, mut tables: Vec<(String, Table)>, mut room: usize) {
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
            page.line(&[(Style::Bold, &title)]);
        }
        grid::write(page, table, HeadingStyle::Ruled);
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
    let sessions = decisions().map(|comparison| comparison.sessions).max().unwrap_or_default();
    let open = decisions().filter(|comparison| comparison.verdict == Verdict::Undecided).count();
    let all = decisions().count();
    if all == 0 {
        return "no two methods can be compared until now".to_owned();
    }
    let mut said = vec![format!("{sessions} sessions: {} of {all} decided", all - open)];
    let varying = VaryingParams::of_run(run);
    let name = |cell: usize| {
        run.cells
            .get(cell)
            .map(|cell| format!("{}{}", cell.method, varying.in_parentheses(&cell.point)))
    };
    let gone = left.iter().enumerate().filter(|(_, left)| **left);
    let gone: Vec<String> = gone.filter_map(|(cell, _)| name(cell)).collect();
    if !gone.is_empty() {
        said.push(format!("left: {}", listed(&gone)));
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

fn listed(names: &[String]) -> String {
    let named = names.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
