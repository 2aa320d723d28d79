//! What all kinds of text share: the rows of a run and their words, units, tables and charts as
//! data.

pub(crate) mod alert;
pub(crate) mod answer;
pub(crate) mod charts;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod fleet;
pub(crate) mod history;
pub(crate) mod measured;
pub(crate) mod noise;
pub(crate) mod numbers;
pub(crate) mod published;
mod reason;
pub(crate) mod rows;
pub(crate) mod size_sweep;
pub(crate) mod standing;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod table;
pub(crate) mod units;
pub(crate) mod varying;
pub(crate) mod view;
pub(crate) mod words;
