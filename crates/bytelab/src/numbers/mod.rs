//! The rows of `bytelab numbers`, as plain data: the experiment, method and point of each row, and
//! which metric is shown. Other modules measure and print them.

mod rows;

pub(crate) use self::rows::{ROWS, Row};

pub(crate) const EXPERIMENT: &str = "numbers";

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
            let figures = crate::reference::published(row.published, row.published_on);
            assert!(!figures.is_empty(), "{}: {}", row.name, row.published);
        }
    }
}
