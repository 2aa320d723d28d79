//! How long methods take, from the samples that they have.

use lab::metric::WALL;
use lab::run::{Cell, Pass};
use lab::stats::median;

/// Up to two methods that take this share of the time are named.
const LARGE_SHARE: f64 = 0.2;

/// A method with the time of a sample of one of its cells, in ns.
pub(super) type MethodTime<'a> = (&'a str, f64);

/// The median time of a sample; none without samples.
pub(super) fn sample_ns(cell: &Cell) -> Option<f64> {
    let walls = cell.values.get(WALL)?;
    let timed = cell.samples.iter().zip(walls).filter(|(s, _)| s.pass == Pass::Timing);
    let times: Vec<f64> = timed.map(|(s, ns)| ns * s.ops as f64).filter(|ns| *ns > 0.0).collect();
    (!times.is_empty()).then(|| median(&times))
}

/// The time that `samples` samples of each cell take less without the slowest methods; empty where
/// no method takes a large share of it.
pub(super) fn without_slowest(known: &[MethodTime<'_>], samples: f64) -> String {
    let mut of_methods: Vec<MethodTime<'_>> = Vec::new();
    for (method, ns) in known {
        match of_methods.iter_mut().find(|(name, _)| name == method) {
            Some((_, sum)) => *sum += ns,
            None => of_methods.push((method, *ns)),
        }
    }
    of_methods.sort_by(|a, b| b.1.total_cmp(&a.1));
    let all_ns: f64 = known.iter().map(|(_, ns)| ns).sum();
    let large = of_methods.iter().take(2).filter(|(_, ns)| *ns >= LARGE_SHARE * all_ns);
    let large: Vec<String> = large
        .map(|(name, ns)| format!("without {name} {} s less", seconds(samples * ns)))
        .collect();
    if of_methods.len() <= 2 || large.is_empty() {
        return String::new();
    }
    format!("{} (-m names those that take part)", large.join(", "))
}

/// A time in seconds, with two digits where it is short.
pub(super) fn seconds(ns: f64) -> String {
    let seconds = (ns / 1e9).max(0.1);
    if seconds < 9.5 { format!("{seconds:.1}") } else { format!("{seconds:.0}") }
}
