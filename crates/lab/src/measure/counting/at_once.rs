//! Threads that work on several cells at the same time.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Scope;

/// The ends of the threads that the owner of the run keeps. The threads end when `tasks` is
/// dropped, and `results` ends with them.
pub(super) struct Threads<T> {
    /// Takes a task when a thread is free for it, so that no started process waits for one. It is
    /// closed if all threads have panicked.
    pub(super) tasks: SyncSender<T>,
    pub(super) results: Receiver<T>,
}

impl<T: Send> Threads<T> {
    pub(super) fn start<'scope, 'env: 'scope>(
        scope: &'scope Scope<'scope, 'env>,
        n: usize,
        step: impl Fn(T) -> T + Clone + Send + 'scope,
    ) -> Threads<T>
    where
        T: 'scope,
    {
        let (tasks, queue) = sync_channel(0);
        let (done, results) = channel();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..n {
            let (queue, done, step) = (Arc::clone(&queue), done.clone(), step.clone());
            scope.spawn(move || work(&queue, &done, step));
        }
        Threads { tasks, results }
    }
}

/// Takes one task after the other, until there are no more or the receiver of the results is gone.
fn work<T>(queue: &Mutex<Receiver<T>>, done: &Sender<T>, step: impl Fn(T) -> T) {
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(task) = next() {
        if done.send(step(task)).is_err() {
            break;
        }
    }
}
