//! Whether this machine provides a capability, and from which source.

use lab::metric::Metric;
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

impl Finding {
    pub(super) fn of_metric(metric: &Metric, reason: Option<String>) -> Finding {
        Finding {
            name: metric.name,
            available: reason.is_none(),
            source: metric.source,
            exactness: if metric.exact { "counts" } else { "measures" },
            reason,
        }
    }

    /// What was tried, or the reason why it failed.
    pub(super) fn tried(
        name: &'static str,
        source: &'static str,
        reason: Option<String>,
    ) -> Finding {
        Finding { name, available: reason.is_none(), source, exactness: "tried", reason }
    }
}
