//! The lists of the experiments, of the params and methods of one of them, and of published
//! results.

use lab::experiment::{Experiment, How, Method};
use lab::param::Param;
use lab::run::Role;
use unicode_width::UnicodeWidthStr;

use super::grid::{self, Head};
use super::{Layout, Page};
use crate::reference::{PREFIX, Published, Study};
use crate::report::model::table::{Column, Style, Table, TooWide};
use crate::report::model::units::{NONE, amount};
use crate::report::model::words::clean;

const LAYOUT: Layout = Layout { width: 80, colour: false };

pub(crate) fn experiments(experiments: &[Experiment]) -> String {
    let mut page = Page::new(&LAYOUT);
    let entries = experiments.iter().map(|one| [one.name.to_owned(), one.question.to_owned()]);
    section(&mut page, "", 0, entries.collect());
    page.into_text()
}

pub(crate) fn methods(experiment: &Experiment, languages: &[(&str, String)]) -> String {
    let mut page = Page::new(&LAYOUT);
    page.paragraph(Style::Plain, &format!("{}: ", experiment.name), experiment.question);
    let param = |param: &Param| {
        let default = match param.default {
            "" => String::new(),
            default => format!(" [default: {default}]"),
        };
        [format!("--{}", param.name), format!("{}{default}", param.help)]
    };
    let method = |method: &Method| {
        // The reference is the first method of each job.
        let job = |method: &Method| method.job.filter(|_| method.has_own_job());
        let first = experiment.methods.iter().find(|other| job(other) == job(method));
        let is_reference = first.is_some_and(|first| first.name == method.name);
        [method.name.clone(), about(method, is_reference)]
    };
    let params: Vec<[String; 2]> = experiment.params.iter().map(param).collect();
    let methods: Vec<[String; 2]> = experiment.methods.iter().map(method).collect();
    let names = params.iter().chain(&methods).map(|[name, _]| clean(name).width());
    let width = names.max().unwrap_or_default();
    let languages = languages.iter().map(|(name, whether)| [(*name).to_owned(), whether.clone()]);
    section(&mut page, "Params:", width, params);
    section(&mut page, "Methods:", width, methods);
    let heading = "Other languages (--language NAME,… takes all methods in these):";
    section(&mut page, heading, width, languages.collect());
    page.into_text()
}

/// Names of at least this width, each followed by its description over as many lines as needed.
fn section(page: &mut Page, heading: &str, width: usize, entries: Vec<[String; 2]>) {
    if entries.is_empty() {
        return;
    }
    if !heading.is_empty() {
        page.blank();
        page.line(&[(Style::Plain, heading)]);
    }
    let column = |width_min, too_wide| Column {
        heading: Vec::new(),
        width_min,
        too_wide,
        ..Column::left("")
    };
    let columns = vec![column(width, TooWide::Stay), column(0, TooWide::Wrap)];
    let mut table = Table::new(columns);
    for entry in entries {
        table.row(Style::Plain, entry);
    }
    grid::write(page, &table, Head::Styled(Style::Plain));
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

/// The figures of one published result.
pub(crate) fn published_figures(published: &Published, layout: &Layout) -> String {
    let mut page = Page::new(layout);
    let name = format!("{PREFIX}{} · {}", published.name, published.machine);
    page.paragraph(Style::Bold, "", &name);
    page.paragraph(Style::Plain, "", published.title);
    page.paragraph(Style::Plain, "source: ", published.source);
    page.paragraph(Style::Plain, "known against it: ", published.caveat);
    page.blank();
    let heads = ["method", "metric", "p0", "p25", "p50", "p75", "p90", "p99", "p100", "n"];
    let mut table = Table::plain(&heads, false);
    for figure in &published.figures {
        let shown = |p: f64| {
            let found = figure.percentiles.iter().find(|(known, _)| (known - p).abs() < 0.01);
            found.map_or(NONE.to_owned(), |(_, value)| amount(figure.unit, *value))
        };
        let mut cells = vec![figure.method.clone(), figure.metric.clone()];
        cells.extend([0.0, 25.0].map(shown));
        cells.push(amount(figure.unit, figure.p50));
        cells.extend([75.0, 90.0, 99.0, 100.0].map(shown));
        cells.push(figure.n.map_or(NONE.to_owned(), |n| n.to_string()));
        table.row(Style::Plain, cells);
    }
    grid::write(&mut page, &table, Head::Ruled);
    page.into_text()
}

/// All published results, each with its source and its known defects, and the studies.
pub(crate) fn published(all: &[Published], studies: &[Study], layout: &Layout) -> String {
    let mut page = Page::new(layout);
    for published in all {
        let name = format!("{PREFIX}{}", published.name);
        page.line(&[(Style::Bold, &name)]);
        let about = format!(
            "{}, on: {}; to stand beside a run of {}",
            published.title, published.machine, published.experiment
        );
        page.hanging("  ", &about);
        page.hanging("  source: ", published.source);
        page.hanging("  known against it: ", published.caveat);
    }
    page.blank();
    page.paragraph(Style::Bold, "", "Studies, which `bytelab run` measures here");
    for study in studies {
        let claims = study.claims.len();
        let about = format!("{}; a verdict on {claims} claims", study.title);
        page.hanging(&format!("  {PREFIX}{}: ", study.name), &about);
    }
    page.into_text()
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
            params: vec![
                Param::new("buffer", Kind::Bytes(1, 1 << 30), "64KiB")
                    .help("how much is read at once"),
            ],
            methods: vec![read, method("mem\u{1b}[2Jory", "bytes in memory", Role::Yardstick)],
            dir: None,
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
