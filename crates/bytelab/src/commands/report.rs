//! `bytelab report`: writes HTML and SVG files. Each file appears complete or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::{Analysis, analyze};
use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use model::run::Run;
use report::fleet;
use store::Store;
use tools::atomic_file::{self, AtomicFile};

use super::comparing::{GroupBy, RunGroups, path_params};
use super::export::guess;
use super::{Context, load_run, note, path};
use crate::console;

/// How a picture becomes one of another kind.
const PNG: &str = "A PNG of a chart, or with -f pdf a PDF (Debian: librsvg2-bin):
  rsvg-convert -z 2 DIR/ratio.svg -o ratio.png";

#[derive(Args)]
#[command(after_help = PNG)]
pub(crate) struct ReportArgs {
    /// Stored runs of one experiment, each by its id or its label; several runs are drawn in the
    /// same charts
    #[arg(default_value = store::LATEST, value_name = "ID")]
    ids: Vec<String>,
    /// Draw all runs of an experiment by groups of runs, as `compare --by` compares them
    #[arg(long, value_enum, conflicts_with_all = ["ids", "metric"])]
    by: Option<GroupBy>,
    /// With --by, use only the runs of this experiment
    #[arg(long, value_name = "NAME", requires = "by")]
    experiment: Option<String>,
    /// With --by, compare although cache states or sampling methods differ
    #[arg(long, requires = "by")]
    despite_differences: bool,
    /// Write one HTML file that works without a network (`-`: to standard output) [default: a new
    /// file in the current directory, whose name is printed; none with --svg]
    #[arg(short, long, value_name = "FILE.html", value_parser = path())]
    output: Option<PathBuf>,
    /// Write the charts as SVG files, for papers; the directory is created if it does not exist
    #[arg(long, value_name = "DIR", value_parser = path())]
    svg: Option<PathBuf>,
    /// The metric that the SVG files show
    #[arg(long, value_name = "METRIC", default_value = "wall_ns", requires = "svg")]
    metric: String,
}

pub(crate) fn run(args: &ReportArgs, context: &Context) -> Result<ExitCode> {
    if let Some(path) = &args.output {
        ensure_page("-o", path)?;
    }
    if let Some(by) = args.by {
        return by_groups(by, args, context);
    }
    let shown = load(&args.ids, context.open_store()?.as_mut())?;
    let path_params = path_params(&context.experiments.experiments, &shown[0].0.experiment);
    write_page(args, &name(&shown), || report::html(&shown, &path_params))?;
    if let Some(dir) = &args.svg {
        let files = report::svg(&shown, &args.metric);
        if files.is_empty() {
            let metric = &args.metric;
            bail!(
                "no method has samples of {metric} that differ, so that there is nothing to draw"
            );
        }
        write_svg(dir, &files).with_context(|| format!("--svg {}", dir.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn by_groups(by: GroupBy, args: &ReportArgs, context: &Context) -> Result<ExitCode> {
    let experiment = args.experiment.as_deref();
    let grouped = RunGroups::load(by, experiment, args.despite_differences, context)?;
    let report = grouped.report();
    let points = report.fleet.points.iter();
    let figures: Vec<String> = points.map(|point| fleet::figure(&report, point)).collect();
    write_page(args, &format!("bytelab-by-{}", report.by), || fleet::page(&report, &figures))?;
    if let Some(dir) = &args.svg {
        let named = |(at, svg): (usize, String)| (format!("{}-{}.svg", report.by, at + 1), svg);
        let files: Vec<(String, String)> = figures.into_iter().enumerate().map(named).collect();
        write_svg(dir, &files).with_context(|| format!("--svg {}", dir.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Pictures that other programs make of SVG.
const PICTURES: [&str; 7] = ["png", "pdf", "ps", "eps", "jpg", "jpeg", "webp"];

/// Fails if the name of the file says that it is to hold something else than a page.
pub(super) fn ensure_page(flag: &str, path: &Path) -> Result<()> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let advice = match extension.as_str() {
        "svg" => "for SVG: --svg DIR",
        known if PICTURES.contains(&known) => {
            "for another picture: --svg DIR, then `rsvg-convert -z 2 DIR/ratio.svg -o FILE.png` (for \
             PDF: -f pdf)"
        }
        "json" => "for data: bytelab export ID --format json",
        _ if guess(path).is_ok() => "for data: bytelab export ID -o FILE",
        _ => return Ok(()),
    };
    bail!("{flag} {}: it writes a page (.html); {advice}", path.display())
}

/// Writes the page into the file that is named. Where neither a file nor charts are named, it
/// writes a new file of this name, and prints it.
fn write_page(args: &ReportArgs, name: &str, html: impl FnOnce() -> String) -> Result<()> {
    match &args.output {
        Some(path) if path.as_os_str() == "-" => {
            console::stdout().write_all(html().as_bytes())?;
        }
        Some(path) => {
            write(path, &html()).with_context(|| format!("-o {}", path.display()))?;
        }
        None if args.svg.is_some() => {}
        None => writeln!(console::stdout(), "{}", write_new(name, &html())?)?,
    }
    Ok(())
}

/// More runs are counted in the name of a file.
const NAMED_MAX: usize = 3;

fn name(shown: &[(Run, Analysis)]) -> String {
    let ids: Vec<&str> = shown.iter().take(NAMED_MAX).map(|(run, _)| run.id.as_str()).collect();
    let more = match shown.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        n => format!("-and-{n}-more"),
    };
    format!("bytelab-run-{}{more}", ids.join("-"))
}

/// Writes a file into the current directory whose name no other file has, and returns the name.
fn write_new(name: &str, text: &str) -> Result<String> {
    let mut path = format!("{name}.html");
    let mut n = 1;
    loop {
        let is_free = Path::new(&path).symlink_metadata().is_err();
        let file = is_free.then(|| AtomicFile::create_new(Path::new(&path))).transpose();
        if let Some(file) = file.with_context(|| path.clone())?.flatten() {
            file.file().write_all(text.as_bytes()).with_context(|| path.clone())?;
            file.finish().with_context(|| path.clone())?;
            return Ok(path);
        }
        n += 1;
        path = format!("{name}-{n}.html");
    }
}

fn load(ids: &[String], store: &mut dyn Store) -> Result<Vec<(Run, Analysis)>> {
    let mut shown: Vec<(Run, Analysis)> = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        ensure!(!ids[..at].contains(id), "run {id} is named twice");
        let run = load_run(store, id)?;
        ensure_same_experiment(&shown, &run, id)?;
        let analysis = analyze(&run);
        shown.push((run, analysis));
    }
    Ok(shown)
}

pub(super) fn ensure_same_experiment(shown: &[(Run, Analysis)], run: &Run, id: &str) -> Result<()> {
    let Some((first, _)) = shown.first() else { return Ok(()) };
    ensure!(
        first.experiment == run.experiment,
        "run {id} is one of {}, run {} of {}: a report shows one experiment",
        run.experiment,
        first.id,
        first.experiment
    );
    Ok(())
}

pub(super) fn write_svg(dir: &Path, files: &[(String, String)]) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    for (name, svg) in files {
        write(&dir.join(name), svg).context(name.clone())?;
    }
    note(&listed(dir, files))?;
    Ok(())
}

/// What the files show, by the start of their names.
const KINDS: [(&str, &str); 6] = [
    ("ratio", "the comparison"),
    ("box", "quartiles"),
    ("ecdf", "distribution"),
    ("order", "over time"),
    ("line", "by param"),
    ("numbers", "all rows"),
];

/// `fig/ratio.svg (the comparison), box.svg (quartiles) and 3 more`.
fn listed(dir: &Path, files: &[(String, String)]) -> String {
    let kind = |name: &str| {
        let known = |(start, _): &(&str, &str)| {
            name.strip_prefix(*start).is_some_and(|rest| rest.starts_with(['.', '-']))
        };
        KINDS.iter().position(known).unwrap_or(KINDS.len())
    };
    let mut names: Vec<(usize, &str)> = Vec::new();
    for (name, _) in files {
        let kind = kind(name);
        if names.iter().all(|(known, _)| *known != kind) {
            names.push((kind, name));
        }
    }
    names.sort_by_key(|(kind, _)| *kind);
    let text = |(kind, name): &(usize, &str)| {
        let about = KINDS.get(*kind).map_or(String::new(), |(_, about)| format!(" ({about})"));
        format!("{name}{about}")
    };
    let shown = names.iter().map(text).collect::<Vec<_>>().join(", ");
    let more = match files.len() - names.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{}/{shown}{more}", dir.display())
}

pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    atomic_file::write(path, |mut file| Ok(file.write_all(text.as_bytes())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_listed_with_what_they_show() {
        let check = |names: &[&str], expected: &str| {
            let files = names.iter().map(|name| ((*name).to_owned(), String::new()));
            assert_eq!(listed(Path::new("fig"), &files.collect::<Vec<_>>()), expected);
        };
        check(
            &["ecdf.svg", "box.svg", "order.svg", "ratio.svg"],
            "fig/ratio.svg (the comparison), box.svg (quartiles), ecdf.svg (distribution), \
             order.svg (over time)",
        );
        check(&["ratio-a.svg", "ratio-b.svg"], "fig/ratio-a.svg (the comparison) and 1 more");
        check(&["cpu-1.svg"], "fig/cpu-1.svg");
    }
}
