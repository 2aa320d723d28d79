//! What the figures of a study show: its author's and those of here, as the author drew them.

use lab::param::Value;
use lab::run::Role;
use lab::stats::nearest_rank;

use super::{Block, CellIndex, StudyReport, Whose};
use crate::reference::{Drawing, Row};
use crate::report::model::charts;

/// The percentiles that the curves join.
const PERCENTILES: [f64; 7] = [0.0, 25.0, 50.0, 75.0, 90.0, 99.0, 100.0];

/// Each p in percent, with its value.
pub(crate) type Curve = Vec<(f64, f64)>;

/// The curves of one machine.
pub(crate) struct Curves {
    pub(crate) title: String,
    /// The number of the study's row, and its curve.
    pub(crate) lines: Vec<(usize, Curve)>,
}

/// A panel of distributions.
pub(crate) struct Boxes {
    pub(crate) title: String,
    /// The value of the param at the axis, and the box of the samples at it.
    pub(crate) boxes: Vec<(String, Spread)>,
}

/// The quartiles, the ends of the whiskers, and the samples beyond them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) quartiles: [f64; 3],
    /// The last samples within 1.5 times the distance of the quartiles.
    pub(crate) whiskers: [f64; 2],
    pub(crate) outliers: Vec<f64>,
}

impl Spread {
    pub(crate) fn from_samples(mut samples: Vec<f64>) -> Option<Spread> {
        samples.retain(|value| value.is_finite());
        samples.sort_unstable_by(f64::total_cmp);
        let at = |p: f64| nearest_rank(samples.len(), p).map(|rank| samples[rank - 1]);
        let quartiles = [at(25.0)?, at(50.0)?, at(75.0)?];
        let reach = 1.5 * (quartiles[2] - quartiles[0]);
        let [low, high] = [quartiles[0] - reach, quartiles[2] + reach];
        let within = |value: &&f64| (low..=high).contains(*value);
        let mut inner = samples.iter().filter(within);
        let first = *inner.next()?;
        let whiskers = [first, inner.next_back().copied().unwrap_or(first)];
        let outliers = samples.iter().filter(|value| !within(value)).copied().collect();
        Some(Spread { quartiles, whiskers, outliers })
    }
}

impl<'a> StudyReport<'a> {
    /// One for each machine of the author, one for the methods of here, and one for those in the
    /// place of the author's.
    pub(crate) fn curves(&self, metric: &str) -> Vec<Curves> {
        let own: fn(&Row) -> Option<&str> = |row| row.method.as_deref();
        let other: fn(&Row) -> Option<&str> = |row| row.stand_in.as_deref();
        let machines = self.published.iter().map(|published| {
            let line = |row: &Row| {
                let mut of_row = published
                    .figures
                    .iter()
                    .filter(|figure| figure.method == row.published && figure.metric == metric);
                of_row.next().map(|figure| figure.percentiles.clone())
            };
            self.curves_of(published.machine.clone(), &line)
        });
        let here = [("here", own), ("here, in their place", other)].map(|(title, method)| {
            let line = |row: &Row| {
                let place = self.place(row, method(row)?).ok()?;
                let samples = self.samples(place, row.metric(metric));
                let at = |p: f64| Some((p, samples[nearest_rank(samples.len(), p)? - 1]));
                PERCENTILES.into_iter().map(at).collect()
            };
            self.curves_of(title.to_owned(), &line)
        });
        machines.chain(here).filter(|curves| !curves.lines.is_empty()).collect()
    }

    fn curves_of(&self, title: String, line: &dyn Fn(&Row) -> Option<Curve>) -> Curves {
        let rows = self.study.rows.iter().enumerate();
        let lines = rows.filter_map(|(at, row)| Some((at, line(row)?)));
        Curves { title, lines: lines.filter(|(_, line)| !line.is_empty()).collect() }
    }

    /// In order.
    fn samples(&self, place: CellIndex, metric: &str) -> Vec<f64> {
        let cell = &self.runs[place.run].0.cells[place.cell];
        let mut samples: Vec<f64> = cell.counted(metric).map(|(_, value)| value).collect();
        samples.sort_unstable_by(f64::total_cmp);
        samples
    }

    /// The distributions of here at each value of a param, a panel for each combination of others.
    pub(crate) fn distributions(&self, drawing: &Drawing) -> Vec<Boxes> {
        let mut panels: Vec<Boxes> = Vec::new();
        for (run, _) in &self.runs {
            let cells = run.cells.iter().filter(|cell| cell.role == Role::Contender);
            for cell in cells.filter(|cell| cell.has_figures()) {
                let Some(at) = cell.point.get(&drawing.by) else { continue };
                let of_panel = drawing.panels.iter().filter_map(|name| cell.point.get(name));
                let words = of_panel.map(charts::value).chain([cell.method.clone()]);
                let title = words.collect::<Vec<String>>().join(" · ");
                let samples = cell.counted(&drawing.metric).map(|(_, value)| value).collect();
                let Some(spread) = Spread::from_samples(samples) else { continue };
                let entry = (label(at), spread);
                match panels.iter_mut().find(|panel| panel.title == title) {
                    Some(panel) => panel.boxes.push(entry),
                    None => panels.push(Boxes { title, boxes: vec![entry] }),
                }
            }
        }
        panels
    }

    /// The bars of one metric: the label of each row, and whose value each bar is.
    pub(crate) fn bars(&self, metric: &str) -> Vec<(&'a str, Vec<(Whose<'a>, f64)>)> {
        let Some(column) = self.study.columns.iter().position(|column| column == metric) else {
            return Vec::new();
        };
        let of_block = |block: Block<'a>| {
            let lines = block.lines.iter();
            let bars = lines.filter_map(|line| Some((line.whose, line.figures[column]?)));
            (block.label, bars.collect::<Vec<_>>())
        };
        let all = self.blocks().into_iter().map(of_block);
        all.filter(|(_, bars)| !bars.is_empty()).collect()
    }
}

/// A number as the author writes it.
fn label(value: &Value) -> String {
    match value {
        Value::Number(n) => crate::report::model::units::count(*n as f64),
        Value::Text(_) => charts::value(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_are_beyond_one_and_a_half_times_the_distance_of_the_quartiles() {
        let samples = (1..=8).map(f64::from).chain([11.0, 12.1, f64::NAN]).collect();
        let spread = Spread::from_samples(samples).unwrap();
        // Quartiles 3 and 8: the whiskers end at most at 15.5 and at -4.5.
        let expected =
            Spread { quartiles: [3.0, 5.0, 8.0], whiskers: [1.0, 12.1], outliers: Vec::new() };
        assert_eq!(spread, expected);
        let samples = [5.0, 1.0, 6.0, 5.5, 9.0, 5.2].to_vec();
        let spread = Spread::from_samples(samples).unwrap();
        let expected =
            Spread { quartiles: [5.0, 5.2, 6.0], whiskers: [5.0, 6.0], outliers: vec![1.0, 9.0] };
        assert_eq!(spread, expected);
        assert_eq!(Spread::from_samples(vec![f64::NAN]), None);
        assert!(Spread::from_samples(vec![2.0]).is_some());
    }
}
