//! The tasks of a process and of all that it started, and whether they are at rest.

use std::collections::BTreeSet;
use std::fs;

use crate::{clock, proc_fs};

/// The CPU time after which [`settle`] gives up: a process that never rests costs no more than this
/// per sample.
const REST_LIMIT_CPU_NS: u64 = 50_000_000;
/// The maximum time that [`settle`] waits for a process that gets no CPU on a busy machine.
const REST_LIMIT_NS: u64 = 5_000_000_000;

/// The threads of a process, of its descendants and of its process group.
pub fn tasks(root: u32) -> BTreeSet<u32> {
    let mut tasks = BTreeSet::new();
    for process in processes(&[root]) {
        tasks.extend(threads_of(process));
    }
    tasks
}

/// The threads of one process.
pub(crate) fn threads_of(process: u32) -> impl Iterator<Item = u32> {
    let threads = proc_fs::path(process, "task").and_then(fs::read_dir).into_iter().flatten();
    let names = threads.filter_map(|thread| thread.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse::<u32>().ok())
}

pub fn processes(roots: &[u32]) -> BTreeSet<u32> {
    let entries = proc_fs::is_own().then(|| fs::read_dir("/proc")).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbers = numbers.filter_map(|name| name.parse::<u32>().ok());
    let others: Vec<(u32, Stat)> = numbers.filter_map(|n| Some((n, Stat::read(n)?))).collect();
    let mut found: BTreeSet<u32> = roots.iter().copied().collect();
    loop {
        let belongs =
            |stat: &Stat| roots.contains(&stat.process_group) || found.contains(&stat.parent);
        let new: Vec<u32> = (others.iter().filter(|(n, stat)| !found.contains(n) && belongs(stat)))
            .map(|(n, _)| *n)
            .collect();
        if new.is_empty() {
            return found;
        }
        found.extend(new);
    }
}

/// Waits until every task sleeps, up to the limits.
pub fn settle(root: u32) {
    let cpu_ns =
        || processes(&[root]).into_iter().filter_map(Stat::read).map(|stat| stat.cpu_ns()).sum();
    wait_for_rest(|| tasks(root).into_iter().all(sleeps), cpu_ns, clock::now_ns);
}

fn wait_for_rest(rests: impl Fn() -> bool, cpu_ns: impl Fn() -> u64, now_ns: impl Fn() -> u64) {
    if rests() {
        return;
    }
    let (start_ns, used_ns) = (now_ns(), cpu_ns());
    let gives_up = || {
        cpu_ns().saturating_sub(used_ns) >= REST_LIMIT_CPU_NS
            || now_ns() - start_ns >= REST_LIMIT_NS
    };
    while !rests() && !gives_up() {
        std::thread::yield_now();
    }
}

/// Whether a task is neither on a CPU nor waiting for one. A task that has ended counts as at rest.
pub fn sleeps(task: u32) -> bool {
    Stat::read(task).is_none_or(|stat| !matches!(stat.state, b'R' | b't'))
}

/// The beginning of `/proc/TASK/stat`; see proc(5).
pub(crate) struct Stat {
    state: u8,
    pub parent: u32,
    process_group: u32,
    /// Of all threads of the process, also of those that have ended.
    cpu_ticks: u64,
}

impl Stat {
    pub(crate) fn read(task: u32) -> Option<Stat> {
        Stat::parse(&fs::read(proc_fs::path(task, "stat").ok()?).ok()?)
    }

    fn parse(text: &[u8]) -> Option<Stat> {
        // The name in parentheses may contain any character, including parentheses.
        let end = memchr::memrchr(b')', text)?;
        let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
        let mut words = rest.split_ascii_whitespace();
        let state = *words.next()?.as_bytes().first()?;
        let mut number = || words.next()?.parse::<u32>().ok();
        let (parent, process_group) = (number()?, number()?);
        // User time is the 14th word of the file, system time the 15th.
        let ticks = words.skip(8).take(2).map(|word| word.parse::<u64>().unwrap_or_default());
        Some(Stat { state, parent, process_group, cpu_ticks: ticks.sum() })
    }

    fn cpu_ns(&self) -> u64 {
        self.cpu_ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_name_may_hold_parentheses() {
        let stat = Stat::parse(b"7 (a) R (b) S 5 6 6 0").unwrap();
        assert_eq!((stat.state, stat.parent, stat.process_group), (b'S', 5, 6));
        for text in [&b""[..], b"7 (a)", b"7 (a) S", b"7 (a) S x 6", b")"] {
            assert!(Stat::parse(text).is_none());
        }
    }

    #[test]
    fn the_cpu_time_is_of_both_modes() {
        let stat = Stat::parse(b"7 (a) S 5 6 6 0 -1 4194560 100 0 0 0 30 12 9 9").unwrap();
        let seconds_ns = stat.cpu_ns() * rustix::param::clock_ticks_per_second();
        assert_eq!((stat.cpu_ticks, seconds_ns), (42, 42_000_000_000));
    }

    /// When the wait ends, if the process gets this share of a CPU and rests after this CPU time.
    fn waits_ms(share: f64, rests_after_ms: u64) -> u64 {
        let now = Cell::new(0);
        let cpu_ns = || (now.get() as f64 * share) as u64;
        let tick = || {
            now.set(now.get() + 1_000_000);
            now.get()
        };
        wait_for_rest(|| cpu_ns() >= rests_after_ms * 1_000_000, cpu_ns, tick);
        now.get() / 1_000_000
    }

    #[test]
    fn a_process_that_gets_no_cpu_is_waited_for() {
        assert_eq!(waits_ms(1.0, 0), 0);
        assert_eq!(waits_ms(1.0, 10), 10);
        assert!((500..=501).contains(&waits_ms(0.02, 10)), "{}", waits_ms(0.02, 10));
    }

    #[test]
    fn a_process_that_never_rests_is_given_up() {
        assert!((50..=51).contains(&waits_ms(1.0, u64::MAX >> 32)));
        assert!((5000..=5001).contains(&waits_ms(0.0, 10)));
    }

    #[test]
    fn threads_are_tasks() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            sender.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            ended.recv().unwrap_err();
        });
        let thread_id = receiver.recv().unwrap();
        let own = std::process::id();
        let found = tasks(own);
        assert!(found.contains(&own) && found.contains(&thread_id), "{found:?}");
        assert!(!sleeps(own) || own != rustix::thread::gettid().as_raw_nonzero().get() as u32);
        drop(end);
        thread.join().unwrap();
    }
}
