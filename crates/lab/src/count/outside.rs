//! The events of a foreign process, counted from outside: those of all its threads and of all
//! processes that it starts.

use super::event::Event;
use super::{Sources, Target, tree};

pub(crate) struct Outside {
    events: Vec<Event>,
}

/// While threads start and end, opening events on all of them may fail.
const TRIES: u32 = 5;

impl Outside {
    /// For a process at rest. A thread that another one starts between two listings would be
    /// counted twice, so everything is repeated if the threads have changed.
    pub(crate) fn new(sources: &Sources, root: u32) -> Result<Outside, String> {
        for _ in 0..TRIES {
            let tasks = tree::tasks(root);
            let mut events = Vec::new();
            for task in &tasks {
                events.extend(opened(sources, Target::Task(*task))?);
            }
            if tree::tasks(root) == tasks {
                return Ok(Outside { events });
            }
        }
        Err("its threads come and go even when it has nothing to do".to_owned())
    }

    /// For the program that a process executes with its next `execve`.
    pub(crate) fn after_exec(sources: &Sources, process: u32) -> Result<Outside, String> {
        Ok(Outside { events: opened(sources, Target::AfterExec(process))? })
    }

    /// The sums by metric. A metric for which one of the events has no count is left out.
    pub(crate) fn read(&self) -> Vec<(&'static str, u64)> {
        let mut sums: Vec<(&'static str, Option<u64>)> = Vec::new();
        for event in &self.events {
            let metric = event.kind().metric;
            let value = event.read().ok().flatten();
            match sums.iter_mut().find(|(known, _)| *known == metric) {
                Some((_, sum)) => *sum = sum.zip(value).map(|(sum, value)| sum + value),
                None => sums.push((metric, value)),
            }
        }
        sums.into_iter().filter_map(|(metric, sum)| Some((metric, sum?))).collect()
    }

    /// What was counted after an earlier reading. A metric that one of the two lacks is left out.
    pub(crate) fn since(&self, before: &[(&'static str, u64)]) -> Vec<(&'static str, u64)> {
        let difference = |(metric, now): (&'static str, u64)| {
            let (_, then) = before.iter().find(|(known, _)| *known == metric)?;
            Some((metric, now.checked_sub(*then)?))
        };
        self.read().into_iter().filter_map(difference).collect()
    }
}

fn opened(sources: &Sources, target: Target) -> Result<Vec<Event>, String> {
    let mut events = Vec::new();
    for kind in &sources.kinds {
        match Event::open(*kind, target) {
            Ok(event) => events.push(event),
            // A thread that has ended does not count any more.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(format!("perf event {}: {error}", kind.metric)),
        }
    }
    Ok(events)
}
