//! The outputs of `bytelab sample`: files that appear complete, and whose errors contain their
//! names; one of them is the manifest.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use record_sampler::Stats;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::args::SampleArgs;
use crate::atomic_file::AtomicFile;

pub(super) struct Output {
    file: AtomicFile,
    name: String,
}

impl Output {
    /// Unless files are replaced by force, one that is there already is an error.
    pub(super) fn create(path: &Path, force: bool) -> Result<Output> {
        let name = path.display().to_string();
        let file =
            if force { AtomicFile::create(path).map(Some) } else { AtomicFile::create_new(path) };
        let file = file.with_context(|| name.clone())?;
        let file = file.with_context(|| format!("{name} is there already; --force replaces it"))?;
        Ok(Output { file, name })
    }

    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.name))
    }

    /// The resolved path at which the file will appear; `None` if it has no name.
    pub(super) fn canonical_path(&self) -> Option<PathBuf> {
        self.file.target().canonical_path()
    }

    /// Completes the file except for the rename: every step that can fail is done before the first
    /// of several files is renamed.
    pub(super) fn ready(self) -> Result<Output> {
        let Output { file, name } = self;
        let file = file.ready().with_context(|| name.clone())?;
        Ok(Output { file, name })
    }

    /// Renames the file to its final name.
    pub(super) fn finish(self) -> Result<()> {
        self.file.finish().context(self.name)
    }
}

/// Adds the output's name to its errors.
impl Write for &Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file: &File = self.file.file();
        file.write(bytes).map_err(|error| self.named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The content of `--manifest`: the data to repeat a sample and to verify its inputs.
pub(super) struct Manifest {
    output: Output,
    inputs: Vec<PathBuf>,
    seed: u64,
}

impl Manifest {
    /// Before the sample is drawn, so that a manifest that cannot be written costs no time.
    pub(super) fn create(
        path: &Path,
        args: &SampleArgs,
        inputs: &[PathBuf],
        seed: u64,
    ) -> Result<Manifest> {
        let are_files = !inputs.is_empty() && inputs.iter().all(|input| input.is_file());
        ensure!(are_files, "--manifest lists files with their digests: name files, not streams");
        let output = Output::create(path, args.force)?;
        Ok(Manifest { output, inputs: inputs.to_vec(), seed })
    }

    /// Reads the inputs once more, for their digests.
    pub(super) fn finish(self, stats: &[Stats]) -> Result<()> {
        let Manifest { output, inputs, seed } = self;
        let inputs = inputs.iter().map(|input| described(input)).collect::<Result<Vec<Value>>>()?;
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let document = json!({
            "program": concat!("bytelab ", env!("CARGO_PKG_VERSION")),
            "directory": std::env::current_dir().ok().map(text),
            "command": command(std::env::args_os().map(PathBuf::from).map(text), seed),
            "seed": seed,
            "inputs": inputs,
            "records_seen": stats.first().and_then(|stats| stats.seen),
            "records_taken": stats.iter().map(|stats| stats.taken).collect::<Vec<u64>>(),
        });
        let mut bytes = serde_json::to_vec_pretty(&document)?;
        bytes.push(b'\n');
        (&output).write_all(&bytes)?;
        output.finish()
    }
}

/// The arguments that draw the same sample again.
fn command(arguments: impl Iterator<Item = String>, seed: u64) -> Vec<String> {
    let mut command: Vec<String> = arguments.collect();
    if let Some(first) = command.first_mut() {
        "bytelab".clone_into(first);
    }
    let is_seeded = command.iter().any(|word| word == "--seed" || word.starts_with("--seed="));
    if !is_seeded {
        command.extend(["--seed".to_owned(), seed.to_string()]);
    }
    command
}

fn described(path: &Path) -> Result<Value> {
    let name = || path.display().to_string();
    let mut file = File::open(path).with_context(name)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 256 << 10];
    let mut size = 0u64;
    loop {
        let n = file.read(&mut buffer).with_context(name)?;
        if n == 0 {
            break;
        }
        digest.update(&buffer[..n]);
        size += n as u64;
    }
    let hex = |text: String, byte: &u8| text + &format!("{byte:02x}");
    let digest = digest.finalize().iter().fold(String::new(), hex);
    Ok(json!({ "path": name(), "size_bytes": size, "sha256": digest }))
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn the_command_has_the_seed_that_was_used() {
        let check = |typed: &str, expected: &str| {
            let words = typed.split(' ').map(str::to_owned);
            assert_eq!(command(words, 7).join(" "), expected);
        };
        check("/usr/bin/bytelab sample a -n 1", "bytelab sample a -n 1 --seed 7");
        check("bytelab sample a -n 1 --seed 7", "bytelab sample a -n 1 --seed 7");
        check("bytelab sample --seed=7 a -n 1", "bytelab sample --seed=7 a -n 1");
    }
}
