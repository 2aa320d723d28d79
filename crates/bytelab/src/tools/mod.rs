//! The winning ways as commands: thin fronts of the libraries. They know no experiment.

pub(crate) mod sample;
