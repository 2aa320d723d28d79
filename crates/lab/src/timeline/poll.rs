//! Records without special rights, by polling the threads.

use super::recording::Recording;
use super::shared::{RecorderState, rest};
use super::threads::PAUSE_NS;
use crate::clock;

pub(super) fn record(shared: &RecorderState) -> Recording {
    loop {
        let finishes = shared.finishes();
        let start_ns = clock::now_ns();
        poll_once(shared);
        if finishes {
            return shared.states().finish();
        }
        rest(start_ns, 4, PAUSE_NS);
    }
}

pub(super) fn poll_once(shared: &RecorderState) {
    shared.states().poll(&shared.processes());
}
