//! The columns of the table: the content of each, and which of them fit.

use lab::analyze::latency::Figures;

use super::row::Number;
use crate::reference::published;
use crate::report::model::table::{self, Cell, CellKind, Style, Table};
use crate::report::model::units::{NONE, Unit, amount};

/// One frame of a display with 60 frames per second.
const FRAME_NS: f64 = 1e9 / 60.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
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
    /// A machine of `reference::MACHINES`, by its short name.
    Published(&'static str),
    /// A bar of this width, in columns.
    Bar(usize),
    Method,
}

use Column::{Bar, Frame, Grade, Interval, Method, N, P10, P25, P50, P90, Published, Range};

const Y2012: Column = Published("2012");
const IPHONE_5S: Column = Published("iphone-5s");
const IPHONE_6S: Column = Published("iphone-6s-plus");
const IPHONE_X: Column = Published("iphone-x");

/// All columns, by the word for `--columns`.
pub(crate) const COLUMNS: [(&str, Column); 15] = [
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

pub(crate) const FOR_MARKDOWN: &[Column] =
    &[P50, Interval, Range, Grade, Frame, Y2012, IPHONE_5S, IPHONE_6S, IPHONE_X];

/// From the widest page to the narrowest.
pub(crate) const LAYOUTS: [&[Column]; 5] = [
    &[P50, Interval, Range, Grade, Frame, Y2012, IPHONE_5S, IPHONE_6S, IPHONE_X, Bar(24)],
    &[P50, Interval, Range, Grade, Frame, Y2012, IPHONE_5S, IPHONE_6S, IPHONE_X, Bar(12)],
    &[P50, Range, Grade, Frame, Y2012, IPHONE_X, Bar(8)],
    &[P50, Range, Grade, Frame, Y2012, IPHONE_X],
    &[P50, Range, Grade],
];

/// A line per row, and a rule above each experiment.
pub(crate) fn table(numbers: &[Number], columns: &[Column]) -> Table {
    let of_column = |column: &Column| {
        let of = if column.is_left() { table::Column::left } else { table::Column::right };
        table::Column { gap: 1, ..of(heading(*column)) }
    };
    let title = table::Column { gap: 0, ..table::Column::left("operation") };
    let columns_of_table = std::iter::once(title).chain(columns.iter().map(of_column)).collect();
    let mut table = Table::new(columns_of_table);
    let mut experiment = numbers.first().map(|number| number.row.experiment);
    for number in numbers {
        let cell = |column: &Column| {
            let kind = if column.is_left() { CellKind::Text } else { CellKind::Number };
            Cell { kind, ..cell(number, *column).into() }
        };
        let title = std::iter::once(number.row.title.into());
        let row = table.row(Style::Plain, title.chain(columns.iter().map(cell)));
        row.is_ruled = experiment.replace(number.row.experiment) != Some(number.row.experiment);
    }
    table
}

fn heading(column: Column) -> &'static str {
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

impl Column {
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
                "A, B, C: half of the sessions, and a quarter of the samples, come down to the lowest within 5 %, \
                 within 20 %, not. No A where more than 10 % of a row's samples waited for a CPU, where other \
                 programs used more than 10 % of the CPU time meanwhile or the hypervisor took more than 1 %, or \
                 where that is not known; C where it was more than 50, 50 and 10 %. p10 varies least from run to \
                 run."
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

fn cell(number: &Number, column: Column) -> String {
    if let Published(machine) = column {
        let figures = published(number.row.published, number.row.published_on);
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

fn measured(figures: &Figures, column: Column) -> String {
    let time = |ns: f64| {
        let unit = Unit::of("ns", [ns]);
        format!("{} {}", unit.number(ns), unit.name)
    };
    match column {
        P10 => time(figures.p10),
        P25 => time(figures.p25),
        P50 => time(figures.p50),
        P90 => time(figures.p90),
        Range => {
            let unit = Unit::of("ns", [figures.p50]);
            format!("{}–{}", unit.number(figures.p10), unit.number(figures.p90))
        }
        Interval => figures.interval.map_or_else(none, |(low, high)| {
            let unit = Unit::of("ns", [figures.p50]);
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
