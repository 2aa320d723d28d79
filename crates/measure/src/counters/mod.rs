//! The only reader of the kernel's counters for another process: CPU, waiting, memory, device
//! bytes, faults, switches. The files stay open, and a reading does not allocate.
//!
//! All of it is read of a worker. Of a plain command only `stat` and `schedstat` are read, after it
//! has ended (`read_ended`): any other metric from `/proc` needs its reason in
//! `CommandRunner::missing`. A built-in method reads its own counters, and after its sample only
//! `status` is read (`Counters::complete`): a value that is not a difference, such as a peak, is
//! added to a list there, and the method reports what `getrusage` gives. Any other is missing of
//! built-in methods.

#[cfg(not(target_os = "linux"))]
mod no_taskstats;
mod reading;
#[cfg(target_os = "linux")]
mod taskstats;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

#[cfg(not(target_os = "linux"))]
pub(crate) use self::no_taskstats::TaskEnds;
pub use self::reading::TaskTree;
pub(crate) use self::reading::is_nearly_all;
pub use self::reading::overlap_ns;
pub use self::reading::{Counter, Reading};
use self::reading::{parse_io, parse_schedstat, parse_stat, parse_status};
#[cfg(target_os = "linux")]
pub(crate) use self::taskstats::TaskEnds;
use crate::clock::{self, CpuClock};
use crate::proc_fs;
use crate::protocol::Totals;

/// The maximum time that a reading waits for the process to come to rest.
const REST_LIMIT_NS: u64 = 20_000_000;
/// `status` is the longest of the files: about 1.5 KB, more with many groups, CPUs or memory nodes.
const BUFFER_LEN: usize = 8192;

/// No CPU has this number.
const NO_CPU: u64 = u64::MAX;

/// The open counters of one process. They stay with that process: a later process with the same
/// number is not read.
pub struct Counters {
    cpu: Option<CpuClock>,
    schedstat: Option<File>,
    io: Option<File>,
    stat: Option<File>,
    status: Option<File>,
    clear_refs: Option<File>,
    why: BTreeMap<&'static str, String>,
    rest_limit_ns: u64,
}

impl Counters {
    /// Opens the available counters; [`Counters::why`] has the reasons for the others.
    pub fn open(pid: u32) -> Self {
        let mut why = BTreeMap::new();
        let mut open = |name, options: &OpenOptions, counters: &[Counter]| {
            let path = format!("/proc/{pid}/{name}");
            let opened = proc_fs::path(pid, name).and_then(|path| options.open(path));
            opened.map_err(|error| explain(&mut why, counters, &path, &error)).ok()
        };
        let read = OpenOptions::new().read(true).clone();
        let write = OpenOptions::new().write(true).clone();
        let mut counters = Self {
            cpu: None,
            schedstat: open("schedstat", &read, SCHEDSTAT),
            io: open("io", &read, IO),
            stat: open("stat", &read, STAT),
            status: open("status", &read, STATUS),
            clear_refs: open("clear_refs", &write, PEAK),
            why,
            rest_limit_ns: REST_LIMIT_NS,
        };
        match CpuClock::from_pid(pid) {
            Ok(clock) => counters.cpu = Some(clock),
            Err(error) => explain(&mut counters.why, CPU, "the CPU clock of the process", &error),
        }
        counters.probe(pid);
        counters
    }

    /// Why a metric is not available, by its name.
    pub fn why(&self) -> &BTreeMap<&'static str, String> {
        &self.why
    }

    /// Resets the peak, so that it covers only what follows.
    pub(crate) fn reset_peak(&self) -> io::Result<()> {
        match &self.clear_refs {
            // 5 resets the high-water mark and touches no page (proc(5), since Linux 4.0).
            Some(file) => file.write_at(b"5", 0).map(|_| ()),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Called before a sample: waits until the process sleeps, up to the limit, and resets the
    /// peak.
    pub fn start(&mut self) -> Reading {
        let reading = self.read_unless_on(|| NO_CPU);
        // Where that is not possible the peak is unknown; see `why`.
        let _ = self.reset_peak();
        reading
    }

    /// All counters at present. For the CPU times it waits until the process is on no CPU, up to
    /// the limit; the other counters are read before that wait, because waiting disturbs the
    /// process.
    pub fn read(&mut self) -> Reading {
        // A process that waits for the CPU of the reader is not on it, so its times are exact.
        self.read_unless_on(this_cpu)
    }

    /// After a sample of a process that has read the other counters itself: these, and those that
    /// only another process may read. The kernel makes a text for each file that is read, which
    /// takes several microseconds.
    pub fn complete(&self, totals: &Totals) -> Reading {
        let mut status = Reading::default();
        self.read_status(&mut [0u8; BUFFER_LEN], &mut status);
        let mut reading = Reading::new(true).with([
            (Counter::CpuNs, totals.cpu_ns),
            (Counter::MainThreadCpuNs, totals.main_thread_cpu_ns),
            (Counter::MinorFaultsOfChildren, totals.minor_faults_of_children),
        ]);
        // Without /proc/PID/io, the kernel does not count what devices deliver.
        if self.io.is_some() {
            reading = reading.with([
                (Counter::DeviceReadBytes, totals.device_read_bytes),
                (Counter::DeviceWriteBytes, totals.device_write_bytes),
            ]);
        }
        for counter in [Counter::PeakRssBytes, Counter::Threads] {
            reading[counter] = status[counter];
        }
        reading
    }

    fn read_status(&self, buffer: &mut [u8; BUFFER_LEN], reading: &mut Reading) {
        if let Some(text) = pread(self.status.as_ref(), buffer) {
            parse_status(text, reading);
        }
        if self.clear_refs.is_none() {
            reading[Counter::PeakRssBytes] = None;
        }
    }

    fn read_unless_on(&mut self, cpu: fn() -> u64) -> Reading {
        let mut buffer = [0u8; BUFFER_LEN];
        let mut reading = Reading::default();
        if let Some(text) = pread(self.io.as_ref(), &mut buffer) {
            parse_io(text, &mut reading);
        }
        self.read_status(&mut buffer, &mut reading);
        let running = pread(self.stat.as_ref(), &mut buffer).is_some_and(|text| {
            parse_stat(text, cpu(), &mut reading);
            !reading.at_rest
        });
        self.read_times(&mut buffer, &mut reading);
        if running {
            let wait = reading[Counter::RunQueueWaitNs];
            reading.at_rest = self.comes_to_rest(cpu, &mut buffer);
            self.read_times(&mut buffer, &mut reading);
            reading[Counter::RunQueueWaitNs] = wait;
        }
        if reading.at_rest {
            self.rest_limit_ns = REST_LIMIT_NS;
        }
        reading
    }

    fn read_times(&self, buffer: &mut [u8; BUFFER_LEN], reading: &mut Reading) {
        reading[Counter::CpuNs] = self.cpu.and_then(|clock| clock.read_ns().ok());
        if let Some(text) = pread(self.schedstat.as_ref(), buffer) {
            parse_schedstat(text, reading);
        }
    }

    /// Polls until the main thread does not run. A process that does not come to rest in time gets
    /// half the time at the next reading, so that a process that never rests costs little.
    fn comes_to_rest(&mut self, cpu: fn() -> u64, buffer: &mut [u8; BUFFER_LEN]) -> bool {
        let started = clock::now_ns();
        let mut look = Reading::default();
        while clock::now_ns() - started < self.rest_limit_ns {
            std::thread::yield_now();
            let Some(text) = pread(self.stat.as_ref(), buffer) else { return false };
            parse_stat(text, cpu(), &mut look);
            if look.at_rest {
                return true;
            }
        }
        self.rest_limit_ns /= 2;
        false
    }

    /// Some kernels and sandboxes have the files, but not the expected content.
    fn probe(&mut self, pid: u32) {
        if let Some(file) = &self.clear_refs
            && let Err(error) = file.write_at(b"5", 0)
        {
            explain(&mut self.why, PEAK, &format!("/proc/{pid}/clear_refs"), &error);
            self.clear_refs = None;
        }
        let reading = self.read();
        let of_files = [
            (SCHEDSTAT, Counter::RunQueueWaitNs, "schedstat"),
            (IO, Counter::DeviceReadBytes, "io"),
            (STAT, Counter::MinorFaults, "stat"),
            (PEAK, Counter::PeakRssBytes, "status"),
            (SWITCHES, Counter::VoluntarySwitches, "status"),
        ];
        for (counters, read, file) in of_files {
            for counter in counters.iter().filter(|_| reading[read].is_none()) {
                let reason = format!("/proc/{pid}/{file} does not tell it on this system");
                self.why.entry(counter.name()).or_insert(reason);
            }
        }
    }
}

/// What the kernel still has of a process that has ended and is not reaped, besides its usage,
/// which `wait4` gives. Each file is opened and read once, because both take microseconds.
pub(crate) fn read_ended(pid: u32) -> Reading {
    let open = |name: &str| File::open(proc_fs::path(pid, name).ok()?).ok();
    let (stat, schedstat) = (open("stat"), open("schedstat"));
    let mut buffer = [0u8; BUFFER_LEN];
    let mut reading = Reading::default();
    if let Some(text) = pread(stat.as_ref(), &mut buffer) {
        parse_stat(text, NO_CPU, &mut reading);
    }
    if let Some(text) = pread(schedstat.as_ref(), &mut buffer) {
        parse_schedstat(text, &mut reading);
    }
    reading
}

/// Whether the kernel counts what devices deliver and take: where it does not, the usage of a
/// process has zeros for it.
pub(crate) fn counts_device_bytes() -> bool {
    static COUNTS: OnceLock<bool> = OnceLock::new();
    *COUNTS.get_or_init(|| std::fs::exists("/proc/self/io").unwrap_or(false))
}

/// How long a thread ran, and how long it waited for a CPU.
pub(crate) fn thread_times_ns(process: u32, thread: u32) -> Option<(u64, u64)> {
    let path = proc_fs::path(process, &format!("task/{thread}/schedstat")).ok()?;
    let text = std::fs::read(path).ok()?;
    let mut reading = Reading::default();
    parse_schedstat(&text, &mut reading);
    reading[Counter::MainThreadCpuNs].zip(reading[Counter::RunQueueWaitNs])
}

/// The run-queue wait of one thread of this process. A method's process reads that of its main
/// thread directly around the timed interval, which excludes the wait for a CPU after `go` and
/// after `done`.
pub(crate) struct OwnWait(Option<File>);

impl OwnWait {
    pub(crate) fn open() -> Self {
        Self(File::open("/proc/self/schedstat").ok())
    }

    /// That of the calling thread.
    pub(crate) fn of_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    pub(crate) fn read_ns(&self) -> Option<u64> {
        let mut reading = Reading::default();
        parse_schedstat(pread(self.0.as_ref(), &mut [0; 128])?, &mut reading);
        reading[Counter::RunQueueWaitNs]
    }
}

const CPU: &[Counter] = &[Counter::CpuNs];
const SCHEDSTAT: &[Counter] = &[Counter::MainThreadCpuNs, Counter::RunQueueWaitNs];
const IO: &[Counter] = &[Counter::DeviceReadBytes, Counter::DeviceWriteBytes];
const STAT: &[Counter] = &[Counter::MinorFaults, Counter::MajorFaults];
const PEAK: &[Counter] = &[Counter::PeakRssBytes];
const SWITCHES: &[Counter] = &[Counter::VoluntarySwitches, Counter::InvoluntarySwitches];
const STATUS: &[Counter] =
    &[Counter::VoluntarySwitches, Counter::InvoluntarySwitches, Counter::PeakRssBytes];

fn explain(
    why: &mut BTreeMap<&'static str, String>,
    counters: &[Counter],
    source: &str,
    error: &io::Error,
) {
    for counter in counters {
        why.entry(counter.name()).or_insert_with(|| format!("{source}: {error}"));
    }
}

#[cfg(target_os = "linux")]
fn this_cpu() -> u64 {
    rustix::thread::sched_getcpu() as u64
}

#[cfg(not(target_os = "linux"))]
fn this_cpu() -> u64 {
    NO_CPU
}

/// The file from its beginning. The kernel generates the text for every such read.
fn pread<'b>(file: Option<&File>, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let len = file?.read_at(buffer, 0).ok()?;
    buffer.get(..len)
}

#[cfg(target_os = "linux")]
/// The peak since the process executed its program; for a process that is stopped before its end,
/// the final peak.
pub fn peak_rss_bytes(process: u32) -> Option<u64> {
    let text = std::fs::read(proc_fs::path(process, "status").ok()?).ok()?;
    let mut reading = Reading::default();
    parse_status(&text, &mut reading);
    reading[Counter::PeakRssBytes]
}

/// The CPU time of the threads that the kernel has added to this process to work for its rings.
/// They do only the kernel's work, and stay for some seconds when they have none.
pub fn ring_workers_cpu() -> crate::clock::Cpu {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of_task = |task: std::fs::DirEntry| {
        let text = |name: &str| std::fs::read_to_string(task.path().join(name)).ok();
        // Documentation/scheduler/sched-stats.rst: the first number is the time on a CPU, in ns.
        let is_worker = text("comm")?.starts_with("iou-wrk");
        is_worker.then(|| text("schedstat")?.split(' ').next()?.parse::<u64>().ok()).flatten()
    };
    crate::clock::Cpu { all_ns: tasks.filter_map(of_task).sum(), user_ns: 0 }
}

#[cfg(test)]
mod tests;
