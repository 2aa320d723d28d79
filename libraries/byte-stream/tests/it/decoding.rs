//! Encoded bodies: the decoded bytes, or an error for what is damaged, cut, lengthened or a bomb.

use std::io::Write;

use byte_stream::ErrorKind;

use crate::decode::{brotli, gzip, zstd};
use crate::http::{get, once, patient};
use crate::kinds::bytes;
use crate::server::{Server, good, head, partial};

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
fn each_encoding_is_decoded_when_requested_and_left_alone_when_not() {
    for (coding, encode) in CODINGS {
        for len in [0, 1, 1000, 300_000] {
            let data = bytes(len);
            let encoded = encode(&data);
            let server = server(coding, encoded.clone());
            assert!(get(once().decode(true), &server.url()).unwrap() == data, "{coding} {len}");
            assert!(get(once(), &server.url()).unwrap() == encoded, "{coding} {len}");
            let request = server.requests().remove(0);
            assert_eq!(request.header("accept-encoding"), Some("gzip, br, zstd"));
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
fn a_flipped_bit_is_an_error_where_the_encoding_has_a_checksum() {
    for (coding, encode) in [("gzip", gzip as Encode), ("zstd", zstd)] {
        let mut damaged = encode(&bytes(3000));
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        let error = get(once().decode(true), &server(coding, damaged).url()).err();
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Decode), "{coding}");
    }
}

#[test]
fn a_zstd_frame_of_another_size_than_it_declares_is_an_error() {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
    encoder.set_pledged_src_size(Some(3000)).unwrap();
    encoder.write_all(&bytes(3000)).unwrap();
    let mut encoded = encoder.finish().unwrap();
    // A frame header of a size in two bytes, which lacks 256: a window of its own, no checksum.
    assert_eq!(encoded[4..7], [0x60, (3000u32 - 256) as u8, ((3000u32 - 256) >> 8) as u8]);
    encoded[5] ^= 1;
    let error = get(once().decode(true), &server("zstd", encoded).url()).err();
    assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Decode));
}

#[test]
fn all_members_and_frames_are_decoded_and_padding_is_skipped() {
    let (a, b) = (bytes(3000), bytes(70_000));
    let both = [a.as_slice(), &b].concat();
    let skippable = [0x51, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, b'a', b'b', b'c'];
    for (coding, encoded) in [
        ("gzip", [gzip(&a), gzip(&b)].concat()),
        ("gzip", [gzip(&a), gzip(&b), vec![0; 1000]].concat()),
        ("zstd", [zstd(&a), zstd(&b)].concat()),
        ("zstd", [zstd(&a), skippable.to_vec(), zstd(b""), zstd(&b)].concat()),
        ("zstd", [skippable.to_vec(), zstd(&a), zstd(&b), skippable.to_vec()].concat()),
    ] {
        let got = get(once().decode(true), &server(coding, encoded).url());
        assert!(got.as_ref().is_ok_and(|got| *got == both), "{coding}: {:?}", got.err());
    }
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
