//! The winning ways as tools: thin fronts of the libraries. They measure nothing and know no experiment.

pub(crate) mod cat;
pub(crate) mod fleece;
pub(crate) mod sample;
