//! Calendar dates. Pure.

use std::time::Duration;

/// A date after 1970 in the format of [`super::utc_rfc3339`].
pub(crate) fn rfc3339(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let ms = since_epoch.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Year, month and day of a count of days since 1970-01-01: the inverse of "days from civil" of H.
/// Hinnant (<https://howardhinnant.github.io/date_algorithms.html>), where a year starts in March
/// so that the leap day is its last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let check = |seconds: u64, expected: &str| {
            assert_eq!(rfc3339(Duration::from_millis(seconds * 1000 + 7)), expected);
        };
        check(0, "1970-01-01T00:00:00.007Z");
        check(951_782_400, "2000-02-29T00:00:00.007Z");
        check(951_868_799, "2000-02-29T23:59:59.007Z");
        check(1_000_000_000, "2001-09-09T01:46:40.007Z");
        check(1_234_567_890, "2009-02-13T23:31:30.007Z");
        check(1_709_251_199, "2024-02-29T23:59:59.007Z");
        check(1_709_251_200, "2024-03-01T00:00:00.007Z");
        check(4_107_542_400, "2100-03-01T00:00:00.007Z");
        check(1_767_225_599, "2025-12-31T23:59:59.007Z");
    }

    #[test]
    fn every_day_follows_the_day_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..200_000 {
            assert_eq!(civil(days), (year, month, day));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }
}
