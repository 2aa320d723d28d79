//! Programs in other languages that copy as they would be written there: `bytelab __filter` starts them anew for each
//! copy, with our descriptors as standard input and output.

use lab::experiment::{Build, Experiment, How, Method};

use super::command::command;
use super::job::contender;

/// Of `workers/LANGUAGE`, which all take the word `copying`.
const LANGUAGES: &[(&str, &str)] = &[
    ("c", "C: read and write"),
    ("cpp", "C++: cin.read and cout.write"),
    ("go", "Go: io.Copy"),
    ("java", "Java: read and write of System.in and System.out's files"),
    ("python", "Python: shutil.copyfileobj"),
    ("node", "Node: process.stdin.pipe(process.stdout)"),
];

pub(super) fn methods() -> Vec<Method> {
    let method = |(language, about): &(&str, &str)| {
        let worker = format!("{{workers/{language}}}");
        let argv = ["{bytelab}", super::FILTER, language, &worker, "copying"];
        Method {
            how: How::Worker { argv: argv.map(str::to_owned).to_vec() },
            // Most of their time is their start.
            default: false,
            ..contender(language, &format!("{about}, its start included"), &[], filter)
        }
    };
    LANGUAGES.iter().map(method).collect()
}

/// The method that `bytelab __filter LANGUAGE COMMAND…` measures.
pub(crate) fn filtering(experiment: &Experiment, language: &str) -> Option<Method> {
    let found = experiment.methods.iter().find(|method| method.name == language)?;
    Some(Method { how: How::BuiltIn(filter as Build), ..found.clone() })
}

/// The command stands in this process's arguments, behind the word `__filter` and the language.
fn filter(point: &lab::param::Point) -> anyhow::Result<Box<dyn lab::experiment::Task>> {
    let argv: Vec<String> = std::env::args().skip(3).collect();
    command(point, &argv.iter().map(String::as_str).collect::<Vec<&str>>())
}
