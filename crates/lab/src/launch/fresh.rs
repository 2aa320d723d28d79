//! A method whose every sample is taken in a new process, as the first one of that process.

use super::worker_client::WorkerClient;
use super::{Child, ColdStart, Limits, RawSample, Ready, RunError, Runner};
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

impl Child for FreshRunner {
    /// The first process determines what applies to all: whether the method is available, and its
    /// digest.
    fn prepare(&mut self, arguments: &Point) -> Result<Ready, RunError> {
        let mut worker = WorkerClient::start(&self.argv, &[], self.limits.clone())?;
        let ready = worker.prepare(arguments)?;
        self.missing = worker.missing();
        self.arguments = arguments.clone();
        worker.bye();
        Ok(ready)
    }

    fn missing(&self) -> Vec<(&'static str, String)> {
        self.missing.clone()
    }
}

impl Runner for FreshRunner {
    /// Does one operation, whatever number is requested: a second one would not be the first
    /// access.
    fn go(&mut self, n: u64, _ops: u64) -> Result<RawSample, RunError> {
        let fresh = [(FRESH_VARIABLE, "yes".to_owned())];
        let start_ns = clock::now_ns();
        let mut worker = WorkerClient::start(&self.argv, &fresh, self.limits.clone())?;
        let hello_ns = worker.hello_ns();
        let prepare_ns = clock::now_ns();
        worker.prepare(&self.arguments)?;
        let fresh =
            ColdStart { startup_ns: hello_ns - start_ns, prepare_ns: clock::now_ns() - prepare_ns };
        let taken = worker.go(n, 1);
        self.has_died = worker.has_died();
        let taken = taken?;
        worker.bye();
        Ok(RawSample { fresh: Some(fresh), ..taken })
    }

    fn has_died(&self) -> bool {
        self.has_died
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Stop;

    #[test]
    fn what_is_missing_of_the_first_process_is_missing_of_all() {
        let limits = Limits { answer_ns: 0, dir: None, stop: Stop::default() };
        let missing = vec![("cpu_ns", "it has no CPU".to_owned())];
        let mut runner = FreshRunner::new(Vec::new(), limits);
        assert_eq!(runner.missing(), []);
        runner.missing.clone_from(&missing);
        assert_eq!(runner.missing(), missing);
    }
}
