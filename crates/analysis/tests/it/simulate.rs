//! Simulates a machine that is shared with others: two methods, seven kinds of noise, in rounds or
//! one after the other. The true effect is known, so that every result can be judged.

use analysis::stats::by_session;
use model::random::SplitMix64;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Noise {
    /// Independent, 3 %.
    Independent,
    /// 2 %, and one sample in ten takes up to twice as long.
    Spikes,
    /// 2 %, and three samples in ten take 22 % longer.
    TwoModes,
    /// 1 %, on a level that drifts by 5 %.
    Wander,
    /// 1 %, with a neighbour that comes and goes and slows all samples by 40 %.
    Neighbour,
    /// 1 %, while all samples get slower by 5 % from the first to the last.
    Drift,
    /// 2 %, and the second method in a round takes 2 % longer.
    SecondSlot,
}

pub(crate) const NOISES: [Noise; 7] = [
    Noise::Independent,
    Noise::Spikes,
    Noise::TwoModes,
    Noise::Wander,
    Noise::Neighbour,
    Noise::Drift,
    Noise::SecondSlot,
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    /// Both methods once per round, in random order.
    Rounds,
    /// All samples of the first method, then all of the second.
    OneAfterTheOther,
}

/// The quality of the decision over many sets. Shares of 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    pub(crate) sets: u32,
    /// A difference was claimed where there was none.
    pub(crate) false_alarms: f64,
    /// The share of the intervals that contain the true effect.
    pub(crate) coverage: f64,
    /// The true effect of 2 % was found, with the correct sign.
    pub(crate) power: f64,
}

impl Rates {
    /// At most 5 % of false alarms with every noise and design; with outliers there are fewer,
    /// which shows in the power. The share may vary by three standard deviations, with 4000 sets up
    /// to 6.0 %.
    pub(crate) fn hold(&self) -> bool {
        let sd = (0.05 * 0.95 / f64::from(self.sets)).sqrt();
        self.false_alarms <= 0.05 + 3.0 * sd && self.coverage >= 0.95 - 3.5 * sd
    }
}

/// Each set is simulated twice: without an effect for the false alarms, and with an effect of 2 %
/// for coverage and power.
pub(crate) fn rates(
    noise: Noise,
    order: Order,
    [sessions, rounds]: [usize; 2],
    sets: u32,
    seed: u64,
) -> Rates {
    let n = sessions * rounds;
    let mut random = SplitMix64(seed ^ (noise as u64) << 32 ^ (n as u64) << 40);
    let (mut false_alarms, mut given, mut covered, mut found) = (0, 0, 0, 0);
    let effect = 0.02f64.ln_1p();
    for _ in 0..sets {
        let null = differences(noise, order, n, &mut random);
        if let Some((low, high)) = interval(&null, rounds) {
            false_alarms += u32::from(low > 0.0 || high < 0.0);
        }
        let real: Vec<f64> =
            differences(noise, order, n, &mut random).iter().map(|d| d + effect).collect();
        if let Some((low, high)) = interval(&real, rounds) {
            given += 1;
            covered += u32::from(low <= effect && effect <= high);
            found += u32::from(low > 0.0);
        }
    }
    let share = |count: u32, of: u32| f64::from(count) / f64::from(of.max(1));
    Rates {
        sets,
        false_alarms: share(false_alarms, sets),
        coverage: share(covered, given),
        power: share(found, sets),
    }
}

/// The share of claims where two equal programs differ `spread` times as much from process to
/// process as from round to round.
pub(crate) fn false_alarms_of_processes(spread: f64, sessions: u32, rounds: u32, sets: u32) -> f64 {
    let mut random = SplitMix64(7);
    let mut false_alarms = 0;
    for _ in 0..sets {
        let mut session = |_| -> Vec<f64> {
            let process = spread * random.normal();
            (0..rounds).map(|_| 0.01 * (process + random.normal())).collect()
        };
        let sessions: Vec<Vec<f64>> = (0..sessions).map(&mut session).collect();
        let interval = by_session(&sessions, 0.05).and_then(|found| found.interval);
        false_alarms += u32::from(interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0));
    }
    f64::from(false_alarms) / f64::from(sets)
}

/// The same for rounds of a single process, each of which is treated as if it were a session.
pub(crate) fn false_alarms_of_rounds(spread: f64, rounds: u32, sets: u32) -> f64 {
    let mut random = SplitMix64(8);
    let mut false_alarms = 0;
    for _ in 0..sets {
        let process = spread * random.normal();
        let rounds: Vec<Vec<f64>> =
            (0..rounds).map(|_| vec![0.01 * (process + random.normal())]).collect();
        let interval = by_session(&rounds, 0.05).and_then(|found| found.interval);
        false_alarms += u32::from(interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0));
    }
    f64::from(false_alarms) / f64::from(sets)
}

/// The interval of the lab, in sessions of this number of rounds.
fn interval(differences: &[f64], rounds: usize) -> Option<(f64, f64)> {
    let sessions: Vec<Vec<f64>> = differences.chunks(rounds).map(<[f64]>::to_vec).collect();
    by_session(&sessions, 0.05)?.interval
}

/// For n rounds of two equal methods, the logs of the ratios of their times.
fn differences(noise: Noise, order: Order, n: usize, random: &mut SplitMix64) -> Vec<f64> {
    let mut machine = Machine::new(noise, 2 * n, random);
    match order {
        Order::Rounds => (0..n)
            .map(|_| {
                let b_first = random.unit() < 0.5;
                let (first, second) = (machine.sample(0, random), machine.sample(1, random));
                if b_first { first - second } else { second - first }
            })
            .collect(),
        Order::OneAfterTheOther => {
            let a: Vec<f64> = (0..n).map(|_| machine.sample(0, random)).collect();
            a.into_iter().map(|a| machine.sample(0, random) - a).collect()
        }
    }
}

struct Machine {
    noise: Noise,
    /// Time advances equally with each sample, from 0 to 1 over all samples.
    time: f64,
    step: f64,
    level: f64,
    neighbour: bool,
}

impl Machine {
    fn new(noise: Noise, samples: usize, random: &mut SplitMix64) -> Machine {
        let (level, neighbour) = (0.05 * random.normal(), random.unit() < 0.3);
        Machine { noise, time: 0.0, step: 1.0 / samples as f64, level, neighbour }
    }

    /// The log of a time, where the undisturbed one is 0.
    fn sample(&mut self, slot: u32, random: &mut SplitMix64) -> f64 {
        self.time += self.step;
        // First-order autoregressive drift with a memory of about 50 samples.
        self.level = 0.98 * self.level + 0.05 * (1.0 - 0.98f64.powi(2)).sqrt() * random.normal();
        let changes = if self.neighbour { 0.07 } else { 0.03 };
        self.neighbour ^= random.unit() < changes;
        let bell = random.normal();
        match self.noise {
            Noise::Independent => 0.03 * bell,
            Noise::Spikes if random.unit() < 0.1 => 0.02 * bell + (1.0 + random.unit()).ln(),
            Noise::TwoModes if random.unit() < 0.3 => 0.02 * bell + 1.22f64.ln(),
            Noise::Spikes | Noise::TwoModes => 0.02 * bell,
            Noise::Wander => 0.01 * bell + self.level,
            Noise::Neighbour if self.neighbour => 0.01 * bell + 1.4f64.ln(),
            Noise::Neighbour => 0.01 * bell,
            Noise::Drift => 0.01 * bell + 1.05f64.ln() * self.time,
            Noise::SecondSlot => 0.02 * bell + 1.02f64.ln() * f64::from(slot),
        }
    }
}

/// The share of tables of equal methods with a false verdict at 95 % for the whole table. Each
/// method's processes differ by `spread` times as much as its rounds do; the reference is in all
/// comparisons.
pub(crate) fn false_tables(table: Table, spread: f64, sets: u32) -> f64 {
    let Table { methods, sessions, rounds } = table;
    let mut random = SplitMix64(0x7ab1e ^ (methods as u64) << 32 ^ spread.to_bits());
    let alpha = 0.05 / (methods - 1) as f64;
    let mut false_tables = 0;
    for _ in 0..sets {
        let mut method = || -> Vec<Vec<f64>> {
            let mut session = |_| -> Vec<f64> {
                let process = spread * random.normal();
                (0..rounds).map(|_| 0.01 * (process + random.normal())).collect()
            };
            (0..sessions).map(&mut session).collect()
        };
        let reference = method();
        let differs = (1..methods).filter(|_| {
            let own = method();
            let differences = own
                .iter()
                .zip(&reference)
                .map(|(own, reference)| own.iter().zip(reference).map(|(y, x)| y - x).collect());
            let differences: Vec<Vec<f64>> = differences.collect();
            let interval = by_session(&differences, alpha).and_then(|found| found.interval);
            interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
        });
        false_tables += u32::from(differs.count() > 0);
    }
    f64::from(false_tables) / f64::from(sets)
}

/// A table of methods, with its number of sessions and rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) methods: usize,
    pub(crate) sessions: u32,
    pub(crate) rounds: u32,
}

/// The designs that are simulated: the usual ones, the shortest that has a verdict, and one round
/// per session.
pub(crate) const TABLES: [Table; 7] = [
    Table { methods: 14, sessions: 10, rounds: 10 },
    Table { methods: 14, sessions: 10, rounds: 4 },
    Table { methods: 14, sessions: 22, rounds: 4 },
    Table { methods: 14, sessions: 60, rounds: 1 },
    Table { methods: 27, sessions: 10, rounds: 10 },
    Table { methods: 27, sessions: 5, rounds: 3 },
    Table { methods: 27, sessions: 22, rounds: 4 },
];
