//! Parses the records of a profile's events; see `perf_event_open(2)`, "MMAP layout".

use crate::count::profile_registers;
use crate::timeline::perf::{COMM, EXIT, FORK, LOST, SAMPLE, next_record, u32_at, u64_at};

/// A record, for the process or the thread that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProfileRecord {
    Sample(RawStack),
    /// A part of a file was mapped to be executed.
    Mapped {
        process: u32,
        start: u64,
        len: u64,
        offset: u64,
        file: String,
    },
    /// The process has replaced its program.
    Executed {
        process: u32,
    },
    /// A new thread, in a new process or an existing one.
    Begins {
        process: u32,
        parent_process: u32,
    },
    Ends {
        process: u32,
        thread: u32,
    },
    /// The thread has left the CPU, because it waits or because another one takes its place.
    Leaves {
        thread: u32,
        waits: bool,
    },
    Returns {
        thread: u32,
    },
    /// This number of records did not fit into the ring.
    Lost(u64),
}

/// Where a thread is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RawStack {
    pub(super) process: u32,
    pub(super) thread: u32,
    pub(super) address: u64,
    /// The time between two samples; 1 for a sample of a switch.
    pub(super) period: u64,
    /// Return addresses in the kernel, the innermost first.
    pub(super) kernel: Vec<u64>,
    /// Those of user mode; empty where there are none.
    pub(super) registers: Vec<u64>,
    /// From the stack pointer on.
    pub(super) stack: Vec<u8>,
}

// The record types and flags of linux/perf_event.h.
const MMAP2: u32 = 10;
const SWITCH: u32 = 14;
const EXECUTED: u16 = 1 << 13;
const LEAVES: u16 = 1 << 13;
const PREEMPTED: u16 = 1 << 14;
/// In a call chain, an address from here on says which kind of addresses follows.
const CONTEXT: u64 = -4095_i64 as u64;
const CONTEXT_KERNEL: u64 = -128_i64 as u64;

/// Parses all records in the bytes with their times. Unknown records are left out.
pub(super) fn parse(bytes: &[u8], mut take: impl FnMut(u64, ProfileRecord)) {
    let mut rest = bytes;
    while let Some((raw, after)) = next_record(rest) {
        if let Some((time_ns, record)) = record(raw.kind, raw.flags, raw.body) {
            take(time_ns, record);
        }
        rest = after;
    }
}

fn record(kind: u32, flags: u16, body: &[u8]) -> Option<(u64, ProfileRecord)> {
    if kind == SAMPLE {
        return sample(body);
    }
    // In a record that is not a sample, the last fields are process and thread, and the time.
    let time_ns = u64_at(body, body.len().checked_sub(8)?)?;
    let word = |i: usize| u32_at(body, 4 * i);
    let record = match kind {
        LOST => ProfileRecord::Lost(u64_at(body, 8)?),
        COMM if flags & EXECUTED != 0 => ProfileRecord::Executed { process: word(0)? },
        FORK => ProfileRecord::Begins { process: word(0)?, parent_process: word(1)? },
        EXIT => ProfileRecord::Ends { process: word(0)?, thread: word(2)? },
        MMAP2 => {
            let file = body.get(64..body.len().checked_sub(16)?)?;
            let file = file.split(|byte| *byte == 0).next()?;
            ProfileRecord::Mapped {
                process: word(0)?,
                start: u64_at(body, 8)?,
                len: u64_at(body, 16)?,
                offset: u64_at(body, 24)?,
                file: String::from_utf8_lossy(file).into_owned(),
            }
        }
        SWITCH => {
            let thread = u32_at(body, body.len().checked_sub(12)?)?;
            if flags & LEAVES == 0 {
                ProfileRecord::Returns { thread }
            } else {
                ProfileRecord::Leaves { thread, waits: flags & PREEMPTED == 0 }
            }
        }
        _ => return None,
    };
    Some((time_ns, record))
}

/// The fields in the order of `perf_event_open(2)`.
fn sample(body: &[u8]) -> Option<(u64, ProfileRecord)> {
    let (process, thread) = (u32_at(body, 8)?, u32_at(body, 12)?);
    let (address, time_ns, period) = (u64_at(body, 0)?, u64_at(body, 16)?, u64_at(body, 24)?);
    let mut at = 32;
    let mut next = || {
        let value = u64_at(body, at);
        at += 8;
        value
    };
    let mut kernel = Vec::new();
    let mut is_kernel = false;
    for _ in 0..next()? {
        match next()? {
            context if context >= CONTEXT => is_kernel = context == CONTEXT_KERNEL,
            address if is_kernel => kernel.push(address),
            _ => {}
        }
    }
    let has_registers = next()? != 0;
    let registers = if has_registers { profile_registers() } else { 0 };
    let registers: Vec<u64> = (0..registers).map(|_| next()).collect::<Option<_>>()?;
    let room = next()? as usize;
    let mut stack = body.get(at..at.checked_add(room)?)?;
    if room > 0 {
        // The part that was copied.
        let size = u64_at(body, at + room)? as usize;
        stack = stack.get(..size.min(room))?;
    }
    let stack = stack.to_vec();
    let raw = RawStack { process, thread, address, period, kernel, registers, stack };
    Some((time_ns, ProfileRecord::Sample(raw)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(kind: u32, flags: u16, body: &[u8]) -> Vec<u8> {
        let len = (8 + body.len()) as u16;
        [&kind.to_ne_bytes()[..], &flags.to_ne_bytes(), &len.to_ne_bytes(), body].concat()
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn longs(longs: &[u64]) -> Vec<u8> {
        longs.iter().flat_map(|long| long.to_ne_bytes()).collect()
    }

    fn parsed(bytes: &[u8]) -> Vec<(u64, ProfileRecord)> {
        let mut found = Vec::new();
        parse(bytes, |time_ns, record| found.push((time_ns, record)));
        found
    }

    #[test]
    fn a_sample_has_its_stacks() {
        let registers: Vec<u64> = (1..=profile_registers() as u64).collect();
        let chain = [CONTEXT_KERNEL, 11, 12, -512_i64 as u64, 13];
        let body = [
            longs(&[0x10]),
            words(&[7, 8]),
            longs(&[5, 1000, chain.len() as u64]),
            longs(&chain),
            longs(&[2]),
            longs(&registers),
            longs(&[16, 21, 22, 8]),
        ];
        let expected = RawStack {
            process: 7,
            thread: 8,
            address: 0x10,
            period: 1000,
            kernel: vec![11, 12],
            registers,
            stack: longs(&[21]),
        };
        let bytes = header(SAMPLE, 0, &body.concat());
        assert_eq!(parsed(&bytes), [(5, ProfileRecord::Sample(expected))]);
    }

    #[test]
    fn tasks_and_mappings_are_reported_with_their_times() {
        let id = [words(&[7, 8]), longs(&[5])].concat();
        let mapped = [words(&[7, 8]), longs(&[0x1000, 0x2000, 0x3000, 0, 0, 0, 0])].concat();
        let mapped = [&mapped[..], b"/bin/sh\0", &id].concat();
        let fork = [words(&[9, 7, 9, 8]), longs(&[5]), id.clone()].concat();
        let bytes = [
            header(MMAP2, 0, &mapped),
            header(COMM, EXECUTED, &[words(&[7, 8]), vec![0; 8], id.clone()].concat()),
            header(COMM, 0, &[words(&[7, 8]), vec![0; 8], id.clone()].concat()),
            header(FORK, 0, &fork),
            header(EXIT, 0, &fork),
            header(SWITCH, LEAVES, &id),
            header(SWITCH, LEAVES | PREEMPTED, &id),
            header(SWITCH, 0, &id),
            header(LOST, 0, &[longs(&[0, 9]), id].concat()),
        ];
        let file = "/bin/sh".to_owned();
        let expected = [
            ProfileRecord::Mapped { process: 7, start: 0x1000, len: 0x2000, offset: 0x3000, file },
            ProfileRecord::Executed { process: 7 },
            ProfileRecord::Begins { process: 9, parent_process: 7 },
            ProfileRecord::Ends { process: 9, thread: 9 },
            ProfileRecord::Leaves { thread: 8, waits: true },
            ProfileRecord::Leaves { thread: 8, waits: false },
            ProfileRecord::Returns { thread: 8 },
            ProfileRecord::Lost(9),
        ];
        assert_eq!(parsed(&bytes.concat()), expected.map(|record| (5, record)));
    }

    proptest! {
        #[test]
        fn no_record_panics(kind in 0u32..16, flags: u16,
                            body in proptest::collection::vec(any::<u8>(), 0..160)) {
            parsed(&header(kind, flags, &body));
        }
    }
}
