//! The child's side of the line protocol: sets up a built-in method and runs it on order.

use std::io::{self, BufRead, Write};

use anyhow::{Context, Result, bail};
use model::metric;
use model::param::{Param, ParamKind, ParamValue, Point};

use crate::clock::{self, Cpu, TreeUsage, Usage};
use crate::count::{self, CountingAllocator, JobMark, OwnCounts};
use crate::counters::{OwnWait, is_nearly_all};
use crate::experiment::{Execution, Method, Skip, Task};
use crate::phases;
use crate::protocol::{DIGEST_VARIABLE, Done, FRESH_VARIABLE, JOB_START, Order, Reply, Totals};

/// Answers orders from standard input until `bye`, the end of the input or the death of the lab.
/// `language` is that of the code that does the job.
pub fn serve(method: &Method, params: &[Param], language: &str) -> Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
        .context("asking to end with the lab")?;
    let mut orders = io::stdin().lock();
    let counts = OwnCounts::if_requested();
    let wait = OwnWait::open();
    let allocations = counts.is_some() && CountingAllocator::is_in_place();
    let mut task = None;
    let mut line = String::new();
    say(&Reply::Hello { name: method.name.clone(), language: Some(language.to_owned()) })?;
    loop {
        line.clear();
        if orders.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let reply = match Order::parse(&line) {
            Ok(Order::Bye) => return Ok(()),
            Ok(Order::Prepare(arguments)) => {
                task = None;
                prepare(method, params, &arguments).map(|(new, reply)| {
                    task = Some(new);
                    reply
                })
            }
            Ok(Order::Go { n, ops, marked }) => match &mut task {
                Some(task) => {
                    let edge = Edge { wait: &wait, counts: counts.as_ref(), allocations, marked };
                    let job = || sample(task.as_mut(), &edge, n, ops);
                    let (reply, marks) = phases::recorded(marked, job);
                    marks.into_iter().try_for_each(|mark| say(&Reply::Mark(mark)))?;
                    reply
                }
                None => Err(anyhow::anyhow!("go before prepare")),
            },
            Err(reason) => Err(anyhow::Error::msg(reason)),
        };
        say(&reply.unwrap_or_else(|error| refusal(&error)))?;
    }
}

fn say(reply: &Reply) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(reply.to_string().as_bytes())?;
    out.flush()
}

fn refusal(error: &anyhow::Error) -> Reply {
    match error.downcast_ref::<Skip>() {
        Some(_) => Reply::Skip(format!("{error:#}")),
        None => Reply::Fail(format!("{error:#}")),
    }
}

fn prepare(
    method: &Method,
    params: &[Param],
    arguments: &[(String, String)],
) -> Result<(Box<dyn Task>, Reply)> {
    let Execution::BuiltIn(build) = method.execution else {
        bail!("{} is not built in", method.name)
    };
    let point = typed(params, arguments)?;
    let mut task = build(&point)?;
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let without = is_set(FRESH_VARIABLE) || is_set(DIGEST_VARIABLE);
    let digest = if without { None } else { task.digest()? };
    let digest = digest.map(|digest| format!("{digest:016x}"));
    Ok((task, Reply::Ready { digest }))
}

/// The kind of a declared param determines the type of its value; all other values are text.
fn typed(params: &[Param], arguments: &[(String, String)]) -> Result<Point> {
    let mut point = Point::default();
    for (name, text) in arguments {
        let declared = params.iter().find(|param| param.name == name);
        let value = match declared.map(|param| &param.kind) {
            Some(ParamKind::Bytes(..) | ParamKind::Count(..)) => {
                ParamValue::Number(text.parse().with_context(|| format!("param {name}: {text}"))?)
            }
            _ => ParamValue::Text(text.clone()),
        };
        point.set(name, value);
    }
    Ok(point)
}

/// The state that is read before and after a job.
struct Edge<'a> {
    wait: &'a OwnWait,
    /// Set only in the counting pass.
    counts: Option<&'a OwnCounts>,
    allocations: bool,
    /// The lab traces the system calls: the times of this sample are meaningless, and only the
    /// calls between the marks belong to the job.
    marked: bool,
}

/// Only the job runs between the two readings of the clock.
fn sample(task: &mut dyn Task, edge: &Edge<'_>, n: u64, ops: u64) -> Result<Reply> {
    task.before()?;
    if edge.allocations {
        CountingAllocator::start();
    }
    let before = TreeUsage::own();
    let children_before = TreeUsage::of_ended_children();
    // The CPU time is read outside the interval of the wait: reading it updates the scheduler's
    // accounting and may cost the process its CPU.
    let main_before_ns = clock::own_thread_cpu_ns();
    let cpu_before_ns = clock::own_cpu_ns();
    let wait_before_ns = edge.wait.read_ns();
    let counts_before = edge.counts.map(OwnCounts::before);
    // The first reading brings the clock's code and data back into the caches after the system
    // calls.
    clock::now_ns();
    let start_ns = clock::now_ns();
    if edge.marked {
        count::mark(JobMark::Begin);
    }
    let outcome = task.run(ops);
    if edge.marked {
        count::mark(JobMark::End);
    }
    let wall_ns = clock::now_ns() - start_ns;
    let counts_after = edge.counts.map(OwnCounts::after);
    let wait_after_ns = edge.wait.read_ns();
    let cpu_ns = clock::own_cpu_ns() - cpu_before_ns;
    let main_ns = clock::own_thread_cpu_ns() - main_before_ns;
    let children = TreeUsage::of_ended_children().since(&children_before);
    let own = TreeUsage::own().since(&before);
    let used = own.counts.plus(&children.counts);
    let allocated = edge.allocations.then(CountingAllocator::stop);
    let work = outcome?;
    let waited_ns = wait_after_ns.zip(wait_before_ns).map(|(after, before)| after - before);
    let threads_ns = (main_ns, cpu_ns);
    let (waited_ns, allocated) = of_whole_job(waited_ns, allocated, &children.counts, threads_ns);
    let user_ns = own.cpu.user_ns.min(cpu_ns);
    let cpu = Cpu { all_ns: cpu_ns, user_ns } + children.cpu;
    let totals = [
        ("cpu_ns", Some(cpu.all_ns)),
        ("user_ns", Some(cpu.user_ns)),
        ("system_ns", Some(cpu.system_ns())),
        ("run_queue_wait_ns", waited_ns),
        ("minor_faults", Some(used.minor_faults)),
        ("major_faults", Some(used.major_faults)),
        ("voluntary_switches", Some(used.voluntary_switches)),
        ("involuntary_switches", Some(used.involuntary_switches)),
    ];
    let counted = edge.counts.zip(counts_before.zip(counts_after).filter(|_| !edge.marked));
    let counted = counted.map(|(counts, (before, after))| counts.between(&before, &after));
    let allocated = allocated.filter(|_| !edge.marked).into_iter().flatten();
    let counted = counted.into_iter().flatten().chain(allocated);
    let counted = counted.map(|(name, total)| (name, Some(total)));
    let per_op = |(name, total): (&'static str, Option<u64>)| {
        Some((name, metric::per_operation(name, total?, work.ops)))
    };
    // Values that the method measured itself replace those that were read around it.
    let own = task.metrics();
    let is_own = |name: &str| own.iter().any(|(known, _)| *known == name);
    let totals = totals.into_iter().chain(counted).filter(|(name, _)| !is_own(name));
    let job_start = edge.marked.then_some((JOB_START, start_ns as f64));
    let metrics: Vec<_> = totals.filter_map(per_op).collect();
    let metrics = metrics.into_iter().chain(own).chain(job_start);
    let metrics = metrics.map(|(name, value)| (name.to_owned(), value)).collect();
    task.between()?;
    let answer = work.answer.map(|answer| format!("{answer:016x}"));
    let totals = Some(Totals {
        cpu_ns,
        main_thread_cpu_ns: main_ns,
        device_read_bytes: used.device_read_bytes,
        device_write_bytes: used.device_write_bytes,
        minor_faults_of_children: children.counts.minor_faults,
    });
    Ok(Reply::Done(Done { n, wall_ns, ops: work.ops, bytes: work.bytes, answer, metrics, totals }))
}

/// How long the processes and threads started by the job waited for a CPU is not known, nor what
/// these processes allocated. The times are those of the first thread and of all threads.
fn of_whole_job<T>(
    waited_ns: Option<u64>,
    allocated: Option<T>,
    children: &Usage,
    (main_ns, cpu_ns): (u64, u64),
) -> (Option<u64>, Option<T>) {
    let starts_others = *children != Usage::default();
    let waited_ns = waited_ns.filter(|_| !starts_others && is_nearly_all(main_ns, cpu_ns));
    (waited_ns, allocated.filter(|_| !starts_others))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_a_param_has_the_kind_of_the_param() {
        let params = [Param::new("size", ParamKind::Bytes(1, 100), "8")];
        let typed = |value: &str| {
            let arguments = [("size", value), ("other", "9")];
            typed(&params, &arguments.map(|(name, value)| (name.to_owned(), value.to_owned())))
        };
        let point = typed("7").unwrap();
        assert_eq!(point.get("size"), Some(&ParamValue::Number(7)));
        assert_eq!(point.get("other"), Some(&ParamValue::Text("9".to_owned())));
        assert_eq!(typed("x").unwrap_err().to_string(), "param size: x");
    }

    #[test]
    fn the_wait_and_the_allocations_are_those_of_the_whole_job_or_unknown() {
        let check = |children: Usage, main_ns, expected| {
            let known = of_whole_job(Some(7), Some("two"), &children, (main_ns, 1_000_000_000));
            assert_eq!(known, expected, "{children:?} {main_ns}");
        };
        check(Usage::default(), 1_000_000_000, (Some(7), Some("two")));
        // Another thread computes: only its wait is unknown.
        check(Usage::default(), 500_000_000, (None, Some("two")));
        let child = Usage { minor_faults: 1, ..Usage::default() };
        check(child, 1_000_000_000, (None, None));
        check(child, 500_000_000, (None, None));
    }
}
