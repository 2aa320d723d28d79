//! Methods in programs of their own, which are built from sources that this program carries: once, into the cache
//! directory, when a run needs them. What cannot be built is skipped with the reason.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lab::experiment::{How, Method};
use lab::launch::{self, Ended, Stop};

/// A worker's sources, and how it is built. `{dir}` stands for the directory that they are written to.
struct Kit {
    /// What stands for its program at the start of a method's argv.
    placeholder: &'static str,
    sources: &'static [(&'static str, &'static str)],
    /// Looks by itself at what has changed: the sources, or the compiler.
    build: &'static [&'static str],
    program: &'static str,
}

/// From the root of the repository, where they lie as they are written here.
macro_rules! sources {
    ($($path:literal),* $(,)?) => { &[$(($path, include_str!(concat!("../../../", $path)))),*] };
}

const KITS: &[Kit] = &[
    Kit {
        placeholder: "{workers/rust}",
        sources: sources![
            "rust-toolchain.toml",
            "workers/rust/Cargo.toml",
            "workers/rust/Cargo.lock",
            "workers/rust/src/main.rs",
            "workers/rust/src/protocol.rs",
            "workers/rust/src/simd.rs",
            "workers/rust/src/sonic.rs",
            "workers/rust/src/tagged.rs",
            "workers/rust/src/typed.rs",
            "workers/rust/src/rkyv.rs",
            "workers/rust/src/flat.rs",
            "workers/rust/src/person_generated.rs",
            "crates/bytelab/src/experiments/decoding/jobs.rs",
            "crates/bytelab/src/experiments/decoding/json.rs",
        ],
        build: &[
            "cargo",
            "build",
            "--release",
            "--locked",
            "--quiet",
            "--manifest-path",
            "{dir}/workers/rust/Cargo.toml",
            "--target-dir",
            "{dir}/target",
        ],
        program: "{dir}/target/release/bytelab-worker",
    },
    Kit {
        placeholder: "{workers/rust/http}",
        sources: sources![
            "rust-toolchain.toml",
            "workers/rust/src/protocol.rs",
            "workers/rust/http/Cargo.toml",
            "workers/rust/http/Cargo.lock",
            "workers/rust/http/src/main.rs",
            "workers/rust/http/src/jobs.rs",
            "workers/rust/http/src/atto.rs",
            "workers/rust/http/src/hyper.rs",
            "workers/rust/http/src/reqwest.rs",
            "workers/rust/http/src/ureq.rs",
            "crates/bytelab/src/experiments/reading/digest.rs",
            "crates/bytelab/src/experiments/reading/fold.rs",
        ],
        build: &[
            "cargo",
            "build",
            "--release",
            "--locked",
            "--quiet",
            "--manifest-path",
            "{dir}/workers/rust/http/Cargo.toml",
            "--target-dir",
            "{dir}/target",
        ],
        program: "{dir}/target/release/bytelab-http",
    },
];

/// So long may building take.
const LIMIT_NS: u64 = 30 * 60 * 1_000_000_000;

/// Builds what the methods need, and puts its place into their argv.
pub(crate) fn make_ready(methods: &mut [Method], dir: &Path, stop: &Stop) -> Result<()> {
    for kit in KITS {
        let needs = |method: &&mut Method| match &method.how {
            How::Worker { argv } => argv.first().is_some_and(|word| word == kit.placeholder),
            _ => false,
        };
        let mut methods: Vec<&mut Method> = methods.iter_mut().filter(needs).collect();
        if methods.is_empty() {
            continue;
        }
        let built = kit.built(&dir.join("workers"), stop)?;
        for method in &mut methods {
            match (&built, &mut method.how) {
                (Ok(program), How::Worker { argv }) => argv[0].clone_from(program),
                (Err(reason), how) => *how = How::Unavailable { reason: reason.clone() },
                _ => {}
            }
        }
    }
    Ok(())
}

impl Kit {
    /// The path of the program, or why there is none.
    fn built(&self, dir: &Path, stop: &Stop) -> Result<Result<String, String>> {
        let name = self.placeholder.trim_matches(['{', '}']);
        for (path, text) in self.sources {
            write_if_new(&dir.join(path), text)?;
        }
        let dir = dir.to_str().context("the cache directory is not UTF-8")?;
        let filled = |word: &str| word.replace("{dir}", dir);
        let program = filled(self.program);
        if !Path::new(&program).exists() {
            let note = "once, some minutes; --method leaves out what you do not need";
            writeln!(io::stderr(), "bytelab: building {name} into {dir} ({note})")?;
        }
        let argv: Vec<String> = self.build.iter().map(|word| filled(word)).collect();
        match launch::complete(&argv, LIMIT_NS, stop) {
            Ok(()) => Ok(Ok(program)),
            Err(Ended::Stopped) => bail!("stopped while building {name}"),
            Err(Ended::Skipped(reason) | Ended::Failed(reason)) => {
                Ok(Err(format!("{name} cannot be built: {reason}")))
            }
        }
    }
}

/// Keeps the time of a file that is as it should be: by that a build sees what is new.
fn write_if_new(path: &Path, text: &str) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    let write = || -> io::Result<()> {
        let folder: PathBuf = path.parent().map(Path::to_owned).unwrap_or_default();
        fs::create_dir_all(&folder)?;
        let unfinished = tempfile::NamedTempFile::new_in(&folder)?;
        fs::write(unfinished.path(), text)?;
        unfinished.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("writing {}", path.display()))
}
