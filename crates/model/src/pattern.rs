//! Patterns of names, in which `*` stands for any text, and names that are nearly another.

/// Whether the name matches the pattern, in which `*` stands for any text. The time grows with the
/// length of both, and not faster: a client of `serve` chooses the pattern.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    let between = name.strip_prefix(start).and_then(|name| name.strip_suffix(end));
    let Some(mut between) = between else { return false };
    // The first place of each part leaves the most for the parts after it.
    middle.split('*').all(|part| match between.find(part) {
        Some(at) => {
            between = &between[at + part.len()..];
            true
        }
        None => false,
    })
}

/// The name that was probably meant.
pub fn closest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let closeness = |name: &&str| (strsim::jaro_winkler(given, name) * 1e6) as u64;
    known.max_by_key(closeness).filter(|name| strsim::jaro_winkler(given, name) > 0.75)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        };
        check("mmap", "mmap", true);
        check("mmap", "mmap-window", false);
        check("mmap*", "mmap-window", true);
        check("*-window", "mmap-window", true);
        check("m*-*w", "mmap-window", true);
        check("*", "", true);
        check("a*b*c", "acb", false);
        check("a*a", "a", false);
        check("**b*", "abc", true);
        check("*ab*ab*", "abab", true);
        check("*ab*ab*", "aba", false);
    }

    #[test]
    fn no_pattern_takes_long_or_overflows_the_stack() {
        assert!(!matches(&"*a".repeat(30), &"ab".repeat(30)));
        assert!(matches(&"*".repeat(1_000_000), ""));
    }

    #[test]
    fn a_name_that_is_nearly_another_is_meant_for_it() {
        let known = ["read", "mmap", "mmap-window", "io-uring"];
        for (given, expected) in [
            ("mmpa", Some("mmap")),
            ("mmap-windows", Some("mmap-window")),
            ("iouring", Some("io-uring")),
            ("raed", Some("read")),
            ("splice", None),
            ("", None),
        ] {
            assert_eq!(closest(given, known.into_iter()), expected, "{given}");
        }
    }
}
