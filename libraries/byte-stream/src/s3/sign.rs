//! Signs requests by AWS's Signature Version 4, in their headers. It does no I/O and reads no
//! clock.

use std::fmt::Write;

use ring::hmac;
use sha2::{Digest, Sha256};

use crate::stream::hex;

/// The keys of a requester, which are never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AccessKeys {
    pub(crate) id: String,
    pub(crate) secret: String,
    /// Belongs to keys that are valid for a limited time.
    pub(crate) token: Option<String>,
}

/// What is signed of a request: all that decides what the server does.
pub(crate) struct SignedParts<'a> {
    pub(crate) method: &'a str,
    /// The value of `Host`.
    pub(crate) host: &'a str,
    /// Path and query, as they are sent.
    pub(crate) target: &'a str,
    /// Further headers.
    pub(crate) headers: &'a [(String, String)],
    pub(crate) body: &'a str,
}

/// Where and when a signature is valid.
pub(crate) struct SignatureScope<'a> {
    pub(crate) region: &'a str,
    pub(crate) service: &'a str,
    /// Seconds since 1970.
    pub(crate) time_s: u64,
}

/// The headers that sign a request.
pub(crate) fn signature(
    parts: &SignedParts<'_>,
    keys: &AccessKeys,
    scope: &SignatureScope<'_>,
) -> Vec<(String, String)> {
    let time = basic_time(scope.time_s);
    let body = sha256(parts.body);
    let mut sent = vec![("x-amz-content-sha256", body.clone()), ("x-amz-date", time.clone())];
    sent.extend(keys.token.iter().map(|token| ("x-amz-security-token", token.clone())));
    let mut sent: Vec<(String, String)> =
        sent.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();

    let mut headers: Vec<(String, &str)> = vec![("host".to_owned(), parts.host)];
    for (name, value) in parts.headers.iter().chain(&sent) {
        headers.push((name.to_ascii_lowercase(), value.trim()));
    }
    headers.sort();
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(";");
    let (path, query) = parts.target.split_once('?').unwrap_or((parts.target, ""));
    let mut request = format!("{}\n{path}\n{}\n", parts.method, canonical_query(query));
    for (name, value) in &headers {
        request.extend([name.as_str(), ":", *value, "\n"]);
    }
    request.extend(["\n", names.as_str(), "\n", body.as_str()]);

    let (date, _) = time.split_at(DATE_LEN);
    let SignatureScope { region, service, .. } = scope;
    let scope = format!("{date}/{region}/{service}/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", sha256(&request));
    let first = format!("AWS4{}", keys.secret).into_bytes();
    let key = [date, *region, *service, "aws4_request"]
        .into_iter()
        .fold(first, |key, text| keyed_digest(&key, text));
    let value = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={}",
        keys.id,
        hex(&keyed_digest(&key, &text))
    );
    sent.push(("Authorization".to_owned(), value));
    sent
}

/// The parameters in the order of their names, each with a value.
fn canonical_query(query: &str) -> String {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut pairs: Vec<(&str, &str)> =
        pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
    pairs.sort_unstable();
    let pairs: Vec<String> =
        pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

fn keyed_digest(key: &[u8], text: &str) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
}

fn sha256(text: &str) -> String {
    hex(Sha256::digest(text).as_slice())
}

// Dates, by the algorithms of Howard Hinnant ("chrono-Compatible Low-Level Date Algorithms"): years
// begin in March, so that the day that leap years add is the last one.

const DAY_S: u64 = 86_400;
/// The days of 400 years, and those from March of the year 0 to January 1970.
const ERA_DAYS: u64 = 146_097;
const DAYS_TO_1970: u64 = 719_468;
/// The length of the date in `20130524T000000Z`.
const DATE_LEN: usize = 8;

/// `20130524T000000Z`, of the seconds since 1970.
fn basic_time(time_s: u64) -> String {
    let days = time_s / DAY_S + DAYS_TO_1970;
    let (era, of_era) = (days / ERA_DAYS, days % ERA_DAYS);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = 400 * era + year + next;
    let (hour, minute, second) = (time_s / 3600 % 24, time_s / 60 % 60, time_s % 60);
    let mut text = format!("{year:04}{month:02}{day:02}");
    // Writing to a string cannot fail.
    let _ = write!(text, "T{hour:02}{minute:02}{second:02}Z");
    text
}

/// The seconds since 1970 of a time of the form `2013-05-24T00:00:00Z`; a fraction of a second is
/// ignored.
pub(crate) fn parse_time(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, separator: char| {
        let numbers: Option<Vec<u64>> =
            text.split(separator).map(|number| number.parse().ok()).collect();
        <[u64; 3]>::try_from(numbers?).ok()
    };
    let [year, month, day] = numbers(date, '-')?;
    let (time, _fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hour, minute, second] = numbers(time, ':')?;
    let is_sound = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !is_sound {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = ERA_DAYS * era + 365 * of_era + of_era / 4 - of_era / 100 + of_year - DAYS_TO_1970;
    Some(DAY_S * days + 3600 * hour + 60 * minute + second)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(token: Option<&str>) -> AccessKeys {
        AccessKeys {
            id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            token: token.map(str::to_owned),
        }
    }

    /// The signed headers and the signature, on 24 May 2013.
    fn check(parts: &SignedParts<'_>, token: Option<&str>, expected: (&str, &str)) {
        let scope = SignatureScope { region: "us-east-1", service: "s3", time_s: 1_369_353_600 };
        let sent = signature(parts, &keys(token), &scope);
        let (name, value) = sent.last().unwrap();
        let (names, signature) = expected;
        let expected = format!(
            "AWS4-HMAC-SHA256 \
             Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, \
             SignedHeaders={names}, Signature={signature}"
        );
        assert_eq!((name.as_str(), value), ("Authorization", &expected), "{}", parts.target);
        let sent = |name: &str| sent.iter().find(|(known, _)| known == name).map(|(_, v)| v);
        assert_eq!(sent("x-amz-date").unwrap(), "20130524T000000Z");
        assert_eq!(sent("x-amz-security-token").map(String::as_str), token);
    }

    fn get(target: &str) -> SignedParts<'_> {
        let host = "examplebucket.s3.amazonaws.com";
        SignedParts { method: "GET", host, target, headers: &[], body: "" }
    }

    /// "Examples: Signature Calculations" of the documentation of Amazon S3 (Authenticating
    /// Requests: Using the Authorization Header).
    #[test]
    fn the_examples_of_the_documentation_have_its_signatures() {
        let range = [("Range".to_owned(), "bytes=0-9".to_owned())];
        let expected = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
        let names = "host;range;x-amz-content-sha256;x-amz-date";
        let parts = SignedParts { headers: &range, ..get("/test.txt") };
        check(&parts, None, (names, expected));

        let headers = [
            ("Date".to_owned(), "Fri, 24 May 2013 00:00:00 GMT".to_owned()),
            ("x-amz-storage-class".to_owned(), "REDUCED_REDUNDANCY".to_owned()),
        ];
        let expected = "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd";
        let names = "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class";
        let (method, body) = ("PUT", "Welcome to Amazon S3.");
        let parts = SignedParts { method, body, headers: &headers, ..get("/test%24file.text") };
        check(&parts, None, (names, expected));

        let names = "host;x-amz-content-sha256;x-amz-date";
        let expected = "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543";
        check(&get("/?lifecycle"), None, (names, expected));
        let expected = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
        check(&get("/?max-keys=2&prefix=J"), None, (names, expected));
        check(&get("/?prefix=J&max-keys=2"), None, (names, expected));
    }

    #[test]
    fn a_token_is_signed_and_sent() {
        let names = "host;x-amz-content-sha256;x-amz-date;x-amz-security-token";
        let expected = "3df23d874ac3995ba5d4921bc55f7457a8d281c77baffe677ec9febaaff5f8d4";
        check(&get("/test.txt"), Some("token+/="), (names, expected));
    }

    #[test]
    fn parameters_are_in_the_order_of_their_names() {
        assert_eq!(canonical_query("b&a-b=1&a=2&a=1"), "a=1&a=2&a-b=1&b=");
        assert_eq!(canonical_query(""), "");
    }

    #[test]
    fn a_time_has_the_form_that_signatures_need() {
        assert_eq!(basic_time(0), "19700101T000000Z");
        assert_eq!(basic_time(951_827_696), "20000229T123456Z");
        assert_eq!(basic_time(4_107_542_399), "21000228T235959Z");
    }

    #[test]
    fn a_time_that_is_none_is_refused() {
        assert_eq!(parse_time("2013-05-24T00:00:00Z"), Some(1_369_353_600));
        assert_eq!(parse_time("2013-05-24T00:00:00.123Z"), Some(1_369_353_600));
        for text in ["", "2013-05-24", "2013-05-24T00:00:00", "2013-13-24T00:00:00Z", "T:Z"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_time_that_is_written_is_read(time_s in 0..253_402_300_800_u64) {
            let text = basic_time(time_s);
            let [date, time] = [&text[..8], &text[9..15]];
            let parts = [&date[..4], "-", &date[4..6], "-", &date[6..], "T", &time[..2], ":"];
            let text = parts.concat() + &[&time[2..4], ":", &time[4..], "Z"].concat();
            prop_assert_eq!(parse_time(&text), Some(time_s));
        }
    }
}
