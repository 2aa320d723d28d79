//! Records without rights: looks at the threads again and again.

use super::looks::PAUSE_NS;
use super::recording::Recording;
use super::shared::{Shared, rest};
use crate::clock;

pub(super) fn record(shared: &Shared) -> Recording {
    loop {
        let finishes = shared.finishes();
        let start_ns = clock::now_ns();
        look(shared);
        if finishes {
            return shared.looks().finish();
        }
        rest(start_ns, 4, PAUSE_NS);
    }
}

pub(super) fn look(shared: &Shared) {
    shared.looks().look(&shared.processes());
}
