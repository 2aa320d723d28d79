//! Processes that a method or a hook leaves behind in their own session: none outlives the run.

#![cfg(target_os = "linux")]

use crate::program::World;

/// Shell commands that leave a process in its own session, and write its process id to `left`.
const LEAVE: &str = "rm -f up; mkfifo up; setsid sh -c 'echo $$ >up; exec sleep 1000' >/dev/null 2>&1 & \
                     read -r left <up; echo $left >>left";

/// The number of processes that were left, and those that are still alive, which are then killed.
fn survivors(world: &World) -> (usize, Vec<i32>) {
    let left: Vec<i32> = world.lines("left").iter().map(|pid| pid.parse().unwrap()).collect();
    let lives = |pid: &&i32| {
        let pid = rustix::process::Pid::from_raw(**pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok()
    };
    (left.len(), left.iter().filter(lives).copied().collect())
}

#[test]
fn no_process_outlives_a_run_in_a_session_of_its_own() {
    let world = World::new();
    let worker = format!(
        "cd $(dirname $0); echo hello 1; while read -r verb n rest; do case $verb in prepare) {LEAVE}; echo ready;;
         go) echo \"done $n wall=2000000\";; bye) exit;; esac; done"
    );
    std::fs::write(world.path("worker.sh"), worker).unwrap();
    let text = format!(
        "[[method]]\nname = 'command'\ncommand = \"\"\"{LEAVE}\"\"\"\nshell = true\n[[method]]\n\
         name = 'worker'\nworker = 'sh {{here}}/worker.sh'\n"
    );
    let (code, json) = world.own_json(&text);
    let (left, survivors) = survivors(&world);
    assert_eq!(code, 0, "{json}");
    // One for each sample of the command, and one for each process of the worker.
    assert!(left >= 3, "{left}: {json}");
    assert!(survivors.is_empty(), "{survivors:?}");
}

#[test]
fn what_a_hook_starts_for_the_whole_run_lives_as_long() {
    let world = World::new();
    let text = format!(
        "hooks.setup = {{ command = \"\"\"{LEAVE}\"\"\", shell = true }}\n[[method]]\nname = 'a'\n\
         command = 'read -r pid <left && kill -0 $pid'\nshell = true\n"
    );
    let (code, json) = world.own_json(&text);
    let (left, survivors) = survivors(&world);
    assert_eq!(code, 0, "{json}");
    assert!(left >= 1 && survivors.is_empty(), "{left} {survivors:?}");
}
