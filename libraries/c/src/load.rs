//! Files, and parts of them, in memory.

use std::ffi::{OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::{ptr, slice};

use byte_stream::{Cancel, LoadOptions, LoadReason, LoadWay, Loaded, Progress};

use crate::pointers::{self, BytelabBytes};
use crate::status::{self, BytelabError, BytelabStatus, Failure};

/// A way to load a file.
#[derive(Clone, Copy)]
#[repr(C)]
pub enum BytelabLoadWay {
    /// Chooses one of the others.
    Auto = 0,
    /// One thread reads all.
    Read = 1,
    /// Several threads read through the page cache.
    Pread = 2,
    /// The file is mapped. Needs `allow_map`, and one range.
    Map = 3,
    /// Several threads read past the page cache, by `O_DIRECT`.
    Direct = 4,
}

/// Why a way was chosen.
#[derive(Clone, Copy)]
#[repr(C)]
pub enum BytelabLoadReason {
    /// The size is not known before the end.
    UnknownSize = 0,
    /// The options say so.
    Requested = 1,
    /// There is less than 1 MiB to load.
    Small = 2,
    /// The bytes do not fit into the memory that is left.
    LargerThanMemory = 3,
    /// At least half of the bytes are in the page cache.
    Cached = 4,
    /// The bytes fit into the memory that is left, but not together with a copy in the page cache.
    NoRoomForCache = 5,
    /// Less than half is cached, and memory is left for both.
    NotCached = 6,
    /// It cannot be found out what is cached.
    CacheUnknown = 7,
    /// The file system refuses `O_DIRECT`.
    DirectRefused = 8,
    /// A reason that has no number here.
    Other = 9,
}

/// The bytes of a file from `start` up to `end`, which is not one of them.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct BytelabRange {
    pub start: u64,
    pub end: u64,
}

/// How to load a file. All that is zero is the default.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct BytelabLoadOptions {
    /// The parts, which are loaded one behind the other; or null: the whole file.
    pub parts: *const BytelabRange,
    /// Their number.
    pub part_count: usize,
    /// A `BytelabLoadWay`.
    pub way: u32,
    /// The number of threads, where several read at once, up to 256; 0: it is chosen.
    pub threads: usize,
    /// Allows to map the file, which is then chosen for 1 MiB and more. The caller promises that no
    /// process changes or truncates the file until `bytelab_loaded_free`: the bytes would change,
    /// too, and a page that was cut off ends the process by `SIGBUS`.
    pub allow_map: bool,
    /// Called after each step by one thread at a time, which may be another one than the caller's;
    /// or null. `total_bytes` is 0 if it is not known. If it returns false, the loading ends:
    /// CANCELLED.
    pub progress: Option<
        unsafe extern "C" fn(context: *mut c_void, done_bytes: u64, total_bytes: u64) -> bool,
    >,
    /// Passed to `progress`.
    pub context: *mut c_void,
}

/// The way in which a file was loaded, and facts behind it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct BytelabLoadChoice {
    /// The way; never AUTO.
    pub way: BytelabLoadWay,
    /// Why it was chosen.
    pub reason: BytelabLoadReason,
    /// The number of threads that read at once.
    pub threads: usize,
    /// The number of bytes of all parts.
    pub size_bytes: u64,
    /// The memory that was left before, of the machine and of the control groups; 0 if it was not
    /// needed or is not known.
    pub memory_left_bytes: u64,
    /// The share of the bytes that was in the page cache, 0 to 1; -1 as above.
    pub cached_share: f64,
}

/// A loaded file.
pub struct BytelabLoaded(Loaded);

/// Loads a file, or parts of it, into memory. `options` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_load(
    path: *const c_char,
    options: *const BytelabLoadOptions,
    out: *mut *mut BytelabLoaded,
    error: *mut *mut BytelabError,
) -> BytelabStatus {
    // SAFETY: the caller vouches for it.
    unsafe { status::clear(error) };
    let work = || {
        // SAFETY: the caller vouches for it.
        let out = unsafe { pointers::out(out, ptr::null_mut()) }?;
        // SAFETY: the caller vouches for its end.
        let path = unsafe { pointers::string(path) }?;
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        // SAFETY: the caller vouches for it, unless it is null.
        let options = match unsafe { options.as_ref() } {
            // SAFETY: the caller vouches for its parts and its callback.
            Some(options) => unsafe { chosen(options) }?,
            None => LoadOptions::new(),
        };
        *out = pointers::handle(BytelabLoaded(byte_stream::load(path, &options)?));
        Ok(())
    };
    // SAFETY: the caller vouches for it.
    unsafe { status::reported(error, work) }
}

/// The bytes of all parts, one behind the other; lent by the loaded file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_loaded_bytes(loaded: *const BytelabLoaded) -> BytelabBytes {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { loaded.as_ref() }.map_or(BytelabBytes::NONE, |loaded| BytelabBytes::new(&loaded.0))
}

/// The bytes of one part, of which a whole file has one; lent by the loaded file. MISSING behind
/// the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_loaded_part(
    loaded: *const BytelabLoaded,
    index: usize,
    out: *mut BytelabBytes,
) -> BytelabStatus {
    status::status_of(|| {
        // SAFETY: the caller vouches for it.
        let out = unsafe { pointers::out(out, BytelabBytes::NONE) }?;
        // SAFETY: the caller vouches for it.
        let loaded = unsafe { pointers::shared(loaded) }?;
        *out = BytelabBytes::new(loaded.0.part(index).ok_or(BytelabStatus::Missing)?);
        Ok(())
    })
}

/// The way in which it was loaded, and why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_loaded_choice(
    loaded: *const BytelabLoaded,
    out: *mut BytelabLoadChoice,
) -> BytelabStatus {
    status::status_of(|| {
        // SAFETY: the caller vouches for it.
        let loaded = unsafe { pointers::shared(loaded) }?;
        // SAFETY: as above.
        unsafe { pointers::out(out, of_choice(&loaded.0.choice())) }?;
        Ok(())
    })
}

/// Frees a loaded file. Its bytes must not be used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_loaded_free(loaded: *mut BytelabLoaded) {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { pointers::free(loaded) };
}

/// The caller's function, with what is passed to it.
struct ProgressCallback {
    call: unsafe extern "C" fn(*mut c_void, u64, u64) -> bool,
    context: *mut c_void,
}

// SAFETY: the option says that other threads call it, and the caller vouches for that.
unsafe impl Send for ProgressCallback {}

impl ProgressCallback {
    fn goes_on(&self, progress: Progress) -> bool {
        let total_bytes = progress.total_bytes.unwrap_or(0);
        // SAFETY: the caller vouches for the function and what it does with its pointer.
        unsafe { (self.call)(self.context, progress.done_bytes, total_bytes) }
    }
}

unsafe fn chosen(wanted: &BytelabLoadOptions) -> Result<LoadOptions, Failure> {
    let mut options = LoadOptions::new().way(match wanted.way {
        0 => LoadWay::Auto,
        1 => LoadWay::Read,
        2 => LoadWay::Pread,
        3 => LoadWay::Map,
        4 => LoadWay::Direct,
        way => return Err(Failure::invalid(format!("there is no way {way} to load a file"))),
    });
    if wanted.part_count > isize::MAX as usize / size_of::<BytelabRange>() {
        return Err(Failure::invalid("the number of parts is impossible"));
    }
    if !wanted.parts.is_null() {
        // SAFETY: neither null nor too many; the caller vouches for the rest.
        let parts = unsafe { slice::from_raw_parts(wanted.parts, wanted.part_count) };
        options = options.parts(parts.iter().map(|part| part.start..part.end));
    } else if wanted.part_count > 0 {
        return Err(Failure::invalid("the parts are a null pointer"));
    }
    if wanted.threads > 0 {
        options = options.threads(wanted.threads);
    }
    if wanted.allow_map {
        // SAFETY: the caller has promised it by this option.
        options = unsafe { options.allow_map() };
    }
    if let Some(call) = wanted.progress {
        let callback = ProgressCallback { call, context: wanted.context };
        let cancel = Cancel::new();
        let cancel = cancel.map_err(|e| Failure::new(BytelabStatus::Io, e.to_string()))?;
        options = options.cancel(&cancel).on_progress(move |progress| {
            if !callback.goes_on(progress) {
                cancel.cancel();
            }
        });
    }
    Ok(options)
}

fn of_choice(choice: &byte_stream::LoadChoice) -> BytelabLoadChoice {
    BytelabLoadChoice {
        way: match choice.way {
            LoadWay::Read => BytelabLoadWay::Read,
            LoadWay::Pread => BytelabLoadWay::Pread,
            LoadWay::Map => BytelabLoadWay::Map,
            LoadWay::Direct => BytelabLoadWay::Direct,
            _ => BytelabLoadWay::Auto,
        },
        reason: match choice.why {
            LoadReason::UnknownSize => BytelabLoadReason::UnknownSize,
            LoadReason::Requested => BytelabLoadReason::Requested,
            LoadReason::Small => BytelabLoadReason::Small,
            LoadReason::LargerThanMemory => BytelabLoadReason::LargerThanMemory,
            LoadReason::Cached => BytelabLoadReason::Cached,
            LoadReason::NoRoomForCache => BytelabLoadReason::NoRoomForCache,
            LoadReason::NotCached => BytelabLoadReason::NotCached,
            LoadReason::CacheUnknown => BytelabLoadReason::CacheUnknown,
            LoadReason::DirectRefused => BytelabLoadReason::DirectRefused,
            _ => BytelabLoadReason::Other,
        },
        threads: choice.threads,
        size_bytes: choice.size_bytes,
        memory_left_bytes: choice.memory_left_bytes.unwrap_or(0),
        cached_share: choice.cached_share.unwrap_or(-1.0),
    }
}
