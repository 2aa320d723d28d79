//! What the tasks (threads) of a process tree waited for a CPU and computed, from the reports of
//! their ends. Pure.

use std::collections::{BTreeMap, BTreeSet};

/// A task that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndedTask {
    pub(crate) task: u32,
    /// The process of which it was a thread.
    pub(crate) process: u32,
    /// The process that is the parent of its process.
    pub(crate) parent: u32,
    /// Ready to run, but no CPU was free.
    pub(crate) wait_ns: u64,
    /// Without what it computed since the last tick of the kernel.
    pub(crate) cpu_ns: u64,
    /// From its start to its end.
    pub(crate) lifetime_ns: u64,
    /// It ended between these two times.
    pub(crate) seen_from_ns: u64,
    pub(crate) seen_ns: u64,
}

/// The tasks of a process tree in one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTree {
    /// The number of tasks.
    pub tasks: u64,
    /// The sum of the times in which a task was ready to run and had no CPU.
    pub wait_ns: u64,
    /// The CPU time of the task that computed most.
    pub longest_task_cpu_ns: u64,
    /// The CPU time of all, without what each computed since the last tick of the kernel.
    pub cpu_ns: u64,
}

/// With more tasks than these, pairs of them are not looked at.
const PAIRS_MAX: usize = 3000;

impl TaskTree {
    /// Of the tasks that have ended those of the processes that `lab` has started since
    /// `start_ns`, and of those that were handed to it: orphans become its children.
    pub(crate) fn of(ended: &[EndedTask], lab: u32, start_ns: u64) -> (TaskTree, Vec<EndedTask>) {
        let mut processes = BTreeSet::from([lab]);
        // A parent ends after its children: in the reverse order it is known before them. A child
        // that outlived its parent has another parent by then.
        let is_of_sample = |task: &EndedTask| {
            task.lifetime_ns <= task.seen_ns.saturating_sub(start_ns) || task.parent != lab
        };
        let mut is_member = vec![false; ended.len()];
        // A parent that frees its memory may be reported before a child that ends meanwhile.
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for (i, task) in ended.iter().enumerate().rev() {
                if !is_member[i] && is_of_sample(task) && processes.contains(&task.parent) {
                    processes.insert(task.process);
                    is_member[i] = true;
                    goes_on = true;
                }
            }
        }
        let members = ended.iter().zip(is_member).filter(|(_, is)| *is);
        let members: Vec<EndedTask> = members.map(|(task, _)| *task).collect();
        let tree = TaskTree {
            tasks: members.len() as u64,
            wait_ns: members.iter().map(|task| task.wait_ns).sum(),
            longest_task_cpu_ns: members.iter().map(|task| task.cpu_ns).max().unwrap_or_default(),
            cpu_ns: members.iter().map(|task| task.cpu_ns).sum(),
        };
        (tree, members)
    }
}

/// How long two of these tasks lived at once of which neither is an ancestor of the other: summed
/// over all pairs, and no more than is certain. None where they are too many.
pub(crate) fn overlap_ns(members: &[EndedTask]) -> Option<u64> {
    if members.len() > PAIRS_MAX {
        return None;
    }
    let parents: BTreeMap<u32, u32> =
        members.iter().map(|task| (task.process, task.parent)).collect();
    let is_above = |above: &EndedTask, task: &EndedTask| {
        let mut process = task.parent;
        // A number may be used twice in a long tree, so that the way up may not end.
        for _ in 0..members.len() {
            if process == above.process {
                return true;
            }
            let Some(parent) = parents.get(&process) else { return false };
            process = *parent;
        }
        false
    };
    let pairs =
        members.iter().enumerate().flat_map(|(i, a)| members[..i].iter().map(move |b| (a, b)));
    let at_once = pairs.filter(|(a, b)| !is_above(a, b) && !is_above(b, a)).map(|(a, b)| {
        let end_ns = a.seen_from_ns.min(b.seen_from_ns);
        let start_ns = |task: &EndedTask| task.seen_ns.saturating_sub(task.lifetime_ns);
        end_ns.saturating_sub(start_ns(a).max(start_ns(b)))
    });
    Some(at_once.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process of one thread that lived from one time to another, and was seen to end at once.
    fn process(process: u32, parent: u32, [start_ns, end_ns]: [u64; 2]) -> EndedTask {
        EndedTask {
            task: process,
            process,
            parent,
            wait_ns: 10,
            cpu_ns: u64::from(process),
            lifetime_ns: end_ns - start_ns,
            seen_from_ns: end_ns,
            seen_ns: end_ns,
        }
    }

    #[test]
    fn a_tree_is_what_the_lab_has_started_with_its_threads_and_orphans() {
        let thread = EndedTask { task: 22, ..process(20, 10, [110, 150]) };
        let ended = [
            process(30, 20, [120, 140]),
            process(99, 98, [100, 145]),
            thread,
            process(20, 10, [110, 160]),
            process(40, 1, [130, 165]),
            process(10, 1, [105, 170]),
            // The process of another method, which was there before.
            process(50, 1, [10, 180]),
        ];
        let (tree, members) = TaskTree::of(&ended, 1, 100);
        assert_eq!(members.iter().map(|task| task.task).collect::<Vec<_>>(), [30, 22, 20, 40, 10]);
        assert_eq!(tree, TaskTree { tasks: 5, wait_ns: 50, longest_task_cpu_ns: 40, cpu_ns: 120 });
        assert_eq!(TaskTree::of(&[], 1, 100).0, TaskTree::default());
    }

    #[test]
    fn children_one_after_the_other_do_not_overlap_and_two_at_once_do() {
        let shell = process(10, 1, [100, 200]);
        let of = |tasks: &[EndedTask]| overlap_ns(tasks).unwrap();
        let serial = [process(20, 10, [110, 130]), process(30, 10, [130, 190]), shell];
        assert_eq!(of(&serial), 0);
        // A grandchild lives while its parent and the shell do.
        assert_eq!(of(&[process(30, 20, [115, 120]), process(20, 10, [110, 130]), shell]), 0);
        let pipeline = [process(20, 10, [110, 180]), process(30, 10, [120, 190]), shell];
        assert_eq!(of(&pipeline), 60);
        // A second thread lives beside the first one of its process.
        assert_eq!(of(&[EndedTask { task: 11, ..process(10, 1, [120, 190]) }, shell]), 70);
    }

    #[test]
    fn an_end_that_was_seen_late_is_no_certain_overlap() {
        let late = EndedTask { seen_from_ns: 130, ..process(30, 10, [140, 190]) };
        assert_eq!(overlap_ns(&[process(20, 10, [110, 150]), late]), Some(0));
        let many = vec![process(20, 10, [110, 150]); PAIRS_MAX + 1];
        assert_eq!(overlap_ns(&many), None);
    }
}
