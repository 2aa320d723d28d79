//! What stands for the texts of one run that are hidden.

use std::collections::BTreeSet;
use std::{env, fs};

use lab::analyze::OLD;
use lab::experiment::{Experiment, Method};
use lab::metric;
use lab::param::{Kind as ParamKind, Point, Value};
use lab::run::{Cell, RATIO, Run};

use super::kinds::{Kind, Redaction};
use super::names::Names;
use super::phrases::{HIDDEN, known_part};
use super::words::{ends_word, without_paths};

/// The languages of bytelab's own workers. Another one is a text of a worker of the user's.
pub(super) const LANGUAGES: [&str; 9] =
    ["c", "cpp", "go", "haskell", "java", "node", "python", "rust", "swift"];

/// What is hidden in one run.
pub(super) struct Hidden<'a> {
    pub(super) redaction: &'a Redaction,
    pub(super) own: Option<&'a Experiment>,
    /// Names of the host, of users and paths with spaces, which may be in any text.
    names: Names,
    /// Commands, and the values and params that are hidden.
    commands: Names,
    /// Answers of the user's programs, which bytelab's own methods did not give.
    answers: Names,
    /// Checksums that bytelab's own methods have computed.
    own_answers: BTreeSet<String>,
}

impl<'a> Hidden<'a> {
    pub(super) fn new(
        redaction: &'a Redaction,
        run: &Run,
        own: Option<&'a Experiment>,
    ) -> Hidden<'a> {
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
        let empty = || (Names::default(), Names::default());
        let ((commands, answers), own_answers) = (empty(), BTreeSet::new());
        let mut hidden = Hidden { redaction, own, names, commands, answers, own_answers };
        hidden.add_values(run);
        if redaction.hides(Kind::Commands) {
            hidden.add_commands(run);
        }
        hidden
    }

    /// Values that are paths are hidden with these, other texts with commands. Points stay
    /// different ones.
    fn add_values(&mut self, run: &Run) {
        let (mut paths, mut others) = (BTreeSet::new(), BTreeSet::new());
        for (name, value) in points(run).flat_map(Point::iter) {
            let Value::Text(text) = value else { continue };
            match self.own_param(name) {
                Some(ParamKind::Word(words)) if words.contains(&&**text) => {}
                Some(_) => drop(paths.insert(text.clone())),
                None if text.contains('/') && !self.redaction.hides(Kind::Commands) => {
                    paths.insert(text.clone());
                }
                None => drop(others.insert(text.clone())),
            }
        }
        for (kind, word, all) in [(Kind::Paths, "path", paths), (Kind::Commands, "value", others)] {
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
        let methods = methods.map(|name| name.strip_suffix(OLD).unwrap_or(name).to_owned());
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
                Value::Text(text) => {
                    let whole = self.commands.whole(text);
                    let is_own = self.own_param(name).is_some();
                    let text = || if is_own { text.clone() } else { self.text(text) };
                    Value::Text(whole.unwrap_or_else(text))
                }
                number @ Value::Number(_) => number.clone(),
            };
            shown.set(self.param(name), value);
        }
        shown
    }

    pub(super) fn method(&self, name: &str) -> String {
        let (of_both, side) = match name.strip_suffix(OLD) {
            Some(of_both) => (of_both, OLD),
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

    /// What stands for a name or a text that the user has worded.
    pub(super) fn name(&self, kind: &str, text: &str) -> String {
        if !self.redaction.hides(Kind::Commands) {
            return self.text(text);
        }
        self.commands.whole(text).unwrap_or_else(|| self.redaction.stand_in(kind, text))
    }

    pub(super) fn answer(&self, answer: &str) -> String {
        if self.own_answers.contains(answer) {
            return answer.to_owned();
        }
        if !self.redaction.hides(Kind::Commands) {
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
        if self.redaction.hides(Kind::Commands) {
            known_part(text, |name| self.method(name))
        } else {
            Some(self.text(text))
        }
    }

    pub(super) fn path(&self, path: &str) -> String {
        if self.redaction.hides(Kind::Paths) {
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
        if !self.redaction.hides(Kind::Paths) {
            return text;
        }
        let stand_in = |path: &str| self.redaction.stand_in("path", path);
        without_paths(&text, |word| word.contains('/'), stand_in)
    }

    pub(super) fn without_names(&self, text: &str) -> String {
        self.names.replaced(text)
    }

    pub(super) fn method_of(&self, name: &str) -> Option<&'a Method> {
        let name = name.strip_suffix(OLD).unwrap_or(name);
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
    let answers = cell.samples.iter().filter_map(|sample| sample.answer.clone());
    answers.chain(cell.digest.clone())
}

/// As a built-in method writes one.
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
        Value::Text(text) => Some(text.clone()),
        Value::Number(_) => None,
    }));
    all.retain(|path| path.starts_with('/') && path.contains(ends_word));
    all
}
