//! Parsing and printing of ISO-8601 dates as milliseconds since 1970, in the Gregorian calendar
//! without leap seconds.

use alloc::format;
use alloc::string::String;

const DAY_MS: i64 = 86_400_000;

/// Reads `YYYY-MM-DD`, optionally followed by `Thh:mm[:ss[.fff]]` and `Z` or `±hh[:]mm`. Without a
/// zone, UTC is meant.
pub(crate) fn parse_ms(text: &[u8]) -> Option<i64> {
    let mut cursor = DateCursor { text };
    let year = cursor.digits(4)?;
    cursor.expect(b"-")?;
    let month = cursor.digits(2).filter(|m| (1..=12).contains(m))?;
    cursor.expect(b"-")?;
    let day = cursor.digits(2).filter(|&d| d >= 1 && d <= days_in_month(year, month))?;
    let date_ms = days_from_1970(year, month, day) * DAY_MS;
    if cursor.text.is_empty() {
        return Some(date_ms);
    }
    cursor.expect(b"Tt ")?;
    let time_ms = cursor.time_ms()?;
    let zone_ms = cursor.zone_ms()?;
    cursor.text.is_empty().then_some(date_ms + time_ms - zone_ms)
}

/// The form that the original writes: UTC, milliseconds only if there are any.
pub(crate) fn print_ms(ms: i64) -> String {
    let (days, time) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    let (year, month, day) = date_from_days(days);
    let (hour, minute, second) = (time / 3_600_000, time / 60_000 % 60, time / 1000 % 60);
    let clock = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    match time % 1000 {
        0 => format!("{clock}Z"),
        fraction => format!("{clock}.{fraction:03}Z"),
    }
}

struct DateCursor<'a> {
    text: &'a [u8],
}

impl DateCursor<'_> {
    fn digits(&mut self, n: usize) -> Option<i64> {
        let (digits, rest) = self.text.split_at_checked(n)?;
        self.text = rest;
        digits
            .iter()
            .try_fold(0, |sum, b| b.is_ascii_digit().then(|| sum * 10 + i64::from(b - b'0')))
    }

    fn expect(&mut self, any_of: &[u8]) -> Option<u8> {
        let (&first, rest) = self.text.split_first()?;
        self.text = rest;
        any_of.contains(&first).then_some(first)
    }

    fn next_is(&self, byte: u8) -> bool {
        self.text.first() == Some(&byte)
    }

    fn time_ms(&mut self) -> Option<i64> {
        let hour = self.digits(2).filter(|&h| h < 24)?;
        self.expect(b":")?;
        let minute = self.digits(2).filter(|&m| m < 60)?;
        let mut ms = (hour * 60 + minute) * 60_000;
        if self.next_is(b':') {
            self.expect(b":")?;
            ms += self.digits(2).filter(|&s| s < 60)? * 1000;
        }
        if self.next_is(b'.') {
            self.expect(b".")?;
            let len = self.text.iter().take_while(|b| b.is_ascii_digit()).count();
            let (digits, rest) = self.text.split_at(len);
            self.text = rest;
            let value = |i: usize| digits.get(i).map_or(0, |b| i64::from(b - b'0'));
            ms += value(0) * 100 + value(1) * 10 + value(2);
            if len == 0 {
                return None;
            }
        }
        Some(ms)
    }

    fn zone_ms(&mut self) -> Option<i64> {
        if self.text.is_empty() {
            return Some(0);
        }
        let sign = match self.expect(b"Zz+-")? {
            b'+' => 1,
            b'-' => -1,
            _ => return Some(0),
        };
        let hour = self.digits(2).filter(|&h| h < 24)?;
        if self.next_is(b':') {
            self.expect(b":")?;
        }
        let minute = self.digits(2).filter(|&m| m < 60)?;
        Some(sign * (hour * 60 + minute) * 60_000)
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Howard Hinnant, "chrono-compatible low-level date algorithms": `days_from_civil`.
fn days_from_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse, `civil_from_days` of the same source.
fn date_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_milliseconds_since_1970() {
        let check = |text: &str, ms| assert_eq!(parse_ms(text.as_bytes()), ms, "{text}");
        check("1970-01-01T00:00:00Z", Some(0));
        check("1970-01-01", Some(0));
        check("2014-05-13T16:53:20.123Z", Some(1_400_000_000_123));
        check("2014-01-28T05:37:03+08:00", Some(1_390_858_623_000));
        check("2000-02-29T00:00Z", Some(951_782_400_000));
        check("1969-12-31T23:59:59.999Z", Some(-1));
        check("2001-02-29", None);
        check("2001-02-2", None);
        check("2001-02-20T10:00:00ZZ", None);
        check("2001-02-20T10:00:00.Z", None);
        check("", None);
    }

    #[test]
    fn a_printed_timestamp_is_parsed_to_the_same_value() {
        for ms in [0, 1, -1, 999, 1_400_000_000_123, -62_135_596_800_000, 253_402_300_799_999] {
            assert_eq!(parse_ms(print_ms(ms).as_bytes()), Some(ms));
        }
    }
}
