//! What a table needs to know of an experiment besides its samples: of a built-in one by its name,
//! of one of the user's from its definition.

use crate::numbers;
use crate::run::{Run, View};

/// What an experiment is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor<'a> {
    /// The metrics that have a column, besides the time and the memory that all have.
    pub primary_metrics: Vec<&'a str>,
    pub view: View,
    /// The factors of an experiment whose methods are a full factorial design; none: it is no such
    /// experiment.
    pub factors: &'static [&'static str],
}

/// The name of the experiment whose methods have [`AWAITING_FACTORS`].
pub const AWAITING: &str = "awaiting";

/// A method of `awaiting` has any of these factors. Its name has their words, joined by hyphens.
pub const AWAITING_FACTORS: [&str; 5] = ["other", "never", "dyn", "handed", "O0"];

/// Which of the factors a method has, a bit for each.
pub fn factors_of(method: &str, factors: &[&str]) -> usize {
    let has = |factor: &str| method.split('-').any(|word| word == factor);
    factors.iter().enumerate().map(|(bit, factor)| usize::from(has(factor)) << bit).sum()
}

/// Of the built-in experiments whose descriptor is not the default: the name, the primary metrics
/// and the view.
const BUILT_IN: [(&str, &[&str], View); 6] = [
    ("copying", &["user_ns", "system_ns"], View::Tables),
    ("decoding", &["size_bytes"], View::Tables),
    ("files", &["create_ns", "write_ns", "close_ns", "sync_ns"], View::Tables),
    ("memory", &[], View::SizeSweep),
    (numbers::EXPERIMENT, &[], View::Rows),
    (
        "threads",
        &["create_ns", "start_ns", "end_ns", "join_ns", "procedure_ns", "wake_ns", "switch_ns"],
        View::Tables,
    ),
];

/// The params whose words are jobs: methods compete only where these are the same.
pub const JOB_PARAMS: [&str; 3] = ["job", "source", "kind"];

impl<'a> Descriptor<'a> {
    /// That of the experiment of this run.
    ///
    /// ```
    /// use model::descriptor::Descriptor;
    /// use model::run::{Run, View};
    ///
    /// let run = Run { experiment: "memory".to_owned(), ..Run::default() };
    /// assert_eq!(Descriptor::of(&run).view, View::SizeSweep);
    /// ```
    pub fn of(run: &'a Run) -> Descriptor<'a> {
        if let Some(definition) = &run.plan.definition {
            let primary_metrics = definition.primary_metrics.iter().map(String::as_str).collect();
            return Descriptor { primary_metrics, view: definition.view, factors: &[] };
        }
        let known = BUILT_IN.iter().find(|(name, ..)| *name == run.experiment);
        let (metrics, view) =
            known.map_or((&[][..], View::Tables), |(_, metrics, view)| (metrics, *view));
        let factors: &[&str] = if run.experiment == AWAITING { &AWAITING_FACTORS } else { &[] };
        Descriptor { primary_metrics: metrics.to_vec(), view, factors }
    }
}
