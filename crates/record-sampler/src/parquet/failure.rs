//! What can go wrong in the Parquet library: its errors and its panics become errors of this crate.

use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;

use crate::{Error, ErrorKind};

/// A call of the library. It has panicked before: on hostile bytes that must be an error, too.
pub(super) fn contained<T>(
    call: impl FnOnce() -> Result<T, ParquetError>,
) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(ParquetError::General("the library gave up".to_owned())))
}

pub(super) fn malformed(text: &str) -> Error {
    Error::new(ErrorKind::Malformed, text)
}

/// What went wrong in this file.
pub(super) fn unsound(error: &ParquetError) -> Error {
    malformed(&format!("not a sound Parquet file: {error}"))
}
