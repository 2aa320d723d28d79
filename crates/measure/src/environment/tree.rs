//! The files in which a Linux system describes itself, below a root that tests replace.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use rustix::fs::OFlags;
use serde_json::Value;

/// More than any of these files needs; it limits the cost of an unexpected file.
const READ_LEN: u64 = 1 << 18;
/// Most of these files are read by one call into a buffer of this size.
const USUAL_LEN: usize = 4 << 10;

pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(super) fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// `path` is relative to the root.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The whole file, with invalid UTF-8 replaced.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        self.beginning(path, READ_LEN)
    }

    pub(super) fn beginning(&self, path: &str, len: u64) -> Option<String> {
        // Opening a FIFO or a device in place of such a file must not block.
        let flags = OFlags::NONBLOCK.bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(self.path(path)).ok()?;
        file.metadata().ok().filter(fs::Metadata::is_file)?;
        let mut bytes = Vec::with_capacity(USUAL_LEN);
        file.take(len).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The first line, trimmed.
    pub(super) fn line(&self, path: &str) -> Option<String> {
        Some(self.text(path)?.lines().next().unwrap_or_default().trim().to_owned())
    }

    pub(super) fn number(&self, path: &str) -> Option<u64> {
        self.line(path)?.parse().ok()
    }

    /// The first line, as a number if it is one.
    pub(super) fn value(&self, path: &str) -> Value {
        self.line(path).map_or(Value::Null, |line| value(&line))
    }

    /// 0 or 1, N or Y.
    pub(super) fn flag(&self, path: &str) -> Option<bool> {
        match self.line(path)?.as_str() {
            "0" | "N" => Some(false),
            "1" | "Y" => Some(true),
            _ => None,
        }
    }

    /// The word in brackets of `always [madvise] never`; the content of a file without brackets is
    /// returned unchanged.
    pub(super) fn chosen(&self, path: &str) -> Option<String> {
        let line = self.line(path)?;
        let chosen = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        Some(chosen.map_or(line.as_str(), |(word, _)| word).to_owned())
    }

    /// The names in a directory, sorted.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Writes a file, whose directories are created.
    #[cfg(test)]
    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// The value after `name` and a colon, or after `name=`, without quotes.
pub(super) fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once([':', '='])?;
        (key.trim() == name).then(|| value.trim().trim_matches('"'))
    })
}

/// The first word of a field as a number.
pub(super) fn number(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.split_whitespace().next()?.parse().ok()
}

/// The text as a number if it is one.
pub(super) fn value(text: &str) -> Value {
    if let Ok(whole) = text.parse::<i64>() {
        return whole.into();
    }
    // `inf` and `nan` are words here.
    let fraction =
        text.parse::<f64>().ok().filter(|_| text.starts_with(|c: char| c.is_ascii_digit()));
    fraction.map_or_else(|| text.into(), Value::from)
}

/// The number of entries in a list such as `0-3,8`.
pub(super) fn count_of(list: &str) -> Option<u64> {
    list.split(',').try_fold(0u64, |count, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse::<u64>().ok()?, last.trim().parse::<u64>().ok()?);
        count.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_processors_is_counted() {
        let check = |list, expected| assert_eq!(count_of(list), expected, "{list}");
        check("0", Some(1));
        check("0-3,8", Some(5));
        check("0-3, 8-9", Some(6));
        check("", None);
        check("3-1", None);
        check("0-18446744073709551615", None);
        check("a-b", None);
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "model\t\t: 17\nmodel name\t: AMD: EPYC\nNAME=\"Debian\"\nMemTotal:  5 kB\n";
        assert_eq!(field(text, "model"), Some("17"));
        assert_eq!(field(text, "model name"), Some("AMD: EPYC"));
        assert_eq!(field(text, "NAME"), Some("Debian"));
        assert_eq!(field(text, "name"), None);
        assert_eq!(number(text, "MemTotal"), Some(5));
        assert_eq!(number(text, "NAME"), None);
    }

    #[test]
    fn a_file_is_read_as_what_it_holds() {
        let directory = tempfile::tempdir().unwrap();
        let tree = Tree::new(directory.path());
        let write = |text: &[u8]| fs::write(tree.path("/file"), text).unwrap();
        write(b"always [madvise] never\n");
        assert_eq!(tree.chosen("file").as_deref(), Some("madvise"));
        write(b"-1\nmore\n");
        assert_eq!((tree.value("file"), tree.number("file")), (Value::from(-1), None));
        write(b"2596.142\n");
        assert_eq!(tree.value("file"), Value::from(2596.142));
        write(b"nan\n");
        assert_eq!(tree.value("file"), Value::from("nan"));
        write(b"Y\n");
        assert_eq!((tree.flag("file"), tree.chosen("file").as_deref()), (Some(true), Some("Y")));
        write(b"\xff[\n");
        assert_eq!(tree.chosen("file").as_deref(), Some("\u{fffd}["));
        write(b"");
        assert_eq!((tree.value("file"), tree.flag("file")), (Value::from(""), None));
        assert_eq!((tree.value("missing"), tree.value("")), (Value::Null, Value::Null));
        assert_eq!((tree.names(""), tree.names("file")), (vec!["file".to_owned()], vec![]));
    }
}
