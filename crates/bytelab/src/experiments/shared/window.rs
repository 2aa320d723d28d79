//! Samples of short operations, long enough that the lab's effect on the CPU's caches and
//! predictors has little influence: 20 µs are enough for the clock, but not for these.

use anyhow::Result;
use lab::clock::now_ns;
use lab::experiment::{Task, Work};

/// A tenth of a scheduler's time slice, so that most samples are not interrupted.
const WINDOW_NS: u64 = 300_000;
const OPS_MAX: u64 = 1 << 20;

/// The same task, which repeats the operation in each sample until a window is filled.
pub(crate) fn window(mut task: Box<dyn Task>) -> Result<Box<dyn Task>> {
    let mut ops = 1;
    while ops < OPS_MAX {
        let start_ns = now_ns();
        task.run(ops)?;
        if now_ns() - start_ns >= WINDOW_NS {
            break;
        }
        ops *= 2;
    }
    Ok(Box::new(Window { task, ops }))
}

struct Window {
    task: Box<dyn Task>,
    ops: u64,
}

impl Task for Window {
    fn run(&mut self, ops: u64) -> Result<Work> {
        self.task.run(ops.max(self.ops))
    }

    fn digest(&mut self) -> Result<Option<u64>> {
        self.task.digest()
    }

    fn between(&mut self) -> Result<()> {
        self.task.between()
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        self.task.metrics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes no measurable time, and records the number of operations.
    struct Count;

    impl Task for Count {
        fn run(&mut self, ops: u64) -> Result<Work> {
            Ok(Work { ops, bytes: 3 * ops, answer: Some(7) })
        }

        fn digest(&mut self) -> Result<Option<u64>> {
            Ok(Some(5))
        }
    }

    #[test]
    fn a_window_does_no_less_than_requested_and_hands_the_rest_on() {
        let mut task = window(Box::new(Count)).unwrap();
        let work = task.run(1).unwrap();
        assert!(work.ops > 1);
        assert_eq!((work.bytes, work.answer), (3 * work.ops, Some(7)));
        assert_eq!(task.run(1 << 40).unwrap().ops, 1 << 40);
        assert_eq!(task.digest().unwrap(), Some(5));
    }

    #[test]
    fn what_fails_at_once_fails_when_it_is_set_up() {
        struct Fails;
        impl Task for Fails {
            fn run(&mut self, _: u64) -> Result<Work> {
                anyhow::bail!("no")
            }
        }
        assert_eq!(window(Box::new(Fails)).err().unwrap().to_string(), "no");
    }
}
