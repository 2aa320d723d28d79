//! Takes samples to the store, the display of the progress, and the file of the timeline; and finds
//! which commit of which project is measured.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

use analysis::analyze;
use analysis::stats::LOOKS;
use anyhow::{Context, Result};
use experiments::workers::ToolchainVersion;
use measure::clock;
use measure::experiment::Data;
use measure::launch::{HOOK, Orphans, Stop};
use measure::profile::profile;
use measure::timeline::{Timeline, trace};
use measure::{MeasureJob, Record, RunProgress, at_most_ns, measure};
use model::numbers::{self, NumbersRow};
use model::run::{Cell, Design, INTERRUPTED, Pass, Plan, ProjectCommit, Run, Status, Warning};
use serde_json::Value;
use store::{LOCK_LIMIT, LocalStore, Locked, Store, TOOK};
use tools::atomic_file::AtomicFile;

use super::plan::built_in;
use super::prepare::{PreparedRun, prepare_run};
use super::progress::{ProgressDisplay, ProgressMode};
use super::run_lock;
use crate::console;
use crate::git::{PendingDescription, head};
use crate::redaction::Redaction;

/// How long the end of a run waits for a locked store before it prints a message.
const SHORT: Duration = Duration::from_millis(10);

/// A run, and whether everything that it created was removed.
pub(crate) struct RunOutcome {
    pub(crate) run: Run,
    pub(crate) cleaned_up: bool,
}

/// The destinations of the results.
pub(super) struct RunOutput {
    pub(super) store: Option<LocalStore>,
    pub(super) trace: Option<FlagFile>,
    pub(super) why: Option<WhyOutput>,
    pub(super) shown: ProgressMode,
    /// Whether a method that fails ends the run with an error.
    pub(super) needs_all: bool,
    /// Facts about a new run that are known before it begins.
    pub(super) facts: BTreeMap<String, Value>,
}

/// The error of a run that needs all of its methods.
#[derive(Debug)]
pub(crate) struct MethodFailed {
    method: String,
    status: Status,
}

impl MethodFailed {
    /// Whether it, or one of its hooks, was started: otherwise it is not installed.
    pub(crate) fn was_started(&self) -> bool {
        matches!(self.status, Status::Failed(_))
    }

    /// Whether one of its hooks failed, and not the command.
    pub(crate) fn is_of_hook(&self) -> bool {
        self.status.reason().is_some_and(|reason| reason.starts_with(HOOK))
    }
}

impl fmt::Display for MethodFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.status.reason().unwrap_or_default();
        // It may begin with the name of the program.
        match reason.strip_prefix(&*self.method) {
            Some(rest) if rest.starts_with(' ') => f.write_str(reason),
            _ => write!(f, "{}: {reason}", self.method),
        }
    }
}

impl std::error::Error for MethodFailed {}

/// Prepares what is decided, measures it, and stores each sample. The result includes whether
/// everything that was created was removed.
pub(super) fn record(
    job: MeasureJob<'_>,
    run: Run,
    output: RunOutput,
    stop: &Stop,
) -> Result<RunOutcome> {
    let RunOutput { mut store, trace: file, why, shown, needs_all, facts } = output;
    let display = ProgressDisplay::new(shown);
    let orphans = Orphans::adopt();
    let mut prepared = prepare_run(job, run, Some(&orphans), &display, stop)?;
    if !prepared.run.id.is_empty() {
        take_over(&mut prepared.run, store.as_mut())?;
    }
    // Git works while the machine is looked at. What came before may have changed files.
    let project = prepared.run.id.is_empty().then(|| PendingProject::start(stop)).flatten();
    let mut launcher = prepared.launcher(stop)?;
    let PreparedRun { job, mut run, data, toolchains } = prepared;
    let text = at_most(&job, &run.plan, run.cells.len());
    let _ = console::message(&format!("bytelab: {text}"));
    let before = store::took_ns(&run.environment);
    let mut recorder = Recorder {
        store,
        display,
        toolchains,
        project,
        is_locked: false,
        lock_limit: LOCK_LIMIT,
        needs_all,
        facts,
        started_ns: clock::now_ns(),
        took_before_ns: before.unwrap_or_default(),
        took_ns: None,
        took_of_rows: took_of_rows(&run),
    };
    if !run.id.is_empty() {
        recorder.set_lock_limit(SHORT)?;
    }
    let mut measured = measure(&job, &mut run, &data, &mut launcher, &mut recorder, stop);
    if measured.is_ok()
        && run.complete
        && let Some(file) = file
    {
        measured =
            trace(&job, &mut run, &data, &mut launcher, &mut recorder, stop).and_then(|timeline| {
                timeline.map_or(Ok(()), |timeline| file.write_timeline(&timeline))
            });
    }
    if measured.is_ok()
        && run.complete
        && let Some(why) = why
    {
        measured = profile(&job, &mut run, &data, &mut launcher, &mut recorder, stop)
            .and_then(|()| why.file.map_or(Ok(()), |file| file.write_profile(&run)));
    }
    recorder.display.clear();
    if measured.as_ref().is_err_and(anyhow::Error::is::<MethodFailed>) {
        recorder.forget_if_empty(&run)?;
    }
    let left = end(data);
    let cleaned_up = left.is_empty();
    if !cleaned_up && measured.is_ok() {
        run.notes.extend(left);
        recorder.finish(&run)?;
    }
    let took = recorder.took_ns.map(|took_ns| (TOOK.to_owned(), took_ns.into()));
    run.environment.facts.extend(took);
    run.environment.facts.extend(recorder.facts_of_rows());
    run.notes.extend(recorder.is_locked.then(still_locked));
    if measured.is_ok() && run.complete && !recorder.is_locked {
        recorder.push(&run.id);
    }
    measured.map(|()| RunOutcome { run, cleaned_up })
}

/// The run is in a file beside the store.
fn still_locked() -> Warning {
    Warning::noted(
        "another program keeps the store locked: the complete run is in a file beside the store, \
         and the next command that opens the store adds it",
    )
}

/// Marks a stored run as measured by this process from now on.
fn take_over(run: &mut Run, store: Option<&mut LocalStore>) -> Result<()> {
    run_lock::claim(&mut run.environment);
    store.map_or(Ok(()), |store| store.sqlite.finish(&run.id, false, &run.environment, &run.notes))
}

/// Describes what is measured and the time limit. The duration of a round is known only after the
/// first rounds.
pub(super) fn at_most(job: &MeasureJob<'_>, plan: &Plan, cells: usize) -> String {
    // Of `numbers`, the rows of its table are counted.
    let (n, noun) = match job.experiment.name {
        numbers::EXPERIMENT => (cells, "row"),
        _ => (job.methods.len(), "method"),
    };
    let methods = format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let [seconds, in_all] =
        [plan.time_limit_ns, at_most_ns(plan)].map(|ns| ns.div_ceil(1_000_000_000));
    let experiment = job.experiment.name;
    if plan.time_limit_ns == Plan::NO_TIME_LIMIT_NS {
        let Plan { sessions, rounds, .. } = plan;
        let rounds = if *rounds == 1 { "a round".to_owned() } else { format!("{rounds} rounds") };
        let sessions =
            if *sessions == 1 { "a session".to_owned() } else { format!("{sessions} sessions") };
        return format!(
            "measuring {methods} of {experiment}: {sessions} of {rounds}, whatever time that takes"
        );
    }
    let until = if plan.design.is_fixed() { "" } else { "until all is decided, " };
    let longer = match plan {
        Plan { limits_all: true, .. } => String::new(),
        Plan { design: Design::Fixed, sessions, .. } if (*sessions as usize) < LOOKS[0] => {
            format!(" of rounds ({in_all} s in all), or its first rounds if these take longer")
        }
        _ => format!(" of rounds ({in_all} s in all), or as long as a first verdict takes"),
    };
    format!("measuring {methods} of {experiment}: {until}at most {seconds} s{longer}")
}

/// How long a run of `numbers` that is resumed has already measured the rows of each experiment.
fn took_of_rows(run: &Run) -> BTreeMap<&'static str, u64> {
    let took = |row: &NumbersRow| {
        let took_ns = run.environment.facts.get(&numbers::took_fact(row.experiment))?.as_u64()?;
        Some((row.experiment, took_ns))
    };
    numbers::ROWS.iter().filter_map(took).collect()
}

/// The errors of removing the data, each one once.
fn end(data: Vec<Data>) -> Vec<Warning> {
    let mut left: Vec<Warning> = Vec::new();
    for mut data in data {
        if let Err(error) = data.ending.end() {
            let warning = Warning::noted(format!("{error:#}"));
            if !left.contains(&warning) {
                left.push(warning);
            }
        }
    }
    left
}

/// Passes the growing run to the store and the display of the progress.
struct Recorder {
    store: Option<LocalStore>,
    display: ProgressDisplay,
    /// The tools with which the run's workers were built.
    toolchains: Vec<ToolchainVersion>,
    /// The project of a new run that has not begun.
    project: Option<PendingProject>,
    /// Whether another program kept the store locked until the end.
    is_locked: bool,
    /// How long the end of the run waits for the store.
    lock_limit: Duration,
    needs_all: bool,
    /// Facts about the run that were known before it began.
    facts: BTreeMap<String, Value>,
    /// When this process began to measure.
    started_ns: u64,
    /// How long earlier processes measured the run.
    took_before_ns: u64,
    /// How long the run was measured until it was stored last.
    took_ns: Option<u64>,
    /// In a run of `numbers`, the time of the rows of each experiment.
    took_of_rows: BTreeMap<&'static str, u64>,
}

impl Recorder {
    /// Removes a run that has no sample to show.
    fn forget_if_empty(&mut self, run: &Run) -> Result<()> {
        match &mut self.store {
            Some(store) if run.cells.iter().all(|cell| cell.n(Pass::Timing) == 0) => {
                store.sqlite.delete(&run.id)
            }
            _ => Ok(()),
        }
    }

    /// Pushes a run that has ended. One that cannot be pushed now waits for `bytelab push`.
    fn push(&mut self, id: &str) {
        let Some(store) = &mut self.store else { return };
        let said = store.push(id, &clock::utc_rfc3339(), redacted).unwrap_or_else(|error| {
            vec![format!("run {id} waits, and the next `bytelab push` sends it: {error:#}")]
        });
        for line in said {
            let _ = writeln!(console::stderr(), "bytelab: {}", report::escape_controls(&line));
        }
    }

    fn facts_of_rows(&self) -> impl Iterator<Item = (String, Value)> {
        let took = self.took_of_rows.iter();
        took.map(|(experiment, ns)| (numbers::took_fact(experiment), Value::from(*ns)))
    }

    fn set_lock_limit(&mut self, limit: Duration) -> Result<()> {
        self.store.as_mut().map_or(Ok(()), |store| store.sqlite.set_lock_limit(limit))
    }

    /// Stores the end of the run, unless the store is locked.
    fn try_finish(&mut self, run: &Run) -> Result<()> {
        let took_ns = self.took_before_ns + (clock::now_ns() - self.started_ns);
        self.took_ns = Some(took_ns);
        let mut environment = run.environment.clone();
        environment.facts.insert(TOOK.to_owned(), took_ns.into());
        environment.facts.extend(self.facts_of_rows());
        let Some(store) = &mut self.store else { return Ok(()) };
        let ended = store.sqlite.finish(&run.id, run.complete, &environment, &run.notes);
        self.is_locked = ended.as_ref().is_err_and(anyhow::Error::is::<Locked>);
        if self.is_locked { Ok(()) } else { ended }
    }
}

/// The run as a server gets it.
fn redacted(run: Run) -> Result<Run> {
    let own = built_in(&run);
    Ok(Redaction::named(None, false)?.apply(run, own.as_ref()))
}

impl Record for Recorder {
    fn begin(&mut self, run: &mut Run) -> Result<()> {
        run_lock::claim(&mut run.environment);
        let facts = &mut run.environment.facts;
        let of_workers = self.toolchains.iter().flat_map(ToolchainVersion::facts);
        facts.extend(of_workers.map(|(fact, value)| (fact, value.into())));
        facts.append(&mut self.facts);
        run.uuid = store::uuid_of(&run.started);
        run.id = match &mut self.store {
            Some(store) => store.begin(run)?,
            None => "not stored".to_owned(),
        };
        if let Some(project) = self.project.take() {
            run.environment.facts.extend(project.facts());
            if let Some(store) = &mut self.store {
                store.sqlite.put_state(&run.id, false, &run.environment, &run.notes)?;
            }
        }
        self.set_lock_limit(SHORT)
    }

    fn cell(&mut self, run: &Run, cell: usize) -> Result<()> {
        if let Some(store) = &mut self.store {
            store.sqlite.put_cell(&run.id, cell, &run.cells[cell])?;
        }
        let Cell { method, status, .. } = &run.cells[cell];
        if !self.needs_all || *status == Status::Measured {
            return Ok(());
        }
        Err(MethodFailed { method: method.clone(), status: status.clone() }.into())
    }

    fn sample(&mut self, run: &Run, cell: usize) -> Result<()> {
        let last = run.cells[cell].samples.len().saturating_sub(1);
        match (&mut self.store, run.cells[cell].nth(last)) {
            (Some(store), Some((sample, values))) => {
                store.sqlite.append(&run.id, cell, sample, &values)
            }
            _ => Ok(()),
        }
    }

    fn took(&mut self, run: &Run, cell: usize, ns: u64) {
        if run.experiment != numbers::EXPERIMENT {
            return;
        }
        let row = run.cells[cell].point.text("row").ok().and_then(numbers::row);
        if let Some(row) = row {
            *self.took_of_rows.entry(row.experiment).or_default() += ns;
        }
    }

    fn discard_session(&mut self, run: &Run, session: u32) -> Result<()> {
        let store = self.store.as_mut();
        store.map_or(Ok(()), |store| store.sqlite.set_aside(&run.id, session, INTERRUPTED))
    }

    fn plan_changed(&mut self, run: &Run) -> Result<()> {
        self.store.as_mut().map_or(Ok(()), |store| store.sqlite.put_plan(&run.id, &run.plan))
    }

    fn progress(&mut self, run: &Run, progress: &RunProgress<'_>) {
        self.display.show(run, progress);
    }

    fn finish(&mut self, run: &Run) -> Result<()> {
        self.try_finish(run)?;
        if !self.is_locked {
            return Ok(());
        }
        self.display.clear();
        let seconds = self.lock_limit.as_secs();
        let waiting =
            format!("another program keeps the store locked; waiting for it up to {seconds} s");
        let _ = writeln!(console::stderr(), "bytelab: {waiting}");
        self.set_lock_limit(self.lock_limit)?;
        self.try_finish(run)?;
        self.set_lock_limit(SHORT)
    }
}

/// The file of `--trace` or `--why`: it is opened before anything is measured, to find out whether
/// it can be written, and it appears complete or not at all.
pub(super) struct FlagFile {
    flag: &'static str,
    name: PathBuf,
    file: AtomicFile,
}

impl FlagFile {
    pub(super) fn create(flag: &'static str, name: &Path) -> Result<FlagFile> {
        let file = AtomicFile::create(name)
            .with_context(|| format!("{flag} {}: cannot be written", name.display()))?;
        Ok(FlagFile { flag, name: name.to_owned(), file })
    }

    fn write(self, content: impl FnOnce(BufWriter<&File>) -> Result<()>) -> Result<()> {
        let FlagFile { flag, name, file } = self;
        content(BufWriter::new(file.file()))
            .and_then(|()| file.finish())
            .with_context(|| format!("{flag} {}", name.display()))
    }

    fn write_timeline(self, timeline: &Timeline) -> Result<()> {
        self.write(|out| Ok(timeline.write(out)?))
    }

    /// Without a profile there is no picture, and no file.
    fn write_profile(self, run: &Run) -> Result<()> {
        let Some(svg) = report::flame_graph(run, &analyze(run)) else {
            return Ok(console::message(
                "bytelab: no flame graph was drawn: nothing was profiled",
            )?);
        };
        self.write(|mut out| {
            out.write_all(svg.as_bytes())?;
            Ok(out.flush()?)
        })
    }
}

/// A profile after all samples: `--why`.
#[derive(Default)]
pub(crate) struct WhyOutput {
    /// The file of its flame graph.
    file: Option<FlagFile>,
}

impl WhyOutput {
    /// The value of the flag: a file, or nothing.
    pub(crate) fn new(value: &str) -> Result<WhyOutput> {
        let is_file = !value.is_empty();
        let file = is_file.then(|| FlagFile::create("--why", Path::new(value))).transpose()?;
        Ok(WhyOutput { file })
    }
}

// The project that is measured: the repository of git in which the current directory is.

/// Git is asked about the tree before each run, which must not wait for a large one.
const GIT_LIMIT_NS: u64 = 1_000_000_000;

/// The commit that is checked out here, and the calls of git that describe it and its tree.
struct PendingProject {
    commit: ProjectCommit,
    description: PendingDescription,
}

impl PendingProject {
    fn start(stop: &Stop) -> Option<PendingProject> {
        let git = git_of(&std::env::current_dir().ok()?)?;
        // Reading the files takes no time; git knows formats that are not read.
        let commit = commit(&git).or_else(|| head(".", GIT_LIMIT_NS, stop))?;
        let description = PendingDescription::start(&commit, ".", GIT_LIMIT_NS, stop);
        Some(PendingProject { commit, description })
    }

    /// Waits for git.
    fn facts(mut self) -> BTreeMap<String, Value> {
        self.description.add_to(&mut self.commit);
        self.commit.facts()
    }
}

/// The folder of git of this directory or of one above it.
fn git_of(directory: &Path) -> Option<PathBuf> {
    let git = directory.ancestors().map(|above| above.join(".git")).find(|git| git.exists())?;
    if git.is_file() { of_worktree(&git) } else { Some(git) }
}

/// The commit that is checked out, and its branch, where its files tell it.
fn commit(git: &Path) -> Option<ProjectCommit> {
    let head = read(&git.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else {
        return is_commit(&head).then(|| ProjectCommit { commit: head, ..Default::default() });
    };
    // The branches of a further worktree are in the main one.
    let common = read(&git.join("commondir")).map_or_else(|| git.to_owned(), |dir| git.join(dir));
    let found = read(&git.join(name)).or_else(|| read(&common.join(name)));
    let found = found.or_else(|| {
        let packed = fs::read_to_string(common.join("packed-refs")).ok()?;
        let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(_, known)| *known == name).map(|(commit, _)| commit.to_owned())
    });
    let commit = found.filter(|commit| is_commit(commit))?;
    let branch = name.strip_prefix("refs/heads/").map(str::to_owned);
    Some(ProjectCommit { commit, branch, ..ProjectCommit::default() })
}

/// A further worktree has a file that names its directory.
fn of_worktree(file: &Path) -> Option<PathBuf> {
    let named = PathBuf::from(read(file)?.strip_prefix("gitdir: ")?);
    Some(file.parent()?.join(named))
}

fn read(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use model::param::Point;
    use model::run::{Role, SCHEMA, Sample};

    use super::*;

    fn new_run() -> Run {
        let cell = Cell {
            method: "read".to_owned(),
            about: String::new(),
            role: Role::Contender,
            language: None,
            point: Point::default(),
            status: Status::Measured,
            digest: None,
            syscalls_by_name: None,
            samples: Vec::new(),
            values: BTreeMap::new(),
        };
        Run {
            schema: SCHEMA,
            experiment: "locked".to_owned(),
            started: "2026-01-02T03:04:05Z".to_owned(),
            points: vec![Point::default()],
            cells: vec![cell],
            ..Run::default()
        }
    }

    #[test]
    fn what_a_locked_store_does_not_take_is_kept_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runs.sqlite");
        let store = Some(LocalStore::open(Some(path.clone().into()), None).unwrap());
        let mut recorder = Recorder {
            store,
            display: ProgressDisplay::new(ProgressMode::Nothing),
            toolchains: Vec::new(),
            project: None,
            is_locked: false,
            lock_limit: Duration::ZERO,
            needs_all: false,
            facts: BTreeMap::new(),
            started_ns: clock::now_ns(),
            took_before_ns: 0,
            took_ns: None,
            took_of_rows: BTreeMap::new(),
        };
        let mut run = new_run();
        recorder.begin(&mut run).unwrap();
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        for round in 0..3 {
            let sample = Sample { round, ops: 1, ..Sample::default() };
            run.cells[0].push(sample, &[("wall_ns", f64::from(round) / 3.0)]);
            recorder.sample(&run, 0).unwrap();
        }
        run.complete = true;
        recorder.finish(&run).unwrap();
        assert!(recorder.is_locked);
        // The process ends while the store is still locked, and another one looks.
        drop(recorder);
        let check = || {
            let kept = store::open(Some(path.clone().into())).unwrap().load(&run.id).unwrap();
            assert!(kept.complete);
            assert_eq!(kept.cells[0].samples, run.cells[0].samples);
            assert_eq!(kept.cells[0].values, run.cells[0].values);
            std::fs::read_dir(directory.path())
                .unwrap()
                .any(|entry| entry.unwrap().file_name().to_string_lossy().contains("-run-"))
        };
        assert!(check(), "the journal is read");
        other.execute_batch("ROLLBACK").unwrap();
        assert!(!check(), "the journal is folded");
    }
}

#[cfg(test)]
mod project_tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn check(directory: &Path, expected: Option<(&str, Option<&str>)>) {
        let found = git_of(directory).and_then(|git| commit(&git));
        let found = found.as_ref().map(|found| (&*found.commit, found.branch.as_deref()));
        assert_eq!(found, expected);
    }

    #[test]
    fn the_commit_is_found_wherever_git_keeps_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let below = root.join("src/deep");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir_all(root.join(".git/refs/heads/a")).unwrap();
        let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        write(".git/HEAD", "ref: refs/heads/a/main\n");
        check(&below, None);
        write(".git/packed-refs", &format!("# pack-refs\n{B} refs/heads/a/main\n"));
        check(&below, Some((B, Some("a/main"))));
        write(".git/refs/heads/a/main", &format!("{A}\n"));
        check(&below, Some((A, Some("a/main"))));
        write(".git/HEAD", &format!("{B}\n"));
        check(root, Some((B, None)));
        write(".git/HEAD", "odd");
        check(root, None);
    }

    #[test]
    fn a_further_worktree_has_its_own_commit() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let own = root.join("main/.git/worktrees/other");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(root.join("main/.git/refs/heads")).unwrap();
        fs::create_dir(root.join("other")).unwrap();
        fs::write(root.join("other/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/topic\n").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(root.join("main/.git/refs/heads/topic"), A).unwrap();
        check(&root.join("other"), Some((A, Some("topic"))));
    }
}
