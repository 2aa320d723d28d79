//! A digest of bytes: it protects against mistakes, not against malice.

/// FNV-1a over 8 bytes at a time, with a final mix.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ bytes.len() as u64;
    let mut add = |word: [u8; 8]| {
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(PRIME);
        hash ^= hash >> 29;
    };
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        add(*word);
    }
    if !rest.is_empty() {
        let mut padded = [0; 8];
        padded[..rest.len()].copy_from_slice(rest);
        add(padded);
    }
    hash ^ (hash >> 32)
}
