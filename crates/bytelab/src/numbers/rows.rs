//! The list of rows: a new row is a new line.

use Quantity::{Metric, PerMebibyte, Time};
use lab::analyze::latency::Quantity;

/// One row of the table.
pub(crate) struct Row {
    /// The name in flags, keys and the store.
    pub(crate) name: &'static str,
    /// The title for readers.
    pub(crate) title: &'static str,
    pub(crate) experiment: &'static str,
    pub(crate) method: &'static str,
    /// `name=value`, separated by spaces. A size may be `L1/2`, `L2/2`, `L3/4`, `memory`,
    /// `memory/2` or `memory/4`, of this machine. A param that is not listed has its first default.
    pub(crate) point: &'static str,
    pub(crate) quantity: Quantity,
    /// The published figure in the same row; empty if there is none.
    pub(crate) published: &'static str,
    /// The machines on which that figure has the same meaning; empty for all.
    pub(crate) published_on: &'static [&'static str],
}

const fn row(
    name: &'static str,
    title: &'static str,
    from: [&'static str; 3],
    quantity: Quantity,
) -> Row {
    let [experiment, method, point] = from;
    Row { name, title, experiment, method, point, quantity, published: "", published_on: &[] }
}

impl Row {
    const fn beside(self, published: &'static str) -> Row {
        Row { published, ..self }
    }

    const fn of(self, published_on: &'static [&'static str]) -> Row {
        Row { published_on, ..self }
    }
}

const PHONES: &[&str] = &["iphone-5s", "iphone-6s-plus", "iphone-x"];
const M: &str = "memory";
const T: &str = "threads";
const F: &str = "files";

#[rustfmt::skip]
pub(crate) const ROWS: &[Row] = &[
    row("add", "add two integers", [M, "add", "job=arithmetic number=integer"], Time),
    row("multiply", "multiply two integers", [M, "multiply", "job=arithmetic number=integer"], Time),
    row("divide", "divide two integers", [M, "divide", "job=arithmetic number=integer"], Time),
    row("add-double", "add two doubles", [M, "add", "job=arithmetic number=double"], Time),
    row("multiply-double", "multiply two doubles", [M, "multiply", "job=arithmetic number=double"], Time),
    row("divide-double", "divide two doubles", [M, "divide", "job=arithmetic number=double"], Time),

    row("l1-load", "load from L1", [M, "random", "job=latency size=L1/2 pages=huge"], Time).beside("latency.l1_ns"),
    row("l2-load", "load from L2", [M, "random", "job=latency size=L2/2 pages=huge"], Time).beside("latency.l2_ns"),
    row("l3-load", "load from L3", [M, "random", "job=latency size=L3/4 pages=huge"], Time),
    row("memory-load", "load from memory", [M, "random", "job=latency size=memory pages=small"], Time).beside("latency.memory_ns"),
    row("memory-load-huge", "load from memory, huge pages", [M, "random", "job=latency size=memory pages=huge"], Time),
    row("memory-next", "load of the next line, memory", [M, "sequential", "job=latency size=memory pages=huge"], Time),
    row("tlb-miss", "load from L2 and a TLB miss", [M, "spread", "job=tlb span=8MiB pages=small"], Time),
    row("read-l2", "read 1 MiB, of L2", [M, "read", "job=bandwidth size=L2/2 pages=huge threads=1"], PerMebibyte),
    row("read-memory", "read 1 MiB of memory", [M, "read", "job=bandwidth size=memory/2 pages=huge threads=1"], PerMebibyte),
    row("write-memory", "write 1 MiB of memory", [M, "write", "job=bandwidth size=memory/2 pages=huge threads=1"], PerMebibyte),
    row("copy-memory", "copy 1 MiB of memory", [M, "copy", "job=bandwidth size=memory/4 pages=huge threads=1"], PerMebibyte),
    row("write-around", "write 1 MiB round the caches", [M, "write-around", "job=bandwidth size=memory/2 pages=huge threads=1"], PerMebibyte),
    row("naive-xor", "x ^= p[i], 5 MB, an element", [M, "xor", "job=naive size=5000000 pages=huge"], Time).beside("other.naive XOR over 5000 kB: total 85 ms"),
    row("page-fault", "first touch of a page", [M, "map-anew", "job=page-fault pages=small"], Time),
    row("page-fault-huge", "first touch of a huge page", [M, "map-anew", "job=page-fault pages=huge"], Time),
    row("core-to-core", "a cache line to another CPU", [M, "compare-exchange", "job=core-to-core"], Time),

    row("mutex", "lock and unlock a mutex", [T, "mutex-alone", "job=uncontended"], Time).beside("latency.semaphore_ns").of(&["2012"]),
    row("semaphore", "semaphore, uncontended", [T, "semaphore-alone", "job=uncontended"], Time),
    row("semaphore-same", "semaphore, same CPU", [T, "semaphore", "job=handover placement=same"], Time),
    row("semaphore-other", "semaphore, other CPU", [T, "semaphore", "job=handover placement=other"], Time).beside("latency.semaphore_ns").of(PHONES),
    row("futex-same", "futex, same CPU", [T, "futex", "job=handover placement=same"], Time),
    row("condvar-same", "mutex and condvar, same CPU", [T, "condvar", "job=handover placement=same"], Time),
    row("channel-same", "channel, same CPU", [T, "channel", "job=handover placement=same"], Time),
    row("eventfd-same", "eventfd, same CPU", [T, "eventfd", "job=handover placement=same"], Time),
    row("pipe-same", "pipe, same CPU", [T, "pipe", "job=handover placement=same"], Time),
    row("unix-same", "Unix socket, same CPU", [T, "unix-socket", "job=handover placement=same"], Time),
    row("tcp-same", "TCP loopback, same CPU", [T, "tcp", "job=handover placement=same"], Time),
    row("spin-other", "spinning, other CPU", [T, "spin", "job=handover placement=other"], Time),
    row("task", "wake an async task", [T, "tokio-tasks", "job=handover"], Time),
    row("switch-threads", "switch to another thread", [T, "switch-threads", "job=switch set=0"], Metric("switch_ns")),
    row("switch-processes", "switch to another process", [T, "switch-processes", "job=switch set=0"], Metric("switch_ns")),
    row("switch-64k", "the same, each reads 64 KiB", [T, "switch-processes", "job=switch set=64KiB"], Metric("switch_ns")),
    row("thread", "a thread's whole life", [T, "pthread", "job=life placement=same"], Time).beside("threads.overhead_ns"),
    row("thread-create", "  the call that creates it", [T, "pthread", "job=life placement=same"], Metric("create_ns")).beside("threads.create_ns"),
    row("thread-end", "  from its end to the join", [T, "pthread", "job=life placement=same"], Metric("end_ns")).beside("threads.end_ns"),
    row("thread-join", "  the call that joins it", [T, "pthread", "job=life placement=same"], Metric("join_ns")).beside("threads.join_ns"),
    row("std-thread", "std::thread, spawn and join", [T, "std-thread", "job=life placement=unpinned"], Time),
    row("pool-job", "a job to a pool and back", [T, "pool", "job=life placement=same"], Time),
    row("posix-spawn", "posix_spawn /bin/true", [T, "posix-spawn", "job=process"], Time),
    row("fork-exec", "fork and exec /bin/true", [T, "fork-exec", "job=process"], Time),

    row("system-call", "a system call (getppid)", [F, "getppid", "job=call"], Time),
    row("read-zero", "read 1 byte of /dev/zero", [F, "read-zero", "job=call"], Time),
    row("map", "mmap and munmap 1 MiB", [F, "map", "job=map size=1MiB"], Time),
    row("stat", "stat a file", [F, "stat", "job=stat"], Time),
    row("open-read-close", "open, read 4 KiB, close", [F, "open-read-close", "job=read size=4KiB"], Time),
    row("pread", "pread 1 KiB, cached", [F, "pread", "job=read size=1KiB"], Time).beside("latency.disk_ns").of(PHONES),
    row("random-read", "random pread of 4 KiB, cached", [F, "random-pread", "job=random span=16MiB"], Time),
    row("disk-read", "random read of 4 KiB, device", [F, "cold-direct", "job=random-cold span=16MiB"], Time).beside("latency.disk_ns").of(&["2012"]),
    row("create-file", "create and close an empty file", [F, "create-write-close", "job=create size=0"], Time),
    row("create-64k", "create a file of 64 KiB", [F, "create-write-close", "job=create size=64KiB"], Time),
    row("append", "append a line to a log", [F, "append", "job=append"], Time),
    row("rename", "rename a file", [F, "rename", "job=rename"], Time),
    row("make-directory", "make a directory", [F, "mkdir", "job=mkdir"], Time),
    row("fsync", "write 4 KiB and fsync", [F, "fsync", "job=durable"], Time),

    row("read-file", "read 1 MiB of a cached file", ["reading", "read", "size=1MiB buffer=128KiB"], Time),
    row("map-file", "map and read 1 MiB of it", ["reading", "mmap", "size=1MiB"], Time),
];
