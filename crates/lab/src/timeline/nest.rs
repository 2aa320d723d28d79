//! Nests the spans of a thread: viewers draw a track as a stack, which cannot show a span that
//! begins inside another and ends after it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::spans::Span;

/// The outer spans keep their times as far as they nest; the states are cut where an outer span
/// begins or ends.
pub(super) fn nested(outer: Vec<Span>, states: Vec<Span>) -> Vec<Span> {
    let outer = fitted(outer);
    let edges: BTreeSet<u64> = outer.iter().flat_map(|s| [s.start_ns, s.end_ns]).collect();
    let mut spans = outer;
    // The states are appended, so that of two equal spans the outer one stays first.
    spans.extend(states.into_iter().flat_map(|state| cut(&state, &edges)));
    spans.sort_by_key(|span| (span.start_ns, Reverse(span.end_ns)));
    spans
}

/// In the order of their beginnings; a span that outlives the one in which it began ends with it.
fn fitted(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start_ns, Reverse(span.end_ns)));
    let mut open_until_ns: Vec<u64> = Vec::new();
    for span in &mut spans {
        while open_until_ns.last().is_some_and(|end_ns| *end_ns <= span.start_ns) {
            open_until_ns.pop();
        }
        span.end_ns = open_until_ns.last().map_or(span.end_ns, |end_ns| span.end_ns.min(*end_ns));
        open_until_ns.push(span.end_ns);
    }
    spans
}

fn cut(span: &Span, edges: &BTreeSet<u64>) -> Vec<Span> {
    let within = edges.range(span.start_ns + 1..span.end_ns.max(span.start_ns + 1));
    let ends: Vec<u64> = within.copied().chain([span.end_ns]).collect();
    let mut start_ns = span.start_ns;
    let piece = |end_ns| {
        let piece = Span { start_ns, end_ns, ..span.clone() };
        start_ns = end_ns;
        piece
    };
    ends.into_iter().map(piece).collect()
}
