//! The words of a text that are paths.

/// The text, in which `stand_in` replaces each word and each text between quotation marks that is a
/// path. A text between quotation marks is one if it has a slash.
pub(super) fn without_paths(
    text: &str,
    is_path: impl Fn(&str) -> bool,
    stand_in: impl Fn(&str) -> String,
) -> String {
    if text.starts_with('/') && !text.contains(": ") {
        return stand_in(text);
    }
    let mut shown = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_start = !shown.ends_with(char::is_alphanumeric);
        let quoted = (is_start && "'\"`".contains(first))
            .then(|| rest[1..].find(first))
            .flatten()
            .map(|end| &rest[1..=end]);
        if let Some(quoted) = quoted.filter(|quoted| quoted.contains('/')) {
            shown.push(first);
            shown += &stand_in(quoted);
            shown.push(first);
            rest = &rest[quoted.len() + 2..];
            continue;
        }
        let end = rest.find(ends_word).unwrap_or(rest.len());
        if end == 0 {
            shown.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(end);
        shown += &if is_path(word) { stand_in(word) } else { word.to_owned() };
        rest = after;
    }
    shown
}

pub(super) fn ends_word(c: char) -> bool {
    c.is_whitespace() || "\"'`=,;:()<>".contains(c)
}

pub(super) fn starts_path(word: &str) -> bool {
    // "Enhanced / Automatic IBRS" has none.
    word != "/" && ["/", "~/", "./", "../"].iter().any(|start| word.starts_with(start))
}
