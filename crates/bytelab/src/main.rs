//! The program: parse, measure into the store, analyze, print.

mod cli;
mod doctor;
mod experiments;
mod numbers;
mod owner;
mod progress;
mod reference;
mod report;
mod run;
mod self_test;
mod store;
mod tools;
mod trace_file;
mod workers;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use lab::analyze::{Analysis, analyze};
use lab::launch::Stop;
use lab::run::{Run, Status};

use crate::cli::{Asked, Cli, NumbersArgs, OutputArgs, Task};
use crate::report::Layout;

/// Counts what built-in methods allocate, in the counting pass only.
#[global_allocator]
static ALLOCATOR: lab::count::CountingAllocator = lab::count::CountingAllocator;

const DID_NOT_RUN: u8 = 1;
const WRONG_USE: u8 = 2;

fn main() -> ExitCode {
    let ended = match hidden_arguments() {
        Some([task, threads, times]) if task == experiments::self_test::COMMAND => {
            allocate(&threads, &times)
        }
        Some([task, kind, directory]) if task == experiments::serve::COMMAND => {
            experiments::serve::run(&kind, &directory).map(|()| ExitCode::SUCCESS)
        }
        Some([_, experiment, method]) => worker(&experiment, &method),
        None => cli::parse(&experiments::all()).and_then(|(cli, asked)| dispatch(cli, asked)),
    };
    ended.unwrap_or_else(|error| {
        let broken_pipe = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
        if error.downcast_ref().is_some_and(broken_pipe) {
            return ExitCode::SUCCESS;
        }
        let _ = writeln!(io::stderr(), "bytelab: {error:#}");
        ExitCode::from(WRONG_USE)
    })
}

fn dispatch(cli: Cli, asked: Option<Asked>) -> Result<ExitCode> {
    match cli.task {
        Task::Numbers(args) => {
            let asked = args.asked(&experiments::all())?;
            measure(cli.store, asked, |run| print_numbers(run, &args))
        }
        Task::Run(args) => match (&args.resume, asked) {
            (Some(id), None) => resume(cli.store, id, args.output),
            (None, Some(asked)) => measure(cli.store, asked, |run| print(run, args.output)),
            _ => anyhow::bail!("name an experiment, or --resume ID"),
        },
        Task::List { experiment } => list(experiment.as_deref()),
        Task::Fleece(args) => tools::fleece::run(&args),
        Task::Doctor { json } => doctor::print(json),
        Task::SelfTest(args) => self_test::run(&args),
        Task::Cat(args) => tools::cat::run(args),
        Task::History { json } => history(cli.store, json),
        Task::Show { id, output } => {
            let run = store::open(cli.store)?.load(&id)?;
            print(&run, output)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Sample(args) => Ok(tools::sample::run(&args)),
        Task::Delete { ids } => {
            let mut store = store::open(cli.store)?;
            // All or none: an id that is not there is told before anything is removed.
            let known = store.list()?;
            if let Some(id) = ids.iter().find(|id| known.iter().all(|run| run.id != **id)) {
                anyhow::bail!("there is no run {id}; nothing was deleted (see bytelab history)");
            }
            for id in ids {
                store.delete(&id)?;
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn measure(
    store: Option<std::ffi::OsString>,
    asked: Asked,
    print: impl FnOnce(&Run) -> Result<Analysis>,
) -> Result<ExitCode> {
    warn_if_unoptimised();
    let stop = Stop::on_signals()?;
    let keep = !asked.measuring.no_store;
    let store = keep.then(|| store::open(store)).transpose()?;
    let measured = run::run(&experiments::all(), asked, store, &stop);
    ended(measured, &stop, print)
}

fn resume(store: Option<std::ffi::OsString>, id: &str, output: OutputArgs) -> Result<ExitCode> {
    warn_if_unoptimised();
    let stop = Stop::on_signals()?;
    let measured = run::resume(&experiments::all(), id, store::open(store)?, &stop);
    ended(measured, &stop, |run| print(run, output))
}

/// Shows what was measured, and tells how it ended.
fn ended(
    measured: Result<Run>,
    stop: &Stop,
    print: impl FnOnce(&Run) -> Result<Analysis>,
) -> Result<ExitCode> {
    let run = match (measured, stop.signal()) {
        (Ok(run), _) => run,
        (Err(error), Some(signal)) => {
            writeln!(io::stderr(), "bytelab: {error:#}; nothing was measured yet")?;
            return Ok(ExitCode::from(128 + signal as u8));
        }
        (Err(error), None) => return Err(error),
    };
    let analysis = print(&run)?;
    if let Some(signal) = stop.signal() {
        if run.id.parse::<u64>().is_ok() {
            writeln!(
                io::stderr(),
                "bytelab: stopped; go on with: bytelab run --resume {}",
                run.id
            )?;
        }
        return Ok(ExitCode::from(128 + signal as u8));
    }
    Ok(if all_well(&run, &analysis) { ExitCode::SUCCESS } else { ExitCode::from(DID_NOT_RUN) })
}

fn print_numbers(run: &Run, args: &NumbersArgs) -> Result<Analysis> {
    if args.json || args.columns.is_empty() && !args.markdown {
        return print(run, OutputArgs { json: args.json, percentiles: false });
    }
    let text = if args.markdown {
        report::numbers::markdown(run, &args.columns)
    } else {
        report::numbers::text(run, &args.columns, &layout())
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(analyze(run))
}

fn print(run: &Run, output: OutputArgs) -> Result<Analysis> {
    let analysis = analyze(run);
    let mut out = io::BufWriter::new(io::stdout().lock());
    if output.json {
        report::json(run, &analysis, &mut out)?;
        writeln!(out)?;
    } else {
        let layout = layout();
        out.write_all(report::text(run, &analysis, &layout).as_bytes())?;
        if output.percentiles {
            write!(out, "\n{}", report::percentiles(run, &analysis, &layout))?;
        }
    }
    out.flush()?;
    Ok(analysis)
}

/// Every cell was measured, and no answer is wrong.
fn all_well(run: &Run, analysis: &Analysis) -> bool {
    run.complete
        && run.cells.iter().all(|cell| cell.status == Status::Measured)
        && analysis.cells.iter().all(|cell| !cell.wrong_answer)
}

fn layout() -> Layout {
    let stdout = io::stdout();
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    Layout {
        width: columns.or(terminal).unwrap_or(80).clamp(60, 200),
        colour: stdout.is_terminal()
            && anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never,
    }
}

fn warn_if_unoptimised() {
    if !lab::environment::optimised() {
        let _ = writeln!(
            io::stderr(),
            "bytelab: this build is not optimised and its numbers mean nothing; use cargo run --release"
        );
    }
}

fn list(name: Option<&str>) -> Result<ExitCode> {
    let experiments = experiments::all();
    let mut out = io::stdout().lock();
    match name {
        None => out.write_all(report::experiments(&experiments).as_bytes())?,
        Some(name) => {
            let experiment = run::find(&experiments, name)?;
            out.write_all(report::methods(experiment).as_bytes())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn history(store: Option<std::ffi::OsString>, json: bool) -> Result<ExitCode> {
    let listed = store::open(store)?.list()?;
    let text = if json { report::history::json(&listed)? } else { report::history::table(&listed) };
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}

/// `bytelab __worker EXPERIMENT METHOD` is how the lab starts a built-in method, and `__allocate` a
/// program with a known number of allocations. They go past the command line's parser, whose memory
/// would count as theirs.
fn hidden_arguments() -> Option<[String; 3]> {
    let mut arguments = std::env::args_os().skip(1).map(|argument| argument.into_string().ok());
    let mut next = || arguments.next().flatten();
    let task = next()?;
    let known = ["__worker", experiments::self_test::COMMAND, experiments::serve::COMMAND];
    known.contains(&task.as_str()).then_some([task, next()?, next()?])
}

fn allocate(threads: &str, times: &str) -> Result<ExitCode> {
    experiments::self_test::allocate(threads.parse()?, times.parse()?);
    Ok(ExitCode::SUCCESS)
}

fn worker(experiment: &str, method: &str) -> Result<ExitCode> {
    let mut experiments = experiments::all();
    experiments.push(experiments::self_test::experiment());
    let experiment = run::find(&experiments, experiment)?;
    let found = experiment.methods.iter().find(|known| known.name == method);
    let found = found.with_context(|| format!("there is no method {method}"))?;
    lab::worker::serve(found, &experiment.params)?;
    Ok(ExitCode::SUCCESS)
}
