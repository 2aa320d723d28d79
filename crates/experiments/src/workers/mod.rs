//! Methods in other programs, which are built from sources that this program contains: once, into
//! the cache directory, when a run needs them. A method whose tools are not installed, or whose
//! program cannot be built, is skipped with the reason.

mod toolchain;
mod toolchains;

use std::path::Path;
use std::thread::ScopedJoinHandle;

use anyhow::{Context, Result, ensure};
use measure::experiment::{Execution, Method};
use measure::launch::Stop;

pub(crate) use self::toolchain::PrintProgress;
use self::toolchain::{InstalledTool, OptimizerLevel, Tool, Toolchain};
use self::toolchains::TOOLCHAINS;

/// The language of this program, and so of the built-in methods.
const OWN: &str = "rust";

/// Stands for this program in a method's argv.
const SELF: &str = "{bytelab}";

/// A worker, and the tool with which it was built or is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolchainVersion {
    pub language: &'static str,
    pub version: String,
    /// A language may have several workers.
    worker: &'static str,
    /// The level of the optimiser, if it is not the usual one.
    level: Option<OptimizerLevel>,
    /// The command with its flags.
    command: String,
}

impl ToolchainVersion {
    /// The key of its version in the environment of a run: that of the language, or its own if it
    /// needs other tools.
    pub fn fact(&self) -> String {
        let names = |toolchain: &Toolchain| toolchain.tools.iter().map(Tool::name).collect();
        let tools: Option<Vec<&str>> = TOOLCHAINS.iter().find(|t| t.name == self.worker).map(names);
        let first = TOOLCHAINS.iter().find(|toolchain| Some(names(toolchain)) == tools);
        let name = first.map_or(self.language, |toolchain| toolchain.name);
        format!("toolchain_{}", name.replace('/', "_"))
    }

    /// All its facts in the environment of a run.
    pub fn facts(&self) -> [(String, String); 2] {
        let mut worker = self.worker.replace('/', "_");
        if let Some(level) = self.level {
            worker = format!("{worker}_{level}");
        }
        let command = (format!("worker_{worker}_command"), self.command.clone());
        [(self.fact(), self.version.clone()), command]
    }
}

/// A language that has methods, and its command on this machine, or what to install.
pub struct Language {
    /// Its name, or that of one of its programs which needs more than the others.
    pub name: &'static str,
    pub here: Result<String, String>,
}

/// The language of a method of ours; `None` for a plain command or a worker of the user's.
pub fn language_of(method: &Method) -> Option<&'static str> {
    match &method.execution {
        Execution::BuiltIn(_) => Some(OWN),
        _ => toolchain_of(method).map(|toolchain| toolchain.language),
    }
}

/// The languages of these methods, each once, with whether they are installed on this machine.
pub fn languages(methods: &[Method]) -> Vec<Language> {
    let mut languages: Vec<Language> = Vec::new();
    let mut language = "";
    let used = |toolchain: &&Toolchain| methods.iter().any(|method| toolchain.runs(method));
    for toolchain in TOOLCHAINS.iter().filter(used) {
        let here = toolchain.looked_for();
        // A language may have several programs.
        let is_known = toolchain.language == language;
        if !is_known || languages.last().is_some_and(|last| last.here != here) {
            let name = if is_known { toolchain.name } else { toolchain.language };
            languages.push(Language { name, here });
        }
        language = toolchain.language;
    }
    languages
}

/// Whether the method's tools are installed on this machine, as far as that can be found out
/// without starting them.
pub fn is_here(method: &Method) -> bool {
    not_installed(method).is_none()
}

/// Why the method cannot be measured on this machine, as far as that can be found out without
/// starting its tools: `Swift is not installed`.
pub fn not_installed(method: &Method) -> Option<String> {
    let toolchain = toolchain_of(method).filter(|toolchain| toolchain.looked_for().is_err())?;
    Some(format!("{} is not installed", title(toolchain.language)))
}

/// How the tools of the method's language can be had: `install GHC (Debian: apt install ghc)`.
pub fn remedy(method: &Method) -> Option<&'static str> {
    toolchain_of(method).map(|toolchain| toolchain.install)
}

/// The name of a language as people write it.
fn title(language: &str) -> String {
    match language {
        "cpp" => "C++".to_owned(),
        "node" => "Node.js".to_owned(),
        other => {
            let (first, rest) = other.split_at(other.len().min(1));
            first.to_uppercase() + rest
        }
    }
}

/// A note of the languages that a run omits because their tools are not installed.
pub fn left_out<'a>(methods: impl Iterator<Item = &'a Method>) -> Option<String> {
    let default: Vec<Method> = methods.filter(|method| method.default).cloned().collect();
    let missing = languages(&default).into_iter().filter(|language| language.here.is_err());
    let missing: Vec<&str> = missing.map(|language| language.name).collect();
    (!missing.is_empty())
        .then(|| format!("left out, as not installed here: {}", missing.join(", ")))
}

/// The languages that `--language` names.
pub struct Languages<'a>(&'a [String]);

impl Languages<'_> {
    /// The value of the flag; `None` if it names no language.
    pub fn selected<'a>(methods: &[Method], names: &'a [String]) -> Result<Option<Languages<'a>>> {
        let mut known: Vec<&str> = methods.iter().filter_map(language_of).collect();
        known.sort_unstable();
        known.dedup();
        ensure!(
            names.is_empty() || !known.is_empty(),
            "--language: this experiment has no methods in other languages"
        );
        for name in names {
            ensure!(
                known.contains(&name.as_str()),
                "--language {name}: there are methods in {}",
                known.join(", ")
            );
        }
        Ok((!names.is_empty()).then_some(Languages(names)))
    }

    pub fn have(&self, method: &Method) -> bool {
        // The commands, which are not built in.
        let is_command = matches!(method.execution, Execution::Command { .. });
        let language = language_of(method).or(is_command.then_some(OWN));
        language.is_some_and(|language| self.0.iter().any(|name| name == language))
    }
}

/// Builds the workers that the methods need, and inserts their paths into each argv. Returns the
/// tools used.
pub fn make_ready(
    methods: &mut [Method],
    dir: &Path,
    print_progress: PrintProgress<'_>,
    stop: &Stop,
) -> Result<Vec<ToolchainVersion>> {
    let mut toolchains = Vec::new();
    let program = std::env::current_exe().context("finding this program")?;
    let program = program.to_str().context("the path of this program is not UTF-8")?;
    for method in methods.iter_mut() {
        if let Execution::Worker { argv } = &mut method.execution {
            for word in argv.iter_mut().filter(|word| *word == SELF) {
                program.clone_into(word);
            }
        }
    }
    let is_used = |toolchain: &&Toolchain| methods.iter().any(|method| toolchain.runs(method));
    let used: Vec<&'static Toolchain> = TOOLCHAINS.iter().filter(is_used).collect();
    for (toolchain, tools) in used.iter().zip(find_all(&used, stop)) {
        let mut tools = tools?;
        let mut levels: Vec<OptimizerLevel> =
            methods.iter().filter_map(|method| toolchain.level_of(method)).collect();
        levels.sort_unstable();
        levels.dedup();
        for level in levels {
            let built = match &mut tools {
                Ok(tools) => {
                    tools.push(InstalledTool::of_level(level));
                    let built =
                        toolchain.make(tools, &dir.join("workers"), print_progress, stop)?;
                    tools.pop();
                    built
                }
                Err(reason) => Err(reason.clone()),
            };
            let is_of_level = |method: &&mut Method| toolchain.level_of(method) == Some(level);
            for method in methods.iter_mut().filter(is_of_level) {
                match (&built, &mut method.execution) {
                    (Ok(built), Execution::Worker { argv }) => toolchain.fill_in(argv, &built.run),
                    (Err(reason), execution) => {
                        *execution = Execution::Unavailable { reason: reason.clone() }
                    }
                    _ => {}
                }
            }
            toolchains.extend(built.ok().map(|built| ToolchainVersion {
                language: toolchain.language,
                version: built.version,
                worker: toolchain.name,
                level: Some(level).filter(|level| *level != toolchain.usual_level()),
                command: built.command,
            }));
        }
    }
    Ok(toolchains)
}

/// One method for each of these levels of the optimiser, in place of each method whose worker has
/// such levels.
pub fn at_levels(methods: Vec<Method>, levels: &[String]) -> Result<Vec<Method>> {
    if levels.is_empty() {
        return Ok(methods);
    }
    for name in levels {
        let mut has = methods.iter().filter_map(toolchain_of);
        ensure!(
            has.any(|toolchain| toolchain.level(name).is_some()),
            "--optimise {name}: no chosen method has a worker with this level; there are {}",
            known_levels()
        );
    }
    let each = |method: Method| match toolchain_of(&method).filter(|t| !t.levels.is_empty()) {
        None => vec![method],
        Some(toolchain) => {
            let levels = levels.iter().filter_map(|name| toolchain.level(name));
            levels.map(|level| toolchain.at_level(&method, level)).collect()
        }
    };
    Ok(methods.into_iter().flat_map(each).collect())
}

/// The method `NAME@LEVEL` of these methods.
pub fn at_level(methods: &[Method], name: &str) -> Option<Method> {
    let (name, level) = name.split_once('@')?;
    let method = methods.iter().find(|method| method.name == name)?;
    let toolchain = toolchain_of(method)?;
    Some(toolchain.at_level(method, toolchain.level(level)?))
}

/// `O3, O0, O1, O2 (c, cpp); …`
fn known_levels() -> String {
    let mut known: Vec<(&[OptimizerLevel], Vec<&str>)> = Vec::new();
    for toolchain in TOOLCHAINS.iter().filter(|toolchain| !toolchain.levels.is_empty()) {
        match known.iter_mut().find(|(levels, _)| *levels == toolchain.levels) {
            None => known.push((toolchain.levels, vec![toolchain.language])),
            Some((_, languages)) if languages.contains(&toolchain.language) => {}
            Some((_, languages)) => languages.push(toolchain.language),
        }
    }
    let each = known
        .iter()
        .map(|(levels, languages)| format!("{} ({})", levels.join(", "), languages.join(", ")));
    each.collect::<Vec<String>>().join("; ")
}

/// Finds the tools of these toolchains at the same time: some take a second to print their version.
fn find_all(
    used: &[&'static Toolchain],
    stop: &Stop,
) -> Vec<Result<Result<Vec<InstalledTool>, String>>> {
    std::thread::scope(|scope| {
        let find = |toolchain: &&'static Toolchain| {
            let toolchain = *toolchain;
            let thread = std::thread::Builder::new();
            (toolchain, thread.spawn_scoped(scope, move || toolchain.find_tools(stop)))
        };
        let threads: Vec<_> = used.iter().map(find).collect();
        let found =
            |(toolchain, thread): (&Toolchain, std::io::Result<ScopedJoinHandle<'_, _>>)| {
                // Without a thread, or where one panicked, it is done here.
                let found = thread.ok().and_then(|thread| thread.join().ok());
                found.unwrap_or_else(|| toolchain.find_tools(stop))
            };
        threads.into_iter().map(found).collect()
    })
}

fn toolchain_of(method: &Method) -> Option<&'static Toolchain> {
    TOOLCHAINS.iter().find(|toolchain| toolchain.runs(method))
}
