//! `history --alert`: what got slower lately, in runs that were imported from several machines.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::import::{import, json_of};
use crate::program::World;

const HOSTILE: &str = "</script><b>\u{1b}[2J";

/// A run of `reading` as another machine may export it.
fn template(world: &World) -> Value {
    let small = "run reading --size 4KiB --method read,mmap --rounds 2 --sessions 1 --counting 0";
    let json = json_of(world, &[&small.split(' ').collect::<Vec<_>>()[..], &["--json"]].concat());
    let id = json["id"].as_str().unwrap();
    let exported = world.run(&["export", id, "--format", "json"]);
    assert_eq!(world.run(&["delete", id]).code, 0);
    exported.json()
}

/// The run of a day, on which `mmap` takes this many times as long as `read`.
fn of_day(template: &Value, host: &str, days_ago: u32, factor: f64) -> Value {
    let mut run = template.clone();
    #[expect(clippy::disallowed_methods, reason = "the program goes by the day, too")]
    let now = SystemTime::now();
    let then = now - Duration::from_secs(u64::from(days_ago) * 86_400 + 60);
    run["started"] = humantime::format_rfc3339_seconds(then).to_string().into();
    run["label"] = HOSTILE.into();
    run["environment"]["hostname_digest"] = host.into();
    run["environment"]["load_1_min"] = json!(days_ago);
    // The kernel is part of the fingerprint.
    let (kernel, fingerprint) =
        if factor > 1.0 { ("6.2.0", "2222222222222222") } else { ("6.1.0", "1111111111111111") };
    run["environment"]["kernel_release"] = kernel.into();
    run["environment"]["fingerprint"] = fingerprint.into();
    for cell in run["cells"].as_array_mut().unwrap() {
        for sample in cell["samples"].as_array_mut().unwrap() {
            sample["not_counted"] = Value::Null;
        }
        let factor = if cell["method"] == "mmap" { factor } else { 1.0 };
        let noise = 1.0 + f64::from(days_ago * 7 % 11) * 1e-3;
        let times = cell["values"]["wall_ns"].as_array_mut().unwrap();
        times.fill(json!(1e5 * factor * noise));
    }
    run
}

/// Imports a run a day of the last 20 days; `factor` has that of each age.
fn days(world: &World, template: &Value, host: &str, factor: impl Fn(u32) -> f64) {
    for days_ago in (0..20).rev() {
        let run = of_day(template, host, days_ago, factor(days_ago));
        import(world, &[&world.write("run.json", run.to_string())]);
    }
}

fn alert(world: &World, args: &[&str]) -> (i32, Value) {
    let ran = world.run(&[&["history", "--alert", "--json"], args].concat());
    (ran.code, ran.json())
}

#[test]
fn a_slowdown_on_one_of_two_machines_is_listed_with_what_changed() {
    let world = World::new();
    let template = template(&world);
    days(&world, &template, "one", |days_ago| if days_ago < 8 { 1.25 } else { 1.0 });
    days(&world, &template, "other", |_| 1.0);
    let (code, json) = alert(&world, &[]);
    let all = json["slowdowns"].as_array().unwrap();
    assert_eq!((code, all.len(), &json["series_examined"]), (3, 1, &json!(4)), "{json}");
    let found = &all[0];
    // Of runs 2 to 21, the eight newest are slower.
    let named = (&found["method"], &found["run"], &found["run_before"]);
    assert_eq!(named, (&json!("mmap"), &json!("14"), &json!("13")), "{found}");
    let ratio = found["after_ns"].as_f64().unwrap() / found["before_ns"].as_f64().unwrap();
    assert!((ratio - 1.25).abs() < 0.02, "{found}");
    let changed = json!([{"fact": "kernel_release", "a": "6.1.0", "b": "6.2.0"}]);
    assert_eq!(found["changed"], changed);
    let ran = world.run(&["history", "--alert"]);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    for part in ["slower: from run 14", "kernel_release 6.1.0 → 6.2.0", "in 4 series"] {
        assert!(words.contains(part), "{part}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    // What is older is not listed, and what is left out is not examined.
    assert_eq!(alert(&world, &["--days", "3"]).0, 0);
    assert_eq!(alert(&world, &["--experiment", "copying"]).1["series_examined"], 0);
    let wrong = world.run(&["history", "--days", "3"]);
    assert_eq!((wrong.code, wrong.stdout.as_str()), (2, ""), "{}", wrong.stderr);
}

#[test]
fn what_got_faster_or_was_taken_back_is_no_slowdown() {
    let world = World::new();
    assert_eq!(alert(&world, &[]).0, 0);
    let template = template(&world);
    days(&world, &template, "faster", |days_ago| if days_ago < 8 { 0.8 } else { 1.0 });
    let is_back = |days_ago: u32| if (6..13).contains(&days_ago) { 1.25 } else { 1.0 };
    days(&world, &template, "back", is_back);
    let (code, json) = alert(&world, &[]);
    assert_eq!((code, &json["slowdowns"]), (0, &json!([])), "{json}");
    let text = world.run(&["history", "--alert"]).stdout;
    assert!(text.starts_with("nothing is shown to have become slower"), "{text}");
}
