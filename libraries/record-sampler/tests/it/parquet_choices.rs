//! Parquet by weights, of strata and split: the records are those of a text with the same rows, and
//! what need not be read is not.

use std::fs;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::record::RowAccessor;
use proptest::prelude::*;
use record_sampler::{Column, ErrorKind, Format, Sampler};

use crate::parquet_rows::{Layout, PAGES_OF_100, Row, id_of, open, rows, texts, write};

/// The rows of a Parquet file; each is as it was written.
fn ids(bytes: Vec<u8>, all: &[Row]) -> Vec<i64> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    let ids = rows.map(|row| {
        let id = row.get_long(0).unwrap();
        let expected = &all[id as usize];
        assert_eq!(row.get_string(1).ok().map(String::as_str), expected.kind);
        assert_eq!(row.get_double(2).unwrap().to_bits(), expected.w.to_bits());
        assert_eq!(row.get_decimal(3).is_ok(), expected.price.is_some());
        id
    });
    ids.collect()
}

fn draw(sampler: &Sampler, paths: &[PathBuf], all: &[Row]) -> Vec<i64> {
    let mut out = Vec::new();
    let stats = sampler.write_parquet(paths, &mut out).unwrap();
    let ids = ids(out, all);
    assert_eq!((stats.seen, stats.taken), (Some(all.len() as u64), ids.len() as u64));
    ids
}

/// Each choice, with what is wanted of it.
fn samplers(n: u64, p: f64) -> Vec<Sampler> {
    vec![
        Sampler::at_most(n),
        Sampler::at_most(n).inverted(),
        Sampler::probability(p),
        Sampler::probability(p).inverted(),
        Sampler::at_most(n).weighted_by("w"),
        Sampler::at_most(n).per("kind"),
        Sampler::probability(p).per("kind"),
        Sampler::at_most(n).stratified_by("kind"),
        Sampler::at_most(1).per("price"),
        Sampler::at_most(2).per("w"),
        Sampler::at_most(1).per("single"),
        Sampler::probability(p).per("double"),
        Sampler::at_most(n).weighted_by("id"),
    ]
}

fn any_row() -> impl Strategy<Value = Row> {
    let kind = prop::sample::select(vec![None, Some("a"), Some("bb"), Some("")]);
    let w = prop::sample::select(vec![0.0, 1.0, 0.1, 2.5, 1e6, 1e-7, 2e-5, 1e16, 3e20]);
    let single = prop::sample::select(vec![0.1f32, 2e-5, 1e15, 3e20, f32::NAN, f32::INFINITY]);
    let double = prop::sample::select(vec![-0.0, 2e-5, 1e16, 3e20, f64::NAN, f64::INFINITY]);
    (kind, w, prop::option::of(0..500i32), single, double)
        .prop_map(|(kind, w, price, single, double)| Row { id: 0, kind, w, price, single, double })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_sample_is_that_of_csv_and_of_json_lines(
        mut all in prop::collection::vec(any_row(), 1..80),
        cut in 0..80usize,
        (group_rows, page_rows) in (1..40usize, 1..9usize),
        (has_index, has_dictionary) in (any::<bool>(), any::<bool>()),
        (n, p, seed) in (0..20u64, 0.0..1.0f64, any::<u64>()),
    ) {
        (0..).zip(&mut all).for_each(|(id, row)| row.id = id);
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout { group_rows, page_rows, has_index, has_dictionary };
        let paths = ["a", "b"].map(|name| dir.path().join(name));
        let (first, second) = all.split_at(cut.min(all.len()));
        write(&paths[0], first, layout);
        write(&paths[1], second, layout);
        for text in texts(dir.path(), &all) {
            for sampler in samplers(n, p) {
                let sampler = sampler.seed(seed);
                let records = sampler.records(&mut open(&text)).unwrap();
                let expected: Vec<i64> = records.iter().map(|record| id_of(record)).collect();
                prop_assert_eq!(draw(&sampler, &paths, &all), expected);
            }
            let shares = [p, 0.0, 1.0];
            let sampler = Sampler::probability(1.0).seed(seed);
            let [mut a, mut b, mut c] = [const { Vec::new() }; 3];
            sampler.split(&mut open(&text), &shares, &mut [&mut a, &mut b, &mut c]).unwrap();
            let [mut x, mut y, mut z] = [const { Vec::new() }; 3];
            let stats = sampler.split_parquet(&paths, &shares, &mut [&mut x, &mut y, &mut z]).unwrap();
            let header = usize::from(text.1 != Format::JsonLines);
            for ((text, rows), stats) in [a, b, c].into_iter().zip([x, y, z]).zip(stats) {
                let lines = text.split_inclusive(|byte| *byte == b'\n').skip(header);
                let expected: Vec<i64> = lines.map(id_of).collect();
                prop_assert_eq!(stats.taken, expected.len() as u64);
                prop_assert_eq!(ids(rows, &all), expected);
            }
        }
    }
}

#[test]
fn only_the_column_and_the_pages_of_chosen_rows_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = [dir.path().join("large")];
    let all = rows(0..40_000);
    write(&path[0], &all, PAGES_OF_100);
    let sound = fs::read(&path[0]).unwrap();
    let chosen_by =
        [("w", Sampler::exactly(9).weighted_by("w")), ("kind", Sampler::exactly(3).per("kind"))];
    for (column, sampler) in chosen_by {
        fs::write(&path[0], &sound).unwrap();
        let expected = draw(&sampler, &path, &all);
        let (spoiled, kept) = spoil(&path[0], column, &expected);
        assert!(spoiled > sound.len() / 2, "{spoiled} of {}", sound.len());
        assert_eq!(draw(&sampler, &path, &all), expected);
        let stats = sampler.write_parquet(&path, &mut Vec::new()).unwrap();
        assert!(stats.bytes_read < (kept + sound.len() / 4) as u64, "{}", stats.bytes_read);
        let reason = format!("column {column} is read alone first; ");
        assert!(stats.reason.starts_with(&reason), "{}", stats.reason);
        let error = Sampler::exactly(9).weighted_by("id").write_parquet(&path, &mut Vec::new());
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Malformed);
    }
}

/// Overwrites the pages of other columns that hold none of these rows: how many bytes, and how many
/// not.
fn spoil(path: &Path, kept: &str, ids: &[i64]) -> (usize, usize) {
    let options = ReadOptionsBuilder::new().with_page_index().build();
    let reader =
        SerializedFileReader::new_with_options(fs::File::open(path).unwrap(), options).unwrap();
    let mut bytes = fs::read(path).unwrap();
    let (mut spoiled, mut left) = (0, 0);
    for (group, columns) in reader.metadata().row_groups().iter().enumerate() {
        for (number, column) in columns.columns().iter().enumerate() {
            let index = reader.metadata().page_index().unwrap();
            let pages = index.page_locations(group, number).unwrap();
            for (place, page) in pages.iter().enumerate() {
                let end = pages.get(place + 1).map_or(10_000, |next| next.first_row_index);
                let of_page =
                    page.first_row_index + 10_000 * group as i64..end + 10_000 * group as i64;
                let size = page.compressed_page_size as usize;
                if column.column_descr().name() == kept || ids.iter().any(|id| of_page.contains(id))
                {
                    left += size;
                    continue;
                }
                bytes[page.offset as usize..][..size].fill(0xa5);
                spoiled += size;
            }
        }
    }
    fs::write(path, bytes).unwrap();
    (spoiled, left)
}

#[test]
fn an_output_with_a_small_share_is_not_all_small_row_groups() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows");
    let all = rows(0..400_000);
    let layout =
        Layout { group_rows: 300_000, page_rows: 20_000, has_index: true, has_dictionary: true };
    write(&path, &all, layout);
    let (mut large, mut small) = (Vec::new(), Vec::new());
    let sampler = Sampler::probability(1.0).seed(5);
    let stats =
        sampler.split_parquet([&path], &[0.99, 0.01], &mut [&mut large, &mut small]).unwrap();
    assert_eq!((stats[0].taken, stats[1].taken), (396_000, 4000));
    let groups = |bytes: &[u8]| {
        let reader = SerializedFileReader::new(bytes::Bytes::copy_from_slice(bytes)).unwrap();
        reader.num_row_groups()
    };
    assert_eq!((groups(&large), groups(&small)), (4, 1));
    let [large, small] = [large, small].map(|bytes| ids(bytes, &all));
    assert!(large.is_sorted() && small.is_sorted());
    let mut both = [large, small].concat();
    both.sort_unstable();
    assert_eq!(both, (0..400_000).collect::<Vec<i64>>());
}

#[test]
fn a_column_or_weight_that_cannot_be_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows");
    let check = |sampler: &Sampler, kind: ErrorKind, text: &str| {
        let error = sampler.write_parquet([&path], &mut Vec::new()).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (kind, text.replace("FILE", path.to_str().unwrap()))
        );
    };
    let mut bad = rows(0..300);
    (bad[250].w, bad[270].price) = (f64::NAN, None);
    write(&path, &bad, Layout { group_rows: 100, ..PAGES_OF_100 });
    let weighted = |column: &str| Sampler::exactly(1).weighted_by(column);
    let per = |column: &str| Sampler::at_most(1).per(column);
    let column = ErrorKind::BadColumn;
    check(&weighted("x"), column, "FILE: column x: there is none in the schema");
    check(&per("x"), column, "FILE: column x: there is none in the schema");
    let number = Sampler::at_most(1).per(Column::Number(10));
    check(&number, column, "FILE: column number 10: there is none in the schema");
    let nested = "it is nested: a key or weight is a single value in each row";
    check(&per("list"), column, &format!("FILE: column list: {nested}"));
    check(&weighted("g"), column, &format!("FILE: column g: {nested}"));
    check(&weighted("flag"), column, "FILE: column flag: it holds no numbers");
    let weight = ErrorKind::BadWeight;
    let finite = "it must be 0 or more, and finite";
    check(
        &weighted("w"),
        weight,
        &format!("FILE: column w: record 251: a weight of NaN: {finite}"),
    );
    let null = "FILE: column price: record 271: a weight of null: not a number";
    check(&weighted("price"), weight, null);
    let text = "FILE: column kind: record 1: a weight of \"a\": not a number";
    check(&weighted("kind"), weight, text);
    bad[250].w = -1.0;
    write(&path, &bad, PAGES_OF_100);
    check(&weighted("w"), weight, &format!("FILE: column w: record 251: a weight of -1: {finite}"));
    let few = "61 records of each kind were requested, but \"\" has 60";
    check(&Sampler::exactly(61).per("kind"), ErrorKind::TooFew, few);
    write(&path, &rows(0..300), PAGES_OF_100);
    let few = "300 records were requested, but there are 257 with a weight above 0 among 300";
    check(&Sampler::exactly(300).weighted_by("w"), ErrorKind::TooFew, few);
    let request = ErrorKind::BadRequest;
    let together =
        "weights, strata, groups, replacement, inversion and systematic samples do not go together";
    check(&per("kind").weighted_by("w"), request, together);
    check(&per("kind").inverted(), request, together);
    let chance = "a probability goes neither with weights nor with replacement";
    check(&Sampler::probability(0.5).weighted_by("w"), request, chance);
    let function = Sampler::exactly(1).weighted_with(|_| 1.0);
    check(&function, request, "a row of Parquet has no text to weigh: name a column");
    // The stratum of what is missing is one, too.
    assert_eq!(draw(&per("kind"), std::slice::from_ref(&path), &rows(0..300)).len(), 4);
}

#[test]
fn a_split_that_cannot_be_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows");
    write(&path, &rows(0..300), PAGES_OF_100);
    let check = |sampler: &Sampler, shares: &[f64], text: &str| {
        let error = sampler.split_parquet([&path], shares, &mut [&mut Vec::new(), &mut Vec::new()]);
        assert_eq!(error.unwrap_err().to_string(), text);
    };
    let all = Sampler::probability(1.0);
    check(&all, &[1.0], "a split needs a share for each output");
    check(&all, &[1.0, -1.0], "the shares of a split must be 0 or more, and not all 0");
    let order = "a split takes all records: it goes with strata or a random order, and with no \
                 other choice";
    let strata = "rows of Parquet are not split by strata";
    check(&Sampler::probability(1.0).per("kind"), &[1.0, 1.0], strata);
    check(&Sampler::probability(1.0).inverted(), &[1.0, 1.0], order);
    let stopped = Sampler::probability(1.0).watched(|_| false);
    check(&stopped, &[1.0, 1.0], &format!("{}: stopped", path.display()));
}
