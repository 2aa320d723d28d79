//! Whether this machine provides a capability, and from which source.

use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Finding {
    pub(super) name: &'static str,
    pub(super) available: bool,
    pub(super) source: &'static str,
    pub(super) exactness: &'static str,
    /// Why it is missing, and what would help.
    pub(super) reason: Option<String>,
}
