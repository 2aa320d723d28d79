//! The events of `go test -json` (`test2json`): one JSON document on each line. The output of a
//! package is split over many events, between which are those of other packages.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::super::draft::Draft;
use super::super::read;

/// The output of the tests of one package.
pub(super) struct Stream<'a> {
    /// Empty: the file is the output.
    pub(super) package: Cow<'a, str>,
    pub(super) text: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    time: Option<String>,
    #[serde(default)]
    package: String,
    #[serde(default)]
    import_path: String,
    #[serde(default)]
    output: String,
}

/// Whether the lines are events. A benchmark may print a line that looks like one, but that is of
/// no package. Those of `go tool test2json` are of none either, but the text begins with them.
pub(in super::super) fn is_test2json(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).enumerate();
    let Some((at, line)) = lines.find(|(_, line)| line.starts_with('{')) else { return false };
    let is_event = |event: Event| {
        let has_package = !event.package.is_empty() || !event.import_path.is_empty();
        has_package || at == 0 && ["start", "run", "output"].contains(&event.action.as_str())
    };
    serde_json::from_str::<Event>(line).is_ok_and(is_event)
}

/// The output of each package, in the order in which they begin.
pub(super) fn streams<'a>(draft: &mut Draft, text: &'a str) -> Result<Vec<Stream<'a>>> {
    if !is_test2json(text) {
        return Ok(vec![Stream { package: Cow::Borrowed(""), text: Cow::Borrowed(text) }]);
    }
    let mut streams: Vec<Stream<'_>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let (mut others, mut started) = (0, None);
    for (at, line) in text.lines().enumerate() {
        if !line.starts_with('{') {
            others += usize::from(!line.trim().is_empty());
            continue;
        }
        let event: Event = read::json(line).with_context(|| format!("event on line {}", at + 1))?;
        started = started.or(event.time);
        if event.action == "output" {
            let at = *known.entry(event.package.clone()).or_insert(streams.len());
            if at == streams.len() {
                let package = Cow::Owned(event.package);
                streams.push(Stream { package, text: Cow::Owned(event.output) });
            } else {
                streams[at].text.to_mut().push_str(&event.output);
            }
        } else if event.action == "build-fail" {
            let package = event.import_path;
            draft.note(None, format!("go test reports a failure: build of {package:?}"));
        }
    }
    draft.started(started.as_deref().and_then(read::utc));
    if others > 0 {
        draft.note(None, format!("lines that are no events are not read: {others}"));
    }
    Ok(streams)
}
