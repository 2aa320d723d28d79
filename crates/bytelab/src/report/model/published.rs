//! A side of a comparison with published results: figures of different machines, for orientation
//! only.

use crate::reference::{Figure, PREFIX, Published};

/// A side: its name, its machine, and its figures.
pub(crate) struct Beside {
    pub(crate) name: String,
    pub(crate) machine: String,
    pub(crate) figures: Vec<Figure>,
    /// For a published result: its source, and its known defects.
    pub(crate) published: Option<(&'static str, &'static str)>,
}

impl Beside {
    pub(crate) fn of(published: Published) -> Beside {
        Beside {
            name: format!("{PREFIX}{}", published.name),
            machine: published.machine,
            figures: published.figures,
            published: Some((published.source, published.caveat)),
        }
    }

    pub(crate) fn p50(&self, method: &str, metric: &str) -> Option<f64> {
        let of = |figure: &&Figure| figure.method == method && figure.metric == metric;
        self.figures.iter().find(of).map(|figure| figure.p50).filter(|value| value.is_finite())
    }
}
