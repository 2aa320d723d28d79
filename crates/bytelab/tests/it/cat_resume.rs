//! What `bytelab cat --resume` leaves when it is killed.

use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use crate::cat::{resumed, resuming, server};
use crate::program::World;

/// Waits for what the program does to files, which it must do before it ends.
fn wait(child: &mut Child, is_done: impl Fn() -> bool) {
    while !is_done() {
        assert!(child.try_wait().unwrap().is_none(), "the program ended before");
        std::thread::yield_now();
    }
}

fn start(world: &World, url: &str) -> Child {
    resuming(world, url).stderr(Stdio::piped()).spawn().unwrap()
}

fn ends_well(world: &World, url: &str) {
    let ran = resumed(world, url);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(std::fs::read(world.path("down")).unwrap(), b"hello world");
    assert!(!world.path("down.part").exists() && !world.path("down.part.note").exists());
}

#[test]
fn a_killed_download_without_an_etag_is_begun_again() {
    let world = World::new();
    let state = Arc::new(Mutex::new((1, 0)));
    let url = server(state.clone()).replace("/x", "/no-etag/stalled");
    let part = world.path("down.part");
    let kill_in_the_middle = || {
        state.lock().unwrap().1 = 1;
        let mut child = start(&world, &url);
        wait(&mut child, || std::fs::read(&part).is_ok_and(|bytes| bytes == b"hel"));
        child.kill().unwrap();
        child.wait().unwrap();
    };
    kill_in_the_middle();
    ends_well(&world, &url);
    // Without its note a part is none of ours.
    kill_in_the_middle();
    std::fs::remove_file(world.path("down.part.note")).unwrap();
    let ran = resumed(&world, &url);
    assert_eq!((ran.code, ran.stderr.lines().count()), (2, 1), "{}", ran.stderr);
    assert_eq!(std::fs::read(&part).unwrap(), b"hel");
}

#[test]
fn a_cut_download_without_an_etag_leaves_nothing() {
    let world = World::new();
    let state = Arc::new(Mutex::new((1, 1)));
    let url = server(state).replace("/x", "/no-etag");
    let ran = resumed(&world, &url);
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
    assert!(!world.path("down.part").exists() && !world.path("down.part.note").exists());
    ends_well(&world, &url);
}
