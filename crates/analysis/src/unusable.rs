//! Methods whose figures are not compared with those of others: commands that leave processes
//! running when they end, as what these do is in no figure, and methods with figures that cannot
//! be.

use std::fmt;

use model::metric::{CPU, CPU_DELAY, KEPT, LEFT, WALL};
use model::run::{Cell, Pass};

/// A method has no verdict if this is so in a larger share of its runs.
const SHARE: f64 = 0.1;

/// The CPU time of a process is late by up to a tick of the kernel, which takes at most this.
const TICK_NS: f64 = 1e7;

/// Two clocks may differ by this share.
const CLOCKS_DIFFER: f64 = 0.01;

/// Why a method is not compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unusable {
    LeftRunning(LeftRunning),
    Impossible(Impossible),
}

impl Unusable {
    /// None for a method that can be compared.
    pub(crate) fn new(cell: &Cell, left: Option<LeftRunning>) -> Option<Unusable> {
        let left = left.filter(LeftRunning::is_decisive);
        left.map(Unusable::LeftRunning)
            .or_else(|| Impossible::from_cell(cell).map(Unusable::Impossible))
    }
}

/// Continues a sentence that begins with the name of the method.
impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::LeftRunning(left) => left.fmt(f),
            Unusable::Impossible(impossible) => impossible.fmt(f),
        }
    }
}

/// Figures of one thread that no thread can have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impossible {
    /// What is longer than the wall time: the CPU time, or the wait for a CPU.
    pub what: &'static str,
    /// Of the first such sample.
    pub wall_ns: f64,
    pub(crate) value_ns: f64,
    pub samples: usize,
    /// The number of all samples.
    pub of: usize,
}

impl Impossible {
    /// None if at most a tenth of the samples that count have such figures.
    fn from_cell(cell: &Cell) -> Option<Impossible> {
        // What has a wait of its main thread computes in no other.
        let waits = cell.values.get(RUN_QUEUE_WAIT)?;
        let counted: Vec<usize> =
            (0..cell.samples.len()).filter(|i| cell.samples[*i].counts()).collect();
        let of_one_thread = |i: &&usize| waits.get(**i).is_some_and(|wait| !wait.is_nan());
        // A wait that is seen from outside may have been before the interval.
        [(CPU, "CPU time"), (CPU_DELAY, "wait for a CPU")].into_iter().find_map(|(metric, what)| {
            let longer = counted.iter().filter(of_one_thread).filter_map(|i| {
                let (wall_ns, value_ns) = cell.value(WALL, *i).zip(cell.value(metric, *i))?;
                let ops = cell.samples[*i].ops.max(1) as f64;
                let limit_ns = wall_ns * (1.0 + CLOCKS_DIFFER) + TICK_NS / ops;
                (value_ns > limit_ns).then_some((wall_ns, value_ns))
            });
            let longer: Vec<(f64, f64)> = longer.collect();
            let (wall_ns, value_ns) = *longer.first()?;
            let (samples, of) = (longer.len(), counted.len());
            (samples as f64 > SHARE * of as f64).then_some(Impossible {
                what,
                wall_ns,
                value_ns,
                samples,
                of,
            })
        })
    }
}

pub(crate) const RUN_QUEUE_WAIT: &str = "run_queue_wait_ns";

/// `has wrong figures: in one thread a CPU time of 48.6 ms in 0.001 ms, in 12 of 12 samples`.
impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Impossible { what, wall_ns, value_ns, samples, of } = self;
        let [wall_ms, value_ms] = [wall_ns, value_ns].map(|ns| ns / 1e6);
        write!(
            f,
            "has wrong figures: a {what} of {value_ms:.3} ms of one thread in a wall time of {wall_ms:.3} ms, \
             in {samples} of {of} samples"
        )
    }
}

/// In how many of its runs a command left processes running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftRunning {
    /// The largest number of processes that one run left.
    pub processes: u64,
    pub runs: usize,
    /// The number of all runs.
    pub of: usize,
    /// Whether they were kept, as it was asked for, and not ended.
    pub kept: bool,
}

impl LeftRunning {
    /// None if no run left any. The runs that warm a command up count where there are no others.
    pub(crate) fn from_cell(cell: &Cell) -> Option<LeftRunning> {
        if ![LEFT, KEPT].iter().any(|metric| cell.values.contains_key(*metric)) {
            return None;
        }
        let timed = |is_wanted: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..cell.samples.len())
                .filter(|i| is_wanted(*i) && cell.value(WALL, *i).is_some())
                .collect()
        };
        let mut runs = timed(&|i| cell.samples[i].counts());
        if runs.is_empty() {
            runs = timed(&|i| {
                let sample = &cell.samples[i];
                sample.pass == Pass::Timing && sample.not_counted.is_none()
            });
        }
        [(LEFT, false), (KEPT, true)].into_iter().find_map(|(metric, kept)| {
            let left: Vec<f64> = runs.iter().filter_map(|i| cell.value(metric, *i)).collect();
            let processes = left.iter().copied().reduce(f64::max)? as u64;
            Some(LeftRunning { processes, runs: left.len(), of: runs.len(), kept })
        })
    }

    /// Whether the method has no verdict for it.
    pub(crate) fn is_decisive(&self) -> bool {
        !self.kept && self.runs as f64 > SHARE * self.of as f64
    }
}

/// `left 1 process running after 6 of 6 runs; what it does is in no figure`.
impl fmt::Display for LeftRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LeftRunning { processes, runs, of, kept } = *self;
        let (noun, it, does) =
            if processes == 1 { ("process", "it", "does") } else { ("processes", "they", "do") };
        let up_to = if processes > 1 { "up to " } else { "" };
        let went_on = if kept { ", which went on beside the next runs" } else { "" };
        write!(
            f,
            "left {up_to}{processes} {noun} running after {runs} of {of} runs{went_on}; what {it} {does} is \
             in no figure"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{cell, with};

    fn left(metric: &str, runs: usize, of: usize, processes: f64) -> Option<LeftRunning> {
        let mut cell = with(cell("a", vec![100.0; of]), metric, |_| processes);
        cell.values.get_mut(metric).unwrap().iter_mut().skip(runs).for_each(|n| *n = f64::NAN);
        LeftRunning::from_cell(&cell)
    }

    #[test]
    fn what_a_command_leaves_running_is_said_with_the_number_of_its_runs() {
        let text = |found: Option<LeftRunning>| found.unwrap().to_string();
        assert_eq!(
            text(left(LEFT, 6, 6, 1.0)),
            "left 1 process running after 6 of 6 runs; what it does is in no figure"
        );
        assert_eq!(
            text(left(KEPT, 3, 6, 2.0)),
            "left up to 2 processes running after 3 of 6 runs, which went on beside the next runs; what \
             they do is in no figure"
        );
        assert_eq!(left(LEFT, 0, 6, 1.0), None);
        assert_eq!(LeftRunning::from_cell(&cell("a", [100.0; 6])), None);
    }

    #[test]
    fn it_decides_if_it_is_more_than_a_few_runs_and_if_nobody_asked_for_it() {
        let of = |metric, runs| left(metric, runs, 60, 1.0).unwrap().is_decisive();
        assert_eq!(
            [of(LEFT, 60), of(LEFT, 7), of(LEFT, 6), of(KEPT, 60)],
            [true, true, false, false]
        );
    }

    #[test]
    fn one_thread_computes_and_waits_no_longer_than_it_takes() {
        let of = |wall_ns: f64, cpu_ns: f64, wait_ns: f64| {
            let cell = with(cell("a", [wall_ns; 10]), CPU, |_| cpu_ns);
            let cell = with(cell, CPU_DELAY, |_| wait_ns);
            let cell = with(cell, RUN_QUEUE_WAIT, |_| wait_ns);
            Unusable::new(&cell, None).map(|found| found.to_string())
        };
        assert_eq!(of(1e9, 1.01e9 + TICK_NS, 1e9), None);
        assert_eq!(
            of(1e3, 48.6e6, 0.0).unwrap(),
            "has wrong figures: a CPU time of 48.600 ms of one thread in a wall time of 0.001 ms, in 10 \
             of 10 samples"
        );
        assert!(of(1e3, 0.0, 20e6).unwrap().contains("a wait for a CPU of 20.000 ms"));
        // Of several threads it may be so.
        let several = with(cell("a", [1e6; 10]), CPU, |_| 48.6e6);
        assert_eq!(Unusable::new(&several, None), None);
        // One of ten samples may be a clock that was late.
        let mut late = with(cell("a", [1e6; 10]), RUN_QUEUE_WAIT, |_| 0.0);
        late = with(late, CPU, |_| 0.9e6);
        late.values.get_mut(CPU).unwrap()[3] = 48.6e6;
        assert_eq!(Unusable::new(&late, None), None);
        late.values.get_mut(CPU).unwrap()[4] = 48.6e6;
        assert!(Unusable::new(&late, None).is_some());
    }
}
