//! Plain commands, started anew for each copy with our descriptors as standard input and output.

use std::os::fd::OwnedFd;

use anyhow::{Result, anyhow};
use lab::experiment::{Method, Task, skip};
use lab::launch::{Ended, filter};
use lab::param::Point;

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
        contender("uutils-cat", "cat of uutils coreutils, its start included", &[], |point| {
            command(point, &["coreutils", "cat"])
        }),
        contender("pv", "pv --quiet, its start included", &[], |point| {
            command(point, &["pv", "--quiet"])
        }),
    ]
}

struct Command(Vec<String>);

pub(super) fn command(point: &Point, argv: &[&str]) -> Result<Box<dyn Task>> {
    // A program that is not there is found out before the timing.
    let is_there = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        // An absolute name stays as it is.
        std::env::split_paths(&path).any(|dir| dir.join(name).is_file())
    };
    if !is_there(argv[0]) {
        return Err(skip(format!("{} is not installed", argv[0])));
    }
    task(point, Command(argv.iter().map(|word| (*word).to_owned()).collect()))
}

impl Copying for Command {
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>> {
        match filter(&self.0, input, output) {
            Ok(used) => Ok(Some(used)),
            Err(Ended::Skipped(reason)) => Err(skip(reason)),
            Err(Ended::Failed(reason)) => Err(anyhow!(reason)),
            Err(Ended::Stopped) => Err(anyhow!("stopped")),
        }
    }
}
