//! The UUID that a text names. Nothing here asks the server.

use anyhow::{Context, Result, ensure};

use crate::store::interface::no_run;
use crate::store::uuids;

/// The id, if it is a whole one.
pub(super) fn full_id(id: &str) -> Result<String> {
    let (start, end) = bounds(id).with_context(|| no_run(id))?;
    ensure!(start == end, no_run(id));
    Ok(start)
}

/// The least and the greatest UUID that start with the text.
pub(super) fn bounds(text: &str) -> Option<(String, String)> {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    if !uuids::is_start(text) || digits.len() > 32 {
        return None;
    }
    let filled = |filler: &str| -> String {
        let digits = format!("{}{}", digits.to_ascii_lowercase(), filler.repeat(32 - digits.len()));
        let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
        parts.join("-")
    };
    Some((filled("0"), filled("f")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_an_id_are_uuids() {
        let (start, end) = bounds("0194-2").unwrap();
        assert_eq!(start, "01942000-0000-0000-0000-000000000000");
        assert_eq!(end, "01942fff-ffff-ffff-ffff-ffffffffffff");
        let whole = crate::store::uuid_of("");
        assert_eq!(bounds(&whole), Some((whole.clone(), whole)));
        assert_eq!(bounds("latest"), None);
        assert_eq!(bounds(&"0".repeat(33)), None);
    }
}
