//! Tests of refused stores: the error text, and that nothing in the directory changes.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use rusqlite::Connection;

use super::super::{Sqlite, Store};
use crate::tests::suite;

type Files = BTreeMap<String, Vec<u8>>;

/// The content of the regular files of a directory. SQLite's index of the log (-shm) contains no
/// data.
fn files(directory: &Path) -> Files {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file() && !path.ends_with("store-shm"));
    files
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(&path).unwrap())
        })
        .collect()
}

/// Three runs with 200 samples each.
pub(super) static STORE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    write_three_runs(&mut Sqlite::open(&path).unwrap());
    fs::read(path).unwrap()
});

/// The same, with three more runs as a killed process leaves them: two are in the log only, and one
/// in its journal.
pub(super) static KILLED: LazyLock<Files> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    fs::write(&path, &*STORE).unwrap();
    let mut store = Sqlite::open(&path).unwrap();
    write_three_runs(&mut store);
    files(directory.path())
});

pub(super) fn write_three_runs(store: &mut Sqlite) {
    for _ in 0..3 {
        let id = store.begin(&suite::new_run("stored")).unwrap();
        for round in 0..100 {
            store.append(&id, 0, &suite::new_sample(round, 0), &suite::new_values(round)).unwrap();
            store.append(&id, 1, &suite::new_sample(round, 1), &suite::new_values(round)).unwrap();
        }
    }
}

fn error_of(path: &Path) -> String {
    let error = Sqlite::open(path).map(drop).unwrap_err();
    let text = format!("{error:#}");
    assert!(text.contains(&path.display().to_string()), "{text}");
    assert!(!text.contains('\n'), "{text}");
    text
}

/// The file that `make` creates at DIR/store is refused with these words, and left unchanged.
fn check(make: impl FnOnce(&Path), expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    make(&path);
    let before = files(directory.path());
    let text = error_of(&path);
    assert_eq!(text.replace(directory.path().to_str().unwrap(), "DIR"), expected);
    assert!(files(directory.path()) == before, "{text}");
    let count = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(count, before.len().max(1), "no file is added: {text}");
}

#[test]
fn what_is_no_store_is_refused() {
    check(
        |path| fs::create_dir(path).unwrap(),
        "store DIR/store is a directory: name a file in it, such as DIR/store/runs.sqlite",
    );
    check(
        |path| drop(UnixListener::bind(path).unwrap()),
        "store DIR/store is not a regular file: name another one with --store",
    );
    check(
        |path| symlink("nowhere", path).unwrap(),
        "store DIR/store is a link to nothing: delete it, or put the file back",
    );
    check(
        |path| fs::write(path, "").unwrap(),
        "store DIR/store is an empty file: delete it and a new store is made in its place",
    );
    let no_sqlite = "store DIR/store: not an SQLite file: name another one with --store, or, if it \
                     was a store, restore it from a copy";
    check(|path| fs::write(path, "x").unwrap(), no_sqlite);
    check(
        |path| fs::write(path, "some text ".repeat(1000)).unwrap(),
        &format!("{no_sqlite} (file is not a database)"),
    );
    check(
        |path| Connection::open(path).unwrap().execute_batch("CREATE TABLE t (a)").unwrap(),
        "store DIR/store: an SQLite file, but not a store of bytelab: name another one with --store",
    );
    check(
        unfinished_of_another_program,
        "store DIR/store: an SQLite file, but not a store of bytelab: name another one with --store",
    );
    check(
        |path| fs::write(path.with_file_name("store-wal"), "log").unwrap(),
        "store DIR/store is gone, but its log DIR/store-wal is there: put the store back, or delete \
         the log",
    );
}

/// The state that another program leaves when it is killed in a transaction. Opening this in the
/// usual way rolls the transaction back.
fn unfinished_of_another_program(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let fill = "WITH RECURSIVE c (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < 2000)
                INSERT INTO t SELECT hex(zeroblob(x)) FROM c";
    connection.execute_batch("PRAGMA cache_size = 1; CREATE TABLE t (a)").unwrap();
    connection.execute_batch(&format!("{fill}; BEGIN; DELETE FROM t; {fill}")).unwrap();
    let left = files(path.parent().unwrap());
    assert!(left.contains_key("store-journal"));
    drop(connection);
    put(path.parent().unwrap(), &left);
}

#[test]
fn a_newer_store_is_refused() {
    let newer = |path: &Path| {
        fs::write(path, &*STORE).unwrap();
        Connection::open(path).unwrap().pragma_update(None, "user_version", 7).unwrap();
    };
    let expected = "store DIR/store: it has schema 7, and this bytelab knows schemas up to 1: update \
                    bytelab, or name another one with --store";
    check(newer, expected);
    // The same while its newer program runs: the schema is in the log only.
    check(
        |path| {
            fs::write(path, &*STORE).unwrap();
            let connection = Connection::open(path).unwrap();
            connection.pragma_update(None, "user_version", 7).unwrap();
            let left = files(path.parent().unwrap());
            drop(connection);
            put(path.parent().unwrap(), &left);
        },
        expected,
    );
}

pub(super) fn put(directory: &Path, files: &Files) {
    for (name, bytes) in files {
        fs::write(directory.join(name), bytes).unwrap();
    }
}

#[test]
fn a_damaged_store_is_refused() {
    check(
        |path| fs::write(path, &STORE[..STORE.len() / 2]).unwrap(),
        "store DIR/store: damaged; restore it from a copy, or move it and its -wal file away and a \
         new one is made (database disk image is malformed)",
    );
    // SQLite quotes the text that it cannot parse, which has several lines.
    check(
        |path| {
            let mut bytes = STORE.clone();
            let place = bytes.windows(11).position(|part| part == b"method TEXT").unwrap();
            bytes[place] = b'`';
            fs::write(path, bytes).unwrap();
        },
        "store DIR/store: damaged; restore it from a copy, or move it and its -wal file away and a \
         new one is made (malformed database schema (cell) - unrecognized token: \"`ethod TEXT NOT \
         NULL, about TEXT NOT NULL, role TEXT NOT NULL, language TEXT, point TEXT NOT NULL, status \
         TEXT NOT NULL, reason TEXT, digest TEXT, syscalls_by_name TEXT, answers TEXT, \
         blocks TEXT, checksum INTEGER NOT NULL DEFAULT 0, PRIMARY KE…)",
    );
    let mut damaged = KILLED.clone();
    damage_the_middle(damaged.get_mut("store").unwrap());
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), &damaged);
    let text = error_of(&directory.path().join("store"));
    assert!(text.contains("store: damaged"), "{text}");
    assert!(files(directory.path()) == damaged, "{text}");
}

pub(super) fn damage_the_middle(bytes: &mut [u8]) {
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0xa5);
}

#[test]
fn what_a_killed_process_left_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    put(directory.path(), &KILLED);
    let mut store = Sqlite::open(&directory.path().join("store")).unwrap();
    assert_eq!(store.list().unwrap().iter().map(|run| run.samples).sum::<u64>(), 1200);
}

#[test]
fn a_store_of_before_the_first_release_is_refused() {
    check(
        |path| {
            fs::write(path, &*STORE).unwrap();
            let connection = Connection::open(path).unwrap();
            connection.pragma_update(None, "application_id", 0x6279_6c62).unwrap();
            connection.pragma_update(None, "user_version", 4).unwrap();
        },
        "store DIR/store: it was written before bytelab 0.1.0: export its runs as JSON with the \
         program that wrote it, import them, and name another store with --store",
    );
}

/// Does `work` as a user to whom permissions apply: root may write every file.
#[expect(unsafe_code, reason = "only the file system identity of this one thread is to change")]
fn as_a_user<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: both calls only change the file permissions of this thread.
    let before = unsafe { libc::setfsuid(65534) };
    let result = work();
    // SAFETY: as above.
    unsafe { libc::setfsuid(before.cast_unsigned()) };
    result
}

/// A store with this mode in a directory with that mode is refused with an error that contains
/// `expected`.
fn check_modes(directory_mode: u32, file_mode: Option<u32>, expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    if let Some(mode) = file_mode {
        fs::write(&path, &*STORE).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(directory.path(), Permissions::from_mode(directory_mode)).unwrap();
    let text = as_a_user(|| error_of(&path));
    assert!(text.contains(expected), "{text}");
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    if let Some(mode) = file_mode {
        fs::set_permissions(&path, Permissions::from_mode(mode | 0o600)).unwrap();
        assert!(files(directory.path())["store"] == *STORE);
    }
    let count = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(count, usize::from(file_mode.is_some()), "{text}");
}

#[test]
fn what_cannot_be_written_is_refused() {
    let expected = "it or its directory cannot be written: change the permissions, copy it";
    check_modes(0o777, Some(0o444), expected);
    check_modes(0o777, Some(0o000), expected);
    check_modes(0o555, Some(0o666), expected);
    check_modes(0o555, None, "cannot be made: name another one with --store: ");
    check_modes(0o444, Some(0o666), "cannot be looked at: name another one with --store: ");
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    let text = error_of(&directory.path().join("file/store"));
    assert!(
        text.ends_with("name another one with --store: Not a directory (os error 20)"),
        "{text}"
    );
    let text = error_of(Path::new("/proc/bytelab/store"));
    assert!(text.contains("cannot be made: name another one with --store: "), "{text}");
}

#[test]
fn odd_paths_are_paths() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a b?mode=ro#x%41", "file:x", ":memory:", "é\u{1f9ea}\n'\""] {
        let path = directory.path().join(name);
        Sqlite::open(&path).unwrap().begin(&suite::new_run(name)).unwrap();
        assert_eq!(Sqlite::open(&path).unwrap().list().unwrap()[0].experiment, name);
        assert!(path.is_file());
    }
}

/// One kind of damage to a file; positions are fractions of its length in 1/65536.
#[derive(Clone, Debug)]
enum Damage {
    Flip { place: u16, within: usize, bits: u8 },
    FlipNearStart { place: usize, bits: u8 },
    Fill { place: u16, len: usize, byte: u8 },
    Cut { place: u16 },
    Extend { bytes: Vec<u8> },
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        4 => (any::<u16>(), 0..4096_usize, 1..=255_u8)
            .prop_map(|(place, within, bits)| Damage::Flip { place, within, bits }),
        4 => (0..9000_usize, 1..=255_u8)
            .prop_map(|(place, bits)| Damage::FlipNearStart { place, bits }),
        2 => (any::<u16>(), 1..9000_usize, any::<u8>())
            .prop_map(|(place, len, byte)| Damage::Fill { place, len, byte }),
        1 => any::<u16>().prop_map(|place| Damage::Cut { place }),
        1 => prop::collection::vec(any::<u8>(), 1..5000).prop_map(|bytes| Damage::Extend { bytes }),
    ]
}

impl Damage {
    fn apply(self, bytes: &mut Vec<u8>) {
        let len = bytes.len();
        let at = |place: u16| usize::from(place) * len / 65536;
        match self {
            Damage::Flip { place, within, bits } => {
                if let Some(byte) = bytes.get_mut(at(place) + within) {
                    *byte ^= bits;
                }
            }
            Damage::FlipNearStart { place, bits } => {
                if let Some(byte) = bytes.get_mut(place) {
                    *byte ^= bits;
                }
            }
            Damage::Fill { place, len, byte } => {
                bytes.iter_mut().skip(at(place)).take(len).for_each(|b| *b = byte);
            }
            Damage::Cut { place } => bytes.truncate(at(place)),
            Damage::Extend { bytes: more } => bytes.extend(more),
        }
    }
}

/// Calls every operation of a store; errors are results, too, of one line.
fn use_all(store: &mut Sqlite) {
    fn check<T>(result: anyhow::Result<T>) -> Option<T> {
        result.inspect_err(|error| assert!(!format!("{error:#}").contains('\n'), "{error:#}")).ok()
    }
    let ids = check(store.list()).into_iter().flatten().map(|run| run.id);
    for id in ids.chain(["1".to_owned(), "2".to_owned()]) {
        check(store.load(&id));
        check(store.append(&id, 1, &suite::new_sample(9, 0), &suite::new_values(9)));
        check(store.put_cell(&id, 2, &suite::new_run("").cells[0]));
    }
    check(store.begin(&suite::new_run("new")));
    check(store.delete("2"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_damaged_store_never_panics_and_is_untouched_if_refused(
        in_store in prop::collection::vec(damage(), 0..4),
        in_log in prop::collection::vec(damage(), 0..3),
        in_journal in prop::collection::vec(damage(), 0..3),
        killed: bool,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut damaged = KILLED.clone();
        if !killed {
            damaged = Files::from([("store".to_owned(), STORE.clone())]);
        }
        for (name, all) in [("store", in_store), ("store-wal", in_log), ("store-run-6", in_journal)] {
            let Some(bytes) = damaged.get_mut(name) else { continue };
            for one in all {
                one.apply(bytes);
            }
        }
        put(directory.path(), &damaged);
        let path = directory.path().join("store");
        match Sqlite::open(&path) {
            Ok(mut store) => use_all(&mut store),
            Err(error) => {
                let text = format!("{error:#}");
                prop_assert!(text.contains(path.to_str().unwrap()), "{}", text);
                prop_assert!(!text.contains('\n'), "{}", text);
                prop_assert!(files(directory.path()) == damaged, "{}", text);
            }
        }
    }
}
