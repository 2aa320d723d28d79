//! Finds the keys that sign requests, where AWS's own programs find them: in variables of the
//! environment, in a profile, by a role, in a container and on an instance.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use percent_encoding::utf8_percent_encode;

use super::sign::{AccessKeys, SignatureScope, SignedParts, parse_time, signature};
use super::{S3Settings, UNRESERVED, domain, xml};
use crate::cancel::{Cancel, unix_time_s};
use crate::http::{self, Proxy, Settings, Url};
use crate::wait::WaitMode;
use crate::{Error, ErrorKind, Result};

/// Keys are renewed when they expire within this time.
const RENEWED_S: u64 = 300;
/// The address of the service that gives an instance its keys, and those that give a container its
/// own (of ECS and of EKS).
const INSTANCE: &str = "http://169.254.169.254";
const CONTAINER: &str = "http://169.254.170.2";
const CONTAINER_HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];
/// The longest wait for these services: elsewhere nobody answers.
const LOCAL_LIMIT: Duration = Duration::from_secs(1);

/// Who sends requests.
#[derive(Clone)]
pub(crate) struct Identity {
    /// Without keys, requests are not signed.
    pub(crate) keys: Option<AccessKeys>,
    pub(crate) source: IdentitySource,
    /// Seconds since 1970.
    expires_s: Option<u64>,
}

/// Where an identity is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdentitySource {
    /// The caller wants requests that are not signed.
    Anonymous,
    /// There are no keys.
    NotFound,
    Environment,
    /// The name of a profile.
    Profile(String),
    /// The variables of a role.
    WebIdentity,
    /// The name of a profile that has a role.
    Role(String),
    Container,
    Instance,
}

impl fmt::Display for IdentitySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdentitySource::Anonymous => f.write_str("not signed, as was asked for"),
            IdentitySource::NotFound => f.write_str(
                "not signed, as there are no credentials: set AWS_ACCESS_KEY_ID and \
                 AWS_SECRET_ACCESS_KEY, or AWS_PROFILE",
            ),
            IdentitySource::Environment => f.write_str("signed by the keys of the environment"),
            IdentitySource::Profile(name) => write!(f, "signed by the keys of the profile {name}"),
            IdentitySource::WebIdentity => f.write_str("signed as the role of AWS_ROLE_ARN"),
            IdentitySource::Role(name) => write!(f, "signed as the role of the profile {name}"),
            IdentitySource::Container => f.write_str("signed by the keys of the container"),
            IdentitySource::Instance => f.write_str("signed by the keys of the instance"),
        }
    }
}

impl Identity {
    fn new(source: IdentitySource, keys: AccessKeys) -> Identity {
        Identity { keys: Some(keys), source, expires_s: None }
    }

    fn without_keys(source: IdentitySource) -> Identity {
        Identity { keys: None, source, expires_s: None }
    }

    /// Whether the keys need not be renewed yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.expires_s.is_none_or(|at| at > unix_time_s() + RENEWED_S)
    }

    /// Whether the keys are still accepted.
    pub(crate) fn is_valid(&self) -> bool {
        self.expires_s.is_none_or(|at| at > unix_time_s())
    }

    /// Whether other keys may be there the next time.
    pub(crate) fn is_renewable(&self) -> bool {
        use IdentitySource::{Container, Instance, Profile, Role, WebIdentity};
        matches!(self.source, Container | Instance | Profile(_) | Role(_) | WebIdentity)
    }
}

/// A search for keys.
pub(crate) struct KeySearch<'a> {
    pub(crate) s3: &'a S3Settings,
    /// The settings of the stream, of which services are asked by the same proxy and certificates.
    pub(crate) http: &'a Settings,
    pub(crate) mode: WaitMode,
    pub(crate) cancel: Option<&'a Cancel>,
}

impl KeySearch<'_> {
    pub(crate) async fn find(&self) -> Result<Identity> {
        if let Some(identity) = self.environment()? {
            return Ok(identity);
        }
        let (file, role) = ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN");
        if let (Some(file), Some(role)) = (self.s3.variable(file), self.s3.variable(role)) {
            return self.web_identity(&file, &role, IdentitySource::WebIdentity).await;
        }
        if let Some(identity) = self.profile().await? {
            return Ok(identity);
        }
        if let Some(identity) = self.container().await? {
            return Ok(identity);
        }
        let identity = self.instance().await?;
        Ok(identity.unwrap_or_else(|| Identity::without_keys(IdentitySource::NotFound)))
    }

    fn environment(&self) -> Result<Option<Identity>> {
        let set = |name: &str| self.s3.variable(name);
        let is_true = |value: String| ["1", "true", "yes"].contains(&value.to_lowercase().as_str());
        if self.s3.is_anonymous || set("AWS_NO_SIGN_REQUEST").is_some_and(is_true) {
            return Ok(Some(Identity::without_keys(IdentitySource::Anonymous)));
        }
        let token = set("AWS_SESSION_TOKEN");
        match (set("AWS_ACCESS_KEY_ID"), set("AWS_SECRET_ACCESS_KEY")) {
            (Some(id), Some(secret)) => {
                let keys = AccessKeys { id, secret, token };
                Ok(Some(Identity::new(IdentitySource::Environment, keys)))
            }
            (None, None) => Ok(None),
            (Some(_), None) => Err(wrong("AWS_SECRET_ACCESS_KEY is not set")),
            (None, Some(_)) => Err(wrong("AWS_ACCESS_KEY_ID is not set")),
        }
    }

    async fn profile(&self) -> Result<Option<Identity>> {
        let S3Settings { profiles, profile, .. } = self.s3;
        let value = |key| profiles.value(profile, key);
        let source = || IdentitySource::Role(profile.clone());
        match (value("role_arn"), value("web_identity_token_file"), value("source_profile")) {
            (Some(role), Some(file), _) => {
                return self.web_identity(file, role, source()).await.map(Some);
            }
            (Some(role), None, Some(from)) if value("mfa_serial").is_none() => {
                let keys = self.keys_of(from)?.ok_or_else(|| {
                    wrong(&format!(
                        "the profile {from}, of which {profile} needs the keys, has none"
                    ))
                })?;
                return self.role(role, &keys, source()).await.map(Some);
            }
            _ => {}
        }
        if let Some(keys) = self.keys_of(profile)? {
            return Ok(Some(Identity::new(IdentitySource::Profile(profile.clone()), keys)));
        }
        let others = ["credential_process", "sso_session", "sso_start_url", "role_arn"];
        if others.into_iter().any(|key| value(key).is_some()) {
            let command = format!("aws configure export-credentials --profile {profile}");
            return Err(wrong(&format!(
                "the profile {profile} has its keys from a program: set the variables that \
                 `{command} --format env` prints"
            )));
        }
        if self.s3.is_profile_named && !profiles.has(profile) {
            let text = "is neither in the file of credentials nor in that of the configuration";
            return Err(wrong(&format!("the profile {profile} {text}")));
        }
        Ok(None)
    }

    fn keys_of(&self, profile: &str) -> Result<Option<AccessKeys>> {
        let value = |key| self.s3.profiles.value(profile, key).map(str::to_owned);
        let token = value("aws_session_token");
        match (value("aws_access_key_id"), value("aws_secret_access_key")) {
            (Some(id), Some(secret)) => Ok(Some(AccessKeys { id, secret, token })),
            (None, None) => Ok(None),
            _ => Err(wrong(&format!("the profile {profile} has only one of its two keys"))),
        }
    }

    /// The keys of a role, for the token in a file.
    async fn web_identity(
        &self,
        file: &str,
        role: &str,
        source: IdentitySource,
    ) -> Result<Identity> {
        let token = self.s3.read(file)?.unwrap_or_default();
        if token.trim().is_empty() {
            return Err(wrong(&format!("{file}: there is no token of the role")));
        }
        let session = self.session_name();
        let fields = [
            ("Action", "AssumeRoleWithWebIdentity"),
            ("RoleArn", role),
            ("RoleSessionName", session.as_str()),
            ("WebIdentityToken", token.trim()),
        ];
        self.token_service(&fields, None, source).await
    }

    /// The keys of a role, which the keys of a user may take.
    async fn role(
        &self,
        role: &str,
        keys: &AccessKeys,
        source: IdentitySource,
    ) -> Result<Identity> {
        let session = self.session_name();
        let external = self.s3.profiles.value(&self.s3.profile, "external_id");
        let mut fields = vec![
            ("Action", "AssumeRole"),
            ("RoleArn", role),
            ("RoleSessionName", session.as_str()),
        ];
        fields.extend(external.map(|id| ("ExternalId", id)));
        self.token_service(&fields, Some(keys), source).await
    }

    fn session_name(&self) -> String {
        let of_profile = || {
            let name = self.s3.profiles.value(&self.s3.profile, "role_session_name");
            name.map(str::to_owned)
        };
        let name = self.s3.variable("AWS_ROLE_SESSION_NAME").or_else(of_profile);
        name.unwrap_or_else(|| "byte-stream".to_owned())
    }

    /// Asks STS. What is secret is in the body, not in the URL.
    async fn token_service(
        &self,
        fields: &[(&str, &str)],
        keys: Option<&AccessKeys>,
        source: IdentitySource,
    ) -> Result<Identity> {
        let mut body = "Version=2011-06-15".to_owned();
        for (name, value) in fields {
            body.extend(["&", name, "="].into_iter().chain(utf8_percent_encode(value, UNRESERVED)));
        }
        let region = self.s3.region();
        let usual = || format!("https://sts.{region}.{}", domain(&region));
        let endpoint = self.s3.endpoint_of("STS").unwrap_or_else(usual);
        let url = Url::parse(&endpoint)?;
        let form = "application/x-www-form-urlencoded";
        let mut headers = vec![("Content-Type".to_owned(), form.to_owned())];
        if let Some(keys) = keys {
            let (host, target) = (&url.authority(), &url.target);
            let parts =
                SignedParts { method: "POST", host, target, headers: &headers, body: &body };
            let scope = SignatureScope { region: &region, service: "sts", time_s: unix_time_s() };
            let signed = signature(&parts, keys, &scope);
            headers.extend(signed);
        }
        let settings = Settings {
            method: "POST",
            body,
            headers,
            proxy: self.http.proxy.clone(),
            tls: self.http.tls.clone(),
            explains_in_xml: true,
            ..service_settings()
        };
        let asked = self.ask(&endpoint, settings).await;
        let answer = asked.map_err(|error| error.within(&role_words(&source)))?;
        identity(source, |name| xml::text(&answer, name), "SessionToken")
    }

    async fn container(&self) -> Result<Option<Identity>> {
        let set = |name: &str| self.s3.variable(name);
        let relative = set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
        let relative = relative.map(|path| format!("{CONTAINER}{path}"));
        let full = || set("AWS_CONTAINER_CREDENTIALS_FULL_URI");
        let Some(url) = relative.or_else(full) else { return Ok(None) };
        check_container(&Url::parse(&url)?)?;
        let token = match set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
            Some(file) => self.s3.read(&file)?,
            None => set("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
        };
        let authorization = token.map(|token| token.trim().to_owned());
        let settings = Settings { authorization, ..local_settings() };
        let asked = self.ask(&url, settings).await;
        let answer = asked.map_err(|error| error.within("the keys of the container"))?;
        identity(IdentitySource::Container, |name| member(&answer, name), "Token").map(Some)
    }

    /// By version 2 of the service, which wants a token.
    async fn instance(&self) -> Result<Option<Identity>> {
        let is_off = self.s3.variable("AWS_EC2_METADATA_DISABLED");
        if is_off.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let base = self.s3.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
        let base = base.unwrap_or_else(|| INSTANCE.to_owned());
        let base = base.trim_end_matches('/');
        let header = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let lifetime = header("X-aws-ec2-metadata-token-ttl-seconds", "21600");
        let settings =
            Settings { method: "PUT", headers: lifetime, retries: 0, ..local_settings() };
        let token = match self.ask(&format!("{base}/latest/api/token"), settings).await {
            Ok(token) => token,
            Err(error) if error.kind() == ErrorKind::Cancelled => return Err(error),
            // This is no instance.
            Err(_) => return Ok(None),
        };
        let get = |url: String| {
            let headers = header("X-aws-ec2-metadata-token", token.trim());
            async move { self.ask(&url, Settings { headers, ..local_settings() }).await }
        };
        let roles = format!("{base}/latest/meta-data/iam/security-credentials/");
        let context = |error: Error| error.within("the keys of the instance");
        let role = match get(roles.clone()).await {
            Ok(names) => names.lines().next().unwrap_or_default().trim().to_owned(),
            // The instance has no role.
            Err(error) if error.status() == Some(404) => return Ok(None),
            Err(error) => return Err(context(error)),
        };
        let answer = get(format!("{roles}{role}")).await.map_err(context)?;
        identity(IdentitySource::Instance, |name| member(&answer, name), "Token").map(Some)
    }

    async fn ask(&self, url: &str, mut settings: Settings) -> Result<String> {
        http::text(url, &mut settings, self.cancel, self.mode).await
    }
}

/// The settings for a service that must not send what it gets to another one.
fn service_settings() -> Settings {
    Settings { redirects: 0, ..Settings::default() }
}

/// The settings for a service of this machine.
fn local_settings() -> Settings {
    Settings {
        proxy: Proxy::None,
        connect_limit: LOCAL_LIMIT,
        idle_limit: 5 * LOCAL_LIMIT,
        retries: 1,
        ..service_settings()
    }
}

fn role_words(source: &IdentitySource) -> String {
    match source {
        IdentitySource::Role(profile) => format!("the keys of the role of the profile {profile}"),
        _ => "the keys of the role of AWS_ROLE_ARN".to_owned(),
    }
}

/// Only services of this machine get the token of a container without TLS.
fn check_container(url: &Url) -> Result<()> {
    let is_loopback = url.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let is_local = is_loopback || url.host == "localhost";
    if url.secure || is_local || CONTAINER_HOSTS.contains(&url.host.as_str()) {
        return Ok(());
    }
    Err(wrong("AWS_CONTAINER_CREDENTIALS_FULL_URI names another machine without https"))
}

/// The identity in an answer, whose fields are found by name.
fn identity(
    source: IdentitySource,
    field: impl Fn(&str) -> Option<String>,
    token: &str,
) -> Result<Identity> {
    let (id, secret, token) = (field("AccessKeyId"), field("SecretAccessKey"), field(token));
    let expires = field("Expiration").map(|time| parse_time(&time));
    match (id, secret, expires) {
        (Some(id), Some(secret), None | Some(Some(_))) => {
            let keys = AccessKeys { id, secret, token };
            Ok(Identity { expires_s: expires.flatten(), ..Identity::new(source, keys) })
        }
        _ => Err(Error::new(ErrorKind::Protocol, "the service of credentials sent no keys")),
    }
}

/// The text with this name in a flat object of JSON. Keys and tokens need no escapes, but for
/// slashes, which some escape.
fn member(json: &str, name: &str) -> Option<String> {
    let quoted = format!("\"{name}\"");
    let mut rest = json;
    loop {
        let (_, behind) = rest.split_once(&quoted)?;
        rest = behind;
        let Some(value) = behind.trim_start().strip_prefix(':') else { continue };
        let (text, _) = value.trim_start().strip_prefix('"')?.split_once('"')?;
        let text = text.replace("\\/", "/");
        return Some(text).filter(|text| !text.is_empty() && !text.contains('\\'));
    }
}

fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::InvalidUse, text.to_owned())
}
