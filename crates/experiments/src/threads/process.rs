//! A process is started and waited for: another program by fork and exec, or by `posix_spawn`.
#![expect(unsafe_code, reason = "fork, execv, posix_spawn and waitpid have no safe form")]

use std::ffi::{CStr, CString, c_char};
use std::io;
use std::ptr;

use anyhow::{Context, Result, ensure};
use measure::experiment::{Build, Method, Task, Work, skip};

/// Programs with the least possible work.
const PROGRAMS: [&CStr; 2] = [c"/bin/true", c"/usr/bin/true"];

pub(super) fn methods() -> Vec<Method> {
    let method = |name: &str, about: &str, build: Build| {
        Method::built_in(name, about, build).job("process").reads(&["job"])
    };
    vec![
        method("posix-spawn", "posix_spawn of /bin/true, waited for", |_| {
            Ok(Box::new(ProcessStart { program: program()?, start: spawn }))
        }),
        method("fork-exec", "fork and execv of /bin/true, waited for", |_| {
            Ok(Box::new(ProcessStart { program: program()?, start: fork_and_exec }))
        }),
        method("fork-only", "fork of a process that ends at once, waited for", |_| {
            Ok(Box::new(ProcessStart { program: program()?, start: fork_alone }))
        }),
    ]
}

fn program() -> Result<CString> {
    let exists = |path: &&CStr| path.to_str().is_ok_and(|path| std::path::Path::new(path).exists());
    let found = PROGRAMS.into_iter().find(exists);
    found.map(CStr::to_owned).ok_or_else(|| skip("there is no /bin/true to start"))
}

struct ProcessStart {
    program: CString,
    start: fn(&CStr) -> io::Result<libc::pid_t>,
}

impl Task for ProcessStart {
    fn run(&mut self, ops: u64) -> Result<Work> {
        for _ in 0..ops {
            let pid = (self.start)(&self.program).context("starting a process")?;
            let status = wait(pid).context("waiting for a process")?;
            ensure!(status == 0, "the process ended with wait status {status}");
        }
        Ok(Work { ops, bytes: 0, answer: Some(0) })
    }
}

fn spawn(program: &CStr) -> io::Result<libc::pid_t> {
    let mut pid = 0;
    let argv = argv(program);
    let environment: [*mut c_char; 1] = [ptr::null_mut()];
    let (actions, attributes) = (ptr::null(), ptr::null());
    // SAFETY: the program and both lists end with a null; no other attributes are set.
    let error = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            program.as_ptr(),
            actions,
            attributes,
            argv.as_ptr(),
            environment.as_ptr(),
        )
    };
    if error == 0 { Ok(pid) } else { Err(io::Error::from_raw_os_error(error)) }
}

fn fork_and_exec(program: &CStr) -> io::Result<libc::pid_t> {
    let argv = argv(program);
    // SAFETY: this process has one thread, and its child only calls execv and _exit.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: the program and the list end with a null.
            unsafe { libc::execv(program.as_ptr(), argv.as_ptr().cast()) };
            // SAFETY: always allowed; execv returns only on failure.
            unsafe { libc::_exit(127) }
        }
        pid => Ok(pid),
    }
}

fn fork_alone(_: &CStr) -> io::Result<libc::pid_t> {
    // SAFETY: this process has one thread, and its child only calls _exit.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: always allowed.
        0 => unsafe { libc::_exit(0) },
        pid => Ok(pid),
    }
}

fn argv(program: &CStr) -> [*mut c_char; 2] {
    [program.as_ptr().cast_mut(), ptr::null_mut()]
}

fn wait(pid: libc::pid_t) -> io::Result<i32> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is valid for writing.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } == pid {
            return Ok(status);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
