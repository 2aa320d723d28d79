//! The winning ways as tools: thin fronts of the libraries.

pub(crate) mod cat;
