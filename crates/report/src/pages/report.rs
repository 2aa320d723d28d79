//! The report: runs of one experiment on a page, with their charts, which a reader chooses from.

use std::collections::BTreeMap;

use analysis::{Analysis, Effect, MetricChange, Summary, compare_sides, refusal};
use model::metric::{self, heading, unit};
use model::param::{ParamValue, Point};
use model::run::{Role, Run};

use super::{factorial, run, why};
use crate::document::{Block, Document};
use crate::svg::flame;
use crate::views::charts::{self, Charts};
use crate::views::compare::{Side, answer as answer_of_sides, bounds, notes, verdict_word};
use crate::views::rows::{
    self, ALLOCATIONS, CPU, PEAK_RSS, Row, Rows, SYSCALLS, THROUGHPUT, WALL, WALL_LESS_WAIT,
    measured_for,
};
use crate::views::table::{
    CellKind, ColumnWithCells, RowRole, Style, Table, TableCell, TableColumn,
};
use crate::views::units::{NONE, Unit, amount, ratio};
use crate::views::words::{joined, measured, minute, noise_with_advice, revisions, shortened};
use crate::views::{VaryingParams, View, answer, made_of, numbers, sweep, view};

/// The runs are of one experiment, and there is at least one. `path_params` are the params in which
/// two sides may differ, as in `compare`.
pub(crate) fn document(
    shown: &[(Run, Analysis)],
    path_params: &[&str],
    charts: &Charts,
) -> Document {
    let mut page = Document::new(Document::UNLIMITED);
    run::heading(&mut page, &shown[0].0);
    if shown.len() > 1 {
        verdict(&mut page, shown, path_params);
        page.details("The answer of each run alone", |page| question(page, shown));
    } else {
        question(&mut page, shown);
    }
    page.section("figures", "Figures", |page| {
        if shown.iter().all(|(run, _)| view(run) == View::Rows) {
            number_tables(page, shown);
        } else {
            results(page, shown);
        }
    });
    if !charts.points.is_empty() {
        let (drawn, left_out) = (charts.cells.len(), charts.left_out);
        page.blocks.push(Block::Charts { drawn, left_out });
    }
    page.section("notes", "Notes", |page| warnings(page, shown));
    page.section("environment", "Environment", |page| environment(page, shown));
    percentiles(&mut page, shown);
    page
}

/// The answer to the question, by each run.
fn question(page: &mut Document, shown: &[(Run, Analysis)]) {
    for (run, analysis) in shown {
        let varying = VaryingParams::of_run(run);
        if shown.len() > 1 {
            page.title(&charts::name(run));
        }
        for sentence in answers(run, analysis, &varying) {
            page.answer(sentence);
        }
        made_of_lines(page, run, analysis, &varying);
        functions(page, run, analysis);
        for found in &analysis.factorial {
            factorial::compose(page, found);
        }
        reliability(page, run);
        if !run.complete {
            let text = "Not complete: it was stopped before all was measured.";
            page.paragraph(Style::Red, "", text);
        }
        page.facts(&facts(run, &varying));
        let revisions = revisions(run);
        if !revisions.is_empty() {
            page.facts(&format!("Revisions: {revisions}"));
        }
    }
}

/// What a reader has to know before believing the answer: what else the machine did, and the grades
/// of the rows of `numbers`, whose answers name the load.
fn reliability(page: &mut Document, run: &Run) {
    if view(run) == View::Rows {
        page.facts(&numbers::grades(&numbers::numbers(run)));
    } else if let Some(noise) = noise_with_advice(run) {
        page.paragraph(Style::Bold, "Busy: ", &format!("{noise}."));
    }
}

/// The sentences that answer the question of a run.
pub(super) fn answers(run: &Run, analysis: &Analysis, varying: &VaryingParams<'_>) -> Vec<String> {
    if view(run) == View::Rows {
        return numbers::answers(run);
    }
    let all = rows::all(run, analysis);
    let mut sentences = sweep::plateaus(run);
    let has_ladder = !sentences.is_empty();
    match all.as_slice() {
        [rows] => sentences.push(answer::of_family(rows)),
        _ if !has_ladder => sentences.push(answer::of_all(&all, varying)),
        _ => {}
    }
    sentences
}

/// What each decided difference is made of.
fn made_of_lines(page: &mut Document, run: &Run, analysis: &Analysis, varying: &VaryingParams<'_>) {
    if !analysis.made_of.iter().any(|made| made.is_decided) || view(run) == View::Rows {
        return;
    }
    let all = rows::all(run, analysis);
    page.details("What the differences are made of", |page| {
        for rows in &all {
            for made in made_of::of_rows(&analysis.made_of, rows) {
                let at = match varying.shown(&rows.family.point) {
                    at if at.is_empty() => at,
                    at => format!("{at}: "),
                };
                page.paragraph(Style::Plain, "", &format!("{at}{}", made_of::sentence(made)));
            }
        }
    });
}

/// The functions that the differences of a run with a profile are in, with their call chains.
fn functions(page: &mut Document, run: &Run, analysis: &Analysis) {
    let Some(profile) = &run.plan.profile else { return };
    for why in &analysis.why {
        why::compose(page, profile, why);
        if let Some(svg) = flame::of_pair(profile, why) {
            page.blocks.push(Block::Figure { caption: "Where the time differs", svg });
        }
    }
}

fn facts(run: &Run, varying: &VaryingParams<'_>) -> String {
    let machine = run.environment.facts.get("cpu_model").and_then(|model| model.as_str());
    let facts = [
        charts::name(run),
        minute(&run.started),
        machine.unwrap_or_default().to_owned(),
        measured(&run.plan),
        run.points.first().map(|point| varying.fixed(point)).unwrap_or_default(),
    ];
    joined(facts)
}

// The table of results, with a row for each method at each point of each run.

/// One row with the run and the point that it belongs to.
struct ResultRow<'a> {
    run: &'a Run,
    rows: &'a Rows<'a>,
    row: &'a Row<'a>,
}

impl ResultRow<'_> {
    /// The metric by which the methods of its table are compared.
    fn judged(&self) -> &'static str {
        if self.rows.less_wait() { WALL_LESS_WAIT } else { WALL }
    }
}

fn results(page: &mut Document, shown: &[(Run, Analysis)]) {
    let all: Vec<(&Run, Vec<Rows<'_>>)> =
        shown.iter().map(|(run, analysis)| (run, rows::all(run, analysis))).collect();
    let lines: Vec<ResultRow<'_>> = (all.iter())
        .flat_map(|(run, all)| all.iter().map(move |rows| (*run, rows)))
        .flat_map(|(run, rows)| rows.iter().map(move |row| ResultRow { run, rows, row }))
        .collect();
    if lines.is_empty() {
        page.paragraph(Style::Plain, "", "Nothing was measured.");
    } else {
        page.blocks.push(Block::Filter);
        let points: Vec<&Point> = shown.iter().flat_map(|(run, _)| &run.points).collect();
        let caption = "p50 of each method; intervals are at 95 %, those of the ratios for all of a point \
                       together. Yardsticks stand beside the contenders and have no verdict.";
        let table = results_table(&lines, &VaryingParams::of_points(&points), shown.len() > 1);
        page.captioned(caption, Table { id: "results", ..table });
    }
    for (run, analysis) in shown {
        if let Some(text) = measured_for(run, analysis, &VaryingParams::of_run(run)) {
            let of =
                if shown.len() > 1 { format!(", {}", charts::name(run)) } else { String::new() };
            page.paragraph(Style::Dim, "", &format!("Measured{of}: {text}"));
        }
    }
    not_measured(page, shown);
}

fn number_tables(page: &mut Document, shown: &[(Run, Analysis)]) {
    page.blocks.push(Block::Filter);
    for (i, (run, _)) in shown.iter().enumerate() {
        let mut table = numbers::whole(run);
        let unnamed = table.columns.iter_mut().flat_map(|column| &mut column.heading);
        unnamed
            .filter(|heading| heading.is_empty())
            .for_each(|heading| "grade".clone_into(heading));
        table.id = if i == 0 { "results" } else { "" };
        page.captioned(&charts::name(run), table);
    }
    page.paragraph(Style::Dim, "", &numbers::legend(numbers::FOR_MARKDOWN));
    not_measured(page, shown);
}

fn results_table(lines: &[ResultRow<'_>], varying: &VaryingParams<'_>, several: bool) -> Table {
    let mut columns =
        vec![TableColumn::left("method").with_cells(lines.iter(), |line| line.row.name())];
    if several {
        columns
            .push(TableColumn::left("run").with_cells(lines.iter(), |line| charts::name(line.run)));
    }
    for name in &varying.names {
        let value = |line: &ResultRow<'_>| match line.rows.family.point.get(name) {
            Some(ParamValue::Number(n)) => {
                TableCell::number(charts::value(&ParamValue::Number(*n)), *n as f64)
            }
            Some(text) => charts::value(text).into(),
            None => "".into(),
        };
        columns.push(TableColumn::left(name).with_cells(lines.iter(), value));
    }
    columns.extend(ratios(lines));
    columns.extend(judged(lines));
    for name in
        [CPU, PEAK_RSS, THROUGHPUT, SYSCALLS, ALLOCATIONS, "startup_ns", "prepare_ns", "total_ns"]
    {
        columns.extend(figures(lines, name));
    }
    let n = |line: &ResultRow<'_>| {
        let n = rows::metric(line.row.summary, WALL).map_or(0, |summary| summary.n);
        TableCell::number(n.to_string(), n as f64)
    };
    columns.push(TableColumn::right("n").with_cells(lines.iter(), n));
    Table::of_columns(columns)
}

fn p50(line: &ResultRow<'_>, name: &str) -> Option<f64> {
    line.row.p50(name).map(|p50| p50.value)
}

/// The deciding metric with its interval, then the wall time where it is another one. Of several
/// points that are decided by different metrics, each row names its own.
fn judged(lines: &[ResultRow<'_>]) -> Vec<ColumnWithCells> {
    let less_wait = lines.iter().filter(|line| line.rows.less_wait()).count();
    let mut columns = Vec::new();
    if less_wait > 0 && less_wait < lines.len() {
        let name = |line: &ResultRow<'_>| heading(line.judged());
        columns.push(TableColumn::left("judged by").with_cells(lines.iter(), name));
    }
    if less_wait > 0 {
        columns.extend(figures(lines, WALL_LESS_WAIT));
    }
    let wall = figures(lines, WALL);
    if less_wait == lines.len() {
        columns.push(interval(lines));
        columns.extend(wall);
    } else {
        columns.extend(wall);
        columns.push(interval(lines));
    }
    columns
}

/// The column of a metric, if a row has it; in one unit unless some values would be unreadable.
fn figures(lines: &[ResultRow<'_>], name: &str) -> Option<ColumnWithCells> {
    let values = lines.iter().filter_map(|line| p50(line, name));
    values.clone().next()?;
    let unit = Unit::common(unit(name), values);
    let cell = |line: &ResultRow<'_>| match (p50(line, name), unit) {
        (None, _) => TableCell::none(),
        (Some(value), Some(unit)) => TableCell::number(unit.number(value), value),
        (Some(value), None) => TableCell::number(amount(self::unit(name), value), value),
    };
    let column = TableColumn::right(heading(name)).unit(unit.map_or("", |unit| unit.name));
    Some(column.with_cells(lines.iter(), cell))
}

/// The interval of the deciding metric's p50.
fn interval(lines: &[ResultRow<'_>]) -> ColumnWithCells {
    let unit = Unit::common("ns", lines.iter().filter_map(|line| p50(line, line.judged())));
    let number = |value| unit.map_or_else(|| amount("ns", value), |unit| unit.number(value));
    let p50 = |line: &ResultRow<'_>| line.row.p50(line.judged()).map(|p50| (p50.low, p50.high));
    let cell = |line: &ResultRow<'_>| match p50(line) {
        Some((Some(low), Some(high))) => TableCell::number(
            format!("{}–{}", number(low), number(high)),
            (high - low) / (high + low),
        ),
        _ => TableCell::number("n too small".to_owned(), f64::NAN),
    };
    let column = TableColumn::right("interval").unit(unit.map_or("", |unit| unit.name));
    column.with_cells(lines.iter(), cell)
}

/// The answer: the ratio to the reference, the verdict, and the interval of the ratio. On a narrow
/// screen only the first of these columns are in sight.
fn ratios(lines: &[ResultRow<'_>]) -> [ColumnWithCells; 3] {
    let value = |line: &ResultRow<'_>| match line.row.comparison.and_then(|c| c.ratio) {
        _ if line.rows.is_reference(line.row) => TableCell::number(ratio(1.0, 3), 1.0),
        Some(value) if !line.row.wrong() => TableCell::number(ratio(value, 3), value),
        _ => TableCell::none(),
    };
    let interval = |line: &ResultRow<'_>| match line.row.comparison.map(|c| (c.low, c.high)) {
        Some((Some(low), Some(high))) if !line.row.wrong() => {
            TableCell::number(format!("{}–{}", ratio(low, 3), ratio(high, 3)), high - low)
        }
        _ => "".into(),
    };
    [
        TableColumn::right("ratio").with_cells(lines.iter(), value),
        TableColumn::left("verdict").with_cells(lines.iter(), |line| line.rows.verdict(line.row)),
        TableColumn::right("interval of the ratio").with_cells(lines.iter(), interval),
    ]
}

fn not_measured(page: &mut Document, shown: &[(Run, Analysis)]) {
    let mut lines: Vec<String> = Vec::new();
    for (run, _) in shown {
        let varying = VaryingParams::of_run(run);
        let of = if shown.len() > 1 { format!(" in {}", charts::name(run)) } else { String::new() };
        if view(run) == View::Rows {
            let rows = numbers::numbers(run);
            let line = |(title, reason): (&str, &str)| format!("{title}{of}: {reason}");
            lines.extend(numbers::not_measured(&rows).into_iter().map(line));
            continue;
        }
        for cell in &run.cells {
            let Some(reason) = cell.status.reason() else { continue };
            let at = varying.in_parentheses(&cell.point);
            lines.push(format!("{}{at}{of}: {}, {reason}", cell.method, cell.status.word()));
        }
    }
    if !lines.is_empty() {
        page.title("Not measured");
    }
    page.blocks.extend(lines.into_iter().map(Block::Item));
}

/// The answer of several runs: what one side takes for what the other takes.
fn verdict(page: &mut Document, shown: &[(Run, Analysis)], path_params: &[&str]) {
    let Some([a, b]) = sides(shown) else {
        let text = "These runs are shown side by side, without a verdict between them. Only two \
                    runs, or the runs of two labels, are compared.";
        page.paragraph(Style::Red, "", text);
        return;
    };
    if let Some(why) = refusal(&a.runs, &b.runs) {
        page.paragraph(Style::Red, "", &format!("Not compared: {why}."));
        return;
    }
    let sides = compare_sides(&a.runs, &b.runs, path_params);
    page.answer(answer_of_sides(&a, &b, &sides));
    let lines: Vec<&MetricChange> = sides.lines.iter().filter(|line| line.decides).collect();
    if !lines.is_empty() {
        page.captioned(&format!("A: {}. B: {}.", a.name, b.name), changes(&lines));
    }
    for note in notes(&a, &b) {
        page.paragraph(Style::Dim, "", &format!("Note: {note}"));
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
    let varying = VaryingParams::of_points(&points);
    let method =
        |line: &&MetricChange| format!("{}{}", line.method, varying.in_parentheses(&line.point));
    let p50 = |line: &MetricChange, half: &analysis::SideSummary| {
        let p50 = half.percentiles.iter().find(|percentile| percentile.p >= 50.0);
        let unit = metric::unit(&line.metric);
        p50.map_or_else(TableCell::none, |p50| {
            TableCell::number(amount(unit, p50.value), p50.value)
        })
    };
    let is_less_wait = lines.iter().all(|line| line.metric == WALL_LESS_WAIT);
    let [a, b] = ["A", "B"].map(|side| {
        let heading = format!("{side} p50{}", if is_less_wait { " − wait" } else { "" });
        TableColumn::right(&heading)
    });
    let value = |effect: Option<&Effect>| match effect.and_then(|effect| effect.ratio) {
        Some(value) => TableCell::number(ratio(value, 3), value),
        None => TableCell::none(),
    };
    let interval = |effect: Option<&Effect>| -> TableCell {
        let Some(effect) = effect else { return "".into() };
        let text = bounds(effect.low, effect.high);
        match effect.low.zip(effect.high) {
            Some((low, high)) => TableCell::number(text, high - low),
            None => text.into(),
        }
    };
    let judged = |line: &&MetricChange| -> TableCell {
        let effect = line.relative.as_ref().unwrap_or(&line.absolute);
        let role = if line.role == Role::Contender {
            RowRole::Compared(effect.verdict)
        } else {
            RowRole::Yardstick
        };
        TableCell { kind: CellKind::Verdict(role), ..TableCell::from(verdict_word(effect)) }
    };
    Table::of_columns(vec![
        TableColumn::left("method").with_cells(lines.iter(), method),
        TableColumn::right("B/A").with_cells(lines.iter(), |line| value(Some(&line.absolute))),
        TableColumn::left("verdict").with_cells(lines.iter(), judged),
        TableColumn::right("interval")
            .with_cells(lines.iter(), |line| interval(Some(&line.absolute))),
        TableColumn::right("to the reference")
            .with_cells(lines.iter(), |line| value(line.relative.as_ref())),
        TableColumn::right("its interval")
            .with_cells(lines.iter(), |line| interval(line.relative.as_ref())),
        a.with_cells(lines.iter(), |line| p50(line, &line.a)),
        b.with_cells(lines.iter(), |line| p50(line, &line.b)),
    ])
}

// Every metric of every cell: p0 to p100. Collapsed, because it is long.

struct PercentileRow<'a> {
    method: String,
    run: &'a Run,
    summary: &'a Summary,
}

fn percentiles(page: &mut Document, shown: &[(Run, Analysis)]) {
    let mut lines: Vec<PercentileRow<'_>> = Vec::new();
    for (run, analysis) in shown {
        let varying = VaryingParams::of_run(run);
        for (index, cell) in run.cells.iter().enumerate() {
            let summaries = rows::summary(analysis, index).map(|own| own.metrics.iter());
            let method = format!("{}{}", cell.method, varying.in_parentheses(&cell.point));
            lines.extend(summaries.into_iter().flatten().map(|summary| {
                let method = method.clone();
                PercentileRow { method, run, summary }
            }));
        }
    }
    if lines.is_empty() {
        return;
    }
    let caption = if is_batched(&lines) {
        "Percentiles are samples that were measured; where a sample is the mean of several operations, they are \
         those of means."
    } else {
        "Percentiles are samples that were measured."
    };
    page.section("percentiles", "Percentiles", |page| {
        page.details("Every metric of every method", |page| {
            page.captioned(caption, table_of(&lines, shown));
        });
    });
}

fn is_batched(lines: &[PercentileRow<'_>]) -> bool {
    lines.iter().any(|line| line.summary.ops > 1)
}

fn table_of(lines: &[PercentileRow<'_>], shown: &[(Run, Analysis)]) -> Table {
    let mut columns =
        vec![TableColumn::left("method").with_cells(lines.iter(), |line| line.method.as_str())];
    if shown.len() > 1 {
        columns
            .push(TableColumn::left("run").with_cells(lines.iter(), |line| charts::name(line.run)));
    }
    columns.push(
        TableColumn::left("metric").with_cells(lines.iter(), |line| line.summary.metric.as_str()),
    );
    let n = |line: &PercentileRow<'_>| {
        TableCell::number(line.summary.n.to_string(), line.summary.n as f64)
    };
    columns.push(TableColumn::right("n").with_cells(lines.iter(), n));
    if is_batched(lines) {
        let ops = |line: &PercentileRow<'_>| {
            TableCell::number(line.summary.ops.to_string(), line.summary.ops as f64)
        };
        columns.push(TableColumn::right("operations a sample").with_cells(lines.iter(), ops));
    }
    for p in [0, 25, 50, 75, 90, 99, 100] {
        let value = |line: &PercentileRow<'_>| match rows::percentile(line.summary, p) {
            Some(found) => TableCell::number(amount(line.summary.unit, found.value), found.value),
            None => TableCell::none(),
        };
        columns.push(TableColumn::right(&format!("p{p}")).with_cells(lines.iter(), value));
    }
    Table::of_columns(columns)
}

/// The warnings, and what to do about them.
fn warnings(page: &mut Document, shown: &[(Run, Analysis)]) {
    for (run, analysis) in shown {
        if shown.len() > 1 {
            page.title(&charts::name(run));
        }
        if analysis.notes.is_empty() {
            page.paragraph(Style::Plain, "", "None.");
        }
        let varying = VaryingParams::of_run(run);
        for note in &analysis.notes {
            let at =
                note.point.as_ref().map(|point| varying.in_parentheses(point)).unwrap_or_default();
            let about = match format!("{}{at}", note.method.as_deref().unwrap_or_default()).trim() {
                "" => String::new(),
                about => format!("{about}: "),
            };
            page.note(Style::Bold, &about, &note.to_string());
        }
    }
}

/// The machine and the system of each run, and the plan; for several runs, the differences come
/// first.
fn environment(page: &mut Document, shown: &[(Run, Analysis)]) {
    let facts: Vec<BTreeMap<String, String>> =
        shown.iter().map(|(run, _)| facts_of_environment(run)).collect();
    let mut names: Vec<&String> = facts.iter().flat_map(BTreeMap::keys).collect();
    names.sort_unstable();
    names.dedup();
    let differs = |name: &String| facts.iter().any(|run| run.get(name) != facts[0].get(name));
    let (differing, same): (Vec<&String>, Vec<&String>) =
        names.into_iter().partition(|n| differs(n));
    if shown.len() > 1 {
        if differing.is_empty() {
            let text = "All runs were measured in the same environment, by the same plan.";
            page.paragraph(Style::Plain, "", text);
        } else {
            let caption = "The runs differ in these facts, which may be why their numbers differ.";
            page.captioned(caption, facts_table(shown, &facts, &differing));
        }
    }
    let summary =
        if shown.len() > 1 { "All that is the same" } else { "Machine, system, build and plan" };
    page.details(summary, |page| page.table(facts_table(&shown[..1], &facts, &same)));
}

fn facts_table(
    shown: &[(Run, Analysis)],
    facts: &[BTreeMap<String, String>],
    names: &[&String],
) -> Table {
    let mut columns =
        vec![TableColumn::left("fact").with_cells(names.iter(), |name| name.as_str())];
    for ((run, _), facts) in shown.iter().zip(facts) {
        let value = |name: &&String| facts.get(*name).map_or(NONE, String::as_str);
        columns.push(TableColumn::left(&charts::name(run)).with_cells(names.iter(), value));
    }
    Table::of_columns(columns)
}

/// What is known: a fact without a value is left out.
fn facts_of_environment(run: &Run) -> BTreeMap<String, String> {
    let known = run.environment.facts.iter().filter(|(_, value)| !value.is_null());
    let mut facts: BTreeMap<String, String> =
        known.map(|(name, value)| (name.clone(), text(value))).collect();
    // The seed differs between runs by design.
    if let Ok(serde_json::Value::Object(plan)) = serde_json::to_value(&run.plan) {
        // The profile has a place of its own.
        let is_fact = |name: &str| !["seed", "profile"].contains(&name);
        let plan = plan.iter().filter(|(name, value)| is_fact(name) && !value.is_null());
        facts.extend(plan.map(|(name, value)| (format!("plan: {name}"), text(value))));
    }
    facts
}

/// The definition is a whole file, in one line: of a long text both ends are shown.
const WIDEST: usize = 120;

fn text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => shortened(text, WIDEST),
        other => shortened(&other.to_string(), WIDEST),
    }
}
