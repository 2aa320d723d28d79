//! The whole simulation: seven noises × three sizes × 4000 sets, held against the bounds, and what
//! the estimate costs. `cargo bench -p lab --bench statistics`; the tests run a part of it.
#![expect(clippy::print_stdout, reason = "prints its result, as a benchmark does")]

use std::hint::black_box;
use std::process::ExitCode;

use lab::clock;
use lab::stats::hodges_lehmann;

use simulate::{NOISES, Order, Rates, false_alarms_of_processes, rates};

#[path = "../tests/it/statistics/simulate.rs"]
mod simulate;

const SETS: u32 = 4000;

fn main() -> ExitCode {
    let mut wrong = 0;
    println!("false alarms / coverage / power at +2 %, {SETS} sets");
    for n in [10, 30, 100] {
        for noise in NOISES {
            let rounds = rates(noise, Order::Rounds, n, SETS, 1);
            let sequential = rates(noise, Order::OneAfterTheOther, n, SETS, 1);
            let name = format!("{noise:?}");
            wrong += u32::from(!rounds.hold());
            println!(
                "n={n:<4} {name:<12} rounds {}  one after the other {}",
                line(rounds),
                line(sequential)
            );
        }
    }
    println!("false alarms where processes differ by a multiple of the noise");
    for spread in [0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0] {
        let shares = [(1, 100), (10, 10), (10, 3)]
            .map(|(n, rounds)| 100.0 * false_alarms_of_processes(spread, n, rounds, SETS / 4));
        println!(
            "{spread:<4} 1 × 100 rounds {:5.2}  10 × 10 {:5.2}  10 × 3 {:5.2}",
            shares[0], shares[1], shares[2]
        );
    }
    for n in [30, 100, 300, 1000, 10_000] {
        println!("n={n:<6} estimate and interval {:>9.1} µs", cost_us(n));
    }
    println!("{wrong} of 21 out of bounds");
    ExitCode::from(u8::from(wrong > 0))
}

fn line(rates: Rates) -> String {
    let Rates { false_alarms, coverage, power, .. } = rates;
    let held = if rates.hold() { "holds" } else { "FAILS" };
    let [a, b, c] = [false_alarms, coverage, power].map(|share| 100.0 * share);
    format!("{a:5.2} {b:6.2} {c:6.2} {held}")
}

/// The fastest of some calls on made-up logs of a bell-like shape.
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
