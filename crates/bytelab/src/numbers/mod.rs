//! The rows of `bytelab numbers`, as plain data: which method of which experiment, at which point, and
//! what of it is shown. How they are measured and shown is known elsewhere.

mod rows;

use lab::analyze::latency::Quantity;

pub(crate) use self::rows::ROWS;

pub(crate) const EXPERIMENT: &str = "numbers";

/// One line of the table.
pub(crate) struct Row {
    /// For flags, keys and the store.
    pub(crate) name: &'static str,
    /// For readers.
    pub(crate) title: &'static str,
    pub(crate) experiment: &'static str,
    pub(crate) method: &'static str,
    /// `name=value` with spaces between them. A size may be `L1/2`, `L2/2`, `L3/4`, `memory`, `memory/2`
    /// or `memory/4`, of this machine. What is left out is the param's first default.
    pub(crate) point: &'static str,
    pub(crate) quantity: Quantity,
    /// The published figure that stands beside it; empty where there is none.
    pub(crate) published: &'static str,
    /// The machines for which that figure means the same; empty for all.
    pub(crate) only: &'static [&'static str],
}

pub(crate) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_there_once_and_plain() {
        for row in ROWS {
            assert_eq!(
                ROWS.iter().filter(|other| other.name == row.name).count(),
                1,
                "{}",
                row.name
            );
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(row.name.chars().all(plain), "{}", row.name);
            assert!(row.title.chars().count() <= 30, "{}", row.title);
        }
        assert!(ROWS.len() >= 40, "{}", ROWS.len());
    }

    #[test]
    fn published_figures_exist() {
        for row in ROWS.iter().filter(|row| !row.published.is_empty()) {
            let figures = crate::reference::published(row.published, row.only);
            assert!(!figures.is_empty(), "{}: {}", row.name, row.published);
        }
    }
}
