//! Patterns of names, in which `*` stands for any text, and names that are nearly another.

/// Whether the name matches the pattern, in which `*` stands for any text.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            name.char_indices()
                .map(|(i, _)| i)
                .chain([name.len()])
                .any(|i| matches(rest, &name[i..]))
        }),
    }
}

/// The name that was probably meant.
pub(crate) fn closest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
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
