//! All counted samples as one wide table: the identifiers of the run, the cell and the sample, the
//! params, the metrics. It is passed on row by row.

use lab::param::{Point, Value};
use lab::run::{Pass, Role, Run, Sample};

use super::cells::{Entry, Exported};

pub(super) struct Columns<'a> {
    exported: &'a Exported<'a>,
    pub(super) names: Vec<String>,
    pub(super) kinds: Vec<Kind>,
    params: Vec<&'a str>,
    metrics: Vec<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Whole,
    Number,
    Flag,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Field<'a> {
    None,
    Text(&'a str),
    Owned(String),
    Whole(u64),
    Number(f64),
    Flag(bool),
}

/// The columns whose values are the same for all samples of a cell; the columns of a sample follow.
const OF_CELL: [(&str, Kind); 9] = [
    ("run", Kind::Text),
    ("experiment", Kind::Text),
    ("label", Kind::Text),
    ("started", Kind::Text),
    ("machine", Kind::Text),
    ("method", Kind::Text),
    ("language", Kind::Text),
    ("role", Kind::Text),
    ("wrong_answer", Kind::Flag),
];
const OF_SAMPLE: [(&str, Kind); 7] = [
    ("pass", Kind::Text),
    ("session", Kind::Whole),
    ("round", Kind::Whole),
    ("slot", Kind::Whole),
    ("ops", Kind::Whole),
    ("bytes", Kind::Whole),
    ("answer", Kind::Text),
];

impl<'a> Columns<'a> {
    pub(super) fn new(exported: &'a Exported<'a>) -> Columns<'a> {
        let (params, param_kinds): (Vec<&str>, Vec<Kind>) =
            params(exported.run).into_iter().unzip();
        let metrics = exported.metrics_of(is_row);
        let mut columns = Columns {
            exported,
            names: Vec::new(),
            kinds: Vec::new(),
            params: params.clone(),
            metrics: metrics.clone(),
        };
        for (name, kind) in OF_CELL {
            columns.add(name.to_owned(), kind);
        }
        for (name, kind) in params.iter().zip(param_kinds) {
            columns.add(format!("param_{name}"), kind);
        }
        for (name, kind) in OF_SAMPLE {
            columns.add(name.to_owned(), kind);
        }
        for name in metrics {
            columns.add(name.to_owned(), Kind::Number);
        }
        columns
    }

    /// Avoids duplicate names, as a method may give its own metric any name.
    fn add(&mut self, mut name: String, kind: Kind) {
        while self.names.contains(&name) {
            name.insert_str(0, "metric_");
        }
        self.names.push(name);
        self.kinds.push(kind);
    }

    /// Passes on each row.
    pub(super) fn rows<E>(
        &self,
        mut row: impl FnMut(&[Field<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        for entry in self.exported.cells.iter().filter(|entry| is_row(entry)) {
            let cell = entry.cell;
            let head = self.head(entry);
            let metrics: Vec<Option<&[f64]>> =
                self.metrics.iter().map(|name| cell.values.get(*name).map(Vec::as_slice)).collect();
            let mut fields = head.clone();
            for (at, sample) in cell.samples.iter().enumerate().filter(|(_, s)| counts(s)) {
                fields.truncate(head.len());
                fields.extend(of_sample(sample));
                fields.extend(metrics.iter().map(|values| match values.and_then(|v| v.get(at)) {
                    Some(value) if value.is_finite() => Field::Number(*value),
                    _ => Field::None,
                }));
                row(&fields)?;
            }
        }
        Ok(())
    }

    fn head<'b>(&'b self, entry: &'b Entry<'_>) -> Vec<Field<'b>> {
        let (run, cell) = (self.exported.run, entry.cell);
        let text = |text: Option<&'b str>| text.map_or(Field::None, Field::Text);
        let role = match cell.role {
            Role::Contender => "contender",
            Role::Yardstick => "yardstick",
        };
        let fields = [
            text(Some(&run.id)),
            text(Some(&run.experiment)),
            text(run.label.as_deref()),
            text(Some(&run.started)),
            text(Some(&run.environment.fingerprint)),
            text(Some(&cell.method)),
            text(cell.language.as_deref()),
            text(Some(role)),
            Field::Flag(entry.wrong_answer),
        ];
        let param = |(at, name): (usize, &&str)| match (cell.point.get(name), self.kinds[at]) {
            (None, _) => Field::None,
            (Some(Value::Number(n)), Kind::Whole) => Field::Whole(*n),
            (Some(value), _) => Field::Owned(value.to_string()),
        };
        let params = self.params.iter().enumerate();
        let params = params.map(|(at, name)| param((at + OF_CELL.len(), name)));
        fields.into_iter().chain(params).collect()
    }

    /// The reason for each cell that has no rows.
    pub(super) fn left_out(&self) -> Vec<String> {
        let left = self.exported.cells.iter().filter(|entry| !is_row(entry));
        left.filter_map(|entry| Some(entry.left_out(entry.refused.as_deref()?))).collect()
    }
}

/// A wrong answer has a column here, so its rows need not be omitted.
fn is_row(entry: &Entry<'_>) -> bool {
    entry.refused.is_none() || (entry.wrong_answer && entry.cell.has_figures())
}

fn counts(sample: &Sample) -> bool {
    sample.counts_in(sample.pass)
}

fn of_sample(sample: &Sample) -> [Field<'_>; OF_SAMPLE.len()] {
    let pass = match sample.pass {
        Pass::Timing => "timing",
        Pass::Counting => "counting",
    };
    [
        Field::Text(pass),
        Field::Whole(sample.session.into()),
        Field::Whole(sample.round.into()),
        Field::Whole(sample.slot.into()),
        Field::Whole(sample.ops),
        Field::Whole(sample.bytes),
        sample.answer.as_deref().map_or(Field::None, Field::Text),
    ]
}

/// The params that any cell has, in the order of the points; numeric only if all values are
/// numbers.
fn params(run: &Run) -> Vec<(&str, Kind)> {
    let mut params: Vec<(&str, Kind)> = Vec::new();
    let points = run.points.iter().chain(run.cells.iter().map(|cell| &cell.point));
    for (name, value) in points.flat_map(Point::iter) {
        let kind = if matches!(value, Value::Number(_)) { Kind::Whole } else { Kind::Text };
        match params.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) if kind == Kind::Text => *known = Kind::Text,
            Some(_) => {}
            None => params.push((name, kind)),
        }
    }
    params.retain(|(name, _)| run.cells.iter().any(|cell| cell.point.get(name).is_some()));
    params
}
