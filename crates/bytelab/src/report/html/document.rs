//! An HTML document that is being written.

use std::fmt::Write;

use crate::report::model::words::clean;

/// A document that is being written. Content that is unknown at build time can be added only as
/// text or as JSON.
pub(super) struct Html(pub(super) String);

impl Html {
    pub(super) fn raw(&mut self, markup: &'static str) {
        self.0 += markup;
    }

    /// Text, or the value of an attribute in double quotes.
    pub(super) fn text(&mut self, text: &str) {
        for c in clean(text).chars() {
            match c {
                '<' => self.0 += "&lt;",
                '>' => self.0 += "&gt;",
                '&' => self.0 += "&amp;",
                '"' => self.0 += "&quot;",
                '\'' => self.0 += "&#39;",
                c => self.0.push(c),
            }
        }
    }

    pub(super) fn element(&mut self, open: &'static str, text: &str, close: &'static str) {
        self.raw(open);
        self.text(text);
        self.raw(close);
    }

    /// The content of a script element that is data: no markup can begin inside it.
    pub(super) fn json(&mut self, data: &impl serde::Serialize) {
        let text = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
        for c in text.chars() {
            match c {
                '<' => self.0 += "\\u003c",
                '>' => self.0 += "\\u003e",
                '&' => self.0 += "\\u0026",
                c if c.is_ascii() => self.0.push(c),
                // Escaped, as such characters may change the direction of writing or be invisible.
                c => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let _ = write!(self.0, "\\u{unit:04x}");
                    }
                }
            }
        }
    }
}
