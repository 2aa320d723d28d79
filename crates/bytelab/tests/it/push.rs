//! Runs on a server of PostgreSQL, as a user pushes, reads and pulls them.

use crate::program::{Ran, World};

#[expect(dead_code, reason = "the tests of the store use the rest")]
#[path = "../../../store/src/tests/server.rs"]
pub(crate) mod server;

use server::TestServer;

pub(crate) const READ: [&str; 10] = [
    "run",
    "reading",
    "--size",
    "64KiB",
    "--method",
    "read,mmap",
    "--rounds",
    "6",
    "--counting",
    "1",
];

fn run(world: &World, server: &str, args: &[&str]) -> Ran {
    Ran::new(world.command(args).env("BYTELAB_SERVER", server).output().unwrap())
}

#[track_caller]
fn ok(ran: Ran) -> String {
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

#[test]
fn runs_are_pushed_read_there_and_pulled() {
    let Some(server) = TestServer::start() else { return };
    let url = server.url();
    let world = World::new();
    for label in ["a", "b"] {
        ok(run(&world, &url, &[&READ[..], &["--label", label]].concat()));
    }
    let said = ok(run(&world, &url, &["push", "--all"]));
    assert_eq!(said, "2 runs pushed to postgres:///runs\n");
    let said = ok(run(&world, &url, &["push", "--label", "*"]));
    assert_eq!(said, "0 runs pushed to postgres:///runs, 2 already there\n");

    let there = |args: &[&str]| run(&world, &url, &[&["--store", &url], args].concat());
    let json: serde_json::Value = serde_json::from_str(&ok(there(&["history", "--json"]))).unwrap();
    let ids: Vec<&str> =
        json.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 2, "{json}");
    let listed = ok(there(&["history"]));
    let short = listed.lines().nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    assert!(ids[0].starts_with(&short) && short.len() < 36, "{listed}");
    ok(there(&["show", &short]));
    ok(there(&["show", "latest"]));
    ok(there(&["compare", &short, "latest"]));
    ok(there(&["compare", "--label", "a", "--label", "b"]));
    ok(there(&["history", "--plot", "read"]));
    ok(there(&["label", &short, "it's \"new\"; DROP TABLE bytelab.run"]));
    ok(there(&["baseline", "set", "main", &short]));
    let refused = there(&["delete", &short]);
    assert_ne!(refused.code, 0);
    assert!(refused.stderr.contains("baseline"), "{}", refused.stderr);
    let page = world.path("page.html");
    ok(there(&["report", &short, "-o", page.to_str().unwrap()]));
    let exported = ok(there(&["export", &short, "--format", "json"]));

    let other = World::new();
    let said = ok(run(&other, &url, &["pull", "--all"]));
    assert_eq!(said, "2 runs pulled from postgres:///runs\n");
    let said = ok(run(&other, &url, &["pull", &short]));
    assert_eq!(said, "0 runs pulled from postgres:///runs, 1 already there\n");
    let pulled = ok(other.run(&["export", &short, "--format", "json"]));
    let values =
        |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["cells"].clone();
    assert_eq!(values(&pulled), values(&exported));
    let refused = there(&["show", "ffffffff"]);
    assert!(refused.stderr.contains("no run \"ffffffff\""), "{}", refused.stderr);
}

#[test]
fn a_run_that_cannot_be_pushed_waits() {
    let Some(server) = TestServer::start() else { return };
    let world = World::new();
    let gone = "postgres:///runs?host=/nonexistent&user=ada&password=secret";
    let ran = run(&world, gone, &[&READ[..], &["--push"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("run 1 waits, and the next `bytelab push` sends it"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
    let url = server.url();
    assert_eq!(ok(run(&world, &url, &["push"])), "1 run pushed to postgres:///runs\n");
    assert_eq!(ok(run(&world, &url, &["push"])), "0 runs pushed to postgres:///runs\n");

    // A server as the store: the run is measured here, and is there at its end.
    let ran = world.run(&[&READ[..], &["--store", &url]].concat());
    assert!(ran.stderr.contains("run 2 was pushed to postgres:///runs"), "{}", ran.stderr);
    assert_eq!(server.sql("runs", "SELECT count(*) FROM bytelab.run"), "2");
    assert_eq!(world.run(&["history", "--json"]).json().as_array().unwrap().len(), 2);
}

#[test]
fn what_a_scheduler_starts_pushes_its_runs() {
    let Some(server) = TestServer::start() else { return };
    let world = World::new();
    let deploy = || {
        world
            .in_world(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/measure"), &READ)
            .env("BYTELAB", env!("CARGO_BIN_EXE_bytelab"))
            .env("BYTELAB_STORE", world.path("campaign.sqlite"))
            .env("BYTELAB_LABEL", "rack 1")
            .env("BYTELAB_RUNS", "2")
            .env("BYTELAB_PAUSE", "0")
            .env("BYTELAB_SERVER", server.url())
            .output()
            .unwrap()
    };
    let first = deploy();
    assert!(first.status.success(), "{first:?}");
    let again = String::from_utf8(deploy().stdout).unwrap();
    assert!(again.contains("0 runs pushed to postgres:///runs, 2 already there"), "{again}");
    let labels = server.sql("runs", "SELECT label, count(*) FROM bytelab.run GROUP BY label");
    assert_eq!(labels, "rack 1|2");
}

#[test]
fn a_run_that_cannot_be_pushed_does_not_hold_up_the_others() {
    let Some(server) = TestServer::start() else { return };
    let (world, url) = (World::new(), server.url());
    for _ in 0..4 {
        let ran =
            run(&world, "postgres:///runs?host=/nonexistent", &[&READ[..], &["--push"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let store = world.path(".local/share/bytelab/runs.sqlite");
    let store = rusqlite::Connection::open(store).unwrap();
    store.execute("UPDATE run SET points = '{' WHERE id = 1", []).unwrap();
    // The server has run 3 as it was before it was complete.
    ok(run(&world, &url, &["push", "3"]));
    server.sql("runs", "UPDATE bytelab.run SET complete = false");
    store.execute("UPDATE run SET unsent = 1 WHERE id = 3", []).unwrap();

    let pushed = run(&world, &url, &["push"]);
    assert_eq!((pushed.code, pushed.stdout.as_str()), (1, "2 runs pushed to postgres:///runs\n"));
    for (id, why) in [(1, "its data is damaged"), (3, "delete it there first")] {
        let line =
            pushed.stderr.lines().find(|line| line.contains(&format!("run {id} stays here")));
        assert!(line.is_some_and(|line| line.contains(why)), "{}", pushed.stderr);
    }
    assert_eq!(server.sql("runs", "SELECT count(*) FROM bytelab.run"), "3");
}

#[test]
fn a_wrong_clock_is_said() {
    let Some(server) = TestServer::start() else { return };
    let (world, url) = (World::new(), server.url());
    let pushed = run(&world, &url, &[&READ[..], &["--push"]].concat());
    assert!(!pushed.stderr.contains("clock"), "{}", pushed.stderr);
    // A function of this name that is found first.
    server.sql(
        "runs",
        "CREATE SCHEMA late;
         CREATE FUNCTION late.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
             $$ SELECT pg_catalog.clock_timestamp() + interval '365 days 1 hour' $$;
         ALTER DATABASE runs SET search_path = late, pg_catalog",
    );
    let expected = "this machine's clock is 365 days behind that of postgres:///runs";
    let pushed = run(&world, &url, &["push", "--all"]);
    assert!(pushed.stderr.contains(expected), "{}", pushed.stderr);
    let pushed = run(&world, &url, &[&READ[..], &["--push"]].concat());
    assert_eq!(pushed.code, 0);
    assert!(pushed.stderr.contains(expected), "{}", pushed.stderr);
}

#[test]
fn all_that_is_sent_can_be_seen_and_hidden() {
    let world = World::new();
    ok(world.run(&["bench", "-n", "3", "cat /dev/null", "true"]));
    let shown = ok(world.run(&["push", "--all", "--dry-run"]));
    assert!(shown.contains("cat /dev/null") && shown.contains("hostname_digest"), "{shown}");
    let hidden = ok(world.run(&[
        "push",
        "--all",
        "--dry-run",
        "--redact",
        "host,user,paths,commands",
        "--leave-out",
    ]));
    assert!(hidden.contains("command-1") && !hidden.contains("/dev/null"), "{hidden}");
    let home = world.dir.path().to_str().unwrap();
    assert!(shown.contains(home) && !hidden.contains(home), "{hidden}");
    let refused = world.run(&["push", "--all"]);
    assert!(
        refused.stderr.contains("name the server: postgres://HOST/DATABASE"),
        "{}",
        refused.stderr
    );
}

/// A worker as the example shows it, which says its language; it is given a token, and fails with
/// what only its owner may read.
const WORKER: &str = r#"
import sys
print("hello 1 name=mine lang=MARKLANG", flush=True)
for line in sys.stdin:
    verb, *rest = line.split()
    if verb == "prepare":
        print("ready", flush=True)
        continue
    with open(__file__ + ".tally", "a+") as tally:
        tally.write("x")
        n = tally.tell()
    if verb == "go" and n < 6:
        done = f"done {rest[0]} wall=5000 bytes=65536 answer=MARKANSWER zmark_ns=3"
        print(done, flush=True)
    else:
        print("no login at MARKDBHOST: password=MARKPASSWORD", file=sys.stderr, flush=True)
        sys.exit(3)
"#;

#[test]
fn nothing_of_a_worker_of_the_user_is_sent_where_commands_are_hidden() {
    let Some(server) = TestServer::start() else { return };
    let (world, other, url) = (World::new(), World::new(), server.url());
    let worker = world.write("MARKDIR.py", WORKER);
    let worker = format!("mine=python3 {worker} --token MARKTOKEN");
    let few =
        ["run", "reading", "--size", "64KiB", "-m", "read", "--rounds", "6", "--counting", "0"];
    let measured =
        run(&world, &url, &[&few[..], &["--worker", &worker, "--label", "mine"]].concat());
    assert_eq!(measured.code, 1, "{}", measured.stderr);
    let plain = ok(run(&world, &url, &["push", "--all", "--dry-run"]));
    for mark in ["DIR", "TOKEN", "LANG", "ANSWER", "DBHOST", "PASSWORD"] {
        assert!(plain.contains(&format!("MARK{mark}")), "{mark}: {plain}");
    }
    assert!(plain.contains("zmark_ns"), "{plain}");
    let all = ["--redact", "host,user,paths,commands"];
    for more in [&[][..], &["--leave-out"]] {
        let dry =
            ok(run(&world, &url, &[&["push", "--all", "--dry-run"], &all[..], more].concat()));
        assert!(!dry.contains("MARK") && !dry.contains("zmark"), "{dry}");
        assert!(dry.contains("\"label\": \"mine\"") && dry.contains("_ns\""), "{dry}");
        assert!(dry.contains("ended with exit status 3; …"), "{dry}");
        assert!(dry.contains("\"answer\": \"answer-"), "{dry}");
    }
    ok(run(&world, &url, &[&["push", "--all"], &all[..]].concat()));
    ok(run(&other, &url, &["pull", "--all"]));
    let sent = ok(run(&other, &url, &["export", "latest", "--format", "json"]));
    assert!(!sent.contains("MARK") && sent.contains("\"read\""), "{sent}");
    let given = ok(run(&world, &url, &["export", "latest", "--contribute"]));
    assert!(!given.contains("MARK") && given.contains("ended with exit status 3; …"), "{given}");
    let shown = ok(run(&other, &url, &["show", "latest"]));
    assert!(shown.contains("command-"), "{shown}");
}

/// Two writers: what the second one adds is valid for the tables, and cannot be read.
#[test]
fn a_damaged_run_of_another_writer_stops_no_reader() {
    let Some(server) = TestServer::start() else { return };
    let (world, url) = (World::new(), server.url());
    for label in ["a", "b", "a", "b"] {
        ok(run(&world, &url, &[&READ[..], &["--label", label, "--push"]].concat()));
    }
    server.sql("runs", include_str!("../../../../docs/postgres-roles.sql"));
    server.sql("runs", "CREATE USER eve IN ROLE bytelab_writer");
    for label in ["a", "b"] {
        server.sql(
            "runs",
            &format!(
                "SET ROLE eve; INSERT INTO bytelab.run (id, experiment, label, started, complete,
                     fingerprint, cpu_model, cells, samples, document, answers, data)
                 SELECT gen_random_uuid(), experiment, label, '9999-12-31T23:59:59Z', complete,
                        fingerprint, cpu_model, 0, 0, 'odd', '{{}}', '{{}}'
                 FROM bytelab.run WHERE label = '{label}' LIMIT 1"
            ),
        );
    }
    let read = |args: &[&str]| world.run(&[&["--store", &url], args].concat());
    for (args, said) in [
        (&["history"][..], "runs that cannot be read: 2"),
        (&["history", "--plot", "mmap"], "2 runs cannot be read and are left out, such as run "),
        (&["history", "--alert"], "2 runs cannot be read and are left out"),
        (
            &["compare", "--label", "a", "--label", "b"],
            "1 run cannot be read and is left out: run ",
        ),
        (&["compare", "--by", "label"], "2 runs cannot be read and are left out"),
        (&["show", "latest"], "cannot be read: the newest one that can is run "),
        (&["export", "latest", "--format", "csv"], "cannot be read: the newest one that can is"),
    ] {
        let ran = read(args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
        assert!(!ran.stdout.is_empty(), "{args:?}");
    }
    let plotted = read(&["history", "--plot", "mmap", "--json"]).json();
    assert!(plotted.to_string().contains("mmap"), "{plotted}");
}

#[test]
fn a_run_that_cannot_be_read_there_does_not_hold_up_the_others() {
    let Some(server) = TestServer::start() else { return };
    let (world, other, url) = (World::new(), World::new(), server.url());
    for _ in 0..3 {
        ok(run(&world, &url, &[&READ[..], &["--push"]].concat()));
    }
    server.sql(
        "runs",
        "UPDATE bytelab.run SET document = 'odd' WHERE id = (SELECT id FROM bytelab.run LIMIT 1)",
    );
    let pulled = run(&other, &url, &["pull", "--all"]);
    assert_eq!((pulled.code, pulled.stdout.as_str()), (1, "2 runs pulled from postgres:///runs\n"));
    assert!(pulled.stderr.contains("stays there: "), "{}", pulled.stderr);
    assert!(pulled.stderr.contains("its data is damaged"), "{}", pulled.stderr);
    assert_eq!(pulled.stderr.lines().count(), 1, "{}", pulled.stderr);
}

#[test]
fn no_message_quotes_a_password() {
    let world = World::new();
    for url in [
        "postgres:/ada:secret@h/d",
        "ada:secret@h/d",
        "postgres://ada:secret@127.0.0.1:1/d",
        "postgres://ada:secret?x@127.0.0.1:1/d",
    ] {
        for args in [
            &["push", "--to", url][..],
            &["pull", "--all", "--from", url],
            &["--store", url, "history"],
        ] {
            if url.starts_with("ada") && args[0] == "--store" {
                continue;
            }
            let ran = world.run(args);
            assert_eq!(ran.code, 2, "{args:?} {}", ran.stderr);
            assert!(!ran.stderr.contains("secret"), "{args:?} {}", ran.stderr);
            assert!(ran.stderr.contains("postgres://"), "{args:?} {}", ran.stderr);
        }
        let pushed = world.run(&["run", "reading", &format!("--push={url}"), "--size", "odd"]);
        assert!(!pushed.stderr.contains("secret"), "{}", pushed.stderr);
    }
    let ran = world.run(&["push", "--all", "--leave-out", "--dry-run"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
}
