//! Parquet by every codec, and by one that cannot be read.

use std::fs;
use std::path::Path;

use ::parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use record_sampler::{ErrorKind, Sampler};

use crate::files::file;
use crate::parquet::{row, rows, write};

fn codecs() -> [Compression; 7] {
    [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
    ]
}

#[test]
fn rows_of_every_codec_are_drawn_and_keep_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = [dir.path().join("rows")];
    for codec in codecs() {
        write(&path[0], &[0..500, 500..1000], true, codec);
        let mut out = Vec::new();
        Sampler::at_most(u64::MAX).write_parquet(&path, &mut out).unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(out.clone())).unwrap();
        let kept = reader.metadata().row_group(0).column(1).compression();
        assert_eq!(std::mem::discriminant(&kept), std::mem::discriminant(&codec), "{codec}");
        assert_eq!(rows(out), (0..1000).map(row).collect::<Vec<_>>(), "{codec}");
        let sampler = Sampler::exactly(3).weighted_by("id");
        assert_eq!(sampler.write_parquet(&path, &mut Vec::new()).unwrap().taken, 3, "{codec}");
    }
}

/// Gives a column of the last row group another codec, in the footer alone.
fn with_codec(path: &Path, column: &str, from: u8, to: u8) -> Vec<u8> {
    let mut bytes = fs::read(path).unwrap();
    // The end of the path, then the codec as a thrift enum: numbers are doubled.
    let pattern = [column.as_bytes(), &[0x15, 2 * from, 0x16]].concat();
    let at = bytes.windows(pattern.len()).rposition(|bytes| bytes == pattern).unwrap();
    bytes[at + column.len() + 1] = 2 * to;
    bytes
}

#[test]
fn a_codec_that_cannot_be_read_is_named_with_file_and_column() {
    let dir = tempfile::tempdir().unwrap();
    let sound = dir.path().join("sound");
    write(&sound, &[0..200, 200..300], true, Compression::SNAPPY);
    let (snappy, lzo) = (1, 3);
    let odd = file(dir.path(), "odd", with_codec(&sound, "name", snappy, lzo));
    let outs: &mut [&mut (dyn std::io::Write + Send)] = &mut [&mut Vec::new()];
    for paths in [&[&odd][..], &[&sound, &odd]] {
        let one = Sampler::exactly(1);
        let by_another = Sampler::exactly(1).weighted_by("id");
        for error in [
            one.write_parquet(paths, &mut Vec::new()).unwrap_err(),
            by_another.write_parquet(paths, &mut Vec::new()).unwrap_err(),
            Sampler::probability(1.0).split_parquet(paths, &[1.0], outs).unwrap_err(),
        ] {
            let expected = format!(
                "{}: column \"name\" of row group 1 is compressed by LZO, which is not supported: \
                 write the file by another codec",
                odd.display()
            );
            assert_eq!((error.kind(), error.to_string()), (ErrorKind::BadRequest, expected));
        }
    }
    let unknown = file(dir.path(), "unknown", with_codec(&sound, "name", snappy, 40));
    let error = Sampler::exactly(1).write_parquet([&unknown], &mut Vec::new()).unwrap_err();
    assert!(error.to_string().starts_with(unknown.to_str().unwrap()), "{error}");
}
