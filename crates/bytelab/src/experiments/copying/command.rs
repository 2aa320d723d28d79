//! Plain commands, started anew for each copy with our descriptors as standard input and output.

use std::os::fd::OwnedFd;

use anyhow::Result;
use lab::experiment::{Method, Task, skip};
use lab::param::Point;

use super::super::filter::{self, must_be_installed};
use super::job::{Copying, Cpu, contender, task};

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
        contender("gnu-cat", "GNU cat of another version, if it is there as gcat", &[], |point| {
            command(point, &["gcat"])
        }),
        contender("uutils-cat", "cat of uutils coreutils, its start included", &[], |point| {
            command(point, &["coreutils", "cat"])
        }),
        contender("pv", "pv --quiet, its start included", &[], |point| {
            command(point, &["pv", "--quiet"])
        }),
        contender("cp", "cp /dev/stdin /dev/stdout, its start included", &[], |point| {
            if point.text("input")? != "file" || point.text("output")? != "file" {
                return Err(skip("cp is from file to file only"));
            }
            command(point, &["cp", "/dev/stdin", "/dev/stdout"])
        }),
    ]
}

struct Command(Vec<String>);

pub(super) fn command(point: &Point, argv: &[&str]) -> Result<Box<dyn Task>> {
    must_be_installed(argv[0])?;
    task(point, Command(argv.iter().map(|word| (*word).to_owned()).collect()))
}

impl Copying for Command {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        filter::run(&self.0, input, output).map(Some)
    }
}
