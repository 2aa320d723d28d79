//! What a cell of `numbers` says: the percentiles of its row, and how far they can be trusted.

use lab::run::{Cell, Run, Sample};
use lab::stats::moments;

use super::meanwhile::{Meanwhile, limit};
use crate::numbers::{Row, Told, row};

/// One measured line of the table. All in ns.
pub(super) struct Number {
    pub(super) row: &'static Row,
    pub(super) figures: Result<Figures, String>,
    /// What it was measured with, where that depends on the machine.
    pub(super) size_bytes: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    pub(super) n: usize,
    pub(super) sessions: usize,
    /// Samples in which the method had to wait for a CPU; they are left out where enough others are left.
    pub(super) disturbed: usize,
    /// What two runs are best compared by: noise only adds, and of ten runs on a loaded machine this
    /// varied least.
    pub(super) p10: f64,
    pub(super) p25: f64,
    pub(super) p50: f64,
    pub(super) p90: f64,
    /// Student's, at 95 %, of the middle of the sessions' medians; none of fewer than five sessions.
    pub(super) interval: Option<(f64, f64)>,
    pub(super) grade: char,
}

/// The rows of a run, in its order.
pub(super) fn numbers(run: &Run) -> Vec<Number> {
    let meanwhile = Meanwhile::of(run);
    run.cells.iter().filter_map(|cell| number(cell, &meanwhile)).collect()
}

fn number(cell: &Cell, meanwhile: &Meanwhile) -> Option<Number> {
    let row = row(cell.point.text("row").ok()?)?;
    let figures = match &cell.status {
        status if !cell.has_figures() => {
            Err(format!("{}: {}", status.word(), status.reason().unwrap_or_default()))
        }
        _ => figures(cell, row, meanwhile).ok_or_else(|| "no sample that counts".to_owned()),
    };
    let size_bytes = cell.counted("size_bytes").map(|(_, bytes)| bytes).next();
    Some(Number { row, figures, size_bytes })
}

/// A sample is disturbed when its method waited for a CPU in more than this part of its time.
const WAIT_SHARE: f64 = 0.01;
/// With fewer undisturbed samples than this, all of them count.
const ENOUGH: usize = 10;
/// Of fewer sessions no interval is worth showing.
const SESSIONS_LEAST: usize = 5;
const LEVEL: f64 = 0.95;
/// With more samples that waited for a CPU than these shares the grade is not above B, and not above C.
const WAITED: [f64; 2] = [0.1, 0.5];

struct Value {
    session: u32,
    ns: f64,
    disturbed: bool,
}

fn figures(cell: &Cell, row: &Row, meanwhile: &Meanwhile) -> Option<Figures> {
    let mut values = values(cell, row.told);
    let disturbed = values.iter().filter(|value| value.disturbed).count();
    let waited = disturbed as f64 / values.len() as f64;
    if values.len() - disturbed >= ENOUGH {
        values.retain(|value| !value.disturbed);
    }
    let mut sorted: Vec<f64> = values.iter().map(|value| value.ns).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let [p10, p25, p50, p90] = [10.0, 25.0, 50.0, 90.0].map(|p| percentile(&sorted, p));
    let medians = of_sessions(&values, 50.0);
    let own = grade(&of_sessions(&values, 10.0), p25? / p10?);
    Some(Figures {
        n: sorted.len(),
        sessions: medians.len(),
        disturbed,
        p10: p10?,
        p25: p25?,
        p50: p50?,
        p90: p90?,
        interval: interval(&medians),
        grade: own.max(limit(waited, WAITED)).max(meanwhile.limit()),
    })
}

fn values(cell: &Cell, told: Told) -> Vec<Value> {
    let waits = column(cell, "run_queue_wait_ns");
    let walls = column(cell, "wall_ns");
    let told_of = |sample: &Sample, at: usize| match told {
        Told::Time => walls(at),
        Told::Metric(name) => column(cell, name)(at),
        // Of the bytes that went by, not of the operation, which is a pass over the whole set.
        Told::PerMebibyte => walls(at) * sample.ops as f64 / sample.bytes as f64 * 1_048_576.0,
    };
    let all = cell.samples.iter().enumerate().filter(|(_, sample)| sample.counts());
    all.map(|(at, sample)| Value {
        session: sample.session,
        ns: told_of(sample, at),
        disturbed: waits(at) > WAIT_SHARE * walls(at),
    })
    .filter(|value| value.ns.is_finite())
    .collect()
}

fn column<'a>(cell: &'a Cell, name: &str) -> impl Fn(usize) -> f64 + 'a {
    let values = cell.values.get(name).map_or(&[][..], Vec::as_slice);
    |at| values.get(at).copied().unwrap_or(f64::NAN)
}

/// By nearest rank.
fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    let rank = (p / 100.0 * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// A percentile of each session, sorted: processes differ for all their life.
fn of_sessions(values: &[Value], p: f64) -> Vec<f64> {
    let mut sessions: Vec<u32> = values.iter().map(|value| value.session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let of_session = |session: u32| {
        let of_session = values.iter().filter(|value| value.session == session);
        let mut ns: Vec<f64> = of_session.map(|value| value.ns).collect();
        ns.sort_unstable_by(f64::total_cmp);
        percentile(&ns, p)
    };
    let mut all: Vec<f64> = sessions.into_iter().filter_map(of_session).collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// By the logarithms, as what disturbs takes a part of the time.
fn interval(medians: &[f64]) -> Option<(f64, f64)> {
    let logs: Vec<f64> = medians.iter().map(|ns| ns.ln()).collect();
    let found = moments(&logs).filter(|found| found.n >= SESSIONS_LEAST)?;
    let half_width = found.half_width(LEVEL)?;
    let [low, high] = [found.mean - half_width, found.mean + half_width].map(f64::exp);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

/// A: half of the sessions come down to the lowest one, and a quarter of the samples to p10, within 5 %.
/// B: within 20 %. C: read it as an order of magnitude.
fn grade(floors: &[f64], p25_to_p10: f64) -> char {
    let lowest = floors.first().copied().unwrap_or(f64::NAN);
    let middle = percentile(floors, 50.0).unwrap_or(f64::NAN);
    match (middle / lowest).max(p25_to_p10) - 1.0 {
        spread if spread <= 0.05 => 'A',
        spread if spread <= 0.20 => 'B',
        _ => 'C',
    }
}
