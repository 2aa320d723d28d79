//! Failures of the Parquet library: its errors and its panics become errors of this crate.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;

use crate::{Error, ErrorKind};

/// Calls the library. It has panicked on hostile bytes before, which must become an error as well.
pub(super) fn contained<T>(
    call: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(ParquetError::General("the library gave up".to_owned())))
}

pub(super) fn malformed(text: &str) -> Error {
    Error::new(ErrorKind::Malformed, text)
}

/// The error for an invalid file.
pub(super) fn unsound(error: &ParquetError) -> Error {
    malformed(&format!("not a sound Parquet file: {error}"))
}
