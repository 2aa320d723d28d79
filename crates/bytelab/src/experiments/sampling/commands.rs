//! What people use today, as plain commands: they are started anew for each sample, and write to
//! `/dev/null`. What they draw is not checked.

use lab::experiment::{Command, How, Method};
use lab::run::Role;

const AWK: &str = r#"BEGIN { srand(); n = ARGV[1]; ARGV[1] = "" }
NR <= n { kept[NR] = $0; next }
{ i = int(rand() * NR) + 1; if (i <= n) kept[i] = $0 }
END { for (i in kept) print kept[i] }"#;

pub(super) fn methods() -> Vec<Method> {
    let sort = "[ {kind} = text ] || { echo it knows only lines >&2; exit 1; }; sort -R \"$0\" | head -n \"$1\"";
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    vec![
        command(
            "shuf",
            "GNU or other shuf -n, text only",
            true,
            words(&["/usr/bin/shuf", "-n", "{samples}", "{file}"]),
        ),
        command(
            "awk",
            "a reservoir in awk, text only",
            true,
            words(&["/usr/bin/awk", AWK, "{samples}", "{file}"]),
        ),
        // Takes minutes for large files.
        command(
            "sort",
            "sort -R | head, text only",
            false,
            words(&["/bin/sh", "-c", sort, "{file}", "{samples}"]),
        ),
    ]
}

fn command(name: &str, about: &str, default: bool, argv: Vec<String>) -> Method {
    Method {
        name: name.to_owned(),
        about: about.to_owned(),
        reads: vec!["samples", "records", "kind", "dir", "file"],
        how: How::Command(Command::plain(argv)),
        role: Role::Yardstick,
        bypasses_cache: false,
        default,
        job: None,
    }
}
