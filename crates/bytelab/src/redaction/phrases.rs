//! The sentences of reasons and notes that are bytelab's own and quote nothing. In the others there
//! may be what programs have printed.

use lab::metric;

/// `#` stands for a number, and an `@` at the start for the name of a method.
const PHRASES: [&str; 27] = [
    "# bytes came from the device",
    "# of # bytes came from the device (something else reads the file, or its file system compresses)",
    "# samples in a row did not count",
    "@ also waits for something else than a CPU",
    "@ has no known time without its waits for a CPU",
    "bytelab was stopped meanwhile",
    "closed its output without ending",
    "died after # rounds",
    "ended with exit status #",
    "fewer counts",
    "handed over # bytes instead of #",
    "impossible values",
    "it is not ready in time",
    "its own clock did not move",
    "its session was interrupted",
    "killed",
    "no answer within # s",
    "no system calls by name",
    "not cold",
    "not warm",
    "the bytes it hands over differ between sessions",
    "the machine was suspended meanwhile",
    "the waits for a CPU are known and taken out",
    "timeline",
    "too short",
    "was ended by signal #",
    "wrong answer",
];

const SEPARATORS: [&str; 4] = [": ", "; ", ", but ", ", "];

/// What is hidden of a text that does not begin with a known phrase.
pub(super) const HIDDEN: &str = "the reason is hidden";

/// The known phrases with which the text begins, with `…` for the rest; none if it begins with
/// another one. `name` is what stands for a method.
pub(super) fn known_part(text: &str, name: impl Fn(&str) -> String) -> Option<String> {
    let mut shown = String::new();
    let mut rest = text;
    loop {
        let ends = SEPARATORS.iter().flat_map(|separator| {
            rest.match_indices(separator).map(|(at, found)| (at, found.len()))
        });
        let mut ends: Vec<(usize, usize)> = ends.chain([(rest.len(), 0)]).collect();
        ends.sort_unstable();
        // A phrase may have a separator in it.
        let found = ends
            .iter()
            .rev()
            .find_map(|(end, separator)| Some((known(&rest[..*end], &name)?, *end, *separator)));
        let Some((phrase, end, separator)) = found else {
            shown += if shown.is_empty() { return None } else { "…" };
            return Some(shown);
        };
        shown += &phrase;
        shown += &rest[end..end + separator];
        rest = &rest[end + separator..];
        if rest.is_empty() {
            return Some(shown);
        }
    }
}

fn known(text: &str, name: impl Fn(&str) -> String) -> Option<String> {
    if metric::is_known(text) {
        return Some(text.to_owned());
    }
    PHRASES.iter().find_map(|phrase| {
        let Some(end) = phrase.strip_prefix('@') else {
            return is_like(text, phrase).then(|| text.to_owned());
        };
        let words = end.split(' ').count() - 1;
        let (at, _) = text.rmatch_indices(' ').nth(words - 1)?;
        let (method, after) = text.split_at(at);
        is_like(after, end).then(|| format!("{}{after}", name(method)))
    })
}

fn is_like(text: &str, phrase: &str) -> bool {
    let is_number = |word: &str| word.parse::<f64>().is_ok_and(f64::is_finite);
    let (words, expected) = (text.split(' '), phrase.split(' '));
    words.clone().count() == expected.clone().count()
        && words.zip(expected).all(|(word, expected)| match expected {
            "#" => is_number(word),
            _ => word == expected,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let shown = known_part(text, |name| format!("<{name}>"));
        assert_eq!(shown.as_deref(), expected, "{text}");
    }

    #[test]
    fn only_known_phrases_are_shown() {
        let died = "died after 12 rounds: ended with exit status 3";
        check(died, Some(died));
        check(
            &format!("{died}; stderr of sh: killed; password=x"),
            Some("died after 12 rounds: ended with exit status 3; …"),
        );
        check("secret: ended with exit status 3", None);
        check("ended with exit status secret", None);
        check("ended with exit status 3 secret", None);
        check("cycles: no PMU of secret", Some("cycles: …"));
        check("secret_metric: killed", None);
        check(
            "my reader has no known time without its waits for a CPU",
            Some("<my reader> has no known time without its waits for a CPU"),
        );
        check(
            "a also waits for something else than a CPU, but secret",
            Some("<a> also waits for something else than a CPU, but …"),
        );
        check(
            "not warm: 4096 bytes came from the device",
            Some("not warm: 4096 bytes came from the device"),
        );
        check("", None);
        check(
            "é also waits for something else than a CPU",
            Some("<é> also waits for something else than a CPU"),
        );
    }
}
