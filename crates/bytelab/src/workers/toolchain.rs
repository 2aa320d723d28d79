//! The sources of a worker, how it is built and how it is run.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lab::experiment::{How, Method};
use lab::launch::{self, RunError, Stop};

use super::tool::{InstalledTool, PrintProgress, Tool};
use crate::experiments::TemporaryFolder;

/// Methods in one language. In its commands `{src}` stands for the directory of the sources,
/// `{out}` for the directory of the build output, `{NAME}` for the tool with that name and
/// `{level}` for the level of the optimiser.
pub(super) struct Toolchain {
    /// `{workers/NAME}` in a method's argv stands for the words of `run`, `{workers/NAME@LEVEL}`
    /// for those of the worker that is built at this level.
    pub(super) name: &'static str,
    /// The name of the language for `--language`.
    pub(super) language: &'static str,
    pub(super) tools: &'static [Tool],
    /// What to install if a tool is missing.
    pub(super) install: &'static str,
    /// The sources, with their paths below `{src}`.
    pub(super) sources: &'static [(&'static str, &'static str)],
    /// The build commands, run one after the other.
    pub(super) build: &'static [&'static [&'static str]],
    /// Further words of the last build command.
    pub(super) more: &'static [&'static str],
    pub(super) run: &'static [&'static str],
    /// The levels of its optimiser, the usual one first; none where nothing is compiled.
    pub(super) levels: &'static [Level],
    pub(super) place: BuildDirectory,
}

/// The name of a level without its hyphen: `O3`, `Onone`.
pub(super) type Level = &'static str;

/// Where a worker is built.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum BuildDirectory {
    /// In a directory that is named by a digest of the sources, the commands and the tools, and
    /// that exists only after a complete build.
    Fresh,
    /// In a directory that is kept: the tool itself detects what has changed.
    Kept,
}

/// A worker that can be started.
pub(super) struct Built {
    /// The first words of its argv.
    pub(super) run: Vec<String>,
    pub(super) version: String,
    /// The build command with its flags, or the command that runs it if nothing is built.
    pub(super) command: String,
}

/// The time limit for building.
const LIMIT_NS: u64 = 30 * 60 * 1_000_000_000;

impl Toolchain {
    /// Whether the method needs this worker.
    pub(super) fn runs(&self, method: &Method) -> bool {
        self.level_of(method).is_some()
    }

    /// The level at which the method needs this worker; `None` if it does not need it.
    pub(super) fn level_of(&self, method: &Method) -> Option<Level> {
        let How::Worker { argv } = &method.how else { return None };
        argv.iter().find_map(|word| self.level_in(word))
    }

    /// Replaces the placeholder in argv by the first words of the worker's argv.
    pub(super) fn fill_in(&self, argv: &mut Vec<String>, run: &[String]) {
        if let Some(place) = argv.iter().position(|word| self.level_in(word).is_some()) {
            argv.splice(place..=place, run.iter().cloned());
        }
    }

    /// The level that a placeholder of this worker names.
    fn level_in(&self, word: &str) -> Option<Level> {
        let inner = word.strip_prefix("{workers/")?.strip_suffix('}')?;
        match inner.split_once('@') {
            None => (inner == self.name).then_some(self.usual_level()),
            Some((name, level)) if name == self.name => self.level(level),
            Some(_) => None,
        }
    }

    pub(super) fn level(&self, name: &str) -> Option<Level> {
        self.levels.iter().find(|level| **level == name).copied()
    }

    pub(super) fn usual_level(&self) -> Level {
        self.levels.first().copied().unwrap_or_default()
    }

    /// The method `NAME@LEVEL`, whose worker is built at this level.
    pub(super) fn at_level(&self, method: &Method, level: Level) -> Method {
        let mut method = Method { name: format!("{}@{level}", method.name), ..method.clone() };
        if let How::Worker { argv } = &mut method.how {
            let words = argv.iter_mut().filter(|word| self.level_in(word).is_some());
            words.for_each(|word| *word = format!("{{workers/{}@{level}}}", self.name));
        }
        method
    }

    /// Its first tool, or what to install. Starts no process.
    pub(super) fn looked_for(&self) -> Result<String, String> {
        let places = self.tools.iter().map(|tool| tool.look().map_err(|why| self.lacks(&why)));
        let places = places.collect::<Result<Vec<PathBuf>, String>>()?;
        Ok(places.first().map(|place| place.display().to_string()).unwrap_or_default())
    }

    fn lacks(&self, why: &str) -> String {
        format!("{why}; to have it, {}", self.install)
    }

    /// Its tools with their versions, or the reason why one cannot be used.
    pub(super) fn find_tools(&self, stop: &Stop) -> Result<Result<Vec<InstalledTool>, String>> {
        let mut all = Vec::new();
        for tool in self.tools {
            match tool.find(stop) {
                Ok(Ok(found)) => all.push(found),
                Ok(Err(why)) => return Ok(Err(self.lacks(&why))),
                Err(_) => bail!("stopped while looking for {}", tool.name()),
            }
        }
        Ok(Ok(all))
    }

    /// The worker, or the reason why it cannot be built. The level of the optimiser is one of the
    /// tools.
    pub(super) fn make(
        &self,
        tools: &[InstalledTool],
        dir: &Path,
        print_progress: PrintProgress<'_>,
        stop: &Stop,
    ) -> Result<Result<Built, String>> {
        let name = self.name;
        fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
        let versions = tools.iter().map(|tool| tool.version.as_str());
        let versions: Vec<&str> = versions.filter(|version| !version.is_empty()).collect();
        let (src, out) = match self.place {
            BuildDirectory::Kept => (dir.to_owned(), dir.to_owned()),
            BuildDirectory::Fresh => {
                let place = dir.join(format!("{name}-{:016x}", self.digest(tools)));
                (place.join("src"), place)
            }
        };
        let built = Built {
            run: filled(self.run, &src, &out, tools)?,
            version: versions.join("; "),
            command: self.command(tools),
        };
        if self.place == BuildDirectory::Fresh && out.exists() {
            return Ok(Ok(built));
        }
        let is_first = self.place == BuildDirectory::Fresh || !Path::new(&built.run[0]).exists();
        if is_first && !self.build.is_empty() {
            print_progress(&format!("building workers/{name} with {} (once)", built.version))?;
        }
        let made = match self.place {
            BuildDirectory::Kept => self.build_in(&src, &out, tools, stop),
            BuildDirectory::Fresh => self.build_fresh(dir, &out, tools, stop),
        };
        Ok(made?.map(|()| built))
    }

    fn build_fresh(
        &self,
        dir: &Path,
        place: &Path,
        tools: &[InstalledTool],
        stop: &Stop,
    ) -> Result<Result<(), String>> {
        let making = || format!("making {}", place.display());
        let unfinished = TemporaryFolder::new_in(dir).with_context(making)?;
        let unfinished = &unfinished.path;
        let made = self.build_in(&unfinished.join("src"), unfinished, tools, stop)?;
        if made.is_ok() {
            // The name of a worker may have several parts.
            place.parent().map_or(Ok(()), fs::create_dir_all).with_context(making)?;
            match fs::rename(unfinished, place) {
                // Another process that built the same was faster.
                Err(_) if place.exists() => {}
                renamed => renamed.with_context(making)?,
            }
        }
        Ok(made)
    }

    fn build_in(
        &self,
        src: &Path,
        out: &Path,
        tools: &[InstalledTool],
        stop: &Stop,
    ) -> Result<Result<(), String>> {
        for (path, text) in self.sources {
            write_if_new(&src.join(path), text)?;
        }
        for command in self.commands() {
            match launch::run_to_end(&filled(&command, src, out, tools)?, LIMIT_NS, stop) {
                Ok(()) => {}
                Err(RunError::Stopped) => bail!("stopped while building workers/{}", self.name),
                Err(RunError::Skipped(why) | RunError::Failed(why)) => {
                    return Ok(Err(format!("workers/{} cannot be built: {why}", self.name)));
                }
            }
        }
        Ok(Ok(()))
    }

    /// The build commands with all their words.
    fn commands(&self) -> Vec<Vec<&'static str>> {
        let mut commands: Vec<Vec<&str>> = self.build.iter().map(|words| words.to_vec()).collect();
        commands.last_mut().into_iter().for_each(|last| last.extend(self.more));
        commands
    }

    /// The command with `{src}` and `{out}` unreplaced, so that it does not depend on the
    /// directory.
    fn command(&self, tools: &[InstalledTool]) -> String {
        let build = self.commands();
        let commands = if build.is_empty() { vec![self.run.to_vec()] } else { build };
        let line = |words: &Vec<&str>| {
            let words = words.iter().map(|word| with_tools(word, tools));
            variables().into_iter().chain(words).collect::<Vec<String>>().join(" ")
        };
        commands.iter().map(line).collect::<Vec<String>>().join(" && ")
    }

    /// A digest of everything that the build depends on.
    fn digest(&self, tools: &[InstalledTool]) -> u64 {
        let mut digest = DefaultHasher::new();
        (self.sources, self.commands(), self.run, variables()).hash(&mut digest);
        for tool in tools {
            (&tool.program, &tool.version).hash(&mut digest);
        }
        digest.finish()
    }
}

fn filled(words: &[&str], src: &Path, out: &Path, tools: &[InstalledTool]) -> Result<Vec<String>> {
    let text =
        |dir: &Path| dir.to_str().map(str::to_owned).context("the cache directory is not UTF-8");
    let (src, out) = (text(src)?, text(out)?);
    let fill = |word: &&str| with_tools(word, tools).replace("{src}", &src).replace("{out}", &out);
    Ok(words.iter().map(fill).collect())
}

fn with_tools(word: &str, tools: &[InstalledTool]) -> String {
    let fill = |word: String, tool: &InstalledTool| word.replace(&tool.placeholder, &tool.program);
    tools.iter().fold(word.to_owned(), fill)
}

/// Variables with which users pass flags to these compilers and runtimes besides the command line.
const VARIABLES: &[&str] = &[
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CPATH",
    "GHCRTS",
    "GOAMD64",
    "GOFLAGS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVAC_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LIBRARY_PATH",
    "NODE_OPTIONS",
    "PYTHONOPTIMIZE",
    "RUSTFLAGS",
];

/// The variables that are set, in the form that a shell accepts.
fn variables() -> Vec<String> {
    let set = |name: &&str| Some(format!("{name}={}", std::env::var(name).ok()?));
    VARIABLES.iter().filter_map(set).collect()
}

/// Keeps the modification time of an unchanged file, by which a build detects changes.
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
