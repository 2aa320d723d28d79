//! What got slower lately, with the facts of the environment that changed with it.

use lab::analyze::{Slowdown, Slowdowns};
use lab::environment::{Difference, differences};
use lab::run::Run;
use serde::Serialize;

use super::fleet::is_lasting;

#[derive(Serialize)]
pub(crate) struct Alert {
    pub(crate) days: u32,
    /// The start of an RFC 3339 time.
    pub(crate) since: String,
    /// The number of series with enough runs for a change to be seen, and with fewer.
    pub(crate) series_examined: usize,
    pub(crate) series_too_short: usize,
    /// The newest first.
    pub(crate) slowdowns: Vec<Changed>,
}

/// A slowdown, and what differs between the environments of the runs before and after it.
#[derive(Serialize)]
pub(crate) struct Changed {
    #[serde(flatten)]
    pub(crate) slowdown: Slowdown,
    pub(crate) changed: Vec<Difference>,
}

impl Alert {
    pub(crate) fn new(days: u32, since: &str, found: Slowdowns, runs: &[Run]) -> Alert {
        let Slowdowns { slowdowns, series_examined, series_too_short } = found;
        let run = |id: &str| runs.iter().find(|run| run.id == id);
        let with_facts = |slowdown: Slowdown| {
            let pair = run(&slowdown.run_before).zip(run(&slowdown.run));
            let mut changed = pair
                .map(|(old, new)| differences(&old.environment, &new.environment))
                .unwrap_or_default();
            changed.retain(|difference| is_lasting(&difference.fact));
            Changed { slowdown, changed }
        };
        let slowdowns = slowdowns.into_iter().map(with_facts).collect();
        Alert { days, since: since.to_owned(), series_examined, series_too_short, slowdowns }
    }
}
