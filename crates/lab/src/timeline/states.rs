//! Converts the moments at which a thread's state changed to the intervals that it spent in each
//! state.

use std::collections::BTreeMap;

use super::recording::State;
use super::spans::{Category, Span};

/// In the order of time, without gaps. The unknown time before the first change is left out.
pub(super) fn spans(changes: &[(u64, State)], end_ns: u64) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut now: Option<(u64, State)> = None;
    for &(at_ns, state) in changes {
        let at_ns = at_ns.min(end_ns);
        let state = match (state, now.map(|(_, state)| state)) {
            (State::Woken, Some(State::Running | State::Runnable)) => continue,
            (State::Woken, _) => State::Runnable,
            (state, before) if Some(state) == before => continue,
            (state, _) => state,
        };
        if let Some((since_ns, before)) = now {
            spans.extend(span(before, since_ns, at_ns));
        }
        now = Some((at_ns, state));
    }
    spans.extend(now.and_then(|(since_ns, state)| span(state, since_ns, end_ns)));
    spans
}

fn span(state: State, start_ns: u64, end_ns: u64) -> Option<Span> {
    let name = match state {
        State::Running => "running",
        State::Runnable | State::Woken => "runnable",
        State::Blocked | State::BlockedForDevice => "blocked",
    };
    let mut arguments = BTreeMap::new();
    if state == State::BlockedForDevice {
        arguments.insert("uninterruptible", true.into());
    }
    let name = name.to_owned();
    let category = Category::Scheduling;
    let span = Span { name, category, start_ns, end_ns, arguments };
    Some(span).filter(|span| span.end_ns > span.start_ns)
}
