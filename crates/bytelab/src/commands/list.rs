//! `bytelab list`: lists the experiments, the methods of one experiment, and published results.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use experiments::custom;
use experiments::workers::{self, Language};
use measure::experiment::{Execution, Experiment, Method};
use model::numbers::{self, NumbersRow};
use model::param::Param;
use model::path_text::to_path;
use model::run::Role;
use report::published::{self, Study, Testable};

use super::run::{absent, published_results};
use super::{Context, layout};
use crate::console;

#[derive(Args)]
pub(crate) struct ListArgs {
    /// Only this experiment, with its params: a name, or a file of yours; or `published`,
    /// `published:NAME`
    #[arg(value_name = "EXPERIMENT|FILE.toml")]
    experiment: Option<String>,
    /// Print the README of the experiment: what is timed, and its known bias
    #[arg(long, requires = "experiment")]
    readme: bool,
}

pub(crate) fn run(args: &ListArgs, context: &Context) -> Result<ExitCode> {
    let known = &context.experiments;
    let mut out = console::stdout();
    match args.experiment.as_deref() {
        None => out.write_all(experiments(&known.experiments).as_bytes())?,
        Some(name) if args.readme => out.write_all(known.find(name)?.readme.as_bytes())?,
        Some(name) if custom::is_file_name(name) => {
            let declared = known.load(&to_path(name))?;
            out.write_all(methods(&declared.experiment, &[]).as_bytes())?;
        }
        Some("published") => {
            let of_study = |study: &'static Study| (study, testable(study, context));
            let studies: Vec<(&Study, Testable)> =
                published::studies().iter().map(of_study).collect();
            let page = report::published_pages::list(&published::all(), &studies, &layout());
            out.write_all(page.as_bytes())?;
        }
        Some(name) if name.starts_with(published::PREFIX) => {
            let named = super::compare::named(&name[published::PREFIX.len()..])?;
            let figures = |result| report::published_pages::figures(result, &layout());
            let mut pages: Vec<String> = named.results.iter().map(figures).collect();
            if named.is_study() {
                let (study, results) = (named.study, published_results(named.study));
                let testable = testable(study, context);
                let claims = report::study::claims_by_figures;
                pages.push(claims(study, &results, testable, &layout()));
            }
            out.write_all(pages.join("\n").as_bytes())?;
        }
        Some(name) => {
            let experiment = known.find(name)?;
            let languages = workers::languages(&experiment.methods);
            let languages: Vec<(&str, String)> = languages
                .into_iter()
                .map(|Language { name, here }| match here {
                    Ok(program) => (name, format!("here: {program}")),
                    Err(why) => (name, format!("not here: {why}")),
                })
                .collect();
            out.write_all(methods(experiment, &languages).as_bytes())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How many claims of a study a run on this machine can test.
fn testable(study: &Study, context: &Context) -> Testable {
    let absent = absent(study, context);
    study.testable(|method| !absent.contains_key(method))
}

fn experiments(experiments: &[Experiment]) -> String {
    let entry = |one: &Experiment| [one.name.to_owned(), one.question.to_owned()];
    report::experiments(experiments.iter().map(entry).collect())
}

fn methods(experiment: &Experiment, languages: &[(&str, String)]) -> String {
    let param = |param: &Param| {
        let default = match param.default {
            "" => String::new(),
            // Its help says it in fewer words.
            _ if param.help.contains("[default: ") => String::new(),
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
    let rows = if experiment.name == numbers::EXPERIMENT { numbers::ROWS } else { &[] };
    let row = |row: &NumbersRow| [row.name.to_owned(), row.title.trim().to_owned()];
    let language = |(name, whether): &(&str, String)| [(*name).to_owned(), whether.clone()];
    report::methods(report::ListedExperiment {
        name: experiment.name,
        question: experiment.question,
        params: experiment.params.iter().map(param).collect(),
        methods: experiment.methods.iter().map(method).collect(),
        rows: rows.iter().map(row).collect(),
        languages: languages.iter().map(language).collect(),
        has_readme: !experiment.readme.is_empty(),
    })
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
        let or_language = matches!(method.execution, Execution::Worker { .. });
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

#[cfg(test)]
mod tests {
    use measure::experiment::{Command, Execution};
    use model::param::ParamKind;

    use super::*;

    fn method(name: &str, about: &str, role: Role) -> Method {
        let execution = Execution::Command(Command::default());
        let default = role == Role::Contender;
        Method { role, default, ..Method::contender(name, about, execution) }
    }

    fn experiment() -> Experiment {
        let mut read = method(
            "read",
            "read(2) into one buffer that is used again and again, until the file ends",
            Role::Contender,
        );
        read.reads = vec!["size", "buffer"];
        Experiment {
            question: "What is the fastest way?",
            params: vec![
                Param::new("buffer", ParamKind::Bytes(1, 1 << 30), "64KiB")
                    .help("how much is read at once"),
            ],
            methods: vec![read, method("mem\u{1b}[2Jory", "bytes in memory", Role::Yardstick)],
            ..Experiment::empty("reading")
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
        (getc.execution, getc.role) = (Execution::Worker { argv: Vec::new() }, Role::Contender);
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
    fn each_row_of_numbers_has_a_line() {
        let mut experiment = experiment();
        (experiment.name, experiment.readme) = (numbers::EXPERIMENT, "# numbers");
        let rows = Param::new("row", ParamKind::Word(&["add", "fsync"]), "add,fsync");
        experiment.params.push(rows.help("the rows [default: all]"));
        let text = methods(&experiment, &[]);
        for part in [
            "\n  --row             the rows [default: all]\n",
            "\nRows (--row NAME,… measures these alone):\n",
            "\n  system-call       a system call (getppid)\n",
            "\n  thread-end        from its end to the join\n",
            "\n\nWhat is timed, and its known bias: bytelab list numbers --readme\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
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
