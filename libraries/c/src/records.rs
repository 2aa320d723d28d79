//! Samples of the records of files.

use std::ffi::{OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use record_sampler::{HeaderRule, LayoutChoice, Sampler};

use crate::pointers::{self, BytelabBytes};
use crate::status::{self, BytelabError, BytelabStatus, Failure};

/// What to draw. All that is zero is the default.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct BytelabSampleOptions {
    /// The number of records. It is an error if there are fewer, unless `at_most` is set.
    pub n: u64,
    /// The same seed gives the same records.
    pub seed: u64,
    /// `lines`, `csv`, `tsv`, `jsonl`, `vcf`, `gff`, `sam`, `bed`, `tped`, `hapmap`, `fastq`,
    /// `fasta`, `plink-bed` or `fixed:BYTES`; or null: by the endings of the names, as in
    /// `x.csv.gz`, else by the first bytes, else `lines`.
    pub format: *const c_char,
    /// The name of a column of weights, or null.
    pub weight: *const c_char,
    /// The name of a column: `n` records for each of its values; or null.
    pub per: *const c_char,
    /// The first record of each file is its header. So it is of `csv` and `tsv`.
    pub header: bool,
    /// There is no header, of `csv` and `tsv` neither.
    pub no_header: bool,
    /// All records, if there are fewer than `n`.
    pub at_most: bool,
    /// The separator of the fields of `csv` and `tsv`; 0: what the header shows, if that is clear,
    /// else a comma; a tab for `tsv`.
    pub delimiter: u8,
}

/// The records of a sample.
pub struct BytelabRecords(Vec<Vec<u8>>);

/// Draws a fair sample of the records of files, which are one population.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_sample(
    paths: *const *const c_char,
    path_count: usize,
    options: *const BytelabSampleOptions,
    out: *mut *mut BytelabRecords,
    error: *mut *mut BytelabError,
) -> BytelabStatus {
    // SAFETY: the caller vouches for it.
    unsafe { status::clear(error) };
    let work = || {
        // SAFETY: the caller vouches for it.
        let out = unsafe { pointers::out(out, ptr::null_mut()) }?;
        // SAFETY: the caller vouches for it.
        let options = unsafe { pointers::shared(options) }?;
        // SAFETY: the caller vouches for it.
        let paths = unsafe { owned(paths, path_count) }?;
        // SAFETY: the caller vouches for its texts.
        let (sampler, choice) = unsafe { request(options) }?;
        let (mut population, _) = choice.open(&paths)?;
        *out = pointers::handle(BytelabRecords(sampler.records(&mut population)?));
        Ok(())
    };
    // SAFETY: the caller vouches for it.
    unsafe { status::reported(error, work) }
}

/// The number of records.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_records_count(records: *const BytelabRecords) -> usize {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { records.as_ref() }.map_or(0, |records| records.0.len())
}

/// A record as it stands in the file, with its line end; lent by the records.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_records_get(
    records: *const BytelabRecords,
    index: usize,
    out: *mut BytelabBytes,
) -> BytelabStatus {
    status::status_of(|| {
        // SAFETY: the caller vouches for it.
        let out = unsafe { pointers::out(out, BytelabBytes::NONE) }?;
        // SAFETY: the caller vouches for it.
        let records = unsafe { pointers::shared(records) }?;
        *out = BytelabBytes::new(records.0.get(index).ok_or(BytelabStatus::Missing)?);
        Ok(())
    })
}

/// Frees records.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_records_free(records: *mut BytelabRecords) {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { pointers::free(records) };
}

unsafe fn owned(paths: *const *const c_char, count: usize) -> Result<Vec<PathBuf>, Failure> {
    if paths.is_null() || count == 0 {
        return Err(Failure::invalid("there is no path"));
    }
    let path = |index| {
        // SAFETY: the caller vouches for so many.
        let place = unsafe { paths.add(index) };
        // SAFETY: as above.
        let path = unsafe { place.read() };
        // SAFETY: the caller vouches for its end.
        let path = unsafe { pointers::string(path) }?;
        Ok(Path::new(OsStr::from_bytes(path.to_bytes())).to_owned())
    };
    (0..count).map(path).collect()
}

unsafe fn request(options: &BytelabSampleOptions) -> Result<(Sampler, LayoutChoice), Failure> {
    let new_sampler = if options.at_most { Sampler::at_most } else { Sampler::exactly };
    let mut sampler = new_sampler(options.n).seed(options.seed);
    // SAFETY: the caller vouches for it.
    if let Some(column) = unsafe { word(options.weight) }? {
        sampler = sampler.weighted_by(column);
    }
    // SAFETY: the caller vouches for it.
    if let Some(column) = unsafe { word(options.per) }? {
        sampler = sampler.per(column);
    }
    // SAFETY: the caller vouches for it.
    let format = unsafe { word(options.format) }?;
    let mut choice = format.map(LayoutChoice::named).unwrap_or_default();
    if options.delimiter != 0 {
        choice = choice.with_delimiter(options.delimiter);
    }
    let choice = match (options.header, options.no_header) {
        (true, true) => return Err(Failure::invalid("`header` and `no_header` are both set")),
        (true, false) => choice.with_header_rule(HeaderRule::Record),
        (false, true) => choice.with_header_rule(HeaderRule::None),
        (false, false) => choice,
    };
    Ok((sampler, choice))
}

unsafe fn word<'a>(text: *const c_char) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller vouches for its end.
    let text = unsafe { pointers::string(text) }?;
    text.to_str().map(Some).map_err(|_| Failure::invalid("a text is not UTF-8"))
}
