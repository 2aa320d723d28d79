//! Objects of a bucket, by a server that computes each signature again, and the services that give
//! keys.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use byte_stream::{Connections, ErrorKind, Options, S3, Stream};
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};

use crate::http::get;
use crate::kinds::bytes;
use crate::server::{Request, Server, good, head, partial};

const ID: &str = "AKIATEST";
const SECRET: &str = "not/to+be/shown";
const OBJECTS_OF_PAGE: usize = 3;

/// HMAC (RFC 2104) with SHA-256, by other code than that of the library.
fn keyed_digest(key: &[u8], text: &str) -> Vec<u8> {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let [inner, outer] = [0x36, 0x5c].map(|pad| block.map(|byte: u8| byte ^ pad));
    let inner: [u8; 32] = Sha256::digest([&inner[..], text.as_bytes()].concat()).into();
    Sha256::digest([&outer[..], &inner[..]].concat()).to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// What is wrong with the signature, if anything is: a code of S3.
fn refusal(request: &Request, body: &str, secret: &str, region: &str) -> Option<&'static str> {
    let Some(sent) = request.header("authorization") else { return Some("AccessDenied") };
    let fields = sent.strip_prefix("AWS4-HMAC-SHA256 ").unwrap().split(',');
    let fields: BTreeMap<&str, &str> =
        fields.filter_map(|field| field.trim().split_once('=')).collect();
    let (id, scope) = fields["Credential"].split_once('/').unwrap();
    let [date, of_region, service, last]: [&str; 4] =
        scope.split('/').collect::<Vec<_>>().try_into().unwrap();
    if id != ID {
        return Some("InvalidAccessKeyId");
    }
    if of_region != region {
        return Some("AuthorizationHeaderMalformed");
    }
    let names: Vec<&str> = fields["SignedHeaders"].split(';').collect();
    let must = |name: &str| name == "host" || name.starts_with("x-amz-");
    let unsigned = request.headers.iter().find(|(name, _)| must(name) && !names.contains(&&**name));
    assert_eq!(unsigned, None, "a header that must be signed");
    let mut words = request.line.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut pairs: Vec<&str> = query.split('&').collect();
    pairs.sort_unstable();
    let digest = request.header("x-amz-content-sha256").unwrap();
    assert_eq!(digest, hex(Sha256::digest(body).as_slice()));
    let mut canonical = format!("{method}\n{path}\n{}\n", pairs.join("&"));
    for name in &names {
        canonical.extend([name, ":", request.header(name).unwrap().trim(), "\n"]);
    }
    canonical.extend(["\n", &names.join(";"), "\n", digest]);
    let time = request.header("x-amz-date").unwrap();
    assert!(time.starts_with(date) && time.len() == 16, "{time}");
    let text = format!(
        "AWS4-HMAC-SHA256\n{time}\n{scope}\n{}",
        hex(Sha256::digest(&canonical).as_slice())
    );
    let first = format!("AWS4{secret}").into_bytes();
    let key =
        [date, of_region, service, last].iter().fold(first, |key, text| keyed_digest(&key, text));
    let is_right = fields["Signature"] == hex(&keyed_digest(&key, &text));
    (!is_right).then_some("SignatureDoesNotMatch")
}

fn refuse(socket: &mut TcpStream, status: &str, code: &str, more: &str) -> io::Result<()> {
    let xml = format!(
        "<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>It says why &amp; \
         what.</Message>{more}<RequestId>1</RequestId></Error>"
    );
    let length = format!("Content-Length: {}", xml.len());
    head(socket, status, &[&length, "Content-Type: application/xml"])?;
    socket.write_all(xml.as_bytes())
}

/// A bucket `bucket` in a region, whose objects are these.
fn answer(
    request: &Request,
    socket: &mut TcpStream,
    objects: &BTreeMap<&str, Vec<u8>>,
    region: &str,
) -> io::Result<()> {
    match refusal(request, "", SECRET, region) {
        Some("AuthorizationHeaderMalformed") => {
            let more = format!("<Region>{region}</Region>");
            return refuse(socket, "400 Bad Request", "AuthorizationHeaderMalformed", &more);
        }
        Some(code) => return refuse(socket, "403 Forbidden", code, ""),
        None => {}
    }
    let target = request.line.split(' ').nth(1).unwrap();
    if let Some(query) = target.strip_prefix("/bucket?") {
        return list(socket, query, objects);
    }
    let key = target.strip_prefix("/bucket/").map(percent_decode_str);
    let key = key.map(|key| key.decode_utf8().unwrap());
    match key.and_then(|key| objects.get(&*key)) {
        Some(body) => good(request, socket, body, "\"v\""),
        None => refuse(socket, "404 Not Found", "NoSuchKey", ""),
    }
}

/// Objects in pages, as `ListObjectsV2` gives them.
fn list(socket: &mut TcpStream, query: &str, objects: &BTreeMap<&str, Vec<u8>>) -> io::Result<()> {
    let fields: BTreeMap<&str, String> = query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name, percent_decode_str(value).decode_utf8().unwrap().into()))
        .collect();
    let (prefix, after) = (&fields["prefix"], fields.get("continuation-token"));
    let is_flat =
        |key: &str| !fields.contains_key("delimiter") || !key[prefix.len()..].contains('/');
    let found: Vec<_> = objects
        .iter()
        .filter(|(key, _)| key.starts_with(prefix.as_str()) && is_flat(key))
        .filter(|(key, _)| after.is_none_or(|after| **key > after.as_str()))
        .collect();
    let mut xml = "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">".to_owned();
    for (key, body) in found.iter().take(OBJECTS_OF_PAGE) {
        let key = key.replace('&', "&amp;").replace('<', "&lt;");
        let size = body.len().to_string();
        xml.extend(["<Contents><Key>", &key, "</Key><Size>", &size, "</Size></Contents>"]);
    }
    if let Some((next, _)) =
        found.get(OBJECTS_OF_PAGE - 1).filter(|_| found.len() > OBJECTS_OF_PAGE)
    {
        let next = next.replace('&', "&amp;").replace('<', "&lt;");
        xml += "<IsTruncated>true</IsTruncated>";
        xml.extend(["<NextContinuationToken>", &next, "</NextContinuationToken>"]);
    }
    xml += "</ListBucketResult>";
    head(socket, "200 OK", &[&format!("Content-Length: {}", xml.len())])?;
    socket.write_all(xml.as_bytes())
}

fn bucket(objects: BTreeMap<&'static str, Vec<u8>>, region: &'static str) -> Server {
    Server::new(move |request, socket| answer(request, socket, &objects, region))
}

/// The variables for this server and these keys, and others.
fn s3(server: &Server, more: &[(&'static str, String)]) -> S3 {
    let usual = [
        ("AWS_ENDPOINT_URL", format!("http://{}", server.address)),
        ("AWS_ACCESS_KEY_ID", ID.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
        ("HOME", "/no/such/home".to_owned()),
    ];
    let set: BTreeMap<&str, String> = usual.into_iter().chain(more.iter().cloned()).collect();
    S3::from_variables(move |name| set.get(name).cloned())
}

fn options(s3: &S3) -> Options {
    Stream::options().proxy(None).retries(3, Duration::ZERO).s3(s3)
}

fn pair(name: &'static str, value: &str) -> (&'static str, String) {
    (name, value.to_owned())
}

#[test]
fn an_object_is_read_by_signed_requests() {
    let data = bytes(100_000);
    let objects = [("a/b c+é&.csv", data.clone()), ("empty", Vec::new())];
    let server = bucket(objects.into(), "us-east-1");
    let s3 = s3(&server, &[]);
    assert!(get(options(&s3), "s3://bucket/a/b c+é&.csv").unwrap() == data);
    assert_eq!(get(options(&s3), "s3://bucket/empty").unwrap(), b"");
    let range = options(&s3).range(10..20).header("X-Amz-Request-Payer", "requester");
    assert_eq!(get(range, "s3://bucket/a/b c+é&.csv").unwrap(), data[10..20]);
    let parallel = options(&s3).parallel(4).part_bytes(10_000);
    assert!(get(parallel, "S3://bucket/a/b c+é&.csv").unwrap() == data);
    let with_token = pair("AWS_SESSION_TOKEN", "token/+=");
    get(options(&self::s3(&server, &[with_token])), "s3://bucket/empty").unwrap();
    let last = server.requests().pop().unwrap();
    assert_eq!(last.header("x-amz-security-token"), Some("token/+="));
}

#[test]
fn a_refusal_names_the_object_the_reason_and_who_asked() {
    let server = bucket(BTreeMap::new(), "us-east-1");
    let error = |s3: &S3, url: &str| {
        let error = get(options(s3), url).unwrap_err();
        assert!(!error.to_string().contains(SECRET), "{error}");
        (error.status(), error.to_string())
    };
    let (of_key, url) = (s3(&server, &[]), "s3://bucket/none");
    let text = "s3://bucket/none: the server answered 404 (NoSuchKey: It says why & what.)";
    assert_eq!(error(&of_key, url), (Some(404), text.to_owned()));
    let denied = "s3://bucket/none: the server answered 403 (AccessDenied: It says why & what.)";
    let text = format!("{denied}; not signed, as was asked for");
    assert_eq!(error(&of_key.anonymous(), url), (Some(403), text));
    let none = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(|name| pair(name, ""));
    let text = format!(
        "{denied}; not signed, as there are no credentials: set AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
    );
    assert_eq!(error(&s3(&server, &none), url), (Some(403), text));
    let wrong = pair("AWS_SECRET_ACCESS_KEY", "another");
    let text = "s3://bucket/none: the server answered 403 (SignatureDoesNotMatch: It says why & \
                what.); signed by the keys of the environment";
    assert_eq!(error(&s3(&server, &[wrong]), url), (Some(403), text.to_owned()));
    // A refusal without XML, and one of another status.
    let plain = Server::new(|_, s| head(s, "403 Forbidden", &["Content-Length: 0"]));
    let text = "s3://bucket/none: the server answered 403 (forbidden); signed by the keys of the \
                environment";
    assert_eq!(error(&s3(&plain, &[]), url), (Some(403), text.to_owned()));
    let moved = Server::new(|_, s| refuse(s, "301 Moved Permanently", "PermanentRedirect", ""));
    let text = "s3://bucket/none: the server answered 301 (PermanentRedirect: It says why & \
                what.); set AWS_REGION to the region of the bucket";
    assert_eq!(error(&s3(&moved, &[]), url), (Some(301), text.to_owned()));
}

#[test]
fn a_busy_bucket_is_asked_again_and_a_cut_object_resumed() {
    let data = bytes(50_000);
    let body = data.clone();
    let server = Server::new(move |request, socket| {
        assert_eq!(refusal(request, "", SECRET, "us-east-1"), None);
        match request.n {
            0 => refuse(socket, "503 Slow Down", "SlowDown", ""),
            1 => partial(request, socket, &body, "\"v\"", 20_000),
            _ => good(request, socket, &body, "\"v\""),
        }
    });
    assert!(get(options(&s3(&server, &[])), "s3://bucket/a").unwrap() == data);
    let requests = server.requests();
    assert_eq!((requests.len(), requests[2].range()), (3, Some((20_000, None))));
    assert_eq!(requests[2].header("if-range"), Some("\"v\""));
}

#[test]
fn the_region_that_the_server_names_is_used_and_remembered() {
    let by_body = bucket([("a", b"in the body".to_vec())].into(), "eu-west-3");
    let by_head = Server::new(|request, socket| match refusal(request, "", SECRET, "eu-west-3") {
        None => good(request, socket, b"in the head", "\"v\""),
        Some(_) => head(
            socket,
            "301 Moved Permanently",
            &["x-amz-bucket-region: eu-west-3", "Content-Length: 0"],
        ),
    });
    for (server, expected) in [(&by_body, "in the body"), (&by_head, "in the head")] {
        let s3 = s3(server, &[]);
        for _ in 0..2 {
            let got = get(options(&s3), "s3://bucket/a").unwrap();
            assert_eq!(got, expected.as_bytes());
        }
        assert_eq!(server.requests().len(), 3);
        let set = self::s3(server, &[pair("AWS_REGION", "eu-west-3")]);
        assert_eq!(get(options(&set), "s3://bucket/a").unwrap(), expected.as_bytes());
        assert_eq!(server.requests().len(), 4);
    }
}

#[test]
fn another_server_gets_neither_a_signature_nor_a_token() {
    let other = Server::new(|r, s| good(r, s, b"there", "\"v\""));
    let to = format!("Location: {}", other.url());
    let server = Server::new(move |_, s| head(s, "307 Temporary Redirect", &[&to]));
    let s3 = s3(&server, &[pair("AWS_SESSION_TOKEN", "token")]);
    assert_eq!(get(options(&s3), "s3://bucket/a").unwrap(), b"there");
    assert!(server.requests()[0].header("authorization").is_some());
    let names = ["authorization", "x-amz-security-token", "x-amz-date"];
    let request = other.requests().remove(0);
    assert_eq!(names.map(|name| request.header(name)), [None; 3]);
}

#[test]
fn a_list_has_the_objects_of_all_pages() {
    let names = ["a&b", "d/1", "d/2", "d/3", "d/e/4", "d/z", "d/é <5>"];
    let objects = names.map(|name| (name, name.as_bytes().to_vec()));
    let server = bucket(objects.into(), "us-east-1");
    let keys = |prefix: &str, delimiter| {
        let listed = options(&s3(&server, &[])).list(prefix, delimiter).unwrap();
        let right = listed.iter().all(|object| object.size_bytes == object.key.len() as u64);
        assert!(right, "{listed:?}");
        listed.into_iter().map(|object| object.key).collect::<Vec<_>>()
    };
    assert_eq!(keys("s3://bucket", None), names);
    assert_eq!(keys("s3://bucket/d/", None), names[1..]);
    let flat = ["d/1", "d/2", "d/3", "d/z", "d/é <5>"];
    assert_eq!(keys("s3://bucket/d/", Some('/')), flat);
    assert_eq!(keys("s3://bucket/none", None), [""; 0]);
    assert_eq!(server.requests().len(), 3 + 2 + 2 + 1);
    let error = options(&s3(&server, &[])).list("http://bucket/", None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidUse);
    let denied = options(&s3(&server, &[]).anonymous()).list("s3://bucket/d", None).unwrap_err();
    assert!(denied.to_string().starts_with("s3://bucket/d: the server answered 403 (AccessDenied"));
}

#[test]
fn a_list_that_does_not_end_is_an_error() {
    let server = Server::new(|_, socket| {
        let xml = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t\
                   </NextContinuationToken></ListBucketResult>";
        head(socket, "200 OK", &[&format!("Content-Length: {}", xml.len())])?;
        socket.write_all(xml.as_bytes())
    });
    let error = options(&s3(&server, &[])).list("s3://bucket/", None).unwrap_err();
    assert_eq!(error.to_string(), "s3://bucket/: the server sent no list of objects");
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn many_objects_are_read_by_one_connection() {
    let opened = Arc::new(AtomicUsize::new(0));
    let count = opened.clone();
    let server = Server::raw(move |_, mut socket, requests| {
        count.fetch_add(1, Ordering::SeqCst);
        loop {
            let request = crate::server::read_request(&mut socket, 0)?;
            requests.lock().unwrap().push(request);
            // Without a close: the next request comes by the same connection.
            refuse(&mut socket, "404 Not Found", "NoSuchKey", "")?;
        }
    });
    let (s3, connections) = (s3(&server, &[]), Connections::new());
    for _ in 0..5 {
        let error = get(options(&s3).connections(&connections), "s3://bucket/a").unwrap_err();
        assert_eq!(error.status(), Some(404));
    }
    assert_eq!((opened.load(Ordering::SeqCst), server.requests().len()), (1, 5));
}

// The services that give keys.

/// The body of a request whose head was read.
fn body_of(request: &Request, socket: &mut TcpStream) -> io::Result<String> {
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body)?;
    Ok(String::from_utf8(body).unwrap())
}

fn say(socket: &mut TcpStream, text: &str) -> io::Result<()> {
    head(socket, "200 OK", &[&format!("Content-Length: {}", text.len())])?;
    socket.write_all(text.as_bytes())
}

/// Keys in JSON, as containers and instances get them.
fn keys_in_json(expires: &str) -> String {
    format!(
        "{{\n  \"Code\" : \"Success\",\n  \"AccessKeyId\" : \"{ID}\",\n  \"SecretAccessKey\" : \
         \"{SECRET}\",\n  \"Token\" : \"a token\",\n  \"Expiration\" : \"{expires}\"\n}}"
    )
}

/// The variables without keys, and others.
fn without_keys(server: &Server, more: &[(&'static str, String)]) -> S3 {
    let none = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(|name| pair(name, ""));
    s3(server, &[&none[..], more].concat())
}

const LATER: &str = "2999-01-01T00:00:00Z";

#[test]
fn a_container_gets_its_keys_with_a_token() {
    let service = Server::new(|request, socket| match request.header("authorization") {
        Some("Bearer x") => say(socket, &keys_in_json(LATER)),
        _ => head(socket, "401 Unauthorized", &["Content-Length: 0"]),
    });
    let server = bucket([("a", b"text".to_vec())].into(), "us-east-1");
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    std::fs::write(&file, "Bearer x\n").unwrap();
    let full = pair("AWS_CONTAINER_CREDENTIALS_FULL_URI", &service.url());
    for token in [
        pair("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Bearer x"),
        pair("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file.to_str().unwrap()),
    ] {
        let s3 = without_keys(&server, &[full.clone(), token]);
        assert_eq!(get(options(&s3), "s3://bucket/a").unwrap(), b"text");
        assert_eq!(get(options(&s3), "s3://bucket/a").unwrap(), b"text");
        let last = server.requests().pop().unwrap();
        assert_eq!(last.header("x-amz-security-token"), Some("a token"));
    }
    // Once for each.
    assert_eq!(service.requests().len(), 2);
    let error = get(options(&without_keys(&server, &[full])), "s3://bucket/a").unwrap_err();
    let expected = "s3://bucket/a: the keys of the container: the server answered 401 (credentials \
                    required)";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn an_instance_gets_its_keys_by_the_second_version() {
    let service = Server::new(|request, socket| {
        let _ = body_of(request, socket)?;
        let target = request.line.split(' ').nth(1).unwrap();
        match (target.strip_prefix("/latest/").unwrap(), request.line.starts_with("PUT ")) {
            ("api/token", true) => {
                let lifetime = request.header("x-aws-ec2-metadata-token-ttl-seconds");
                assert_eq!(lifetime, Some("21600"));
                say(socket, "a secret")
            }
            _ if request.header("x-aws-ec2-metadata-token") != Some("a secret") => {
                head(socket, "401 Unauthorized", &["Content-Length: 0"])
            }
            ("meta-data/iam/security-credentials/", false) => say(socket, "the-role\n"),
            ("meta-data/iam/security-credentials/the-role", false) => {
                say(socket, &keys_in_json(LATER))
            }
            _ => head(socket, "404 Not Found", &["Content-Length: 0"]),
        }
    });
    let server = bucket([("a", b"text".to_vec())].into(), "us-east-1");
    let endpoint = format!("http://{}/", service.address);
    let set = [
        pair("AWS_EC2_METADATA_SERVICE_ENDPOINT", &endpoint),
        pair("AWS_EC2_METADATA_DISABLED", ""),
    ];
    let s3 = without_keys(&server, &set);
    for _ in 0..2 {
        assert_eq!(get(options(&s3), "s3://bucket/a").unwrap(), b"text");
    }
    assert_eq!(service.requests().len(), 3);
    // Where something else answers, there are no keys.
    let other = Server::new(|_, socket| head(socket, "404 Not Found", &["Content-Length: 0"]));
    let endpoint = pair("AWS_EC2_METADATA_SERVICE_ENDPOINT", &format!("http://{}", other.address));
    let s3 = without_keys(&server, &[endpoint, pair("AWS_EC2_METADATA_DISABLED", "")]);
    let error = get(options(&s3), "s3://bucket/a").unwrap_err().to_string();
    assert!(error.contains("; not signed, as there are no credentials: "), "{error}");
}

/// Gives the keys of a role for a token, or for the signature of a user; counts the requests.
fn token_service(expires: &'static str) -> Server {
    Server::new(move |request, socket| {
        let body = body_of(request, socket)?;
        let has = |field: &str| body.split('&').any(|pair| pair == field);
        assert!(has("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr"), "{body}");
        assert!(has("RoleSessionName=byte-stream") && has("Version=2011-06-15"), "{body}");
        let is_allowed = if has("Action=AssumeRole") {
            refusal(request, &body, SECRET, "eu-west-1").is_none()
        } else {
            has("Action=AssumeRoleWithWebIdentity") && has("WebIdentityToken=a.b%2Bc")
        };
        if !is_allowed {
            return refuse(socket, "403 Forbidden", "AccessDenied", "");
        }
        let xml = format!(
            "<AssumeRoleResponse><AssumeRoleResult><Credentials>\
             <AccessKeyId>{ID}</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey>\
             <SessionToken>a token</SessionToken><Expiration>{expires}</Expiration>\
             </Credentials></AssumeRoleResult></AssumeRoleResponse>"
        );
        say(socket, &xml)
    })
}

#[test]
fn a_role_is_taken_by_a_token_or_by_the_keys_of_a_user() {
    let service = token_service(LATER);
    let server = bucket([("a", b"text".to_vec())].into(), "eu-west-1");
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let role = "arn:aws:iam::1:role/r";
    let (token, wrong) = (write("token", "a.b+c\n"), write("wrong", "x"));
    let keys = format!("aws_access_key_id = {ID}\naws_secret_access_key = {SECRET}\n");
    let of_role = format!("[profile r]\nrole_arn = {role}\n");
    let by_user =
        write("by_user", &format!("{of_role}source_profile = user\n[profile user]\n{keys}"));
    let by_token = write("by_token", &format!("{of_role}web_identity_token_file = {token}\n"));
    let common = [
        pair("AWS_ENDPOINT_URL_STS", &format!("http://{}", service.address)),
        pair("AWS_REGION", "eu-west-1"),
    ];
    let with = |more: &[(&'static str, String)]| {
        let s3 = without_keys(&server, &[&common[..], more].concat());
        get(options(&s3), "s3://bucket/a")
    };
    let profile = |file: &str| [pair("AWS_PROFILE", "r"), pair("AWS_CONFIG_FILE", file)];
    let variables =
        |file: &str| [pair("AWS_ROLE_ARN", role), pair("AWS_WEB_IDENTITY_TOKEN_FILE", file)];
    for more in [variables(&token), profile(&by_user), profile(&by_token)] {
        assert_eq!(with(&more).unwrap(), b"text");
        let last = server.requests().pop().unwrap();
        assert_eq!(last.header("x-amz-security-token"), Some("a token"));
    }
    let error = with(&variables(&wrong)).unwrap_err().to_string();
    let expected = "s3://bucket/a: the keys of the role of AWS_ROLE_ARN: the server answered 403 \
                    (AccessDenied: It says why & what.)";
    assert_eq!(error, expected);
    let error = with(&variables("/no/such/file")).unwrap_err().to_string();
    assert_eq!(error, "s3://bucket/a: /no/such/file: there is no token of the role");
}

#[test]
fn keys_that_expire_are_renewed_and_those_that_are_refused_found_again() {
    let server = bucket([("a", b"text".to_vec())].into(), "us-east-1");
    let service = Server::new(|request, socket| match request.n {
        // They are about to expire.
        0 => say(socket, &keys_in_json("2000-01-01T00:00:00Z")),
        _ => say(socket, &keys_in_json(LATER)),
    });
    let full = pair("AWS_CONTAINER_CREDENTIALS_FULL_URI", &service.url());
    let s3 = without_keys(&server, &[full]);
    for requests in [1, 2, 2] {
        assert_eq!(get(options(&s3), "s3://bucket/a").unwrap(), b"text");
        assert_eq!(service.requests().len(), requests);
    }
    // The server may refuse them earlier.
    let strict = Server::new(|request, socket| match request.n {
        0 => refuse(socket, "400 Bad Request", "ExpiredToken", ""),
        _ => good(request, socket, b"text", "\"v\""),
    });
    let service = Server::new(|_, socket| say(socket, &keys_in_json(LATER)));
    let full = pair("AWS_CONTAINER_CREDENTIALS_FULL_URI", &service.url());
    assert_eq!(get(options(&without_keys(&strict, &[full])), "s3://bucket/a").unwrap(), b"text");
    assert_eq!((strict.requests().len(), service.requests().len()), (2, 2));
    // Those of the environment stay the same.
    let strict = Server::new(|_, s| refuse(s, "400 Bad Request", "ExpiredToken", ""));
    let error = get(options(&self::s3(&strict, &[])), "s3://bucket/a").unwrap_err().to_string();
    let expected = "s3://bucket/a: the server answered 400 (ExpiredToken: It says why & what.); \
                    signed by the keys of the environment";
    assert_eq!((error.as_str(), strict.requests().len()), (expected, 1));
}

#[test]
fn an_answer_without_keys_is_an_error() {
    let server = bucket(BTreeMap::new(), "us-east-1");
    for text in ["{}", "no JSON", "{\"AccessKeyId\":\"a\"}", &keys_in_json("soon")] {
        let text = text.to_owned();
        let service = Server::new(move |_, socket| say(socket, &text));
        let full = pair("AWS_CONTAINER_CREDENTIALS_FULL_URI", &service.url());
        let error = get(options(&without_keys(&server, &[full])), "s3://bucket/a").unwrap_err();
        assert_eq!(error.to_string(), "s3://bucket/a: the service of credentials sent no keys",);
    }
}

#[cfg(feature = "async")]
#[test]
fn a_task_reads_an_object_by_the_keys_of_a_service() {
    let data = bytes(100_000);
    let server = bucket([("a", data.clone())].into(), "us-east-1");
    let service = Server::new(|_, socket| say(socket, &keys_in_json(LATER)));
    let full = pair("AWS_CONTAINER_CREDENTIALS_FULL_URI", &service.url());
    let s3 = without_keys(&server, &[full]);
    let got = crate::asynchronous::get(options(&s3), "s3://bucket/a").unwrap();
    assert!(got == data);
}
