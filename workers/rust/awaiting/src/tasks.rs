//! Tasks that take turns on one thread, and a place for one byte between two of them.

use std::array;
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Whether a task has been woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Polls each task that has been woken, until all have ended.
pub(crate) fn run<const N: usize>(mut tasks: [Pin<&mut dyn Future<Output = ()>>; N]) {
    let woken: [Arc<Woken>; N] = array::from_fn(|_| Arc::new(Woken(AtomicBool::new(true))));
    let wakers: [Waker; N] = array::from_fn(|i| Waker::from(Arc::clone(&woken[i])));
    let mut has_ended = [false; N];
    while has_ended.contains(&false) {
        for i in 0..N {
            if woken[i].0.swap(false, Ordering::Relaxed) && !has_ended[i] {
                let context = &mut Context::from_waker(&wakers[i]);
                has_ended[i] = tasks[i].as_mut().poll(context).is_ready();
            }
        }
    }
}

/// The place for one byte: one task puts it there, and waits while the place is taken; another one
/// takes it, and waits while there is none.
#[derive(Default)]
pub(crate) struct Slot {
    /// The byte that is there; of the inner option, none is the end.
    byte: Cell<Option<Option<u8>>>,
    waits: Cell<Option<Waker>>,
}

impl Slot {
    pub(crate) fn put(&self, byte: Option<u8>) -> impl Future<Output = ()> {
        poll_fn(move |context| {
            if self.byte.get().is_some() {
                return self.wait(context);
            }
            self.byte.set(Some(byte));
            self.wake();
            Poll::Ready(())
        })
    }

    /// None at the end.
    pub(crate) fn take(&self) -> impl Future<Output = Option<u8>> {
        poll_fn(move |context| {
            let Some(byte) = self.byte.take() else { return self.wait(context) };
            self.wake();
            Poll::Ready(byte)
        })
    }

    fn wait<T>(&self, context: &Context<'_>) -> Poll<T> {
        self.waits.set(Some(context.waker().clone()));
        Poll::Pending
    }

    fn wake(&self) {
        if let Some(waker) = self.waits.take() {
            waker.wake();
        }
    }
}
