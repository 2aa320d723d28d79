//! Objects of buckets, of S3 and of servers with its interface: their URLs, who asks for them,
//! lists of them, and what errors say. The client is that of HTTP, whose requests are signed here.

mod credentials;
mod profile;
mod sign;
mod xml;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use self::credentials::{Identity, KeySearch};
use self::profile::Profiles;
use self::sign::{SignatureScope, SignedParts};
use crate::address::without_credentials;
use crate::cancel::{Cancel, unix_time_s};
use crate::http::{self, Settings, Url};
use crate::wait::{WaitMode, now};
use crate::{Error, ErrorKind, Options, Result};

/// All that is encoded in a query (RFC 3986, 2.3), and in a path.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const PATH: &AsciiSet = &UNRESERVED.remove(b'/');
/// A longer message of a server is cut.
const MESSAGE_CHARS: usize = 300;

/// How objects of buckets (`s3://BUCKET/KEY`) are requested: the endpoint, the region, and the keys
/// that sign. Clones share what was found of these.
///
/// ```no_run
/// use byte_stream::{S3, Stream};
/// let s3 = S3::from_environment();
/// let mut stream = Stream::options().s3(&s3).open("s3://bucket/key.csv")?;
/// # Ok::<(), byte_stream::Error>(())
/// ```
#[derive(Clone)]
pub struct S3 {
    variables: Variables,
    is_anonymous: bool,
    found: Arc<FoundAccess>,
}

type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What was found when it was needed.
#[derive(Default)]
struct FoundAccess {
    settings: Mutex<Option<Arc<S3Settings>>>,
    identity: Mutex<Option<Identity>>,
    /// The regions of buckets that are not in the usual one.
    regions: Mutex<BTreeMap<String, String>>,
}

impl S3 {
    /// As the environment says, which AWS's own programs read in the same way. Nothing is read
    /// before it is needed.
    ///
    /// The endpoint is that of `AWS_ENDPOINT_URL_S3`, of `AWS_ENDPOINT_URL` or of the profile, else
    /// AWS; the region that of `AWS_REGION`, `AWS_DEFAULT_REGION` or the profile, else the one that
    /// the server names. The keys are those of `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
    /// `AWS_SESSION_TOKEN`; of the role of `AWS_ROLE_ARN`, by the token in
    /// `AWS_WEB_IDENTITY_TOKEN_FILE`; of the profile `AWS_PROFILE`, in `~/.aws/credentials` and
    /// `~/.aws/config`, or of its role; of the container; or of the instance. Keys that expire are
    /// renewed. Without any, and with `AWS_NO_SIGN_REQUEST`, requests are not signed.
    ///
    /// ```
    /// let s3 = byte_stream::S3::from_environment();
    /// ```
    pub fn from_environment() -> S3 {
        S3::from_variables(|name| std::env::var(name).ok())
    }

    /// The same with other values of the variables.
    ///
    /// ```
    /// let s3 = byte_stream::S3::from_variables(|name| match name {
    ///     "AWS_ENDPOINT_URL" => Some("http://localhost:9000".to_owned()),
    ///     name => std::env::var(name).ok(),
    /// });
    /// ```
    pub fn from_variables(value_of: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> S3 {
        S3 { variables: Arc::new(value_of), is_anonymous: false, found: Arc::default() }
    }

    /// Requests are not signed, so that only public objects can be read, and keys are not looked
    /// for.
    ///
    /// ```
    /// let s3 = byte_stream::S3::from_environment().anonymous();
    /// ```
    #[must_use]
    pub fn anonymous(mut self) -> S3 {
        (self.is_anonymous, self.found) = (true, Arc::default());
        self
    }

    fn settings(&self) -> Result<Arc<S3Settings>> {
        let mut known = lock(&self.found.settings);
        if let Some(settings) = known.as_ref() {
            return Ok(settings.clone());
        }
        let settings = Arc::new(S3Settings::load(self)?);
        *known = Some(settings.clone());
        Ok(settings)
    }

    /// Who asks. The search may send requests of its own, so its type must not contain itself.
    fn identity<'a>(
        &'a self,
        http: &'a Settings,
        mode: WaitMode,
        cancel: Option<&'a Cancel>,
    ) -> Pin<Box<dyn Future<Output = Result<Identity>> + Send + 'a>> {
        Box::pin(async move {
            let known = lock(&self.found.identity).clone();
            if let Some(known) = known.as_ref().filter(|known| known.is_fresh()) {
                return Ok(known.clone());
            }
            let s3 = self.settings()?;
            let search = KeySearch { s3: &s3, http, mode, cancel };
            let found = match (search.find().await, known) {
                // The service of credentials may be back before they expire.
                (Err(error), Some(known))
                    if known.is_valid() && error.kind() != ErrorKind::Cancelled =>
                {
                    known
                }
                (found, _) => found?,
            };
            *lock(&self.found.identity) = Some(found.clone());
            Ok(found)
        })
    }

    /// Keys are looked for again.
    fn forget(&self) {
        *lock(&self.found.settings) = None;
        *lock(&self.found.identity) = None;
    }
}

impl fmt::Debug for S3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3").field("is_anonymous", &self.is_anonymous).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is a single assignment.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The variables, and the files that they name.
pub(crate) struct S3Settings {
    variables: Variables,
    is_anonymous: bool,
    profiles: Profiles,
    profile: String,
    is_profile_named: bool,
    /// Certificates to trust, in PEM.
    certificates: Option<String>,
}

impl S3Settings {
    fn load(s3: &S3) -> Result<S3Settings> {
        let mut settings = S3Settings {
            variables: s3.variables.clone(),
            is_anonymous: s3.is_anonymous,
            profiles: Profiles::default(),
            profile: "default".to_owned(),
            is_profile_named: false,
            certificates: None,
        };
        let named = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"];
        if let Some(name) = named.into_iter().find_map(|name| settings.variable(name)) {
            (settings.profile, settings.is_profile_named) = (name, true);
        }
        let file = |variable, usual: &str| {
            settings.read(&settings.variable(variable).unwrap_or_else(|| usual.to_owned()))
        };
        let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials")?;
        let config = file("AWS_CONFIG_FILE", "~/.aws/config")?;
        settings.profiles =
            Profiles::new(&credentials.unwrap_or_default(), &config.unwrap_or_default());
        if let Some(path) = settings.variable("AWS_CA_BUNDLE") {
            let text = settings.read(&path)?;
            let missing = || wrong(format!("{path}, which AWS_CA_BUNDLE names, is not there"));
            settings.certificates = Some(text.ok_or_else(missing)?);
        }
        Ok(settings)
    }

    /// The value of a variable that is not empty.
    fn variable(&self, name: &str) -> Option<String> {
        (self.variables)(name).filter(|value| !value.is_empty())
    }

    /// The text of a file; `None` if it is not there.
    fn read(&self, path: &str) -> Result<Option<String>> {
        let path = match (path.strip_prefix("~/"), self.variable("HOME")) {
            (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
            (Some(_), None) => return Ok(None),
            (None, _) => PathBuf::from(path),
        };
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(error).within(&path.to_string_lossy())),
        }
    }

    /// The region, unless the server names another one.
    fn region(&self) -> String {
        let of_variables =
            self.variable("AWS_REGION").or_else(|| self.variable("AWS_DEFAULT_REGION"));
        let of_profile = || self.profiles.value(&self.profile, "region").map(str::to_owned);
        of_variables.or_else(of_profile).unwrap_or_else(|| "us-east-1".to_owned())
    }

    /// The endpoint of a service that is not the usual one.
    fn endpoint_of(&self, service: &str) -> Option<String> {
        let of_profile = |key: &str| self.profiles.value(&self.profile, key).map(str::to_owned);
        let of_service = || {
            let section = format!("services {}", of_profile("services")?);
            let key = format!("{}.endpoint_url", service.to_ascii_lowercase());
            self.profiles.section_value(&section, &key).map(str::to_owned)
        };
        self.variable(&format!("AWS_ENDPOINT_URL_{service}"))
            .or_else(|| self.variable("AWS_ENDPOINT_URL"))
            .or_else(of_service)
            .or_else(|| of_profile("endpoint_url"))
    }

    /// Whether the name of the bucket is a part of the host. A name with a dot would fit no
    /// certificate, and few other servers know such hosts.
    fn is_in_host(&self, bucket: &str, is_aws: bool) -> bool {
        let is_label = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        match self.profiles.value(&self.profile, "s3.addressing_style") {
            Some("virtual") => true,
            Some("path") => false,
            _ => is_aws && bucket.bytes().all(is_label),
        }
    }
}

fn domain(region: &str) -> &'static str {
    if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" }
}

/// A request for an object, or for a list of them. The region decides where it is sent to.
#[derive(Clone)]
pub(crate) struct BucketRequest {
    s3: S3,
    settings: Arc<S3Settings>,
    bucket: String,
    key: String,
    /// The query of a list.
    listing: Option<String>,
    region: String,
    identity: Option<Identity>,
}

impl BucketRequest {
    /// The request for a URL; `None` if it is not that of an object.
    pub(crate) fn new(url: &str, http: &mut Settings) -> Result<Option<BucketRequest>> {
        let Some((bucket, key)) = bucket_and_key(url) else { return Ok(None) };
        let listing = http.listing.take();
        let is_in_name = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
        if bucket.is_empty() || key.is_empty() && listing.is_none() {
            return Err(wrong("an object is s3://BUCKET/KEY".to_owned()));
        }
        if !bucket.bytes().all(is_in_name) {
            let text = "the name of a bucket has letters, digits, hyphens and dots only";
            return Err(wrong(text.to_owned()));
        }
        if http.authorization.is_some() {
            let text = "requests to a bucket are signed: they have no other credentials";
            return Err(wrong(text.to_owned()));
        }
        let s3 = http.s3.get_or_insert_with(S3::from_environment).clone();
        let settings = s3.settings()?;
        if let (None, Some(pem)) = (&http.tls, &settings.certificates) {
            http.pem.trusted = Some(pem.clone().into_bytes());
            http.tls = Some(http::tls_with(&http.pem)?);
        }
        http.explains_in_xml = true;
        let known = lock(&s3.found.regions).get(bucket).cloned();
        let region = known.unwrap_or_else(|| settings.region());
        let key = if listing.is_some() { String::new() } else { key.to_owned() };
        let (bucket, identity) = (bucket.to_owned(), None);
        Ok(Some(BucketRequest { s3, settings, bucket, key, listing, region, identity }))
    }

    pub(crate) fn url(&self) -> Result<Url> {
        let BucketRequest { settings, bucket, region, .. } = self;
        let own = settings.endpoint_of("S3");
        let is_in_host = settings.is_in_host(bucket, own.is_none());
        let usual = || format!("https://s3.{region}.{}", domain(region));
        let endpoint = own.unwrap_or_else(usual);
        let endpoint = endpoint.trim_end_matches('/');
        let base = if is_in_host {
            endpoint.replacen("://", &format!("://{bucket}."), 1) + "/"
        } else {
            format!("{endpoint}/{bucket}/")
        };
        let mut target = Url::parse(&base).map_err(|error| error.within("the endpoint"))?.target;
        if self.listing.is_some() && !is_in_host {
            target.pop();
        }
        let query = self.listing.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        let path = format!("{}{query}", utf8_percent_encode(&self.key, PATH));
        target += &path;
        // In a key the names `.` and `..` mean nothing else.
        Ok(Url::parse(&(base + &path))?.with_target(target))
    }

    /// Finds the keys that sign the next request.
    pub(crate) async fn identify(
        &mut self,
        http: &Settings,
        mode: WaitMode,
        cancel: Option<&Cancel>,
    ) -> Result<()> {
        self.identity = Some(self.s3.identity(http, mode, cancel).await?);
        Ok(())
    }

    /// The headers that sign a request with these headers of the caller.
    pub(crate) fn signature(
        &self,
        url: &Url,
        headers: &[(String, String)],
    ) -> Vec<(String, String)> {
        let keys = self.identity.as_ref().and_then(|identity| identity.keys.as_ref());
        let Some(keys) = keys else { return Vec::new() };
        let is_signed = |name: &str| name.to_ascii_lowercase().starts_with("x-amz-");
        let headers = headers.iter().filter(|(name, _)| is_signed(name));
        let headers: Vec<(String, String)> = headers.cloned().collect();
        let (host, target) = (url.authority(), &url.target);
        let parts = SignedParts { method: "GET", host: &host, target, headers: &headers, body: "" };
        let time_s = unix_time_s();
        let scope = SignatureScope { region: &self.region, service: "s3", time_s };
        sign::signature(&parts, keys, &scope)
    }

    /// Whether the bucket is in a region in which it was not requested yet. It is from now on.
    pub(crate) fn move_to(&mut self, region: &str) -> bool {
        let is_in_name = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        if region == self.region || region.is_empty() || !region.bytes().all(is_in_name) {
            return false;
        }
        region.clone_into(&mut self.region);
        lock(&self.s3.found.regions).insert(self.bucket.clone(), self.region.clone());
        true
    }

    /// The error of a refused request, with who asked, and what to do.
    pub(crate) fn refused(&self, error: Error, code: Option<&str>) -> Error {
        let Some(identity) = &self.identity else { return error };
        if code == Some("ExpiredToken") && identity.is_renewable() {
            self.s3.forget();
            return error.and(&format!("; {}", identity.source)).retryable(true);
        }
        match error.status() {
            Some(301) => error.and("; set AWS_REGION to the region of the bucket"),
            Some(400 | 401 | 403) => error.and(&format!("; {}", identity.source)),
            _ => error,
        }
    }
}

/// The region that the XML of a refusal names.
pub(crate) fn named_region(xml: &str) -> Option<String> {
    xml::text(xml, "Region")
}

/// The code and the message of a refusal.
pub(crate) fn code_and_message(xml: &str) -> (Option<String>, Option<String>) {
    let message = xml::text(xml, "Message");
    let message = message.map(|text| text.chars().take(MESSAGE_CHARS).collect());
    (xml::text(xml, "Code"), message)
}

/// Bucket and key of the URL of an object, which are not encoded.
fn bucket_and_key(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    let is_s3 = scheme.eq_ignore_ascii_case("s3");
    is_s3.then(|| rest.split_once('/').unwrap_or((rest, "")))
}

fn wrong(text: String) -> Error {
    Error::new(ErrorKind::InvalidUse, text)
}

/// An object of a bucket, as lists have it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct S3Object {
    /// The key.
    pub key: String,
    /// The size.
    pub size_bytes: u64,
}

/// Options of objects in buckets.
impl Options {
    /// Requests objects in this way, instead of the one that the environment says. Streams that
    /// share it look for keys once.
    ///
    /// ```
    /// let s3 = byte_stream::S3::from_environment();
    /// let options = byte_stream::Stream::options().s3(&s3);
    /// ```
    pub fn s3(mut self, s3: &S3) -> Options {
        self.http.s3 = Some(s3.clone());
        self
    }

    /// The objects of a bucket whose keys begin with a prefix, sorted by their keys; with a
    /// delimiter, only those without it behind the prefix. It takes a request for 1000 objects.
    ///
    /// ```no_run
    /// let objects = byte_stream::Stream::options().list("s3://bucket/2026/", Some('/'))?;
    /// let bytes: u64 = objects.iter().map(|object| object.size_bytes).sum();
    /// # Ok::<(), byte_stream::Error>(())
    /// ```
    pub fn list(mut self, prefix: &str, delimiter: Option<char>) -> Result<Vec<S3Object>> {
        let listed = self.check().and_then(|()| {
            let Some((_, start)) = bucket_and_key(prefix) else {
                return Err(wrong("a list is that of s3://BUCKET/PREFIX".to_owned()));
            };
            let mut query =
                format!("list-type=2&prefix={}", utf8_percent_encode(start, UNRESERVED));
            if let Some(delimiter) = delimiter {
                let delimiter = delimiter.to_string();
                query += "&delimiter=";
                query.extend(utf8_percent_encode(&delimiter, UNRESERVED));
            }
            // All pages are of one server.
            self.http.connections.get_or_insert_default();
            pages(prefix, &query, &self.http, self.cancel.as_ref())
        });
        listed.map_err(|error| error.named(&without_credentials(prefix)))
    }
}

/// The objects of all pages of a list.
fn pages(
    url: &str,
    query: &str,
    http: &Settings,
    cancel: Option<&Cancel>,
) -> Result<Vec<S3Object>> {
    let mut objects = Vec::new();
    let (mut token, mut retries): (Option<String>, _) = (None, 0);
    loop {
        let mut query = query.to_owned();
        if let Some(token) = &token {
            query += "&continuation-token=";
            query.extend(utf8_percent_encode(token, UNRESERVED));
        }
        let mut settings = Settings { listing: Some(query), decode: false, ..http.clone() };
        let page = match now(http::text(url, &mut settings, cancel, WaitMode::Thread)) {
            // A page that was cut is not continued, as its length is not known.
            Err(error) if error.is_retryable() && retries < http.retries => {
                retries += 1;
                continue;
            }
            page => page?,
        };
        retries = 0;
        match take_page(&page, &mut objects)? {
            None => break,
            next if next == token => return Err(malformed()),
            next => token = next,
        }
    }
    objects.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    Ok(objects)
}

/// Adds the objects of a page, and returns the token of the next one.
fn take_page(page: &str, objects: &mut Vec<S3Object>) -> Result<Option<String>> {
    if xml::elements(page, "ListBucketResult").next().is_none() {
        return Err(malformed());
    }
    for entry in xml::elements(page, "Contents") {
        let size = xml::text(entry, "Size").and_then(|size| size.parse().ok());
        let (Some(key), Some(size_bytes)) = (xml::text(entry, "Key"), size) else {
            return Err(malformed());
        };
        objects.push(S3Object { key, size_bytes });
    }
    if xml::text(page, "IsTruncated").as_deref() != Some("true") {
        return Ok(None);
    }
    xml::text(page, "NextContinuationToken").map(Some).ok_or_else(malformed)
}

fn malformed() -> Error {
    Error::new(ErrorKind::Protocol, "the server sent no list of objects")
}

#[cfg(test)]
mod tests;
