//! Inputs that are named by a URL: they are read once, from start to end.

use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use byte_stream::{Address, Stream};

/// What an object of a bucket is read from, without a signature, unless `AWS_ENDPOINT_URL` names
/// another server.
const S3: &str = "https://BUCKET.s3.amazonaws.com";

/// The URL that the argument is, that of an object of a bucket included.
pub(super) fn url(argument: &Path) -> Option<Result<String>> {
    let text = argument.to_str()?;
    let (scheme, rest) = text.split_once("://")?;
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" => Some(Ok(text.to_owned())),
        "s3" => Some(object(rest, std::env::var("AWS_ENDPOINT_URL").ok().as_deref())),
        _ => None,
    }
}

/// What a URL names. It is requested when the first byte is needed, so that no connection waits
/// while others are read.
pub(super) struct Remote {
    url: String,
    stream: Option<Stream>,
}

impl Remote {
    pub(super) fn new(url: String) -> Remote {
        Remote { url, stream: None }
    }

    /// The URL without a password.
    pub(super) fn name(&self) -> String {
        Address::from(self.url.as_str()).name()
    }
}

impl Read for Remote {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            closed => closed.insert(Stream::open(self.url.as_str())?),
        };
        stream.read(buffer)
    }
}

fn object(text: &str, endpoint: Option<&str>) -> Result<String> {
    let (bucket, key) = text.split_once('/').context("an object is s3://BUCKET/KEY")?;
    if bucket.is_empty() || key.is_empty() {
        bail!("an object is s3://BUCKET/KEY");
    }
    let key = percent_encoding::utf8_percent_encode(key, KEPT);
    Ok(match endpoint {
        Some(endpoint) => format!("{}/{bucket}/{key}", endpoint.trim_end_matches('/')),
        None => format!("{}/{key}", S3.replace("BUCKET", bucket)),
    })
}

/// All but letters, digits and what separates or ends a name.
const KEPT: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_of_a_bucket_has_a_url() {
        let of = |text, endpoint| object(text, endpoint).unwrap();
        assert_eq!(of("b/a/c d.csv", None), "https://b.s3.amazonaws.com/a/c%20d.csv");
        assert_eq!(of("b/a", Some("http://localhost:9/")), "http://localhost:9/b/a");
        for text in ["b", "b/", "/a"] {
            assert_eq!(object(text, None).unwrap_err().to_string(), "an object is s3://BUCKET/KEY");
        }
        assert!(url(Path::new("a://b")).is_none() && url(Path::new("a/b?c")).is_none());
        let text = "HTTPS://host/a?b=*";
        assert_eq!(url(Path::new(text)).unwrap().unwrap(), text);
    }
}
