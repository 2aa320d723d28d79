//! `bytelab report` and `show --plot`: complete files, and clear messages if there can be none.

use crate::export::stored;
use crate::program::World;

#[test]
fn a_report_is_one_file_and_replaces_the_one_before() {
    let world = World::new();
    let id = stored(&world, &["--label", "<b>mine</b>"]);
    let path = world.path("a report.html");
    std::fs::write(&path, "before").unwrap();
    let ran = world.run(&["report", &id, "-o", path.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("&lt;b&gt;mine&lt;/b&gt;") && !page.contains("<b>mine</b>"));
    let left: Vec<_> =
        std::fs::read_dir(world.dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".bytelab-")), "{left:?}");
    assert_eq!(world.run(&["report", &id, "-o", "-"]).stdout, page);
}

#[test]
fn without_a_name_a_report_is_a_new_file_whose_name_is_printed() {
    let world = World::new();
    let id = stored(&world, &[]);
    let page = world.run(&["report", &id, "-o", "-"]).stdout;
    let run = |args: &[&str]| {
        let ran = world.run_in_home(&[&["report"], args].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
        ran.stdout
    };
    std::fs::create_dir(world.path("bytelab-run-1-2.html")).unwrap();
    assert_eq!(run(&[]), "bytelab-run-1.html\n");
    std::fs::write(world.path("bytelab-run-1.html"), "mine").unwrap();
    assert_eq!(run(&[&id]), "bytelab-run-1-3.html\n");
    let read = |name: &str| std::fs::read_to_string(world.path(name)).unwrap();
    assert_eq!(read("bytelab-run-1.html"), "mine", "no file is replaced");
    assert_eq!(read("bytelab-run-1-3.html"), page);
    let left = std::fs::read_dir(world.dir.path()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".bytelab-")), "{left:?}");
}

#[test]
fn svg_files_are_of_the_metric_that_is_requested() {
    let world = World::new();
    let id = stored(&world, &["--buffer", "4KiB,8KiB"]);
    let dir = world.path("papers/figures");
    let ran = world.run(&["report", &id, "--svg", dir.to_str().unwrap(), "--metric", "cpu_ns"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    let svg = std::fs::read_to_string(dir.join("line-by-buffer.svg")).unwrap();
    assert!(svg.contains("<title>CPU time by buffer"), "{svg}");
    let args = ["report", &id, "--svg", dir.to_str().unwrap(), "--metric", "furlongs"];
    world.refused(&args, "furlongs");
}

#[test]
fn a_report_that_cannot_be_made_is_refused_in_one_line() {
    let world = World::new();
    let id = stored(&world, &[]);
    let out = world.path("out.html");
    let (out, dir) = (out.to_str().unwrap(), world.dir.path().to_str().unwrap());
    let missing = format!("{dir}/no/such/dir/out.html");
    for (args, word) in [
        (&["report", "77", "-o", out][..], "77"),
        (&["report", &id, &id, "-o", out], "named twice"),
        (&["report", &id, "-o", dir], "is a directory"),
        (&["report", &id, "-o", &missing], "no/such/dir"),
    ] {
        world.refused(args, word);
    }
    assert!(!world.path("out.html").exists());
}

#[test]
fn a_file_that_is_to_hold_something_else_is_no_page() {
    let world = World::new();
    stored(&world, &[]);
    for (name, advice) in [
        ("fig.svg", "it writes a page (.html); for SVG: --svg DIR"),
        ("fig.PNG", "it writes a page (.html); for another picture: --svg DIR, then `rsvg-convert"),
        ("fig.pdf", "-f pdf"),
        ("run.csv", "it writes a page (.html); for data: bytelab export ID -o FILE"),
        ("run.json", "for data: bytelab export ID --format json"),
    ] {
        let path = world.path(name);
        world.refused(&["report", "1", "-o", path.to_str().unwrap()], advice);
        assert!(!path.exists(), "{name}");
    }
    let study = ["run", "published:fleece", "--report", "fig.svg"];
    world.refused(&study, "--report fig.svg: it writes a page (.html); for SVG");
    for name in ["page.html", "page.htm", "page", "v1.2"] {
        let path = world.path(name);
        let ran = world.run(&["report", "1", "-o", path.to_str().unwrap()]);
        assert!(ran.code == 0 && path.exists(), "{name}: {}", ran.stderr);
    }
}

#[test]
fn runs_of_two_experiments_are_no_report() {
    let world = World::new();
    let id = stored(&world, &[]);
    let json = ["--row", "l1-load", "-n", "2", "--json"];
    let ran = world.run(&[&["numbers"], &json[..]].concat());
    let other = ran.json();
    let other = other["id"].as_str().unwrap();
    let out = world.path("out.html");
    let both = ["report", &id, other, "-o", out.to_str().unwrap()];
    world.refused(&both, "a report shows one experiment");
    let ran = world.run(&["report", other, "-o", out.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(std::fs::read_to_string(out).unwrap().contains("load from L1"));
}

#[test]
fn show_draws_each_method_in_the_width_there_is() {
    let world = World::new();
    let id = stored(&world, &[]);
    for width in ["60", "120"] {
        let mut command = world.command(&["show", &id, "--plot"]);
        let output = command.env("COLUMNS", width).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let plot = &text[text.find("in order").unwrap()..];
        for method in ["read", "mmap"] {
            let line = plot.lines().find(|line| line.trim_start().starts_with(method)).unwrap();
            assert!(line.contains(|c| ('▁'..='█').contains(&c)), "{line}");
            assert!(line.chars().count() <= width.parse().unwrap(), "{line}");
        }
    }
}
