#![doc = include_str!("README.md")]

mod check;
mod data;
mod drawing;

mod commands;
mod languages;
mod one_by_one;
mod scan;
mod skip;

#[cfg(test)]
mod tests;

use lab::experiment::{Experiment, Method};
use lab::param::{Kind, Param};

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: "sampling",
        question: "What is the fastest way to draw random records from a large file?",
        readme: include_str!("README.md"),
        params: params(),
        methods: methods(),
        dir: None,
        data: Box::new(data::data),
    }
}

fn params() -> Vec<Param> {
    vec![
        Param::new("samples", Kind::Count(1, 1 << 40), "1000").help("how many records are drawn"),
        Param::new("records", Kind::Count(1, 1 << 40), "1000000")
            .help("how many records the file has that is made; with --file, that of the file"),
        Param::new("kind", Kind::Word(&["text", "binary"]), "text")
            .help("lines of about 60 bytes, or records of 64 bytes"),
        Param::new("dir", Kind::Path, "")
            .help("where the file is made; a list alternates file systems within the rounds"),
        Param::new("file", Kind::Path, "").help(
            "a file of your own to draw from; what is in it is known by an ending such as .vcf",
        ),
    ]
}

/// The first one is the reference.
fn methods() -> Vec<Method> {
    let mut methods = vec![scan::method()];
    methods.extend(skip::methods());
    methods.extend(languages::methods());
    methods.extend(commands::methods());
    methods
}
