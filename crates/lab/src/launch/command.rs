//! A plain command: started once per sample and timed from outside, its output thrown away.

use super::process::{Process, Talk, describe};
use super::{Ended, Limits, Ready, Runner, Taken};
use crate::clock;
use crate::counters::Counters;
use crate::param::Point;
use crate::protocol::Done;

pub(super) struct CommandRunner {
    /// With `{name}` where a value of the point belongs.
    template: Vec<String>,
    argv: Vec<String>,
    /// The sizes of the files that its arguments name: a command cannot say what it read.
    bytes: u64,
    limits: Limits,
    /// The others are asked for what came before the first touch.
    fresh: bool,
}

impl CommandRunner {
    pub(super) fn new(template: Vec<String>, limits: Limits, fresh: bool) -> CommandRunner {
        CommandRunner { template, argv: Vec::new(), bytes: 0, limits, fresh }
    }

    /// Once; `started` is told its process.
    pub(super) fn run(&mut self, n: u64, started: &mut dyn FnMut(u32)) -> Result<Taken, Ended> {
        let start_ns = clock::now_ns();
        let mut process = Process::spawn(&self.argv, Talk::Null, &[])?;
        // posix_spawn returns when the new program has taken over.
        let startup_ns = clock::now_ns() - start_ns;
        started(process.child.id());
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            Ended::Failed(format!("{}: {what}: {error}", self.argv[0]))
        };
        process.wait_for_exit(&self.limits, start_ns + self.limits.answer_ns)?;
        let wall_ns = clock::now_ns() - start_ns;
        // It has ended but is not reaped: the kernel still has its counters, though no memory.
        let used = Counters::open(process.child.id()).read();
        let status = process.end().map_err(|error| failed("waiting for it", &error))?;
        if !status.success() {
            let how = describe(status);
            let tail = process.quoted_tail();
            return Err(Ended::Failed(format!("{} {how}{tail}", self.argv[0])));
        }
        let done = Done { n, wall_ns, ops: 1, bytes: self.bytes, ..Done::default() };
        Ok(Taken { done, used, startup_ns: Some(startup_ns), fresh: None })
    }
}

impl Runner for CommandRunner {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, Ended> {
        self.argv = self.template.iter().map(|word| fill_in(word, arguments)).collect();
        let named = self.argv.iter().zip(&self.template).filter(|(word, form)| word != form);
        self.bytes =
            named.filter_map(|(word, _)| std::fs::metadata(word).ok()).map(|f| f.len()).sum();
        Ok(Ready::default())
    }

    fn go(&mut self, n: u64, _ops: u64) -> Result<Taken, Ended> {
        self.run(n, &mut |_| {})
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        let why = "the memory of a plain command is gone when it has ended; a worker's can be read";
        let of_all = [("peak_rss_bytes", why.to_owned())];
        let why = "a plain command is not prepared; its wall is its total, with its start-up";
        let fresh = ["prepare_ns", "first_touch_ns", "total_ns"].map(|name| (name, why.to_owned()));
        of_all.into_iter().chain(fresh.into_iter().filter(|_| self.fresh)).collect()
    }

    fn bye(&mut self) {}
}

/// Replaces each `{name}` that the point knows, once: what a value contains is not looked at again.
pub(super) fn fill_in(word: &str, arguments: &Point) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let known = |(name, tail)| Some((arguments.get(name)?, tail));
        if let Some((value, tail)) = after.split_once('}').and_then(known) {
            out.push_str(&value.to_string());
            rest = tail;
        } else {
            out.push('{');
            rest = after;
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_braces_becomes_the_value() {
        let mut point = Point::default();
        point.set("file", "/a {size} b");
        point.set("size", 7u64);
        let check = |word: &str, expected: &str| assert_eq!(fill_in(word, &point), expected);
        check("{file}", "/a {size} b");
        check("if={file}:{size}", "if=/a {size} b:7");
        check("{other} {", "{other} {");
    }
}
