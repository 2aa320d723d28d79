//! Random trees, and their JSON text with random white space and escapes.

use std::collections::HashSet;
use std::fmt::Write;

pub(crate) enum Tree {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f32),
    Double(f64),
    String(String),
    Data(Vec<u8>),
    Array(Vec<Tree>),
    /// Pairs in the order in which they are written.
    Dict(Vec<(String, Tree)>),
}

/// The generator of the trees.
pub(crate) struct Forest {
    random: u64,
    /// Strings that were used before, so that some are shared.
    strings: Vec<String>,
}

impl Forest {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, strings: Vec::new() }
    }

    /// xorshift64*.
    fn bits(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.bits() >> 33) as usize % limit
    }

    pub(crate) fn small(&mut self) -> Tree {
        self.strings.clear();
        self.collection(8, 0)
    }

    /// A tree with about 2047 items, where counts get longer, and more than the 32 KiB that a short
    /// pointer spans.
    pub(crate) fn large(&mut self) -> Tree {
        self.strings.clear();
        let items = match self.below(4) {
            0 => 2040 + self.below(15),
            1 => 2170 + self.below(10),
            _ => self.below(6000),
        };
        let items: Vec<Tree> = (0..items).map(|_| self.tree(5, 28)).collect();
        if self.below(2) == 0 { Tree::Array(items) } else { self.dict(items) }
    }

    fn tree(&mut self, count_limit: usize, depth: usize) -> Tree {
        if self.below(4) == 0 && depth < 30 {
            return self.collection(count_limit, depth);
        }
        match self.below(12) {
            0 => Tree::Null,
            1 => Tree::Bool(self.below(2) == 0),
            2 => Tree::Signed(self.below(6000) as i64 - 3000),
            3 | 4 => {
                let shift = self.below(64);
                let number = self.bits() as i64 >> shift;
                if self.below(2) == 0 {
                    Tree::Signed(number)
                } else {
                    Tree::Unsigned(number as u64)
                }
            }
            5 => Tree::Float((self.double() as f32).clamp(f32::MIN, f32::MAX)),
            6 | 7 => Tree::Double(self.double()),
            8 => {
                let len = self.length();
                Tree::Data((0..len).map(|_| self.bits() as u8).collect())
            }
            _ => Tree::String(self.string()),
        }
    }

    fn collection(&mut self, count_limit: usize, depth: usize) -> Tree {
        let count = self.below(count_limit);
        let items: Vec<Tree> = (0..count).map(|_| self.tree(count_limit, depth + 1)).collect();
        if self.below(2) == 0 { Tree::Array(items) } else { self.dict(items) }
    }

    /// No key occurs twice: the original keeps both pairs, in an order that depends on its sort.
    fn dict(&mut self, values: Vec<Tree>) -> Tree {
        let mut used = HashSet::new();
        let mut key = || loop {
            let mut key = self.string();
            if used.contains(&key) {
                let _ = write!(key, "{}", used.len());
            }
            if used.insert(key.clone()) {
                return key;
            }
        };
        Tree::Dict(values.into_iter().map(|value| (key(), value)).collect())
    }

    /// Mostly around the lengths at which the format changes: 1, 2, 14, 15, 16, 127, 128.
    fn length(&mut self) -> usize {
        match self.below(20) {
            0 => 120 + self.below(20),
            1 => self.below(1000),
            _ => self.below(20),
        }
    }

    fn string(&mut self) -> String {
        if self.below(3) == 0 && !self.strings.is_empty() {
            let at = self.below(self.strings.len());
            return self.strings[at].clone();
        }
        let len = self.length();
        let is_plain = self.below(4) > 0;
        let string: String = (0..len).map(|_| self.character(is_plain)).collect();
        self.strings.push(string.clone());
        string
    }

    fn character(&mut self, is_plain: bool) -> char {
        const ODD: [char; 14] = [
            '\0', '\n', '\r', '\t', '\u{8}', '\u{c}', '\u{1f}', '"', '\\', '/', '\u{7f}', 'é',
            '\u{2028}', '😀',
        ];
        match self.below(ODD.len() * 2) {
            at if at < ODD.len() && !is_plain => ODD[at],
            _ => char::from(b'a' + self.below(26) as u8),
        }
    }

    /// A finite number; often a short one, often one that fits four bytes.
    fn double(&mut self) -> f64 {
        let number = match self.below(5) {
            0 => f64::from_bits(self.bits()),
            1 => f64::from(f32::from_bits(self.bits() as u32)),
            2 => self.below(1 << 30) as f64 / 1000.0,
            3 => (self.bits() >> self.below(64)) as f64,
            _ => [
                0.0,
                -0.0,
                1.0,
                0.1,
                16_777_216.0,
                16_777_218.0,
                1e-5,
                1e-4,
                9_007_199_254_740_992.0,
                f64::MAX,
                5e-324,
            ][self.below(11)],
        };
        if number.is_finite() { number } else { 0.5 }
    }

    /// The text of a tree. Floats become doubles, data strings of hex digits.
    pub(crate) fn json(&mut self, tree: &Tree) -> String {
        let mut out = String::new();
        self.print(tree, &mut out);
        out
    }

    fn print(&mut self, tree: &Tree, out: &mut String) {
        self.space(out);
        let _ = match tree {
            Tree::Null => write!(out, "null"),
            Tree::Bool(value) => write!(out, "{value}"),
            Tree::Signed(number) => write!(out, "{number}"),
            Tree::Unsigned(number) => write!(out, "{number}"),
            Tree::Float(number) => write!(out, "{number:?}"),
            Tree::Double(number) => match self.below(3) {
                0 => write!(out, "{number:?}"),
                1 => write!(out, "{number:e}"),
                _ => write!(out, "{number:.20E}"),
            },
            Tree::Data(data) => write!(
                out,
                "\"{}\"",
                data.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:x}"))
            ),
            Tree::String(text) => {
                self.quote(text, out);
                Ok(())
            }
            Tree::Array(items) => {
                self.list(items.len(), ['[', ']'], out, |forest, at, out| {
                    forest.print(&items[at], out);
                });
                Ok(())
            }
            Tree::Dict(pairs) => {
                self.list(pairs.len(), ['{', '}'], out, |forest, at, out| {
                    forest.space(out);
                    forest.quote(&pairs[at].0, out);
                    forest.space(out);
                    out.push(':');
                    forest.print(&pairs[at].1, out);
                });
                Ok(())
            }
        };
        self.space(out);
    }

    fn list(
        &mut self,
        count: usize,
        [open, close]: [char; 2],
        out: &mut String,
        mut print: impl FnMut(&mut Self, usize, &mut String),
    ) {
        out.push(open);
        for at in 0..count {
            if at > 0 {
                out.push(',');
            }
            print(self, at, out);
        }
        self.space(out);
        out.push(close);
    }

    fn space(&mut self, out: &mut String) {
        out.push_str(["", "", "", " ", "\n", "\t ", "\r\n"][self.below(7)]);
    }

    fn quote(&mut self, text: &str, out: &mut String) {
        out.push('"');
        for character in text.chars() {
            let is_control = character < ' ' || matches!(character, '"' | '\\');
            match character {
                '\n' if self.below(2) == 0 => out.push_str("\\n"),
                '\u{8}' if self.below(2) == 0 => out.push_str("\\b"),
                '\u{c}' if self.below(2) == 0 => out.push_str("\\f"),
                '"' | '\\' | '/' if self.below(2) == 0 => out.extend(['\\', character]),
                _ if is_control || self.below(20) == 0 => {
                    for unit in character.encode_utf16(&mut [0; 2]) {
                        let _ = write!(out, "\\u{unit:04x}");
                    }
                }
                _ => out.push(character),
            }
        }
        out.push('"');
    }
}
