//! The flags of `bytelab sample`, and the sampler that they describe.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};
use clap::{ArgGroup, Args, ValueEnum};
use lab::param::parse_bytes;
use record_sampler::{Column, Format, Method, Sampler};

#[derive(Args)]
#[command(after_help = AFTER)]
#[command(group = ArgGroup::new("amount").required(true).args(["count", "probability", "per", "split"]))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct SampleArgs {
    /// Files, or patterns of files, which are sampled together; `-`, or none, is standard input.
    /// Files named .gz, .zst and .br are decompressed
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Draw exactly N records, without repetition: `1000000` or `1e6`
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_count)]
    pub(super) count: Option<u64>,
    /// Draw each record with this probability: `0.1` or `10%`
    #[arg(short = 'p', long, value_name = "P", value_parser = parse_share)]
    pub(super) probability: Option<f64>,
    /// Draw N records for each value of the column KEY, or a percentage of them: `city=10`,
    /// `city=5%`
    #[arg(long, value_name = "KEY=N")]
    pub(super) per: Option<Per>,
    /// Write every record to one of several files, by shares: `train.csv=0.8,test.csv=0.2`
    #[arg(long, value_name = "FILE=SHARE,…", conflicts_with = "output")]
    pub(super) split: Option<Parts>,
    /// Draw whole groups, each with all its records: `-n N` or `-p P` of the values of the column
    /// KEY
    #[arg(long, value_name = "KEY", conflicts_with_all = ["per", "split"])]
    pub(super) groups: Option<String>,
    /// If there are fewer than N records, draw all of them
    #[arg(long)]
    pub(super) at_most: bool,
    /// The record format: lines, csv, tsv, jsonl, fixed:BYTES, or parquet, if bytelab is built with
    /// that feature
    #[arg(short, long, value_name = "FORMAT", default_value = "lines")]
    pub(super) format: FormatFlag,
    /// The first record of each file is a header, which is the same in all files: it is written
    /// once, before the records
    #[arg(long)]
    pub(super) header: bool,
    /// Files may have different headers: the first header is written, and columns are matched to it
    /// by name
    #[arg(long, requires = "header")]
    pub(super) mixed_headers: bool,
    /// The maximum size of a CSV record, or of another record that must be held in memory [default:
    /// 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(super) max_record: Option<u64>,
    /// The same seed gives the same records [default: a different one each time]
    #[arg(long, value_name = "SEED")]
    pub(super) seed: Option<u64>,
    /// Write records in random order instead of the order of the files
    #[arg(long)]
    pub(super) shuffle: bool,
    /// For --shuffle: the memory for records; others are kept in a temporary file in $TMPDIR
    /// [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, requires = "shuffle")]
    pub(super) memory: Option<u64>,
    /// Write the records that would not be drawn
    #[arg(long)]
    pub(super) invert: bool,
    /// Draw with replacement: each record is drawn from all of them
    #[arg(long, requires = "count")]
    pub(super) with_replacement: bool,
    /// Draw records at equal distances from a random start
    #[arg(long, requires = "count")]
    pub(super) systematic: bool,
    /// Draw records with probabilities proportional to this column
    #[arg(long, value_name = "COLUMN", requires = "count")]
    pub(super) weight: Option<String>,
    /// Draw the sample that record-sampler's sketches of parts of the files give when they are
    /// merged, in whatever parts and order: another one than without this flag
    #[arg(long, conflicts_with_all = ["probability", "split", "invert", "with_replacement", "systematic", "index"])]
    pub(super) mergeable: bool,
    /// Write to this file, which appears when it is complete [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Store an index of the lines in FILE.nlx, so that the next sample reads only what it needs
    #[arg(long)]
    pub(super) index: bool,
    /// How records are fetched
    #[arg(long, value_enum, default_value = "auto")]
    pub(super) method: MethodFlag,
    /// For --method probe: the minimum length of a line, including its line end
    #[arg(long, value_name = "BYTES", default_value = "1")]
    pub(super) min_length: u32,
    /// Write the seed, the files with their sizes and digests, and the command that draws the same
    /// sample again, to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) manifest: Option<PathBuf>,
    /// Report on standard error what was read, how, and why
    #[arg(long)]
    pub(super) stats: bool,
}

const AFTER: &str = "A column is a name of the header, of a JSON member or of a column of Parquet, or the number of a column of CSV.\n\
                     A KEY may have several, with commas between them: `--per city,kind=10`.\n\
                     Parquet goes with neither --shuffle nor --with-replacement.\n\
                     Exit status: 0 all went well; 1 the records could not be drawn; 2 wrong use.";

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum MethodFlag {
    /// The method with the lowest expected cost
    Auto,
    /// One read for each record
    Pread,
    /// Map the file
    Mmap,
    /// Large sequential reads
    Sequential,
    /// Lines at random offsets; long lines are rejected with the probability that makes the sample
    /// exact, and no lines are counted
    Probe,
    /// `io_uring` with many reads in flight: for records of a fixed size on a device
    #[cfg(target_os = "linux")]
    Uring,
    /// One pass over all records
    Stream,
}

/// The value `KEY=N` or `KEY=P%`.
#[derive(Clone)]
pub(super) struct Per {
    key: String,
    amount: PerAmount,
}

#[derive(Clone, Copy)]
enum PerAmount {
    Count(u64),
    Share(f64),
}

impl FromStr for Per {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Per> {
        let (key, amount) = text.rsplit_once('=').context("not KEY=N")?;
        let amount = match amount.strip_suffix('%') {
            Some(share) => PerAmount::Share(per_cent(share)?),
            None => PerAmount::Count(parse_count(amount)?),
        };
        Ok(Per { key: non_empty(key, text)?.to_owned(), amount })
    }
}

/// The value `FILE=SHARE,…`.
#[derive(Clone)]
pub(super) struct Parts(pub(super) Vec<(PathBuf, f64)>);

impl FromStr for Parts {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Parts> {
        let mut parts: Vec<(PathBuf, f64)> = Vec::new();
        for part in text.split(',') {
            let (path, share) = part.rsplit_once('=').context("not FILE=SHARE,…")?;
            let path = PathBuf::from(non_empty(path, part)?);
            let share: f64 =
                share.parse().ok().with_context(|| format!("{share} is not a number"))?;
            ensure!(share.is_finite() && share > 0.0, "{share} is not a share above 0");
            parts.push((path, share));
        }
        Ok(Parts(parts))
    }
}

/// The value `lines`, `csv`, `tsv`, `jsonl` or `fixed:64`; `None` for `parquet`, whose records are
/// not byte ranges of the file.
#[derive(Clone, Copy)]
pub(super) struct FormatFlag(pub(super) Option<Format>);

impl FromStr for FormatFlag {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<FormatFlag> {
        Ok(FormatFlag(Some(match text {
            "lines" => Format::Lines,
            "csv" => Format::Csv { delimiter: b',' },
            "tsv" => Format::Csv { delimiter: b'\t' },
            "jsonl" => Format::JsonLines,
            "parquet" => {
                ensure!(
                    cfg!(feature = "parquet"),
                    "this bytelab is built without it; cargo install --path crates/bytelab --features parquet"
                );
                return Ok(FormatFlag(None));
            }
            _ => match text.strip_prefix("fixed:") {
                Some(bytes) => Format::Fixed(parse_bytes(bytes)?),
                None => {
                    bail!("unknown format, allowed is lines, csv, tsv, jsonl, parquet, fixed:BYTES")
                }
            },
        })))
    }
}

impl SampleArgs {
    pub(super) fn sampler(&self, seed: u64) -> Sampler {
        let mut sampler = match (self.count, self.probability, &self.per) {
            (Some(n), ..) if self.at_most => Sampler::at_most(n),
            (Some(n), ..) => Sampler::exactly(n),
            (_, Some(p), _) => Sampler::probability(p),
            (_, _, Some(Per { key, amount })) => match amount {
                PerAmount::Count(n) if self.at_most => Sampler::at_most(*n),
                PerAmount::Count(n) => Sampler::exactly(*n),
                PerAmount::Share(p) => Sampler::probability(*p),
            }
            .per(self.key(key)),
            _ => Sampler::probability(1.0),
        };
        let method = match self.method {
            MethodFlag::Auto => Method::Auto,
            MethodFlag::Pread => Method::Pread,
            MethodFlag::Mmap => Method::Mmap,
            MethodFlag::Sequential => Method::Sequential,
            MethodFlag::Probe => Method::Probe { min_len: self.min_length },
            #[cfg(target_os = "linux")]
            MethodFlag::Uring => Method::Uring,
            MethodFlag::Stream => Method::Stream,
        };
        sampler = sampler.seed(seed).by(method);
        if let Some(weight) = &self.weight {
            sampler = sampler.weighted_by(self.column(weight));
        }
        if self.shuffle {
            sampler = sampler.shuffled();
        }
        if let Some(bytes) = self.memory {
            sampler = sampler.with_memory(bytes);
        }
        if self.invert {
            sampler = sampler.inverted();
        }
        if self.with_replacement {
            sampler = sampler.with_replacement();
        }
        if self.systematic {
            sampler = sampler.systematic();
        }
        if self.index {
            sampler = sampler.with_index();
        }
        if let Some(key) = &self.groups {
            sampler = sampler.groups(self.key(key));
        }
        if self.mergeable {
            sampler = sampler.mergeable();
        }
        sampler
    }

    /// One column, or several with commas between them; a comma in a name follows a backslash.
    fn key(&self, text: &str) -> Column {
        let (mut names, mut letters) = (vec![String::new()], text.chars().peekable());
        while let Some(letter) = letters.next() {
            match (letter, letters.peek(), names.last_mut()) {
                (',', ..) => names.push(String::new()),
                ('\\', Some(','), Some(name)) => name.extend(letters.next()),
                (_, _, Some(name)) => name.push(letter),
                _ => {}
            }
        }
        match names.as_slice() {
            [name] => self.column(name),
            names => Column::Several(names.iter().map(|name| self.column(name)).collect()),
        }
    }

    /// With a header, a column has a name, and the name may be `2`.
    fn column(&self, text: &str) -> Column {
        match text.parse() {
            Ok(number) if !self.header && matches!(self.format.0, Some(Format::Csv { .. })) => {
                Column::Number(number)
            }
            _ => Column::from(text),
        }
    }
}

/// A whole number, also in scientific notation if it is exact: `1e6`, `2.5e6`.
fn parse_count(text: &str) -> Result<u64> {
    /// Above it not every whole number is a floating point number.
    const MOST_EXACT: f64 = (1u64 << 53) as f64;
    if let Ok(count) = text.parse() {
        return Ok(count);
    }
    let number: Option<f64> = text.parse().ok().filter(|_| text.contains(['e', 'E']));
    let count = number.filter(|number| number.fract() == 0.0);
    let count = count.filter(|number| (0.0..=MOST_EXACT).contains(number));
    count.map(|number| number as u64).context("N is not a whole number (examples: 1000, 1e6)")
}

/// A probability, also in per cent. Whether it is one is examined by the sampler.
fn parse_share(text: &str) -> Result<f64> {
    match text.strip_suffix('%') {
        Some(share) => per_cent(share),
        None => text.parse().ok().context("not a probability (examples: 0.1, 10%)"),
    }
}

fn per_cent(text: &str) -> Result<f64> {
    let share: f64 = text.parse().ok().context("not a number of per cent")?;
    ensure!((0.0..=100.0).contains(&share), "{share} % is not from 0 to 100");
    Ok(share / 100.0)
}

/// Fails if the share or number has no name.
pub(super) fn non_empty<'a>(name: &'a str, text: &str) -> Result<&'a str> {
    ensure!(!name.is_empty(), "{text}: a name is missing before the =");
    Ok(name)
}
