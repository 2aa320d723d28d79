//! Dates of HTTP (RFC 9110, 5.6.7). Pure: text in, seconds out.

const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";

/// The seconds since 1970 of a date in any of the three formats.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split([' ', ',', '-']).filter(|word| !word.is_empty()).collect();
    // `Sun, 06 Nov 1994 08:49:37 GMT`, and two that are obsolete: `Sunday, 06-Nov-94 08:49:37 GMT`
    // and `Sun Nov  6 08:49:37 1994`.
    let ([_, day, month, year, time, "GMT"] | [_, month, day, time, year]) = *words.as_slice()
    else {
        return None;
    };
    let month = MONTHS.find(month).filter(|at| at % 3 == 0 && month.len() == 3)? as u64 / 3;
    let (day, year) = (number(day, 31)?, number(year, 9999)?);
    let year = match year {
        0..70 => 2000 + year,
        70..100 => 1900 + year,
        _ => year,
    };
    let (hour, rest) = time.split_once(':')?;
    let (minute, second) = rest.split_once(':')?;
    // A minute may have a leap second.
    let (hour, minute, second) = (number(hour, 23)?, number(minute, 59)?, number(second, 60)?);
    if day == 0 || year < 1970 {
        return None;
    }
    Some(((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

fn number(text: &str, most: u64) -> Option<u64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number <= most)
}

/// The days from 1970-01-01 to this one; months count from 0.
fn days(year: u64, month: u64, day: u64) -> u64 {
    // A year that begins in March has its leap day at its end.
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let of_months = (153 * month + 2) / 5;
    // 719469 days lie between the first of March of year 0 and 1970-01-01, whose number is 1.
    365 * year + leap_days + of_months + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<u64>) {
        assert_eq!(parse(text), expected, "{text}");
    }

    #[test]
    fn all_three_formats_are_read() {
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777));
        check("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777));
        check("Sun Nov  6 08:49:37 1994", Some(784_111_777));
        check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
        check("Thu, 29 Feb 2024 23:59:60 GMT", Some(1_709_251_200));
        check("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799));
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "0",
            "soon",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 anF 1994 08:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1969 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
        ] {
            check(text, None);
        }
    }
}
