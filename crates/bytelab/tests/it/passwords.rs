//! What the children of bytelab do not get from its environment.

use crate::program::World;

/// What is measured, built or run by a hook gets no password of the server.
#[test]
fn passwords_of_the_server_are_withheld() {
    let world = World::new();
    let seen = |set: &[(&str, &str)], args: &[&str]| {
        let log = world.path("log");
        let _ = std::fs::remove_file(&log);
        let print = format!("env >>{}", log.display());
        let mut all = vec!["bench", "-S", "sh", "-r", "1", "--counting", "0", "--no-store"];
        all.extend(["--setup", &print, "--prepare", &print, "--cleanup", &print, &print]);
        all.extend(args);
        let mut command = world.command(&all);
        for name in ["BYTELAB_SERVER", "PGPASSWORD"] {
            command.env_remove(name);
        }
        let ran = command.envs(set.iter().copied()).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let log = std::fs::read_to_string(log).unwrap();
        ["SECRET1", "SECRET2"].map(|word| log.contains(word))
    };
    let server = ("BYTELAB_SERVER", "postgres://u:SECRET1@127.0.0.1/d");
    let password = ("PGPASSWORD", "SECRET2");
    assert_eq!(seen(&[server, password], &[]), [false, false]);
    assert_eq!(seen(&[server, password], &["--keep-env", "PGPASSWORD"]), [false, true]);
    let keep = ["--keep-env", "PGPASSWORD", "--keep-env", "BYTELAB_SERVER"];
    assert_eq!(seen(&[server, password], &keep), [true, true]);
    // Who measures `psql` with a store in a file needs the password.
    assert_eq!(seen(&[password], &[]), [false, true]);
    let options = ("BYTELAB_OPTIONS", "--notes");
    assert_eq!(seen(&[password, options], &[]), [false, true]);
}
