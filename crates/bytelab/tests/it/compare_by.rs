//! `compare --by` and `report --by`: runs of many machines, as they are after an import.

use serde_json::{Value, json};

use crate::import::{import, json_of};
use crate::program::World;

/// A run like this one on a machine where `mmap` takes this part of the time of `read`.
fn on_machine(run: &Value, machine: u32, cpu: &str, ratio: f64) -> Value {
    let mut run = run.clone();
    run["environment"]["fingerprint"] = format!("{machine:x}000000000000000").into();
    run["environment"]["cpu_model"] = cpu.into();
    run["label"] = "<script>alert(1)</script>".into();
    for cell in run["cells"].as_array_mut().unwrap() {
        // On a busy machine a session may have been interrupted.
        for sample in cell["samples"].as_array_mut().unwrap() {
            sample["not_counted"] = Value::Null;
        }
        let samples = cell["samples"].as_array().unwrap();
        let counted: Vec<bool> = samples.iter().map(|one| one["pass"] == "counting").collect();
        // Each method has noise of its own: without it a ratio would have no variance.
        let (ratio, step) = if cell["method"] == "mmap" { (ratio, 7) } else { (1.0, 5) };
        for (metric, values) in cell["values"].as_object_mut().unwrap() {
            for (at, value) in values.as_array_mut().unwrap().iter_mut().enumerate() {
                let noise = f64::from((at as u32 * step + machine * 3) % 11) * 1e-3;
                match metric.as_str() {
                    // The counting pass has no times, and a busy machine leaves out others.
                    _ if counted[at] => {}
                    "wall_ns" | "wall_less_wait_ns" | "cpu_ns" => {
                        *value = json!(1e5 * ratio * (1.0 + noise));
                    }
                    "run_queue_wait_ns" | "involuntary_switches" => *value = json!(0.0),
                    _ => {}
                }
            }
        }
    }
    run
}

/// Imports a run for each machine: on the last one `mmap` takes longer than `read`.
fn fleet(world: &World) {
    // Five sessions of one round.
    let five = "run reading --size 64KiB --method read,mmap --rounds 5 --counting 1 --json";
    let json = json_of(world, &five.split(' ').collect::<Vec<_>>());
    let exported = world.run(&["export", json["id"].as_str().unwrap(), "--format", "json"]);
    let run = exported.json();
    assert_eq!(world.run(&["delete", json["id"].as_str().unwrap()]).code, 0);
    for (machine, ratio) in (1..).zip([0.5, 0.55, 0.6, 0.62, 1.4]) {
        let cpu = if ratio > 1.0 { "Other <b>CPU" } else { "Common CPU" };
        let run = on_machine(&run, machine, cpu, ratio);
        import(world, &[&world.write("run.json", run.to_string())]);
    }
}

#[test]
fn machines_are_rows_and_the_next_one_is_predicted() {
    let world = World::new();
    fleet(&world);
    let json = json_of(&world, &["compare", "--by", "machine", "--json"]);
    assert_eq!((&json["by"], json["groups"].as_array().unwrap().len()), (&"machine".into(), 5));
    let point = &json["points"][0];
    assert_eq!((&point["reference"], &point["best"]), (&"read".into(), &"mmap".into()), "{point}");
    let mmap = &point["methods"][0];
    assert!((mmap["groups"][0]["ratio"].as_f64().unwrap() - 0.5).abs() < 0.01, "{mmap}");
    assert!(mmap["pooled"]["prediction_low"].as_f64() < mmap["pooled"]["low"].as_f64(), "{mmap}");
    assert_eq!(point["disagreements"].as_array().unwrap().len(), 1, "{point}");
    assert_eq!(
        (&point["disagreements"][0]["group"], &point["disagreements"][0]["best"]),
        (&4.into(), &"read".into())
    );
    let ran = world.run(&["compare", "--by", "machine"]);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["on the next machine mmap takes", "disagrees: read is best", "I²"] {
        assert!(words.contains(part), "{part}: {}", ran.stdout);
    }
    // Two CPUs, of which one has one run: a ratio each, and nothing for the next one.
    let json = json_of(&world, &["compare", "--by", "cpu", "--json"]);
    assert_eq!(json["points"][0]["methods"][0]["groups"][0]["runs"], 4);
    assert_eq!(json["points"][0]["methods"][0]["pooled"]["prediction_low"], Value::Null);
}

#[test]
fn the_page_and_the_figures_hold_hostile_names_as_text() {
    let world = World::new();
    fleet(&world);
    let svg = world.path("figures");
    let page = world.run(&["report", "--by", "cpu", "-o", "-", "--svg", svg.to_str().unwrap()]);
    assert_eq!(page.code, 0, "{}", page.stderr);
    let drawn = std::fs::read_to_string(svg.join("cpu-1.svg")).unwrap();
    for text in [&page.stdout, &drawn] {
        assert!(text.contains("Other &lt;b&gt;CPU") && !text.contains("<b>CPU"), "{text}");
    }
    assert!(page.stdout.contains(&drawn));
    world.refused(&["compare", "--by", "label"], "--by label needs runs of two or more");
    let both = world.run(&["compare", "1", "2", "--by", "cpu"]);
    assert_eq!(both.code, 2, "{}", both.stderr);
}
