//! Inputs on other machines: URLs, and objects of buckets, which patterns may name.

use std::ffi::OsStr;
use std::io;

use anyhow::{Context, Result, bail, ensure};
use byte_stream::Options;

/// The characters that make a pattern of a name.
const SIGNS: [char; 3] = ['*', '?', '['];

/// Whether the input is requested from a server.
pub(crate) fn is_url(input: &OsStr) -> bool {
    let known = ["http", "https", "s3"];
    scheme(input).is_some_and(|scheme| known.iter().any(|name| scheme.eq_ignore_ascii_case(name)))
}

/// Whether it is one of the objects of a bucket, or a pattern of them.
pub(crate) fn is_object(input: &OsStr) -> bool {
    scheme(input).is_some_and(|scheme| scheme.eq_ignore_ascii_case("s3"))
}

fn scheme(input: &OsStr) -> Option<&str> {
    input.to_str()?.split_once("://").map(|(scheme, _)| scheme)
}

/// `s3://BUCKET/` and the key.
fn bucket_and_key(input: &OsStr) -> Option<(&str, &str)> {
    const START: usize = "s3://".len();
    let text = input.to_str().filter(|_| is_object(input))?;
    let slash = START + text[START..].find('/')?;
    Some(text.split_at(slash + 1)).filter(|(_, key)| slash > START && !key.is_empty())
}

/// Fails if the input has no bucket or no key.
pub(crate) fn check_object(input: &OsStr) -> Result<()> {
    ensure!(bucket_and_key(input).is_some(), "an object is s3://BUCKET/KEY");
    Ok(())
}

/// Whether the input may be a pattern of objects.
pub(crate) fn is_pattern(input: &OsStr) -> bool {
    bucket_and_key(input).is_some_and(|(_, key)| key.contains(SIGNS))
}

/// The URL of the resource whose name has this ending more.
pub(crate) fn with_ending(url: &str, ending: &str) -> String {
    // A key of a bucket has no query.
    let query = if is_object(OsStr::new(url)) { None } else { url.find(['?', '#']) };
    let (name, query) = url.split_at(query.unwrap_or(url.len()));
    [name, ending, query].concat()
}

/// An object that a pattern matches.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MatchedObject {
    pub(crate) url: String,
    pub(crate) size_bytes: u64,
}

/// The objects that a pattern matches, sorted by their keys; or the one whose key it is. As in
/// paths, only `**` matches a slash.
pub(crate) fn matched(pattern: &OsStr, options: Options) -> Result<Vec<MatchedObject>> {
    let (bucket, key) = bucket_and_key(pattern).context("an object is s3://BUCKET/KEY")?;
    let first = key.find(SIGNS).unwrap_or(key.len());
    let (prefix, rest) = key.split_at(first);
    // Without a slash behind it, no object of a deeper folder matches.
    let delimiter = (!rest.contains('/') && !rest.contains("**")).then_some('/');
    let listed = options.list(&format!("{bucket}{prefix}"), delimiter).map_err(io::Error::from)?;
    let object =
        |key: &str, size_bytes| MatchedObject { url: format!("{bucket}{key}"), size_bytes };
    if let Some(same) = listed.iter().find(|listed| listed.key == key) {
        return Ok(vec![object(&same.key, same.size_bytes)]);
    }
    let parsed = glob::Pattern::new(key).with_context(|| format!("the pattern {bucket}{key}"))?;
    let usual = glob::MatchOptions::new();
    let how = glob::MatchOptions { require_literal_separator: true, ..usual };
    // Keys that end in a slash stand for folders.
    let is_match = |key: &str| !key.ends_with('/') && parsed.matches_with(key, how);
    let found = listed.iter().filter(|listed| is_match(&listed.key));
    let found: Vec<_> = found.map(|listed| object(&listed.key, listed.size_bytes)).collect();
    if found.is_empty() {
        bail!("no object matches {bucket}{key}");
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_scheme_of_servers() {
        let check = |input: &str, expected: [bool; 3]| {
            let input = OsStr::new(input);
            assert_eq!([is_url(input), is_object(input), is_pattern(input)], expected, "{input:?}");
        };
        check("HTTPS://host/a?b=*", [true, false, false]);
        check("http://host", [true, false, false]);
        check("S3://b/a*", [true, true, true]);
        check("s3://b/a", [true, true, false]);
        check("s3://b*/a", [true, true, false]);
        check("a://b/*", [false, false, false]);
        check("a/b?c", [false, false, false]);
        check("s3:/b/*", [false, false, false]);
    }

    #[test]
    fn an_ending_is_one_of_the_name() {
        assert_eq!(with_ending("http://h/a?b#c", ".nlx"), "http://h/a.nlx?b#c");
        assert_eq!(with_ending("https://h/a", ".nlx"), "https://h/a.nlx");
        assert_eq!(with_ending("s3://b/a?b#c", ".nlx"), "s3://b/a?b#c.nlx");
    }

    #[test]
    fn an_object_has_a_bucket_and_a_key() {
        for input in ["s3://b", "s3://b/", "s3:///a", "s3://", "http://b/a"] {
            let error = check_object(OsStr::new(input)).unwrap_err();
            assert_eq!(error.to_string(), "an object is s3://BUCKET/KEY", "{input}");
        }
        check_object(OsStr::new("s3://b/a")).unwrap();
        assert_eq!(bucket_and_key(OsStr::new("s3://b/a/c")), Some(("s3://b/", "a/c")));
    }
}
