//! What is hidden of a run before a server gets it.

use std::env;

use anyhow::{Result, bail};
use lab::run::Run;
use serde_json::Value;
use sha2::{Digest, Sha256};

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
    /// The facts about the name of the host.
    Host,
    /// The name of the user, wherever it is a word.
    User,
    /// Each word with a slash, in facts, parameters, notes and reasons.
    Paths,
    /// Commands, their names and their texts, of experiments of the user's own.
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
        if let (true, Some(own)) = (self.hides(Kind::Commands), &mut bare.plan.definition) {
            own.text = hidden.stand_in("command", &own.text);
        }
        let mut document = serde_json::to_value(&bare)?;
        hidden.walk("", &mut document);
        let mut redacted: Run = serde_json::from_value(document)?;
        for (cell, old) in redacted.cells.iter_mut().zip(run.cells) {
            (cell.samples, cell.values) = (old.samples, old.values);
            for sample in &mut cell.samples {
                sample.not_counted = sample.not_counted.take().map(|why| hidden.text(&why));
            }
        }
        Ok(redacted)
    }
}

/// What is hidden in one run.
struct Hidden<'a> {
    redaction: &'a Redaction,
    users: Vec<String>,
    /// The methods whose names are commands, the longest first.
    commands: Vec<String>,
    is_own: bool,
}

impl Hidden<'_> {
    fn new<'a>(redaction: &'a Redaction, run: &Run) -> Hidden<'a> {
        let is_own = run.plan.definition.is_some() || run.plan.imported.is_some();
        let mut commands: Vec<String> = Vec::new();
        if redaction.hides(Kind::Commands) && is_own {
            commands.extend(run.cells.iter().map(|cell| cell.method.clone()));
            commands.sort_by_key(|command| std::cmp::Reverse(command.len()));
            commands.dedup();
        }
        let home = env::var("HOME").unwrap_or_default();
        let home = home.rsplit('/').next().unwrap_or_default().to_owned();
        let users = [env::var("USER").unwrap_or_default(), home];
        let users = users.into_iter().filter(|user| !user.is_empty()).collect();
        Hidden { redaction, users, commands, is_own }
    }

    fn walk(&self, key: &str, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.of_key(key, text),
            Value::Array(all) => all.iter_mut().for_each(|one| self.walk(key, one)),
            Value::Object(all) => {
                all.iter_mut().for_each(|(key, one)| self.walk(key, one));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn of_key(&self, key: &str, text: &str) -> String {
        let host = self.redaction.hides(Kind::Host);
        let commands = self.redaction.hides(Kind::Commands);
        match key {
            // Names of the field and times, which are not about the user.
            "uuid" | "experiment" | "started" | "metric" | "role" | "status" | "language" => {
                text.to_owned()
            }
            _ if host && key.contains("host") => self.stand_in("host", text),
            "about" if commands && self.is_own => self.stand_in("command", text),
            _ if commands && key.ends_with("_command") => self.stand_in("command", text),
            // They explain built-in methods, in which "read/write" is no path.
            "question" | "about" if !self.is_own => text.to_owned(),
            _ => self.text(text),
        }
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (number, command) in self.commands.iter().enumerate() {
            if text.contains(command.as_str()) {
                let name = if self.redaction.leaves_out {
                    format!("command-{}", number + 1)
                } else {
                    self.stand_in("command", command)
                };
                text = text.replace(command.as_str(), &name);
            }
        }
        let ends_word = |c: char| c.is_whitespace() || "\"'`=,;:()<>".contains(c);
        let words = text.split_inclusive(ends_word).map(|word| {
            let bare = word.trim_end_matches(ends_word);
            let end = &word[bare.len()..];
            if self.redaction.hides(Kind::Paths) && bare.contains('/') {
                return self.stand_in("path", bare) + end;
            }
            if self.redaction.hides(Kind::User) {
                let parts = bare.split('/').map(|part| self.without_user(part));
                return parts.collect::<Vec<_>>().join("/") + end;
            }
            word.to_owned()
        });
        words.collect()
    }

    fn without_user(&self, word: &str) -> String {
        if self.users.iter().any(|user| user == word) {
            self.stand_in("user", word)
        } else {
            word.to_owned()
        }
    }

    fn stand_in(&self, kind: &str, text: &str) -> String {
        if self.redaction.leaves_out {
            return "…".to_owned();
        }
        let digest = Sha256::digest(text.as_bytes());
        let digits: Vec<String> = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("{kind}-{}", digits.concat())
    }
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
    fn what_is_named_is_in_no_text() {
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
