//! The winning ways as tools: thin fronts of the libraries. They measure nothing.

pub(crate) mod fleece;
