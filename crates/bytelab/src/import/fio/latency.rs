//! The distribution of the latencies of a job in one direction: what fio reports of it, and that of
//! several jobs together.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::super::read;
use super::figure::Figure;

/// As it is in the document.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Latency {
    min: Figure,
    max: Figure,
    mean: Figure,
    stddev: Figure,
    /// The number of operations; older versions do not write it.
    #[serde(rename = "N")]
    n: Option<u64>,
    percentile: BTreeMap<String, Figure>,
    /// Only in `json+`: the number of operations for each latency bin. In µs its keys are the
    /// indices of the bins.
    bins: BTreeMap<String, u64>,
}

/// A percentage in millionths, so that ranks are exact.
type Micro = u64;

const WHOLE: Micro = 100_000_000;

/// The same in ns, and checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Distribution {
    n: Option<u64>,
    min: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    stddev: Option<f64>,
    percentiles: BTreeMap<Micro, f64>,
    /// The latency, and the number of operations.
    bins: Vec<(f64, u64)>,
}

/// The percentiles that are computed from bins where fio does not report them.
const FROM_BINS: [u64; 7] = [0, 25, 50, 75, 90, 99, 100];

impl Latency {
    /// Whether operations were measured. Where fio had none, it writes 0 everywhere.
    pub(super) fn is_measured(&self) -> bool {
        let is_above_0 = |figure: &Figure| figure.0.is_some_and(|value| value != 0.0);
        self.n.map_or(is_above_0(&self.max) || is_above_0(&self.mean), |n| n > 0)
    }

    /// `unit_ns` is 1 for ns and 1000 for µs.
    pub(super) fn read(&self, name: &str, unit_ns: f64) -> Result<Distribution> {
        let of = |figure: Figure, key: &str| -> Result<Option<f64>> {
            figure
                .0
                .map(|value| read::amount(value * unit_ns, || format!("{name}.{key}")))
                .transpose()
        };
        let mut percentiles = BTreeMap::new();
        for (text, figure) in &self.percentile {
            let key = format!("{name}.percentile[{text:?}]");
            let percent = percent(text).with_context(|| format!("{key}: not a percentage"))?;
            // Old versions fill the rest of their list with `"0.00" : 0`.
            let is_filling = percent == 0 && figure.0 == Some(0.0);
            if let (Some(value), false) = (figure.0, is_filling) {
                percentiles.insert(percent, read::amount(value * unit_ns, || key.clone())?);
            }
        }
        let mut bins: Vec<(f64, u64)> = Vec::new();
        for (text, n) in self.bins.iter().filter(|_| !self.has_indices(unit_ns)) {
            let ns = text.parse().ok().and_then(|ns: f64| read::amount(ns, String::new).ok());
            bins.push((ns.with_context(|| format!("{name}.bins[{text:?}]: not a time"))?, *n));
        }
        bins.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Distribution {
            n: self.n,
            min: of(self.min, "min")?,
            max: of(self.max, "max")?,
            mean: of(self.mean, "mean")?,
            stddev: of(self.stddev, "stddev")?,
            percentiles,
            bins,
        })
    }

    /// Whether the bins are numbered, and their latencies not in the file.
    pub(super) fn has_indices(&self, unit_ns: f64) -> bool {
        unit_ns > 1.0 && !self.bins.is_empty()
    }
}

fn percent(text: &str) -> Option<Micro> {
    let percent: f64 = text.parse().ok()?;
    (0.0..=100.0).contains(&percent).then(|| (percent * 1e6).round() as Micro)
}

impl Distribution {
    /// That of all operations of several jobs. What the parts do not tell of all of them is
    /// missing: of percentiles that is so without bins.
    pub(super) fn pooled(parts: &[Distribution]) -> Distribution {
        if let [one] = parts {
            return one.clone();
        }
        let all = |of: fn(&Distribution) -> Option<f64>| -> Option<Vec<f64>> {
            parts.iter().map(of).collect()
        };
        let fold = |values: Option<Vec<f64>>, with: fn(f64, f64) -> f64| {
            values.and_then(|values| values.into_iter().reduce(with))
        };
        let ns: Option<Vec<f64>> = parts.iter().map(|part| Some(part.n? as f64)).collect();
        let n: Option<f64> = ns.as_ref().map(|ns| ns.iter().sum());
        let means = all(|part| part.mean);
        let mean = (ns.as_ref().zip(means.as_ref()).zip(n)).map(|((ns, means), n)| {
            ns.iter().zip(means).map(|(n, mean)| n * mean).sum::<f64>() / n
        });
        let stddev = (|| {
            let (ns, means, stddevs) = (ns?, means?, all(|part| part.stddev)?);
            let (mean, n) = (mean?, n.filter(|n| *n > 1.0)?);
            let parts = ns.iter().zip(&means).zip(&stddevs);
            let squares = parts.map(|((n, own), stddev)| {
                stddev * stddev * (n - 1.0) + n * (own - mean) * (own - mean)
            });
            Some((squares.sum::<f64>() / (n - 1.0)).sqrt())
        })();
        let mut pooled = Distribution {
            n: parts.iter().map(|part| part.n).try_fold(0_u64, |sum, n| sum.checked_add(n?)),
            min: fold(all(|part| part.min), f64::min),
            max: fold(all(|part| part.max), f64::max),
            mean: mean.filter(|mean| mean.is_finite()),
            stddev: stddev.filter(|stddev: &f64| stddev.is_finite()),
            ..Distribution::default()
        };
        if parts.iter().all(|part| !part.bins.is_empty()) {
            pooled.bins = parts.iter().flat_map(|part| &part.bins).copied().collect();
            pooled.bins.sort_by(|a, b| a.0.total_cmp(&b.0));
            for percent in parts.iter().flat_map(|part| part.percentiles.keys()) {
                let value = pooled.of_bins(*percent);
                pooled.percentiles.extend(value.map(|value| (*percent, value)));
            }
        }
        pooled
    }

    pub(super) fn has_mean(&self) -> bool {
        self.mean.is_some()
    }

    pub(super) fn has_percentiles(&self) -> bool {
        !self.percentiles.is_empty() || !self.bins.is_empty()
    }

    /// The values, each with the name of its metric.
    pub(super) fn values(&self, name: &str) -> Vec<(String, f64)> {
        let of = |what: &str, value: Option<f64>| Some((format!("{name}_{what}_ns"), value?));
        let figures = [
            of("min", self.min),
            of("mean", self.mean),
            of("stddev", self.stddev),
            of("max", self.max),
        ];
        let mut percentiles = self.percentiles.clone();
        for percent in FROM_BINS.map(|percent| percent * 1_000_000) {
            if let Some(value) = self.of_bins(percent) {
                percentiles.entry(percent).or_insert(value);
            }
        }
        let named = percentiles
            .iter()
            .map(|(percent, value)| (format!("{name}_p{}_ns", *percent as f64 / 1e6), *value));
        figures.into_iter().flatten().chain(named).collect()
    }

    /// A percentile of the bins, by nearest rank: exact to the width of a bin.
    fn of_bins(&self, percent: Micro) -> Option<f64> {
        let total: u128 = self.bins.iter().map(|(_, n)| u128::from(*n)).sum();
        let rank = (total * u128::from(percent)).div_ceil(u128::from(WHOLE)).max(1);
        let mut below = 0;
        let bin = self.bins.iter().filter(|_| total > 0).find(|(_, n)| {
            below += u128::from(*n);
            below >= rank
        });
        bin.map(|(ns, _)| *ns)
    }
}
