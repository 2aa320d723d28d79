//! The line protocol of bytelab, the worker's side.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Instant;

use crate::jobs::{Job, Result};

pub(crate) type Arguments = HashMap<String, String>;

/// Answers orders until `bye` or the end of the input.
pub(crate) fn serve(name: &str, prepare: impl Fn(&Arguments) -> Result<Box<dyn Job>>) -> ExitCode {
    let mut job = None;
    say(&format!("hello 1 name={name} lang=rust"));
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let mut words = line.split_ascii_whitespace();
        let reply = match words.next() {
            Some("prepare") => ready(&prepare, words.filter_map(pair).collect(), &mut job),
            Some("go") => match &mut job {
                Some(job) => {
                    let n = words.next().unwrap_or("0");
                    let given: Arguments = words.filter_map(pair).collect();
                    let times = given.get("ops").and_then(|ops| ops.parse().ok()).unwrap_or(1);
                    sample(job.as_mut(), n, times)
                }
                None => Err("go before prepare".to_owned()),
            },
            Some("bye") => break,
            _ => Err(format!("unknown order {line}")),
        };
        say(&reply.unwrap_or_else(|error| match error.strip_prefix("skip ") {
            Some(reason) => format!("skip {}", escaped(reason)),
            None => format!("fail {}", escaped(&error)),
        }));
    }
    ExitCode::SUCCESS
}

fn ready(
    prepare: &impl Fn(&Arguments) -> Result<Box<dyn Job>>,
    arguments: Arguments,
    job: &mut Option<Box<dyn Job>>,
) -> Result<String> {
    let made = job.insert(prepare(&arguments)?);
    Ok(format!("ready digest={:016x}", made.digest()?))
}

fn sample(job: &mut dyn Job, n: &str, times: u64) -> Result<String> {
    let (waited_before_ns, before) = (waited_ns(), cpu_ns());
    // A first reading brings the clock's code and data back into the caches.
    let _ = Instant::now();
    let start = Instant::now();
    let answer = job.run(times);
    let wall_ns = start.elapsed().as_nanos();
    let cpu_ns = cpu_ns().zip(before);
    let waited_ns = waited_ns().zip(waited_before_ns).map(|(after, before)| after - before);
    let bytes = job.bytes() * times;
    let mut line = format!("done {n} wall={wall_ns} ops={times} bytes={bytes}");
    if let Some(answer) = answer? {
        line += &format!(" answer={answer:016x}");
    }
    if let Some(waited_ns) = waited_ns {
        line += &format!(" run_queue_wait_ns={}", waited_ns as f64 / times as f64);
    }
    if let Some((after, before)) = cpu_ns {
        let [user, system] = [0, 1].map(|at| (after[at] - before[at]) as f64 / times as f64);
        line += &format!(" user_ns={user} system_ns={system}");
    }
    if let Some(size_bytes) = job.size_bytes() {
        line += &format!(" size_bytes={size_bytes}");
    }
    Ok(line)
}

/// `struct rusage` of a system with words of 64 bits: two times in s and µs, and 14 numbers.
#[repr(C)]
#[derive(Default)]
struct Usage {
    user: [i64; 2],
    system: [i64; 2],
    others: [i64; 14],
}

/// The user and the system time of this process until now.
#[allow(unsafe_code, reason = "the standard library does not tell user time from system time")]
fn cpu_ns() -> Option<[i64; 2]> {
    unsafe extern "C" {
        fn getrusage(who: i32, usage: *mut Usage) -> i32;
    }
    if cfg!(not(all(target_os = "linux", target_pointer_width = "64"))) {
        return None;
    }
    let mut usage = Usage::default();
    // SAFETY: it fills the struct, which is as long as that of the system; 0 is this process.
    let outcome = unsafe { getrusage(0, &raw mut usage) };
    let Usage { user, system, others: _ } = usage;
    (outcome == 0).then(|| [user, system].map(|[s, us]| s * 1_000_000_000 + us * 1000))
}

/// Second number of schedstat: how long this thread was ready to run and did not.
fn waited_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // If the reader is gone, the end of the input follows.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

fn pair(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    Some((name.to_owned(), unescaped(value)))
}

fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let code = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], code) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'%';
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
