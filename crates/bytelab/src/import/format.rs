//! The formats, and what is known of a file beside its text.

/// Who wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Hyperfine,
    GoogleBenchmark,
    Go,
    Criterion,
    Fio,
    /// Our own, of `bytelab export --format json`.
    Json,
}

/// All formats: the word of the flag, and what it stands for.
pub(crate) const FORMATS: [(&str, Format, &str); 6] = [
    ("hyperfine", Format::Hyperfine, "hyperfine --export-json"),
    ("google-benchmark", Format::GoogleBenchmark, "Google Benchmark's --benchmark_format=json"),
    ("go", Format::Go, "the text of go test -bench"),
    ("criterion", Format::Criterion, "criterion's directory target/criterion"),
    ("fio", Format::Fio, "fio --output-format=json or json+"),
    ("json", Format::Json, "bytelab export --format json"),
];

impl Format {
    pub(crate) fn name(self) -> &'static str {
        FORMATS.iter().find(|(_, format, _)| *format == self).map_or("", |(name, ..)| name)
    }

    pub(crate) fn about(self) -> &'static str {
        FORMATS.iter().find(|(_, format, _)| *format == self).map_or("", |(.., about)| about)
    }
}

/// What is known of the file beside what stands in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// As it was named.
    pub(crate) file: &'a str,
    /// RFC 3339, UTC: when it was written.
    pub(crate) written: &'a str,
}

/// What a directory holds of it: the path below it, and the file's text.
pub(crate) type Folder = Vec<(String, Vec<u8>)>;
