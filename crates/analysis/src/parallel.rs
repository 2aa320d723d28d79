//! Work on many items, such as the cells of a run, that is shared among threads where there is much
//! of it.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// With fewer samples one thread has done the work before others have started.
const SAMPLES_MANY: usize = 100_000;

/// More threads than CPUs do no harm: all of them compute, and share nothing.
const THREADS: usize = 4;

/// The results for these items, in their order; `samples` is the number of samples of a run that
/// the work on all items goes through.
pub fn map_each<T: Sync, R: Send>(
    items: &[T],
    samples: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    if samples < SAMPLES_MANY || items.len() < 2 {
        return items.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let work_on_some = || {
        let mut done: Vec<(usize, R)> = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, work(item)));
        }
    };
    let mut done: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work_on_some)).collect();
        let ended = threads.into_iter().map(thread::ScopedJoinHandle::join);
        ended.flat_map(|done| done.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_are_in_the_order_of_the_items_in_either_way() {
        let items: Vec<usize> = (0..100).collect();
        let expected: Vec<usize> = items.iter().map(|item| 2 * item).collect();
        for samples in [0, SAMPLES_MANY] {
            assert_eq!(map_each(&items, samples, |item| 2 * item), expected);
            assert!(map_each(&[], samples, |item: &usize| *item).is_empty());
        }
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn a_panic_is_passed_on() {
        map_each(&[1, 2, 3], SAMPLES_MANY, |item| assert_ne!(*item, 3, "the third"));
    }
}
