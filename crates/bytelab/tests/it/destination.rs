//! An existing output keeps its kind, links, mode and owner, whichever command writes to it.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, makedev, mkfifoat, mknodat};

use crate::program::{Ran, World};

/// The arguments of each command that writes a named file, up to that name.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("cat", &["cat", "SOURCE", "-o"]),
    ("sample", &["sample", "SOURCE", "-n", "2", "--seed", "1", "--force", "-o"]),
    ("fleece", &["fleece", "encode", "JSON", "-o"]),
    ("init", &["init", "--force"]),
    ("export", &["export", "latest", "--format", "csv", "-o"]),
    ("report", &["report", "latest", "-o"]),
    (
        "trace",
        &["run", "reading", "--method", "read", "--size", "64KiB", "--rounds", "1", "--trace"],
    ),
];

struct Case {
    world: World,
    name: &'static str,
    args: Vec<String>,
    /// The bytes that the command writes into a new file. A trace is never the same.
    bytes: Vec<u8>,
}

impl Case {
    fn run(&self, output: &Path) -> Ran {
        let mut args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        args.push(output.to_str().unwrap());
        self.world.run(&args)
    }

    fn check(&self, got: &[u8]) {
        let is_right = if self.name == "trace" { got.starts_with(b"{") } else { got == self.bytes };
        assert!(is_right, "{}: {} bytes, {:?}", self.name, got.len(), got.first());
    }

    /// Checks that the command succeeds, and that the output has the expected bytes.
    fn succeeds(&self, output: &Path) {
        let ran = self.run(output);
        assert_eq!(ran.code, 0, "{}: {}", self.name, ran.stderr);
        self.check(&std::fs::read(output).unwrap());
        let left = std::fs::read_dir(self.world.path("out")).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        let is_rest = |name: &&std::ffi::OsString| name.to_string_lossy().starts_with('.');
        assert_eq!(left.iter().find(is_rest), None, "{}", self.name);
    }
}

/// Calls `check` in an empty folder `out` for each command.
fn each(check: impl Fn(&Case, PathBuf)) {
    for (name, args) in COMMANDS {
        let world = World::new();
        std::fs::create_dir(world.path("out")).unwrap();
        std::fs::write(world.path("SOURCE"), "one\ntwo\nthree\n").unwrap();
        std::fs::write(world.path("JSON"), "[1, 2]").unwrap();
        if matches!(name, "export" | "report") {
            world.reading(&["--method", "read,mmap"]);
        }
        let path = |arg: &&str| match *arg {
            "SOURCE" | "JSON" => world.path(arg).to_str().unwrap().to_owned(),
            arg => arg.to_owned(),
        };
        let args = args.iter().map(path).collect();
        let mut case = Case { world, name, args, bytes: Vec::new() };
        let new = case.world.path("new.toml");
        assert_eq!(case.run(&new).code, 0, "{name}");
        case.bytes = std::fs::read(new).unwrap();
        assert!(!case.bytes.is_empty(), "{name}");
        check(&case, case.world.path("out"));
    }
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    each(|case, out| {
        std::fs::write(out.join("file"), "before").unwrap();
        for (link, to) in [("link", "file"), ("dangling", "new")] {
            symlink(to, out.join(link)).unwrap();
            case.succeeds(&out.join(link));
            assert!(out.join(link).is_symlink(), "{} {link}", case.name);
            case.check(&std::fs::read(out.join(to)).unwrap());
        }
        symlink("loop", out.join("loop")).unwrap();
        let ran = case.run(&out.join("loop"));
        assert!(ran.code != 0, "{}", case.name);
        assert!(ran.stderr.contains("symbolic links"), "{}: {}", case.name, ran.stderr);
    });
}

#[test]
fn mode_owner_and_further_names_are_kept() {
    each(|case, out| {
        let file = out.join("file");
        // Longer than the new content.
        std::fs::write(&file, vec![b'x'; case.bytes.len() + 100]).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let is_root = rustix::process::geteuid().is_root();
        if is_root {
            chown(&file, Some(65_534), Some(65_533)).unwrap();
        }
        case.succeeds(&file);
        let now = file.metadata().unwrap();
        assert_eq!(now.mode() & 0o7777, 0o600, "{}", case.name);
        assert!(!is_root || (now.uid(), now.gid()) == (65_534, 65_533), "{}", case.name);

        let (first, second) = (out.join("first"), out.join("second"));
        std::fs::write(&first, vec![b'x'; 2_000_000]).unwrap();
        std::fs::hard_link(&first, &second).unwrap();
        case.succeeds(&second);
        let inodes = [&first, &second].map(|path| path.metadata().unwrap().ino());
        assert_eq!(inodes[0], inodes[1], "{}", case.name);
        case.check(&std::fs::read(first).unwrap());
    });
}

#[test]
fn what_is_no_regular_file_is_written_to() {
    each(|case, out| {
        let fifo = out.join("fifo");
        mkfifoat(CWD, &fifo, Mode::RWXU).unwrap();
        // Both ends are opened, so that neither open blocks and the reader sees no premature end.
        let held = OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
        // Opened here: a thread whose first turn comes after the program's end would wait for ever.
        let mut reader = File::open(&fifo).unwrap();
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let ran = case.run(&fifo);
        drop(held);
        // If it was replaced, the reader may be too late to see an end.
        assert!(fifo.metadata().unwrap().file_type().is_fifo(), "{} replaced it", case.name);
        case.check(&reader.join().unwrap());
        assert_eq!(ran.code, 0, "{}: {}", case.name, ran.stderr);

        let null = out.join("null");
        let mode = Mode::from_raw_mode(0o666);
        if mknodat(CWD, &null, FileType::CharacterDevice, mode, makedev(1, 3)).is_err() {
            eprintln!("skipped: only root can make a device");
        } else if File::options().write(true).open(&null).is_ok() {
            let ran = case.run(&null);
            assert_eq!(ran.code, 0, "{}: {}", case.name, ran.stderr);
            let is_device = null.metadata().unwrap().file_type().is_char_device();
            assert!(is_device, "{} replaced it", case.name);
        }
    });
}

#[test]
fn standard_output_has_a_name_whatever_it_is() {
    each(|case, out| {
        let args: Vec<&str> = case.args.iter().map(String::as_str).collect();
        let args = [args.as_slice(), &["/dev/stdout"]].concat();
        // `init` and `run` also print messages to it.
        let starts = |got: &[u8]| match case.name {
            "trace" => assert!(got.starts_with(b"{"), "{}", case.name),
            _ => assert!(got.starts_with(&case.bytes), "{}: {} bytes", case.name, got.len()),
        };
        let piped = case.world.command(&args).output().unwrap();
        assert!(piped.status.success(), "{}: {piped:?}", case.name);
        starts(&piped.stdout);
        // Appended to the existing content, as a redirection by the shell does.
        let file = out.join("file");
        std::fs::write(&file, "before ").unwrap();
        for options in [OpenOptions::new().append(true), OpenOptions::new().write(true)] {
            let stdout = options.open(&file).unwrap();
            let inode = stdout.metadata().unwrap().ino();
            let status = case.world.command(&args).stdout(stdout).status().unwrap();
            assert!(status.success(), "{}", case.name);
            assert_eq!(file.metadata().unwrap().ino(), inode, "{} replaced it", case.name);
            let got = std::fs::read(&file).unwrap();
            let old = if got.starts_with(b"before ") { 7 } else { 0 };
            starts(&got[old..]);
        }
    });
}
