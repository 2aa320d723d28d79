//! The rows of `bytelab numbers`, as plain data: the experiment, method and point of each row, and
//! which metric is shown. Other crates measure and print them.

use self::Quantity::{Metric, PerMebibyte, Time};

pub const EXPERIMENT: &str = "numbers";

pub fn row(name: &str) -> Option<&'static NumbersRow> {
    ROWS.iter().find(|row| row.name == name)
}

/// The name of the fact of a run that has the time of all rows of an experiment: of starting and
/// preparing their processes, and of their samples with all that belongs to these.
pub fn took_fact(experiment: &str) -> String {
    format!("measured_for_{experiment}_ns")
}

/// Which value of a sample is the latency.
#[derive(Clone, Copy, Debug)]
pub enum Quantity {
    /// The time of an operation.
    Time,
    /// A time that the method itself measures.
    Metric(&'static str),
    /// The time for 1 MiB.
    PerMebibyte,
}

/// One row of the table.
pub struct NumbersRow {
    /// The name in flags, keys and the store.
    pub name: &'static str,
    /// The title for readers.
    pub title: &'static str,
    pub experiment: &'static str,
    pub method: &'static str,
    /// `name=value`, separated by spaces. A size may be `L1/2`, `L2/2`, `L3/4`, `memory`,
    /// `memory/2` or `memory/4`, of this machine. A param that is not listed has its first default.
    pub point: &'static str,
    pub quantity: Quantity,
    /// The published figure in the same row; empty if there is none.
    pub published: &'static str,
    /// The machines on which that figure has the same meaning; empty for all.
    pub published_on: &'static [&'static str],
}

const fn line(
    name: &'static str,
    title: &'static str,
    from: [&'static str; 3],
    quantity: Quantity,
) -> NumbersRow {
    let [experiment, method, point] = from;
    NumbersRow {
        name,
        title,
        experiment,
        method,
        point,
        quantity,
        published: "",
        published_on: &[],
    }
}

impl NumbersRow {
    const fn published(self, published: &'static str) -> NumbersRow {
        NumbersRow { published, ..self }
    }

    const fn on(self, published_on: &'static [&'static str]) -> NumbersRow {
        NumbersRow { published_on, ..self }
    }
}

const PHONES: &[&str] = &["iphone-5s", "iphone-6s-plus", "iphone-x"];
const M: &str = "memory";
const T: &str = "threads";
const F: &str = "files";

/// The list of rows: a new row is a new line.
#[rustfmt::skip]
pub const ROWS: &[NumbersRow] = &[
    line("add", "add two integers", [M, "add", "job=arithmetic number=integer"], Time),
    line("multiply", "multiply two integers", [M, "multiply", "job=arithmetic number=integer"], Time),
    line("divide", "divide two integers", [M, "divide", "job=arithmetic number=integer"], Time),
    line("add-double", "add two doubles", [M, "add", "job=arithmetic number=double"], Time),
    line("multiply-double", "multiply two doubles", [M, "multiply", "job=arithmetic number=double"], Time),
    line("divide-double", "divide two doubles", [M, "divide", "job=arithmetic number=double"], Time),

    line("l1-load", "load from L1", [M, "random", "job=latency size=L1/2 pages=huge"], Time).published("latency.l1_ns"),
    line("l2-load", "load from L2", [M, "random", "job=latency size=L2/2 pages=huge"], Time).published("latency.l2_ns"),
    line("l3-load", "load from L3", [M, "random", "job=latency size=L3/4 pages=huge"], Time),
    line("memory-load", "load from memory", [M, "random", "job=latency size=memory pages=small"], Time).published("latency.memory_ns"),
    line("memory-load-huge", "load from memory, huge pages", [M, "random", "job=latency size=memory pages=huge"], Time),
    line("memory-next", "load of the next line, memory", [M, "sequential", "job=latency size=memory pages=huge"], Time),
    line("tlb-miss", "load from L2 and a TLB miss", [M, "spread", "job=tlb span=8MiB pages=small"], Time),
    line("read-l2", "read 1 MiB, of L2", [M, "read", "job=bandwidth size=L2/2 pages=huge threads=1"], PerMebibyte),
    line("read-memory", "read 1 MiB of memory", [M, "read", "job=bandwidth size=memory/2 pages=huge threads=1"], PerMebibyte),
    line("write-memory", "write 1 MiB of memory", [M, "write", "job=bandwidth size=memory/2 pages=huge threads=1"], PerMebibyte),
    line("copy-memory", "copy 1 MiB of memory", [M, "copy", "job=bandwidth size=memory/4 pages=huge threads=1"], PerMebibyte),
    line("write-around", "write 1 MiB round the caches", [M, "write-around", "job=bandwidth size=memory/2 pages=huge threads=1"], PerMebibyte),
    line("naive-xor", "x ^= p[i], 5 MB, an element", [M, "xor", "job=naive size=5000000 pages=huge"], Time).published("other.naive XOR over 5000 kB: total 85 ms"),
    line("page-fault", "first touch of a page", [M, "map-anew", "job=page-fault pages=small"], Time),
    line("page-fault-huge", "first touch of a huge page", [M, "map-anew", "job=page-fault pages=huge"], Time),
    line("core-to-core", "a cache line to another CPU", [M, "compare-exchange", "job=core-to-core"], Time),

    line("mutex", "lock and unlock a mutex", [T, "mutex-alone", "job=uncontended"], Time).published("latency.semaphore_ns").on(&["2012"]),
    line("semaphore", "semaphore, uncontended", [T, "semaphore-alone", "job=uncontended"], Time),
    line("semaphore-same", "semaphore, same CPU", [T, "semaphore", "job=handover placement=same"], Time),
    line("semaphore-other", "semaphore, other CPU", [T, "semaphore", "job=handover placement=other"], Time).published("latency.semaphore_ns").on(PHONES),
    line("futex-same", "futex, same CPU", [T, "futex", "job=handover placement=same"], Time),
    line("condvar-same", "mutex and condvar, same CPU", [T, "condvar", "job=handover placement=same"], Time),
    line("channel-same", "channel, same CPU", [T, "channel", "job=handover placement=same"], Time),
    line("eventfd-same", "eventfd, same CPU", [T, "eventfd", "job=handover placement=same"], Time),
    line("pipe-same", "pipe, same CPU", [T, "pipe", "job=handover placement=same"], Time),
    line("unix-same", "Unix socket, same CPU", [T, "unix-socket", "job=handover placement=same"], Time),
    line("tcp-same", "TCP loopback, same CPU", [T, "tcp", "job=handover placement=same"], Time),
    line("spin-other", "spinning, other CPU", [T, "spin", "job=handover placement=other"], Time),
    line("task", "wake an async task", [T, "tokio-tasks", "job=handover"], Time),
    line("switch-threads", "switch to another thread", [T, "switch-threads", "job=switch set=0"], Metric("switch_ns")),
    line("switch-processes", "switch to another process", [T, "switch-processes", "job=switch set=0"], Metric("switch_ns")),
    line("switch-64k", "the same, each reads 64 KiB", [T, "switch-processes", "job=switch set=64KiB"], Metric("switch_ns")),
    line("thread", "a thread's whole life", [T, "pthread", "job=life placement=same"], Time).published("threads.overhead_ns"),
    line("thread-create", "  the call that creates it", [T, "pthread", "job=life placement=same"], Metric("create_ns")).published("threads.create_ns"),
    line("thread-end", "  from its end to the join", [T, "pthread", "job=life placement=same"], Metric("end_ns")).published("threads.end_ns"),
    line("thread-join", "  the call that joins it", [T, "pthread", "job=life placement=same"], Metric("join_ns")).published("threads.join_ns"),
    line("std-thread", "std::thread, spawn and join", [T, "std-thread", "job=life placement=unpinned"], Time),
    line("pool-job", "a job to a pool and back", [T, "pool", "job=life placement=same"], Time),
    line("posix-spawn", "posix_spawn /bin/true", [T, "posix-spawn", "job=process"], Time),
    line("fork-exec", "fork and exec /bin/true", [T, "fork-exec", "job=process"], Time),

    line("system-call", "a system call (getppid)", [F, "getppid", "job=call"], Time),
    line("read-zero", "read 1 byte of /dev/zero", [F, "read-zero", "job=call"], Time),
    line("map", "mmap and munmap 1 MiB", [F, "map", "job=map size=1MiB"], Time),
    line("stat", "stat a file", [F, "stat", "job=stat"], Time),
    line("open-read-close", "open, read 4 KiB, close", [F, "open-read-close", "job=read size=4KiB"], Time),
    line("pread", "pread 1 KiB, cached", [F, "pread", "job=read size=1KiB"], Time).published("latency.disk_ns").on(PHONES),
    line("random-read", "random pread of 4 KiB, cached", [F, "random-pread", "job=random span=16MiB"], Time),
    line("disk-read", "random read of 4 KiB, device", [F, "cold-direct", "job=random-cold span=16MiB"], Time).published("latency.disk_ns").on(&["2012"]),
    line("create-file", "create and close an empty file", [F, "create-write-close", "job=create size=0"], Time),
    line("create-64k", "create a file of 64 KiB", [F, "create-write-close", "job=create size=64KiB"], Time),
    line("append", "append a line to a log", [F, "append", "job=append"], Time),
    line("rename", "rename a file", [F, "rename", "job=rename"], Time),
    line("make-directory", "make a directory", [F, "mkdir", "job=mkdir"], Time),
    line("fsync", "write 4 KiB and fsync", [F, "fsync", "job=durable"], Time),

    line("read-file", "read 1 MiB of a cached file", ["reading", "read", "size=1MiB buffer=128KiB"], Time),
    line("map-file", "map and read 1 MiB of it", ["reading", "mmap", "size=1MiB"], Time),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_there_once_and_plain() {
        for row in ROWS {
            assert_eq!(
                ROWS.iter().filter(|other| other.name == row.name).count(),
                1,
                "{}",
                row.name
            );
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(row.name.chars().all(plain), "{}", row.name);
            assert!(row.title.chars().count() <= 30, "{}", row.title);
        }
        assert!(ROWS.len() >= 40, "{}", ROWS.len());
    }
}
