//! The tasks of a process and of all that it started, and whether they are at rest.

use std::collections::BTreeSet;
use std::fs;

use crate::clock;

/// The maximum time that [`settle`] waits: a process that never rests costs no more than this per
/// sample.
const REST_LIMIT_NS: u64 = 50_000_000;

/// The threads of a process, of its descendants and of its process group.
pub(crate) fn tasks(root: u32) -> BTreeSet<u32> {
    let mut tasks = BTreeSet::new();
    for process in processes(&[root]) {
        tasks.extend(threads_of(process));
    }
    tasks
}

/// The threads of one process.
pub(crate) fn threads_of(process: u32) -> impl Iterator<Item = u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let names = threads.filter_map(|thread| thread.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.parse::<u32>().ok())
}

pub(crate) fn processes(roots: &[u32]) -> BTreeSet<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
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

/// Waits until every task sleeps, up to the limit.
pub(crate) fn settle(root: u32) {
    let start_ns = clock::now_ns();
    while !tasks(root).into_iter().all(sleeps) && clock::now_ns() - start_ns < REST_LIMIT_NS {
        std::thread::yield_now();
    }
}

/// Whether a task is neither on a CPU nor waiting for one. A task that has ended counts as at rest.
pub(crate) fn sleeps(task: u32) -> bool {
    Stat::read(task).is_none_or(|stat| !matches!(stat.state, b'R' | b't'))
}

/// The beginning of `/proc/TASK/stat`; see proc(5).
pub(crate) struct Stat {
    state: u8,
    pub(crate) parent: u32,
    process_group: u32,
}

impl Stat {
    pub(crate) fn read(task: u32) -> Option<Stat> {
        Stat::parse(&fs::read(format!("/proc/{task}/stat")).ok()?)
    }

    fn parse(text: &[u8]) -> Option<Stat> {
        // The name in parentheses may contain any character, including parentheses.
        let end = memchr::memrchr(b')', text)?;
        let rest = std::str::from_utf8(text.get(end + 1..)?).ok()?;
        let mut words = rest.split_ascii_whitespace();
        let state = *words.next()?.as_bytes().first()?;
        let mut number = || words.next()?.parse().ok();
        Some(Stat { state, parent: number()?, process_group: number()? })
    }
}

#[cfg(test)]
mod tests {
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
    fn threads_are_tasks() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            ended.recv().unwrap_err();
        });
        let thread_id = told.recv().unwrap();
        let own = std::process::id();
        let found = tasks(own);
        assert!(found.contains(&own) && found.contains(&thread_id), "{found:?}");
        assert!(!sleeps(own) || own != rustix::thread::gettid().as_raw_nonzero().get() as u32);
        drop(end);
        thread.join().unwrap();
    }
}
