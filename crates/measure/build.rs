//! Passes the facts of the build to `environment::system`: compiler, profile, target, revision.
//! Builds the library that counts the allocations of foreign programs.

#[path = "build/shim.rs"]
mod shim;

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    shim::build();
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let facts = [
        ("RUSTC_VERSION", answer(&env::var("RUSTC").unwrap_or_else(|_| "rustc".into()), &["-V"])),
        ("TARGET", env::var("TARGET").ok()),
        ("PROFILE", profile()),
        ("OPT_LEVEL", env::var("OPT_LEVEL").ok()),
        ("TARGET_CPU", target_cpu(&flags)),
        ("TARGET_FEATURES", env::var("CARGO_CFG_TARGET_FEATURE").ok()),
        ("REVISION", revision()),
        ("DIRTY", dirty().map(|dirty| dirty.to_string())),
    ];
    for (name, value) in facts {
        // An unknown fact is set to the empty text, because an unset variable could have the value
        // of another build.
        println!("cargo::rustc-env=BYTELAB_{name}={}", value.unwrap_or_default());
    }
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// `PROFILE` knows only debug and release; the name of the build directory is the real profile.
fn profile() -> Option<String> {
    let out = env::var("OUT_DIR").ok()?;
    let mut folders = Path::new(&out).ancestors();
    let build = folders.find(|folder| folder.ends_with("build"))?;
    let name = build.parent()?.file_name()?.to_str()?;
    Some(if name == "debug" { "dev".into() } else { name.into() })
}

fn target_cpu(flags: &str) -> Option<String> {
    flags
        .split('\x1f')
        .filter_map(|flag| flag.split_once("target-cpu="))
        .next_back()
        .map(|(_, cpu)| cpu.into())
}

fn revision() -> Option<String> {
    // A copy of the sources may be inside the checkout of another repository.
    (git(&["rev-parse", "--show-prefix"])? == "crates/measure/").then_some(())?;
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// Whether the tree has edits at the time when the revision changes. Later edits are not noticed,
/// so that an edit elsewhere in the workspace does not rebuild this crate.
fn dirty() -> Option<bool> {
    revision()?;
    let status = git(&["--no-optional-locks", "status", "--porcelain", "--untracked-files=no"])?;
    Some(!status.is_empty())
}

fn git(arguments: &[&str]) -> Option<String> {
    answer("git", arguments)
}

fn answer(program: &str, arguments: &[&str]) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "measure::launch does not exist yet when this runs"
    )]
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
