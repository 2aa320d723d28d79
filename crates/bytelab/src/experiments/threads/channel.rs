//! The channel of the standard library.

use std::sync::mpsc::{Receiver, Sender, channel};

use anyhow::{Context, Result};
use lab::experiment::Method;

use super::signal::{Give, Take, between_threads, handover, uncontended, with_oneself};

pub(super) fn methods() -> Vec<Method> {
    let about = "std::sync::mpsc: send and recv";
    vec![
        handover("channel", about, |point| between_threads(point, || Ok(channel()))),
        uncontended("channel-alone", about, |_| with_oneself(channel())),
    ]
}

impl Give for Sender<()> {
    fn give(&mut self) -> Result<()> {
        self.send(()).context("the other thread has ended")
    }
}

impl Take for Receiver<()> {
    fn take(&mut self) -> Result<()> {
        self.recv().context("the other thread has ended")
    }
}
