//! A timeline of one round: the orders to each child, and what its threads did meanwhile. It is
//! recorded from perf events where the rights allow that, else by polling, and written as Chrome
//! trace events.

mod build;
mod json;
mod nest;
mod perf;
mod poll;
mod record;
mod recorder;
mod recording;
mod ring;
mod round;
mod shared;
mod spans;
mod states;
mod threads;

pub use self::round::trace;
pub use self::shared::TimelineSources;
pub use self::spans::{Category, Process, Span, Thread, Timeline};

#[cfg(test)]
mod tests;
