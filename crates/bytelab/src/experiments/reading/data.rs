//! The files of a point: the user's own, which is inspected before it is opened, or generated ones.

use std::any::Any;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use lab::experiment::Data;
use lab::param::Point;
use lab::stop::Stop;
use rustix::fs::OFlags;

use super::http;
use super::source::argument;
use crate::experiments::shared::made_file;

/// Finds or generates the `parallel` files, and passes their paths and sizes to the methods.
pub(super) fn data(point: &Point, dir: &Path, stop: &Stop) -> Result<Data> {
    let parallel = point.number("parallel")?;
    let (paths, size) = if point.get("file").is_some() {
        let (path, size) = user_file(&point.path("file")?)?;
        (vec![path; parallel as usize], size)
    } else {
        let size = point.number("size")?;
        (made_file::files(dir, size, parallel, stop)?, size)
    };
    let mut arguments = point.clone();
    arguments.set("size", size);
    for (index, path) in (0..).zip(&paths) {
        arguments.set(argument(index), path.clone());
    }
    let server = match point.get("source") {
        Some(source) if *source != "file".into() => {
            let server = http::start(point, &paths, stop)?;
            server.add_arguments(&mut arguments, parallel);
            Some(server)
        }
        _ => None,
    };
    let mut files = paths;
    files.dedup();
    Ok(Data {
        arguments,
        files,
        // How a socket's bytes arrive depends on who else runs.
        is_only_read: server.is_none(),
        payload_bytes: Some(size * parallel),
        guard: server.map(|server| Box::new(server) as Box<dyn Any>),
        ..Data::default()
    })
}

/// The absolute path and the size of a file that every method can read.
fn user_file(path: &Path) -> Result<(PathBuf, u64)> {
    let name = path.display();
    // Not opened before its kind is known: opening a FIFO waits for a writer, and a tape rewinds.
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!(
                "{name} does not exist; give an existing file with --file, or none to have one made"
            )
        }
        Err(error) => return Err(error).with_context(|| format!("looking at {name}")),
    };
    ensure!(!kind.is_dir(), "{name} is a directory; give a regular file with --file");
    ensure!(!kind.is_fifo(), "{name} is a FIFO; give a regular file with --file");
    ensure!(!kind.is_socket(), "{name} is a socket; give a regular file with --file");
    ensure!(kind.is_file(), "{name} is a device; give a regular file with --file");
    let size = OpenOptions::new()
        .read(true)
        // It may have become a FIFO in the meantime.
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)
        .and_then(|file| file.metadata())
        .with_context(|| format!("opening {name}; give a file that you may read with --file"))?
        .len();
    ensure!(size > 0, "{name} is empty; give a file with at least one byte with --file");
    let path = std::path::absolute(path).with_context(|| format!("the full path of {name}"))?;
    Ok((path, size))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    fn point(file: Option<&Path>) -> Point {
        let mut point = Point::default();
        point.set("size", 10_000u64);
        point.set("parallel", 3u64);
        if let Some(file) = file {
            point.set("file", file.to_path_buf());
        }
        point
    }

    fn check_refused(file: &Path, expected: &str) {
        let error = data(&point(Some(file)), Path::new("/nonexistent"), &Stop::default())
            .err()
            .expect("an error");
        let message = format!("{error:#}");
        assert!(message.starts_with(&format!("{} {expected}", file.display())), "{message}");
        assert!(message.contains("--file") && !message.contains('\n'), "{message}");
    }

    #[test]
    fn the_users_file_is_used_for_every_parallel_reader() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a file");
        fs::write(&file, "hello").unwrap();
        let data = data(&point(Some(&file)), Path::new("/nonexistent"), &Stop::default()).unwrap();
        assert_eq!(data.arguments.number("size").unwrap(), 5);
        for name in ["file", "file2", "file3"] {
            assert_eq!(data.arguments.path(name).unwrap(), file);
        }
        assert_eq!(data.files, [file]);
    }

    #[test]
    fn made_files_are_one_for_each_parallel_reader() {
        let dir = tempfile::tempdir().unwrap();
        let data = data(&point(None), dir.path(), &Stop::default()).unwrap();
        assert_eq!(data.files.len(), 3);
        assert_eq!(data.arguments.path("file3").unwrap(), data.files[2]);
        assert_eq!(data.arguments.number("size").unwrap(), 10_000);
        let contents: Vec<Vec<u8>> = data.files.iter().map(|f| fs::read(f).unwrap()).collect();
        assert!(contents.iter().all(|content| content.len() == 10_000));
        assert_ne!(contents[0], contents[1]);
    }

    #[test]
    fn a_relative_path_becomes_absolute_so_that_no_program_takes_it_for_a_flag() {
        let data = data(
            &point(Some(Path::new("Cargo.toml"))),
            Path::new("/nonexistent"),
            &Stop::default(),
        )
        .unwrap();
        assert!(data.files[0].is_absolute());
        assert_eq!(data.arguments.path("file").unwrap(), data.files[0]);
    }

    #[test]
    fn what_is_not_a_readable_file_with_bytes_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        check_refused(&path("missing"), "does not exist");
        check_refused(dir.path(), "is a directory");
        check_refused(Path::new("/dev/null"), "is a device");
        fs::write(path("empty"), "").unwrap();
        check_refused(&path("empty"), "is empty");
        let _listener = UnixListener::bind(path("socket")).unwrap();
        check_refused(&path("socket"), "is a socket");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), fifo, mode, 0).unwrap();
        check_refused(&path("fifo"), "is a FIFO");
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        // No user may read this file, not even root.
        let file = Path::new("/proc/sys/vm/drop_caches");
        let error = data(&point(Some(file)), Path::new("/nonexistent"), &Stop::default())
            .err()
            .expect("an error");
        let message = format!("{error:#}");
        assert!(message.starts_with("opening /proc/sys/vm/drop_caches; give a file"), "{message}");
        assert!(message.ends_with("Permission denied (os error 13)"), "{message}");
    }
}
