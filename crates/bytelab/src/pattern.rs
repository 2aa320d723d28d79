//! Patterns of names, in which `*` stands for any text.

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
}
