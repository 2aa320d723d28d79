//! Row groups as parts: sketches that are merged, and counts from which ranks are drawn, give the
//! rows that one process draws, however the files are divided.

use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use record_sampler::{ErrorKind, ParquetPart, Sampler, Sketch};

use crate::parquet_rows::{Layout, rows, write};

/// Two files with row groups of 50 rows, and one without rows.
fn files(dir: &Path) -> Vec<PathBuf> {
    let layout = Layout { group_rows: 50, page_rows: 7, has_index: true, has_dictionary: true };
    [(0..430), (430..430), (430..900)]
        .into_iter()
        .map(|ids| {
            let path = dir.join(format!("{}-{}.parquet", ids.start, ids.end));
            write(&path, &rows(ids), layout);
            path
        })
        .collect()
}

fn ids(bytes: Vec<u8>) -> Vec<i64> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.map(|row| row.get_long(0).unwrap()).collect()
}

fn drawn(sampler: &Sampler, paths: &[PathBuf]) -> Vec<i64> {
    let mut out = Vec::new();
    sampler.write_parquet(paths, &mut out).unwrap();
    ids(out)
}

/// The parts of five partitionings, the last of which has whole files.
fn partitionings(paths: &[PathBuf]) -> Vec<Vec<ParquetPart>> {
    [1, 100, 150, 333, u64::MAX].map(|rows| ParquetPart::divide(paths, rows).unwrap()).into()
}

#[test]
fn files_are_divided_into_whole_row_groups() {
    let dir = tempfile::tempdir().unwrap();
    let paths = files(dir.path());
    let divided = partitionings(&paths);
    assert_eq!(divided.iter().map(Vec::len).collect::<Vec<_>>(), [9 + 1 + 10, 5 + 1 + 5, 8, 5, 3]);
    for parts in divided {
        let counts = parts.iter().map(|part| part.count().unwrap());
        assert_eq!(counts.sum::<u64>(), 900);
        let borders = |two: &[ParquetPart]| two[0].file != two[1].file || two[0].to == two[1].from;
        assert!(parts.windows(2).all(borders));
    }
}

#[test]
fn counts_and_ranks_give_the_rows_of_one_process() {
    let dir = tempfile::tempdir().unwrap();
    let paths = files(dir.path());
    for sampler in [
        Sampler::exactly(0),
        Sampler::exactly(70),
        Sampler::exactly(900),
        Sampler::probability(0.3),
        Sampler::exactly(70).systematic(),
        Sampler::exactly(70).inverted(),
    ] {
        let sampler = sampler.seed(9);
        let expected = drawn(&sampler, &paths);
        for parts in partitionings(&paths) {
            let counts: Vec<u64> = parts.iter().map(|part| part.count().unwrap()).collect();
            let ranks = sampler.ranks(&counts).unwrap();
            let fetched = parts.iter().zip(ranks).flat_map(|(part, ranks)| {
                let mut out = Vec::new();
                assert_eq!(part.fetch(&ranks, &mut out).unwrap(), ranks.len() as u64);
                ids(out)
            });
            assert_eq!(fetched.collect::<Vec<i64>>(), expected);
        }
    }
}

#[test]
fn merged_sketches_give_the_rows_of_one_process() {
    let dir = tempfile::tempdir().unwrap();
    let paths = files(dir.path());
    let mut samples = Vec::new();
    for sampler in [
        Sampler::exactly(70),
        Sampler::at_most(2000),
        Sampler::exactly(70).weighted_by("w"),
        Sampler::at_most(9).per("kind"),
        Sampler::exactly(50).stratified_by("kind"),
    ] {
        let sampler = sampler.seed(9);
        let expected = drawn(&sampler.clone().mergeable(), &paths);
        let mut digests = Vec::new();
        for mut parts in partitionings(&paths) {
            let sketches = |part| {
                let sketch: Sketch = sampler.sketch_parquet(part).unwrap();
                Sketch::from_bytes(&sketch.to_bytes()).unwrap()
            };
            parts.reverse();
            let merged = parts.iter().map(sketches).reduce(|one, two| one.merge(two).unwrap());
            let merged = merged.unwrap();
            parts.reverse();
            let fetched = parts.iter().flat_map(|part| {
                let mut out = Vec::new();
                let n = part.fetch_sketched(&merged, &mut out).unwrap();
                let ids = ids(out);
                assert_eq!(ids.len() as u64, n);
                ids
            });
            assert_eq!(fetched.collect::<Vec<i64>>(), expected);
            assert_eq!(merged.seen(), 900);
            digests.push(merged.to_bytes());
        }
        digests.dedup();
        assert_eq!(digests.len(), 1);
        samples.push(expected);
    }
    assert_eq!(samples[1], (0..900).collect::<Vec<i64>>());
    assert!(samples[0] != samples[2] && samples[2].iter().all(|id| id % 7 != 0));
    assert_eq!((samples[3].len(), samples[4].len()), (4 * 9, 50));
}

#[test]
fn each_row_is_equally_probable() {
    let dir = tempfile::tempdir().unwrap();
    let paths = files(dir.path());
    let parts = ParquetPart::divide(&paths, 200).unwrap();
    let mut counts = [0u32; 18];
    for seed in 0..400 {
        let sampler = Sampler::exactly(45).seed(seed);
        let sketches = parts.iter().map(|part| sampler.sketch_parquet(part).unwrap());
        let merged = sketches.reduce(|one, two| one.merge(two).unwrap()).unwrap();
        for part in &parts {
            let mut out = Vec::new();
            part.fetch_sketched(&merged, &mut out).unwrap();
            for id in ids(out) {
                counts[id as usize / 50] += 1;
            }
        }
    }
    let chi: f64 = counts.iter().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
    // 17 degrees of freedom: beyond this once in 10⁷.
    assert!(chi < 68.0, "{chi} {counts:?}");
}

#[test]
fn what_does_not_fit_a_part_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let paths = files(dir.path());
    let part = ParquetPart::new(0, &paths[0]).groups(2, 4);
    let fetch = |ranks: &[u64]| part.fetch(ranks, &mut Vec::new()).map_err(|error| error.kind());
    assert_eq!(fetch(&[0, 99]), Ok(2));
    assert_eq!(fetch(&[100]), Err(ErrorKind::Changed));
    assert_eq!(fetch(&[5, 5]), Err(ErrorKind::BadRequest));
    let kind = |sampler: Sampler| sampler.sketch_parquet(&part).map_err(|error| error.kind());
    assert_eq!(kind(Sampler::exactly(5).shuffled()).unwrap_err(), ErrorKind::BadRequest);
    assert_eq!(kind(Sampler::probability(0.5)).unwrap_err(), ErrorKind::BadRequest);
    assert_eq!(kind(Sampler::exactly(5).weighted_by("flag")).unwrap_err(), ErrorKind::BadColumn);
    let sketch = Sampler::exactly(101).sketch_parquet(&part).unwrap();
    let few = part.fetch_sketched(&sketch, &mut Vec::new()).map_err(|error| error.kind());
    assert_eq!(few, Err(ErrorKind::TooFew));
}
