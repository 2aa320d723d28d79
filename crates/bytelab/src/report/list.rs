//! The lists of the experiments, and of the params and methods of one of them.

use lab::experiment::{Experiment, How, Method};
use lab::param::Param;
use lab::run::Role;
use unicode_width::UnicodeWidthStr;

use super::page::Layout;
use super::page::{Page, Style, clean};

const LAYOUT: Layout = Layout { width: 80, colour: false };

pub(super) fn experiments(experiments: &[Experiment]) -> String {
    let mut page = Page::new(&LAYOUT);
    let width = widest(experiments.iter().map(|experiment| experiment.name));
    for experiment in experiments {
        entry(&mut page, experiment.name, width, experiment.question);
    }
    page.into_text()
}

pub(super) fn methods(experiment: &Experiment, languages: &[(&str, String)]) -> String {
    let mut page = Page::new(&LAYOUT);
    page.paragraph(Style::Plain, &format!("{}: ", experiment.name), experiment.question);
    let flag = |param: &Param| format!("--{}", param.name);
    let flags: Vec<String> = experiment.params.iter().map(flag).collect();
    let names = experiment.methods.iter().map(|method| method.name.as_str());
    let width = widest(names.chain(flags.iter().map(String::as_str)));
    if !flags.is_empty() {
        page.blank();
        page.line(&[(Style::Plain, "Params:")]);
    }
    for (flag, param) in flags.iter().zip(&experiment.params) {
        let default = match param.default {
            "" => String::new(),
            default => format!(" [default: {default}]"),
        };
        entry(&mut page, flag, width, &format!("{}{default}", param.help));
    }
    page.blank();
    page.line(&[(Style::Plain, "Methods:")]);
    for method in &experiment.methods {
        // The reference is the first method of each job.
        let job = |method: &Method| method.job.filter(|_| method.has_own_job());
        let first = experiment.methods.iter().find(|other| job(other) == job(method));
        let is_reference = first.is_some_and(|first| first.name == method.name);
        entry(&mut page, &method.name, width, &about(method, is_reference));
    }
    if !languages.is_empty() {
        page.blank();
        page.line(&[(
            Style::Plain,
            "Other languages (--language NAME,… takes all methods in these):",
        )]);
    }
    for (language, whether) in languages {
        entry(&mut page, language, width, whether);
    }
    page.into_text()
}

fn about(method: &Method, is_reference: bool) -> String {
    let mut marks = Vec::new();
    let where_it_is = if method.has_own_job() { "job" } else { "only with" };
    marks.extend(method.job.map(|job| format!("{where_it_is} {job}")));
    if is_reference {
        marks.push("the reference".to_owned());
    }
    if method.role == Role::Yardstick {
        marks.push("yardstick".to_owned());
    }
    if !method.default {
        let or_language = matches!(method.how, How::Worker { .. });
        let how = if or_language { "only if named, or with --language" } else { "only if named" };
        marks.push(how.to_owned());
    }
    if !method.reads.is_empty() {
        marks.push(format!("reads {}", method.reads.join(", ")));
    }
    if marks.is_empty() {
        return method.about.clone();
    }
    format!("{} [{}]", method.about, marks.join("; "))
}

fn widest<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(|name| clean(name).width()).max().unwrap_or_default()
}

/// A name, followed by its description in a second column, over as many lines as needed.
fn entry(page: &mut Page, name: &str, width: usize, text: &str) {
    let fill = " ".repeat(width.saturating_sub(clean(name).width()));
    page.hanging(&format!("  {name}{fill}  "), text);
}

#[cfg(test)]
mod tests {
    use lab::experiment::{Command, Data, How};
    use lab::param::Kind;

    use super::*;

    fn method(name: &str, about: &str, role: Role) -> Method {
        let how = How::Command(Command::default());
        let default = role == Role::Contender;
        Method { role, default, ..Method::contender(name, about, how) }
    }

    fn experiment() -> Experiment {
        let mut read = method(
            "read",
            "read(2) into one buffer that is used again and again, until the file ends",
            Role::Contender,
        );
        read.reads = vec!["size", "buffer"];
        Experiment {
            name: "reading",
            question: "What is the fastest way?",
            readme: "",
            params: vec![Param {
                name: "buffer",
                kind: Kind::Bytes(1, 1 << 30),
                default: "64KiB",
                help: "how much is read at once",
            }],
            methods: vec![read, method("mem\u{1b}[2Jory", "bytes in memory", Role::Yardstick)],
            data: Box::new(|_, _, _| Ok(Data::default())),
        }
    }

    #[test]
    fn an_experiment_is_a_line() {
        insta::assert_snapshot!(experiments(&[experiment()]), @r"  reading  What is the fastest way?");
    }

    #[test]
    fn each_language_is_listed_with_what_it_takes() {
        let mut experiment = experiment();
        experiment.methods.truncate(1);
        let mut getc = method("c-getc", "C: getc", Role::Yardstick);
        (getc.how, getc.role) = (How::Worker { argv: Vec::new() }, Role::Contender);
        experiment.methods.push(getc);
        let languages =
            [("c", "here: /usr/bin/cc".to_owned()), ("go", "not here: install Go".to_owned())];
        let text = methods(&experiment, &languages);
        let end = text.find("  c-getc").unwrap();
        insta::assert_snapshot!(&text[end..], @r"
          c-getc    C: getc [only if named, or with --language]

        Other languages (--language NAME,… takes all methods in these):
          c         here: /usr/bin/cc
          go        not here: install Go
        ");
    }

    #[test]
    fn a_method_says_what_it_does_and_what_it_reads() {
        insta::assert_snapshot!(methods(&experiment(), &[]), @r"
    reading: What is the fastest way?

    Params:
      --buffer         how much is read at once [default: 64KiB]

    Methods:
      read             read(2) into one buffer that is used again and again, until
                       the file ends [the reference; reads size, buffer]
      mem\u{1b}[2Jory  bytes in memory [yardstick; only if named]
    ");
    }
}
