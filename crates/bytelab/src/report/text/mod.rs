//! Pages for a terminal.

pub(crate) mod across;
pub(crate) mod alert;
pub(crate) mod by_commit;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod fleet;
pub(crate) mod foot;
mod grid;
pub(crate) mod head;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod live;
mod notes;
pub(crate) mod numbers;
pub(crate) mod over_time;
pub(crate) mod own;
pub(crate) mod page;
pub(crate) mod percentiles;
pub(crate) mod plot;
pub(crate) mod published;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod size_sweep;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod thresholds;
