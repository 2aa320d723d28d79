//! The samples of a cell: which of them count, and which are shown.

use std::collections::BTreeMap;

use super::{Cell, DIED, Pass, Role, Sample, Status};
use crate::param::Point;

impl Cell {
    /// A cell of a contender, without samples.
    pub fn new(method: impl Into<String>, point: Point) -> Self {
        Self {
            method: method.into(),
            about: String::new(),
            role: Role::Contender,
            language: None,
            point,
            status: Status::Measured,
            digest: None,
            syscalls_by_name: None,
            samples: Vec::new(),
            values: BTreeMap::new(),
        }
    }

    /// Whether the samples represent the method. Those of a method that died late do; those of a
    /// method that delivered wrong bytes or reported impossible values do not.
    pub fn has_figures(&self) -> bool {
        match &self.status {
            Status::Measured => true,
            Status::Failed(reason) => reason.starts_with(DIED),
            Status::Skipped(_) => false,
        }
    }

    /// Adds a sample with its values.
    pub fn push<N: AsRef<str>>(&mut self, sample: Sample, values: &[(N, f64)]) {
        let n = self.samples.len();
        for (name, value) in values {
            let column = match self.values.get_mut(name.as_ref()) {
                Some(column) => column,
                None => self.values.entry(name.as_ref().to_owned()).or_default(),
            };
            column.resize(n, f64::NAN);
            column.push(*value);
        }
        self.samples.push(sample);
        for column in self.values.values_mut() {
            column.resize(n + 1, f64::NAN);
        }
    }

    /// The `n`-th sample and its values.
    pub fn nth(&self, n: usize) -> Option<(&Sample, Vec<(&str, f64)>)> {
        let sample = self.samples.get(n)?;
        let values = self.values.iter().filter_map(|(name, column)| {
            column.get(n).filter(|value| !value.is_nan()).map(|value| (name.as_str(), *value))
        });
        Some((sample, values.collect()))
    }

    /// The samples that count (no warm-up, cache state verified) and their value of a metric, in
    /// order. They come from the counting pass where it has the metric, else from the timing pass.
    pub fn counted<'a>(
        &'a self,
        metric: &str,
    ) -> impl Iterator<Item = (&'a Sample, f64)> + use<'a> {
        let column = self.values.get(metric).map_or(&[][..], Vec::as_slice);
        let all = || self.samples.iter().zip(column).filter(|(_, value)| !value.is_nan());
        let pass = if all().any(|(sample, _)| sample.counts_in(Pass::Counting)) {
            Pass::Counting
        } else {
            Pass::Timing
        };
        all()
            .filter(move |(sample, _)| sample.counts_in(pass))
            .map(|(sample, value)| (sample, *value))
    }

    /// Of a cell without a timed sample that counts, the index of its last warm-up sample: an
    /// estimate, which is shown and takes no part in any comparison.
    pub fn estimate(&self) -> Option<usize> {
        let is_warm_up = |sample: &Sample| {
            sample.pass == Pass::Timing && sample.warm_up && sample.not_counted.is_none()
        };
        let last = self.samples.iter().rposition(is_warm_up)?;
        (self.n(Pass::Timing) == 0).then_some(last)
    }

    /// Why a cell without a timed sample that counts is not compared.
    pub(crate) fn without_samples(&self) -> &'static str {
        match self.estimate() {
            Some(_) => "its only run warmed it up, which is an estimate",
            None => "it has no sample that counts",
        }
    }

    /// The samples behind the figures that are shown, and their value of a metric: those that
    /// count, or the estimate.
    pub fn shown<'a>(&'a self, metric: &str) -> impl Iterator<Item = (&'a Sample, f64)> + use<'a> {
        let estimate = self.estimate().and_then(|index| {
            let value = self.values.get(metric)?.get(index).filter(|value| !value.is_nan())?;
            Some((&self.samples[index], *value))
        });
        self.counted(metric).chain(estimate)
    }

    /// The value of the `n`-th sample; none where it has none.
    pub fn value(&self, metric: &str, n: usize) -> Option<f64> {
        self.values.get(metric)?.get(n).copied().filter(|value| !value.is_nan())
    }

    /// The number of samples of a pass that count.
    pub fn n(&self, pass: Pass) -> usize {
        self.samples.iter().filter(|sample| sample.counts_in(pass)).count()
    }
}
