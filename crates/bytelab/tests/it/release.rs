//! What a release says of itself: its version, and the licences of third-party code.

use std::collections::BTreeSet;
use std::process::Command;

use crate::layout::files;
use crate::program::World;
use crate::tidy::{own_crates, root};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The versions that a manifest of cargo or of Python gives itself and the crates of this
/// repository that it names.
fn versions(manifest: &toml::Table) -> Vec<String> {
    let version = |table: Option<&toml::Value>| Some(table?.get("version")?.as_str()?.to_owned());
    let workspace = manifest.get("workspace").and_then(|table| table.get("package"));
    let own = [manifest.get("package"), workspace, manifest.get("project")];
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    let named = tables.iter().flat_map(|table| own_crates(manifest, table));
    let named: Vec<_> = named.filter_map(|(_, entry)| version(Some(&entry))).collect();
    own.into_iter().filter_map(version).chain(named).collect()
}

#[test]
fn the_version_is_the_same_everywhere() {
    let mut found = 0;
    for path in files("toml") {
        if !path.ends_with("Cargo.toml") && !path.ends_with("pyproject.toml") {
            continue;
        }
        let manifest = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        for version in versions(&manifest) {
            assert_eq!(version, VERSION, "{}", path.display());
            found += 1;
        }
    }
    assert!(found > 30, "{found}");
    for (name, line) in [
        ("CHANGELOG.md", format!("# Changelog\n\n## {VERSION}")),
        ("action.yml", format!("\n    default: {VERSION}\n")),
        ("docs/action.md", format!(" uses: bytelab/bytelab@v{VERSION}\n")),
    ] {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        assert!(text.contains(&line), "{name} has no {line:?}");
    }
}

#[test]
fn the_image_is_built_with_the_rust_of_the_workspace() {
    let text = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let toolchain: toml::Table = toml::from_str(&text("rust-toolchain.toml")).unwrap();
    let rust = toolchain["toolchain"]["channel"].as_str().unwrap();
    for line in [format!("\nFROM rust:{rust}-slim-"), format!("\nENV RUSTUP_TOOLCHAIN={rust}\n")] {
        assert!(text("Dockerfile").contains(&line), "Dockerfile has no {line:?}");
    }
}

/// `NAME VERSION` of each package that cargo has linked into the program under test.
fn linked() -> BTreeSet<String> {
    #[expect(clippy::disallowed_methods, reason = "cargo says what it has linked")]
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root()).args(["tree", "--locked", "--offline", "--package", "bytelab"]);
    command.args(["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"]);
    let features =
        [("parquet", cfg!(feature = "parquet")), ("postgres", cfg!(feature = "postgres"))];
    for (feature, _) in features.into_iter().filter(|(_, is_on)| *is_on) {
        command.args(["--features", feature]);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Those of this repository have a folder.
    let others = text.lines().filter(|line| !line.contains("(/"));
    let words = others.map(|line| line.split(' ').collect::<Vec<_>>());
    words.map(|words| format!("{} {}", words[0], words[1].trim_start_matches('v'))).collect()
}

#[test]
fn the_licences_name_every_package_that_is_linked() {
    let ran = World::new().run(&["--licences"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    // A list of packages goes over several lines.
    let named = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let packages = linked();
    assert!(packages.len() > 100, "{packages:?}");
    for package in packages {
        let is_named = [",", " "].iter().any(|end| named.contains(&format!(" {package}{end}")));
        assert!(
            is_named,
            "{package} is not named: .ci/licences writes crates/bytelab/licences.txt"
        );
    }
    for other in ["SQLite", "plotly.js", "musl", "the standard library of Rust"] {
        assert!(named.contains(other), "{other}");
    }
}

#[test]
fn the_licences_are_printed_without_a_command() {
    World::new().refused(&["--licences", "history"], "--licences is used without a command");
}
