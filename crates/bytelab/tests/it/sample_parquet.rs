//! `bytelab sample --format parquet` as a user runs it: the samples are the same as those of a CSV
//! file with the same rows.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::RowAccessor;
use parquet::schema::parser::parse_message_type;

use crate::buckets::{run, server_with};
use crate::program::World;

const SCHEMA: &str =
    "message row { required int64 id; required binary kind (UTF8); required double w; }";

/// A world with 1000 rows as `rows.parquet` and `rows.csv`, and the paths of these files.
fn world(weight_of: impl Fn(i64) -> f64) -> (World, String, String) {
    let world = World::new();
    let (parquet, csv) = (world.path("rows.parquet"), world.path("rows.csv"));
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let out = File::create(&parquet).unwrap();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::default()).unwrap();
    for ids in [0..400, 400..1000] {
        let mut group = writer.next_row_group().unwrap();
        let values: Vec<i64> = ids.clone().collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
        let kinds: Vec<ByteArray> = ids.clone().map(|id| ByteArray::from(kind(id))).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&kinds, None, None).unwrap();
        column.close().unwrap();
        let weights: Vec<f64> = ids.map(&weight_of).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&weights, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
    let lines = (0..1000).map(|id| format!("{id},{},{}\n", kind(id), weight_of(id)));
    std::fs::write(&csv, "id,kind,w\n".to_owned() + &lines.collect::<String>()).unwrap();
    let name = |path: PathBuf| path.to_str().unwrap().to_owned();
    (world, name(parquet), name(csv))
}

fn kind(id: i64) -> &'static str {
    ["often", "often", "often", "rare"][id as usize % 4]
}

fn ids(path: &Path) -> Vec<i64> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().get_long(0).unwrap()).collect()
}

fn csv_ids(text: &str) -> Vec<i64> {
    text.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn rows_of_an_object_are_those_of_a_file() {
    let (world, parquet, _) = world(|id| id as f64);
    let (url, _) = server_with([("rows.parquet", std::fs::read(&parquet).unwrap())].into());
    let outputs = ["of_file", "of_object"].map(|name| world.path(name));
    for (input, out) in [parquet.as_str(), "s3://lab/rows.parquet"].into_iter().zip(&outputs) {
        let args = ["sample", input, "-n", "20", "--seed", "7", "-o", out.to_str().unwrap()];
        let ran = run(&world, &url, &args);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{input}");
    }
    let [of_file, of_object] = outputs.map(|path| ids(&path));
    assert_eq!((of_object.len(), of_object), (20, of_file));
}

#[test]
fn rows_by_weight_and_of_strata_are_those_of_csv() {
    let (world, parquet, csv) = world(|id| id as f64);
    let out = world.path("out.parquet");
    for args in [
        &["-n", "20"][..],
        &["-n", "20", "--invert"],
        &["-p", "0.1"],
        &["-n", "20", "--weight", "w"],
        &["--per", "kind=3"],
        &["--per", "kind=2%"],
        &["--per", "kind=1.3%"],
        &["-n", "21", "--stratify", "kind"],
        &["--per", "kind=300", "--at-most"],
    ] {
        let seed = ["--seed", "7"];
        let of_csv = [&["sample", &csv, "--format", "csv", "--header"], &seed[..], args].concat();
        let expected = csv_ids(&world.run(&of_csv).stdout);
        assert!(!expected.is_empty());
        let name = out.to_str().unwrap();
        let of_rows = ["sample", &parquet, "--format", "parquet", "--force", "-o", name];
        let ran = world.run(&[&of_rows[..], &seed, args].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
        assert_eq!(ids(&out), expected, "{args:?}");
    }
    let name = out.to_str().unwrap();
    let args = ["sample", &parquet, "--format", "parquet", "-n", "5", "--weight", "w", "-o", name];
    let ran = world.run(&[&args[..], &["--stats", "--force"]].concat());
    assert!(ran.stderr.contains("column w is read alone first; "), "{}", ran.stderr);
}

#[test]
fn a_split_of_parquet_gives_all_parts_or_none() {
    let (world, parquet, csv) = world(|_| 1.0);
    let run = |input: &str, format: &[&str], ending: &str| {
        let [train, test] = ["train", "test"].map(|name| world.path(&format!("{name}.{ending}")));
        let split = format!("{}=0.8,{}=0.2", train.display(), test.display());
        let args = ["sample", input, "--split", &split, "--seed", "3", "--stats", "--force"];
        let args = [&args, format];
        (world.run(&args.concat()), train, test)
    };
    let (ran, train, test) = run(&parquet, &["--format", "parquet"], "parquet");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("records taken  800 + 200"), "{}", ran.stderr);
    let (_, csv_train, csv_test) = run(&csv, &["--format", "csv", "--header"], "csv");
    let expected =
        [csv_train, csv_test].map(|path| csv_ids(&std::fs::read_to_string(path).unwrap()));
    assert_eq!([ids(&train), ids(&test)], expected);
    // The last row group is damaged: the old output is kept.
    let mut bytes = std::fs::read(&parquet).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle..middle * 2].fill(0xa5);
    std::fs::write(&parquet, bytes).unwrap();
    let (ran, train, test) = run(&parquet, &["--format", "parquet"], "parquet");
    assert_eq!((ran.code, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("rows.parquet: not a sound Parquet file"), "{}", ran.stderr);
    assert_eq!([ids(&train), ids(&test)], expected, "as they were");
    let names = std::fs::read_dir(world.dir.path()).unwrap();
    let is_rest = |name: &str| name.contains("unfinished");
    assert!(!names.into_iter().any(|entry| is_rest(entry.unwrap().file_name().to_str().unwrap())));
}

#[test]
fn what_is_wrong_with_a_column_is_said_in_one_line() {
    let (world, parquet, _) = world(|id| if id == 500 { -2.0 } else { 1.0 });
    for (args, code, expected) in [
        (
            &["-n", "1", "--weight", "x"][..],
            1,
            "rows.parquet: column x: there is none in the schema",
        ),
        (&["--per", "x=1"], 1, "rows.parquet: column x: there is none in the schema"),
        (&["-n", "1", "--weight", "w"], 1, "rows.parquet: column w: record 501: a weight of -2: "),
        (&["-n", "1", "--weight", "kind"], 1, "record 1: a weight of \"often\": not a number"),
        (
            &["--per", "kind=251"],
            1,
            "251 records of each kind were requested, but \"rare\" has 250",
        ),
        (&["--per", "kind=1", "--invert"], 2, "do not go together"),
        (&["-n", "1", "--header"], 2, "Parquet cannot be combined with --header"),
        (&["-n", "1", "--shuffle"], 2, "rows of Parquet stay in order"),
        (&["-n", "1", "--groups", "kind"], 2, "whole groups of Parquet rows are not drawn"),
    ] {
        let ran = world.run(&[&["sample", &parquet, "--format", "parquet"], args].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1);
    }
}

#[test]
fn a_mergeable_sample_is_drawn_plainly_by_weight_and_of_strata() {
    let (world, parquet, _) = world(|id| (id % 4) as f64);
    let out = world.path("out.parquet");
    let draw = |args: &[&str]| {
        let fixed = ["sample", &parquet, "--format", "parquet", "--seed", "5", "--force", "-o"];
        let ran = world.run(&[&fixed[..], &[out.to_str().unwrap()], args].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{args:?}");
        ids(&out)
    };
    let plain = draw(&["-n", "60", "--mergeable"]);
    assert_eq!(plain, draw(&["-n", "60", "--mergeable"]));
    assert_ne!(plain, draw(&["-n", "60"]));
    let weighted = draw(&["-n", "60", "--mergeable", "--weight", "w"]);
    assert!(weighted.len() == 60 && weighted.iter().all(|id| id % 4 != 0));
    let strata = draw(&["--per", "kind=7", "--mergeable"]);
    assert_eq!(strata.iter().filter(|id| kind(**id) == "rare").count(), 7);
    assert_eq!(strata.len(), 14);
}
