//! The only reader of time. Intervals come from one monotonic clock; the date is used only in
//! records.
#![expect(
    unsafe_code,
    reason = "clock_gettime, getrusage and wait4 fill structs that the caller gives"
)]

use std::ops::{Add, Sub};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{io, mem};

/// Not affected by changes of the date, and read without a system call.
#[cfg(not(target_vendor = "apple"))]
const MONOTONIC: libc::clockid_t = libc::CLOCK_MONOTONIC;
/// `CLOCK_MONOTONIC` has steps of 1 µs on Apple systems.
#[cfg(target_vendor = "apple")]
const MONOTONIC: libc::clockid_t = libc::CLOCK_UPTIME_RAW;

/// Nanoseconds of the monotonic clock since an arbitrary start.
#[inline]
pub fn now_ns() -> u64 {
    // The monotonic clock exists on every system that this compiles for.
    clock_ns(MONOTONIC).unwrap_or(0)
}

/// How long the machine has been suspended since it was started.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn suspended_ns() -> u64 {
    let awake_ns = now_ns();
    clock_ns(libc::CLOCK_BOOTTIME).unwrap_or(0).saturating_sub(awake_ns)
}

/// This system does not tell.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn suspended_ns() -> u64 {
    0
}

/// The date and time, as 2026-01-31T23:59:59.123Z.
pub fn utc_rfc3339() -> String {
    #[expect(clippy::disallowed_methods, reason = "this is crate::clock")]
    let now = SystemTime::now();
    rfc3339(now.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO))
}

/// The CPU time of all threads of one process, including those that have ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuClock(libc::clockid_t);

impl CpuClock {
    /// Fails for a process that does not exist.
    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    pub(crate) fn from_pid(pid: u32) -> io::Result<Self> {
        let mut id: libc::clockid_t = 0;
        // SAFETY: `id` is valid for writing a clock id, and any number may be passed as a process.
        match unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut id) } {
            0 => Ok(Self(id)),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
    pub(crate) fn from_pid(_pid: u32) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this system has no CPU clock of a process"))
    }

    pub(crate) fn read_ns(self) -> io::Result<u64> {
        clock_ns(self.0)
    }
}

/// The CPU time of all threads of this process.
///
/// It is exact for the calling thread. For a *foreign* process that is on a CPU at the time of the
/// reading, it is late by up to one tick of the kernel (4 ms at 250 Hz), because only the process's
/// own reading updates it.
pub(crate) fn own_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
}

/// The CPU time of the calling thread.
pub(crate) fn own_thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// CPU time, and the part of it that was spent in the program rather than in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    pub all_ns: u64,
    /// The kernel counts this in whole ticks and scales them to the total time, which it knows
    /// exactly.
    pub user_ns: u64,
}

impl Cpu {
    pub fn system_ns(self) -> u64 {
        self.all_ns.saturating_sub(self.user_ns)
    }
}

impl Add for Cpu {
    type Output = Cpu;

    fn add(self, other: Cpu) -> Cpu {
        Cpu { all_ns: self.all_ns + other.all_ns, user_ns: self.user_ns + other.user_ns }
    }
}

impl Sub for Cpu {
    type Output = Cpu;

    fn sub(self, before: Cpu) -> Cpu {
        Cpu {
            all_ns: self.all_ns.saturating_sub(before.all_ns),
            user_ns: self.user_ns.saturating_sub(before.user_ns),
        }
    }
}

/// The CPU time of the calling thread, in its two parts.
pub fn own_thread_cpu() -> Cpu {
    #[cfg(target_os = "linux")]
    let user_ns = user_ns(&usage(libc::RUSAGE_THREAD));
    #[cfg(not(target_os = "linux"))]
    let user_ns = 0;
    Cpu { all_ns: own_thread_cpu_ns(), user_ns }
}

/// The usage of processes, including all that they started and waited for: a child for which its
/// parent did not wait is counted nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeUsage {
    pub cpu: Cpu,
    pub counts: Usage,
}

impl TreeUsage {
    /// For this process, all its threads.
    pub(crate) fn own() -> TreeUsage {
        TreeUsage::from_rusage(&usage(libc::RUSAGE_SELF))
    }

    /// For all children of this process that have ended and been waited for.
    pub(crate) fn of_ended_children() -> TreeUsage {
        TreeUsage::from_rusage(&usage(libc::RUSAGE_CHILDREN))
    }

    fn from_rusage(usage: &libc::rusage) -> TreeUsage {
        let user_ns = user_ns(usage);
        let cpu = Cpu { all_ns: user_ns + time_ns(usage.ru_stime), user_ns };
        TreeUsage { cpu, counts: Usage::from_rusage(usage) }
    }

    /// The usage of both.
    #[must_use]
    pub(crate) fn plus(&self, other: &TreeUsage) -> TreeUsage {
        TreeUsage { cpu: self.cpu + other.cpu, counts: self.counts.plus(&other.counts) }
    }

    /// The difference from `before`.
    #[must_use]
    pub(crate) fn since(&self, before: &TreeUsage) -> TreeUsage {
        TreeUsage { cpu: self.cpu - before.cpu, counts: self.counts.since(&before.counts) }
    }
}

/// Waits for the end of a child and reaps it; returns its usage.
pub(crate) fn reap(child: u32) -> io::Result<(ExitStatus, TreeUsage)> {
    // SAFETY: a struct of integers, for which all zeros are a valid value.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    let mut status = 0;
    loop {
        // SAFETY: both are valid for writing; for a number that is not a child's the call fails.
        let reaped =
            unsafe { libc::wait4(child as libc::pid_t, &raw mut status, 0, &raw mut usage) };
        if reaped >= 0 {
            return Ok((ExitStatus::from_raw(status), TreeUsage::from_rusage(&usage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn user_ns(usage: &libc::rusage) -> u64 {
    time_ns(usage.ru_utime)
}

fn time_ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000
}

fn usage(whose: libc::c_int) -> libc::rusage {
    // SAFETY: a struct of integers, for which all zeros are a valid value.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: `usage` is valid for writing.
    let status = unsafe { libc::getrusage(whose, &raw mut usage) };
    debug_assert_eq!(status, 0, "getrusage of what always exists cannot fail");
    usage
}

/// The kernel's counts of a process, all its threads, since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// What the device delivered and took; 0 on systems other than Linux.
    pub device_read_bytes: u64,
    pub device_write_bytes: u64,
}

/// The kernel counts in blocks of this size (Linux, `task_io_get_inblock`); other systems count
/// operations.
const BLOCK_BYTES: u64 = if cfg!(target_os = "linux") { 512 } else { 0 };

impl Usage {
    /// `ru_maxrss` is left out: it includes the memory of the process that started this one.
    fn from_rusage(usage: &libc::rusage) -> Self {
        Self {
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
            device_read_bytes: usage.ru_inblock as u64 * BLOCK_BYTES,
            device_write_bytes: usage.ru_oublock as u64 * BLOCK_BYTES,
        }
    }

    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            device_read_bytes: self.device_read_bytes + other.device_read_bytes,
            device_write_bytes: self.device_write_bytes + other.device_write_bytes,
        }
    }

    /// The difference from `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(before.involuntary_switches),
            device_read_bytes: self.device_read_bytes.saturating_sub(before.device_read_bytes),
            device_write_bytes: self.device_write_bytes.saturating_sub(before.device_write_bytes),
        }
    }
}

/// The smallest step between two readings that differ. No interval has a better resolution than
/// this.
pub fn step_ns() -> u64 {
    let mut step = u64::MAX;
    for _ in 0..1000 {
        let start = now_ns();
        let mut next = now_ns();
        while next == start {
            next = now_ns();
        }
        step = step.min(next.saturating_sub(start));
    }
    step
}

/// The cost of one reading: the minimum of several batches, because noise only adds time. Each run
/// asks for it, so the batches are short.
pub fn cost_ns() -> f64 {
    const READINGS: u32 = 200;
    let batch = || {
        let start = now_ns();
        for _ in 1..READINGS {
            std::hint::black_box(now_ns());
        }
        (now_ns() - start) as f64 / f64::from(READINGS)
    };
    (0..10).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

/// The step of the kernel's tick, at which it schedules CPUs; the coarse clock advances with it.
#[cfg(target_os = "linux")]
pub(crate) fn tick_ns() -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; for an unknown clock the call fails.
    let status = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    (status == 0).then(|| nanoseconds(time))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn tick_ns() -> Option<u64> {
    None
}

/// The clock source of the kernel (`tsc`, `kvm-clock`, …), where it reports it.
pub fn source() -> Option<String> {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

#[inline]
fn clock_ns(id: libc::clockid_t) -> io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; for an id that does not exist the call fails.
    if unsafe { libc::clock_gettime(id, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(nanoseconds(time))
}

fn nanoseconds(time: libc::timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A date after 1970 in the format of [`utc_rfc3339`].
pub(crate) fn rfc3339(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let ms = since_epoch.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Year, month and day of a count of days since 1970-01-01: the inverse of "days from civil" of H.
/// Hinnant (<https://howardhinnant.github.io/date_algorithms.html>), where a year starts in March
/// so that the leap day is its last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod calendar_tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let check = |seconds: u64, expected: &str| {
            assert_eq!(rfc3339(Duration::from_millis(seconds * 1000 + 7)), expected);
        };
        check(0, "1970-01-01T00:00:00.007Z");
        check(951_782_400, "2000-02-29T00:00:00.007Z");
        check(951_868_799, "2000-02-29T23:59:59.007Z");
        check(1_000_000_000, "2001-09-09T01:46:40.007Z");
        check(1_234_567_890, "2009-02-13T23:31:30.007Z");
        check(1_709_251_199, "2024-02-29T23:59:59.007Z");
        check(1_709_251_200, "2024-03-01T00:00:00.007Z");
        check(4_107_542_400, "2100-03-01T00:00:00.007Z");
        check(1_767_225_599, "2025-12-31T23:59:59.007Z");
    }

    #[test]
    fn every_day_follows_the_day_before() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..200_000 {
            assert_eq!(civil(days), (year, month, day));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }
}
