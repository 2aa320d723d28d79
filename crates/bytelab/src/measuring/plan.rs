//! How much is measured, with which seed, and where the data is kept.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::clock;
use lab::run::{Design, Plan};

use super::request::RunRequest;

/// The number of sessions if the request gives none; Student's interval needs at least these.
const LEAST_SESSIONS: u32 = 6;
/// Processes differ less than rounds do, and starting a session costs several rounds.
const ROUNDS_PER_SESSION: u32 = 5;

/// The plan of a new run.
pub(crate) fn plan(request: &RunRequest) -> Result<Plan> {
    let data_dir = data_dir_text(request.data_dir.clone())?;
    let (sessions, rounds) = sessions(request.rounds, request.sessions);
    Ok(Plan {
        rounds,
        time_limit_ns: request.time.as_nanos() as u64,
        warm_up: request.warm_up,
        sessions,
        design: Design::Fixed,
        seed: request.seed.unwrap_or_else(seed),
        cache: request.cache,
        sample_limit_ns: request.sample_limit.as_nanos() as u64,
        data_dir: Some(data_dir),
        counting: request.counting,
        fresh: request.fresh,
        definition: request.definition.clone(),
        metric_versions: std::collections::BTreeMap::new(),
        measures: Vec::new(),
        imported: None,
    })
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

pub(super) fn data_dir_text(asked: Option<PathBuf>) -> Result<String> {
    Ok(data_dir(asked)?.to_str().context("--data-dir is not UTF-8")?.to_owned())
}

/// The value of `--data-dir`, else the user's cache directory.
fn data_dir(asked: Option<PathBuf>) -> Result<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute())
    };
    let dir = asked
        .or_else(|| absolute("XDG_CACHE_HOME").map(|cache| cache.join("bytelab")))
        .or_else(|| absolute("HOME").map(|home| home.join(".cache/bytelab")))
        .context("no place for the data: neither HOME nor XDG_CACHE_HOME is set; name one with --data-dir")?;
    std::fs::create_dir_all(&dir).with_context(|| {
        format!("making {}; name another directory with --data-dir", dir.display())
    })?;
    std::path::absolute(&dir).with_context(|| format!("finding {}", Path::display(&dir)))
}

#[cfg(test)]
mod tests {
    use super::*;

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
