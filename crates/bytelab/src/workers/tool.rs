//! What a worker needs on this machine: a compiler, an interpreter or a library. Its path and its
//! version.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use lab::launch::{self, RunError, Stop};

/// Prints a line about the progress of the build.
pub(crate) type PrintProgress<'a> = &'a dyn Fn(&str) -> io::Result<()>;

/// The time limit for printing the version.
const LIMIT_NS: u64 = 60_000_000_000;

pub(super) enum Tool {
    Program(Program),
    Library(Library),
}

impl Tool {
    /// Its path, or what is missing. Starts no process.
    pub(super) fn look(&self) -> Result<PathBuf, String> {
        match self {
            Tool::Program(program) => program.place().ok_or_else(|| program.missing()),
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
    fn place(&self) -> Option<PathBuf> {
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
        let Some(place) = self.place() else { return Ok(Err(self.missing())) };
        let place = place.to_string_lossy().into_owned();
        let ask = |question: &[&str]| {
            let question = question.iter().map(|word| (*word).to_owned());
            let argv: Vec<String> = [place.clone()].into_iter().chain(question).collect();
            match launch::output(&argv, LIMIT_NS, stop) {
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
            [] => place.clone(),
            path => ask(path)?.ok().filter(|path| !path.is_empty()).unwrap_or(place.clone()),
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

/// Where compilers look for headers.
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
