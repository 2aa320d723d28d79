//! `bytelab sample` beside other programs that do the same: all in turn, round after round, so that
//! whatever else the machine does meets all of them. Each is timed from its start to its end, and
//! writes to `/dev/null`.
//!
//! ```sh
//! cargo build --release && cargo bench -p record-sampler --bench peers -- [--dir DIR] [--rounds N] [PART-OF-A-NAME]
//! ```
//!
//! DIR needs room for 1.3 GB, which are made once; peers that are not installed are left out.

mod cases;
mod child;
mod data;

use std::io::{self, Write};
use std::path::PathBuf;

use cases::{Case, Inputs};
use child::{Cost, Program};

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let inputs = Inputs::prepare(&arguments.dir)?;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{:<34} {:>9} {:>9} {:>9} {:>9}  {:>6}  {:<6} peer",
        "case", "wall ms", "CPU ms", "RSS MiB", "device MB", "ratio", "goal"
    )?;
    for case in cases::all(&inputs) {
        if case.name.contains(&arguments.filter) && case.is_possible() {
            run(&case, arguments.rounds, &mut out)?;
        }
    }
    Ok(())
}

struct Arguments {
    dir: PathBuf,
    rounds: usize,
    filter: String,
}

impl Arguments {
    fn parse() -> Arguments {
        let mut arguments = Arguments {
            dir: std::env::temp_dir().join("record-sampler"),
            rounds: 11,
            filter: String::new(),
        };
        let mut words = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(argument) = words.next() {
            match argument.as_str() {
                "--dir" => arguments.dir = words.next().map(PathBuf::from).expect("--dir DIR"),
                "--rounds" => {
                    let rounds = words.next().and_then(|text| text.parse().ok());
                    arguments.rounds = rounds.expect("--rounds N");
                }
                _ => arguments.filter = argument,
            }
        }
        arguments
    }
}

/// Medians of all rounds; the ratio is the median of those within a round.
fn run(case: &Case, rounds: usize, out: &mut impl Write) -> io::Result<()> {
    let programs: Vec<&Program> =
        [Some(&case.ours), case.peer.as_ref()].into_iter().flatten().collect();
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); programs.len()];
    case.state.before_all()?;
    for round in 0..=rounds {
        for turn in 0..programs.len() {
            // Who is first changes.
            let which = (turn + round) % programs.len();
            case.state.before_each()?;
            let cost = programs[which].run()?;
            // The first round warms up.
            if round > 0 {
                costs[which].push(cost);
            }
        }
    }
    let middle = |which: usize, of: fn(&Cost) -> f64| median(costs[which].iter().map(of).collect());
    let ratio = |of: fn(&Cost) -> f64| {
        median(costs[1].iter().zip(&costs[0]).map(|(peer, ours)| of(peer) / of(ours)).collect())
    };
    for (which, program) in programs.iter().enumerate() {
        let name = if which == 0 { case.name } else { "" };
        let [ratio_text, goal, label] = if which == 0 && programs.len() > 1 {
            let (wall, cpu) = (ratio(|cost| cost.wall_ns), ratio(|cost| cost.cpu_ns));
            [format!("{wall:.1}"), case.goal.to_owned(), format!("(CPU {cpu:.1})")]
        } else if which == 0 {
            [String::new(), case.goal.to_owned(), String::new()]
        } else {
            [String::new(), String::new(), program.label()]
        };
        writeln!(
            out,
            "{name:<34} {:>9.2} {:>9.2} {:>9.1} {:>9.2}  {ratio_text:>6}  {goal:<6} {label}",
            middle(which, |cost| cost.wall_ns) / 1e6,
            middle(which, |cost| cost.cpu_ns) / 1e6,
            middle(which, |cost| cost.rss_bytes) / f64::from(1 << 20),
            middle(which, |cost| cost.device_bytes) / 1e6,
        )?;
        out.flush()?;
    }
    Ok(())
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
