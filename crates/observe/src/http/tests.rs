//! Against servers of our own on loopback: what they answer is known to the byte.

use super::*;
use proptest::prelude::*;
use rustls::pki_types::PrivateKeyDer;
use sha2::{Digest as _, Sha256};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

const PATIENT: Duration = Duration::from_secs(20);

/// Reads up to the end of a request's head.
fn request(stream: &mut impl Read) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// Answers one request with these bytes and closes; the request comes out of the thread.
fn serve(answer: Vec<u8>) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let request = request(&mut stream);
        let _ = stream.write_all(&answer);
        request
    });
    (url, server)
}

fn fetch(url: &str, limit_bytes: u64) -> Result<Vec<u8>, HttpError> {
    let target = Target::parse(url)?;
    let believed = Believed::Roots(Vec::new());
    body(&Fetch { target, login: None, believed, accept: METRICS, timeout: PATIENT, limit_bytes })
}

fn body(fetch: &Fetch<'_>) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    fetch.read(&mut |bytes| {
        body.extend_from_slice(bytes);
        ControlFlow::Continue(())
    })?;
    Ok(body)
}

fn question<'a>(url: &'a str, login: Option<&'a Login>) -> Question<'a> {
    let trust = Trust::Authorities;
    Question { url, login, trust, accept: METRICS, timeout: PATIENT, limit_bytes: 100 }
}

fn get(url: &str, login: Option<&Login>) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    read(&question(url, login), &mut |bytes| {
        body.extend_from_slice(bytes);
        ControlFlow::Continue(())
    })?;
    Ok(body)
}

fn answer(text: &str) -> Result<String, HttpError> {
    let (url, server) = serve(text.as_bytes().to_vec());
    let body = fetch(&url, 20).map(|body| String::from_utf8(body).unwrap());
    server.join().unwrap();
    body
}

fn error(text: &str) -> String {
    answer(text).unwrap_err().to_string()
}

#[test]
fn a_body_ends_at_its_length_at_its_last_chunk_or_with_the_connection() {
    assert_eq!(answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef").unwrap(), "abc");
    assert_eq!(answer("HTTP/1.0 200 OK\r\n\r\nabcdef").unwrap(), "abcdef");
    let chunks =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n";
    assert_eq!(answer(chunks).unwrap(), "abc0123456789");
}

#[test]
fn a_body_that_is_cut_short_is_an_error_not_a_shorter_page() {
    for short in [
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
    ] {
        assert!(error(short).contains("expected a whole HTTP/1.1 answer"), "{}", error(short));
    }
}

#[test]
fn a_body_above_the_limit_is_refused_in_every_form() {
    let limit = "expected at most 20 bytes, got more";
    assert_eq!(error("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n012345678901234567890"), limit);
    assert_eq!(error("HTTP/1.1 200 OK\r\n\r\n012345678901234567890"), limit);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(error(&format!("{chunked}5\r\n01234\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n")), limit);
    assert!(answer(&format!("{chunked}FFFFFFFFFFFFFFFFFF\r\n")).is_err());
}

#[test]
fn who_wants_no_more_is_given_no_more() {
    let (url, server) = serve(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nabc".to_vec());
    let mut pieces = Vec::new();
    let asked = Question { limit_bytes: 20, ..question(&url, None) };
    let ended = read(&asked, &mut |bytes| {
        pieces.push(bytes.to_vec());
        if bytes.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert!(ended.is_ok());
    assert_eq!(pieces, [b"".to_vec(), b"abc".to_vec()]);
    server.join().unwrap();
}

#[test]
fn headers_without_end_are_refused() {
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(HEAD_LIMIT_BYTES));
    assert!(answer(&endless).is_err());
}

#[test]
fn a_status_other_than_200_and_another_protocol_are_named_and_a_redirect_is_not_followed() {
    assert_eq!(error("HTTP/1.1 404 Not Found\r\n\r\n"), "expected status 200, got 404");
    let elsewhere = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(error(elsewhere), "expected status 200, got 302");
    assert!(error("SSH-2.0-OpenSSH\r\n\r\n").contains("expected a whole HTTP/1.1 answer"));
}

#[test]
fn a_login_is_sent_and_no_message_or_debug_text_has_it() {
    let login = Login { user: "me".to_owned(), password: "open sesame".to_owned() };
    let (url, server) = serve(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_vec());
    let error = get(&url, Some(&login)).unwrap_err();
    // RFC 7617: base64 of "me:open sesame".
    let sent = server.join().unwrap().to_lowercase();
    assert!(sent.contains("authorization: basic bwu6b3blbibzzxnhbwu="), "{sent}");
    assert_eq!(error.to_string(), "expected status 200, got 401");
    assert!(!format!("{login:?}").contains("sesame"), "{login:?}");
    let echoed = "# Authorization: Basic bWU6b3BlbiBzZXNhbWU= open sesame";
    assert_eq!(login.removed_from(echoed), "# Authorization: Basic [redacted] [redacted]");
    let (url, server) = serve(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\n".to_vec());
    assert_eq!(get(&url, None).unwrap(), b"a 1\n");
    assert!(!server.join().unwrap().to_lowercase().contains("authorization"));
}

/// One page over TLS, of a server whose certificate is for `name`; what is believed is made of that certificate.
fn over_tls(name: &str, believed: impl FnOnce(&[u8]) -> Believed) -> Result<Vec<u8>, HttpError> {
    let server = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(server.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![server.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/metrics", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut connection = rustls::ServerConnection::new(Arc::new(config)).unwrap();
        let mut tls = rustls::Stream::new(&mut connection, &mut stream);
        request(&mut tls);
        let _ = tls.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na 1\n");
    });
    let (target, believed) = (Target::parse(&url)?, believed(server.cert.der()));
    let fetch = Fetch { target, login: None, believed, accept: METRICS, timeout: PATIENT, limit_bytes: 100 };
    let body = body(&fetch);
    thread.join().unwrap();
    body
}

fn root(certificate: &[u8]) -> Believed {
    Believed::Roots(vec![Certificate::from_der(certificate).to_owned()])
}

#[test]
fn a_page_comes_over_tls_from_a_server_that_is_trusted_and_from_no_other() {
    assert_eq!(over_tls("127.0.0.1", root).unwrap(), b"a 1\n");
    let other = rcgen::generate_simple_self_signed(["other".to_owned()]).unwrap();
    for refused in [over_tls("127.0.0.1", |_| root(other.cert.der())), over_tls("broker.example", root)] {
        assert!(matches!(refused, Err(HttpError::Tls { .. })), "{refused:?}");
    }
}

#[test]
fn a_certificate_that_is_known_by_its_digest_is_believed_whatever_name_it_has_and_no_other_is() {
    let sha256 = |certificate: &[u8]| <[u8; 32]>::from(Sha256::digest(certificate));
    let known = over_tls("idrac.example", |certificate| Believed::Certificate(sha256(certificate)));
    assert_eq!(known.unwrap(), b"a 1\n");
    let error = over_tls("idrac.example", |_| Believed::Certificate([0xab; 32])).unwrap_err();
    let words = error.to_string();
    assert!(words.contains(&"ab".repeat(32)) && words.contains("the server's certificate has"), "{words}");
    assert!(matches!(error, HttpError::Tls { .. }), "{error:?}");
}

#[test]
fn a_file_of_authorities_that_is_not_there_or_has_none_is_named() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let of = |path: &Path| roots(rustls_native_certs::load_certs_from_paths(Some(path), None));
    let error = of(Path::new("/no/such/ca.pem")).unwrap_err().to_string();
    assert!(error.contains("/no/such/ca.pem"), "{error}");
    assert!(of(empty.path()).is_err());
    let own = rcgen::generate_simple_self_signed(["own".to_owned()]).unwrap();
    std::fs::write(empty.path(), own.cert.pem()).unwrap();
    assert_eq!(of(empty.path()).unwrap().len(), 1);
}

#[test]
fn a_url_has_a_scheme_a_host_and_a_port_and_a_password_is_refused_without_being_repeated() {
    for (good, host, encrypted) in [
        ("http://[::1]:9404/metrics?name=a#b", "[::1]:9404", false),
        ("http://broker", "broker", false),
        ("https://broker:9404?a=b", "broker:9404", true),
    ] {
        let target = Target::parse(good).unwrap();
        assert_eq!((target.host.as_str(), target.encrypted), (host, encrypted), "{good}");
    }
    let refused = Target::parse("http://user:secret@broker/metrics").unwrap_err().to_string();
    assert!(refused.contains("broker/metrics") && !refused.contains("secret"), "{refused}");
    for bad in ["ftp://a", "a", "", "http://", "http://a:b", "http://a:70000", "http://[::1", "http://a b/"] {
        assert!(Target::parse(bad).is_err(), "{bad}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_hostile_server_gets_an_error_or_a_bounded_body(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (url, server) = serve(bytes);
        if let Ok(body) = fetch(&url, 50) {
            prop_assert!(body.len() <= 50);
        }
        server.join().unwrap();
    }

    #[test]
    fn an_almost_right_answer_gets_an_error_or_a_bounded_body(text in "(?s)HTTP/1.1 200 OK\r\n((Transfer-Encoding: chunked|Content-Length: [0-9]{1,22}|.{0,8})\r\n){0,3}\r\n([0-9a-f]{0,17}\r\n.{0,9}\r\n){0,4}") {
        let (url, server) = serve(text.into_bytes());
        if let Ok(body) = fetch(&url, 50) {
            prop_assert!(body.len() <= 50);
        }
        server.join().unwrap();
    }

    #[test]
    fn any_url_is_a_target_or_an_error(url in "(http://)?.{0,40}") {
        let _ = Target::parse(&url);
    }
}

#[test]
fn an_address_has_a_port_also_where_it_is_the_usual_one() {
    assert_eq!(host_and_port("http://kafka-1:9404/metrics").as_deref(), Some("kafka-1:9404"));
    assert_eq!(host_and_port("https://[::1]/metrics").as_deref(), Some("[::1]:443"));
    assert_eq!(host_and_port("ftp://kafka-1/"), None);
}
