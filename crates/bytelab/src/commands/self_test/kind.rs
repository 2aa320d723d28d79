//! The pairs of methods whose truth is known.

use clap::ValueEnum;
use lab::run::CacheState;

use super::bench::{AA, Much};
use crate::experiments::self_test::OTHERS;

/// What the two methods of a pair differ by. Both start the same processes and threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// One program under two names.
    Same,
    /// The process that is measured does the work, or a child of it.
    Shell,
    /// The work is done before a pipeline, or in it.
    Pipeline,
    /// The first thread does the work, or another one.
    Thread,
    /// A built-in method, and the same as a worker of another program.
    Worker,
    /// One program under two names, among two others.
    FewOthers,
    /// One program under two names, among 25 others.
    ManyOthers,
}

impl Kind {
    pub(super) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The reference, the other one, and those that are measured beside them.
    pub(super) fn methods(self) -> Vec<String> {
        let (pair, others) = match self {
            Kind::Same => (["same", "same-again"], 0),
            Kind::Shell => (["shell", "child-of-shell"], 0),
            Kind::Pipeline => (["before-pipeline", "in-pipeline"], 0),
            Kind::Thread => (["first-thread", "second-thread"], 0),
            Kind::Worker => (["same", "as-worker"], 0),
            Kind::FewOthers => (["same", "same-again"], 2),
            Kind::ManyOthers => (["same", "same-again"], OTHERS),
        };
        let others = (1..=others).map(|n| format!("other-{n}"));
        pair.map(str::to_owned).into_iter().chain(others).collect()
    }

    /// Of processes, each round is a session.
    pub(super) fn much(self) -> Much {
        let rounds = if matches!(self, Kind::Shell | Kind::Pipeline) { 2 } else { AA.1 };
        Much { sessions: AA.0, rounds, cache: CacheState::AsIs, counting: 0 }
    }
}
