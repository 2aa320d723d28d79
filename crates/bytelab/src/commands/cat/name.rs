//! The name of an input in messages.

use std::ffi::OsString;

/// The input as it was given, but without the password of a URL.
pub(super) fn name(input: &OsString) -> String {
    let text = input.to_string_lossy();
    match text.split_once("://") {
        Some((scheme, rest)) => {
            let host_end = rest.find('/').unwrap_or(rest.len());
            let host_start = rest[..host_end].rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[host_start..])
        }
        None => text.into_owned(),
    }
}
