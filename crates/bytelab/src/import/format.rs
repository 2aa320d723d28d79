//! The formats, and where the text of a file comes from.

/// The program that wrote the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Hyperfine,
    GoogleBenchmark,
    Go,
    Criterion,
    Fio,
    /// Our own format, from `bytelab export --format json`.
    Json,
}

/// All formats: the word of the flag, the format, and its description.
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

/// What is known of the file besides its content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// The path as the user gave it.
    pub(crate) file: &'a str,
    /// The modification time: RFC 3339, UTC.
    pub(crate) written: &'a str,
}

/// The files of a directory: the relative path and the content of each.
pub(crate) type Folder = Vec<(String, Vec<u8>)>;
