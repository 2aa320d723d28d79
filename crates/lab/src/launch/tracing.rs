//! The processes of the methods in the recorded round: their ids must be known while they run.

use super::command::CommandRunner;
use super::worker_client::WorkerClient;
use super::{Child, RawSample, Ready, RunError, TracedRunner};
use crate::param::Point;

/// A method in a long-lived process.
pub(super) struct TracedWorker {
    pub(super) worker: WorkerClient,
}

impl Child for TracedWorker {
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        self.worker.prepare(arguments)
    }

    fn bye(&mut self) {
        self.worker.bye();
    }
}

impl TracedRunner for TracedWorker {
    fn pid(&self) -> Option<u32> {
        Some(self.worker.pid())
    }

    fn go(
        &mut self,
        n: u64,
        ops: u64,
        _started: &mut dyn FnMut(u32),
    ) -> Result<RawSample, RunError> {
        let done = self.worker.ask(n, ops, true)?;
        Ok(RawSample { done, marks: self.worker.take_marks(), ..RawSample::default() })
    }
}

/// A plain command is a new process for each sample.
impl TracedRunner for CommandRunner {
    fn pid(&self) -> Option<u32> {
        None
    }

    fn go(
        &mut self,
        n: u64,
        _ops: u64,
        started: &mut dyn FnMut(u32),
    ) -> Result<RawSample, RunError> {
        self.run(n, started)
    }
}
