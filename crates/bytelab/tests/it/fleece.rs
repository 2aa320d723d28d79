//! `bytelab fleece`: the command line tool of the library, as it is used in a shell.

use std::process::Stdio;

use insta::assert_snapshot;

use crate::program::{Ran, World, fed};

const PEOPLE: &str = r#"[{"name": "Ada", "born": 1815, "tags": []}, {"name": "Alan", "born": 1912, "tags": ["Ada"]}]"#;

/// Runs `bytelab fleece` with this standard input.
fn fleece(world: &World, args: &[&str], input: &[u8]) -> (i32, Vec<u8>, String) {
    let mut command = world.command(&[&["fleece"], args].concat());
    let output = fed(command.current_dir(world.dir.path()), input);
    let stderr = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap_or(-1), output.stdout, stderr)
}

fn text(world: &World, args: &[&str], input: &[u8]) -> Ran {
    let (code, stdout, stderr) = fleece(world, args, input);
    Ran { code, stdout: String::from_utf8(stdout).unwrap(), stderr }
}

fn encoded(world: &World, json: &str) -> Vec<u8> {
    let (code, document, stderr) = fleece(world, &["encode"], json.as_bytes());
    assert_eq!((code, stderr.as_str()), (0, ""));
    document
}

/// Exit status 1 or 2, nothing on standard output, and this line on standard error.
fn refused(world: &World, args: &[&str], input: &[u8], code: i32, expected: &str) {
    let ran = text(world, args, input);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.trim_end()), (code, "", expected));
}

#[test]
fn json_goes_through_and_comes_back() {
    let world = World::new();
    let document = encoded(&world, PEOPLE);
    assert_snapshot!(text(&world, &["decode"], &document).stdout, @r#"[{"born":1815,"name":"Ada","tags":[]},{"born":1912,"name":"Alan","tags":["Ada"]}]"#);
    assert_snapshot!(text(&world, &["decode", "--pretty"], &document).stdout, @r#"
    [
      {
        "born": 1815,
        "name": "Ada",
        "tags": []
      },
      {
        "born": 1912,
        "name": "Alan",
        "tags": [
          "Ada"
        ]
      }
    ]
    "#);
    assert_eq!(text(&world, &["check"], &document).code, 0);
}

#[test]
fn a_path_or_a_pointer_leads_to_a_value() {
    let world = World::new();
    let document = encoded(&world, PEOPLE);
    assert_eq!(text(&world, &["get", "[1].name"], &document).stdout, "\"Alan\"\n");
    assert_eq!(text(&world, &["get", "--raw", "[-1].tags[0]"], &document).stdout, "Ada\n");
    assert_eq!(text(&world, &["get", "/0/born"], &document).stdout, "1815\n");
    refused(&world, &["get", "[2]"], &document, 1, "bytelab: standard input: nothing at [2]");
    let wrong = "bytelab: the path [x]: an index is no number at byte 0";
    refused(&world, &["get", "[x]"], &document, 2, wrong);
}

#[test]
fn a_dump_shows_every_byte_once() {
    let world = World::new();
    let document = encoded(&world, PEOPLE);
    let dump = text(&world, &["dump"], &document);
    assert_snapshot!(dump.stdout, @r#"
    000000  44 6e 61 6d 65           "name" ×2
    000005  00                       filler
    000006  43 41 64 61              "Ada" ×2
    00000a  44 62 6f 72 6e           "born" ×2
    00000f  00                       filler
    000010  44 74 61 67 73           "tags" ×2
    000015  00                       filler
    000016  70 03                    dict of 3
    000018  80 07                      key → 00000a "born"
    00001a  07 17                        = 1815
    00001c  80 0e                      key → 000000 "name"
    00001e  80 0c                        = → 000006 "Ada"
    000020  80 08                      key → 000010 "tags"
    000022  60 00                        = array of 0 items
    000024  44 41 6c 61 6e           "Alan"
    000029  00                       filler
    00002a  60 01                    array of 1
    00002c  80 13                      [0] → 000006 "Ada"
    00002e  70 03                    dict of 3
    000030  80 13                      key → 00000a "born"
    000032  07 78                        = 1912
    000034  80 1a                      key → 000000 "name"
    000036  80 09                        = → 000024 "Alan"
    000038  80 14                      key → 000010 "tags"
    00003a  80 08                        = → 00002a array of 1 items
    00003c  60 02                    array of 2
    00003e  80 14                      [0] → 000016 dict of 3 pairs
    000040  80 09                      [1] → 00002e dict of 3 pairs
    000042  80 03                    root → 00003c array of 2 items
    "#);
    assert_eq!(dump.code, 0);
}

#[test]
fn the_sizes_add_up_to_the_document() {
    let world = World::new();
    let document = encoded(&world, PEOPLE);
    let stats = text(&world, &["stats"], &document);
    assert_snapshot!(stats.stdout, @r#"
                  number       bytes   share
    integer            2           4   5.9 %
    string             5          24  35.3 %
    array              3           6   8.8 %
    dict               2           4   5.9 %
    pointers          13          26  38.2 %
    filler                         4   5.9 %
    document                      68 100.0 %

    4 values are stored once and used 4 more times: 22 bytes saved
    "#);
    let rows = stats.stdout.lines().skip(1).take_while(|line| !line.starts_with("document"));
    let bytes = rows.filter_map(|row| row.split_whitespace().rev().nth(2)?.parse::<usize>().ok());
    assert_eq!(bytes.sum::<usize>(), document.len());
}

#[test]
fn json_lines_are_the_items_of_an_array() {
    let world = World::new();
    let lines = "{\"a\":1}\n\n[2]\n\"three\"\n";
    let (_, document, _) = fleece(&world, &["encode", "--json-lines"], lines.as_bytes());
    assert_eq!(text(&world, &["decode"], &document).stdout, "[{\"a\":1},[2],\"three\"]\n");
    let back = text(&world, &["decode", "--json-lines"], &document);
    assert_eq!(back.stdout, "{\"a\":1}\n[2]\n\"three\"\n");
    let wrong = b"{\"a\":1}\n\n  [2}\n";
    let expected =
        "bytelab: standard input: expected `,` or `]`, found `}`, at line 3 column 5 (byte 13)";
    refused(&world, &["encode", "--json-lines"], wrong, 1, expected);
}

#[test]
fn shared_keys_are_kept_in_a_file() {
    let world = World::new();
    let args = ["encode", "--shared-keys", "keys", "-o", "doc"];
    for json in [PEOPLE, r#"{"name": "Grace", "rank": 1}"#] {
        assert_eq!(text(&world, &args, json.as_bytes()).code, 0);
    }
    let decoded = text(&world, &["decode", "--shared-keys", "keys", "doc"], b"");
    assert_eq!(decoded.stdout, "{\"name\":\"Grace\",\"rank\":1}\n");
    let names = text(&world, &["decode", "keys"], b"").stdout;
    assert_eq!(names, "[\"name\",\"born\",\"tags\",\"rank\"]\n");
    let ran = text(&world, &["decode", "doc"], b"");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("doc: key number") && ran.stderr.contains("--shared-keys"));
    assert!(text(&world, &["stats", "doc"], b"").stdout.contains("2 keys are the numbers"));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let world = World::new();
    std::fs::write(world.path("broken.json"), "{\"a\": 1,\n \"b\" 2}").unwrap();
    let expected = "bytelab: broken.json: expected `:`, found `2`, at line 2 column 6 (byte 14)";
    refused(&world, &["encode", "broken.json"], b"", 1, expected);
    let missing = "bytelab: reading no.json: No such file or directory (os error 2)";
    refused(&world, &["encode", "no.json"], b"", 2, missing);
    // An array that contains itself.
    let ring = [0x60, 0x01, 0x80, 0x01, 0x80, 0x02];
    let expected =
        "bytelab: standard input: a value does not end before the pointer to it at byte 2";
    refused(&world, &["check"], &ring, 1, expected);
    refused(&world, &["decode"], &ring, 1, expected);
    let dump = text(&world, &["dump"], &ring);
    assert_eq!((dump.code, dump.stderr.trim_end()), (1, expected));
    assert_snapshot!(dump.stdout, @r#"
    000000  60 01                    array of 1 ×2
    000002  80 01                      [0] → 000000 array of 1 items
    000004  80 02                    root → 000000 array of 1 items
    "#);
}

#[test]
fn one_bad_file_does_not_hide_another() {
    let world = World::new();
    let documents: [(&str, &[u8]); 3] =
        [("good", &[0x30, 0x00]), ("odd", &[0x30]), ("bad", &[0x43, b'a', 0x80, 0x01])];
    for (name, bytes) in documents {
        std::fs::write(world.path(name), bytes).unwrap();
    }
    let ran = text(&world, &["check", "odd", "good", "bad"], b"");
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 2), "{}", ran.stderr);
}

#[test]
fn an_output_file_is_whole_or_not_there() {
    let world = World::new();
    let before = b"what was there";
    std::fs::write(world.path("out"), before).unwrap();
    assert_eq!(text(&world, &["encode", "-o", "out"], b"[1,").code, 1);
    assert_eq!(std::fs::read(world.path("out")).unwrap(), before);
    assert_eq!(text(&world, &["encode", "-o", "out"], b"[1]").code, 0);
    assert_eq!(text(&world, &["decode", "out"], b"").stdout, "[1]\n");
    let left = std::fs::read_dir(world.dir.path()).unwrap().count();
    assert_eq!(left, 1, "no temporary file stays");
    let ran = text(&world, &["encode", "-o", "no/such/folder"], b"[1]");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.starts_with("bytelab: writing no/such/folder: "), "{}", ran.stderr);
    assert_eq!(text(&world, &["encode", "-o", "/dev/null"], b"[1]").code, 0);
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let world = World::new();
    let item = "\"a string that is not short\"";
    let json = format!("[{}{item}]", format!("{item},").repeat(50_000));
    std::fs::write(world.path("doc"), encoded(&world, &json)).unwrap();
    for task in [&["decode"][..], &["dump"]] {
        let mut command = world.command(&[&["fleece"], task, &["doc"]].concat());
        command.current_dir(world.dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    }
}

#[test]
fn a_small_document_does_not_become_an_endless_text() {
    let world = World::new();
    // Forty arrays, each of which contains the previous one twice.
    let mut bomb = vec![0x60, 0x00];
    for level in 0..40 {
        let (first, second) = if level == 0 { (2, 3) } else { (4, 5) };
        bomb.extend([0x60, 0x02, 0x80, first, 0x80, second]);
    }
    bomb.extend([0x80, 0x03]);
    assert_eq!(text(&world, &["check"], &bomb).code, 0);
    let ran = text(&world, &["decode"], &bomb);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("--trusted"), "{}", ran.stderr);
    assert!(text(&world, &["dump"], &bomb).stdout.lines().count() < 200);
}

#[test]
fn a_dump_of_values_that_overlap_has_an_end() {
    let world = World::new();
    // Every two bytes begin an array of 2046 items, and these are the arrays that follow.
    let mut damaged = [0x67, 0xFE].repeat(2000);
    damaged.extend([0x87, 0xD0]);
    assert_eq!(text(&world, &["check"], &damaged).code, 1);
    assert!(text(&world, &["dump"], &damaged).stdout.lines().count() < 2100);
}

/// A database in the layout of Couchbase Lite, with one document that has shared keys and one that
/// is deleted.
fn database(world: &World, version: i64) {
    use fleece_codec::{Encoder, SharedKeys, json};
    let mut encoder = Encoder::new();
    encoder.set_shared_keys(SharedKeys::new());
    let text = br#"{"name": "Ada", "born": 1815, "tags": ["poet"], "not eligible": {"name": "x"}}"#;
    json::encode(text, &mut encoder, &json::ParseOptions::new()).unwrap();
    let body = encoder.finish().unwrap();
    let state = encoder.take_shared_keys().unwrap().to_state().unwrap();

    std::fs::create_dir(world.path("people.cblite2")).unwrap();
    let connection = rusqlite::Connection::open(world.path("people.cblite2/db.sqlite3")).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA user_version = {version};
             CREATE TABLE kvmeta (name TEXT PRIMARY KEY, lastSeq INTEGER DEFAULT 0,
                 purgeCnt INTEGER DEFAULT 0) WITHOUT ROWID;
             CREATE TABLE kv_default (key TEXT PRIMARY KEY, sequence INTEGER, flags INTEGER DEFAULT 0,
                 version BLOB, body BLOB, expiration INTEGER, extra BLOB);
             CREATE TABLE kv_info (key TEXT PRIMARY KEY, version BLOB, body BLOB, extra BLOB);"
        ))
        .unwrap();
    let insert = "INSERT INTO kv_default (key, sequence, flags, body) VALUES (?1, ?2, ?3, ?4)";
    connection.execute(insert, (&"ada", 1_i64, 0_i64, &body)).unwrap();
    connection.execute(insert, (&"-x", 4_i64, 0_i64, &body)).unwrap();
    connection.execute(insert, (&"gone", 2_i64, 1_i64, &body)).unwrap();
    connection.execute(insert, (&"broken", 3_i64, 0_i64, &body[2..])).unwrap();
    let keys = "INSERT INTO kv_info (key, body) VALUES ('SharedKeys', ?)";
    connection.execute(keys, [&state]).unwrap();
}

#[test]
fn a_strict_check_refuses_keys_that_are_there_twice_or_out_of_order() {
    let world = World::new();
    // {"b":0,"a":0} and {"a":0,"a":1}
    let unsorted = [0x70, 2, 0x41, b'b', 0, 0, 0x41, b'a', 0, 0, 0x80, 5];
    let twice = [0x70, 2, 0x41, b'a', 0, 0, 0x41, b'a', 0, 1, 0x80, 5];
    for (document, what) in [(unsorted, "out of order"), (twice, "a key twice")] {
        assert_eq!(text(&world, &["check"], &document).code, 0);
        let ran = text(&world, &["check", "--strict"], &document);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(what), "{}", ran.stderr);
    }
    let sound = fleece_codec::json::to_fleece(br#"{"a": [{"b": 1, "c": 2}], "d": 3}"#).unwrap();
    assert_eq!(text(&world, &["check", "--strict"], &sound).code, 0);
}

#[test]
fn a_document_of_a_couchbase_lite_database_is_read_with_its_keys() {
    let world = World::new();
    database(&world, 500);
    let get = ["get", "--cblite", "people.cblite2", "--doc"];
    let ran = text(&world, &[&get[..], &["ada"]].concat(), b"");
    assert_eq!(ran.stderr, "");
    assert_snapshot!(ran.stdout, @r#"{"name":"Ada","born":1815,"tags":["poet"],"not eligible":{"name":"x"}}"#);
    let tag = text(&world, &[&get[..], &["ada", "tags[0]", "--raw"]].concat(), b"");
    assert_eq!((tag.stdout.as_str(), tag.stderr.as_str()), ("poet\n", ""));
    let file = "people.cblite2/db.sqlite3";
    let of_file = text(&world, &["get", "name", "--cblite", file, "--doc", "ada"], b"");
    assert_eq!(of_file.stdout, "\"Ada\"\n");
    // An id may look like a flag.
    for id in [&["--doc=-x"][..], &["--doc", "-x"]] {
        let args = [&["get", "name", "--cblite", "people.cblite2"][..], id].concat();
        let ran = text(&world, &args, b"");
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("\"Ada\"\n", ""), "{id:?}");
        let args = [&["get", "--cblite", "people.cblite2"][..], id, &["born", "--raw"]].concat();
        assert_eq!(text(&world, &args, b"").stdout, "1815\n", "{id:?}");
    }
    let refuse = |id: &str, what: &str| {
        let expected = format!("bytelab: {file}: {what}");
        refused(&world, &[&get[..], &[id]].concat(), b"", 1, &expected);
    };
    refuse("nobody", "no document nobody in the default collection");
    refuse("gone", "the document gone is deleted");
    let broken = text(&world, &[&get[..], &["broken"]].concat(), b"");
    assert_eq!((broken.code, broken.stdout.as_str()), (1, ""));
    assert!(broken.stderr.contains("db.sqlite3: document broken: "), "{}", broken.stderr);
}

#[test]
fn a_database_that_cannot_be_read_is_named_with_the_reason() {
    let world = World::new();
    let args = ["get", "--cblite", "people.cblite2", "--doc", "ada"];
    let missing = text(&world, &args, b"");
    assert_eq!((missing.code, missing.stdout.as_str()), (2, ""));
    assert!(missing.stderr.contains("people.cblite2"), "{}", missing.stderr);
    // Encrypted data looks like random bytes.
    std::fs::create_dir(world.path("people.cblite2")).unwrap();
    let bytes: Vec<u8> =
        (0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(world.path("people.cblite2/db.sqlite3"), bytes).unwrap();
    let expected = "bytelab: people.cblite2/db.sqlite3: encrypted, or not a database: \
        only databases without encryption can be read";
    refused(&world, &args, b"", 1, expected);
    let file = world.path("people.cblite2");
    std::fs::remove_dir_all(file).unwrap();
    database(&world, 302);
    let old = text(&world, &args, b"");
    assert!(old.stderr.contains("before 3.0"), "{}", old.stderr);
    let other = text(&world, &["get", "--doc", "ada", "name"], b"");
    assert_eq!(other.code, 2, "{}", other.stderr);
}
