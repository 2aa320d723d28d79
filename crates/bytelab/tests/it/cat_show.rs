//! cat with the options that show the content of a text, compared with the system's utility.

use std::fs::OpenOptions;

use crate::cat::{check, ended, gnu};
use crate::program::World;

#[test]
fn a_text_is_shown_as_cat_shows_it() {
    let world = World::new();
    let bytes: Vec<u8> = (0..=255).collect();
    let text = [b"\n\na\tb\r\n\n\n\rlast", &bytes[..], b"\r", &bytes[128..], b"\n\n\n"].concat();
    let [a, b] = ["a", "b"].map(|name| world.path(name));
    std::fs::write(&a, &text).unwrap();
    std::fs::write(&b, "\nno end").unwrap();
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    for flags in [
        "-A",
        "-b",
        "-e",
        "-E",
        "-n",
        "-s",
        "-t",
        "-T",
        "-u",
        "-v",
        "-bn",
        "-nE",
        "-bE",
        "-sn",
        "-sb",
        "-bsE",
        "-vT",
        "-vet",
        "-unsE",
        "--show-all",
        "--number-nonblank",
        "--show-ends",
        "--number",
        "--squeeze-blank",
        "--show-tabs",
        "--show-nonprinting",
    ] {
        let Some(mut theirs) = gnu() else { return };
        let args = [flags, a, b, "-", "/no/such", a];
        let expected = ended(theirs.args(args), b"\n\ninput\n").0;
        check(&world, &args, b"\n\ninput\n", &expected, 1);
    }
}

#[test]
fn a_shown_file_is_not_copied_to_its_own_end() {
    let world = World::new();
    let path = world.path("a");
    std::fs::write(&path, "hello").unwrap();
    let append = OpenOptions::new().append(true).open(&path).unwrap();
    let output = world.command(&["cat", "-n", path.to_str().unwrap()]).stdout(append).output();
    let output = output.unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.ends_with("a: input file is output file\n"), "{stderr}");
    assert_eq!((output.status.code(), std::fs::read(&path).unwrap()), (Some(1), b"hello".to_vec()));
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = world.command(&["cat", "-n", "/proc/self/exe"]).stdout(full).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "bytelab cat: write error: No space left on device\n");
    assert_eq!(output.status.code(), Some(1));
}
