//! The utility's behaviour in many small cases, compared with GNU's where it is installed.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use crate::cat::{ProgramOutput, ended, gnu};
use crate::program::World;

/// A directory with the inputs of the cases.
fn inputs() -> World {
    let world = World::new();
    let write = |name: &str, bytes: &[u8]| std::fs::write(world.path(name), bytes).unwrap();
    write("line", b"line\n");
    write("open", b"first\nlast");
    write("empty", b"");
    write("lf", b"\n");
    write("blank", b"\n\n\n\na\n\n\n\nb\n\n\n");
    write("return", b"a\r");
    write("crlf", b"a\r\nb\r\r\n\r\n\rc\r\n");
    write("tabs", b"\ta\t\t\nb\t");
    write("all", &(0..=255).collect::<Vec<u8>>());
    write("-n", b"dash\n");
    write("a b", b"space\n");
    for name in ["dir", "dir2", "dir3"] {
        std::fs::create_dir(world.path(name)).unwrap();
    }
    std::os::unix::fs::symlink("loop", world.path("loop")).unwrap();
    std::os::unix::fs::symlink("line", world.path("link")).unwrap();
    world
}

/// Arguments, standard input, output and exit status.
type Case = (&'static [&'static str], &'static str, &'static str, i32);

const CASES: &[Case] = &[
    // Files and standard input, one after the other.
    (&["line", "open", "line"], "", "line\nfirst\nlastline\n", 0),
    (&["empty", "empty"], "", "", 0),
    (&["-", "-"], "once", "once", 0),
    (&["line", "-", "lf", "-"], "in", "line\nin\n", 0),
    (&["link"], "", "line\n", 0),
    // An input that fails does not stop the others.
    (&["dir/", "dir2", "line", "-", "dir3/"], "in", "line\nin", 1),
    (&["loop", "line"], "", "line\n", 1),
    (&["socket", "line"], "", "line\n", 1),
    (&["line/", "line/x", "line"], "", "line\n", 1),
    (&["-n", "dir", "line"], "", "     1\tline\n", 1),
    // Lines are counted over all inputs, and one that is not ended goes on in the next.
    (&["-n", "open", "open"], "", "     1\tfirst\n     2\tlastfirst\n     3\tlast", 0),
    (&["-n", "empty", "line", "empty"], "", "     1\tline\n", 0),
    (&["-n"], "a\n\n\nb", "     1\ta\n     2\t\n     3\t\n     4\tb", 0),
    (&["-b"], "a\n\n\nb", "     1\ta\n\n\n     2\tb", 0),
    (&["-bn"], "\na\n", "\n     1\ta\n", 0),
    (&["-nb"], "\na\n", "\n     1\ta\n", 0),
    (&["-b", "-n", "-b"], "\na\n", "\n     1\ta\n", 0),
    // Of repeated empty lines one stays, also across inputs.
    (&["-s", "blank"], "", "\na\n\nb\n\n", 0),
    (&["-s", "blank", "lf", "blank"], "", "\na\n\nb\n\na\n\nb\n\n", 0),
    (&["-s", "return", "blank"], "", "a\r\n\na\n\nb\n\n", 0),
    (&["-sn", "blank"], "", "     1\t\n     2\ta\n     3\t\n     4\tb\n     5\t\n", 0),
    (&["-sb", "blank"], "", "\n     1\ta\n\n     2\tb\n\n", 0),
    (&["-s"], "\n \n\n\n", "\n \n\n", 0),
    // Ends of lines. A carriage return is shown only before a line feed.
    (&["-E", "open"], "", "first$\nlast", 0),
    (&["-E", "crlf"], "", "a^M$\nb\r^M$\n^M$\n\rc^M$\n", 0),
    (&["-E", "return", "lf"], "", "a^M$\n", 0),
    (&["-E", "return", "line"], "", "a\rline$\n", 0),
    (&["-E", "return", "empty"], "", "a\r", 0),
    (&["-E", "-s"], "\r\n\r\n", "^M$\n^M$\n", 0),
    (&["-e", "crlf"], "", "a^M$\nb^M^M$\n^M$\n^Mc^M$\n", 0),
    (&["-nE"], "\n\n", "     1\t$\n     2\t$\n", 0),
    (&["-bE"], "\na\n", "$\n     1\ta$\n", 0),
    // Tabs and bytes that cannot be printed.
    (&["-T", "tabs"], "", "^Ia^I^I\nb^I", 0),
    (&["-t", "tabs"], "", "^Ia^I^I\nb^I", 0),
    (&["-v", "tabs"], "", "\ta\t\t\nb\t", 0),
    (&["-vT", "tabs"], "", "^Ia^I^I\nb^I", 0),
    (&["-v"], "\u{0}\u{1f}\u{7f}\r", "^@^_^?^M", 0),
    (&["-A"], "\u{80}\t\n", "M-BM-^@^I$\n", 0),
    (&["-A"], "é", "M-CM-)", 0),
    // The options can be repeated, joined, written in full or in part, and follow the operands.
    (&["-n", "-n", "-T", "-T", "line"], "", "     1\tline\n", 0),
    (&["line", "-n"], "", "     1\tline\n", 0),
    (&["-vET", "tabs"], "", "^Ia^I^I$\nb^I", 0),
    (&["--show-all"], "\t\n", "^I$\n", 0),
    (&["--show-ends", "--number", "--squeeze-blank"], "\n\na\n", "     1\t$\n     2\ta$\n", 0),
    (&["--number-n"], "\na\n", "\n     1\ta\n", 0),
    (&["--squeeze", "--show-nonp"], "\n\n\u{1}", "\n^A", 0),
    (&["-u", "line"], "", "line\n", 0),
    (&["-un", "line"], "", "     1\tline\n", 0),
    (&["--", "-n"], "", "dash\n", 0),
    (&["./-n", "--", "-"], "in", "dash\nin", 0),
    // Names in messages are words of a shell.
    (&["", "a b", "no file", "no:file"], "", "space\n", 1),
    (&["it's", "it's:a", "it's #1", "it's \"", "'"], "", "", 1),
    (&["~x", "x~", "#x", "x#", "{", "}", "{}", "x{y"], "", "", 1),
    (&["a\nb", "\n\n", "a\tb'c", "\u{1b}[2J", "\u{7f}", "\r'"], "", "", 1),
    (&["a\\b", "a?", "a*", "[a", "a]", "a=b", "a@b,c%+", "$a", "a`", "a|b"], "", "", 1),
    (&["é", "é'", "\u{85}", "日本 語"], "", "", 1),
];

fn ours(world: &World, args: &[&str], input: &[u8]) -> ProgramOutput {
    let mut command = world.command(&[&["cat"], args].concat());
    let (output, code, stderr) = ended(command.current_dir(world.dir.path()), input);
    (output, code, stderr.replace("bytelab cat: ", "cat: "))
}

fn theirs(world: &World, args: &[&str], input: &[u8]) -> Option<ProgramOutput> {
    Some(ended(gnu()?.args(args).current_dir(world.dir.path()), input))
}

#[test]
fn every_case_is_as_it_should_be_and_as_gnu_does_it() {
    let world = inputs();
    let _socket = UnixListener::bind(world.path("socket")).unwrap();
    for (args, input, output, code) in CASES {
        let ours = ours(&world, args, input.as_bytes());
        let text = String::from_utf8_lossy(&ours.0);
        assert_eq!((text.as_ref(), ours.1), (*output, *code), "{args:?}: {}", ours.2);
        assert_eq!(ours.2.is_empty(), *code == 0, "{args:?}: {}", ours.2);
        if let Some(theirs) = theirs(&world, args, input.as_bytes()) {
            assert_eq!(ours, theirs, "{args:?}");
        }
    }
}

#[test]
fn messages_name_the_input_and_the_reason() {
    let world = inputs();
    let _socket = UnixListener::bind(world.path("socket")).unwrap();
    let args = ["no file", "dir", "loop", "socket", "line/", "a\nb"];
    let expected = "cat: 'no file': No such file or directory\n\
                    cat: dir: Is a directory\n\
                    cat: loop: Too many levels of symbolic links\n\
                    cat: socket: No such device or address\n\
                    cat: line/: Not a directory\n\
                    cat: 'a'$'\\n''b': No such file or directory\n";
    assert_eq!(ours(&world, &args, b""), (Vec::new(), 1, expected.to_owned()));
}

#[test]
fn wrong_use_has_status_1_and_no_output() {
    let world = inputs();
    for args in [&["-x"][..], &["--no-such"], &["--number=3"], &["--show"], &["-n", "-x", "line"]] {
        let (output, code, stderr) = ours(&world, args, b"");
        assert!(output.is_empty() && code == 1 && !stderr.is_empty(), "{args:?}: {stderr}");
        if let Some(theirs) = theirs(&world, args, b"") {
            assert!(theirs.0.is_empty() && theirs.1 == 1, "{args:?}: {}", theirs.2);
        }
    }
    let (output, code, _) = ours(&world, &["--version"], b"");
    let version = format!("bytelab cat {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((String::from_utf8(output).unwrap(), code), (version, 0));
    for flag in ["--version", "--help"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = world.command(&["cat", flag]);
        assert_eq!(command.stdout(full).status().unwrap().code(), Some(1), "{flag}");
    }
}

#[test]
fn every_byte_and_every_size_around_the_buffers_is_as_gnu_has_it() {
    let world = inputs();
    let check = |args: &[&str], input: &[u8]| {
        let ours = ours(&world, args, input);
        assert_eq!((ours.1, ours.2.as_str()), (0, ""), "{args:?}");
        if let Some(theirs) = theirs(&world, args, input) {
            assert!(ours.0 == theirs.0, "{args:?}, {} bytes", input.len());
        }
        ours.0
    };
    for flags in ["-v", "-A", "-e", "-t", "-E", "-T", "-n", "-b", "-s", "-u", "-bsA"] {
        check(&[flags, "all", "all", "return", "-"], b"\nin");
    }
    let line = |i: usize| if i.is_multiple_of(61) { b'\n' } else { (i % 251) as u8 };
    for around in [0_usize, 512, 4096, 16 << 10, 64 << 10, 128 << 10, 256 << 10] {
        for len in [around, around + 1, around.max(1) - 1] {
            let input: Vec<u8> = (0..len).map(line).collect();
            assert!(check(&["-"], &input) == input, "{len}");
            assert!(check(&["-u", "line", "-"], &input)[5..] == input, "{len}");
            check(&["-bvE"], &input);
        }
    }
    // Numbers grow beyond their column.
    let lines = "\n".repeat(1_000_001);
    let numbered = check(&["-n"], lines.as_bytes());
    assert!(numbered.ends_with(b"\n999999\t\n1000000\t\n1000001\t\n"));
}

#[test]
fn received_bytes_are_written_before_more_arrive() {
    let world = World::new();
    for flags in ["-u", "-v", "-E", "-n"] {
        let mut command = world.command(&["cat", flags]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        for _ in 0..3 {
            input.write_all(b"x\n").unwrap();
            // The line has at least these bytes, and this returns when they have come.
            output.read_exact(&mut [0; 2]).unwrap();
        }
        drop(input);
        output.read_to_end(&mut Vec::new()).unwrap();
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn devices_and_files_of_the_kernel_are_inputs() {
    let world = World::new();
    let version = std::fs::read("/proc/version").unwrap();
    assert_eq!(ours(&world, &["/proc/version"], b"").0, version);
    let shown = ours(&world, &["-vET", "/proc/version"], b"").0;
    assert_eq!(shown, [&version[..version.len() - 1], b"$\n"].concat());
    // Without an end, until the reader goes away.
    for device in ["/dev/zero", "/dev/urandom"] {
        let mut command: Command = world.command(&["cat", device]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut vec![0; 300_000]).unwrap();
        assert!(child.wait().unwrap().success(), "{device}");
    }
}
