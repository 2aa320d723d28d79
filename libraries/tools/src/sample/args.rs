//! The flags of `bytelab sample` and their values, and the sampler that they describe.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail, ensure};
use byte_stream::parse_bytes;
use clap::{ArgGroup, Args, Command, FromArgMatches, ValueEnum};
use record_sampler::{
    Column, FetchMethod, Format, FoundBy, HeaderRule, Layout, LayoutChoice, Sampler,
};

#[derive(Args, Default)]
#[cfg_attr(test, derive(Debug))]
#[command(after_help = AFTER)]
#[command(group = ArgGroup::new("amount").required(true).multiple(true).args(["count", "probability", "per", "split"]))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct SampleArgs {
    /// Files, or patterns of files, which are sampled together; `-`, or none, is standard input.
    /// Files named .gz, .zst and .br are decompressed. URLs (http, https) and objects of buckets
    /// (`s3://BUCKET/KEY` or a pattern) are read once, from start to end
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// Draw exactly N records, without repetition: `1000000` or `1e6`; or `10%` of all, in whole
    /// records
    #[arg(short = 'n', long, value_name = "N", allow_hyphen_values = true)]
    pub(super) count: Option<CountFlag>,
    /// Draw each record with this probability: `0.1` or `10%`
    #[arg(short = 'p', long, value_name = "P", value_parser = parse_share, allow_hyphen_values = true)]
    pub(super) probability: Option<f64>,
    /// Draw N records for each value of the column KEY, or a percentage of them: `city=10`,
    /// `city=5%`
    ///
    /// A percentage is rounded to whole records at random, so that each record has this
    /// probability. In jsonl, 1 and 1.0 are one value, 1 and "1" are two, and blank lines are no
    /// records
    #[arg(long, value_name = "KEY=N")]
    pub(super) per: Option<PerKeyFlag>,
    /// Draw the same share of each value of the column KEY as of all: `-n N` in total, or `-p P` of
    /// each; with --split, divide each of them by the shares
    #[arg(long, value_name = "KEY", conflicts_with_all = ["per", "groups", "weight"])]
    pub(super) stratify: Option<String>,
    /// Write every record to one of several files, by shares that add up to 1:
    /// `train.csv=80%,test.csv=0.2`
    #[arg(long, value_name = "FILE=SHARE,…", conflicts_with = "output")]
    pub(super) split: Option<SplitFlag>,
    /// With --split: the file for the records that its shares leave
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "split")]
    pub(super) rest: Option<PathBuf>,
    /// Draw whole groups, each with all its records: `-n N` or `-p P` of the values of the column
    /// KEY
    #[arg(long, value_name = "KEY", conflicts_with_all = ["per", "split"])]
    pub(super) groups: Option<String>,
    /// If there are fewer than N records, draw all of them
    #[arg(long)]
    pub(super) at_most: bool,
    /// The record format: lines, csv, tsv, jsonl, fixed:BYTES, vcf, gff, sam, bed, tped, hapmap,
    /// fastq, fasta, plink-bed (beside FILE.fam) or plink-bed:SAMPLES; or parquet, if bytelab is
    /// built with that feature [default: by the endings of names, as in x.csv.gz, else by the first
    /// bytes of files, else lines; standard input is lines]
    #[arg(short, long, value_name = "FORMAT")]
    pub(super) format: Option<FormatFlag>,
    /// The fields of csv or tsv are separated by this byte: a character of one byte, or `\\t`,
    /// `\\x1e` [default: what the header shows, if that is clear, else a comma; a tab for tsv]
    #[arg(short, long, value_name = "BYTE", value_parser = parse_byte)]
    pub(super) delimiter: Option<u8>,
    /// Lines end with a zero byte, as `find -print0` writes them
    #[arg(short, long, conflicts_with_all = ["separator", "lines_per_record"])]
    pub(super) zero_terminated: bool,
    /// Lines end with this byte: a character of one byte, or `\\t`, `\\0`, `\\x1e`
    #[arg(long, hide_short_help = true, value_name = "BYTE", value_parser = parse_byte, conflicts_with = "lines_per_record")]
    pub(super) separator: Option<u8>,
    /// A record has this many lines
    #[arg(long, hide_short_help = true, value_name = "LINES", allow_negative_numbers = true)]
    pub(super) lines_per_record: Option<u64>,
    /// The first record of each file is a header, which is written once, before the records. csv
    /// and tsv have one by default
    #[arg(long, conflicts_with_all = ["no_header", "header_lines", "header_prefix", "header_bytes"])]
    pub(super) header: bool,
    /// There is no header, even for csv and tsv
    #[arg(long, conflicts_with_all = ["header_lines", "header_prefix", "header_bytes"])]
    pub(super) no_header: bool,
    /// The first N lines of each file are its header
    #[arg(long, hide_short_help = true, value_name = "N", allow_negative_numbers = true, conflicts_with_all = ["header_prefix", "header_bytes"])]
    pub(super) header_lines: Option<u64>,
    /// The lines at the start of each file that begin with this text are its header
    #[arg(long, hide_short_help = true, value_name = "TEXT", conflicts_with = "header_bytes")]
    pub(super) header_prefix: Option<String>,
    /// The first N bytes of each file, before records of a fixed size, are its header
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_bytes)]
    pub(super) header_bytes: Option<u64>,
    /// Files may have different headers: the first header is written, records are not rearranged,
    /// and columns are where the first header has them
    #[arg(long, hide_short_help = true)]
    pub(super) mixed_headers: bool,
    /// The maximum size of a CSV record, or of another record that must be held in memory [default:
    /// 64MiB]
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = parse_bytes)]
    pub(super) max_record: Option<u64>,
    /// The same seed gives the same records [default: a random one]
    #[arg(long, value_name = "SEED", allow_negative_numbers = true)]
    pub(super) seed: Option<u64>,
    /// Write records in random order instead of the order of the files
    #[arg(long)]
    pub(super) shuffle: bool,
    /// For --shuffle: the memory for records; others are kept in a temporary file in $TMPDIR
    /// [default: 256MiB]
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = parse_bytes, requires = "shuffle")]
    pub(super) memory: Option<u64>,
    /// Write the records that would not be drawn
    #[arg(long)]
    pub(super) invert: bool,
    /// Draw with replacement: each record is drawn from all of them
    #[arg(long, requires = "count")]
    pub(super) with_replacement: bool,
    /// Draw records at equal distances from a random start
    #[arg(long, hide_short_help = true, requires = "count")]
    pub(super) systematic: bool,
    /// Draw records with probabilities proportional to this column
    #[arg(long, value_name = "COLUMN", requires = "count")]
    pub(super) weight: Option<String>,
    /// Draw the sample that merged sketches of parts of the files give, whatever the parts and
    /// their order; it differs from the sample without this flag
    #[arg(long, hide_short_help = true, conflicts_with_all = ["probability", "split", "invert", "with_replacement", "systematic", "index"])]
    pub(super) mergeable: bool,
    /// Add to each record the probability with which it is in the sample: as the last column of
    /// CSV, the last member of JSON Lines, or behind a tab for lines
    #[arg(long, conflicts_with_all = ["weight", "with_replacement", "split"])]
    pub(super) with_probability: bool,
    /// Write to this file, which appears when it is complete [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Replace outputs that already exist
    #[arg(long, hide_short_help = true)]
    pub(super) force: bool,
    /// Store an index of the lines in FILE.nlx, so that the next sample reads only what it needs
    ///
    /// For URLs and objects, the index must be beside each: it is that of the file with the same
    /// bytes, and then only ranges are requested. Parquet needs no index for that
    #[arg(long)]
    pub(super) index: bool,
    /// How records are fetched
    #[arg(long, value_enum, default_value = "auto")]
    pub(super) method: MethodFlag,
    /// For --method probe: the minimum length of a line, including its line end
    #[arg(long, hide_short_help = true, value_name = "BYTES", default_value_t = MIN_LENGTH)]
    pub(super) min_length: u32,
    /// Do not sign requests to buckets, and look for no keys: for public objects. Otherwise keys,
    /// region and endpoint are found as by AWS's own programs, by `AWS_ACCESS_KEY_ID`,
    /// `AWS_PROFILE`, `AWS_REGION`, `AWS_ENDPOINT_URL` and their other variables, in profiles, in
    /// containers and on instances
    #[arg(long, hide_short_help = true)]
    pub(super) no_sign_request: bool,
    /// Write the seed, the files with their sizes and digests, and the command that draws the same
    /// sample again, to this file, as JSON
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(super) manifest: Option<PathBuf>,
    /// Report on standard error what was read, how, and why
    #[arg(long)]
    pub(super) stats: bool,
}

const AFTER: &str = "A column is a name of the header, of a JSON member or of a column of Parquet, or the number of a column of CSV or of lines with fields.\n\
                     A KEY may have several, with commas between them: `--per city,kind=10`.\n\
                     If the content of a file shows its format or delimiter, one line on standard error says so.\n\
                     Parquet cannot be combined with --shuffle, --with-replacement and --groups.\n\
                     Exit status: 0 all went well; 1 the records could not be drawn; 2 wrong use.";

/// The value of `--min-length` that is always valid.
const MIN_LENGTH: u32 = 1;

#[derive(Clone, Copy, Default, ValueEnum)]
#[cfg_attr(test, derive(Debug))]
pub(super) enum MethodFlag {
    /// The method with the lowest expected cost
    #[default]
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

impl SampleArgs {
    /// The arguments of a command line that begins with the name of the subcommand; `None` if they
    /// are not valid. Of files at its end only the first one, which may be the value of an option,
    /// passes through the parser: for thousands of small files that takes as long as reading a
    /// tenth of them.
    pub fn of_words(words: &[OsString]) -> Option<SampleArgs> {
        if let Some(args) = SampleArgs::of_plain_words(words) {
            return Some(args);
        }
        let may_be_file = |word: &&OsString| !matches!(word.as_bytes(), [] | [b'-', ..]);
        let last = words.iter().rev().take_while(may_be_file).count();
        let (parsed, files) = words.split_at(words.len() - last.saturating_sub(1));
        let command = SampleArgs::augment_args(Command::new("sample"));
        let mut matches = command.try_get_matches_from(parsed).ok()?;
        let mut args = SampleArgs::from_arg_matches_mut(&mut matches).ok()?;
        args.files.extend(files.iter().map(PathBuf::from));
        Some(args)
    }

    /// The arguments of the most frequent command lines: describing all options to the parser
    /// takes longer than such a sample of a small file. `None` if there is another option, or
    /// something wrong.
    fn of_plain_words(words: &[OsString]) -> Option<SampleArgs> {
        let mut args = SampleArgs { min_length: MIN_LENGTH, ..SampleArgs::default() };
        let mut words = words.iter().skip(1);
        while let Some(word) = words.next() {
            match word.as_bytes() {
                b"-n" if args.count.is_none() => {
                    args.count = Some(words.next()?.to_str()?.parse().ok()?);
                }
                b"--seed" if args.seed.is_none() => {
                    args.seed = Some(words.next()?.to_str()?.parse().ok()?);
                }
                b"--index" if !args.index => args.index = true,
                [] | [b'-', ..] => return None,
                _ => args.files.push(word.into()),
            }
        }
        args.count.is_some().then_some(args)
    }

    /// Fails if there is more than one amount.
    pub(super) fn check_amount(&self) -> Result<()> {
        let SampleArgs { count, probability, per, split, .. } = self;
        let amounts = [count.is_some(), probability.is_some(), per.is_some(), split.is_some()];
        if amounts.iter().filter(|is_given| **is_given).count() < 2 {
            return Ok(());
        }
        ensure!(
            split.is_none(),
            "--split writes every record: it cannot be combined with -n, -p or --per"
        );
        ensure!(per.is_none(), "--per has an amount of its own, in KEY=N: leave -n and -p out");
        bail!("-n draws a number of records, -p each one by chance: give one of them");
    }

    /// The options about the layout of the files.
    pub(super) fn layout_choice(&self) -> Result<LayoutChoice> {
        let separator = if self.zero_terminated { Some(0) } else { self.separator };
        let records = match (separator, self.lines_per_record) {
            (Some(separator), _) => Some(Format::Separated { separator }),
            (None, Some(lines)) => Some(Format::LineGroups { lines }),
            (None, None) => None,
        };
        let name = self.format.as_ref().map(|FormatFlag(name)| name.as_str());
        ensure!(
            records.is_none() || matches!(name, None | Some("lines")),
            "only --format lines has a separator, or several lines in a record; the fields of csv \
             have a --delimiter"
        );
        let mut choice = match (records, name) {
            (Some(records), _) => LayoutChoice::from_format(records),
            (None, Some(name)) => LayoutChoice::named(name),
            (None, None) => LayoutChoice::default(),
        };
        if let Some(delimiter) = self.delimiter {
            choice = choice.with_delimiter(delimiter);
        }
        let header = match (self.header_lines, &self.header_prefix, self.header_bytes) {
            _ if self.header => HeaderRule::Record,
            _ if self.no_header => HeaderRule::None,
            (Some(lines), ..) => HeaderRule::Lines(lines),
            (_, Some(prefix), _) => HeaderRule::Prefix(prefix.clone()),
            (.., Some(bytes)) => HeaderRule::Bytes(bytes),
            _ => return Ok(choice),
        };
        Ok(choice.with_header_rule(header))
    }

    /// Whether the files are Parquet, and what shows it, unless an option names the format.
    pub(super) fn parquet(&self, paths: &[PathBuf]) -> (bool, Option<FoundBy>) {
        if let Some(FormatFlag(name)) = &self.format {
            return (name == "parquet", None);
        }
        let is_named =
            self.zero_terminated || self.separator.is_some() || self.lines_per_record.is_some();
        if !cfg!(feature = "parquet") || is_named {
            return (false, None);
        }
        let found = paths.first().and_then(|path| Layout::parquet(path));
        (found.is_some(), found)
    }

    /// The parts of a split, if there is one: their shares are 1 together.
    pub(super) fn parts(&self) -> Result<Option<Vec<SplitPart>>> {
        /// More than decimal fractions lose when they are added up.
        const ROUNDING: f64 = 1e-9;
        let Some(SplitFlag(parts)) = &self.split else { return Ok(None) };
        let mut parts = parts.clone();
        let sum: f64 = parts.iter().map(|(_, share)| share).sum();
        let shown = (sum * 1e9).round() / 1e9;
        if let Some(rest) = &self.rest {
            let is_left = sum < 1.0 - ROUNDING;
            ensure!(is_left, "the shares of --split add up to {shown}: they leave no rest");
            parts.push((rest.clone(), 1.0 - sum));
        } else {
            let hint = if sum < 1.0 { "--rest FILE takes the other records" } else { PER_CENT };
            let is_all = (sum - 1.0).abs() <= ROUNDING;
            ensure!(is_all, "the shares of --split add up to {shown}, not 1: {hint}");
        }
        Ok(Some(parts))
    }

    pub(super) fn sampler(&self, seed: u64, layout: Option<&Layout>) -> Sampler {
        let mut sampler = match (self.count, self.probability, &self.per) {
            (Some(CountFlag::Number(n)), ..) if self.at_most => Sampler::at_most(n),
            (Some(CountFlag::Number(n)), ..) => Sampler::exactly(n),
            (Some(CountFlag::Share(p)), ..) => Sampler::share(p),
            (_, Some(p), _) => Sampler::probability(p),
            (_, _, Some(PerKeyFlag { key, amount })) => match amount {
                CountFlag::Number(n) if self.at_most => Sampler::at_most(*n),
                CountFlag::Number(n) => Sampler::exactly(*n),
                CountFlag::Share(p) => Sampler::probability(*p),
            }
            .per(key_columns(key, layout)),
            _ => Sampler::probability(1.0),
        };
        let method = match self.method {
            MethodFlag::Auto => FetchMethod::Auto,
            MethodFlag::Pread => FetchMethod::Pread,
            MethodFlag::Mmap => FetchMethod::Mmap,
            MethodFlag::Sequential => FetchMethod::Sequential,
            MethodFlag::Probe => FetchMethod::Probe { min_len: self.min_length },
            #[cfg(target_os = "linux")]
            MethodFlag::Uring => FetchMethod::Uring,
            MethodFlag::Stream => FetchMethod::Stream,
        };
        // `report_sigbus` handles the signal.
        sampler = sampler.seed(seed).by(method).with_mapping();
        if let Some(weight) = &self.weight {
            sampler = sampler.weighted_by(column(weight, layout));
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
        if let Some(key) = &self.stratify {
            sampler = sampler.stratified_by(key_columns(key, layout));
        }
        if let Some(key) = &self.groups {
            sampler = sampler.groups(key_columns(key, layout));
        }
        if self.mergeable {
            sampler = sampler.mergeable();
        }
        if self.with_probability {
            sampler = sampler.with_probability();
        }
        sampler
    }
}

/// One column, or several with commas between them; a comma in a name follows a backslash.
fn key_columns(text: &str, layout: Option<&Layout>) -> Column {
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
        [name] => column(name, layout),
        names => Column::Several(names.iter().map(|name| column(name, layout)).collect()),
    }
}

/// With a header that names columns, a column has a name, and the name may be `2`. Those of SAM,
/// GFF and BED have none.
fn column(text: &str, layout: Option<&Layout>) -> Column {
    let has_numbers = layout.is_some_and(|layout| {
        let is_nameless = ["sam", "gff", "bed"].contains(&layout.name.as_str());
        let has_no_names = layout.header == HeaderRule::None || is_nameless;
        has_no_names && matches!(layout.format, Format::Csv { .. } | Format::Fields { .. })
    });
    match text.parse() {
        Ok(number) if has_numbers => Column::Number(number),
        _ => Column::from(text),
    }
}

/// The value `N` or `P%`.
#[derive(Clone, Copy)]
#[cfg_attr(test, derive(Debug))]
pub(super) enum CountFlag {
    Number(u64),
    Share(f64),
}

impl FromStr for CountFlag {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<CountFlag> {
        match text.strip_suffix('%') {
            Some(share) => Ok(CountFlag::Share(per_cent(share)?)),
            None => Ok(CountFlag::Number(parse_count(text)?)),
        }
    }
}

/// The value `KEY=N` or `KEY=P%`.
#[derive(Clone)]
#[cfg_attr(test, derive(Debug))]
pub(super) struct PerKeyFlag {
    pub(super) key: String,
    pub(super) amount: CountFlag,
}

impl FromStr for PerKeyFlag {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<PerKeyFlag> {
        let (key, amount) = text.rsplit_once('=').context("not KEY=N")?;
        Ok(PerKeyFlag { amount: amount.parse()?, key: non_empty(key, text)?.to_owned() })
    }
}

/// A file of a split and its share.
pub(super) type SplitPart = (PathBuf, f64);

/// The value `FILE=SHARE,…`.
#[derive(Clone)]
#[cfg_attr(test, derive(Debug))]
pub(super) struct SplitFlag(Vec<SplitPart>);

const PER_CENT: &str = "a share is a part of 1, or per cent, such as 80%";

impl FromStr for SplitFlag {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<SplitFlag> {
        let mut parts: Vec<SplitPart> = Vec::new();
        for part in text.split(',') {
            let (path, text) = part.rsplit_once('=').context("not FILE=SHARE,…")?;
            let path = PathBuf::from(non_empty(path, part)?);
            let share: f64 = match text.strip_suffix('%') {
                Some(share) => per_cent(share)?,
                None => text.parse().ok().with_context(|| format!("{text} is not a number"))?,
            };
            ensure!(share.is_finite() && share > 0.0, "{text} is not a share above 0");
            parts.push((path, share));
        }
        Ok(SplitFlag(parts))
    }
}

/// A name of `record_sampler::Layout`, or `parquet`, whose records are not byte ranges of the file.
#[derive(Clone)]
#[cfg_attr(test, derive(Debug))]
pub(super) struct FormatFlag(pub(super) String);

impl FromStr for FormatFlag {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<FormatFlag> {
        if text == "parquet" {
            ensure!(
                cfg!(feature = "parquet"),
                "this bytelab is built without it; cargo install bytelab --locked --features parquet"
            );
        } else if let Some(bytes) = text.strip_prefix("fixed:") {
            return Ok(FormatFlag(format!("fixed:{}", parse_bytes(bytes)?)));
        } else if text != "plink-bed" {
            Layout::named(text, None).map_err(|error| anyhow!("{error}, parquet"))?;
        }
        Ok(FormatFlag(text.to_owned()))
    }
}

/// A whole number, also in scientific notation: `1e6`, `2.5e6`.
fn parse_count(text: &str) -> Result<u64> {
    const NOT_WHOLE: &str = "N is not a whole number of 0 or more (examples: 1000, 1e6)";
    let (number, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let power: i64 = power.parse().ok().context(NOT_WHOLE)?;
    let number = number.strip_prefix('+').unwrap_or(number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = [whole, fraction].concat();
    ensure!(!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()), NOT_WHOLE);
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    // N is these digits, times this power of ten.
    let zeros = digits.len() - significant.len();
    let power = power.saturating_add(zeros as i64 - fraction.len() as i64);
    ensure!(power >= 0, NOT_WHOLE);
    let tens = u32::try_from(power).ok().and_then(|power| 10u64.checked_pow(power));
    let count = significant.parse::<u64>().ok().zip(tens);
    let count = count.and_then(|(significant, tens)| significant.checked_mul(tens));
    count.with_context(|| format!("N is too large: at most {}", u64::MAX))
}

/// A probability, also in per cent. Whether it is one is examined by the sampler.
fn parse_share(text: &str) -> Result<f64> {
    match text.strip_suffix('%') {
        Some(share) => per_cent(share),
        None => text.parse().ok().context("not a probability (examples: 0.1, 10%)"),
    }
}

/// A byte as itself or by an escape.
fn parse_byte(text: &str) -> Result<u8> {
    let escaped = match text.strip_prefix('\\') {
        Some("t") => Some(b'\t'),
        Some("n") => Some(b'\n'),
        Some("r") => Some(b'\r'),
        Some("0") => Some(0),
        Some("\\") => Some(b'\\'),
        Some(text) => text.strip_prefix('x').and_then(|hex| u8::from_str_radix(hex, 16).ok()),
        None => None,
    };
    match (escaped, text.as_bytes()) {
        (Some(byte), _) => Ok(byte),
        (None, [byte]) => Ok(*byte),
        _ => bail!("not a byte (examples: ; \\t \\0 \\x1e)"),
    }
}

fn per_cent(text: &str) -> Result<f64> {
    let share: f64 = text.parse().ok().context("not a number of per cent")?;
    ensure!((0.0..=100.0).contains(&share), "{share} % is not from 0 to 100");
    Ok(share / 100.0)
}

/// Fails if the share or number has no name.
fn non_empty<'a>(name: &'a str, text: &str) -> Result<&'a str> {
    ensure!(!name.is_empty(), "{text}: a name is missing before the =");
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn parsed(line: &str) -> Option<String> {
        let command = SampleArgs::augment_args(Command::new("sample"));
        let mut matches = command.try_get_matches_from(words(line)).ok()?;
        let args = SampleArgs::from_arg_matches_mut(&mut matches).ok()?;
        Some(format!("{args:?}"))
    }

    #[test]
    fn what_does_not_pass_through_the_parser_is_what_it_would_return() {
        for (line, is_plain) in [
            ("sample -n 5", true),
            ("sample -n 10% a b c", true),
            ("sample a --seed 7 -n 1e3 --index b", true),
            ("sample -n 5 --shuffle a b c", false),
            ("sample --seed=7 -n5 a b c", false),
            ("sample -p 0.5 a b -- -c", false),
            ("sample -n 5 - a", false),
            ("sample --per k=3 a b c --force", false),
        ] {
            let shown = |args: SampleArgs| format!("{args:?}");
            assert_eq!(SampleArgs::of_words(&words(line)).map(shown), parsed(line), "{line}");
            assert_eq!(SampleArgs::of_plain_words(&words(line)).is_some(), is_plain, "{line}");
        }
        for line in [
            "sample",
            "sample a b c",
            "sample -n",
            "sample -n x a",
            "sample -n 5 -n 6 a",
            "sample -n --seed 7",
            "sample -n 5 --seed -7 a",
            "sample --index --index -n 5 a",
            "sample -n 5 a  b",
            "sample -n 5 --store a b c",
        ] {
            assert!(SampleArgs::of_words(&words(line)).is_none(), "{line}");
            assert!(parsed(line).is_none(), "{line}");
        }
    }
}
