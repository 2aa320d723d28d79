//! The parts that all kinds of text share: the rows of a run and their words, units, tables and
//! charts as data.

pub(crate) mod answer;
pub(crate) mod charts;
pub(crate) mod compare;
pub(crate) mod fleet;
pub(crate) mod history;
pub(crate) mod made_of;
pub(crate) mod numbers;
pub(crate) mod rows;
pub(crate) mod study;
pub(crate) mod suite;
pub(crate) mod sweep;
pub(crate) mod table;
pub(crate) mod units;
pub(crate) mod words;

use model::descriptor::Descriptor;
use model::param::{ParamValue, Point};
use model::run::Run;
pub use model::run::View;

pub fn view(run: &Run) -> View {
    Descriptor::of(run).view
}

/// The params that distinguish the points of a run.
pub(crate) struct VaryingParams<'a> {
    pub names: Vec<&'a str>,
}

impl<'a> VaryingParams<'a> {
    pub(crate) fn of_run(run: &'a Run) -> VaryingParams<'a> {
        VaryingParams::of_points(&run.points.iter().collect::<Vec<_>>())
    }

    pub(crate) fn of_points(points: &[&'a Point]) -> VaryingParams<'a> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in points.iter().flat_map(|point| point.iter()) {
            let first: Option<&ParamValue> = points.first().and_then(|point| point.get(name));
            if !names.contains(&name) && points.iter().any(|p| p.get(name) != first) {
                names.push(name);
            }
        }
        VaryingParams { names }
    }

    /// `buffer=64Ki`: the values of the point that vary in the run; empty if none varies.
    pub(crate) fn shown(&self, point: &Point) -> String {
        units::point(&point.only(|name| self.names.contains(&name)))
    }

    /// ` (buffer=64Ki)`, to follow a method's name; empty if none varies.
    pub(crate) fn in_parentheses(&self, point: &Point) -> String {
        let shown = self.shown(point);
        if shown.is_empty() { shown } else { format!(" ({shown})") }
    }

    pub(crate) fn fixed(&self, point: &Point) -> String {
        units::point(&point.only(|name| !self.names.contains(&name)))
    }
}
