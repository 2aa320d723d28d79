//! What a file has besides the run.

use std::collections::BTreeMap;

use crate::report::model::rows::TableOptions;

/// By method, the values that were put in its command.
pub(crate) type Parameters = BTreeMap<String, BTreeMap<String, String>>;

/// What a user, or the definition of the run, says about its files.
#[derive(Clone, Copy, Default)]
pub(crate) struct Options<'a> {
    /// Of the formats that are tables.
    pub(crate) table: TableOptions<'a>,
    /// Of those that have parameters apart from commands.
    pub(crate) parameters: Option<&'a Parameters>,
}
