//! What is hidden of a run before a server gets it.

use std::{env, fs};

use anyhow::{Result, bail};
use lab::run::{Cell, Run};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::names::Names;
use super::packed::without_samples;

/// What is hidden. Each hidden text becomes a word with a part of its SHA-256, so that what is
/// equal stays equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Redaction {
    kinds: Vec<Kind>,
    /// Texts are left out, and commands get numbers.
    leaves_out: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The facts about the name of the host, and this name wherever it is a word.
    Host,
    /// The name of the user, wherever it is a word.
    User,
    /// Each word and each quoted text with a slash, in params, notes and reasons; in facts those
    /// that begin with it. A path with spaces in a text without quotation marks is known by the
    /// facts and params that are paths; of another one, words may stay.
    Paths,
    /// Commands, their names, their texts and the values of their params, of experiments of the
    /// user's own; workers of the user's own.
    Commands,
}

/// Names the kinds where no flag does.
pub(crate) const REDACT: &str = "BYTELAB_REDACT";

impl Redaction {
    /// The kinds that a flag names, else those of `BYTELAB_REDACT`.
    pub(crate) fn named(flag: Option<&str>, leaves_out: bool) -> Result<Redaction> {
        let variable = || env::var(REDACT).ok();
        let text = flag.map(str::to_owned).or_else(variable).unwrap_or_default();
        let mut redaction = Redaction { leaves_out, ..Redaction::default() };
        for kind in text.split(',').map(str::trim).filter(|kind| !kind.is_empty()) {
            match kind {
                "host" => redaction.kinds.push(Kind::Host),
                "user" => redaction.kinds.push(Kind::User),
                "paths" => redaction.kinds.push(Kind::Paths),
                "commands" => redaction.kinds.push(Kind::Commands),
                _ => bail!("{kind:?} cannot be hidden: name some of host, user, paths, commands"),
            }
        }
        Ok(redaction)
    }

    pub(crate) fn hides_something(&self) -> bool {
        !self.kinds.is_empty()
    }

    fn hides(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// The run as a server gets it.
    pub(crate) fn apply(&self, run: Run) -> Result<Run> {
        if self.kinds.is_empty() {
            return Ok(run);
        }
        let hidden = Hidden::new(self, &run);
        let mut bare = run.clone();
        bare.cells = run.cells.iter().map(without_samples).collect();
        bare.cells.iter_mut().for_each(|cell| cell.about = hidden.about(cell));
        if let (true, Some(own)) = (self.hides(Kind::Commands), &mut bare.plan.definition) {
            own.text = self.stand_in("command", &own.text);
        }
        let mut document = serde_json::to_value(&bare)?;
        hidden.walk("", false, &mut document);
        let mut redacted: Run = serde_json::from_value(document)?;
        for (cell, old) in redacted.cells.iter_mut().zip(run.cells) {
            (cell.samples, cell.values) = (old.samples, old.values);
            for sample in &mut cell.samples {
                sample.not_counted = sample.not_counted.take().map(|why| hidden.text(&why));
            }
        }
        Ok(redacted)
    }

    fn stand_in(&self, kind: &str, text: &str) -> String {
        if self.leaves_out {
            return "…".to_owned();
        }
        let digest = Sha256::digest(text.as_bytes());
        let digits: Vec<String> = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("{kind}-{}", digits.concat())
    }
}

/// What is hidden in one run.
struct Hidden<'a> {
    redaction: &'a Redaction,
    /// Names that may be in any text.
    names: Names,
    /// Commands and the values of their params, which are not in facts: "2" is also a number.
    commands: Names,
    is_own: bool,
}

impl Hidden<'_> {
    fn new<'a>(redaction: &'a Redaction, run: &Run) -> Hidden<'a> {
        let is_own = run.plan.definition.is_some() || run.plan.imported.is_some();
        let mut names = Names::default();
        for (kind, word, all) in [
            (Kind::Host, "host", hosts()),
            (Kind::User, "user", users()),
            (Kind::Paths, "path", paths_with_spaces(run)),
        ] {
            if redaction.hides(kind) {
                names.extend(all, |_, name| redaction.stand_in(word, name));
            }
        }
        let mut commands = Names::default();
        if is_own && redaction.hides(Kind::Commands) {
            // Points and methods must stay different ones.
            let numbered = |word: &'static str| {
                move |n: usize, name: &str| {
                    let number = || format!("{word}-{n}");
                    if redaction.leaves_out { number() } else { redaction.stand_in(word, name) }
                }
            };
            let methods = run.cells.iter().map(|cell| cell.method.clone());
            commands.extend(methods.collect(), numbered("command"));
            commands.extend(values(run), numbered("value"));
        }
        Hidden { redaction, names, commands, is_own }
    }

    fn walk(&self, key: &str, is_fact: bool, value: &mut Value) {
        match value {
            Value::String(text) if is_fact => *text = self.of_fact(key, text),
            Value::String(text) => *text = self.of_key(key, text),
            Value::Array(all) => all.iter_mut().for_each(|one| self.walk(key, is_fact, one)),
            Value::Object(all) => all.iter_mut().for_each(|(key, one)| {
                self.walk(key, is_fact || key == "environment", one);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn of_fact(&self, key: &str, text: &str) -> String {
        match key {
            "fingerprint" | COMMIT => text.to_owned(),
            _ if self.redaction.hides(Kind::Host) && key.contains("host") => {
                self.redaction.stand_in("host", text)
            }
            _ if self.redaction.hides(Kind::Commands) && key.ends_with("_command") => {
                self.redaction.stand_in("command", text)
            }
            _ if key.ends_with("_command") => self.text(text),
            _ => self.without_paths(&self.names.replaced(text), starts_path),
        }
    }

    fn of_key(&self, key: &str, text: &str) -> String {
        match key {
            // Names of the field and times, which are not about the user.
            "uuid" | "experiment" | "started" | "metric" | "role" | "status" | "language" => {
                text.to_owned()
            }
            // It is hidden already.
            "about" => text.to_owned(),
            // "read/write" is no path where it explains a built-in method.
            "question" | "method" | "methods" if !self.is_own => text.to_owned(),
            _ => self.commands.whole(text).unwrap_or_else(|| self.text(text)),
        }
    }

    /// A method that has no language may be a worker of the user: it is described by its command.
    fn about(&self, cell: &Cell) -> String {
        if !self.is_own && cell.language.is_some() {
            return cell.about.clone();
        }
        if self.redaction.hides(Kind::Commands) {
            return self.redaction.stand_in("command", &cell.about);
        }
        self.text(&cell.about)
    }

    fn text(&self, text: &str) -> String {
        let text = self.names.replaced(&self.commands.replaced(text));
        self.without_paths(&text, |word| word.contains('/'))
    }

    /// Hides the words, and the texts between quotation marks, that are paths.
    fn without_paths(&self, text: &str, is_path: impl Fn(&str) -> bool) -> String {
        if !self.redaction.hides(Kind::Paths) {
            return text.to_owned();
        }
        if text.starts_with('/') && !text.contains(": ") {
            return self.redaction.stand_in("path", text);
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
                shown += &self.redaction.stand_in("path", quoted);
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
            let path = is_path(word).then(|| self.redaction.stand_in("path", word));
            shown += path.as_deref().unwrap_or(word);
            rest = after;
        }
        shown
    }
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || "\"'`=,;:()<>".contains(c)
}

fn starts_path(word: &str) -> bool {
    ["/", "~/", "./", "../"].iter().any(|start| word.starts_with(start))
}

/// The fact about the project, which is a digest.
const COMMIT: &str = "project_commit";

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
    all.extend(run.environment.facts.values().filter_map(Value::as_str).map(str::to_owned));
    all.extend(values(run));
    all.retain(|path| path.starts_with('/') && path.contains(ends_word));
    all
}

/// The texts among the values of params.
fn values(run: &Run) -> Vec<String> {
    let points = run.points.iter().chain(run.cells.iter().map(|cell| &cell.point));
    let values = points.flat_map(|point| point.iter().map(|(_, value)| value));
    let texts = values.filter_map(|value| match serde_json::to_value(value) {
        Ok(Value::String(text)) => Some(text),
        _ => None,
    });
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts.dedup();
    texts
}

#[cfg(test)]
mod tests {
    use lab::run::{Definition, Status, Warning};

    use super::*;
    use crate::store::tests::suite::{new_run, new_sample, new_values};

    fn run() -> Run {
        let mut run = new_run("bench");
        run.plan.definition = Some(Definition {
            file: "/home/x/my.toml".to_owned(),
            text: "command = 'sort /secret/a'".to_owned(),
            thresholds: Vec::new(),
        });
        run.plan.data_dir = Some("/secret/data".to_owned());
        let facts = &mut run.environment.facts;
        facts.insert("hostname_digest".to_owned(), "myhost".into());
        facts.insert("data_directory".to_owned(), "/secret/data".into());
        facts.insert("worker_c_command".to_owned(), "cc -I/secret x.c".into());
        run.cells[0].method = "sort /secret/a".to_owned();
        run.cells[0].about = "sort /secret/a".to_owned();
        run.cells[1].status = Status::Failed("cannot open /secret/b: gone".to_owned());
        run.cells[0].push(new_sample(3, 0), &new_values(3));
        run.cells[0].samples[0].not_counted = Some("/secret/a was not cold".to_owned());
        run.notes = vec![Warning::noted("'sort /secret/a' is slow").of_method("sort /secret/a")];
        run
    }

    fn text(run: &Run) -> String {
        serde_json::to_string(run).unwrap()
    }

    #[test]
    fn nothing_is_hidden_unless_it_is_named() {
        let run = run();
        assert_eq!(text(&Redaction::default().apply(run.clone()).unwrap()), text(&run));
        assert!(Redaction::named(Some("host,all"), false).is_err());
    }

    #[test]
    fn redacted_words_are_in_no_text() {
        let run = run();
        for leaves_out in [false, true] {
            let all = Redaction::named(Some("host,user,paths,commands"), leaves_out).unwrap();
            let hidden = all.apply(run.clone()).unwrap();
            let text = text(&hidden);
            for secret in ["secret", "myhost", "sort", "my.toml", "-I/"] {
                assert!(!text.contains(secret), "{secret} {text}");
            }
            assert_eq!(hidden.cells[0].values, run.cells[0].values);
            assert!(text.contains("'command-"), "{text}");
            assert!(hidden.cells[0].method.starts_with("command-"), "{}", hidden.cells[0].method);
            assert_eq!(hidden.experiment, "bench");
        }
    }

    /// The run of a built-in experiment with a worker of the user's own.
    fn built_in() -> Run {
        let mut run = new_run("reading");
        (run.plan.definition, run.plan.imported) = (None, None);
        run.cells[0].language = Some("rust".to_owned());
        run.cells[0].about = "read/write, in turn".to_owned();
        run.cells[1].language = None;
        run.cells[1].about = "/bin/sh '/my secret/worker' --x".to_owned();
        let file = "/my secret/great file.bin";
        run.points[0].set("file", file);
        run.cells[0].point.set("file", file);
        let why = format!("cannot open {file}: no '/another secret/file' at a secret/place");
        run.cells[1].status = Status::Failed(why);
        run
    }

    #[test]
    fn workers_and_paths_with_spaces_are_hidden() {
        for kinds in ["paths", "paths,commands"] {
            let redaction = Redaction::named(Some(kinds), false).unwrap();
            let text = text(&redaction.apply(built_in()).unwrap());
            for secret in ["secret", "great", "file.bin", "/bin"] {
                assert!(!text.contains(secret), "{kinds} {secret}: {text}");
            }
            assert!(text.contains("read/write, in turn"), "{text}");
        }
    }

    #[test]
    fn facts_that_look_like_a_command_or_a_path_stay() {
        let mut run = run();
        run.cells[0].method = "2".to_owned();
        run.points[0].set("file", "8");
        let facts = [("project_commit", "a2b2-2"), ("os_name", "Debian GNU/Linux 2")];
        let facts = facts.map(|(name, value)| (name.to_owned(), value.into()));
        run.environment.facts.extend(facts);
        run.environment.fingerprint = "2".to_owned();
        let all = Redaction::named(Some("host,user,paths,commands"), false).unwrap();
        let hidden = all.apply(run.clone()).unwrap();
        assert_eq!(hidden.environment.fingerprint, "2");
        for fact in ["project_commit", "os_name", "cpu_model"] {
            assert_eq!(hidden.environment.facts[fact], run.environment.facts[fact]);
        }
        assert!(hidden.cells[0].method.starts_with("command-"), "{}", hidden.cells[0].method);
        let value = serde_json::to_string(&hidden.points[0]).unwrap();
        assert!(value.contains("value-"), "{value}");
    }

    #[test]
    fn what_is_equal_stays_equal() {
        let paths = Redaction::named(Some("paths"), false).unwrap();
        let hidden = paths.apply(run()).unwrap();
        let of_fact = hidden.environment.facts["data_directory"].as_str().unwrap();
        assert_eq!(hidden.plan.data_dir.as_deref(), Some(of_fact));
        assert!(hidden.cells[0].method.starts_with("sort path-"), "{}", hidden.cells[0].method);
        assert_eq!(hidden.environment.facts["hostname_digest"], "myhost");
    }
}
