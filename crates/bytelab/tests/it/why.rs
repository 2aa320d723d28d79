//! What a difference is made of, and the functions that it is in, of commands whose cause is
//! certain.

use serde_json::Value;

use crate::program::World;

/// Copies some KiB, byte by byte or in a block.
fn copies(kib: u32) -> [String; 2] {
    let dd = |size: &str, count: u32| {
        format!("dd if=/dev/zero of=/dev/null bs={size} count={count} status=none")
    };
    [dd(&format!("{kib}k"), 1), dd("1", kib << 10)]
}

/// The single line of a run of two commands.
fn made_of(json: &Value) -> &Value {
    let lines = json["made_of"].as_array().unwrap_or_else(|| panic!("no line: {json}"));
    assert_eq!(lines.len(), 1, "{lines:?}");
    &lines[0]
}

fn named(made: &Value) -> Vec<&str> {
    let parts = made["parts"].as_array().unwrap().iter();
    let named = parts.filter(|part| part["is_named"] == true);
    named.map(|part| part["part"].as_str().unwrap()).collect()
}

/// The differing count of this metric.
fn count<'a>(made: &'a Value, metric: &str) -> Option<&'a Value> {
    made["counts"].as_array().unwrap().iter().find(|count| count["metric"] == metric)
}

#[test]
fn a_call_a_byte_is_named_with_its_calls() {
    let world = World::new();
    // More calls take longer to be counted.
    let [block, bytes] = copies(16);
    let json = world.bench_json(&["-r", "12", "--counting", "8", &block, &bytes]);
    let made = made_of(&json);
    // Each call enters the kernel; what else differs is how often.
    assert!(made["percent"].as_f64().unwrap() > 100.0, "{made}");
    let has_calls = json["cells"][1]["metrics"]["syscalls"]["n"].as_u64() >= Some(8);
    if !has_calls {
        return println!("skipped: system calls are not counted here");
    }
    let calls = count(made, "syscalls").unwrap_or_else(|| panic!("{made}"));
    assert!(calls["value"].as_f64().unwrap() > 3e4, "{calls}");
    assert!(calls["reference_value"].as_f64().unwrap() < 1e4, "{calls}");
    let shown = world.run(&["show", "latest"]).stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    // A machine may be so busy that the pair is not decided.
    let is_decided = made["is_decided"] == true;
    let has_line = shown.contains("made of: ") && shown.contains("; system calls 3");
    assert_eq!(has_line, is_decided, "{made}: {shown}");
}

#[test]
fn a_loop_of_a_shell_is_user_time_and_a_sleep_is_none() {
    let world = World::new();
    let with_loop = |n: u32| format!("i=0; while [ $i -lt {n} ]; do i=$((i+1)); done");
    let (short, long) = (with_loop(30_000), with_loop(120_000));
    let json = world.bench_json(&["-r", "12", &short, &long]);
    let made = made_of(&json);
    // A machine that splits no time says so. On a busy one the longer loop also waits longer for a
    // CPU, or the whole is too uncertain to be split.
    let is_split = made["too_short_for_ticks_of_ns"].is_null();
    let cause = if is_split { "user" } else { "cpu" };
    let is_clear = made["is_clear"] == true && !made["parts"].as_array().unwrap().is_empty();
    assert_eq!(named(made).contains(&cause), is_clear, "{made}");
    assert!(!named(made).contains(&"blocked"), "{made}");
    let json = world.bench_json(&["-r", "12", "sleep 0.01", "sleep 0.2"]);
    let made = made_of(&json);
    if made["total"]["part"] == "wall" {
        assert!(named(made).contains(&"blocked"), "{made}");
        assert!(!named(made).contains(&"user") && !named(made).contains(&"system"), "{made}");
    } else {
        // Where it is not known that one task runs at a time, CPU time is split, which is the same.
        assert_eq!(named(made), Vec::<&str>::new(), "{made}");
    }
}

#[test]
fn a_profile_names_the_kernel_s_functions_and_is_stored() {
    let world = World::new();
    let file = world.path("why.svg");
    let why = format!("--why={}", file.display());
    let [block, bytes] = copies(64);
    let json = world.bench_json(&["-r", "6", "-w", "0", &why, &block, &bytes]);
    let notes = json["notes"].as_array().unwrap().iter().filter_map(|note| note["text"].as_str());
    if let Some(why) = notes.into_iter().find(|text| text.starts_with("profile: ")) {
        println!("skipped: {why}");
        let profile = &json["plan"]["profile"];
        let is_traced = profile["traced_slowdown"].is_number();
        assert_eq!(is_traced, why.contains("in each system call was traced"), "{why}");
        let is_explained = is_traced || profile.is_null() || why.contains("without the kernel");
        assert!(is_explained, "{why}");
        return;
    }
    let why = &json["why"][0];
    let functions = why["functions"].as_array().unwrap();
    assert!(!functions.is_empty(), "{why}");
    for function in functions {
        let [low, high] = ["low_ns", "high_ns"].map(|bound| function[bound].as_f64().unwrap());
        assert!(low > 0.0 || high < 0.0, "an interval of what differs excludes 0: {function}");
    }
    let named: Vec<&str> = functions.iter().map(|one| one["name"].as_str().unwrap()).collect();
    // Where the kernel hides its symbols, all of them have one name.
    assert!(named.iter().any(|name| name.ends_with("[kernel]")), "{named:?}");
    let svg = std::fs::read_to_string(&file).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("<title>all: "), "{svg}");
    // It is in the store and on the page.
    let shown = world.run(&["show", "latest"]).stdout;
    assert!(
        shown.contains("why: ") && shown.contains(named[0].split(' ').next().unwrap()),
        "{shown}"
    );
    let page = world.path("page.html");
    let ran = world.run(&["report", "latest", "-o", page.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Where the time differs"), "the page has the flame graph");
}

#[test]
fn a_picture_that_cannot_be_written_is_found_before_anything_is_measured() {
    let world = World::new();
    let ran = world.run(&["bench", "--why=/nonexistent/why.svg", "touch made", "true"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("--why /nonexistent/why.svg: cannot be written"), "{}", ran.stderr);
    assert!(!world.path("made").exists());
}
