//! The program: parse, measure into the store, analyze, print.

mod check;
mod cli;
mod compare;
mod doctor;
mod experiments;
mod export;
mod history;
mod import;
mod import_file;
mod init;
mod numbers;
mod older;
mod owner;
mod pattern;
mod progress;
mod reference;
mod report;
mod report_file;
mod run;
mod self_test;
mod standard_streams;
mod store;
mod tools;
mod trace_file;
mod whole_file;
mod workers;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use lab::analyze::{Analysis, analyze};
use lab::experiment::Experiment;
use lab::launch::Stop;
use lab::run::{Run, Status};
use lab::threshold::Held;

use crate::cli::{Asked, Cli, NumbersArgs, OutputArgs, Task};
use crate::experiments::own;
use crate::report::Layout;
use crate::run::Measured;
use crate::workers::Language;

/// Counts what built-in methods allocate, in the counting pass only.
#[global_allocator]
static ALLOCATOR: lab::count::CountingAllocator = lab::count::CountingAllocator;

const DID_NOT_RUN: u8 = 1;
const WRONG_USE: u8 = 2;
const EXCEEDED: u8 = 3;
const UNDECIDED: u8 = 4;

fn main() -> ExitCode {
    let ended = match hidden_arguments() {
        Some([task, threads, times]) if task == experiments::self_test::COMMAND => {
            allocate(&threads, &times)
        }
        Some([task, kind, directory]) if task == experiments::serve::COMMAND => {
            experiments::serve::run(&kind, &directory).map(|()| ExitCode::SUCCESS)
        }
        Some([task, iterations, _]) if task == experiments::self_test::BURN => {
            experiments::self_test::burn_process(&iterations)
        }
        Some([task, name, _]) if task == experiments::copying::FILTER => filter(&name),
        Some([_, experiment, method]) => worker(&experiment, &method),
        None => {
            if let Some(cli) = cli::tool() {
                dispatch(cli, None, &[])
            } else {
                let mut experiments = experiments::all();
                cli::parse(&mut experiments)
                    .and_then(|(cli, asked)| dispatch(cli, asked, &experiments))
            }
        }
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

fn dispatch(cli: Cli, asked: Option<Asked>, experiments: &[Experiment]) -> Result<ExitCode> {
    match cli.task {
        Task::Numbers(args) => {
            let asked = args.asked(experiments)?;
            measure(cli.store, experiments, asked, |run| print_numbers(run, &args))
        }
        Task::Run(args) => match (&args.resume, asked) {
            (Some(id), None) => resume(cli.store, experiments, id, &args.output),
            (None, Some(asked)) => {
                measure(cli.store, experiments, asked, |run| print(run, &args.output))
            }
            _ => anyhow::bail!("name an experiment, or --resume ID"),
        },
        Task::List { experiment } => list(experiments, experiment.as_deref()),
        Task::Init(args) => init::run(&args),
        Task::Fleece(args) => tools::fleece::run(&args),
        Task::Doctor { json } => doctor::print(json),
        Task::SelfTest(args) => self_test::run(&args),
        Task::Cat(args) => Ok(tools::cat::run(args)),
        Task::History(args) => history::run(&args, cli.store, &layout()),
        Task::Compare(args) => compare::run(&args, cli.store, &experiments::all(), &layout()),
        Task::Check(mut args) => {
            warn_if_unoptimised();
            match (args.against.take(), asked) {
                (Some(against), Some(asked)) => {
                    check::against(&against, asked, cli.store.as_deref(), &layout())
                }
                _ => check::run(&args, cli.store.as_deref(), &experiments::all(), &layout()),
            }
        }
        Task::Baseline { task } => check::baselines(&task, cli.store),
        Task::Show { id, output, plot } => {
            let run = store::load(store::open(cli.store)?.as_mut(), &id)?;
            let analysis = print(&run, &output)?;
            if plot {
                let text = report::plot(&run, &analysis, &layout());
                io::stdout().lock().write_all(text.as_bytes())?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Task::Report(args) => report_file::run(&args, store::open(cli.store)?.as_mut()),
        Task::Import(args) => import_file::run(&args, cli.store),
        Task::Export(args) => export::run(&args, store::open(cli.store)?.as_mut()),
        Task::Sample(args) => Ok(tools::sample::run(&args)),
        Task::Delete { ids } => {
            let mut store = store::open(cli.store)?;
            // All or none: an id that is not there is told before anything is removed.
            let known = store.list()?;
            if let Some(id) = ids.iter().find(|id| known.iter().all(|run| run.id != **id)) {
                anyhow::bail!("there is no run {id}; nothing was deleted (see bytelab history)");
            }
            let baselines = store.baselines()?;
            if let Some(named) = baselines.iter().find(|baseline| ids.contains(&baseline.id)) {
                anyhow::bail!(
                    "run {} is the baseline {:?}; nothing was deleted (see bytelab baseline --help)",
                    named.id,
                    named.name
                );
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
    experiments: &[Experiment],
    asked: Asked,
    print: impl FnOnce(&Run) -> Result<Analysis>,
) -> Result<ExitCode> {
    warn_if_unoptimised();
    let stop = Stop::on_signals()?;
    let keep = !asked.measuring.no_store;
    let store = keep.then(|| store::open(store)).transpose()?;
    let measured = run::run(experiments, asked, store, &stop);
    ended(measured, &stop, print)
}

fn resume(
    store: Option<std::ffi::OsString>,
    experiments: &[Experiment],
    id: &str,
    output: &OutputArgs,
) -> Result<ExitCode> {
    warn_if_unoptimised();
    let stop = Stop::on_signals()?;
    let measured = run::resume(experiments, id, store::open(store)?, &stop);
    ended(measured, &stop, |run| print(run, output))
}

/// Shows what was measured, and tells how it ended.
fn ended(
    measured: Result<Measured>,
    stop: &Stop,
    print: impl FnOnce(&Run) -> Result<Analysis>,
) -> Result<ExitCode> {
    let Measured { run, tidy } = match (measured, stop.signal()) {
        (Ok(measured), _) => measured,
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
    let well = tidy && all_well(&run, &analysis);
    Ok(ExitCode::from(if well { held(&analysis) } else { DID_NOT_RUN }))
}

/// The exit status that the thresholds make.
fn held(analysis: &Analysis) -> u8 {
    let any = |verdict| analysis.thresholds.iter().any(|outcome| outcome.verdict == verdict);
    if any(Held::Exceeded) {
        EXCEEDED
    } else if any(Held::Undecided) {
        UNDECIDED
    } else {
        0
    }
}

fn print_numbers(run: &Run, args: &NumbersArgs) -> Result<Analysis> {
    if args.json || args.columns.is_empty() && !args.markdown {
        let output = OutputArgs { json: args.json, percentiles: false, columns: Vec::new() };
        return print(run, &output);
    }
    let analysis = analyze(run);
    let text = if args.markdown {
        report::numbers::markdown(run, &analysis, &args.columns)
    } else {
        report::numbers::text(run, &analysis, &args.columns, &layout())
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(analysis)
}

fn print(run: &Run, output: &OutputArgs) -> Result<Analysis> {
    let analysis = analyze(run);
    let mut out = io::BufWriter::new(io::stdout().lock());
    if output.json {
        report::json(run, &analysis, &mut out)?;
        writeln!(out)?;
    } else {
        let layout = layout();
        out.write_all(report::text(run, &analysis, &output.columns, &layout).as_bytes())?;
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

fn list(experiments: &[Experiment], name: Option<&str>) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    match name {
        None => out.write_all(report::experiments(experiments).as_bytes())?,
        Some(name) if own::is_file_name(name) => {
            let declared = own::load(Path::new(name), &cli::taken())?;
            out.write_all(report::methods(&declared.experiment, &[]).as_bytes())?;
        }
        Some("published") => {
            out.write_all(report::beside::list(&reference::all(), &layout()).as_bytes())?;
        }
        Some(name) if name.starts_with(reference::PREFIX) => {
            let published = compare::published(&name[reference::PREFIX.len()..])?;
            out.write_all(report::beside::figures(&published, &layout()).as_bytes())?;
        }
        Some(name) => {
            let experiment = run::find(experiments, name)?;
            let languages = workers::languages(&experiment.methods);
            let languages: Vec<(&str, String)> = languages
                .into_iter()
                .map(|Language { name, here }| match here {
                    Ok(program) => (name, format!("here: {program}")),
                    Err(why) => (name, format!("not here: {why}")),
                })
                .collect();
            out.write_all(report::methods(experiment, &languages).as_bytes())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// `bytelab __worker EXPERIMENT METHOD` is how the lab starts a built-in method, and `__allocate` a
/// program with a known number of allocations. They go past the command line's parser, whose memory
/// would count as theirs.
fn hidden_arguments() -> Option<[String; 3]> {
    let mut arguments = std::env::args_os().skip(1).map(|argument| argument.into_string().ok());
    let mut next = || arguments.next().flatten();
    let task = next()?;
    let known = [
        "__worker",
        experiments::copying::FILTER,
        experiments::self_test::COMMAND,
        experiments::self_test::BURN,
        experiments::serve::COMMAND,
    ];
    known.contains(&task.as_str()).then_some([task, next()?, next()?])
}

fn allocate(threads: &str, times: &str) -> Result<ExitCode> {
    experiments::self_test::allocate(threads.parse()?, times.parse()?);
    Ok(ExitCode::SUCCESS)
}

/// A program in another language that copies, which stands in the arguments behind the name of its method.
fn filter(name: &str) -> Result<ExitCode> {
    let experiment = experiments::copying::experiment();
    let method = experiments::copying::filtering(&experiment, name);
    let method = method.with_context(|| format!("there is no program that copies as {name}"))?;
    let language = experiments::copying::language_of(name);
    lab::worker::serve(&method, &experiment.params, language)?;
    Ok(ExitCode::SUCCESS)
}

fn worker(experiment: &str, method: &str) -> Result<ExitCode> {
    let mut experiments = experiments::all();
    experiments.push(experiments::self_test::experiment());
    let experiment = run::find(&experiments, experiment)?;
    let found = experiment.methods.iter().find(|known| known.name == method);
    let found = found.with_context(|| format!("there is no method {method}"))?;
    lab::worker::serve(found, &experiment.params, "rust")?;
    Ok(ExitCode::SUCCESS)
}
