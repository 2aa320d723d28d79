//! The phases of a built-in method's job, which a timeline shows: a method marks the beginning of
//! each. Outside of a recorded sample a mark costs one load.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock;
use crate::protocol::PhaseMark;

type Mark = (&'static str, u64);

static IS_RECORDED: AtomicBool = AtomicBool::new(false);
static MARKS: Mutex<Vec<Mark>> = Mutex::new(Vec::new());

/// This number of marks needs no allocation inside the job.
const RESERVED: usize = 256;

fn marks() -> MutexGuard<'static, Vec<Mark>> {
    MARKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A phase of this name begins.
pub fn mark(name: &'static str) {
    if IS_RECORDED.load(Relaxed) {
        marks().push((name, clock::now_ns()));
    }
}

/// The job, and its marks if it is recorded.
pub fn recorded<T>(is_recorded: bool, job: impl FnOnce() -> T) -> (T, Vec<PhaseMark>) {
    if !is_recorded {
        return (job(), Vec::new());
    }
    marks().reserve(RESERVED);
    IS_RECORDED.store(true, Relaxed);
    let done = job();
    IS_RECORDED.store(false, Relaxed);
    let mark = |(name, at_ns): Mark| PhaseMark { name: name.to_owned(), at_ns: Some(at_ns) };
    let marks = marks().drain(..).map(mark).collect();
    (done, marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_recorded_job_has_marks() {
        mark("before");
        assert_eq!(recorded(false, || mark("not recorded")).1, []);
        let (_, marks) = recorded(true, || ["one", "two"].map(mark));
        mark("after");
        let names: Vec<&str> = marks.iter().map(|mark| mark.name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
        assert!(marks[0].at_ns <= marks[1].at_ns && marks[0].at_ns.is_some());
    }
}
