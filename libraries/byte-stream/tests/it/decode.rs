//! The decoders over streams that are damaged at each bit, cut at each byte, lengthened and joined.

use std::io::{self, Read, Write};

use byte_stream::decode::{Decoder, Encoding};

use crate::kinds::bytes;

pub(crate) fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn brotli(data: &[u8]) -> Vec<u8> {
    // Meta-blocks of bytes as they are (RFC 7932, 9.2): a window of 16 bits, each up to 64 KiB, and
    // the last one empty.
    let (mut out, mut bits, mut held) = (Vec::new(), 0u64, 0u32);
    let mut put = |out: &mut Vec<u8>, value: u64, n: u32| {
        bits |= value << held;
        held += n;
        while held >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            held -= 8;
        }
    };
    put(&mut out, 0, 1);
    for block in data.chunks(1 << 16) {
        put(&mut out, 0, 1);
        put(&mut out, 0, 2);
        put(&mut out, block.len() as u64 - 1, 16);
        put(&mut out, 1, 1);
        // To the next whole byte.
        while !(out.is_empty()) && {
            let before = out.len();
            put(&mut out, 0, 1);
            out.len() == before
        } {}
        out.extend_from_slice(block);
    }
    put(&mut out, 3, 2);
    put(&mut out, 0, 7);
    out
}

/// With the checksum and the size of what it holds, as the program `zstd` writes them.
pub(crate) fn zstd(data: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.include_contentsize(true).unwrap();
    encoder.set_pledged_src_size(Some(data.len() as u64)).unwrap();
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

type Encode = fn(&[u8]) -> Vec<u8>;
/// The last member says whether a checksum stands behind the bytes: Brotli has none.
const FORMATS: [(Encoding, Encode, bool); 3] =
    [(Encoding::Gzip, gzip, true), (Encoding::Brotli, brotli, false), (Encoding::Zstd, zstd, true)];

fn decoded(encoding: Encoding, encoded: &[u8]) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    Decoder::new(encoding, encoded)?.read_to_end(&mut data)?;
    Ok(data)
}

/// Some of it repeats and some of it does not, so that an encoder uses all that its format has.
fn mixed(len: usize) -> Vec<u8> {
    let noise = bytes(len);
    let words = b"the same words again and ".iter().cycle();
    noise
        .iter()
        .zip(words)
        .map(|(noise, word)| if noise % 4 == 0 { *noise } else { *word })
        .collect()
}

/// Ten times `X` and ten times `Y` in a compressed meta-block, from the test data of google/brotli.
const BROTLI: &[u8] = &[0x1b, 0x13, 0, 0, 0xa4, 0xb0, 0xb2, 0xea, 0x81, 0x47, 0x02, 0x8a];

#[test]
fn a_compressed_block_of_brotli_is_decoded_and_an_error_where_it_is_cut() {
    assert_eq!(decoded(Encoding::Brotli, BROTLI).unwrap(), b"XXXXXXXXXXYYYYYYYYYY");
    for len in 0..BROTLI.len() {
        assert!(decoded(Encoding::Brotli, &BROTLI[..len]).is_err(), "{len} bytes");
    }
    // Without a checksum a flipped bit may give other bytes; it must not give a panic.
    for bit in 0..BROTLI.len() * 8 {
        let mut damaged = BROTLI.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let _ = decoded(Encoding::Brotli, &damaged);
    }
}

#[test]
fn encoded_data_is_decoded_unchanged() {
    for (encoding, encode, _) in FORMATS {
        for len in [0, 1, 1000, 300_000] {
            let data = mixed(len);
            assert!(decoded(encoding, &encode(&data)).unwrap() == data, "{encoding:?} {len}");
        }
    }
}

#[test]
fn a_bit_that_is_flipped_is_an_error_or_changes_no_byte() {
    for (encoding, encode, has_checksum) in FORMATS {
        for data in [Vec::new(), mixed(300)] {
            let right = encode(&data);
            let mut errors = 0;
            for bit in 0..right.len() * 8 {
                let mut damaged = right.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                match decoded(encoding, &damaged) {
                    Err(_) => errors += 1,
                    // Such as the time in a header of gzip.
                    Ok(got) => assert!(got == data || !has_checksum, "{encoding:?}, bit {bit}"),
                }
            }
            assert!(errors > 0, "{encoding:?}");
        }
    }
}

#[test]
fn a_stream_that_is_cut_is_an_error_at_each_byte() {
    for (encoding, encode, _) in FORMATS {
        for data in [Vec::new(), mixed(300)] {
            let encoded = encode(&data);
            for len in 0..encoded.len() {
                assert!(decoded(encoding, &encoded[..len]).is_err(), "{encoding:?}, {len} bytes");
            }
        }
    }
    for (encoding, encode) in [(Encoding::Gzip, gzip as Encode), (Encoding::Zstd, zstd)] {
        let first = encode(&mixed(300));
        let both = [first.as_slice(), &encode(&mixed(200))].concat();
        for len in (1..both.len()).filter(|len| *len != first.len()) {
            assert!(decoded(encoding, &both[..len]).is_err(), "{encoding:?}, {len} bytes of two");
        }
    }
}

#[test]
fn bytes_after_the_end_are_an_error() {
    let garbage: [&[u8]; 6] =
        [b"x", b"more of it", &[0x1f], &[0x1f, 0x8b], &[0x28, 0xb5], &[0xff; 100]];
    for (encoding, encode, _) in FORMATS {
        for more in garbage {
            let longer = [encode(&mixed(300)).as_slice(), more].concat();
            assert!(decoded(encoding, &longer).is_err(), "{encoding:?} and {more:?}");
        }
    }
    let padded = [gzip(b"a").as_slice(), &[0; 10]].concat();
    assert_eq!(decoded(Encoding::Gzip, &padded).unwrap(), b"a");
    // Only the end may follow.
    for more in [b"x".to_vec(), gzip(b"b")] {
        assert!(decoded(Encoding::Gzip, &[padded.as_slice(), &more].concat()).is_err());
    }
    for encoding in [Encoding::Brotli, Encoding::Zstd] {
        let encode = if encoding == Encoding::Zstd { zstd } else { brotli };
        assert!(decoded(encoding, &[encode(b"a").as_slice(), &[0; 10]].concat()).is_err());
    }
}

#[test]
fn members_and_frames_are_joined_and_what_is_to_be_skipped_is() {
    let (a, b) = (mixed(3000), mixed(200_000));
    let both = [a.as_slice(), &b].concat();
    for (encoding, encode) in [(Encoding::Gzip, gzip as Encode), (Encoding::Zstd, zstd)] {
        let joined = [encode(&a), encode(b""), encode(&b)].concat();
        assert!(decoded(encoding, &joined).unwrap() == both, "{encoding:?}");
        // Each read of the input gives one byte.
        let slow = io::BufReader::with_capacity(1, joined.as_slice());
        let mut data = Vec::new();
        Decoder::new(encoding, slow).unwrap().read_to_end(&mut data).unwrap();
        assert!(data == both, "{encoding:?}");
    }
    let skippable = [0x5f, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, b'a', b'b', b'c'];
    let joined = [&skippable[..], &zstd(&a), &skippable, &zstd(&b), &skippable].concat();
    assert!(decoded(Encoding::Zstd, &joined).unwrap() == both);
    assert!(decoded(Encoding::Zstd, &joined[..joined.len() - 1]).is_err());
    // Brotli knows no members.
    assert!(decoded(Encoding::Brotli, &[brotli(&a), brotli(&b)].concat()).is_err());
}

#[test]
fn a_window_beyond_the_limit_is_an_error() {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(24).unwrap();
    encoder.write_all(b"hello").unwrap();
    let encoded = encoder.finish().unwrap();
    let with = |log| {
        let mut data = Vec::new();
        let mut decoder = Decoder::with_window_log(Encoding::Zstd, encoded.as_slice(), log)?;
        decoder.read_to_end(&mut data).map(|_| data)
    };
    assert_eq!(with(24).unwrap(), b"hello");
    assert!(with(23).is_err());
    assert!(Decoder::with_window_log(Encoding::Zstd, encoded.as_slice(), 99).is_err());
}

#[test]
fn nothing_is_read_into_nothing() {
    for (encoding, encode, _) in FORMATS {
        let encoded = encode(b"hello");
        let mut decoder = Decoder::new(encoding, encoded.as_slice()).unwrap();
        assert_eq!(decoder.read(&mut []).unwrap(), 0);
        assert_eq!(io::read_to_string(&mut decoder).unwrap(), "hello");
        assert_eq!(decoder.read(&mut [0]).unwrap(), 0);
    }
}
