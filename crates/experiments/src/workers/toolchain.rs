//! The sources of a worker, how it is built and how it is run; and what it needs on this machine.

use std::fs::{File, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io, thread};

use anyhow::{Context, Result, bail};
use measure::clock::now_ns;
use measure::experiment::{Execution, Method};
use measure::launch::{self, RunError, Stop};

use crate::TemporaryFolder;

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
    /// The packages to install if a tool is missing.
    pub(super) install: &'static str,
    /// The sources, with their paths below `{src}`.
    pub(super) sources: &'static [(&'static str, &'static str)],
    /// The build commands, run one after the other.
    pub(super) build: &'static [&'static [&'static str]],
    /// Further words of the last build command.
    pub(super) more: &'static [&'static str],
    pub(super) run: &'static [&'static str],
    /// The levels of its optimiser, the usual one first; none where nothing is compiled.
    pub(super) levels: &'static [OptimizerLevel],
    pub(super) build_directory: BuildDirectory,
}

/// The name of a level without its hyphen: `O3`, `Onone`.
pub(super) type OptimizerLevel = &'static str;

/// The directory in which a worker is built.
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
const BUILD_LIMIT_NS: u64 = 30 * 60 * 1_000_000_000;

impl Toolchain {
    /// Whether the method needs this worker.
    pub(super) fn runs(&self, method: &Method) -> bool {
        self.level_of(method).is_some()
    }

    /// The level at which the method needs this worker; `None` if it does not need it.
    pub(super) fn level_of(&self, method: &Method) -> Option<OptimizerLevel> {
        let Execution::Worker { argv } = &method.execution else { return None };
        argv.iter().find_map(|word| self.level_in(word))
    }

    /// Replaces the placeholder in argv by the first words of the worker's argv.
    pub(super) fn fill_in(&self, argv: &mut Vec<String>, run: &[String]) {
        if let Some(place) = argv.iter().position(|word| self.level_in(word).is_some()) {
            argv.splice(place..=place, run.iter().cloned());
        }
    }

    /// The level that a placeholder of this worker names.
    fn level_in(&self, word: &str) -> Option<OptimizerLevel> {
        let inner = word.strip_prefix("{workers/")?.strip_suffix('}')?;
        match inner.split_once('@') {
            None => (inner == self.name).then_some(self.usual_level()),
            Some((name, level)) if name == self.name => self.level(level),
            Some(_) => None,
        }
    }

    pub(super) fn level(&self, name: &str) -> Option<OptimizerLevel> {
        self.levels.iter().find(|level| **level == name).copied()
    }

    pub(super) fn usual_level(&self) -> OptimizerLevel {
        self.levels.first().copied().unwrap_or_default()
    }

    /// The method `NAME@LEVEL`, whose worker is built at this level.
    pub(super) fn at_level(&self, method: &Method, level: OptimizerLevel) -> Method {
        let mut method = Method { name: format!("{}@{level}", method.name), ..method.clone() };
        if let Execution::Worker { argv } = &mut method.execution {
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
        let (src, out) = match self.build_directory {
            BuildDirectory::Kept => (dir.to_owned(), dir.to_owned()),
            BuildDirectory::Fresh => {
                let place = dir.join(format!("{name}-{:016x}", self.digest(tools)));
                (place.join("src"), place)
            }
        };
        let built = Built {
            run: substituted(self.run, &src, &out, tools)?,
            version: versions.join("; "),
            command: self.command(tools),
        };
        if self.build_directory == BuildDirectory::Fresh && out.exists() {
            return Ok(Ok(built));
        }
        let is_first =
            self.build_directory == BuildDirectory::Fresh || !Path::new(&built.run[0]).exists();
        let is_shown = is_first && !self.build.is_empty();
        let duration = LastDuration::of_worker(dir, name);
        if is_shown {
            let (version, last) = (&built.version, duration.described());
            print_progress(&format!("building workers/{name} with {version} (once{last})"))?;
        }
        let _turn = match self.build_directory {
            // The tool has a lock of its own.
            BuildDirectory::Kept => None,
            BuildDirectory::Fresh => BuildTurn::wait(dir, name, stop)?,
        };
        if self.build_directory == BuildDirectory::Fresh && out.exists() {
            return Ok(Ok(built));
        }
        let start_ns = now_ns();
        let made = match self.build_directory {
            BuildDirectory::Kept => self.build_in(&src, &out, tools, stop),
            BuildDirectory::Fresh => self.build_fresh(dir, &out, tools, stop),
        }?;
        if is_shown && made.is_ok() {
            duration.keep(now_ns() - start_ns);
        }
        Ok(made.map(|()| built))
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
                // On a file system without locks, another process that built the same was faster.
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
            match launch::run_to_end(&substituted(&command, src, out, tools)?, BUILD_LIMIT_NS, stop)
            {
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

/// The right to build a worker, which one run at a time has: of several that start together, the
/// others wait and find it built. It is a lock of a file.
struct BuildTurn(File);

impl BuildTurn {
    const PAUSE: Duration = Duration::from_millis(20);

    /// `None` on a file system without locks.
    fn wait(dir: &Path, name: &str, stop: &Stop) -> Result<Option<BuildTurn>> {
        let path = dir.join(format!("turn-{}", name.replace('/', "-")));
        let file = File::create(&path).with_context(|| format!("making {}", path.display()))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(BuildTurn(file))),
                Err(TryLockError::Error(_)) => return Ok(None),
                Err(TryLockError::WouldBlock) if stop.signal().is_some() => {
                    bail!("stopped while building workers/{name}")
                }
                Err(TryLockError::WouldBlock) => thread::sleep(BuildTurn::PAUSE),
            }
        }
    }
}

/// Closing the file would leave the lock to a process that was just forked and still has the file.
impl Drop for BuildTurn {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// The file that says how long a worker was built the last time, whatever its version was.
struct LastDuration(PathBuf);

impl LastDuration {
    fn of_worker(dir: &Path, name: &str) -> LastDuration {
        LastDuration(dir.join(format!("took-{}", name.replace('/', "-"))))
    }

    /// `, 240 s the last time`; empty if it is not known.
    fn described(&self) -> String {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        let seconds: Option<u64> = text.trim().parse().ok();
        seconds.map(|seconds| format!(", {seconds} s the last time")).unwrap_or_default()
    }

    /// An error is ignored: the next build then does not show the duration.
    fn keep(&self, took_ns: u64) {
        let _ = fs::write(&self.0, took_ns.div_ceil(1_000_000_000).to_string());
    }
}

fn substituted(
    words: &[&str],
    src: &Path,
    out: &Path,
    tools: &[InstalledTool],
) -> Result<Vec<String>> {
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

/// Prints a line about the progress of the build.
pub(crate) type PrintProgress<'a> = &'a dyn Fn(&str) -> io::Result<()>;

/// The time limit for printing the version.
const VERSION_LIMIT_NS: u64 = 60_000_000_000;

/// A tool that a worker needs on this machine: a compiler, an interpreter or a library.
pub(super) enum Tool {
    Program(Program),
    Library(Library),
}

impl Tool {
    /// Its path, or what is missing. Starts no process.
    pub(super) fn look(&self) -> Result<PathBuf, String> {
        match self {
            Tool::Program(program) => program.location().ok_or_else(|| program.missing()),
            Tool::Library(library) => library.look(&include_dirs()).map(|found| found.0),
        }
    }

    /// Its path and its version. The inner error is the reason why it cannot be used.
    pub(super) fn find(&self, stop: &Stop) -> Result<Result<InstalledTool, String>, RunError> {
        match self {
            Tool::Program(program) => program.find(stop),
            Tool::Library(library) => {
                Ok(library.look(&include_dirs()).map(|(place, version)| InstalledTool {
                    placeholder: format!("{{{}}}", library.name),
                    program: place.to_string_lossy().into_owned(),
                    version: format!("{} {version}", library.name),
                }))
            }
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Tool::Program(program) => program.names[0],
            Tool::Library(library) => library.name,
        }
    }
}

pub(super) struct Program {
    /// Any one of these is sufficient, the best first. `{FIRST}` in a command stands for the one
    /// that is found.
    pub(super) names: &'static [&'static str],
    /// The arguments that print its version, on one line.
    pub(super) version: &'static [&'static str],
    /// The arguments that print its own path, for a tool that a script may wrap.
    pub(super) path: &'static [&'static str],
}

/// A tool that was found.
pub(super) struct InstalledTool {
    /// The placeholder for it in commands.
    pub(super) placeholder: String,
    pub(super) program: String,
    pub(super) version: String,
}

impl InstalledTool {
    /// The level of the optimiser takes its place in a command as a tool does.
    pub(super) fn of_level(level: &str) -> InstalledTool {
        let placeholder = "{level}".to_owned();
        InstalledTool { placeholder, program: level.to_owned(), version: String::new() }
    }
}

impl Program {
    /// The first of its names that is a program in one of the directories of `PATH`.
    fn location(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let candidates = self.names.iter().flat_map(|name| dirs.iter().map(move |d| d.join(name)));
        candidates.into_iter().find(|file| {
            let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file);
            metadata.is_some_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
        })
    }

    /// Runs it to get its version.
    fn find(&self, stop: &Stop) -> Result<Result<InstalledTool, String>, RunError> {
        let Some(location) = self.location() else { return Ok(Err(self.missing())) };
        let location = location.to_string_lossy().into_owned();
        let ask = |question: &[&str]| {
            let question = question.iter().map(|word| (*word).to_owned());
            let argv: Vec<String> = [location.clone()].into_iter().chain(question).collect();
            match launch::output(&argv, VERSION_LIMIT_NS, stop) {
                Err(RunError::Stopped) => Err(RunError::Stopped),
                Err(RunError::Skipped(reason) | RunError::Failed(reason)) => Ok(Err(reason)),
                Ok(text) => Ok(Ok(text.lines().next().unwrap_or_default().trim().to_owned())),
            }
        };
        let version = match ask(self.version)? {
            Ok(version) => version,
            Err(reason) => return Ok(Err(reason)),
        };
        let program = match self.path {
            [] => location.clone(),
            path => ask(path)?.ok().filter(|path| !path.is_empty()).unwrap_or(location.clone()),
        };
        let placeholder = format!("{{{}}}", self.names[0]);
        Ok(Ok(InstalledTool { placeholder, program, version }))
    }

    fn missing(&self) -> String {
        format!("{} is not installed", self.names.join(" or "))
    }
}

/// A library of C or C++, which its header shows to be there.
pub(super) struct Library {
    pub(super) name: &'static str,
    /// The headers of which one defines the version, the best first.
    pub(super) headers: &'static [&'static str],
    /// The macro that is the version.
    pub(super) version: &'static str,
    pub(super) at_least: [u32; 2],
}

impl Library {
    /// Its header and its version, or what is missing.
    fn look(&self, dirs: &[PathBuf]) -> Result<(PathBuf, String), String> {
        let [major, minor] = self.at_least;
        let wanted = format!("{} {major}.{minor} or newer is not installed", self.name);
        let headers = dirs.iter().flat_map(|dir| self.headers.iter().map(move |h| dir.join(h)));
        let mut found = headers.filter_map(|file| Some((self.version_in(&file)?, file)));
        let Some((version, file)) = found.next() else { return Err(wanted) };
        let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
        let here = [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)];
        if here < self.at_least {
            return Err(format!("{wanted}, only {version}"));
        }
        Ok((file, version))
    }

    fn version_in(&self, header: &Path) -> Option<String> {
        let text = fs::read_to_string(header).ok()?;
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("#define "));
        let value = lines.find_map(|line| line.strip_prefix(self.version))?;
        Some(value.trim().trim_matches('"').to_owned())
    }
}

/// The directories in which compilers look for headers.
fn include_dirs() -> Vec<PathBuf> {
    let own = std::env::var_os("CPATH").unwrap_or_default();
    let own = std::env::split_paths(&own).filter(|dir| !dir.as_os_str().is_empty());
    let usual = ["/usr/local/include", "/usr/include"].map(PathBuf::from);
    // Debian keeps there what depends on the processor.
    let of_processor = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    own.chain(usual).chain([PathBuf::from(of_processor)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: Library = Library {
        name: "libjson",
        headers: &["json/version.h", "json.h"],
        version: "JSON_VERSION",
        at_least: [0, 10],
    };

    fn check(header: &str, text: &str, expected: Result<&str, &str>) {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let file = dirs[1].path().join(header);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        let dirs = dirs.each_ref().map(|dir| dir.path().to_owned());
        let found = LIBRARY.look(&dirs).map(|(place, version)| {
            assert_eq!(place, file);
            version
        });
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn a_build_says_how_long_the_last_one_took() {
        let dir = tempfile::tempdir().unwrap();
        let duration = LastDuration::of_worker(dir.path(), "a/b");
        assert_eq!(duration.described(), "");
        duration.keep(239_100_000_000);
        let again = LastDuration::of_worker(dir.path(), "a/b");
        assert_eq!(again.described(), ", 240 s the last time");
        assert_eq!(LastDuration::of_worker(dir.path(), "a").described(), "");
        fs::write(&again.0, "soon").unwrap();
        assert_eq!(again.described(), "");
    }

    #[test]
    fn a_library_is_there_if_a_header_has_a_version_that_is_new_enough() {
        let missing = Err("libjson 0.10 or newer is not installed");
        check("json.h", "#define JSON_H\n#define JSON_VERSION \"0.10.2\"\n", Ok("0.10.2"));
        check("json/version.h", "#define JSON_VERSION 1.0\n", Ok("1.0"));
        check(
            "json.h",
            "#define JSON_VERSION \"0.9.9\"\n",
            Err("libjson 0.10 or newer is not installed, only 0.9.9"),
        );
        check("json.h", "int json;\n", missing);
        check("other.h", "#define JSON_VERSION 1.0\n", missing);
    }
}
