//! One run of a program, with its cost as the kernel counts it.

#![expect(unsafe_code, reason = "wait4(2) has no wrapper that returns the usage")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A command; its standard input may be a pipe from a command that has no other output.
pub(crate) struct Program {
    pub(crate) argv: Vec<String>,
    pub(crate) piped: Option<Vec<String>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) wall_ns: f64,
    pub(crate) cpu_ns: f64,
    /// Not less than that of this program, from which it is started.
    pub(crate) rss_bytes: f64,
    pub(crate) device_bytes: f64,
}

impl Program {
    pub(crate) fn new(line: &str) -> Program {
        Program { argv: line.split(' ').map(str::to_owned).collect(), piped: None }
    }

    pub(crate) fn label(&self) -> String {
        let name = self.argv[0].rsplit('/').next().unwrap_or_default();
        name.to_owned()
    }

    #[expect(clippy::disallowed_methods, reason = "a bench of a library that has no clock")]
    pub(crate) fn run(&self) -> io::Result<Cost> {
        let feeder = match &self.piped {
            Some(argv) => {
                Some(Command::new(&argv[0]).args(&argv[1..]).stdout(Stdio::piped()).spawn()?)
            }
            None => None,
        };
        let (mut feeder, input) = match feeder {
            Some(mut feeder) => {
                let input = feeder.stdout.take().map_or(Stdio::null(), Stdio::from);
                (Some(feeder), input)
            }
            None => (None, Stdio::null()),
        };
        let start = std::time::Instant::now();
        let child = Command::new(&self.argv[0])
            .args(&self.argv[1..])
            .stdin(input)
            .stdout(Stdio::null())
            .spawn()?;
        let usage = wait(&child)?;
        let wall_ns = start.elapsed().as_nanos() as f64;
        if let Some(feeder) = &mut feeder {
            feeder.wait()?;
        }
        let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
        Ok(Cost {
            wall_ns,
            cpu_ns: ns(usage.ru_utime) + ns(usage.ru_stime),
            rss_bytes: usage.ru_maxrss as f64 * 1024.0,
            device_bytes: usage.ru_inblock as f64 * 512.0,
        })
    }
}

fn wait(child: &Child) -> io::Result<libc::rusage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let mut status = 0;
    let pid = child.id() as libc::pid_t;
    // SAFETY: both places are valid for writes of their types.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    if waited != pid {
        return Err(io::Error::last_os_error());
    }
    if status != 0 {
        return Err(io::Error::other(format!("{pid} ended with the status {status:#x}")));
    }
    // SAFETY: zeroes are a value of it, which wait4(2) has filled.
    Ok(unsafe { usage.assume_init() })
}

/// Reads a file in order, so that the page cache holds it in the folios that read-ahead creates.
/// A file that was fetched page by page stays in single pages, and costs more to map.
pub(crate) fn warm(path: &Path) -> io::Result<()> {
    evict(path)?;
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}

/// Writes a copy page by page, so that the page cache holds it in single pages.
pub(crate) fn copy_in_pages(from: &Path, to: &Path) -> io::Result<()> {
    let (mut from, mut to) = (File::open(from)?, File::create(to)?);
    let mut page = [0; 4096];
    loop {
        let n = from.read(&mut page)?;
        if n == 0 {
            return to.sync_all();
        }
        to.write_all(&page[..n])?;
    }
}

/// Drops a file from the page cache.
pub(crate) fn evict(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}
