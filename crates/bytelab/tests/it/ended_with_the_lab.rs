//! What a lab that is killed was measuring or building ends with it, and what it has left in files
//! goes when the next run starts.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Output, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use crate::bench_revisions::repository;
use crate::program::World;

/// Waits until there is something to read, or the process has ended.
fn wait_for(fd: impl AsFd) -> bool {
    let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
    loop {
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit)) {
            Err(Errno::INTR) => {}
            ready => return ready.unwrap() > 0,
        }
    }
}

/// Whether the process ends.
fn has_ended(process: Pid) -> bool {
    match pidfd_open(process, PidfdFlags::empty()) {
        Ok(process) => wait_for(process),
        Err(error) => error == Errno::SRCH,
    }
}

/// The processes in whose file in `/proc` this is.
fn processes_with(file: &str, text: &str) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let has = |process: &i32| {
        let read = std::fs::read(format!("/proc/{process}/{file}")).unwrap_or_default();
        String::from_utf8_lossy(&read).split('\0').any(|word| word.contains(text))
    };
    all.filter(has).collect()
}

/// A run that is in the middle of something.
struct Running {
    lab: Child,
    home: String,
}

impl Running {
    /// Starts it, and waits until this many of its processes have written to the pipe `up`.
    fn start(world: &World, command: &mut Command, processes: usize) -> Running {
        let path = world.path("up");
        if !path.exists() {
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        }
        // With a writer of its own, it can be opened at once.
        let up = File::options().read(true).write(true).open(path).unwrap();
        let lab = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let home = format!("HOME={}", world.dir.path().display());
        for _ in 0..processes {
            assert!(wait_for(&up), "it has not come so far");
            rustix::io::read(&up, &mut [0]).unwrap();
        }
        Running { lab, home }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.lab)
    }

    /// How the lab ended. Its output ends with it, and so does all that it has started.
    fn end(self, signal: Signal) -> Output {
        kill_process(self.pid(), signal).unwrap();
        self.ended()
    }

    fn ended(self) -> Output {
        let keeper = format!("-{}-", self.lab.id());
        let output = self.lab.wait_with_output().unwrap();
        loop {
            let left = processes_with("environ", &self.home);
            let keepers = processes_with("cmdline", "__keeper");
            let own = processes_with("cmdline", &keeper);
            let left: Vec<i32> =
                left.into_iter().chain(keepers.into_iter().filter(|k| own.contains(k))).collect();
            if left.is_empty() {
                return output;
            }
            let left = left.into_iter().filter_map(Pid::from_raw);
            let still: Vec<Pid> = left.filter(|process| !has_ended(*process)).collect();
            for process in &still {
                let _ = kill_process(*process, Signal::KILL);
            }
            assert!(still.is_empty(), "{still:?} still run: {output:?}");
        }
    }
}

/// A script whose four processes say that they are there: itself, two in a pipeline, and one in a
/// session of its own.
fn sleepers(world: &World) -> String {
    let up = world.path("up");
    let sleeper = format!("sh -c 'printf x >{}; exec sleep 1000'", up.display());
    let script = format!(
        "setsid {sleeper} &\n{sleeper} | {sleeper} &\nprintf x >{}\nwait\nsleep 1000\n",
        up.display()
    );
    format!("sh {}", world.write("sleepers.sh", script))
}

/// Whether a folder of a run is left in the directory for temporary files.
fn left_folders(world: &World) -> usize {
    let names = std::fs::read_dir(world.dir.path()).unwrap().map(|entry| entry.unwrap());
    names.filter(|entry| entry.file_name().to_string_lossy().contains("-files-")).count()
}

/// Whoever is killed leaves its folders, unless there is none; the next run removes them.
fn check_at(world: &World, args: &[&str], has_folder: bool) {
    let of_data = ["--data-dir", world.dir.path().to_str().unwrap()];
    let args = [args, &of_data].concat();
    for signal in [Signal::KILL, Signal::QUIT] {
        let mut command = world.command(&args);
        let command = command.current_dir(world.dir.path());
        let output = Running::start(world, command, 4).end(signal);
        if signal == Signal::KILL {
            assert_eq!(output.status.signal(), Some(9), "{output:?}");
            assert_eq!(left_folders(world) > 0, has_folder);
        } else {
            assert!(matches!(output.status.code(), Some(2 | 131)), "{output:?}");
            assert_eq!(left_folders(world), 0, "{output:?}");
        }
    }
    let next = world.run(&[&["bench", "-r", "1", "true"][..], &of_data].concat());
    assert_eq!(next.code, 0, "{}", next.stderr);
    assert_eq!(left_folders(world), 0);
}

#[test]
fn the_processes_of_a_sample_end_with_the_lab() {
    let world = World::new();
    let script = sleepers(&world);
    check_at(&world, &["bench", "-r", "3", &script], true);
}

#[test]
fn what_prepares_the_data_ends_with_the_lab() {
    let world = World::new();
    let script = sleepers(&world);
    let text = format!("hooks.setup = '{script}'\n[[method]]\nname = 'a'\ncommand = 'true'\n");
    let file = world.write("own.toml", text);
    check_at(&world, &["run", &file], true);
}

#[test]
fn a_worker_ends_with_the_lab() {
    let world = World::new();
    let script = sleepers(&world);
    let worker = format!("mine={script}");
    check_at(
        &world,
        &["run", "reading", "--size", "4KiB", "-m", "read", "--worker", &worker],
        false,
    );
}

#[test]
fn a_build_and_its_worktrees_end_with_the_lab() {
    let Some(world) = repository() else { return };
    let script = sleepers(&world);
    check_at(&world, &["bench", "-r", "1", "--rev", "v1,v2", "--build", &script, "./tool"], true);
    let bench = ["bench", "-r", "1", "--rev", "v1,v2", "--build", "true", "./tool"];
    let ran = Command::output(world.command(&bench).current_dir(world.dir.path())).unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert_eq!(std::fs::read_dir(world.path(".git/worktrees")).map_or(0, Iterator::count), 0);
}

#[test]
fn a_server_and_its_folder_end_with_the_lab() {
    let world = World::new();
    let script = sleepers(&world);
    let worker = format!("mine={script}");
    let source =
        ["--source", "http", "--size", "4KiB", "-m", "byte-stream-for", "--worker", &worker];
    check_at(&world, &[&["run", "reading"], &source[..]].concat(), true);
}

#[test]
fn the_keeper_ends_with_a_run_that_ends_by_itself() {
    let world = World::new();
    let mut command = world.command(&["bench", "-r", "3", "true"]);
    let lab = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let keeper = format!("-{}-", lab.id());
    let output = lab.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(processes_with("cmdline", &keeper), [0; 0]);
}

#[test]
fn ctrl_c_reaches_the_lab_and_not_its_keeper() {
    let world = World::new();
    let script = sleepers(&world);
    let text = format!(
        "hooks.cleanup = 'touch {}'\n[[method]]\nname = 'a'\ncommand = '{script}'\n",
        world.path("cleaned").display()
    );
    let file = world.write("own.toml", text);
    let mut command = world.command(&["run", &file]);
    let running = Running::start(&world, command.process_group(0), 4);
    assert_eq!(processes_with("cmdline", &format!("-{}-", running.lab.id())).len(), 1);
    kill_process_group(running.pid(), Signal::INT).unwrap();
    let output = running.ended();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(world.path("cleaned").exists());
}

#[test]
fn a_run_is_not_resumed_beside_its_own_processes() {
    let world = World::new();
    let script = sleepers(&world);
    let args = ["bench", "-r", "1", &script];
    Running::start(&world, &mut world.command(&args), 4).end(Signal::KILL);
    let facts = world.run(&["export", "1", "--format", "json"]).json()["environment"].clone();
    let facts = facts.get("facts").unwrap_or(&facts).clone();
    let fact = |name: &str| facts[name].to_string().replace('"', "");
    let mark = format!(
        "{}-{}-{}",
        fact("measured_in_boot"),
        fact("measured_by_process"),
        fact("measured_by_process_start")
    );
    let mut command = world.in_world("sleep", &["1000"]);
    let mut left = command.env("BYTELAB_RUN", mark).spawn().unwrap();
    let expected =
        format!("still run, and would disturb the samples: end them first (kill -9 {})", left.id());
    world.refused(&["run", "--resume", "1"], &expected);
    left.kill().unwrap();
    left.wait().unwrap();
    world.write("sleepers.sh", "true");
    let resumed = world.run(&["run", "--resume", "1"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
}
