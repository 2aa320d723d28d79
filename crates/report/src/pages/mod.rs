//! The pages, composed as data, a file a topic: from the views, a [`Document`] of blocks.
//!
//! [`Document`]: crate::document::Document

pub(crate) mod check;
pub(crate) mod compare;
mod factorial;
pub(crate) mod fleet;
mod foot;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod live;
mod names;
pub(crate) mod numbers;
mod overview;
pub(crate) mod percentiles;
pub(crate) mod report;
mod results;
pub(crate) mod run;
pub(crate) mod study;
pub(crate) mod suite;
mod sweep;
mod why;
