//! Which texts of a run are hidden, and what stands for them: kinds of text, names, sentences that
//! quote nothing, and paths.

use std::collections::{BTreeMap, BTreeSet};
use std::{env, fs};

use anyhow::{Result, bail};
use measure::experiment::{Experiment, Method};
use model::metric;
use model::param::{ParamKind, ParamValue, Point};
use model::run::OLD_SUFFIX;
use model::run::{Cell, RATIO, Run};
use sha2::{Digest, Sha256};

/// The languages of bytelab's own workers. Another one is a text of a worker of the user's.
pub(super) const LANGUAGES: [&str; 9] =
    ["c", "cpp", "go", "haskell", "java", "node", "python", "rust", "swift"];

/// Hides the private texts of one run.
pub(super) struct Redactor<'a> {
    pub(super) redaction: &'a Redaction,
    pub(super) own: Option<&'a Experiment>,
    /// Names of the host, of users and paths with spaces, which may be in any text.
    names: Pseudonyms,
    /// Commands, and the values and params that are hidden.
    commands: Pseudonyms,
    /// Answers of the user's programs, which bytelab's own methods did not give.
    answers: Pseudonyms,
    /// Checksums that bytelab's own methods have computed.
    own_answers: BTreeSet<String>,
}

impl<'a> Redactor<'a> {
    pub(super) fn new(
        redaction: &'a Redaction,
        run: &Run,
        own: Option<&'a Experiment>,
    ) -> Redactor<'a> {
        let mut names = Pseudonyms::default();
        for (kind, word, all) in [
            (HiddenKind::Host, "host", hosts()),
            (HiddenKind::User, "user", users()),
            (HiddenKind::Paths, "path", paths_with_spaces(run)),
        ] {
            if redaction.hides(kind) {
                names.extend(all, |_, name| redaction.stand_in(word, name));
            }
        }
        let empty = || (Pseudonyms::default(), Pseudonyms::default());
        let ((commands, answers), own_answers) = (empty(), BTreeSet::new());
        let mut hidden = Redactor { redaction, own, names, commands, answers, own_answers };
        hidden.add_values(run);
        if redaction.hides(HiddenKind::Commands) {
            hidden.add_commands(run);
        }
        hidden
    }

    /// Values that are paths are hidden with these, other texts with commands. Points stay
    /// different ones.
    fn add_values(&mut self, run: &Run) {
        let (mut paths, mut others) = (BTreeSet::new(), BTreeSet::new());
        for (name, value) in points(run).flat_map(Point::iter) {
            let ParamValue::Text(text) = value else { continue };
            match self.own_param(name) {
                Some(ParamKind::Word(words)) if words.contains(&&**text) => {}
                Some(_) => drop(paths.insert(text.clone())),
                None if text.contains('/') && !self.redaction.hides(HiddenKind::Commands) => {
                    paths.insert(text.clone());
                }
                None => drop(others.insert(text.clone())),
            }
        }
        for (kind, word, all) in
            [(HiddenKind::Paths, "path", paths), (HiddenKind::Commands, "value", others)]
        {
            if self.redaction.hides(kind) {
                let redaction = self.redaction;
                let all = all.into_iter().collect();
                self.commands.extend(all, |n, text| redaction.numbered(word, n, text));
            }
        }
    }

    fn add_commands(&mut self, run: &Run) {
        let redaction = self.redaction;
        let (mine, users): (Vec<&Cell>, Vec<&Cell>) =
            run.cells.iter().partition(|cell| self.method_of(&cell.method).is_some());
        let methods = users.iter().map(|cell| &*cell.method);
        let methods = methods.map(|name| name.strip_suffix(OLD_SUFFIX).unwrap_or(name).to_owned());
        let methods = methods.collect();
        let params = points(run).flat_map(Point::iter).map(|(name, _)| name);
        let params = params.filter(|name| self.own_param(name).is_none()).map(str::to_owned);
        let params = params.collect();
        let metrics = run.cells.iter().flat_map(|cell| cell.values.keys());
        let metrics = metrics.filter(|name| !metric::is_known(name)).cloned().collect();
        self.own_answers = mine.into_iter().flat_map(answers).filter(|a| is_checksum(a)).collect();
        let others = users.into_iter().chain(&run.cells).flat_map(answers);
        let others = others.filter(|answer| !self.own_answers.contains(answer)).collect();
        self.commands.extend(methods, |n, name| redaction.numbered("command", n, name));
        self.commands.extend(params, |n, name| redaction.numbered("param", n, name));
        self.commands.extend(metrics, |n, name| {
            format!("{}{}", redaction.numbered("metric", n, name), unit_of(name))
        });
        self.answers.extend(others, |n, answer| redaction.numbered("answer", n, answer));
    }

    pub(super) fn point(&self, point: &Point) -> Point {
        let mut shown = Point::default();
        for (name, value) in point.iter() {
            let value = match value {
                ParamValue::Text(text) => {
                    let whole = self.commands.whole(text);
                    let is_own = self.own_param(name).is_some();
                    let text = || if is_own { text.clone() } else { self.text(text) };
                    ParamValue::Text(whole.unwrap_or_else(text))
                }
                number @ ParamValue::Number(_) => number.clone(),
            };
            shown.set(self.param(name), value);
        }
        shown
    }

    pub(super) fn method(&self, name: &str) -> String {
        let (of_both, side) = match name.strip_suffix(OLD_SUFFIX) {
            Some(of_both) => (of_both, OLD_SUFFIX),
            None => (name, ""),
        };
        match self.method_of(name) {
            Some(_) => name.to_owned(),
            None => format!("{}{side}", self.name("command", of_both)),
        }
    }

    pub(super) fn param(&self, name: &str) -> String {
        match self.own_param(name) {
            Some(_) => name.to_owned(),
            None => self.name("param", name),
        }
    }

    pub(super) fn metric(&self, name: &str) -> String {
        if metric::is_known(name) || name == RATIO {
            return name.to_owned();
        }
        self.name("metric", name)
    }

    /// The replacement of a name or a text that the user has written.
    pub(super) fn name(&self, kind: &str, text: &str) -> String {
        if !self.redaction.hides(HiddenKind::Commands) {
            return self.text(text);
        }
        self.commands.whole(text).unwrap_or_else(|| self.redaction.stand_in(kind, text))
    }

    pub(super) fn answer(&self, answer: &str) -> String {
        if self.own_answers.contains(answer) {
            return answer.to_owned();
        }
        if !self.redaction.hides(HiddenKind::Commands) {
            return self.text(answer);
        }
        let unknown = || self.redaction.stand_in("answer", answer);
        self.answers.whole(answer).unwrap_or_else(unknown)
    }

    pub(super) fn reason(&self, why: &str) -> String {
        self.sentence(why).unwrap_or_else(|| HIDDEN.to_owned())
    }

    /// A reason or a note; none if nothing of it may be seen.
    pub(super) fn sentence(&self, text: &str) -> Option<String> {
        if self.redaction.hides(HiddenKind::Commands) {
            known_part(text, |name| self.method(name))
        } else {
            Some(self.text(text))
        }
    }

    pub(super) fn path(&self, path: &str) -> String {
        if self.redaction.hides(HiddenKind::Paths) {
            return self.redaction.stand_in("path", path);
        }
        self.text(path)
    }

    pub(super) fn text(&self, text: &str) -> String {
        self.label(&self.commands.replaced(text))
    }

    /// A text without names and paths: a label may be the name of a command all the same.
    pub(super) fn label(&self, text: &str) -> String {
        let text = self.names.replaced(text);
        if !self.redaction.hides(HiddenKind::Paths) {
            return text;
        }
        let stand_in = |path: &str| self.redaction.stand_in("path", path);
        without_paths(&text, |word| word.contains('/'), stand_in)
    }

    pub(super) fn without_names(&self, text: &str) -> String {
        self.names.replaced(text)
    }

    pub(super) fn method_of(&self, name: &str) -> Option<&'a Method> {
        let name = name.strip_suffix(OLD_SUFFIX).unwrap_or(name);
        self.own?.methods.iter().find(|method| method.name == name)
    }

    pub(super) fn own_param(&self, name: &str) -> Option<&'a ParamKind> {
        let param = self.own?.params.iter().find(|param| param.name == name);
        param.map(|param| &param.kind)
    }
}

/// The end of a metric's name that says its unit.
fn unit_of(name: &str) -> &'static str {
    let ends = ["_bytes_per_s", "_bytes", "_ns"];
    ends.into_iter().find(|end| name.ends_with(end)).unwrap_or_default()
}

fn points(run: &Run) -> impl Iterator<Item = &Point> {
    let of_notes = run.notes.iter().filter_map(|note| note.point.as_ref());
    run.points.iter().chain(run.cells.iter().map(|cell| &cell.point)).chain(of_notes)
}

fn answers(cell: &Cell) -> impl Iterator<Item = String> {
    let answers = cell.samples.iter().filter_map(|sample| sample.answer.as_deref());
    answers.chain(cell.digest.as_deref()).map(str::to_owned)
}

/// Whether the answer has the form of a built-in method's checksum.
fn is_checksum(answer: &str) -> bool {
    answer.len() == 16 && answer.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The name of this machine.
fn hosts() -> Vec<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    vec![name.trim().to_owned()]
}

/// The name of this user.
fn users() -> Vec<String> {
    let variable = |name| env::var(name).unwrap_or_default();
    let home = variable("HOME").rsplit('/').next().unwrap_or_default().to_owned();
    vec![variable("USER"), variable("LOGNAME"), home]
}

/// Paths that are no single word: that of the home, and those that the run names as a whole.
fn paths_with_spaces(run: &Run) -> Vec<String> {
    let mut all = vec![env::var("HOME").unwrap_or_default()];
    all.extend(env::current_dir().ok().and_then(|path| path.into_os_string().into_string().ok()));
    all.extend(run.plan.data_dir.clone());
    let facts = run.environment.facts.values();
    all.extend(facts.filter_map(|fact| fact.as_str().map(str::to_owned)));
    let values = points(run).flat_map(Point::iter).map(|(_, value)| value);
    all.extend(values.filter_map(|value| match value {
        ParamValue::Text(text) => Some(text.clone()),
        ParamValue::Number(_) => None,
    }));
    all.retain(|path| path.starts_with('/') && path.contains(ends_word));
    all
}

/// The kinds of text that are hidden. A hidden text becomes a word with a part of its SHA-256, so
/// that equal texts stay equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Redaction {
    kinds: Vec<HiddenKind>,
    /// Leaves texts out; those that must stay different are numbered.
    leaves_out: bool,
    /// Keeps only the facts that machines of one kind share, and neither id nor label.
    pub(super) is_contribution: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HiddenKind {
    /// The facts about the name of the host, and this name wherever it is a word.
    Host,
    /// The name of the user, wherever it is a word.
    User,
    /// Each word and each quoted text with a slash, in values of params, notes and reasons; in
    /// facts those that begin with it. A path with spaces in a text without quotation marks is
    /// known by the facts and params that are paths; of another one, words may stay.
    Paths,
    /// All that the user or a program of the user's has worded, except the label: commands, their
    /// names, params, metrics and answers, and of reasons and notes all but known phrases.
    Commands,
}

/// The environment variable that names the kinds if no flag does.
pub(crate) const REDACT: &str = "BYTELAB_REDACT";

impl Redaction {
    /// The kinds that a flag names, else those of `BYTELAB_REDACT`.
    pub(crate) fn named(flag: Option<&str>, leaves_out: bool) -> Result<Redaction> {
        let variable = || env::var(REDACT).ok();
        let text = flag.map(str::to_owned).or_else(variable).unwrap_or_default();
        let mut redaction = Redaction { leaves_out, ..Redaction::default() };
        for kind in text.split(',').map(str::trim).filter(|kind| !kind.is_empty()) {
            match kind {
                "host" => redaction.kinds.push(HiddenKind::Host),
                "user" => redaction.kinds.push(HiddenKind::User),
                "paths" => redaction.kinds.push(HiddenKind::Paths),
                "commands" => redaction.kinds.push(HiddenKind::Commands),
                _ => bail!("{kind:?} cannot be hidden: name some of host, user, paths, commands"),
            }
        }
        Ok(redaction)
    }

    /// The redaction of a run that is published: all kinds are hidden.
    pub(crate) fn contribution() -> Redaction {
        let kinds =
            vec![HiddenKind::Host, HiddenKind::User, HiddenKind::Paths, HiddenKind::Commands];
        Redaction { kinds, leaves_out: true, is_contribution: true }
    }

    pub(crate) fn hides_something(&self) -> bool {
        !self.kinds.is_empty()
    }

    pub(super) fn hides(&self, kind: HiddenKind) -> bool {
        self.kinds.contains(&kind)
    }

    pub(super) fn stand_in(&self, kind: &str, text: &str) -> String {
        if self.leaves_out {
            return "…".to_owned();
        }
        let digest = Sha256::digest(text.as_bytes());
        let digits: Vec<String> = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("{kind}-{}", digits.concat())
    }

    /// The replacement of the `n`-th of the texts that must stay different.
    pub(super) fn numbered(&self, kind: &str, n: usize, text: &str) -> String {
        if self.leaves_out { format!("{kind}-{n}") } else { self.stand_in(kind, text) }
    }
}

// Names that are replaced in a text if they are whole words.

/// Names, each with its replacement.
#[derive(Default)]
pub(super) struct Pseudonyms(BTreeMap<String, String>);

impl Pseudonyms {
    /// Adds names; `stand_in` gets the number of each, from 1, and the name.
    pub(super) fn extend(&mut self, names: Vec<String>, stand_in: impl Fn(usize, &str) -> String) {
        let mut n = 0;
        for name in names.into_iter().filter(|name| !name.is_empty()) {
            self.0.entry(name).or_insert_with_key(|name| {
                n += 1;
                stand_in(n, name)
            });
        }
    }

    /// The replacement of the text, if all of it is a name.
    pub(super) fn whole(&self, text: &str) -> Option<String> {
        self.0.get(text).cloned()
    }

    /// The text with each name replaced, the longest one where several begin. What was put in is
    /// not looked at again.
    pub(super) fn replaced(&self, text: &str) -> String {
        let mut shown = String::new();
        let mut before = None;
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let found = Some(()).filter(|()| !joins(before, first)).and_then(|()| self.first(rest));
            let taken = found.map_or(first.len_utf8(), |(name, _)| name.len());
            shown += found.map_or(&rest[..taken], |(_, stand_in)| stand_in);
            before = rest[..taken].chars().next_back();
            rest = &rest[taken..];
        }
        shown
    }

    /// The longest name with which the text begins, as a whole word.
    fn first(&self, text: &str) -> Option<(&String, &String)> {
        let is_first = |name: &str| {
            let rest = text.strip_prefix(name);
            rest.is_some_and(|rest| {
                !rest.chars().next().is_some_and(|next| joins(name.chars().next_back(), next))
            })
        };
        self.0.iter().filter(|(name, _)| is_first(name)).max_by_key(|(name, _)| name.len())
    }
}

/// Whether two characters belong to one word.
fn joins(a: Option<char>, b: char) -> bool {
    a.is_some_and(char::is_alphanumeric) && b.is_alphanumeric()
}

// The sentences of reasons and notes that are bytelab's own and quote nothing. In the others
// there may be what programs have printed.

/// `#` stands for a number, and an `@` at the start for the name of a method.
const PHRASES: [&str; 28] = [
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
    "profile",
    "the bytes it hands over differ between sessions",
    "the machine was suspended meanwhile",
    "the waits for a CPU are known and taken out",
    "timeline",
    "too short",
    "was ended by signal #",
    "wrong answer",
];

const SEPARATORS: [&str; 4] = [": ", "; ", ", but ", ", "];

/// The replacement of a text that does not begin with a known phrase.
pub(super) const HIDDEN: &str = "the reason is hidden";

/// The known phrases with which the text begins, with `…` for the rest; none if it begins with
/// another one. `name` is the replacement of a method.
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

// The words of a text that are paths.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_as_whole_words_and_once() {
        let mut names = Pseudonyms::default();
        let all = ["cat", "cat a", "2", "ada"].map(str::to_owned).to_vec();
        names.extend(all, |n, _| format!("name-{}", n + 1));
        for (text, expected) in [
            ("cat", "name-2"),
            ("'cat a' ended", "'name-3' ended"),
            ("concatenate 12 2.5", "concatenate 12 name-4.5"),
            ("/home/ada/x", "/home/name-5/x"),
            ("é2 2é", "é2 2é"),
            ("", ""),
        ] {
            assert_eq!(names.replaced(text), expected);
        }
        assert_eq!(names.whole("cat a").as_deref(), Some("name-3"));
        assert_eq!(names.whole("cats"), None);
    }
}

#[cfg(test)]
mod phrases_tests {
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
