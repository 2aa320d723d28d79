#![doc = include_str!("README.md")]

mod ends;
mod job;

mod command;
#[cfg(target_os = "linux")]
mod kernel;
mod languages;
mod library;
mod plain;
#[cfg(target_os = "linux")]
mod uring;

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Result, ensure};
use lab::experiment::{Data, Experiment, Method};
use lab::param::{Kind, Param, Point};
use lab::stop::Stop;

use super::shared::made_file;

pub(crate) use self::languages::{FILTER, filtering, language_of};

const NOTHING_MOVED: &str = "with output=null nothing is moved: /dev/null looks at no byte, and a method that reads none \
     is the fastest; compare methods with --output pipe, socket or file";

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: "copying",
        question: "What is the cheapest way to copy standard input to standard output?",
        readme: include_str!("README.md"),
        params: params(),
        methods: methods(),
        dir: None,
        data: Box::new(data),
    }
}

fn params() -> Vec<Param> {
    vec![
        Param::new("size", Kind::Bytes(1, 1 << 40), "128MiB").help("how much is copied"),
        Param::new("input", Kind::Word(&["file", "pipe", "socket"]), "file")
            .help("what is copied from; a pipe or socket is fed by a thread"),
        Param::new("output", Kind::Word(&["null", "file", "pipe", "socket"]), "pipe").help(
            "what is copied to; a pipe or socket is drained by a thread, and null takes no byte",
        ),
        Param::new("reader", Kind::Word(&["reads", "drops"]), "reads")
            .help("whether who drains a pipe looks at the bytes or throws the pages away"),
        Param::new("buffer", Kind::Bytes(1, 1 << 30), "128KiB").help("how much is read at once"),
    ]
}

/// The first one is the reference.
fn methods() -> Vec<Method> {
    let mut methods = command::methods();
    methods.extend(plain::methods());
    #[cfg(target_os = "linux")]
    methods.extend(kernel::methods());
    #[cfg(target_os = "linux")]
    methods.push(uring::method());
    methods.push(library::method());
    methods.extend(languages::methods());
    methods
}

fn data(point: &Point, dir: &Path, stop: &Stop) -> Result<Data> {
    let size = point.number("size")?;
    let drops = point.text("reader")? == "drops";
    ensure!(
        !drops || point.text("output")? == "pipe",
        "--reader drops needs --output pipe: only a pipe's pages can be thrown away unseen"
    );
    let files = made_file::files(dir, size, 1, stop)?;
    let mut arguments = point.clone();
    arguments.set("file", files[0].clone());
    let to_null = point.text("output")? == "null";
    let notes = to_null.then(|| NOTHING_MOVED.to_owned()).into_iter().collect();
    let (files, payload_bytes) = (files.clone(), Some(size));
    Ok(Data { arguments, files, payload_bytes, notes, ..Data::default() })
}
