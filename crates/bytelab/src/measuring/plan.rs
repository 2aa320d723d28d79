//! The request for a run, which methods take part, how much is measured, with which seed, and where
//! the data is kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analysis::stats::LOOKS;
use anyhow::{Context, Error, Result, bail, ensure};
use experiments::workers::{self, Languages};
use measure::clock;
use measure::experiment::{Execution, Experiment, Method};
use measure::launch::can_limit_memory;
use model::param::Point;
use model::path_text::from_path;
use model::pattern::{closest, matches};
use model::run::OLD_SUFFIX;
use model::run::{CacheState, Definition, Design, Plan, Role, Run, Warning};
use serde_json::Value;
use store::Server;

use super::progress::ProgressMode;

/// The number of rounds of a fixed design if the request gives none.
const ROUNDS: u32 = 100;
/// The number of sessions if the request gives none; Student's interval needs at least these.
const LEAST_SESSIONS: u32 = 6;
/// Processes differ less than rounds do, and starting a session costs several rounds.
const ROUNDS_PER_SESSION: u32 = 5;
/// More sessions change no verdict of a sequential design.
const LAST_LOOK: u32 = LOOKS[LOOKS.len() - 1] as u32;

/// The plan of a new run.
pub(crate) fn plan(request: &RunRequest) -> Result<Plan> {
    if let Some(limit_bytes) = request.memory_limit_bytes {
        can_limit_memory(limit_bytes).map_err(Error::msg)?;
    }
    let data_dir = data_dir_text(request.data_dir.clone())?;
    let design = design(request);
    if let (Some(least), Some(most)) = (request.min_sessions, request.max_sessions) {
        ensure!(least <= most, "--min-sessions {least} is more than --max-sessions {most}");
    }
    ensure!(
        !request.until_decided || !design.is_fixed(),
        "--until-decided: this run has a fixed number of rounds, or thresholds"
    );
    let (sessions, rounds) = match design {
        Design::Fixed => sessions(request.rounds.unwrap_or(ROUNDS), request.sessions),
        Design::Sequential => {
            let most = request.max_sessions.unwrap_or(LAST_LOOK);
            let least = request.min_sessions.unwrap_or(1);
            (most.clamp(1, LAST_LOOK).max(least), ROUNDS_PER_SESSION)
        }
    };
    Ok(Plan {
        rounds,
        time_limit_ns: time_limit_ns(request),
        limits_all: matches!(request.time, TimeLimit::All(_)),
        warm_up: request.warm_up,
        sessions,
        design,
        seed: request.seed.unwrap_or_else(seed),
        cache: request.cache,
        memory_limit_bytes: request.memory_limit_bytes,
        medium: request.medium.clone(),
        sample_limit_ns: request.sample_limit.map_or(Plan::NO_TIME_LIMIT_NS, limit_ns),
        data_dir: Some(data_dir),
        counting: request.counting,
        fresh: request.fresh,
        definition: request.definition.clone(),
        margin_percent: request.margin_percent,
        ..Plan::default()
    })
}

/// A run that goes on until it is decided takes at most this multiple of its time.
const TIMES_UNTIL_DECIDED: u32 = 10;

fn time_limit_ns(request: &RunRequest) -> u64 {
    let limit = match request.time {
        TimeLimit::Unlimited => return Plan::NO_TIME_LIMIT_NS,
        TimeLimit::Rounds(limit) | TimeLimit::All(limit) => limit,
    };
    let times = if request.until_decided { TIMES_UNTIL_DECIDED } else { 1 };
    limit_ns(limit.saturating_mul(times))
}

fn limit_ns(limit: Duration) -> u64 {
    u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).min(Plan::NO_TIME_LIMIT_NS)
}

/// The design of the run. If the number of rounds or sessions is given, and with a threshold or a
/// timeline, every method takes part in all rounds.
fn design(request: &RunRequest) -> Design {
    let has_thresholds =
        request.definition.as_ref().is_some_and(|file| !file.thresholds.is_empty());
    let is_fixed = request.rounds.is_some()
        || request.sessions.is_some()
        || request.trace.is_some()
        || has_thresholds;
    if is_fixed { Design::Fixed } else { Design::Sequential }
}

/// The plan by which a run is measured again: all methods in all sessions.
pub(super) fn fixed(plan: Plan) -> Plan {
    // A verdict matters more than the time.
    let plan = Plan { limits_all: false, ..plan };
    match plan.design {
        Design::Fixed => plan,
        Design::Sequential => {
            let (sessions, rounds) = sessions(ROUNDS, None);
            Plan { design: Design::Fixed, sessions, rounds, ..plan }
        }
    }
}

/// The number of sessions, and of rounds in each, over which `rounds` are distributed. Sessions are
/// short and numerous, as the session is the unit of all comparisons, of which at least six are
/// needed.
fn sessions(rounds: u32, sessions: Option<u32>) -> (u32, u32) {
    let rounds = rounds.max(1);
    if let Some(sessions) = sessions {
        let sessions = sessions.clamp(1, rounds);
        return (sessions, rounds.div_ceil(sessions));
    }
    let most = (rounds / LEAST_SESSIONS).clamp(1, ROUNDS_PER_SESSION);
    let of_each = (2..=most).rev().find(|n| rounds.is_multiple_of(*n)).unwrap_or(most);
    (rounds.div_ceil(of_each), of_each)
}

/// The seed is not a secret; it only differs between runs. It is stored as a number that JSON
/// represents exactly.
pub(crate) fn seed() -> u64 {
    clock::now_ns() & ((1 << 53) - 1)
}

pub(super) fn data_dir_text(requested: Option<PathBuf>) -> Result<String> {
    Ok(from_path(&data_dir(requested)?).into_owned())
}

/// Where data and workers are kept if the user names no directory; it may not exist.
pub(crate) fn cache_dir() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").map(|cache| cache.join("bytelab"));
    cache.or_else(|| absolute("HOME").map(|home| home.join(".cache/bytelab")))
}

/// The value of `--data-dir`, else the user's cache directory.
fn data_dir(requested: Option<PathBuf>) -> Result<PathBuf> {
    let dir = requested.or_else(cache_dir).context(
        "no place for the data: neither HOME nor XDG_CACHE_HOME is set; name one with --data-dir",
    )?;
    std::fs::create_dir_all(&dir).with_context(|| {
        format!("making {}; name another directory with --data-dir", dir.display())
    })?;
    std::path::absolute(&dir).with_context(|| format!("finding {}", Path::display(&dir)))
}

/// The request for a run, made by `bytelab run`, `numbers` or `check`.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct RunRequest {
    /// The name of the experiment, also for one in a file.
    pub(crate) experiment: String,
    pub(crate) points: Vec<Point>,
    /// The definition of an experiment in a file.
    pub(crate) definition: Option<Definition>,
    /// The names of the methods that take part, in which `*` stands for any text. If neither
    /// methods nor languages are named, the default ones do.
    pub(crate) methods: Vec<String>,
    pub(crate) languages: Vec<String>,
    pub(crate) reference: Option<String>,
    /// The levels of the optimiser at which workers are built, each in place of the usual one.
    pub(crate) levels: Vec<String>,
    /// `NAME=COMMAND` for the user's own programs.
    pub(crate) workers: Vec<String>,
    /// The maximum number of rounds, of all sessions together. `None`: as many as the verdicts
    /// need.
    pub(crate) rounds: Option<u32>,
    pub(crate) time: TimeLimit,
    /// Whether a run without a number of rounds may go on past its time.
    pub(crate) until_decided: bool,
    /// The difference, in percent, up to which two methods are the same.
    pub(crate) margin_percent: Option<f64>,
    pub(crate) warm_up: u32,
    /// `None`: as many as the rounds need.
    pub(crate) sessions: Option<u32>,
    /// Before this number of sessions neither a decision nor the time ends the run.
    pub(crate) min_sessions: Option<u32>,
    /// The maximum of sessions if nothing says how many there are.
    pub(crate) max_sessions: Option<u32>,
    pub(crate) seed: Option<u64>,
    pub(crate) cache: CacheState,
    /// The limit of the control group of each method.
    pub(crate) memory_limit_bytes: Option<u64>,
    /// The slow medium that the files are on.
    pub(crate) medium: Option<String>,
    /// `None`: a sample takes as long as it takes.
    pub(crate) sample_limit: Option<Duration>,
    /// Samples per method in which system calls and other events are counted.
    pub(crate) counting: u32,
    /// Every sample in a new process.
    pub(crate) fresh: bool,
    /// The first method that fails, or that is not installed, ends the run with an error.
    pub(crate) needs_all: bool,
    /// The file to which the timeline of one additional round is written.
    pub(crate) trace: Option<PathBuf>,
    /// Whether the methods are profiled after all samples: the file of a flame graph, or nothing.
    pub(crate) why: Option<String>,
    pub(crate) label: Option<String>,
    /// Facts about the run that are known before it begins.
    pub(crate) facts: BTreeMap<String, Value>,
    pub(crate) notes: Vec<Warning>,
    pub(crate) data_dir: Option<PathBuf>,
    /// Whether the run is stored.
    pub(crate) keep: bool,
    /// The server to which the run is pushed when it has ended, if the store names none.
    pub(crate) push_to: Option<Server>,
    /// The progress on standard error.
    pub(crate) shown: ProgressMode,
}

/// How long a run may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TimeLimit {
    /// No limit: the number of rounds decides.
    #[default]
    Unlimited,
    /// This time for its rounds, and three times as long in all.
    Rounds(Duration),
    /// This time for all of it.
    All(Duration),
}

// Selects the methods that take part.

/// The named methods or the default ones, the user's workers, and the reference first.
pub(crate) fn choose(experiment: &Experiment, request: &RunRequest) -> Result<Vec<Method>> {
    let mut methods: Vec<Method> = Vec::new();
    for worker in &request.workers {
        let worker = user_worker(experiment, worker)?;
        ensure!(
            methods.iter().all(|method| method.name != worker.name),
            "--worker {}: the name is given twice",
            worker.name
        );
        methods.push(worker);
    }
    let known = || experiment.methods.iter().map(|method| method.name.as_str());
    for pattern in &request.methods {
        ensure!(
            experiment.methods.iter().any(|method| matches(pattern, &method.name)),
            "there is no method {pattern}{}; {} has {}",
            closest(pattern, known())
                .map(|name| format!(" (did you mean {name}?)"))
                .unwrap_or_default(),
            experiment.name,
            known().collect::<Vec<_>>().join(", ")
        );
    }
    let languages = Languages::selected(&experiment.methods, &request.languages)?;
    let ours = chosen(experiment, &request.methods, languages.as_ref());
    let ours = workers::at_levels(ours, &request.levels)?;
    methods.splice(0..0, ours);
    if methods.is_empty()
        && let Some(left_out) = workers::left_out(experiment.methods.iter())
    {
        bail!("{left_out}; `bytelab list {}` says what to install", experiment.name);
    }
    ensure!(
        methods.iter().any(|method| method.role == Role::Contender),
        "only yardsticks are chosen; name a method that competes, too"
    );
    if let Some(name) = &request.reference {
        let reference = methods.iter().position(|m| m.name == *name && m.role == Role::Contender);
        let reference = reference.with_context(|| {
            format!("--reference {name}: not one of the methods that compete in this run")
        })?;
        let reference = methods.remove(reference);
        methods.insert(0, reference);
    }
    Ok(methods)
}

/// The default methods, or those of these names and languages. A name that is none of these
/// languages' is that of a method beside theirs: `-m cat --language haskell`.
fn chosen(
    experiment: &Experiment,
    names: &[String],
    languages: Option<&Languages<'_>>,
) -> Vec<Method> {
    let has = |method: &Method| languages.is_none_or(|languages| languages.have(method));
    let (within, beside): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| {
        experiment.methods.iter().any(|method| matches(name, &method.name) && has(method))
    });
    let is_one =
        |names: &[&String], method: &Method| names.iter().any(|name| matches(name, &method.name));
    let is_chosen = |method: &&Method| match (within.as_slice(), languages) {
        ([], None) => method.default && workers::is_here(method),
        ([], Some(_)) => has(method) || is_one(&beside, method),
        (within, _) => is_one(within, method) && has(method) || is_one(&beside, method),
    };
    experiment.methods.iter().filter(is_chosen).cloned().collect()
}

/// Removes the methods that compete at none of the points, so that no workers are built for them. A
/// note is added for those that the user named; a method that only matches a pattern may well be
/// for another job.
pub(super) fn leave_out(
    experiment: &Experiment,
    methods: &mut Vec<Method>,
    points: &[Point],
    request: &RunRequest,
) -> Result<Vec<Warning>> {
    let competes = |method: &Method| points.iter().any(|point| method.competes_at(point));
    let mut notes = Vec::new();
    for method in methods.iter().filter(|method| !competes(method)) {
        let Some(only_with) = experiment.only_with(method) else { continue };
        let text = format!("takes part only with {only_with}");
        ensure!(
            request.reference.as_ref() != Some(&method.name),
            "--reference {}: {text}",
            method.name
        );
        if request.methods.contains(&method.name) {
            notes.push(Warning::noted(text).of_method(&method.name));
        }
    }
    methods.retain(competes);
    Ok(notes)
}

/// The built-in experiment that the run measured, with all of its methods that the run has; none
/// for an experiment of the user's, and for what another program measured.
pub(crate) fn built_in(run: &Run) -> Option<Experiment> {
    if run.plan.definition.is_some() || run.plan.imported.is_some() {
        return None;
    }
    let mut experiment = experiments::by_name(&run.experiment).ok()?;
    let methods = run.cells.iter().map(|cell| &cell.method);
    let at_levels = methods.filter_map(|name| workers::at_level(&experiment.methods, name));
    let at_levels: Vec<Method> = at_levels.collect();
    experiment.methods.extend(at_levels);
    Some(experiment)
}

fn user_worker(experiment: &Experiment, text: &str) -> Result<Method> {
    let (name, command) =
        text.split_once('=').with_context(|| format!("--worker {text}: write NAME=COMMAND"))?;
    let argv = shlex::split(command).filter(|argv| !argv.is_empty()).with_context(|| {
        format!("--worker {text}: the command is empty or a quote is not closed")
    })?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    ensure!(
        !name.is_empty() && name.chars().all(plain),
        "--worker {text}: a name is made of letters, digits, -, _ and ."
    );
    if experiment.methods.iter().any(|method| method.name == name) {
        bail!("--worker {text}: {} has a method {name} already", experiment.name);
    }
    let reads = experiment.params.iter().map(|param| param.name).collect();
    Ok(Method { reads, ..Method::contender(name, command, Execution::Worker { argv }) })
}

/// Fails for the run of a check with two sides: a run does not store the location of the old side.
pub(super) fn ensure_one_side(run: &Run) -> Result<()> {
    ensure!(
        !run.cells.iter().any(|cell| cell.method.ends_with(OLD_SUFFIX)),
        "run {} is of `check --against`, whose old side is not known any more: check again",
        run.id
    );
    Ok(())
}

/// The methods that have cells in the run, in the run's order.
pub(super) fn methods_of(experiment: &Experiment, run: &Run) -> Result<Vec<Method>> {
    let mut methods: Vec<Method> = Vec::new();
    for cell in &run.cells {
        if methods.iter().any(|method| method.name == cell.method) {
            continue;
        }
        let known = experiment.methods.iter().find(|method| method.name == cell.method);
        if let Some(method) = known {
            methods.push(method.clone());
            continue;
        }
        if let Some(method) = workers::at_level(&experiment.methods, &cell.method) {
            methods.push(method);
            continue;
        }
        // A worker that was given with --worker is described by its command.
        let name = &cell.method;
        ensure!(
            !store::is_imported(&run.environment),
            "run {} was imported, and the command of its worker {name} is therefore not started: \
             measure it with `bytelab run {} --worker {name}=COMMAND`",
            run.id,
            run.experiment
        );
        methods.push(user_worker(experiment, &format!("{name}={}", cell.about))?);
    }
    Ok(methods)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::run::{CacheState, Definition, Threshold};

    use super::*;

    fn request() -> RunRequest {
        RunRequest {
            experiment: "reading".to_owned(),
            time: TimeLimit::Rounds(Duration::from_secs(30)),
            warm_up: 1,
            cache: CacheState::Warm,
            counting: 5,
            ..RunRequest::default()
        }
    }

    #[test]
    fn only_a_run_without_a_number_or_a_threshold_ends_when_all_is_decided() {
        let with = |thresholds| Some(Definition { thresholds, ..Definition::default() });
        let threshold = Threshold { methods: Vec::new(), metric: "wall_ns".to_owned(), max: 1.0 };
        assert_eq!(design(&request()), Design::Sequential);
        let of_file = RunRequest { definition: with(Vec::new()), ..request() };
        assert_eq!(design(&of_file), Design::Sequential);
        for fixed in [
            RunRequest { rounds: Some(100), ..request() },
            RunRequest { sessions: Some(10), ..request() },
            RunRequest { trace: Some("a.json".into()), ..request() },
            RunRequest { definition: with(vec![threshold]), ..request() },
        ] {
            assert_eq!(design(&fixed), Design::Fixed);
        }
    }

    #[test]
    fn a_limit_is_one_for_the_rounds_or_for_all_or_there_is_none() {
        let of = |time, until_decided| {
            let plan = plan(&RunRequest {
                time,
                until_decided,
                data_dir: Some(std::env::temp_dir()),
                ..request()
            });
            plan.map(|plan| (plan.time_limit_ns, plan.limits_all)).unwrap()
        };
        let minute = Duration::from_mins(1);
        assert_eq!(of(TimeLimit::Rounds(minute), false), (60_000_000_000, false));
        assert_eq!(of(TimeLimit::All(minute), false), (60_000_000_000, true));
        assert_eq!(of(TimeLimit::All(minute), true), (600_000_000_000, true));
        let none = (Plan::NO_TIME_LIMIT_NS, false);
        assert_eq!(of(TimeLimit::Unlimited, false), none);
        assert_eq!(of(TimeLimit::All(Duration::MAX), true), (none.0, true));
        let rounds = RunRequest { rounds: Some(9), until_decided: true, ..request() };
        let refused = plan(&rounds).unwrap_err().to_string();
        assert!(refused.starts_with("--until-decided: this run has a fixed"), "{refused}");
    }

    #[test]
    fn what_is_measured_again_has_a_fixed_design() {
        let decided = Plan {
            design: Design::Sequential,
            sessions: 240,
            rounds: 1,
            limits_all: true,
            warm_up: 2,
            ..Plan::default()
        };
        let again = fixed(decided);
        assert_eq!((again.design, again.sessions, again.rounds), (Design::Fixed, 20, 5));
        assert_eq!((again.warm_up, again.limits_all), (2, false));
        let few = Plan { sessions: 3, rounds: 7, ..Plan::default() };
        assert_eq!(fixed(few.clone()), few);
    }

    #[test]
    fn rounds_are_spread_over_short_sessions() {
        let of = |rounds| sessions(rounds, None);
        assert_eq!(of(100), (20, 5));
        assert_eq!(of(500), (100, 5));
        assert_eq!(of(20), (10, 2));
        assert_eq!(of(12), (6, 2));
        assert_eq!(of(7), (7, 1));
        assert_eq!(of(3), (3, 1));
        assert_eq!(of(0), (1, 1));
        // A few more rounds are taken rather than one session for each of them.
        assert_eq!(of(97), (20, 5));
        assert_eq!(sessions(100, Some(10)), (10, 10));
        assert_eq!(sessions(3, Some(10)), (3, 1));
    }
}
