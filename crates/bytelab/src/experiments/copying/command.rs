//! Plain commands, each started again for every copy with our descriptors as standard input and
//! output.

use std::os::fd::OwnedFd;

use anyhow::Result;
use lab::experiment::{Build, Method, Task};
use lab::param::Point;

use super::job::{Copying, Cpu, contender, task};
use crate::experiments::shared::command::{must_be_installed, run as run_command};

pub(super) fn methods() -> Vec<Method> {
    vec![
        contender("cat", "/bin/cat, its start included; the reference", &[], |point| {
            command(point, &["/bin/cat"])
        }),
        contender(
            "dd",
            "dd with blocks of `buffer` bytes, its start included",
            &["buffer"],
            |point| {
                let block = format!("bs={}", point.number("buffer")?);
                command(point, &["dd", &block, "status=none"])
            },
        ),
        if_installed("gcat", "gnu-cat", "GNU cat of another version, named gcat", |point| {
            command(point, &["gcat"])
        }),
        if_installed(
            "coreutils",
            "uutils-cat",
            "cat of uutils coreutils, its start included",
            |point| command(point, &["coreutils", "cat"]),
        ),
        if_installed("pv", "pv", "pv --quiet, its start included", |point| {
            command(point, &["pv", "--quiet"])
        }),
        contender("cp", "cp /dev/stdin /dev/stdout, its start included", &[], |point| {
            command(point, &["cp", "/dev/stdin", "/dev/stdout"])
        })
        .job("input=file output=file"),
    ]
}

/// A program that few machines have. If it is installed, it takes part without being named.
fn if_installed(program: &str, name: &str, about: &str, build: Build) -> Method {
    let default = must_be_installed(program).is_ok();
    Method { default, ..contender(name, about, &[], build) }
}

struct Command(Vec<String>);

pub(super) fn command(point: &Point, argv: &[&str]) -> Result<Box<dyn Task>> {
    must_be_installed(argv[0])?;
    task(point, Command(argv.iter().map(|word| (*word).to_owned()).collect()))
}

impl Copying for Command {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        run_command(&self.0, input, output).map(Some)
    }
}
