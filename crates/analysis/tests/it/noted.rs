//! Simulates runs of methods that do not differ, and reports which notes on their samples are shown
//! nevertheless.

use analysis::analyze;
use model::random::SplitMix64;
use model::run::{Cell, Pass, Run};

use crate::gate::{cell, of_cells, sample};

/// The notes that are derived from the samples, by their prefixes.
pub(crate) const KINDS: [&str; 5] =
    ["warm-up not finished", "drift", "two modes", "slot effect", "the counting pass ran"];

/// Sessions and rounds.
pub(crate) const DESIGNS: [[u32; 2]; 4] = [[10, 3], [10, 10], [22, 4], [60, 1]];

#[derive(Clone, Copy, Debug)]
pub(crate) enum Rounds {
    Normal,
    /// Student's t distribution with three degrees of freedom: occasionally a value is an outlier,
    /// on either side.
    HeavyTailed,
}

const METHODS: usize = 14;
/// The standard deviation of a round is 3 %.
const ROUND_SD: f64 = 0.03;

impl Rounds {
    fn draw(self, random: &mut SplitMix64) -> f64 {
        let bell = random.normal();
        match self {
            Rounds::Normal => bell,
            Rounds::HeavyTailed => {
                let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
                bell / (squares / 3.0).sqrt()
            }
        }
    }
}

/// A run of 14 equal methods whose processes differ by `spread` times as much as their rounds do.
pub(crate) fn noise(design: [u32; 2], rounds: Rounds, spread: f64, random: &mut SplitMix64) -> Run {
    let mut cells: Vec<Cell> = (0..METHODS).map(|i| cell(format!("m{i}"))).collect();
    let [sessions, of_session] = design;
    for session in 0..sessions {
        let processes: Vec<f64> = cells.iter().map(|_| spread * random.normal()).collect();
        for round in 0..of_session {
            let slots = order(METHODS, random);
            for ((cell, process), slot) in cells.iter_mut().zip(&processes).zip(slots) {
                let wall_ns = 1e6 * (ROUND_SD * (process + rounds.draw(random))).exp();
                let mut sample = sample(session, round);
                sample.slot = slot;
                cell.push(sample, &[("wall_ns", wall_ns)]);
            }
        }
    }
    for cell in &mut cells {
        let process = spread * random.normal();
        for round in 0..5 {
            let wall_ns = 1e6 * (ROUND_SD * (process + rounds.draw(random))).exp();
            let mut sample = sample(0, round);
            sample.pass = Pass::Counting;
            cell.push(sample, &[("counting_wall_ns", wall_ns)]);
        }
    }
    of_cells(cells)
}

fn order(n: usize, random: &mut SplitMix64) -> Vec<u32> {
    let mut keys: Vec<(f64, u32)> = (0..n as u32).map(|slot| (random.unit(), slot)).collect();
    keys.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    keys.into_iter().map(|(_, slot)| slot).collect()
}

/// The kinds of notes that a run has.
pub(crate) fn kinds(run: &Run) -> [bool; KINDS.len()] {
    let notes = analyze(run).notes;
    KINDS.map(|kind| notes.iter().any(|note| note.to_string().starts_with(kind)))
}

/// The share of runs of pure noise that show each kind of note.
pub(crate) fn false_notes(
    design: [u32; 2],
    rounds: Rounds,
    spread: f64,
    runs: u32,
) -> [f64; KINDS.len()] {
    let mut random = SplitMix64(0x0a7e ^ u64::from(design[0] * 100 + design[1]));
    let mut shown = [0u32; KINDS.len()];
    for _ in 0..runs {
        let found = kinds(&noise(design, rounds, spread, &mut random));
        shown.iter_mut().zip(found).for_each(|(count, found)| *count += u32::from(found));
    }
    shown.map(|count| f64::from(count) / f64::from(runs))
}
