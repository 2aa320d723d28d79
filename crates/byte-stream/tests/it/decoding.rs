//! Encoded bodies: the decoded bytes, or an error for what is damaged, cut, lengthened or a bomb.

use std::io::Write;

use byte_stream::ErrorKind;

use crate::http::{get, once, patient};
use crate::kinds::bytes;
use crate::server::{Server, good, head, partial};

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn brotli(data: &[u8]) -> Vec<u8> {
    // Meta-blocks of bytes as they are (RFC 7932, 9.2): a window of 16 bits, each up to 64 KiB, and the last one empty.
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

fn zstd(data: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(data, ruzstd::encoding::CompressionLevel::Fastest)
}

fn server(coding: &'static str, body: Vec<u8>) -> Server {
    Server::new(move |_, s| {
        let (coding, length) =
            (format!("Content-Encoding: {coding}"), format!("Content-Length: {}", body.len()));
        head(s, "200 OK", &[&coding, &length])?;
        s.write_all(&body)
    })
}

type Encode = fn(&[u8]) -> Vec<u8>;
const CODINGS: &[(&str, Encode)] = &[("gzip", gzip), ("br", brotli), ("zstd", zstd)];

#[test]
fn each_encoding_is_decoded_when_asked_and_left_alone_when_not() {
    for (coding, encode) in CODINGS {
        for len in [0, 1, 1000, 300_000] {
            let data = bytes(len);
            let encoded = encode(&data);
            let server = server(coding, encoded.clone());
            assert!(get(once().decode(true), &server.url()).unwrap() == data, "{coding} {len}");
            assert!(get(once(), &server.url()).unwrap() == encoded, "{coding} {len}");
            let asked = server.requests().remove(0);
            assert_eq!(asked.header("accept-encoding"), Some("gzip, br, zstd"));
        }
        assert_eq!(get(once().decode(true), &server(coding, Vec::new()).url()).unwrap(), b"");
    }
}

#[test]
fn what_is_cut_lengthened_or_damaged_is_an_error() {
    for (coding, encode) in CODINGS {
        let encoded = encode(&bytes(3000));
        let kind = |body: Vec<u8>| get(once().decode(true), &server(coding, body).url());
        for cut in [1, 2, 10, 1000, encoded.len() - 1] {
            let error =
                kind(encoded[..cut].to_vec()).err().unwrap_or_else(|| panic!("{coding} {cut}"));
            assert_eq!(error.kind(), ErrorKind::Decode, "{coding} {cut}: {error}");
        }
        let longer = [encoded.as_slice(), b"more of it"].concat();
        assert_eq!(kind(longer).err().map(|e| e.kind()), Some(ErrorKind::Decode), "{coding}");
    }
    let mut damaged = gzip(&bytes(3000));
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let error = get(once().decode(true), &server("gzip", damaged).url()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    let error = get(once().decode(true), &server("gzip, br", gzip(b"x")).url()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
}

#[test]
fn a_bomb_is_not_unpacked() {
    let bomb = gzip(&vec![0; 32 << 20]);
    let bomb = server("gzip", bomb);
    let error = get(once().decode(true), &bomb.url()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(error.offset() <= Some(8 << 20), "{error}");
    assert_eq!(
        get(once().decode(true).expansion_limit(2000), &bomb.url()).unwrap().len(),
        32 << 20
    );
    let limited = once().decode(true).expansion_limit(2000).limit_bytes(1 << 20);
    assert_eq!(get(limited, &bomb.url()).unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn an_encoded_body_that_is_cut_is_resumed() {
    let data = bytes(200_000);
    let encoded = gzip(&data);
    let server = Server::new(move |r, s| {
        // The helper writes the head; the encoding goes in before its end.
        let mut answer = Vec::new();
        let cut = if r.n == 0 { 50_000 } else { usize::MAX };
        partial(r, &mut answer, &encoded, "\"v\"", cut)?;
        let line = answer.iter().position(|b| *b == b'\n').unwrap() + 1;
        s.write_all(&answer[..line])?;
        s.write_all(b"Content-Encoding: gzip\r\n")?;
        s.write_all(&answer[line..])
    });
    assert!(get(patient().decode(true), &server.url()).unwrap() == data);
    assert_eq!(server.requests().len(), 2);
    let plain = Server::new(|r, s| good(r, s, b"plain", "\"v\""));
    assert_eq!(get(once().decode(true), &plain.url()).unwrap(), b"plain");
}
