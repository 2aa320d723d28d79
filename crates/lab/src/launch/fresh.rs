//! A method of which every sample is taken in a new process, and is the first one of it.

use super::speaker::Speaker;
use super::{Ended, Fresh, Limits, Ready, Runner, Taken};
use crate::clock;
use crate::param::Point;
use crate::protocol::FRESH_VARIABLE;

pub(super) struct FreshRunner {
    argv: Vec<String>,
    limits: Limits,
    arguments: Point,
    missing: Vec<(&'static str, String)>,
    has_died: bool,
}

impl FreshRunner {
    pub(super) fn new(argv: Vec<String>, limits: Limits) -> FreshRunner {
        FreshRunner {
            argv,
            limits,
            arguments: Point::default(),
            missing: Vec::new(),
            has_died: false,
        }
    }
}

impl Runner for FreshRunner {
    /// A first process says what holds for all: that the method can be had, and its digest.
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, Ended> {
        let mut speaker = Speaker::start(&self.argv, &[], self.limits.clone())?;
        let ready = speaker.prepare(arguments)?;
        self.missing = speaker.missing();
        self.arguments = arguments.clone();
        speaker.bye();
        Ok(ready)
    }

    /// One operation, however many are asked for: a second one would touch nothing first.
    fn go(&mut self, n: u64, _ops: u64) -> Result<Taken, Ended> {
        let fresh = [(FRESH_VARIABLE, "yes".to_owned())];
        let start_ns = clock::now_ns();
        let mut speaker = Speaker::start(&self.argv, &fresh, self.limits.clone())?;
        let hello_ns = speaker.hello_ns();
        let prepare_ns = clock::now_ns();
        speaker.prepare(&self.arguments)?;
        let fresh =
            Fresh { startup_ns: hello_ns - start_ns, prepare_ns: clock::now_ns() - prepare_ns };
        let taken = speaker.go(n, 1);
        self.has_died = speaker.has_died();
        let taken = taken?;
        speaker.bye();
        Ok(Taken { fresh: Some(fresh), ..taken })
    }

    fn has_died(&self) -> bool {
        self.has_died
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        self.missing.clone()
    }

    fn bye(&mut self) {}
}
