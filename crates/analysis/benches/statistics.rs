//! The whole simulation: seven noises × three designs × 4000 sets, compared with the bounds, and
//! the cost of the estimate. `cargo bench -p bytelab-analysis --bench statistics`; the tests run a
//! part of it.
#![expect(clippy::print_stdout, reason = "prints its result, as a benchmark does")]
#![allow(dead_code, reason = "the tests use the rest of the simulation")]

use std::hint::black_box;
use std::process::ExitCode;

use analysis::stats::hodges_lehmann;
use measure::clock;

use noted::{DESIGNS, KINDS, Rounds, false_notes};
use scheme::{Scheme, simulate};
use simulate::{NOISES, Order, Rates, TABLES, Table, false_tables, rates};
use spending::{Sessions, spent};

#[path = "../tests/it/gate.rs"]
mod gate;
#[path = "../tests/it/noted.rs"]
mod noted;
#[path = "../tests/it/scheme.rs"]
mod scheme;
#[path = "../tests/it/simulate.rs"]
mod simulate;
#[path = "../tests/it/spending.rs"]
mod spending;

const SETS: u32 = 4000;
/// Sets of looks.
const LOOKED: u32 = 40_000;
const LOOKED_SPREADS: [f64; 3] = [0.0, 0.3, 1.0];
/// Runs of sequential design.
const SCHEMES: u32 = 1000;
/// Runs of pure noise.
const NOTED: u32 = 1000;
const SPREADS: [f64; 6] = [0.0, 0.2, 0.4, 0.7, 1.0, 1.5];

fn main() -> ExitCode {
    let mut wrong = 0;
    println!("false alarms / coverage / power at +2 %, {SETS} sets");
    for design in [[10, 1], [10, 3], [22, 4]] {
        for noise in NOISES {
            let rounds = rates(noise, Order::Rounds, design, SETS, 1);
            let sequential = rates(noise, Order::OneAfterTheOther, design, SETS, 1);
            let n = format!("{} × {}", design[0], design[1]);
            let name = format!("{noise:?}");
            wrong += u32::from(!rounds.hold());
            println!(
                "{n:<7} {name:<12} rounds {}  one after the other {}",
                line(rounds),
                line(sequential)
            );
        }
    }
    println!("tables of equal methods with a false verdict, %, by how much processes differ");
    println!("methods sessions × rounds {}", SPREADS.map(|spread| format!("{spread:5}")).join(""));
    for table in TABLES {
        let shares = SPREADS.map(|spread| false_tables(table, spread, SETS));
        wrong += u32::from(shares.iter().any(|share| *share > 0.07));
        let Table { methods, sessions, rounds } = table;
        let shares = shares.map(|share| format!("{:5.1}", 100.0 * share)).join("");
        println!("{methods:>7} {sessions:>8} × {rounds:<6} {shares}");
    }
    wrong += looks_in_all();
    wrong += schemes();
    wrong += notes();
    for n in [30, 100, 300, 1000, 10_000] {
        println!("n={n:<6} estimate and interval {:>9.1} µs", cost_us(n));
    }
    println!("{wrong} of 180 out of bounds");
    ExitCode::from(u8::from(wrong > 0))
}

/// The number of levels that all looks together exceed by more than three standard deviations.
fn looks_in_all() -> u32 {
    println!("what all looks together spend, % of the level, {LOOKED} sets");
    println!("level    rounds {}", LOOKED_SPREADS.map(|spread| format!("{spread:6}")).join(""));
    let mut wrong = 0;
    for parts in [1, 2, 6, 13, 91] {
        for sessions in [Sessions::Rounds(1), Sessions::Rounds(5), Sessions::ShortThenLong] {
            let alpha = 0.05 / f64::from(parts);
            let most = 1.0 + 3.0 / (alpha * f64::from(LOOKED)).sqrt();
            let shares =
                LOOKED_SPREADS.map(|spread| spent(alpha, spread, sessions, LOOKED, 5) / alpha);
            wrong += shares.iter().map(|share| u32::from(*share > most)).sum::<u32>();
            let shown = shares.map(|share| format!("{:6.1}", 100.0 * share)).join("");
            println!("0.05/{parts:<4} {sessions:?}{shown}");
        }
    }
    wrong
}

/// The number of simulated runs of sequential design whose shares are out of bounds.
fn schemes() -> u32 {
    println!(
        "sequential runs, % of {SCHEMES}: false verdicts, best lost, interval missed; sessions"
    );
    let mut wrong = 0;
    let mixed: &[f64] =
        &[0.0, -0.7, -0.7, -0.69, 0.02, 0.05, 0.2, 1.0, 1.0, 0.5, 2.0, -0.5, 0.0, 3.0];
    for (effects, last) in [(&[0.0; 2][..], 240), (&[0.0; 14][..], 60), (mixed, 60)] {
        for spread in LOOKED_SPREADS {
            let found = simulate(Scheme { effects, spread, last }, SCHEMES, 6);
            let shares = [found.false_verdict, found.best_lost, found.missed];
            // Three standard deviations above 5 %.
            let most = 0.05 + 3.0 * (0.0475 / f64::from(SCHEMES)).sqrt();
            wrong += shares.iter().map(|share| u32::from(*share > most)).sum::<u32>();
            let shown = shares.map(|share| format!("{:6.2}", 100.0 * share)).join("");
            let n = effects.len();
            println!("{n} methods to {last}, spread {spread}: {shown}; {:.2}", found.sessions);
        }
    }
    wrong
}

/// The number of shares of runs of pure noise with a note that are out of bounds.
fn notes() -> u32 {
    println!("runs of 14 methods of pure noise with a note, % of {NOTED}: {}", KINDS.join(", "));
    let mut wrong = 0;
    for design in DESIGNS {
        for (rounds, spread) in [
            (Rounds::Normal, 0.0),
            (Rounds::Normal, 1.5),
            (Rounds::HeavyTailed, 0.0),
            (Rounds::HeavyTailed, 0.5),
        ] {
            let shares = false_notes(design, rounds, spread, NOTED);
            // Three standard deviations above 2 %.
            wrong += shares.iter().map(|share| u32::from(*share > 0.033)).sum::<u32>();
            let shown = shares.map(|share| format!("{:6.2}", 100.0 * share)).join("");
            println!("{design:?} {rounds:?} {spread}: {shown}");
        }
    }
    wrong
}

fn line(rates: Rates) -> String {
    let Rates { false_alarms, coverage, power, .. } = rates;
    let held = if rates.hold() { "holds" } else { "FAILS" };
    let [a, b, c] = [false_alarms, coverage, power].map(|share| 100.0 * share);
    format!("{a:5.2} {b:6.2} {c:6.2} {held}")
}

/// The fastest of some calls on generated logs with a bell-shaped distribution.
fn cost_us(n: u32) -> f64 {
    let values: Vec<f64> = (0..n)
        .map(|i| [389u32, 557, 743].map(|k| f64::from((i + 1).wrapping_mul(k) % 1009)).iter().sum())
        .map(|sum: f64| sum * 1e-5 - 0.015)
        .collect();
    let runs = (0..200).map(|_| {
        let start_ns = clock::now_ns();
        black_box(hodges_lehmann(black_box(&values), 0.05));
        clock::now_ns() - start_ns
    });
    runs.min().unwrap_or_default() as f64 / 1e3
}
