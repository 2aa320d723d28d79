//! Parses the records of a ring; see `perf_event_open(2)`, "MMAP layout". Pure: it reads only
//! bytes.

use crate::count::event::{FieldLayout, Format};

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// A CPU switches from one thread to another.
    Switch {
        from: u32,
        state: i64,
        to: u32,
    },
    Wake {
        thread: u32,
    },
    CallBegins {
        thread: u32,
        number: u64,
    },
    CallEnds {
        thread: u32,
        result: i64,
    },
    PageFault {
        thread: u32,
        address: u64,
    },
    /// A new thread, in a new process or an existing one.
    Begins {
        process: u32,
        thread: u32,
        parent_process: u32,
        parent_thread: u32,
    },
    Named {
        thread: u32,
        name: String,
    },
    Ends {
        thread: u32,
    },
    /// This number of records did not fit into the ring.
    Lost(u64),
}

/// The record formats of the tracepoints.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) switch: Option<(u64, [FieldLayout; 3])>,
    pub(super) wakeups: Vec<(u64, FieldLayout)>,
    pub(super) call_begins: Option<(u64, FieldLayout)>,
    pub(super) call_ends: Option<(u64, FieldLayout)>,
}

// The record types of linux/perf_event.h.
const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const HEADER_BYTES: usize = 8;

impl Layout {
    pub(super) fn set_switch(&mut self, format: &Format) -> Option<()> {
        let [from, state, to] = ["prev_pid", "prev_state", "next_pid"].map(|n| format.place(n));
        self.switch = Some((format.id, [from?, state?, to?]));
        Some(())
    }

    pub(super) fn add_wakeup(&mut self, format: &Format) -> Option<()> {
        self.wakeups.push((format.id, format.place("pid")?));
        Some(())
    }

    /// Parses all records in the bytes with their times. Unknown records are left out.
    pub(super) fn parse(&self, bytes: &[u8], mut take: impl FnMut(u64, Record)) {
        let mut rest = bytes;
        while let Some((kind, body, after)) = next(rest) {
            if let Some((time_ns, record)) = self.record(kind, body) {
                take(time_ns, record);
            }
            rest = after;
        }
    }

    fn record(&self, kind: u32, body: &[u8]) -> Option<(u64, Record)> {
        if kind == SAMPLE {
            return self.sample(body);
        }
        // In a record that is not a sample, the last field is its time.
        let time_ns = u64_at(body, body.len().checked_sub(8)?)?;
        let word = |i: usize| u32_at(body, 4 * i);
        let record = match kind {
            LOST => Record::Lost(u64_at(body, 8)?),
            COMM => {
                let name = body.get(8..body.len().checked_sub(16)?)?;
                let name = name.split(|byte| *byte == 0).next()?;
                let name = String::from_utf8_lossy(name).into_owned();
                Record::Named { thread: word(1)?, name }
            }
            EXIT => Record::Ends { thread: word(2)? },
            FORK => Record::Begins {
                process: word(0)?,
                parent_process: word(1)?,
                thread: word(2)?,
                parent_thread: word(3)?,
            },
            _ => return None,
        };
        Some((time_ns, record))
    }

    fn sample(&self, body: &[u8]) -> Option<(u64, Record)> {
        let (thread, time_ns, address) = (u32_at(body, 4)?, u64_at(body, 8)?, u64_at(body, 16)?);
        let raw = body.get(28..)?.get(..u32_at(body, 24)? as usize)?;
        // The data of a tracepoint begins with its id; a page fault has none.
        let id = u64::from(u16::from_ne_bytes(raw.get(..2)?.try_into().ok()?));
        let of = |known: Option<(u64, FieldLayout)>| {
            known.filter(|(known, _)| *known == id).and_then(|(_, place)| place.read(raw))
        };
        let record = if id == 0 {
            Record::PageFault { thread, address }
        } else if let Some((_, [from, state, to])) = self.switch.filter(|(known, _)| *known == id) {
            let (from, to) = (from.read(raw)? as u32, to.read(raw)? as u32);
            Record::Switch { from, state: state.read(raw)?, to }
        } else if let Some((_, place)) = self.wakeups.iter().find(|(known, _)| *known == id) {
            Record::Wake { thread: place.read(raw)? as u32 }
        } else if let Some(number) = of(self.call_begins) {
            Record::CallBegins { thread, number: number as u64 }
        } else {
            Record::CallEnds { thread, result: of(self.call_ends)? }
        };
        Some((time_ns, record))
    }
}

/// The type and the body of the next record, and the remaining bytes.
fn next(bytes: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let kind = u32_at(bytes, 0)?;
    let len = usize::from(u16::from_ne_bytes(bytes.get(6..8)?.try_into().ok()?));
    Some((kind, bytes.get(HEADER_BYTES..len)?, bytes.get(len..)?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(kind: u32, body: &[u8]) -> Vec<u8> {
        let len = (HEADER_BYTES + body.len()) as u16;
        [&kind.to_ne_bytes()[..], &[0, 0], &len.to_ne_bytes(), body].concat()
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn parsed(bytes: &[u8]) -> Vec<(u64, Record)> {
        let mut found = Vec::new();
        Layout::default().parse(bytes, |time_ns, record| found.push((time_ns, record)));
        found
    }

    #[test]
    fn tasks_are_reported_with_their_times() {
        let time = 5u64.to_ne_bytes();
        let id = [&words(&[1, 1])[..], &time].concat();
        let fork = [&words(&[7, 3, 8, 4])[..], &time, &id].concat();
        let name = [&words(&[7, 8])[..], b"reader\0\0", &id].concat();
        let lost = [&[0; 8][..], &9u64.to_ne_bytes(), &id].concat();
        let fault =
            [&words(&[7, 8])[..], &time, &0x1000u64.to_ne_bytes(), &words(&[4, 0])].concat();
        let all = [header(FORK, &fork), header(COMM, &name), header(LOST, &lost), header(77, &id)];
        let bytes = [all.concat(), header(SAMPLE, &fault), header(EXIT, &fork)].concat();
        let begins = Record::Begins { process: 7, thread: 8, parent_process: 3, parent_thread: 4 };
        let expected = [
            begins,
            Record::Named { thread: 8, name: "reader".to_owned() },
            Record::Lost(9),
            Record::PageFault { thread: 8, address: 0x1000 },
            Record::Ends { thread: 8 },
        ];
        assert_eq!(parsed(&bytes), expected.map(|record| (5, record)));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            parsed(&bytes);
        }

        #[test]
        fn no_record_panics(kind in 0u32..12, body in proptest::collection::vec(any::<u8>(), 0..80)) {
            parsed(&header(kind, &body));
        }
    }
}
