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
        Param {
            name: "samples",
            kind: Kind::Count(1, 1 << 40),
            default: "1000",
            help: "how many records are drawn",
        },
        Param {
            name: "records",
            kind: Kind::Count(1, 1 << 40),
            default: "1000000",
            help: "how many records the file has that is made; with --file, that of the file",
        },
        Param {
            name: "kind",
            kind: Kind::Word(&["text", "binary"]),
            default: "text",
            help: "lines of about 60 bytes, or records of 64 bytes",
        },
        Param {
            name: "dir",
            kind: Kind::Path,
            default: "",
            help: "where the file is made; a list alternates file systems within the rounds",
        },
        Param {
            name: "file",
            kind: Kind::Path,
            default: "",
            help: "a file of your own to draw from; what is in it is known by an ending such as .vcf",
        },
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
