//! The methods' processes in the round that is recorded: who they are must be known while they run.

use super::command::CommandRunner;
use super::speaker::Speaker;
use super::{Ended, Ready, Runner, Taken, TracedRunner};
use crate::param::Point;

/// A method in a long-lived process.
pub(super) struct TracedSpeaker {
    pub(super) speaker: Speaker,
    /// Whether it knows that it is to tell when its job began.
    pub(super) built_in: bool,
}

impl TracedRunner for TracedSpeaker {
    fn pid(&self) -> Option<u32> {
        Some(self.speaker.pid())
    }

    fn prepare(&mut self, arguments: &Point) -> Result<Ready, Ended> {
        self.speaker.prepare(arguments)
    }

    fn go(&mut self, n: u64, ops: u64, _started: &mut dyn FnMut(u32)) -> Result<Taken, Ended> {
        let done = self.speaker.ask(n, ops, self.built_in)?;
        Ok(Taken { done, ..Taken::default() })
    }

    fn bye(&mut self) {
        self.speaker.bye();
    }
}

/// A plain command is another process for each sample.
impl TracedRunner for CommandRunner {
    fn pid(&self) -> Option<u32> {
        None
    }

    fn prepare(&mut self, arguments: &Point) -> Result<Ready, Ended> {
        Runner::prepare(self, arguments)
    }

    fn before(&mut self) -> Result<(), Ended> {
        Runner::before(self)
    }

    fn go(&mut self, n: u64, _ops: u64, started: &mut dyn FnMut(u32)) -> Result<Taken, Ended> {
        self.run(n, started)
    }

    fn bye(&mut self) {}
}
