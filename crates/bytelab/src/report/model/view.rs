//! How the figures of a run are shown. A stored run contains only the name of its experiment.

use lab::run::Run;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// A table for each point or sweep, with verdicts.
    Tables,
    /// The same, but points that differ by a size are combined.
    SizeSweep,
    /// A line for each point, and no verdicts.
    Rows,
}

pub(crate) fn view(run: &Run) -> View {
    match run.experiment.as_str() {
        crate::numbers::EXPERIMENT => View::Rows,
        "memory" => View::SizeSweep,
        _ => View::Tables,
    }
}
