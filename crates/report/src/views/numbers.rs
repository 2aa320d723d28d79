//! The table of `bytelab numbers`: a line per row, in units that fit it, with published figures.

use std::collections::BTreeMap;

use analysis::Analysis;
use analysis::latency::{Figures, MachineLoad, OTHERS, STEAL, figures};
use model::numbers::{NumbersRow, row, took_fact};
use model::run::{self, Run, Warning, WarningKind};

use super::table::{self, CellKind, Style, Table, TableCell};
use super::units::{NONE, Unit, amount};
use super::words::{joined, minute};
use crate::published::published_values;

pub(crate) fn legend(columns: &[NumbersColumn]) -> String {
    columns.iter().filter_map(|column| column.legend()).collect::<Vec<&str>>().join(" ")
}

/// The table with the columns of the Markdown version.
pub(crate) fn whole(run: &Run) -> Table {
    table(&numbers(run), FOR_MARKDOWN)
}

/// The answer in one sentence, and what reduces the grades.
pub(crate) fn answers(run: &Run) -> Vec<String> {
    let numbers = numbers(run);
    std::iter::once(answer(&numbers)).chain(own_notes(run, &numbers)).collect()
}

/// The lines of the short answer: a topic, and its rows by their names with a short label each.
const HEADLINES: [(&str, &[(&str, &str)]); 4] = [
    (
        "memory",
        &[
            ("l1-load", "L1"),
            ("l2-load", "L2"),
            ("l3-load", "L3"),
            ("memory-load", "memory"),
            ("read-memory", "1 MiB"),
        ],
    ),
    (
        "threads",
        &[("mutex", "a mutex"), ("semaphore-other", "another CPU woken"), ("thread", "a thread")],
    ),
    (
        "kernel",
        &[
            ("system-call", "a syscall"),
            ("switch-threads", "a switch"),
            ("page-fault", "a new page"),
            ("fork-exec", "a process"),
        ],
    ),
    (
        "files",
        &[
            ("pread", "1 KiB cached"),
            ("disk-read", "4 KiB of the device"),
            ("create-file", "a new file"),
            ("fsync", "an fsync"),
        ],
    ),
];

/// What costs what, in at most five short lines, each with its name; of a few rows alone, none.
pub(crate) fn headlines(numbers: &[MeasuredNumber]) -> Vec<(&'static str, String)> {
    let p50 = |name: &str| {
        let number = numbers.iter().find(|number| number.row.name == name)?;
        Some(number.figures.as_ref().ok()?.p50)
    };
    let mut lines = Vec::new();
    for (about, rows) in HEADLINES {
        let cost = |(name, word): &(&str, &str)| {
            let ns = p50(name)?;
            Some(format!("{word} {}", amount("ns", ns)))
        };
        let costs: Vec<String> = rows.iter().filter_map(cost).collect();
        if costs.len() > 1 {
            lines.push((about, costs.join(", ")));
        }
    }
    let loads = |name: &str| Some(amount("count", (p50(name)? / p50("l1-load")?).round()));
    let named =
        [("memory-load", "a memory load"), ("system-call", "a syscall"), ("fsync", "an fsync")];
    let of_row = |(name, word): (&str, &str)| Some(format!("{word} {}", loads(name)?));
    let surprises: Vec<String> = named.into_iter().filter_map(of_row).collect();
    if surprises.len() > 1 {
        lines.push(("as many L1 loads fit into", surprises.join(", ")));
    }
    lines
}

/// The sentence about the range from the smallest to the largest value.
fn answer(numbers: &[MeasuredNumber]) -> String {
    let measured = numbers.iter().filter_map(|number| {
        let figures = number.figures.as_ref().ok()?;
        Some((number.row.title, figures.p50))
    });
    let mut measured: Vec<(&str, f64)> = measured.collect();
    measured.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(least), Some(most)) = (measured.first(), measured.last()) else {
        return "Nothing was measured.".to_owned();
    };
    let [from, to] = [least, most].map(|(title, p50)| format!("{} ({title})", amount("ns", *p50)));
    format!("{} operations, from {from} to {to}.", measured.len())
}

/// `Grades: 40 rows A, 1 row B.`; empty if nothing was measured.
pub(crate) fn grades(numbers: &[MeasuredNumber]) -> String {
    let mut rows: BTreeMap<char, usize> = BTreeMap::new();
    for figures in numbers.iter().filter_map(|number| number.figures.as_ref().ok()) {
        *rows.entry(figures.grade).or_default() += 1;
    }
    let counted = rows.iter().map(|(grade, n)| {
        let plural = if *n == 1 { "" } else { "s" };
        format!("{n} row{plural} {grade}")
    });
    let counted: Vec<String> = counted.collect();
    if counted.is_empty() { String::new() } else { format!("Grades: {}.", counted.join(", ")) }
}

/// By experiment, the time that its rows took and what that gave; of a run that knows the time.
pub(crate) fn times(run: &Run, numbers: &[MeasuredNumber]) -> Vec<(&'static str, String)> {
    let mut experiments: Vec<&'static str> = Vec::new();
    for number in numbers {
        if !experiments.contains(&number.row.experiment) {
            experiments.push(number.row.experiment);
        }
    }
    let of_experiment = |experiment: &'static str| {
        let ns = run.environment.facts.get(&took_fact(experiment))?.as_f64()?;
        let rows = numbers.iter().filter(|number| number.row.experiment == experiment);
        let figures = rows.filter_map(|number| number.figures.as_ref().ok());
        let figures: Vec<&Figures> = figures.collect();
        let samples: usize = figures.iter().map(|figures| figures.n).sum();
        let sessions = figures.iter().map(|figures| figures.sessions).max().unwrap_or_default();
        let of = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
        let bought = [of(figures.len(), "row"), of(samples, "sample"), of(sessions, "session")];
        let [rows, samples, sessions] = bought;
        Some((experiment, format!("{}: {rows}, {samples} in {sessions}", amount("ns", ns))))
    };
    experiments.into_iter().filter_map(of_experiment).collect()
}

/// The title of each row without figures, and why it has none.
pub(crate) fn not_measured(numbers: &[MeasuredNumber]) -> Vec<(&'static str, &str)> {
    let found = numbers.iter().filter_map(|number| {
        let reason = number.figures.as_ref().err()?;
        Some((number.row.title.trim(), reason.as_str()))
    });
    found.collect()
}

/// The p50 of each measured row, and the number of its samples.
pub fn p50s(run: &Run) -> Vec<(&'static NumbersRow, f64, usize)> {
    let numbers = numbers(run).into_iter();
    numbers.filter_map(|n| n.figures.ok().map(|figures| (n.row, figures.p50, figures.n))).collect()
}

/// The machine, the program and the date, on one line.
pub(crate) fn measured_on(run: &Run) -> String {
    let fact = |name: &str| match run.environment.facts.get(name) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(serde_json::Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let with = |before: &str, name: &str, after: &str| match fact(name) {
        unknown if unknown.is_empty() || unknown == "none" => unknown.replace("none", ""),
        known => format!("{before}{known}{after}"),
    };
    let facts = [
        fact("cpu_model"),
        with("", "cpu_threads", " CPUs"),
        with("", "memory_gib", " GiB"),
        with("under ", "hypervisor", ""),
        fact("os_name"),
        with("kernel ", "kernel_release", ""),
        with("bytelab ", "bytelab_version", ""),
        minute(&run.started),
        if run.id.is_empty() { String::new() } else { format!("run {}", run.id) },
    ];
    joined(facts)
}

// The content of a cell of `numbers`: the percentiles of its row, and how reliable they are.

/// One measured row of the table. All values are in ns.
pub(crate) struct MeasuredNumber {
    pub row: &'static NumbersRow,
    pub figures: Result<Figures, String>,
    /// The size that was used, if it depends on the machine.
    pub size_bytes: Option<f64>,
}

/// The rows of a run, in its order.
pub(crate) fn numbers(run: &Run) -> Vec<MeasuredNumber> {
    let load = MachineLoad::from_run(run);
    run.cells.iter().filter_map(|cell| number(cell, &load)).collect()
}

fn number(cell: &run::Cell, load: &MachineLoad) -> Option<MeasuredNumber> {
    let row = row(cell.point.text("row").ok()?)?;
    let figures = match &cell.status {
        status if !cell.has_figures() => {
            Err(format!("{}: {}", status.word(), status.reason().unwrap_or_default()))
        }
        _ => figures(cell, row.quantity, load).ok_or_else(|| "no sample that counts".to_owned()),
    };
    let size_bytes = cell.counted("size_bytes").map(|(_, bytes)| bytes).next();
    Some(MeasuredNumber { row, figures, size_bytes })
}

// The columns of the table: the content of each, and which of them fit.

/// One frame of a display with 60 frames per second.
const FRAME_NS: f64 = 1e9 / 60.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumbersColumn {
    P10,
    P25,
    P50,
    P90,
    Range,
    /// The interval of p50, by session.
    Interval,
    Frame,
    Grade,
    N,
    /// A machine of `published::MACHINES`, by its short name.
    Published(&'static str),
    /// A bar of this width, in columns.
    Bar(usize),
    Method,
}

use NumbersColumn::{Bar, Frame, Grade, Interval, Method, N, P10, P25, P50, P90, Published, Range};

const Y2012: NumbersColumn = Published("2012");
const IPHONE_5S: NumbersColumn = Published("iphone-5s");
const IPHONE_6S: NumbersColumn = Published("iphone-6s-plus");
const IPHONE_X: NumbersColumn = Published("iphone-x");

/// All columns, by the word for `--columns`.
pub const COLUMNS: [(&str, NumbersColumn); 15] = [
    ("p10", P10),
    ("p25", P25),
    ("p50", P50),
    ("p90", P90),
    ("range", Range),
    ("interval", Interval),
    ("frame", Frame),
    ("grade", Grade),
    ("n", N),
    ("2012", Y2012),
    ("iphone-5s", IPHONE_5S),
    ("iphone-6s-plus", IPHONE_6S),
    ("iphone-x", IPHONE_X),
    ("bar", Bar(20)),
    ("method", Method),
];

pub(crate) const FOR_MARKDOWN: &[NumbersColumn] =
    &[P50, Interval, Range, Grade, Frame, Y2012, IPHONE_5S, IPHONE_6S, IPHONE_X];

/// The columns of each page width, the widest first.
pub(crate) const LAYOUTS: [&[NumbersColumn]; 5] = [
    &[P50, Interval, Range, Grade, Frame, Y2012, IPHONE_5S, IPHONE_6S, IPHONE_X, Bar(24)],
    &[P50, Interval, Range, Grade, Frame, Y2012, IPHONE_5S, IPHONE_6S, IPHONE_X, Bar(12)],
    &[P50, Range, Grade, Frame, Y2012, IPHONE_X, Bar(8)],
    &[P50, Range, Grade, Frame, Y2012, IPHONE_X],
    &[P50, Range, Grade],
];

/// A line per row, and a rule above each experiment.
pub(crate) fn table(numbers: &[MeasuredNumber], columns: &[NumbersColumn]) -> Table {
    let of_column = |column: &NumbersColumn| {
        let new =
            if column.is_left() { table::TableColumn::left } else { table::TableColumn::right };
        table::TableColumn { gap: 1, ..new(heading(*column)) }
    };
    let title = table::TableColumn { gap: 0, ..table::TableColumn::left("operation") };
    let columns_of_table = std::iter::once(title).chain(columns.iter().map(of_column)).collect();
    let mut table = Table::new(columns_of_table);
    let mut experiment = numbers.first().map(|number| number.row.experiment);
    for number in numbers {
        let cell = |column: &NumbersColumn| {
            let kind = if column.is_left() { CellKind::Text } else { CellKind::Number };
            TableCell { kind, ..cell(number, *column).into() }
        };
        let title = std::iter::once(number.row.title.into());
        let row = table.row(Style::Plain, title.chain(columns.iter().map(cell)));
        row.is_ruled = experiment.replace(number.row.experiment) != Some(number.row.experiment);
    }
    table
}

fn heading(column: NumbersColumn) -> &'static str {
    match column {
        P10 => "p10",
        P25 => "p25",
        P50 => "p50",
        P90 => "p90",
        Range => "p10–p90",
        Interval => "95 %",
        Frame => "/frame",
        Grade => "",
        N => "n",
        Published("iphone-5s") => "5s",
        Published("iphone-6s-plus") => "6s+",
        Published("iphone-x") => "iPhone X",
        Published(machine) => machine,
        Bar(width) if width < 12 => "log",
        Bar(_) => "1 ns … 1 s",
        Method => "method",
    }
}

impl NumbersColumn {
    fn is_left(self) -> bool {
        matches!(self, Bar(_) | Method | Grade)
    }

    pub(crate) fn legend(self) -> Option<&'static str> {
        Some(match self {
            Range => "p10–p90 are in the unit of p50.",
            Interval => {
                "95 %: Student's interval of the sessions' medians, in the unit of p50, of five sessions or more."
            }
            Frame => "/frame: how many fit into one frame of 16.7 ms.",
            Grade => {
                "A: half of the sessions, and a quarter of the samples, are within 5 % of the \
                 lowest; B: within 20 %; C: not. They say how well the sessions of this run agree, \
                 not whether another run will. No A where more than 10 % of a row's samples waited \
                 for a CPU, where other programs used more than 10 % of the CPU time meanwhile or \
                 the hypervisor took more than 1 %, or where that is not known; C where it was \
                 more than 50, 50 and 10 %. p10 varies least from run to run."
            }
            Y2012 => {
                "2012: latency numbers every programmer should know; its semaphore is an uncontended \
                 mutex, its disk read a seek."
            }
            IPHONE_X => "iPhones: LMbench, Kurkin 2019.",
            Bar(_) => "Bars are logarithmic, from 1 ns to 1 s.",
            _ => return None,
        })
    }
}

fn cell(number: &MeasuredNumber, column: NumbersColumn) -> String {
    if let Published(machine) = column {
        let figures = published_values(number.row.published, number.row.published_on);
        let figure = figures.into_iter().find(|(of, _)| *of == machine);
        return figure.map_or_else(String::new, |(_, ns)| amount("ns", ns));
    }
    if column == Method {
        return format!("{} {} {}", number.row.experiment, number.row.method, number.row.point);
    }
    match &number.figures {
        Ok(figures) => measured(figures, column),
        Err(_) => none(),
    }
}

fn measured(figures: &Figures, column: NumbersColumn) -> String {
    let time = |ns: f64| {
        let unit = Unit::for_values("ns", [ns]);
        format!("{} {}", unit.number(ns), unit.name)
    };
    match column {
        P10 => time(figures.p10),
        P25 => time(figures.p25),
        P50 => time(figures.p50),
        P90 => time(figures.p90),
        Range => {
            let unit = Unit::for_values("ns", [figures.p50]);
            format!("{}–{}", unit.number(figures.p10), unit.number(figures.p90))
        }
        Interval => figures.interval.map_or_else(none, |(low, high)| {
            let unit = Unit::for_values("ns", [figures.p50]);
            format!("{}–{}", unit.number(low), unit.number(high))
        }),
        Frame => match FRAME_NS / figures.p50 {
            few if few < 100.0 => format!("{few:.1}"),
            many => amount("count", many.round()),
        },
        Grade => figures.grade.to_string(),
        N => figures.n.to_string(),
        Bar(width) => {
            let share = (figures.p50.max(1.0).log10() / 9.0).min(1.0);
            "█".repeat(((share * width as f64).round() as usize).max(1))
        }
        Published(_) | Method => String::new(),
    }
}

/// The text for a missing figure.
fn none() -> String {
    NONE.to_owned()
}

// The warnings about the rows: the notes of the run, in the words of the table.

/// The row of each warning, and its text.
pub(crate) fn all_notes(
    run: &Run,
    analysis: &Analysis,
    numbers: &[MeasuredNumber],
) -> Vec<(String, String)> {
    // A sample that waited is omitted, and the reason why a row was not measured precedes the
    // notes.
    let said_here = |note: &&Warning| {
        !matches!(
            note.kind,
            WarningKind::Waited
                | WarningKind::Throttled
                | WarningKind::WaitTakenOut
                | WarningKind::Failed(_)
                | WarningKind::Skipped(_)
        )
    };
    let own = own_notes(run, numbers).map(|text| (String::new(), text));
    own.chain(analysis.notes.iter().filter(said_here).map(of_row)).collect()
}

/// Warnings that are derived from the rows, in addition to the notes of the run.
pub(crate) fn own_notes(
    run: &Run,
    numbers: &[MeasuredNumber],
) -> impl Iterator<Item = String> + use<> {
    loaded(&MachineLoad::from_run(run)).into_iter().chain(waited(numbers))
}

/// Why the grades are limited, if they are.
fn loaded(load: &MachineLoad) -> Option<String> {
    let limit = load.best_grade();
    if limit == 'A' {
        return None;
    }
    let part = |share: Option<f64>, limits: [f64; 2], what: &str| match share {
        Some(share) if share > limits[0] => {
            Some(format!("{what} {:.0} % of the CPU time meanwhile", 100.0 * share))
        }
        Some(_) => None,
        None => Some(format!("it is not known how much of the CPU time {what} meanwhile")),
    };
    let why = [
        part(load.others, OTHERS, "other programs used"),
        part(load.steal, STEAL, "the hypervisor took"),
    ];
    let why: Vec<String> = why.into_iter().flatten().collect();
    Some(format!(
        "{}: no row is graded better than {limit}; measure again when the machine has nothing else to do",
        why.join(", and ")
    ))
}

fn of_row(note: &Warning) -> (String, String) {
    let name = note.point.as_ref().and_then(|point| point.text("row").ok());
    let about = name.map(|name| row(name).map_or(name, |row| row.title.trim()));
    // A note about one method may apply to several rows here.
    let some = note.method.as_ref().map(|_| "some rows");
    let about = about.or(some).map_or(String::new(), |about| format!("{about}: "));
    let n = note.cells.as_ref().map_or(0, |cells| cells.n);
    (about, note.with_cells(&format!("{n} rows")))
}

/// At most this many are listed by name.
const NAMED_MAX: usize = 6;

fn waited(numbers: &[MeasuredNumber]) -> Option<String> {
    let disturbed =
        |number: &&MeasuredNumber| number.figures.as_ref().is_ok_and(|f| f.disturbed > 0);
    let rows: Vec<&str> = numbers.iter().filter(disturbed).map(|n| n.row.title.trim()).collect();
    let named = rows.iter().take(NAMED_MAX).copied().collect::<Vec<&str>>().join(", ");
    let more = if rows.len() > NAMED_MAX { ", …" } else { "" };
    (!rows.is_empty()).then(|| {
        format!(
            "samples waited for a CPU in {} of {} rows ({named}{more}): they are left out where ten others are left",
            rows.len(),
            numbers.len()
        )
    })
}
