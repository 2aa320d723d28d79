//! What a server says about a resource beside its bytes.

use super::head::HEADERS;

/// The first answer of a server: its URL, status and headers; see
/// [`Stream::response`](crate::Stream::response).
///
/// ```no_run
/// let stream = byte_stream::Stream::open("https://example.org/")?;
/// if let Some(response) = stream.response() {
///     println!("{} {:?}", response.url(), response.header("Content-Type"));
/// }
/// # Ok::<(), byte_stream::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub(super) url: String,
    pub(super) status: u16,
    /// As it was received.
    pub(super) head: Box<[u8]>,
}

impl Response {
    /// The final URL, after all redirects, without credentials.
    ///
    /// ```no_run
    /// # let stream = byte_stream::Stream::open("https://example.org/")?;
    /// let url = stream.response().map(|response| response.url());
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The status: 200 to 299.
    ///
    /// ```no_run
    /// # let stream = byte_stream::Stream::open("https://example.org/")?;
    /// let is_part = stream.response().is_some_and(|response| response.status() == 206);
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The names and the values of all headers, as they were sent.
    ///
    /// ```no_run
    /// # let stream = byte_stream::Stream::open("https://example.org/")?;
    /// for (name, value) in stream.response().into_iter().flat_map(|response| response.headers()) {
    ///     println!("{name}: {}", String::from_utf8_lossy(value));
    /// }
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        // It was parsed before, so that this cannot fail.
        let _ = response.parse(&self.head);
        let headers: Vec<_> =
            response.headers.iter().map(|header| (header.name, header.value)).collect();
        headers.into_iter()
    }

    /// The value of the first header with this name, if it is text.
    ///
    /// ```no_run
    /// # let stream = byte_stream::Stream::open("https://example.org/")?;
    /// let content_type = stream.response().and_then(|response| response.header("Content-Type"));
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok().map(str::trim_ascii)
    }
}
