//! The parts that the header of a file names: of safetensors and of GGUF. What is hostile in a
//! header is an error of one line; nothing is allocated before its size is checked.

use std::collections::BTreeMap;
use std::io::{self, Read};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FilePart {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// The format allows no larger header.
const SAFETENSORS_HEADER_MAX: u64 = 100_000_000;
/// The vocabulary of a model takes some megabytes.
const GGUF_HEADER_MAX: u64 = 256 << 20;
/// A file with more parts or more entries is a mistake.
const ENTRIES_MAX: u64 = 1 << 20;
/// The format allows no longer key.
const KEY_MAX: u64 = 65_535;
/// Arrays of arrays are not nested deeper.
const NESTING_MAX: u32 = 4;

/// The parts of a file of this size, which is read from its beginning: none if it has no header of
/// a known format. Parts without bytes are left out.
pub(crate) fn parts(mut file: impl Read, size: u64) -> Result<Option<Vec<FilePart>>> {
    let mut first = [0; 8];
    if size < 8 {
        return Ok(None);
    }
    file.read_exact(&mut first)?;
    let mut parts = if first.starts_with(b"GGUF") {
        let version = u32::from_le_bytes([first[4], first[5], first[6], first[7]]);
        ensure!((2..=3).contains(&version), "GGUF of version {version}: 2 and 3 are known");
        gguf(file, size)?
    } else if let Some(parts) = safetensors(file, u64::from_le_bytes(first), size)? {
        parts
    } else {
        return Ok(None);
    };
    parts.retain(|part| part.len > 0);
    ensure!(!parts.is_empty(), "the header names no part");
    Ok(Some(parts))
}

// safetensors: the length of the header, and a JSON object with the offsets of each tensor.

#[derive(Deserialize)]
struct Tensor {
    /// The entry `__metadata__` has none.
    data_offsets: Option<[u64; 2]>,
}

/// None if the file has another format.
fn safetensors(mut file: impl Read, header_len: u64, size: u64) -> Result<Option<Vec<FilePart>>> {
    let mut brace = [0];
    if header_len < 2 || header_len > size - 8 || file.read(&mut brace)? == 0 || brace != *b"{" {
        return Ok(None);
    }
    ensure!(
        header_len <= SAFETENSORS_HEADER_MAX,
        "safetensors: a header of {header_len} bytes, allowed are {SAFETENSORS_HEADER_MAX}"
    );
    let header = brace.as_slice().chain(file.take(header_len - 1));
    let tensors: BTreeMap<String, Tensor> =
        serde_json::from_reader(header).context("safetensors: the header is no table")?;
    let data = 8 + header_len;
    let mut parts = Vec::new();
    for (name, tensor) in tensors {
        let Some([begin, end]) = tensor.data_offsets else { continue };
        ensure!(
            begin <= end && end <= size - data,
            "safetensors: {name:?} is from {begin} to {end}, of {} bytes",
            size - data
        );
        parts.push(FilePart { offset: data + begin, len: end - begin });
    }
    Ok(Some(parts))
}

// GGUF: the numbers of tensors and of entries, the entries, and the offset of each tensor.

/// The header, with the number of bytes that were read.
struct GgufHeader<R> {
    file: R,
    read: u64,
}

fn gguf(file: impl Read, size: u64) -> Result<Vec<FilePart>> {
    let mut header = GgufHeader { file, read: 8 };
    let tensors = header.count("tensors")?;
    let entries = header.count("entries")?;
    let mut alignment = 32;
    for _ in 0..entries {
        let key = header.key()?;
        let kind = header.u32()?;
        if key == b"general.alignment" && kind == 4 {
            alignment = u64::from(header.u32()?);
        } else {
            header.skip_value(kind, 0)?;
        }
    }
    ensure!(
        alignment.is_power_of_two() && alignment <= 1 << 20,
        "GGUF: an alignment of {alignment}"
    );
    let mut offsets = Vec::new();
    for _ in 0..tensors {
        header.key()?;
        let dimensions = header.u32()?;
        ensure!(dimensions <= 8, "GGUF: a tensor of {dimensions} dimensions");
        header.skip(8 * u64::from(dimensions) + 4)?;
        offsets.push(header.u64()?);
    }
    let data = header.read.next_multiple_of(alignment);
    ensure!(data <= size, "GGUF: the file of {size} bytes ends before its data");
    offsets.sort_unstable();
    // The sizes of the tensors follow from the offsets, whatever their types are.
    let ends = offsets.iter().skip(1).copied().chain([size - data]);
    let part = |(begin, end): (&u64, u64)| {
        ensure!(
            *begin <= end && end <= size - data,
            "GGUF: a tensor at {begin} is not in the file"
        );
        Ok(FilePart { offset: data + begin, len: end - begin })
    };
    offsets.iter().zip(ends).map(part).collect()
}

impl<R: Read> GgufHeader<R> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.advance(N as u64)?;
        self.file.read_exact(&mut bytes).context("GGUF: the file ends within its header")?;
        Ok(bytes)
    }

    fn advance(&mut self, n: u64) -> Result<()> {
        self.read = self.read.saturating_add(n);
        ensure!(
            self.read <= GGUF_HEADER_MAX,
            "GGUF: a header of more than {GGUF_HEADER_MAX} bytes"
        );
        Ok(())
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn count(&mut self, what: &str) -> Result<u64> {
        let n = self.u64()?;
        ensure!(n <= ENTRIES_MAX, "GGUF: {n} {what}, allowed are {ENTRIES_MAX}");
        Ok(n)
    }

    fn key(&mut self) -> Result<Vec<u8>> {
        let len = self.u64()?;
        ensure!(len <= KEY_MAX, "GGUF: a name of {len} bytes, allowed are {KEY_MAX}");
        let mut key = vec![0; len as usize];
        self.advance(len)?;
        self.file.read_exact(&mut key).context("GGUF: the file ends within its header")?;
        Ok(key)
    }

    fn skip(&mut self, n: u64) -> Result<()> {
        self.advance(n)?;
        let skipped = io::copy(&mut (&mut self.file).take(n), &mut io::sink())?;
        ensure!(skipped == n, "GGUF: the file ends within its header");
        Ok(())
    }

    fn skip_value(&mut self, kind: u32, nesting: u32) -> Result<()> {
        if let Some(size) = size_of(kind) {
            return self.skip(size);
        }
        match kind {
            8 => {
                let len = self.u64()?;
                self.skip(len)
            }
            9 if nesting < NESTING_MAX => {
                let (kind, n) = (self.u32()?, self.u64()?);
                if let Some(size) = size_of(kind) {
                    return self.skip(n.saturating_mul(size));
                }
                // Each has at least the 8 bytes of a length, so that the limit ends the loop.
                (0..n).try_for_each(|_| self.skip_value(kind, nesting + 1))
            }
            _ => bail!("GGUF: an entry of the unknown type {kind}"),
        }
    }
}

/// The size of a number of this type.
fn size_of(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn safetensors_file(header: &str, data: usize) -> Vec<u8> {
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        file.extend(vec![0; data]);
        file
    }

    fn string(text: &str) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
    }

    /// Two entries, one of them an array of strings, and tensors at these offsets.
    fn gguf_file(offsets: &[u64], data: usize) -> Vec<u8> {
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend((offsets.len() as u64).to_le_bytes());
        file.extend(2_u64.to_le_bytes());
        file.extend([string("general.alignment"), vec![4, 0, 0, 0, 64, 0, 0, 0]].concat());
        file.extend([string("tokens"), vec![9, 0, 0, 0, 8, 0, 0, 0]].concat());
        file.extend(2_u64.to_le_bytes());
        file.extend([string("a"), string("bc")].concat());
        for (n, offset) in offsets.iter().enumerate() {
            file.extend([string(&format!("tensor {n}")), vec![1, 0, 0, 0]].concat());
            file.extend(7_u64.to_le_bytes());
            file.extend([0; 4]);
            file.extend(offset.to_le_bytes());
        }
        file.resize(file.len().next_multiple_of(64) + data, 0);
        file
    }

    fn parts_of(file: &[u8]) -> Result<Option<Vec<FilePart>>> {
        parts(file, file.len() as u64)
    }

    fn check_refused(file: &[u8], expected: &str) {
        let error = format!("{:#}", parts_of(file).unwrap_err());
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }

    #[test]
    fn the_tensors_of_safetensors_are_its_parts() {
        let header = r#"{"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"none":{"dtype":"U8","shape":[0],"data_offsets":[12,12]}}"#;
        let data = 8 + header.len() as u64;
        let part = |offset, len| FilePart { offset: data + offset, len };
        let found = parts_of(&safetensors_file(header, 12)).unwrap();
        assert_eq!(found, Some(vec![part(0, 4), part(4, 8)]));
        check_refused(&safetensors_file(header, 11), "\"b\" is from 4 to 12, of 11 bytes");
        check_refused(&safetensors_file("{\"a\":1}", 4), "the header is no table");
        check_refused(&safetensors_file("{}", 4), "names no part");
    }

    #[test]
    fn the_tensors_of_gguf_are_its_parts() {
        let file = gguf_file(&[128, 0], 200);
        let data = file.len() as u64 - 200;
        let part = |offset, len| FilePart { offset: data + offset, len };
        assert_eq!(parts_of(&file).unwrap(), Some(vec![part(0, 128), part(128, 72)]));
        check_refused(&gguf_file(&[0, 4000], 200), "is not in the file");
        check_refused(&file[..60], "ends within its header");
        check_refused(b"GGUF\x01\0\0\0", "version 1");
    }

    #[test]
    fn another_file_has_no_parts() {
        for file in [&b""[..], b"1234567", b"12345678", &[0; 100], b"PK\x03\x04 a zip file"] {
            assert_eq!(parts_of(file).unwrap(), None);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_panic(
            is_gguf in any::<bool>(),
            at in 8usize..200,
            with in prop::collection::vec(any::<u8>(), 0..24),
            len in 0usize..300,
        ) {
            let header = r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}"#;
            let mut file =
                if is_gguf { gguf_file(&[0, 64], 100) } else { safetensors_file(header, 4) };
            let at = at.min(file.len());
            let end = (at + with.len()).min(file.len());
            file.splice(at..end, with);
            file.truncate(file.len().saturating_sub(300 - len));
            if let Ok(Some(parts)) = parts_of(&file) {
                for part in parts {
                    prop_assert!(part.offset + part.len <= file.len() as u64);
                }
            }
        }
    }
}
