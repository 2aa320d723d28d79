use super::*;

/// With these variables, and a home where there is nothing.
fn with(variables: &[(&str, &str)]) -> S3 {
    let mut set: BTreeMap<String, String> =
        [("AWS_EC2_METADATA_DISABLED", "true"), ("HOME", "/no/such/home")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    set.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    S3::from_variables(move |name| set.get(name).cloned())
}

fn request(variables: &[(&str, &str)], url: &str, listing: Option<&str>) -> Result<BucketRequest> {
    let (s3, listing) = (Some(with(variables)), listing.map(str::to_owned));
    let mut http = Settings { s3, listing, ..Settings::default() };
    Ok(BucketRequest::new(url, &mut http)?.expect("it is that of an object"))
}

fn shown(url: &Url) -> String {
    let scheme = if url.secure { "https" } else { "http" };
    format!("{scheme}://{}{}", url.authority(), url.target)
}

#[test]
fn an_object_has_a_url_of_its_server() {
    let check = |variables: &[(&str, &str)], url: &str, expected: &str| {
        let got = match request(variables, url, None).and_then(|request| request.url()) {
            Ok(url) => shown(&url),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected, "{url}");
    };
    check(&[], "s3://b/a/c d.csv", "https://b.s3.us-east-1.amazonaws.com/a/c%20d.csv");
    let region = ("AWS_DEFAULT_REGION", "eu-west-1");
    check(&[region], "S3://b/a", "https://b.s3.eu-west-1.amazonaws.com/a");
    let other = ("AWS_REGION", "cn-north-1");
    check(&[region, other], "s3://b/a", "https://b.s3.cn-north-1.amazonaws.com.cn/a");
    check(&[], "s3://b.c/a", "https://s3.us-east-1.amazonaws.com/b.c/a");
    check(&[], "s3://B_c/a", "https://s3.us-east-1.amazonaws.com/B_c/a");
    let endpoint = ("AWS_ENDPOINT_URL", "http://localhost:9/");
    check(&[endpoint], "s3://b/a", "http://localhost:9/b/a");
    let of_s3 = ("AWS_ENDPOINT_URL_S3", "https://h/base");
    check(&[endpoint, of_s3], "s3://b/a", "https://h/base/b/a");
    // A key is no path, and is not encoded.
    let key = "../a//b/./+%20\u{e9}?x#y";
    let encoded = "../a//b/./%2B%2520%C3%A9%3Fx%23y";
    let (url, expected) = (format!("s3://b/{key}"), format!("http://localhost:9/b/{encoded}"));
    check(&[endpoint], &url, &expected);
    check(&[], &url, &format!("https://b.s3.us-east-1.amazonaws.com/{encoded}"));
    for url in ["s3://", "s3:///a", "s3://b", "s3://b/"] {
        check(&[], url, "an object is s3://BUCKET/KEY");
    }
    let text = "the name of a bucket has letters, digits, hyphens and dots only";
    check(&[], "s3://u:p@b/a", text);
    let wrong = ("AWS_ENDPOINT_URL", "localhost:9");
    check(&[wrong], "s3://b/a", "the endpoint: the URL is neither http:// nor https://");
}

#[test]
fn a_list_has_the_url_of_the_bucket() {
    let check = |variables: &[(&str, &str)], expected: &str| {
        let request = request(variables, "s3://b/a", Some("list-type=2")).unwrap();
        assert_eq!(shown(&request.url().unwrap()), expected);
    };
    check(&[], "https://b.s3.us-east-1.amazonaws.com/?list-type=2");
    check(&[("AWS_ENDPOINT_URL", "http://h")], "http://h/b?list-type=2");
}

#[test]
fn other_credentials_do_not_go_with_a_bucket() {
    let authorization = Some("Basic x".to_owned());
    let mut http = Settings { s3: Some(with(&[])), authorization, ..Settings::default() };
    let error = BucketRequest::new("s3://b/a", &mut http).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidUse);
    assert!(BucketRequest::new("http://b/a", &mut http).unwrap().is_none());
}

/// Whose keys are used, and their identifier, with these variables.
fn source(variables: &[(&str, &str)]) -> String {
    let s3 = with(variables);
    match now(s3.identity(&Settings::default(), WaitMode::Thread, None)) {
        Ok(identity) => {
            let id = identity.keys.map(|keys| keys.id).unwrap_or_default();
            format!("{id} {}", identity.source).trim().to_owned()
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn keys_are_those_of_the_environment() {
    let (id, secret) = (("AWS_ACCESS_KEY_ID", "A"), ("AWS_SECRET_ACCESS_KEY", "s"));
    assert_eq!(source(&[id, secret]), "A signed by the keys of the environment");
    assert_eq!(source(&[id]), "AWS_SECRET_ACCESS_KEY is not set");
    assert_eq!(source(&[secret]), "AWS_ACCESS_KEY_ID is not set");
    for value in ["1", "true", "YES"] {
        let unsigned = ("AWS_NO_SIGN_REQUEST", value);
        assert_eq!(source(&[id, secret, unsigned]), "not signed, as was asked for");
    }
    let no = ("AWS_NO_SIGN_REQUEST", "no");
    assert_eq!(source(&[id, secret, no]), "A signed by the keys of the environment");
    let expected = "not signed, as there are no credentials: set AWS_ACCESS_KEY_ID and \
                    AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";
    assert_eq!(source(&[]), expected);
    let anonymous = with(&[id]).anonymous();
    let identity = now(anonymous.identity(&Settings::default(), WaitMode::Thread, None)).unwrap();
    assert_eq!(identity.source, credentials::IdentitySource::Anonymous);
}

#[test]
fn keys_are_those_of_a_profile() {
    let home = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(home.path().join(".aws")).unwrap();
        std::fs::write(home.path().join(".aws").join(name), text).unwrap();
    };
    let keys = "aws_access_key_id = A\naws_secret_access_key = s\n";
    write("credentials", &format!("[default]\n{keys}[half]\naws_access_key_id = A\n"));
    let config = "[profile other]\nregion = eu-west-1\nendpoint_url = http://h\n\
                  [profile program]\ncredential_process = x\n[profile sso]\nsso_session = x\n\
                  [profile role]\nrole_arn = r\nsource_profile = other\n";
    write("config", config);
    let home_path = home.path().to_str().unwrap().to_owned();
    let home_variable = ("HOME", home_path.as_str());
    let of = |profile: &str| source(&[home_variable, ("AWS_PROFILE", profile)]);
    assert_eq!(source(&[home_variable]), "A signed by the keys of the profile default");
    assert_eq!(of("half"), "the profile half has only one of its two keys");
    assert!(of("other").starts_with("not signed, as there are no credentials"), "{}", of("other"));
    let text = "the profile none is neither in the file of credentials nor in that of the \
                configuration";
    assert_eq!(of("none"), text);
    for profile in ["program", "sso"] {
        let expected = format!(
            "the profile {profile} has its keys from a program: set the variables that `aws \
             configure export-credentials --profile {profile} --format env` prints"
        );
        assert_eq!(of(profile), expected);
    }
    let text = "the profile other, of which role needs the keys, has none";
    assert_eq!(of("role"), text);
    let at = |url: &str, variables: &[(&str, &str)]| {
        shown(&request(variables, url, None).unwrap().url().unwrap())
    };
    assert_eq!(at("s3://b/a", &[home_variable, ("AWS_PROFILE", "other")]), "http://h/b/a");
    let file = format!("{home_path}/.aws/credentials");
    let shared = ("AWS_SHARED_CREDENTIALS_FILE", file.as_str());
    assert_eq!(source(&[shared]), "A signed by the keys of the profile default");
}

#[test]
fn only_services_of_this_machine_get_the_token_of_a_container() {
    let check = |url: &str, expected: &str| {
        let full = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
        let got = source(&[full, ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "secret")]);
        assert!(got.starts_with(expected), "{url}: {got}");
    };
    let refused = "AWS_CONTAINER_CREDENTIALS_FULL_URI names another machine without https";
    check("http://example.invalid/keys", refused);
    check("http://10.0.0.1/keys", refused);
    // Nobody listens there.
    check("http://127.0.0.1:1/keys", "the keys of the container: connecting to 127.0.0.1:1: ");
}

#[test]
fn a_page_of_a_list_has_objects_and_the_next_page() {
    let page = |content: &str| {
        format!("<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\">{content}</ListBucketResult>")
    };
    let object = "<Contents><Key>a &amp; b</Key><Size>7</Size></Contents>";
    let mut objects = Vec::new();
    assert_eq!(take_page(&page(object), &mut objects).unwrap(), None);
    let more = "<IsTruncated>true</IsTruncated>\
                <NextContinuationToken>t</NextContinuationToken>";
    assert_eq!(take_page(&page(more), &mut objects).unwrap().as_deref(), Some("t"));
    assert_eq!(objects, [S3Object { key: "a & b".to_owned(), size_bytes: 7 }]);
    for text in [
        "<html></html>".to_owned(),
        page("<Contents><Key>a</Key></Contents>"),
        page("<Contents><Key></Key><Size>1</Size></Contents>"),
        page("<IsTruncated>true</IsTruncated>"),
    ] {
        assert_eq!(take_page(&text, &mut objects).unwrap_err().kind(), ErrorKind::Protocol);
    }
}

#[test]
fn a_region_is_a_name() {
    let mut request = request(&[], "s3://b/a", None).unwrap();
    for region in ["", "us-east-1", "evil.example/", "a@b"] {
        assert!(!request.move_to(region), "{region}");
    }
    assert!(request.move_to("eu-west-3") && !request.move_to("eu-west-3"));
    assert_eq!(shown(&request.url().unwrap()), "https://b.s3.eu-west-3.amazonaws.com/a");
}

#[test]
fn secrets_are_not_shown() {
    let s3 = with(&[("AWS_SECRET_ACCESS_KEY", "secret")]);
    assert_eq!(format!("{s3:?}"), "S3 { is_anonymous: false, .. }");
}
