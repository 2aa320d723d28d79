//! Paths with bytes that are not UTF-8, wherever a path may be given.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::program::{Ran, World, script};

/// `a\xff` and this ending.
fn odd(ending: &str) -> OsString {
    OsString::from_vec([b"a\xff", ending.as_bytes()].concat())
}

impl World {
    fn odd_path(&self, ending: &str) -> PathBuf {
        self.dir.path().join(odd(ending))
    }

    /// Runs the program in the temporary home; `@` with an ending stands for the odd path.
    fn with_odd(&self, args: &[&str]) -> Ran {
        let mut command = self.command(&[]);
        for word in args {
            let mut bytes = Vec::new();
            for (at, part) in word.split('@').enumerate() {
                bytes.extend_from_slice(if at > 0 { b"a\xff" } else { b"" });
                bytes.extend_from_slice(part.as_bytes());
            }
            command.arg(OsString::from_vec(bytes));
        }
        let output = command.current_dir(self.dir.path()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap_or(-1);
        Ran { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    #[track_caller]
    fn works(&self, args: &[&str]) -> String {
        let ran = self.with_odd(args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }
}

const FEW: &[&str] = &["--rounds", "1", "--sessions", "1", "--counting", "0"];

#[test]
fn the_tools_take_them() {
    let world = World::new();
    fs::write(world.odd_path(".txt"), "1\n2\n3\n").unwrap();
    assert_eq!(world.works(&["cat", "@.txt"]), "1\n2\n3\n");
    world.works(&["cat", "-o", "@.copy", "@.txt"]);
    assert_eq!(fs::read(world.odd_path(".copy")).unwrap(), b"1\n2\n3\n");
    assert_eq!(world.works(&["sample", "-n", "3", "@.txt"]).lines().count(), 3);
    world.works(&["sample", "-n", "2", "-o", "@.sample", "@.txt"]);
    assert!(world.odd_path(".sample").exists());
    fs::write(world.odd_path(".json"), "[1]").unwrap();
    world.works(&["fleece", "encode", "@.json", "-o", "@.fleece"]);
    assert_eq!(world.works(&["fleece", "decode", "@.fleece"]).trim(), "[1]");
}

#[test]
fn odd_paths_can_be_measured() {
    let world = World::new();
    fs::write(world.odd_path(".txt"), vec![b'x'; 5000]).unwrap();
    let reading = ["run", "reading", "--file", "@.txt", "-m", "read,mmap", "--data-dir", "@.data"];
    let text = world.works(&[&reading[..], FEW].concat());
    assert!(text.contains("\\xff.txt"), "{text}");
    assert!(world.odd_path(".data").is_dir());
    fs::create_dir(world.odd_path(".dir")).unwrap();
    let files = ["run", "files", "--dir", "@.dir", "--job", "stat", "--size", "4KiB"];
    world.works(&[&files[..], FEW].concat());
    // A worker gets the path with the same bytes.
    let script = "echo hello 1; read -r verb file rest; echo \"$file\" >&2; echo skip seen";
    let worker = world.worker("other", script);
    let args = ["run", "reading", "--file", "@.txt", "-m", "read", "--worker", &worker];
    let ran = world.with_odd(&[&args[..], FEW].concat());
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let shown = world.works(&["show", "latest", "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert!(shown["points"][0]["file"].as_str().unwrap().contains(".txt"), "{shown}");
}

#[test]
fn commands_and_files_of_them_may_have_them() {
    let world = World::new();
    fs::write(world.odd_path(".txt"), "x\n").unwrap();
    fs::create_dir(world.odd_path(".dir")).unwrap();
    for args in [
        &["cat @.txt >@.out"][..],
        &["-N", "cat @.txt"],
        &["--input", "@.txt", "cat"],
        &["--output", "@.out2", "cat @.txt"],
        &["--cwd", "@.dir", "touch here"],
        &["--prepare", "touch @.prepared", "true"],
        &["-L", "file", "@.txt,/dev/null", "cat {file}"],
        &["--export-json", "@.json", "cat @.txt"],
        &["--trace", "@.trace", "cat @.txt"],
        &["--", "cat", "@.txt"],
    ] {
        let all = [&["bench", "-r", "1", "--counting", "0"][..], args].concat();
        world.works(&all);
    }
    for made in [".out", ".out2", ".dir/here", ".prepared", ".json"] {
        assert!(world.odd_path(made).exists(), "{made}");
    }
    let toml = world.works(&["bench", "--toml", "cat @.txt"]);
    fs::write(world.odd_path(".toml"), toml).unwrap();
    let text = world.works(&[&["run", "@.toml"], FEW].concat());
    assert!(text.contains("cat a\\xff.txt"), "{text}");
    world.works(&["list", "@.toml"]);
    // Relative names are of the folder of the file.
    let own = "data.file = 'own'\n[[method]]\nname = 'own'\ncommand = './own.sh {file}'\n";
    fs::write(world.odd_path(".dir/own.toml"), own).unwrap();
    fs::write(world.odd_path(".dir/own"), "x").unwrap();
    script(&world.odd_path(".dir/own.sh"), "#!/bin/sh\ncat \"$1\"\n");
    world.works(&[&["run", "@.dir/own.toml"], FEW].concat());
    let report = ["report", "latest", "-o", "@.html", "--svg", "@.svg"];
    let ran = world.with_odd(&report);
    assert!(ran.code == 0 || ran.stderr.contains("nothing to draw"), "{}", ran.stderr);
    world.works(&["export", "latest", "--format", "json", "-o", "@.run.json"]);
    world.works(&["import", "@.run.json"]);
    world.works(&["history", "--store", "@.sqlite"]);
    assert!(world.odd_path(".sqlite").exists());
}
