//! False alarms between runs, simulated in full: `compare` of two sides, and `check` against a
//! baseline or of old and new in the same rounds. `cargo bench -p bytelab-analysis --bench gate`;
//! the tests run a part of it.
#![expect(clippy::print_stdout, reason = "prints its result, as a benchmark does")]
#![allow(dead_code, reason = "the simulation of rounds is the other benchmark's")]

use std::process::ExitCode;

use gate::{Checked, MACHINES, Shares, checks, detectable_factor, pairs, sides};

#[path = "../tests/it/gate.rs"]
mod gate;
#[path = "../tests/it/simulate.rs"]
mod simulate;

const SETS: u32 = 2000;

fn main() -> ExitCode {
    let mut wrong = 0;
    println!("compare: said to differ though equal, % of {SETS} (absolute, relative)");
    for shared in MACHINES {
        for runs in [5, 8] {
            let shares = sides(shared, runs, SETS);
            // Two methods are compared at a point: each at 2.5 %, plus 1.2 points for random
            // variation.
            wrong += u32::from(shares.iter().any(|share| *share > 0.037));
            let [absolute, relative] = shares.map(|share| 100.0 * share);
            println!("{:<8} {runs} runs a side  {absolute:5.2} {relative:5.2}", shared.name);
        }
    }
    println!("check wall=5%: ok / slower / undecided, % of {SETS}");
    for shared in MACHINES {
        for (methods, earlier) in [(1, 0), (5, 0), (20, 0), (1, 9), (5, 9), (20, 9)] {
            let same = checks(shared, Checked { methods, earlier, factor: 1.0 }, SETS);
            wrong += u32::from(same.slower > 0.01);
            let what = format!("{methods:>2} methods {earlier} runs before");
            println!("{:<8} {what}  the same {}", shared.name, line(same));
        }
        for percent in [5.0, 10.0, 20.0] {
            let slower = Checked { methods: 5, earlier: 0, factor: 1.0 + percent / 100.0 };
            let slower = checks(shared, slower, SETS / 4);
            println!("{:<8}  5 methods  +{percent:<3} %   {}", shared.name, line(slower));
        }
    }
    wrong += same_rounds();
    println!("{wrong} of 48 out of bounds");
    ExitCode::from(u8::from(wrong > 0))
}

fn same_rounds() -> u32 {
    let mut wrong = 0;
    println!("check --against wall=5%, one method slower: ok / slower / undecided, % of {SETS}");
    for shared in MACHINES {
        for methods in [1, 5, 20] {
            let same = pairs(shared, methods, 1.0, SETS);
            wrong += u32::from(same.slower > 0.01);
            println!("{:<8} {methods:>2} methods  the same {}", shared.name, line(same));
        }
        for percent in [5.0, 10.0, 20.0] {
            let slower = pairs(shared, 5, 1.0 + percent / 100.0, SETS / 4);
            println!("{:<8}  5 methods  +{percent:<3} %   {}", shared.name, line(slower));
        }
        let factor = detectable_factor(shared, 5, analysis::ROUNDS);
        let slower = pairs(shared, 5, factor, SETS / 4);
        // The slowdown should be found in four of five cases.
        wrong += u32::from(!(0.7..0.9).contains(&slower.slower));
        let percent = 100.0 * (factor - 1.0);
        println!("{:<8}  5 methods  +{percent:.1} % (foreseen) {}", shared.name, line(slower));
    }
    wrong
}

fn line(shares: Shares) -> String {
    let [ok, slower, undecided] =
        [shares.ok, shares.slower, shares.undecided].map(|share| 100.0 * share);
    format!("{ok:6.2} {slower:6.2} {undecided:6.2}")
}
