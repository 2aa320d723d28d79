//! Runs pushed while the clients, the server and the network die.

use std::io;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::program::World;
use crate::proxy::{Proxy, Random};
use crate::push::{READ, server::TestServer};

/// Of processes.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// At the end of the name of a process whose first transaction does not end.
const WAITS: &str = "-waits";

struct Scale {
    writers: usize,
    /// For each writer.
    runs: usize,
    /// How often each writer is killed inside a transaction, and at any moment.
    kills_inside: usize,
    kills: usize,
    server_kills: usize,
    cuts: usize,
}

/// `BYTELAB_CHAOS=1` in the environment is for the large one.
fn scale() -> Scale {
    if std::env::var_os("BYTELAB_CHAOS").is_some() {
        let (kills_inside, kills) = (3, 1);
        return Scale { writers: 50, runs: 20, kills_inside, kills, server_kills: 10, cuts: 1000 };
    }
    Scale { writers: 4, runs: 5, kills_inside: 2, kills: 1, server_kills: 2, cuts: 20 }
}

/// A process of a writer, and the name under which the server knows it.
struct Process {
    name: String,
    child: Child,
}

/// A writer with its own store, and the process that pushes its runs.
struct Writer {
    world: World,
    process: Mutex<Option<Process>>,
    kills_inside: AtomicUsize,
    kills: AtomicUsize,
}

impl Writer {
    /// Its store has `scale.runs` imports of the same run, each with its own UUID.
    fn new(run: &str, scale: &Scale) -> Writer {
        let world = World::new();
        for _ in 0..scale.runs {
            let imported = world.run(&["import", run]);
            assert_eq!(imported.code, 0, "{}", imported.stderr);
        }
        Writer {
            world,
            process: Mutex::new(None),
            kills_inside: AtomicUsize::new(scale.kills_inside),
            kills: AtomicUsize::new(scale.kills),
        }
    }

    /// Pushes all runs; whether it ended well.
    fn push(&self, url: &str) -> bool {
        let waits = if self.kills_inside.load(Ordering::Relaxed) > 0 { WAITS } else { "" };
        let name = format!("push-{}{waits}", COUNT.fetch_add(1, Ordering::Relaxed));
        let url = format!("{url}&application_name={name}");
        let mut command = self.world.command(&["push", "--all", "--to", &url]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        *self.process.lock().unwrap() = Some(Process { name, child: command.spawn().unwrap() });
        loop {
            thread::sleep(Duration::from_millis(5));
            let mut process = self.process.lock().unwrap();
            if let Some(ended) = process.as_mut().unwrap().child.try_wait().unwrap() {
                let said =
                    io::read_to_string(process.take().unwrap().child.stderr.unwrap()).unwrap();
                // An error is a line that names the server.
                let is_error =
                    |line: &str| line.starts_with("bytelab: ") && line.contains("postgres://");
                let is_told = ended.code().is_none()
                    || said.is_empty() == ended.success() && said.lines().all(is_error);
                assert!(is_told, "{ended}: {said}");
                return ended.success();
            }
        }
    }

    fn push_until_it_succeeds(&self, url: &str) {
        while !self.push(url) {
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the process if it is wanted and `left` says that one more may be killed.
    fn kill(&self, left: &AtomicUsize, is_wanted: impl Fn(&str) -> bool) {
        let may = |n: usize| n.checked_sub(1);
        if let Some(process) = self.process.lock().unwrap().as_mut()
            && is_wanted(&process.name)
            && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, may).is_ok()
        {
            process.child.kill().unwrap();
        }
    }

    fn kills_left(&self) -> usize {
        self.kills_inside.load(Ordering::Relaxed) + self.kills.load(Ordering::Relaxed)
    }
}

/// The export of a run, without its UUID, so that each import is a run of its own.
fn exported(world: &World) -> String {
    let ran = world.run(&READ);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let exported = world.run(&["export", "latest", "--format", "json"]).stdout;
    let mut run: serde_json::Value = serde_json::from_str(&exported).unwrap();
    run["uuid"] = "".into();
    let file = world.path("run.json").to_str().unwrap().to_owned();
    std::fs::write(&file, run.to_string()).unwrap();
    file
}

/// Every run of these writers is on the server once and whole.
fn check_all(server: &TestServer, writers: &[Writer], runs: usize, original: &str) {
    let n = |what: &str| server.sql("runs", &format!("SELECT count(*) FROM {what}"));
    let all = writers.len() * runs;
    assert_eq!(n("bytelab.run"), all.to_string());
    let cells = |text: &str| {
        let run: serde_json::Value = serde_json::from_str(text).unwrap();
        run["cells"].clone()
    };
    let original = cells(&std::fs::read_to_string(original).unwrap());
    let url = server.url();
    for writer in writers.iter().step_by(writers.len().div_ceil(10)) {
        let history = writer.world.run(&["history", "--json"]).stdout;
        let history: serde_json::Value = serde_json::from_str(&history).unwrap();
        for run in history.as_array().unwrap() {
            let uuid = run["uuid"].as_str().unwrap();
            let there =
                writer.world.run(&["--store", &url, "export", uuid, "--format", "json"]).stdout;
            assert_eq!(cells(&there), original);
        }
    }
}

/// The processes whose statement waits in the server.
fn inside(server: &TestServer) -> Vec<String> {
    let waiting = "SELECT application_name FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    // The server may be down.
    let names = server.try_sql("runs", waiting).unwrap_or_default();
    names.lines().map(str::to_owned).collect()
}

#[test]
fn each_run_is_there_once_and_whole_whoever_is_killed() {
    let Some(mut server) = TestServer::start() else { return };
    let scale = scale();
    let base = World::new();
    let run = exported(&base);
    assert_eq!(base.run(&["--store", &server.url(), "history"]).code, 0);
    // It notices at once that a client is gone.
    server.sql("runs", "ALTER DATABASE runs SET client_connection_check_interval = '10ms'");
    server.sql(
        "runs",
        &format!(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             PERFORM pg_sleep(CASE WHEN current_setting('application_name') LIKE '%{WAITS}'
                                   THEN 3600 ELSE random() / 10 END);
             RETURN NULL; END $$;
         CREATE TRIGGER slow AFTER INSERT ON bytelab.run EXECUTE FUNCTION slow()"
        ),
    );
    let writers: Vec<Writer> = (0..scale.writers).map(|_| Writer::new(&run, &scale)).collect();
    let url = server.url();
    thread::scope(|scope| {
        for writer in &writers {
            scope.spawn(|| {
                while writer.kills_left() > 0 {
                    writer.push(&url);
                }
                writer.push_until_it_succeeds(&url);
            });
        }
        let mut random = Random::new(1);
        let mut server_kills = 0;
        while writers.iter().any(|writer| writer.kills_left() > 0)
            || server_kills < scale.server_kills
        {
            let inside = inside(&server);
            for writer in writers.iter().filter(|_| random.below(4) == 0) {
                writer.kill(&writer.kills_inside, |name| inside.iter().any(|other| other == name));
            }
            let any = &writers[random.below(writers.len())];
            any.kill(&any.kills, |_| true);
            thread::sleep(Duration::from_millis(20));
            if server_kills < scale.server_kills && random.below(20) == 0 {
                server.kill_and_restart();
                server_kills += 1;
            }
        }
    });
    server.sql("runs", "DROP TRIGGER slow ON bytelab.run");
    check_all(&server, &writers, scale.runs, &run);
    let died = server.log().matches("connection to client lost").count();
    // A server that is killed itself writes no more.
    let least = scale.writers * scale.kills_inside * 2 / 3;
    assert!(died >= least, "only {died} clients died inside a transaction");
}

#[test]
fn each_run_is_there_once_and_whole_however_the_network_is_cut() {
    let Some(server) = TestServer::start() else { return };
    let scale = scale();
    let base = World::new();
    let run = exported(&base);
    let proxy = Proxy::to(server.socket(), 1);
    let url = proxy.url();
    let writers: Vec<Writer> = (0..scale.writers).map(|_| Writer::new(&run, &scale)).collect();
    thread::scope(|scope| {
        for writer in &writers {
            scope.spawn(|| {
                while proxy.cuts() < scale.cuts {
                    writer.push(&url);
                }
                proxy.cut_no_more();
                writer.push_until_it_succeeds(&url);
            });
        }
    });
    check_all(&server, &writers, scale.runs, &run);
}
