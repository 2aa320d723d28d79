//! Parses the files under /proc/PID. A number that is missing or malformed stays unknown; no text
//! makes these functions fail.

use memchr::memmem;

use super::Reading;

/// CPU time, run-queue wait and turns of the main thread. All are 0 on a kernel that does not count
/// them, and a process that was never on a CPU cannot be waiting for its reader.
pub(super) fn schedstat(text: &[u8], reading: &mut Reading) {
    let line = text.strip_suffix(b"\n").unwrap_or_default();
    let mut fields = line.split(|byte| *byte == b' ').map(number);
    let (cpu, wait) = (fields.next().flatten(), fields.next().flatten());
    if cpu.is_some_and(|ns| ns > 0) {
        (reading.main_thread_cpu_ns, reading.run_queue_wait_ns) = (cpu, wait);
    }
}

pub(super) fn io(text: &[u8], reading: &mut Reading) {
    reading.device_read_bytes = field(text, b"read_bytes");
    reading.device_write_bytes = field(text, b"write_bytes");
}

/// The second field is the name of the program in parentheses, which may contain any character,
/// including parentheses and spaces; after the last parenthesis follow the fields from the third
/// on. The 39th is the CPU. A process that waits for the CPU that the reader is on is not running
/// on it.
pub(super) fn stat(text: &[u8], this_cpu: u64, reading: &mut Reading) {
    let Some(end) = text.iter().rposition(|byte| *byte == b')') else { return };
    let mut fields = text[end + 1..].split(|byte| *byte == b' ').skip(1);
    let state = fields.next();
    let own_minor = fields.nth(6).and_then(number);
    reading.minor_faults_of_children = fields.next().and_then(number);
    let own_major = fields.next().and_then(number);
    let major_of_children = fields.next().and_then(number);
    let sum = |own: Option<u64>, of_children: Option<u64>| own?.checked_add(of_children?);
    reading.minor_faults = sum(own_minor, reading.minor_faults_of_children);
    reading.major_faults = sum(own_major, major_of_children);
    let cpu = fields.nth(25).and_then(number);
    reading.at_rest = state.is_some_and(|state| state != b"R" || cpu == Some(this_cpu));
}

pub(super) fn status(text: &[u8], reading: &mut Reading) {
    reading.peak_rss_bytes = field(text, b"VmHWM").and_then(|kib| kib.checked_mul(1024));
    reading.threads = field(text, b"Threads");
    reading.voluntary_switches = field(text, b"voluntary_ctxt_switches");
    reading.involuntary_switches = field(text, b"nonvoluntary_ctxt_switches");
}

/// The first number of the line `name:  number …`. A last line without a line end may be truncated.
fn field(text: &[u8], name: &[u8]) -> Option<u64> {
    let at_line = |at: &usize| *at == 0 || text[at - 1] == b'\n';
    let after = memmem::find_iter(text, name)
        .filter(at_line)
        .find_map(|at| text[at + name.len()..].strip_prefix(b":"))?;
    let line = &after[..memchr::memchr(b'\n', after)?];
    line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty()).and_then(number)
}

/// The whole word as a decimal number.
fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(parser: fn(&[u8], &mut Reading), text: &str) -> Reading {
        let mut reading = Reading::default();
        parser(text.as_bytes(), &mut reading);
        reading
    }

    #[test]
    fn schedstat_is_cpu_time_and_wait() {
        let check = |text, cpu, wait| {
            let reading = parse(schedstat, text);
            assert_eq!(
                (reading.main_thread_cpu_ns, reading.run_queue_wait_ns),
                (cpu, wait),
                "{text}"
            );
        };
        check("311433 17 3\n", Some(311_433), Some(17));
        check("0 0 0\n", None, None);
        check("", None, None);
        check("12 1", None, None);
        check("12\n", Some(12), None);
        check("99999999999999999999 1 1\n", None, None);
    }

    #[test]
    fn io_is_what_the_device_delivered() {
        let check = |text, read, write| {
            let reading = parse(io, text);
            assert_eq!(
                (reading.device_read_bytes, reading.device_write_bytes),
                (read, write),
                "{text}"
            );
        };
        let all = "rchar: 6976\nwchar: 9\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 8192\n\
                   cancelled_write_bytes: 1\n";
        check(all, Some(4096), Some(8192));
        check("read_bytes: -1\nwrite_bytes: 1 2\n", None, Some(1));
        check("read_bytes: 12", None, None);
        check("read_bytes:\n\nwrite_bytes", None, None);
    }

    fn parse_stat(text: &str, this_cpu: u64) -> Reading {
        let mut reading = Reading::default();
        stat(text.as_bytes(), this_cpu, &mut reading);
        reading
    }

    /// From the fourth field on; the process was last on CPU 1.
    const REST: &str = "5701 5701 3459 0 -1 4194304 104 5 17 6 0 0 0 0 20 0 1 0 95978 3133440 382 \
        18446744073709551615 94163495477248 94163495497129 140720668876752 0 0 0 0 0 0 0 0 0 17 1 0 0 0\n";

    #[test]
    fn stat_survives_any_name_of_a_program() {
        let check = |name, state, rest| {
            let text = format!("57 ({name}) {state} {REST}");
            let reading = parse_stat(&text, 0);
            let faults = (reading.minor_faults, reading.major_faults);
            assert_eq!((faults, reading.at_rest), ((Some(109), Some(23)), rest), "{text}");
            assert_eq!(reading.minor_faults_of_children, Some(5), "{text}");
        };
        check("cat", "S", true);
        check("cat", "R", false);
        check("a) R 1 2 (", "S", true);
        check("\n) (", "D", true);
        assert_eq!(parse_stat("57 (cat", 0), Reading::default());
        assert_eq!(parse_stat("57 (cat)", 0), Reading::default());
    }

    #[test]
    fn who_waits_for_the_cpu_of_the_reader_is_at_rest() {
        let text = format!("57 (cat) R {REST}");
        let check = |cpu, rest| assert_eq!(parse_stat(&text, cpu).at_rest, rest, "{cpu}");
        check(1, true);
        check(0, false);
        assert!(!parse_stat("57 (cat) R 1 2\n", 0).at_rest);
    }

    #[test]
    fn status_is_peak_threads_and_switches() {
        let text = "Name:\tThreads: 9\nVmHWM:\t    1600 kB\nThreads:\t3\n\
                    voluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t7\n";
        let reading = parse(status, text);
        let switches = (reading.voluntary_switches, reading.involuntary_switches);
        assert_eq!(reading.peak_rss_bytes, Some(1600 * 1024));
        assert_eq!((reading.threads, switches), (Some(3), (Some(5), Some(7))));
        // Truncated in the middle of the last number.
        let reading = parse(status, &text[..text.len() - 1]);
        assert_eq!((reading.voluntary_switches, reading.involuntary_switches), (Some(5), None));
        assert_eq!(parse(status, "VmHWM: 18446744073709551615 kB\n").peak_rss_bytes, None);
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            words in "(VmHWM|Threads|read_bytes|[:() \n0-9R-])*",
        ) {
            for text in [&bytes[..], words.as_bytes()] {
                stat(text, 0, &mut Reading::default());
                for parser in [schedstat, io, status] {
                    parser(text, &mut Reading::default());
                }
            }
        }

        #[test]
        fn a_number_is_read_as_it_is_written(value: u64) {
            prop_assert_eq!(number(value.to_string().as_bytes()), Some(value));
            prop_assert_eq!(field(format!("a: 1\nname:\t {value} kB\n").as_bytes(), b"name"), Some(value));
        }
    }
}
