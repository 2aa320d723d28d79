#![doc = include_str!("README.md")]

pub(super) mod http;
mod languages;
mod libraries;
#[cfg(target_os = "linux")]
mod linux;
mod map;
mod read;
mod source;
mod yardstick;

use std::any::Any;
use std::path::Path;

use anyhow::Result;
use measure::experiment::{Data, Experiment, Method};
use measure::stop::Stop;
use model::param::{Param, ParamKind, Point};

use self::source::argument;
use super::shared::input::user_file;
use super::shared::{fold, made_file};

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: "reading",
        question: "What is the fastest way to hand every byte of a file to the program?",
        readme: include_str!("README.md"),
        params: params(),
        methods: methods(),
        dir: None,
        data: Box::new(data),
    }
}

fn params() -> Vec<Param> {
    let mut params = made_file::params("128MiB");
    params.extend([
        Param::new("parallel", ParamKind::Count(1, 64), "1")
            .help("how many files are read at once, by a thread each"),
        Param::new("threads", ParamKind::Count(1, 64), "2")
            .help("threads that share one file (pread-threads)"),
        Param::new("depth", ParamKind::Count(1, 1024), "8").help("reads in flight (io-uring)"),
        Param::new("source", ParamKind::Word(&["file", "http", "https"]), "file")
            .help("where the bytes come from; http and https: from a server on this machine"),
        Param::new("server", ParamKind::Word(&["own", "nginx"]), "own")
            .help("which server is started, if the source is one"),
        Param::new("ranges", ParamKind::Count(1, 16), "4")
            .help("parts of a resource on their way at once (byte-stream-ranges)"),
    ]);
    params
}

/// The first one is the reference.
fn methods() -> Vec<Method> {
    let mut methods = vec![read::method()];
    methods.extend(read::styles());
    methods.push(read::unchecked());
    methods.extend(read::buffered());
    methods.extend(read::whole());
    methods.extend(map::methods());
    methods.push(map::window());
    methods.push(read::pread_threads());
    #[cfg(target_os = "linux")]
    methods.push(linux::uring());
    #[cfg(target_os = "linux")]
    methods.push(linux::direct());
    methods.extend(libraries::asynchronous());
    methods.push(libraries::byte_stream());
    methods.extend(languages::methods());
    methods.extend(yardstick::methods());
    methods.extend(http::methods());
    methods
}

/// Finds or generates the `parallel` files, and passes their paths and sizes to the methods.
fn data(point: &Point, dir: &Path, stop: &Stop) -> Result<Data> {
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

#[cfg(test)]
mod data_tests {
    use std::fs;
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

#[cfg(test)]
mod tests;
