//! Which process measures a run, so that no second process continues it at the same time.

use std::fs;

use measure::launch;
use measure::proc_fs;
use model::run::Environment;

const PROCESS: &str = "measured_by_process";
const STARTED: &str = "measured_by_process_start";
const BOOT: &str = "measured_in_boot";

/// Records this process in the run's environment.
pub(super) fn claim(environment: &mut Environment) {
    let process = std::process::id();
    let facts =
        [(PROCESS, process.into()), (STARTED, start_of(process).into()), (BOOT, boot().into())];
    environment.facts.extend(facts.map(|(name, value)| (name.to_owned(), value)));
}

/// Marks the children of this process: no other one has the same mark.
pub(crate) fn mark() -> String {
    let process = std::process::id();
    mark_of(&boot().unwrap_or_default(), process.into(), start_of(process).unwrap_or_default())
}

fn mark_of(boot: &str, process: u64, started: u64) -> String {
    format!("{boot}-{process}-{started}")
}

/// The processes that were started for the run by a process that has ended.
pub(super) fn left_running(environment: &Environment) -> Vec<i32> {
    let fact = |name: &str| environment.facts.get(name);
    let mark = || {
        let boot = fact(BOOT)?.as_str()?;
        Some(mark_of(boot, fact(PROCESS)?.as_u64()?, fact(STARTED)?.as_u64()?))
    };
    mark().map_or_else(Vec::new, |mark| launch::left_running(&mark))
}

/// The process that measures the run, if it is still alive.
pub(crate) fn holder(environment: &Environment) -> Option<u32> {
    let fact = |name: &str| environment.facts.get(name);
    let process = u32::try_from(fact(PROCESS)?.as_u64()?).ok()?;
    let started = start_of(process)?;
    let same =
        fact(BOOT)?.as_str() == boot().as_deref() && fact(STARTED)?.as_u64() == Some(started);
    (same && process != std::process::id()).then_some(process)
}

/// The start time of a process, in ticks since the start of the system: together with the process
/// id it is unique. `None` if the process has ended.
fn start_of(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(proc_fs::path(process, "stat").ok()?).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let has_ended = matches!(fields.next()?, "Z" | "X");
    fields.nth(18)?.parse().ok().filter(|_| !has_ended)
}

fn boot() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alive_as_long_as_it_is_the_same() {
        let mut environment = Environment::default();
        assert_eq!(holder(&environment), None);
        claim(&mut environment);
        assert_eq!(holder(&environment), None, "its own run may be continued");
        let parent = std::os::unix::process::parent_id();
        environment.facts.insert(PROCESS.to_owned(), parent.into());
        // The parent may have been started in the same tick.
        environment.facts.insert(STARTED.to_owned(), 1.into());
        assert_eq!(holder(&environment), None, "another process got the number");
        environment.facts.insert(STARTED.to_owned(), start_of(parent).into());
        assert_eq!(holder(&environment), Some(parent));
        environment.facts.insert(BOOT.to_owned(), "another".into());
        assert_eq!(holder(&environment), None);
    }
}
