//! byte-stream beside other HTTP clients: all in turn, round after round, so that whatever else the
//! machine does meets all of them. Each is a process of its own, whose CPU time the kernel counts;
//! the server is in this process.
//!
//! ```sh
//! cargo run --release --manifest-path libraries/byte-stream/benches/clients/Cargo.toml -- \
//!     [--rounds N] [--mib N] [JOB…]
//! ```
//!
//! With `--serve BYTES` it only serves a resource of this size until its standard input ends, and
//! prints its URLs by http and https.
//!
//! The table shows medians of all rounds, and byte-stream's cost divided by that of the other, as
//! the median of the quotients within a round.

mod clients;
mod server;

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use self::server::{AUTHORITY_PATH, Server};

/// A request, and the clients that make it: byte-stream first, then the others.
struct Job {
    name: &'static str,
    secure: bool,
    times: u64,
    /// The size of the resource; the large one's is an option.
    bytes: Option<u64>,
    clients: &'static [&'static str],
}

const SMALL_BYTES: u64 = 4096;
const SMALL_TIMES: u64 = 1000;

const JOBS: [Job; 6] = [
    large("http", false, &["byte-stream", "tcp", "ureq", "reqwest", "curl"]),
    large("https", true, &["byte-stream", "tls", "ureq", "reqwest", "curl"]),
    small("http-small", false),
    small("https-small", true),
    large("http-async", false, &["byte-stream-async", "reqwest-async"]),
    large("https-async", true, &["byte-stream-async", "reqwest-async"]),
];

const fn large(name: &'static str, secure: bool, clients: &'static [&'static str]) -> Job {
    Job { name, secure, times: 1, bytes: None, clients }
}

const fn small(name: &'static str, secure: bool) -> Job {
    let clients = &["byte-stream", "curl", "ureq", "reqwest"];
    Job { name, secure, times: SMALL_TIMES, bytes: Some(SMALL_BYTES), clients }
}

struct Arguments {
    rounds: usize,
    mib: u64,
    jobs: Vec<String>,
}

#[derive(Clone, Copy)]
struct Cost {
    cpu_ms: f64,
    wall_ms: f64,
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|word| word == "--client").is_some() {
        return clients::run(&words.collect::<Vec<_>>());
    }
    if words.next_if(|word| word == "--serve").is_some() {
        return serve(words.next().context("a number is missing")?.parse()?);
    }
    let mut arguments = Arguments { rounds: 10, mib: 1024, jobs: Vec::new() };
    while let Some(word) = words.next() {
        let mut number =
            || words.next().context("a number is missing")?.parse::<u64>().context(word.clone());
        match word.as_str() {
            "--rounds" => arguments.rounds = number()? as usize,
            "--mib" => arguments.mib = number()?,
            name => {
                let known = JOBS.iter().any(|job| job.name == name);
                ensure!(
                    known,
                    "{name}: no such job; there are {}",
                    JOBS.map(|job| job.name).join(", ")
                );
                arguments.jobs.push(word);
            }
        }
    }
    let (plain, secure) = (Server::start(false)?, Server::start(true)?);
    println!(
        "{:<12} {:<18} {:>8} {:>8}  {:>9} {:>9}",
        "job", "client", "CPU ms", "wall ms", "ours ÷ it", "wall"
    );
    for job in &JOBS {
        if arguments.jobs.is_empty() || arguments.jobs.iter().any(|name| name == job.name) {
            compare(job, if job.secure { &secure } else { &plain }, &arguments)?;
        }
    }
    Ok(())
}

fn serve(bytes: u64) -> Result<()> {
    let servers = [Server::start(false)?, Server::start(true)?];
    for server in &servers {
        println!("{}", server.url(bytes));
    }
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

fn compare(job: &Job, server: &Server, arguments: &Arguments) -> Result<()> {
    let bytes = job.bytes.unwrap_or(arguments.mib << 20);
    let mut costs = vec![Vec::new(); job.clients.len()];
    for round in 0..=arguments.rounds {
        for turn in 0..job.clients.len() {
            // The first one is another one in each round.
            let which = (turn + round) % job.clients.len();
            let cost = cost_of(&mut command(job, job.clients[which], &server.url(bytes), bytes)?)?;
            // The first round warms up.
            if round > 0 {
                costs[which].push(cost);
            }
        }
    }
    let middle = |which: usize, of: fn(&Cost) -> f64| median(costs[which].iter().map(of).collect());
    for (which, client) in job.clients.iter().enumerate() {
        let ratio = |of: fn(&Cost) -> f64| {
            median(costs[0].iter().zip(&costs[which]).map(|(ours, it)| of(ours) / of(it)).collect())
        };
        let (cpu, wall): (fn(&Cost) -> f64, fn(&Cost) -> f64) =
            (|cost| cost.cpu_ms, |cost| cost.wall_ms);
        let name = if which == 0 { job.name } else { "" };
        let (cpu_ms, wall_ms) = (middle(which, cpu), middle(which, wall));
        print!("{name:<12} {client:<18} {cpu_ms:>8.1} {wall_ms:>8.1}");
        match which {
            0 => println!(),
            _ => println!("  {:>9.3} {:>9.3}", ratio(cpu), ratio(wall)),
        }
    }
    Ok(())
}

fn command(job: &Job, client: &str, url: &str, bytes: u64) -> Result<Command> {
    let mut command;
    if client == "curl" {
        command = Command::new("curl");
        command.args(["--silent", "--show-error", "--fail", "--http1.1", "--noproxy", "*"]);
        command.args(["--cacert", AUTHORITY_PATH]);
        // curl uses one connection for all URLs of a range.
        command.arg(format!("{url}?[1-{}]", job.times));
    } else {
        command = Command::new(std::env::current_exe()?);
        command.args(["--client", client, url, &job.times.to_string(), &bytes.to_string()]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command)
}

fn cost_of(command: &mut Command) -> Result<Cost> {
    let (before, start) = (children_cpu_ms()?, Instant::now());
    let status = command.status().with_context(|| format!("{command:?}"))?;
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(Cost { cpu_ms: children_cpu_ms()? - before, wall_ms })
}

/// The CPU time of all children that have ended.
fn children_cpu_ms() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e3)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}
