//! The names in the file: its params, the names in braces that commands and paths may contain, and
//! those that it must not use; and the location of the file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use byte_stream::parse_bytes;
use model::param::{Param, ParamKind};
use model::path_text::{from_path, to_path};
use model::template::{self, is_name};

use super::file::{At, KindWord, ParamTable, Scalar};
use super::location::{Mistake, suggestion};

// `{file}`, `{dir}` and so on: names besides the params.

/// The folder of the combination of values.
pub const DIR: &str = "dir";
/// The data.
pub const FILE: &str = "file";
/// The folder of the file.
pub const HERE: &str = "here";
pub(super) const METHOD: &str = "method";
/// From `check --against old=PATH,new=PATH`: the program of the side.
pub const PROGRAM: &str = "program";
const OWN: [&str; 4] = [DIR, FILE, HERE, METHOD];

/// The names in braces that each part of the file may contain.
pub(super) struct Placeholders {
    /// Params, and the location of the file.
    pub(super) constant: Vec<&'static str>,
    /// These, the folder of the point, and the data.
    pub(super) of_method: Vec<&'static str>,
    /// These, and the method: for hooks that belong to a method.
    pub(super) of_hook: Vec<&'static str>,
}

/// Fails if a name is unknown.
pub(super) fn check(text: &str, known: &[&str], span: &Range<usize>) -> Result<(), Mistake> {
    for name in template::names(text) {
        if !known.contains(&name) {
            let known = suggestion(name, known.iter().copied());
            let text = format!(
                "{{{name}}} is no param and nothing else that is known{known}; {{{{{name}}}}} stands \
                 for the text {{{name}}}"
            );
            return Err(Mistake::at(span, text));
        }
    }
    Ok(())
}

/// A process measures one file and ends, so strings from the file may live as long as the process.
pub(super) fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// The names that a file must not use.
pub struct ReservedNames<'a> {
    pub experiments: Vec<&'a str>,
    /// The flags, which the params must not be. Finding them takes longer than reading a file, and
    /// most files have no params.
    pub flags: fn() -> Vec<String>,
}

/// The location of the file.
#[derive(Clone)]
pub(super) struct FileOrigin {
    /// The absolute path; empty for a definition that was typed.
    pub(super) file: String,
    /// Where commands work and where relative paths start.
    pub(super) dir: PathBuf,
    pub(super) here: String,
    pub(super) stem: String,
    /// The value of `{program}`.
    pub(super) program: Option<String>,
}

impl FileOrigin {
    pub(super) fn from_path(path: &Path) -> Result<FileOrigin> {
        let absolute =
            std::path::absolute(path).with_context(|| format!("finding {}", path.display()))?;
        let text = |path: &Path| from_path(path).into_owned();
        let dir = absolute.parent().unwrap_or(Path::new("/")).to_owned();
        let stem = absolute.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(FileOrigin { file: text(&absolute), here: text(&dir), dir, stem, program: None })
    }

    /// A definition that was typed has no place of its own: it names its folder.
    pub(super) fn from_command_line() -> FileOrigin {
        let root = "/".to_owned();
        let stem = String::new();
        FileOrigin {
            file: String::new(),
            dir: root.clone().into(),
            here: root,
            stem,
            program: None,
        }
    }

    /// The origin with the folder that the file names, if it names one.
    pub(super) fn in_dir(&self, dir: Option<&str>) -> FileOrigin {
        let dir = dir.map_or_else(|| self.dir.clone(), |dir| self.dir.join(to_path(dir)));
        FileOrigin { dir, ..self.clone() }
    }
}

/// The maximum of bytes or a count, unless the file sets a lower one.
const MOST: u64 = 1 << 50;

pub(super) fn params(
    tables: &[ParamTable],
    taken: &ReservedNames<'_>,
) -> Result<Vec<Param>, Mistake> {
    let mut params: Vec<Param> = Vec::new();
    let flags = if tables.is_empty() { Vec::new() } else { (taken.flags)() };
    for table in tables {
        let At { value: name, span } = &table.name;
        if !is_name(name) {
            let text = format!(
                "{name:?}: a name is made of at most 32 small letters, digits, - and _, with a letter first"
            );
            return Err(Mistake::at(span, text));
        }
        if OWN.contains(&name.as_str()) || name == "job" || flags.contains(name) {
            return Err(Mistake::at(
                span,
                format!("{name} means something else; name it otherwise"),
            ));
        }
        if params.iter().any(|param| param.name == name) {
            return Err(Mistake::at(span, format!("there are two params {name}")));
        }
        params.push(param(table)?);
    }
    Ok(params)
}

fn param(table: &ParamTable) -> Result<Param, Mistake> {
    let default = &table.default;
    let param =
        Param::new(leak(table.name.value.clone()), kind(table)?, leak(default.value.0.clone()))
            .help(leak(table.help.clone()));
    // An empty default would mean that there is none.
    let parsed = if default.value.0.is_empty() {
        Err(anyhow::anyhow!("a value is needed"))
    } else {
        param.parse(&default.value.0)
    };
    match parsed {
        Ok(_) => Ok(param),
        Err(error) => {
            let text = error.chain().last().map(ToString::to_string).unwrap_or_default();
            Err(Mistake::at(&default.span, format!("{:?}: {text}", default.value.0)))
        }
    }
}

fn kind(table: &ParamTable) -> Result<ParamKind, Mistake> {
    let is_number = matches!(table.kind, KindWord::Bytes | KindWord::Count);
    let limited = table.min.as_ref().or(table.max.as_ref());
    if let Some(limited) = limited.filter(|_| !is_number) {
        return Err(Mistake::at(&limited.span, "only bytes and counts have limits"));
    }
    let span = &table.name.span;
    if table.kind != KindWord::Word && !table.words.is_empty() {
        return Err(Mistake::at(span, "only a param of kind = \"word\" has words"));
    }
    let (least, most) = (limit(table.min.as_ref(), 0)?, limit(table.max.as_ref(), MOST)?);
    if least > most {
        return Err(Mistake::at(span, "its min is more than its max"));
    }
    match table.kind {
        KindWord::Bytes => Ok(ParamKind::Bytes(least, most)),
        KindWord::Count => Ok(ParamKind::Count(least, most)),
        KindWord::Path => Ok(ParamKind::Path),
        KindWord::Word if table.words.is_empty() => {
            Err(Mistake::at(span, "a param of kind = \"word\" needs words = [\"…\"]"))
        }
        KindWord::Word => {
            let wrong = table.words.iter().find(|word| word.is_empty() || word.contains(','));
            if let Some(word) = wrong {
                return Err(Mistake::at(
                    span,
                    format!("{word:?} cannot be a word: it is empty or has a comma"),
                ));
            }
            let words: Vec<&'static str> = table.words.iter().cloned().map(leak).collect();
            Ok(ParamKind::Word(Box::leak(words.into_boxed_slice())))
        }
    }
}

fn limit(given: Option<&At<Scalar>>, otherwise: u64) -> Result<u64, Mistake> {
    let Some(At { value: Scalar(text), span }) = given else { return Ok(otherwise) };
    let number =
        parse_bytes(text).map_err(|error| Mistake::at(span, format!("{text}: {error:#}")))?;
    if number > MOST {
        return Err(Mistake::at(span, format!("{text} is more than 1PiB (2 to the 50th)")));
    }
    Ok(number)
}
