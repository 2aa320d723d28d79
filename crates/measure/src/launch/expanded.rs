//! A plain command in which the names are replaced by the values of its point: its words, its
//! input, the destination of its output, and the answer and figures that are in it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal as _, PipeReader, Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use model::param::Point;
use model::path_text::to_path;
use model::template::fill;
use regex_lite::Regex;
use sha2::{Digest, Sha256};

use super::{Limits, RunError};
use crate::experiment::{Answer, Command, Destination, ExitCodes, PrintedMetric};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ExpandedCommand {
    pub(super) argv: Vec<String>,
    pub(super) input: Option<String>,
    pub(super) output: Destination,
    pub(super) answer: Answer,
    pub(super) accepts: ExitCodes,
    pub(super) copies: u32,
    pub(super) metrics: Vec<PrintedMetric>,
    pub(super) shell: Option<Vec<String>>,
    env: Vec<(String, String)>,
}

impl ExpandedCommand {
    pub(super) fn new(command: &Command, arguments: &Point) -> ExpandedCommand {
        let plain = |word: &String| fill(word, arguments, str::to_owned);
        let mut argv: Vec<String> = command.argv.iter().map(plain).collect();
        if let Some(shell) = &command.shell {
            let script = command.argv.iter().map(|word| fill(word, arguments, quoted));
            argv = of_shell(shell).chain(script).collect();
        }
        let answer = match &command.answer {
            Answer::File(path) => Answer::File(plain(path)),
            other => other.clone(),
        };
        let output = match &command.output {
            Destination::File(path) => Destination::File(plain(path)),
            other => other.clone(),
        };
        let input = command.input.as_ref().map(plain);
        let env = command.env.iter().map(|(name, value)| (name.clone(), plain(value))).collect();
        let (accepts, shell) = (command.accepts.clone(), command.shell.clone());
        let (copies, metrics) = (command.copies.max(1), command.metrics.clone());
        ExpandedCommand { argv, input, output, answer, accepts, copies, metrics, shell, env }
    }

    /// The name of the command in errors.
    pub(super) fn name(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// A command that does nothing and is started in the same way.
    pub(super) fn noop(&self) -> Vec<String> {
        if let Some(shell) = &self.shell {
            return of_shell(shell).chain([":".to_owned()]).collect();
        }
        // macOS has it in /usr/bin only.
        let programs = ["/bin/true", "/usr/bin/true"];
        let found = programs.into_iter().find(|program| Path::new(program).exists());
        vec![found.unwrap_or(programs[0]).to_owned()]
    }

    /// The variables of its environment when it is run for this sample.
    pub(super) fn variables(&self, n: u64) -> Vec<(&str, String)> {
        let own = self.env.iter().map(|(name, value)| (name.as_str(), value.clone()));
        own.chain([(ITERATION_VARIABLE, n.saturating_sub(1).to_string())]).collect()
    }
}

/// The number of the sample, from 0, in the environment of plain commands and of hooks around a
/// sample.
const ITERATION_VARIABLE: &str = "BYTELAB_ITERATION";

fn of_shell(words: &[String]) -> impl Iterator<Item = String> {
    words.iter().cloned().chain(["-c".to_owned()])
}

/// A value as one word of the shell.
fn quoted(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    if !value.is_empty() && value.bytes().all(plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
}

// The standard input of a command.

/// A path as the command resolves it.
pub(super) fn input_path(word: &str, limits: &Limits) -> PathBuf {
    limits.dir.as_deref().unwrap_or(Path::new("")).join(to_path(word))
}

/// Whether only the first process that reads it finds something there: a FIFO, a socket or a
/// terminal.
pub fn is_read_once(path: &Path) -> bool {
    let Ok(found) = std::fs::metadata(path) else { return false };
    let kind = found.file_type();
    let is_terminal = || File::open(path).is_ok_and(|file| file.is_terminal());
    kind.is_fifo() || kind.is_socket() || kind.is_char_device() && is_terminal()
}

/// The standard input of a command.
pub(super) fn input(file: Option<&str>, limits: &Limits) -> Result<OwnedFd, RunError> {
    let path = input_path(file.unwrap_or("/dev/null"), limits);
    if file.is_some() && is_read_once(&path) {
        // Opening a FIFO to which nobody writes would block for ever.
        return Err(RunError::Failed(format!(
            "its input {} can be read only once, and each sample reads it: name a file",
            path.display()
        )));
    }
    let opened = File::open(&path).map(OwnedFd::from);
    opened.map_err(|error| RunError::Failed(format!("its input {}: {error}", path.display())))
}

// The destination of a plain command's output, and the answer that is computed from it.

/// Maximum output of a command whose output is its answer.
pub(super) const OUTPUT_LIMIT_BYTES: u64 = 1 << 30;
/// Figures are searched for up to here.
const TEXT_BYTES: u64 = 16 << 20;
/// A single line of up to this length is the answer itself.
const LINE_BYTES: usize = 64;

#[derive(Default)]
pub(super) enum Output {
    #[default]
    Nothing,
    /// The command's standard output is read and discarded.
    Pipe,
    Shown,
    /// The command's standard output goes to this file, in which no answer is.
    To(PathBuf),
    /// The command's standard output goes to this file.
    Memory(File),
    /// The same, but it is no answer: the figures in it are read.
    Figures(File),
    /// The command writes this file itself.
    File(PathBuf),
}

impl Output {
    pub(super) fn new(command: &ExpandedCommand, limits: &Limits) -> Result<Output, RunError> {
        let dir = limits.dir.as_deref().unwrap_or(Path::new(""));
        Ok(match (&command.answer, &command.output) {
            (Answer::None, Destination::Nowhere) if !command.metrics.is_empty() => {
                Output::Figures(in_memory()?)
            }
            (Answer::None, Destination::Nowhere) => Output::Nothing,
            (Answer::None, Destination::Pipe) => Output::Pipe,
            (Answer::None, Destination::Shown) => Output::Shown,
            (Answer::None, Destination::File(path)) => Output::To(dir.join(to_path(path))),
            (Answer::Output, _) => Output::Memory(in_memory()?),
            (Answer::File(path), _) => Output::File(dir.join(to_path(path))),
        })
    }

    /// Removes the output of the previous sample.
    pub(super) fn clear(&mut self) -> Result<(), RunError> {
        let cleared = match self {
            Output::Nothing | Output::Pipe | Output::Shown | Output::To(_) => Ok(()),
            Output::Memory(memory) | Output::Figures(memory) => {
                memory.set_len(0).and_then(|()| memory.rewind())
            }
            Output::File(path) => match fs::remove_file(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
        };
        cleared.map_err(|error| RunError::Failed(format!("removing {}: {error}", self.name())))
    }

    pub(super) fn is_shown(&self) -> bool {
        matches!(self, Output::Shown)
    }

    pub(super) fn is_piped(&self) -> bool {
        matches!(self, Output::Pipe)
    }

    /// The standard output of the command where nothing is shown, and the other end of its pipe.
    pub(super) fn stdout(&self) -> io::Result<(OwnedFd, Option<PipeReader>)> {
        let stdout = match self {
            Output::Memory(memory) | Output::Figures(memory) => memory.try_clone()?,
            Output::To(path) => File::create(path).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })?,
            Output::Pipe => {
                let (reader, writer) = io::pipe()?;
                return Ok((writer.into(), Some(reader)));
            }
            _ => File::options().write(true).open("/dev/null")?,
        };
        Ok((stdout.into(), None))
    }

    /// The same file, by the path at which other processes find it.
    pub(super) fn stdout_path(&self) -> String {
        match self {
            #[cfg(target_os = "linux")]
            Output::Memory(memory) | Output::Figures(memory) => {
                crate::proc_fs::path_of_own_file(memory)
            }
            Output::To(path) => path.to_string_lossy().into_owned(),
            _ => "/dev/null".to_owned(),
        }
    }

    /// The file whose size shows how much was printed.
    pub(super) fn watched(&self) -> Option<File> {
        match self {
            Output::Memory(memory) | Output::Figures(memory) => memory.try_clone().ok(),
            _ => None,
        }
    }

    pub(super) fn answer(&mut self) -> Result<Option<String>, RunError> {
        let answered = match self {
            Output::Nothing | Output::Pipe | Output::Shown | Output::To(_) | Output::Figures(_) => {
                return Ok(None);
            }
            Output::Memory(memory) => memory.rewind().and_then(|()| answer_of(memory)),
            // Opening a FIFO would block forever.
            Output::File(path) => match fs::metadata(&*path) {
                Ok(metadata) if metadata.is_file() => File::open(path).and_then(answer_of),
                Ok(_) => Err(io::Error::other("it is not a file")),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(RunError::Failed(format!("it left no file {}", self.name())));
                }
                Err(error) => Err(error),
            },
        };
        let failed = |error| RunError::Failed(format!("the answer in {}: {error}", self.name()));
        answered.map(Some).map_err(failed)
    }

    /// The start of what was printed, where it was kept.
    pub(super) fn text(&mut self) -> Result<String, RunError> {
        let (Output::Memory(memory) | Output::Figures(memory)) = self else {
            return Ok(String::new());
        };
        let mut bytes = Vec::new();
        let read = memory.rewind().and_then(|()| memory.take(TEXT_BYTES).read_to_end(&mut bytes));
        read.map_err(|error| RunError::Failed(format!("its output: {error}")))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn name(&self) -> String {
        match self {
            Output::File(path) => path.display().to_string(),
            _ => "its output".to_owned(),
        }
    }
}

fn in_memory() -> Result<File, RunError> {
    memory().map_err(|error| RunError::Failed(format!("a file in memory: {error}")))
}

/// A file in memory.
#[cfg(target_os = "linux")]
pub(super) fn memory() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(memfd_create("bytelab", MemfdFlags::CLOEXEC)?.into())
}

/// A file whose name has been removed.
#[cfg(not(target_os = "linux"))]
pub(super) fn memory() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("bytelab-output-{}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// A short line, trimmed; else the length and the start of the SHA-256.
fn answer_of(mut reader: impl Read) -> io::Result<String> {
    let mut digest = Sha256::new();
    let (mut len, mut head) = (0u64, Vec::new());
    let mut buffer = vec![0; 256 << 10];
    loop {
        let n = match reader.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        if n == 0 {
            break;
        }
        len += n as u64;
        digest.update(&buffer[..n]);
        head.extend_from_slice(&buffer[..n.min((LINE_BYTES + 1).saturating_sub(head.len()))]);
    }
    let line = str::from_utf8(&head).unwrap_or_default().trim();
    let is_short = len <= head.len() as u64 && line.len() <= LINE_BYTES && !line.is_empty();
    if is_short && !line.chars().any(char::is_control) {
        return Ok(line.to_owned());
    }
    let digest = digest.finalize();
    let start = digest.iter().take(8).fold(0u64, |all, byte| all << 8 | u64::from(*byte));
    Ok(format!("{len} bytes, SHA-256 {start:016x}…"))
}

// The figures that a command prints.

/// The values of the metrics in this text.
pub(super) fn figures(
    printed: &[(PrintedMetric, Regex)],
    text: &str,
    must_print: bool,
) -> Result<Vec<(String, f64)>, RunError> {
    let mut found = Vec::new();
    for (metric, regex) in printed {
        let captured = regex.captures(text).and_then(|groups| groups.get(1).or(groups.get(0)));
        let value = captured.and_then(|value| value.as_str().trim().parse::<f64>().ok());
        match value.filter(|value| value.is_finite()) {
            Some(value) => found.push((metric.name.clone(), value)),
            None if !must_print => {}
            None => {
                let (name, pattern) = (&metric.name, metric.pattern());
                let what = captured.map_or(
                    "nothing in its output matches",
                    |_| "what its output has is no number by",
                );
                return Err(RunError::Failed(format!("metric {name}: {what} {pattern}")));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point() -> Point {
        let mut point = Point::default();
        point.set("file", "/a {size} b");
        point.set("size", 7u64);
        point
    }

    #[test]
    fn in_a_script_a_value_is_one_word() {
        let mut command = Command::script("cat {file} | head -c {size}; echo $HOME");
        let expanded = ExpandedCommand::new(&command, &point());
        let script = "cat '/a {size} b' | head -c 7; echo $HOME";
        assert_eq!(expanded.argv, ["/bin/sh", "-c", script]);
        assert_eq!(expanded.noop(), ["/bin/sh", "-c", ":"]);
        command.shell = Some(vec!["bash".to_owned(), "--norc".to_owned()]);
        let expanded = ExpandedCommand::new(&command, &point());
        assert_eq!(expanded.argv, ["bash", "--norc", "-c", script]);
        assert_eq!(expanded.noop(), ["bash", "--norc", "-c", ":"]);
        assert_eq!(quoted("it's $(x)"), r"'it'\''s $(x)'");
        assert_eq!(quoted(""), "''");
    }
}

#[cfg(test)]
mod output_tests {
    use super::*;

    #[test]
    fn a_short_line_is_the_answer_and_all_else_its_digest() {
        let check = |bytes: &[u8], expected: &str| {
            assert_eq!(answer_of(bytes).unwrap(), expected, "{}", bytes.len());
        };
        check(b" 42\n", "42");
        check("größer\n".as_bytes(), "größer");
        check(&[b'x'; 64], &"x".repeat(64));
        // The same digest as that of `sha256sum`.
        check(b"", "0 bytes, SHA-256 e3b0c44298fc1c14…");
        check(b"1\n2\n", "4 bytes, SHA-256 a6e2b7a040683432…");
        check(&[b'x'; 66], "66 bytes, SHA-256 6eb879f1291c6ee7…");
        check(b"\xff\n", "2 bytes, SHA-256 e4688624e5f1ad06…");
    }

    #[test]
    fn the_file_of_the_last_sample_is_removed_if_it_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("answer");
        let mut output = Output::File(path.clone());
        assert_eq!(output.clear(), Ok(()));
        fs::write(&path, "42").unwrap();
        assert_eq!(output.clear(), Ok(()));
        assert!(!path.exists());
        fs::create_dir(&path).unwrap();
        assert!(output.clear().is_err(), "a folder is not removed");
    }

    #[test]
    fn the_text_is_what_was_printed_since_the_output_was_cleared() {
        let mut output = Output::Figures(in_memory().unwrap());
        for printed in ["took 5 ms", "7 ms"] {
            output.clear().unwrap();
            let Output::Figures(file) = &mut output else { unreachable!() };
            io::Write::write_all(file, printed.as_bytes()).unwrap();
            assert_eq!(output.text(), Ok(printed.to_owned()));
        }
        assert_eq!(Output::Nothing.text(), Ok(String::new()));
    }
}

#[cfg(test)]
mod figures_tests {
    use super::*;

    #[test]
    fn a_figure_is_the_first_group_where_its_pattern_matches_first() {
        let check = |pattern: &str, text: &str, expected: Result<f64, &str>| {
            let metric = PrintedMetric::new("rps", pattern).unwrap();
            let regex = metric.regex().unwrap();
            let found = figures(&[(metric, regex)], text, true);
            match (found, expected) {
                (Ok(found), Ok(value)) => assert_eq!(found, [("rps".to_owned(), value)], "{text}"),
                (Err(RunError::Failed(why)), Err(part)) => assert!(why.contains(part), "{why}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        };
        check(r"(\d+) requests/s", "7 errors\n1200 requests/s\n9 requests/s", Ok(1200.0));
        check(r"took ([0-9.e+-]+)", "took 1.5e3 ms", Ok(1500.0));
        check(r"\d+", "no 12", Ok(12.0));
        check(r"rate: (.*)", "rate: -0.5", Ok(-0.5));
        check(r"(\d+) requests/s", "", Err("metric rps: nothing in its output matches (\\d+)"));
        check(r"rate: (.*)", "rate: fast", Err("is no number by rate: (.*)"));
        check(r"rate: (.*)", "rate: inf", Err("is no number"));
        let metric = PrintedMetric::new("rps", "x").unwrap();
        let regex = metric.regex().unwrap();
        assert_eq!(figures(&[(metric, regex)], "", false).unwrap(), []);
    }

    #[test]
    fn a_metric_has_a_name_of_its_own_and_a_pattern() {
        for (name, pattern, part) in [
            ("", "x", "a name is made of"),
            ("Rps", "x", "a name is made of"),
            ("wall_ns", "x", "it means something else"),
            ("exit_code", "x", "it means something else"),
            ("rps", "(", "metric rps: \"(\": "),
        ] {
            let refused = PrintedMetric::new(name, pattern).unwrap_err().to_string();
            assert!(refused.contains(part), "{refused}");
        }
    }
}
