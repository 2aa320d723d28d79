//! Simulates whole runs of a shared machine: two sides of runs, and checks against a baseline, of
//! programs that did or did not change.

use std::collections::BTreeMap;

use analysis::{
    Allowed, Check, Outcome, ROUNDS, SESSIONS, Verdict, check, check_pairs, compare_sides,
    detectable_effects_of_pairs,
};
use model::param::Point;
use model::random::SplitMix64;
use model::run::{
    CacheState, Cell, Environment, MetricColumn, OLD_SUFFIX, Plan, Run, SCHEMA, Sample,
};

/// The influence of a machine on the logs of times, as standard deviations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineNoise {
    pub(crate) name: &'static str,
    /// The variation of the speed of the machine, which is the same for all methods: from run to
    /// run, and from session to session.
    pub(crate) machine: [f64; 2],
    /// The variation of one method alone: from run to run, from session to session, and from round
    /// to round.
    pub(crate) method: [f64; 3],
}

/// As measured on shared machines: sessions of a method relative to its reference differ by 1.4 %
/// in CPU time and by 8.5 % in wall time, those of a method alone by 14 % and by 60 %.
pub(crate) const MACHINES: [MachineNoise; 4] = [
    MachineNoise { name: "quiet", machine: [0.02, 0.01], method: [0.003, 0.003, 0.01] },
    MachineNoise { name: "shared", machine: [0.14, 0.05], method: [0.014, 0.014, 0.04] },
    MachineNoise { name: "crowded", machine: [0.6, 0.2], method: [0.085, 0.085, 0.14] },
    // This violates the assumption of a check: runs differ by more than sessions do.
    MachineNoise { name: "moody", machine: [0.14, 0.05], method: [0.02, 0.01, 0.04] },
];

/// Shares of 1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shares {
    pub(crate) ok: f64,
    pub(crate) slower: f64,
    pub(crate) undecided: f64,
}

/// The checked design, with `earlier` runs of the same job in the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checked {
    pub(crate) methods: usize,
    pub(crate) earlier: u32,
    /// The ratio of the new time to the earlier one, for all methods except the reference.
    pub(crate) factor: f64,
}

/// The outcomes of many checks with `wall=5%`, each against its own baseline. As in the program,
/// there is a second run only if the first is not ok.
pub(crate) fn checks(noise: MachineNoise, checked: Checked, sets: u32) -> Shares {
    let Checked { methods, earlier, factor } = checked;
    let mut random = SplitMix64(11);
    let allowed = [Allowed { metric: "wall_ns".to_owned(), percent: 5.0 }];
    let mut shares = Shares::default();
    for _ in 0..sets {
        let before: Vec<Run> =
            (0..=earlier).map(|_| run(noise, methods, 1.0, &mut random)).collect();
        let baseline = before[earlier as usize].clone();
        let mut now = vec![run(noise, methods, factor, &mut random)];
        let outcome = |now: &[Run]| {
            let (baseline, before, allowed) = (&baseline, &before, &allowed);
            check(&Check { baseline, now, before, allowed, absolute: false }).outcome
        };
        let mut found = outcome(&now);
        if !matches!(found, Outcome::Ok | Outcome::Faster) {
            now.push(run(noise, methods, factor, &mut random));
            found = outcome(&now);
        }
        shares.count(found, sets);
    }
    shares
}

impl Shares {
    /// A faster method is ok as well.
    fn count(&mut self, found: Outcome, sets: u32) {
        let share = match found {
            Outcome::Ok | Outcome::Faster => &mut self.ok,
            Outcome::Slower => &mut self.slower,
            _ => &mut self.undecided,
        };
        *share += 1.0 / f64::from(sets);
    }
}

/// The outcomes of many checks of old and new in the same rounds with `wall=5%`. One of the methods
/// takes `factor` of the time of its old side, the others did not change. There is a second run as
/// in [`checks`].
pub(crate) fn pairs(noise: MachineNoise, methods: usize, factor: f64, sets: u32) -> Shares {
    let mut random = SplitMix64(13);
    let allowed = [Allowed { metric: "wall_ns".to_owned(), percent: 5.0 }];
    let mut shares = Shares::default();
    for _ in 0..sets {
        let mut now = vec![both_sides(noise, methods, factor, &mut random)];
        let mut found = check_pairs(&now, &allowed).outcome;
        if !matches!(found, Outcome::Ok | Outcome::Faster) {
            now.push(both_sides(noise, methods, factor, &mut random));
            found = check_pairs(&now, &allowed).outcome;
        }
        shares.count(found, sets);
    }
    shares
}

/// The factor that would be found in four of five cases, by the median of some past checks in which
/// nothing changed.
pub(crate) fn detectable_factor(noise: MachineNoise, methods: usize, rounds: u32) -> f64 {
    let mut random = SplitMix64(14);
    let allowed = [Allowed { metric: "wall_ns".to_owned(), percent: 5.0 }];
    let cells: Vec<(String, Point)> =
        (0..methods).map(|i| (format!("m{i}"), Point::default())).collect();
    let past: Vec<Run> = (0..20).map(|_| both_sides(noise, methods, 1.0, &mut random)).collect();
    let found = detectable_effects_of_pairs(&past, &cells, &allowed, (SESSIONS, rounds));
    1.0 + found[0].found_percent.unwrap_or(f64::NAN) / 100.0
}

/// This number of methods and the old side of each. The effect of a run on one of them (the
/// placement of files and memory) is the same for both sides, which do the same work on the same
/// data; processes and rounds differ.
fn both_sides(noise: MachineNoise, methods: usize, factor: f64, random: &mut SplitMix64) -> Run {
    let [_, of_session, of_round] = noise.method;
    let same_run = MachineNoise { method: [0.0, of_session, of_round], ..noise };
    let mut both = run(same_run, 2 * methods - 1, 1.0, random);
    for (i, cell) in both.cells.iter_mut().enumerate() {
        let old = if i % 2 == 1 { OLD_SUFFIX } else { "" };
        cell.method = format!("m{}{old}", i / 2);
    }
    let walls = both.cells[0].values.get_mut("wall_ns");
    for wall_ns in walls.into_iter().flat_map(MetricColumn::to_mut) {
        *wall_ns *= factor;
    }
    both
}

/// How often one method that did not change is reported to differ between two sides of this number
/// of runs: absolutely, and relative to the reference.
pub(crate) fn sides(noise: MachineNoise, runs: usize, sets: u32) -> [f64; 2] {
    let mut random = SplitMix64(12);
    let mut alarms = [0u32; 2];
    for _ in 0..sets {
        let mut side = || (0..runs).map(|_| run(noise, 1, 1.0, &mut random)).collect();
        let (a, b): (Vec<Run>, Vec<Run>) = (side(), side());
        let sides = compare_sides(&a, &b, &[]);
        let Some(line) = sides.lines.iter().find(|line| line.reference.is_some()) else { continue };
        let differs = |verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
        alarms[0] += u32::from(differs(line.absolute.verdict));
        alarms[1] += u32::from(line.relative.as_ref().is_some_and(|c| differs(c.verdict)));
    }
    alarms.map(|count| f64::from(count) / f64::from(sets))
}

/// The reference and this number of further methods.
fn run(noise: MachineNoise, methods: usize, factor: f64, random: &mut SplitMix64) -> Run {
    let MachineNoise { machine, method: [of_run, of_session, of_round], .. } = noise;
    let speed = machine[0] * random.normal();
    let sessions: Vec<f64> = (0..SESSIONS).map(|_| machine[1] * random.normal()).collect();
    let cells = (0..=methods).map(|i| {
        let own = of_run * random.normal() + if i == 0 { 0.0 } else { factor.ln() };
        let mut cell = cell(format!("m{i}"));
        for (session, common) in (0..).zip(&sessions) {
            let process = of_session * random.normal();
            for round in 0..ROUNDS {
                // One in ten waits for a neighbour.
                let spike = if random.unit() < 0.1 { 3.0 * of_round * random.unit() } else { 0.0 };
                let noise = of_round * random.normal() + spike;
                let wall_ns = 1e6 * (speed + common + own + process + noise).exp();
                cell.push(sample(session, round), &[("wall_ns", wall_ns)]);
            }
        }
        cell
    });
    of_cells(cells.collect())
}

/// A run of these cells at one point.
pub(crate) fn of_cells(cells: Vec<Cell>) -> Run {
    Run {
        schema: SCHEMA,
        experiment: "simulated".to_owned(),
        complete: true,
        environment: Environment { fingerprint: "m".to_owned(), facts: BTreeMap::new() },
        plan: plan(),
        points: vec![Point::default()],
        cells,
        ..Run::default()
    }
}

pub(crate) fn plan() -> Plan {
    Plan {
        rounds: ROUNDS,
        time_limit_ns: 1,
        warm_up: 0,
        sessions: SESSIONS,
        seed: 1,
        cache: CacheState::Warm,
        sample_limit_ns: 1,
        ..Plan::default()
    }
}

pub(crate) fn cell(method: String) -> Cell {
    Cell::new(method, Point::default())
}

pub(crate) fn sample(session: u32, round: u32) -> Sample {
    Sample { session, round, ops: 1, bytes: 1, answer: Some("1".into()), ..Sample::default() }
}
