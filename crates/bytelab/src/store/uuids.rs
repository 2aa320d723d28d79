//! The UUIDs by which runs are known in all stores: of version 7, whose first bits are the time.

use std::time::UNIX_EPOCH;

use uuid::{NoContext, Timestamp, Uuid};

/// The fewest digits that may stand for a UUID.
const DIGITS_MIN: usize = 4;

/// A new UUID for a run that started at this time (RFC 3339; 1970 if it is none).
pub(crate) fn of(started: &str) -> String {
    let started = humantime::parse_rfc3339(started).ok();
    let since = started.and_then(|started| started.duration_since(UNIX_EPOCH).ok());
    let since = since.unwrap_or_default();
    let time = Timestamp::from_unix(NoContext, since.as_secs(), since.subsec_nanos());
    Uuid::new_v7(time).to_string()
}

/// Whether the text may be the start of a UUID.
pub(super) fn is_start(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_hexdigit() || c == '-';
    (DIGITS_MIN..=36).contains(&text.len()) && text.chars().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_different_and_sorted_by_time() {
        let (old, new) = (of("2025-01-02T03:04:05Z"), of("2026-01-02T03:04:05Z"));
        assert!(old < new);
        assert!(old.starts_with("019424"), "{old}");
        assert_ne!(of("2025-01-02T03:04:05Z"), old);
        for odd in ["", "1969-12-31T23:59:59Z", "yesterday"] {
            assert_eq!(Uuid::parse_str(&of(odd)).unwrap().get_version_num(), 7);
        }
    }

    #[test]
    fn the_start_of_a_uuid_has_four_digits() {
        assert!(is_start("0194") && is_start(&of("")));
        for no in ["019", "latest", "0194 ", "0194%", "", "é194", &"0".repeat(37)] {
            assert!(!is_start(no), "{no}");
        }
    }
}
