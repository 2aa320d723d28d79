#![doc = include_str!("README.md")]

use std::path::Path;

use anyhow::Result;
use measure::experiment::{Data, Execution, Experiment, Method};
use measure::stop::Stop;
use model::descriptor::{AWAITING, AWAITING_FACTORS};
use model::param::Point;

use super::shared::made_file;

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: AWAITING,
        question: "Why is a byte an await slow?",
        readme: include_str!("README.md"),
        params: made_file::params("1MiB"),
        methods: methods(),
        dir: None,
        data: Box::new(data),
    }
}

/// By factor, what a method without it does, and what one with it does.
const ABOUT: [[&str; 2]; AWAITING_FACTORS.len()] = [
    ["same crate", "other crate"],
    ["inlined", "not inlined"],
    ["concrete", "dyn"],
    ["one task", "handed over"],
    ["optimised", "not optimised"],
];

/// The factor that is not one of the program, but of its build.
const UNOPTIMISED: &str = "O0";

/// All combinations of the factors. The first one, which has none, is the reference.
fn methods() -> Vec<Method> {
    (0..1 << AWAITING_FACTORS.len()).map(method).collect()
}

fn method(factors: usize) -> Method {
    let has = |bit: usize| factors & (1 << bit) != 0;
    let words: Vec<&str> =
        (0..).zip(AWAITING_FACTORS).filter(|(bit, _)| has(*bit)).map(|(_, word)| word).collect();
    let of_program: Vec<&str> = words.iter().copied().filter(|word| *word != UNOPTIMISED).collect();
    let about: Vec<&str> =
        (0..).zip(ABOUT).map(|(bit, about)| about[usize::from(has(bit))]).collect();
    let level = if words.contains(&UNOPTIMISED) { "@O0" } else { "" };
    let worker = format!("{{workers/rust/awaiting{level}}}");
    let execution = Execution::worker([worker.as_str(), AWAITING, name(&of_program).as_str()]);
    Method::contender(name(&words), about.join(", "), execution).reads(&["size", "file", "buffer"])
}

fn name(words: &[&str]) -> String {
    if words.is_empty() { "await".to_owned() } else { words.join("-") }
}

/// Finds or generates the file.
fn data(point: &Point, dir: &Path, stop: &Stop) -> Result<Data> {
    let (path, size) = made_file::given_or_made(point, dir, stop)?;
    let mut arguments = point.clone();
    arguments.set("size", size);
    arguments.set("file", path.clone());
    Ok(Data {
        arguments,
        files: vec![path],
        is_only_read: true,
        payload_bytes: Some(size),
        ..Data::default()
    })
}

#[cfg(test)]
mod tests {
    use model::descriptor::factors_of;

    use super::*;

    #[test]
    fn the_methods_are_all_combinations_of_the_factors() {
        let methods = methods();
        assert_eq!(methods.len(), 32);
        for (factors, method) in methods.iter().enumerate() {
            assert_eq!(factors_of(&method.name, &AWAITING_FACTORS), factors, "{}", method.name);
        }
    }

    #[test]
    fn the_build_decides_whether_a_method_is_optimised() {
        let argv = |factors| match method(factors).execution {
            Execution::Worker { argv } => argv.join(" "),
            _ => String::new(),
        };
        assert_eq!(argv(0), "{workers/rust/awaiting} awaiting await");
        assert_eq!(argv(16), "{workers/rust/awaiting@O0} awaiting await");
        assert_eq!(argv(31), "{workers/rust/awaiting@O0} awaiting other-never-dyn-handed");
        let (none, all) = (method(0), method(31));
        assert_eq!(none.about, "same crate, inlined, concrete, one task, optimised");
        assert_eq!(all.about, "other crate, not inlined, dyn, handed over, not optimised");
    }
}
