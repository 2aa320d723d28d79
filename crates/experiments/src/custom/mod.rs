#![doc = include_str!("README.md")]

mod check;
mod data;
pub mod file;
mod location;
mod methods;
mod names;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use measure::experiment::Experiment;
use model::run::Definition;

use self::check::Checked;
use self::names::FileOrigin;
pub use self::names::{DIR, FILE, HERE, PROGRAM, ReservedNames};

/// The file that `bytelab init` writes.
pub const EXAMPLE: &str = include_str!("example.toml");

/// The JSON Schema of an experiment in a file.
pub const SCHEMA: &str = include_str!("../../embedded/experiment.schema.json");

/// The placeholder of `{program}` until it is known.
pub const NO_PROGRAM: &str = "{program}";

/// A larger file is a mistake.
const LIMIT_BYTES: u64 = 1 << 20;

/// An experiment that the user's file declares.
pub struct LoadedExperiment {
    pub experiment: Experiment,
    pub definition: Definition,
    /// Values of the measuring flags, by their id.
    pub defaults: Vec<(&'static str, String)>,
    /// Whether a command is run before the first sample, which may make the programs.
    pub has_setup: bool,
}

impl LoadedExperiment {
    /// The number of sessions that a run has at least, for one that is resumed.
    pub fn min_sessions(&self) -> u32 {
        let found = self.defaults.iter().find(|(id, _)| *id == "min_sessions");
        found.and_then(|(_, value)| value.parse().ok()).unwrap_or_default()
    }
}

/// Whether the name of an experiment is the name of a file.
pub fn is_file_name(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some_and(|ending| ending == "toml")
}

pub fn load(path: &Path, taken: &ReservedNames<'_>) -> Result<LoadedExperiment> {
    let text = read(path)?;
    parse(path, text, taken, None)
}

/// Loads the file with a value for `{program}`.
pub fn load_with(
    path: &Path,
    taken: &ReservedNames<'_>,
    program: &str,
) -> Result<LoadedExperiment> {
    let text = read(path)?;
    ensure!(
        model::template::names(&text).contains(&names::PROGRAM),
        "{}: no command has {{program}}, in whose place old=PATH and new=PATH are put",
        path.display()
    );
    parse(path, text, taken, Some(program))
}

fn parse(
    path: &Path,
    text: String,
    taken: &ReservedNames<'_>,
    program: Option<&str>,
) -> Result<LoadedExperiment> {
    let mut file_origin = FileOrigin::from_path(path)?;
    file_origin.program = program.map(str::to_owned);
    declared(&file_origin, &path.display().to_string(), text, taken)
}

/// A definition that was typed on the command line: it has no file.
pub(crate) fn from_text(text: String, taken: &ReservedNames<'_>) -> Result<LoadedExperiment> {
    declared(&FileOrigin::from_command_line(), "the definition", text, taken)
}

/// By method, the values that the definition says were put in its command.
pub fn parameters(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let methods =
        toml::from_str::<file::ExperimentFile>(text).map(|file| file.method).unwrap_or_default();
    methods.into_iter().map(|method| (method.name.value, method.parameters)).collect()
}

/// The names and the commands of the methods of a definition.
pub fn commands(text: &str) -> Vec<String> {
    let methods =
        toml::from_str::<file::ExperimentFile>(text).map(|file| file.method).unwrap_or_default();
    let of_method = |method: file::MethodTable| {
        let words = method.command.or(method.worker).map(|words| match words.value {
            file::Words::Text(text) => text,
            file::Words::List(words) => words.join(" "),
        });
        std::iter::once(method.name.value).chain(words)
    };
    methods.into_iter().flat_map(of_method).collect()
}

/// The metrics that only the definition gives: those that commands print, and that of copies.
pub fn own_metrics(text: &str) -> Vec<String> {
    let Ok(file) = toml::from_str::<file::ExperimentFile>(text) else { return Vec::new() };
    let copies = |method: &file::MethodTable| method.copies.as_ref().is_some_and(|n| n.value > 1);
    let has_copies = file.method.iter().any(copies);
    let copies = has_copies.then(|| model::metric::COPIES_PER_S.to_owned());
    file.metrics.into_keys().chain(copies).collect()
}

/// `name` stands for the file in errors.
fn declared(
    file_origin: &FileOrigin,
    name: &str,
    text: String,
    taken: &ReservedNames<'_>,
) -> Result<LoadedExperiment> {
    let understood = content(&text).and_then(|file| check::check(file, file_origin, taken));
    let checked = understood.map_err(|mistake| anyhow!(mistake.located(name, &text)))?;
    let file = file_origin.file.clone();
    let Checked { experiment, thresholds, primary_metrics, view, defaults, has_setup } = checked;
    let definition = Definition { file, text, thresholds, primary_metrics, view };
    Ok(LoadedExperiment { experiment, definition, defaults, has_setup })
}

/// The content of the text. Its tables are read in the order of their names: of several mistakes,
/// the first one in the text is reported.
fn content(text: &str) -> Result<file::ExperimentFile, location::Mistake> {
    let mut first = match toml::from_str(text) {
        Ok(file) => return Ok(file),
        Err(error) => error,
    };
    while let Some(earlier) = earlier(text, &first) {
        first = earlier;
    }
    Err(location::Mistake::from_toml(&first))
}

/// A method that is valid in any file: the part of a file above a mistake may have none.
const ANY_METHOD: &str = "\n[[method]]\nname = \"-\"\ncommand = \"-\"\n";

/// The mistake above the table of this one; or above its line, if no table is above it.
fn earlier(text: &str, error: &toml::de::Error) -> Option<toml::de::Error> {
    let end = location::start_of_table(text, error.span()?.start);
    let above = text.get(..end)?;
    // A part that ends within a list or a string cannot be read.
    toml::from_str::<toml::Table>(above).ok()?;
    let error = toml::from_str::<file::ExperimentFile>(&format!("{above}{ANY_METHOD}")).err()?;
    error.span().is_some_and(|span| span.start < end).then_some(error)
}

fn read(path: &Path) -> Result<String> {
    let name = path.display();
    // Opening a FIFO would block.
    let metadata = std::fs::metadata(path).with_context(|| format!("{name} cannot be read"))?;
    ensure!(metadata.is_file(), "{name} is not a file; `bytelab init FILE` writes an experiment");
    let mut bytes = Vec::new();
    let opened = File::open(path).with_context(|| format!("{name} cannot be read"))?;
    opened
        .take(LIMIT_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("reading {name}"))?;
    if bytes.len() as u64 > LIMIT_BYTES {
        bail!("{name} is larger than 1 MiB and so is no experiment");
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = location::line_of(error.as_bytes(), valid);
        anyhow!("{name}:{line}: it is not UTF-8 text")
    })
}

#[cfg(test)]
mod tests;
