//! How much is measured, with which seed, and where the data is kept.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lab::clock;
use lab::path_text::from_path;
use lab::run::{Design, Plan};
use lab::stats::LOOKS;

use super::request::{RunRequest, Time};

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
    let data_dir = data_dir_text(request.data_dir.clone())?;
    let design = design(request);
    if let (Some(least), Some(most)) = (request.min_sessions, request.max_sessions) {
        ensure!(least <= most, "--min-sessions {least} is more than --max-sessions {most}");
    }
    ensure!(
        !request.until_decided || !design.is_fixed(),
        "--until-decided: this run has a fixed number of rounds, or limits to hold"
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
        limits_all: matches!(request.time, Time::All(_)),
        warm_up: request.warm_up,
        sessions,
        design,
        seed: request.seed.unwrap_or_else(seed),
        cache: request.cache,
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
        Time::Unlimited => return Plan::NO_TIME_LIMIT_NS,
        Time::Rounds(limit) | Time::All(limit) => limit,
    };
    let times = if request.until_decided { TIMES_UNTIL_DECIDED } else { 1 };
    limit_ns(limit.saturating_mul(times))
}

fn limit_ns(limit: Duration) -> u64 {
    u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).min(Plan::NO_TIME_LIMIT_NS)
}

/// Who gives a number of rounds or sessions wants all methods in all of them. What a threshold or a
/// timeline is about is measured in all of them as well.
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
pub(super) fn seed() -> u64 {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lab::run::{CacheState, Definition, Threshold};

    use super::*;

    fn request() -> RunRequest {
        RunRequest {
            experiment: "reading".to_owned(),
            time: Time::Rounds(Duration::from_secs(30)),
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
        assert_eq!(of(Time::Rounds(minute), false), (60_000_000_000, false));
        assert_eq!(of(Time::All(minute), false), (60_000_000_000, true));
        assert_eq!(of(Time::All(minute), true), (600_000_000_000, true));
        let none = (Plan::NO_TIME_LIMIT_NS, false);
        assert_eq!(of(Time::Unlimited, false), none);
        assert_eq!(of(Time::All(Duration::MAX), true), (none.0, true));
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
