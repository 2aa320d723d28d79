use std::{ptr, slice};

use super::*;

#[test]
fn the_clock_never_goes_back_and_has_a_step_and_a_cost() {
    let readings: Vec<u64> = (0..10_000).map(|_| now_ns()).collect();
    assert!(readings.is_sorted());
    assert!(readings[0] > 0);
    assert!((1..u64::MAX).contains(&step_ns()));
    assert!(tick_ns().is_none_or(|ns| ns > 0));
    assert!(cost_ns() > 0.0);
    reap(std::process::id()).unwrap_err();
}

#[test]
fn the_clock_source_is_one_of_those_that_the_kernel_has() {
    let path = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let available = std::fs::read_to_string(path).unwrap_or_default();
    let known: Vec<&str> = available.split_whitespace().collect();
    assert_eq!(source().is_some(), !known.is_empty());
    assert!(source().is_none_or(|source| known.contains(&source.as_str())));
}

#[test]
fn the_cpu_clock_of_this_process_counts_what_is_computed() {
    let clock = CpuClock::from_pid(std::process::id()).unwrap();
    let (before, thread) = (clock.read_ns().unwrap(), own_thread_cpu_ns());
    let mut answer = 0u64;
    while own_thread_cpu_ns() < thread + 2_000_000 {
        answer = std::hint::black_box(answer + 1);
    }
    assert!(answer > 0);
    assert!(clock.read_ns().unwrap() >= before + 2_000_000);
    assert!(own_cpu_ns() >= before + 2_000_000);
}

#[test]
fn a_process_that_does_not_exist_has_no_cpu_clock() {
    let beyond_the_last = 0x7fff_fff0;
    assert!(CpuClock::from_pid(beyond_the_last).is_err());
}

#[test]
fn the_usage_of_the_kernel_is_in_bytes_and_nanoseconds() {
    let mut kernels = usage(libc::RUSAGE_SELF);
    kernels.ru_utime = libc::timeval { tv_sec: 1, tv_usec: 20 };
    kernels.ru_stime = libc::timeval { tv_sec: 3, tv_usec: 400 };
    (kernels.ru_minflt, kernels.ru_majflt) = (5, 6);
    (kernels.ru_nvcsw, kernels.ru_nivcsw) = (7, 8);
    (kernels.ru_inblock, kernels.ru_oublock) = (9, 10);
    let usage = TreeUsage::from_rusage(&kernels);
    let counts = Usage {
        minor_faults: 5,
        major_faults: 6,
        voluntary_switches: 7,
        involuntary_switches: 8,
        device_read_bytes: 9 * BLOCK_BYTES,
        device_write_bytes: 10 * BLOCK_BYTES,
    };
    let cpu = Cpu { all_ns: 4_000_420_000, user_ns: 1_000_020_000 };
    assert_eq!((usage.cpu, usage.counts), (cpu, counts));
    assert_eq!(usage.cpu.system_ns(), 3_000_400_000);
    let both = usage.plus(&usage);
    assert_eq!(both.cpu, Cpu { all_ns: 8_000_840_000, user_ns: 2_000_040_000 });
    assert_eq!((both.counts.major_faults, both.counts.involuntary_switches), (12, 16));
    assert_eq!(both.since(&usage), usage);
}

#[test]
fn touched_pages_are_counted_as_faults_of_this_process() {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

    // Not from the allocator, whose reused memory already has its pages.
    let (length, access) = (1 << 20, ProtFlags::READ | ProtFlags::WRITE);
    // SAFETY: a new mapping at an address that the kernel chooses.
    let memory =
        unsafe { mmap_anonymous(ptr::null_mut(), length, access, MapFlags::PRIVATE) }.unwrap();
    let before = TreeUsage::own().counts;
    // SAFETY: the mapping is `length` zeros, is writable, and only this refers to it.
    let bytes = unsafe { slice::from_raw_parts_mut(memory.cast::<u8>(), length) };
    bytes.fill(1);
    std::hint::black_box(&bytes);
    let usage = TreeUsage::own().counts.since(&before);
    // SAFETY: the whole mapping, which is not used from here on.
    unsafe { munmap(memory, length) }.unwrap();
    assert!(usage.minor_faults > 0, "{usage:?}");
}
