use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::{digest, hmac, pbkdf2};

use super::*;
use crate::error::AuthenticationProblem;
use crate::read::Reader;
use crate::sasl::{Mechanism, Sasl, Secret};

fn user(mechanism: Mechanism, password: &str) -> TransportOptions {
    let sasl = Sasl { mechanism, user: "ann".into(), password: Secret::new(password) };
    TransportOptions { sasl: Some(sasl), ..options() }
}

/// The body of a SaslHandshake response that offers these.
fn handshake(error_code: i16, mechanisms: &[&str]) -> Vec<u8> {
    let mut body = error_code.to_be_bytes().to_vec();
    write::array_length(&mut body, mechanisms.len());
    mechanisms.iter().for_each(|mechanism| write::string(&mut body, mechanism));
    body
}

/// The body of a SaslAuthenticate v1 response.
fn authenticate(error_code: i16, error: Option<&str>, message: &[u8]) -> Vec<u8> {
    let mut body = error_code.to_be_bytes().to_vec();
    write::nullable_string(&mut body, error);
    write::bytes(&mut body, message);
    body.extend_from_slice(&3_600_000_i64.to_be_bytes());
    body
}

/// The message in a SaslAuthenticate request.
fn message(body: &[u8]) -> String {
    String::from_utf8(Reader::new(body).bytes("auth_bytes").unwrap().to_vec()).unwrap()
}

/// The error of opening a connection when the broker answers the handshake with `handshake` and the first message with `first`.
fn refused(options: TransportOptions, handshake: Vec<u8>, first: Option<Vec<u8>>) -> AuthenticationProblem {
    let broker = Broker::ready(move |mut stream| {
        answer(&mut stream, &handshake);
        if let Some(first) = first {
            answer(&mut stream, &first);
        }
        drain(stream);
    });
    let error = broker.open(options).unwrap_err();
    broker.finish();
    match error {
        WireError::Authentication { problem, .. } => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn plain_sends_user_and_password_after_a_handshake() {
    let broker = Broker::ready(|mut stream| {
        let asked = answer(&mut stream, &handshake(0, &["PLAIN"]));
        assert_eq!((asked.api, asked.version, &asked.body[..]), (17, 1, &b"\0\x05PLAIN"[..]));
        let said = answer(&mut stream, &authenticate(0, None, b""));
        assert_eq!((said.api, said.version, message(&said.body)), (36, 1, "\0ann\0secret".to_owned()));
    });
    broker.open(user(Mechanism::Plain, "secret")).unwrap();
    broker.finish();
}

/// The server's side of SCRAM for the password "secret", or for one that it knows wrongly.
fn serve_scram(stream: &mut std::net::TcpStream, mechanism: Mechanism, known: &str) {
    let (algorithm, derivation, digest) = match mechanism {
        Mechanism::ScramSha512 => (hmac::HMAC_SHA512, pbkdf2::PBKDF2_HMAC_SHA512, &digest::SHA512),
        _ => (hmac::HMAC_SHA256, pbkdf2::PBKDF2_HMAC_SHA256, &digest::SHA256),
    };
    answer(stream, &handshake(0, &[mechanism.name()]));
    let first = read_request(stream).unwrap();
    let first_bare = message(&first.body).strip_prefix("n,,").unwrap().to_owned();
    let nonce = first_bare.strip_prefix("n=ann,r=").unwrap().to_owned() + "server";
    let server_first = format!("r={nonce},s={},i=4096", BASE64.encode("salt"));
    let body = authenticate(0, None, server_first.as_bytes());
    stream.write_all(&response(first.correlation_id, &body)).unwrap();

    let last = read_request(stream).unwrap();
    let last_message = message(&last.body);
    let (without_proof, proof) = last_message.rsplit_once(",p=").unwrap();
    assert_eq!(without_proof, format!("c=biws,r={nonce}"));
    let signed = format!("{first_bare},{server_first},{without_proof}");
    let salted = |password: &str| {
        let mut salted = vec![0; digest.output_len()];
        let iterations = std::num::NonZeroU32::new(4096).unwrap();
        pbkdf2::derive(derivation, iterations, b"salt", password.as_bytes(), &mut salted);
        hmac::Key::new(algorithm, &salted)
    };
    // The proof undone with the signature is the client's key, whose digest is what a server stores.
    let stored = digest::digest(digest, hmac::sign(&salted("secret"), b"Client Key").as_ref());
    let signature = hmac::sign(&hmac::Key::new(algorithm, stored.as_ref()), signed.as_bytes());
    let proof = BASE64.decode(proof).unwrap();
    let key: Vec<u8> = proof.iter().zip(signature.as_ref()).map(|(proof, mask)| proof ^ mask).collect();
    assert_eq!(
        digest::digest(digest, &key).as_ref(),
        stored.as_ref(),
        "the client does not know the password"
    );

    let server_key = hmac::sign(&salted(known), b"Server Key");
    let verifier = hmac::sign(&hmac::Key::new(algorithm, server_key.as_ref()), signed.as_bytes());
    let server_last = format!("v={}", BASE64.encode(verifier));
    let body = authenticate(0, None, server_last.as_bytes());
    stream.write_all(&response(last.correlation_id, &body)).unwrap();
}

#[test]
fn scram_proves_the_password_to_the_broker_and_the_broker_to_us() {
    for mechanism in [Mechanism::ScramSha256, Mechanism::ScramSha512] {
        let broker = Broker::ready(move |mut stream| serve_scram(&mut stream, mechanism, "secret"));
        broker.open(user(mechanism, "secret")).unwrap();
        broker.finish();
    }
}

#[test]
fn a_broker_that_does_not_know_the_password_is_not_trusted() {
    let broker =
        Broker::ready(|mut stream| serve_scram(&mut stream, Mechanism::ScramSha256, "something else"));
    let error = broker.open(user(Mechanism::ScramSha256, "secret")).unwrap_err();
    let signature = AuthenticationProblem::ServerSignature;
    assert!(matches!(&error, WireError::Authentication { problem, .. } if *problem == signature), "{error}");
    broker.finish();
}

#[test]
fn refusals_are_told_apart_and_none_says_the_password() {
    let plain = || user(Mechanism::Plain, "hunter2");
    assert_eq!(
        refused(plain(), handshake(33, &["SCRAM-SHA-256", "GSSAPI"]), None).to_string(),
        "the broker does not offer it on this listener; it offers SCRAM-SHA-256, GSSAPI"
    );
    assert_eq!(refused(plain(), handshake(34, &[]), None), AuthenticationProblem::NoSasl);
    let wrong = authenticate(58, Some("wrong"), b"");
    assert_eq!(
        refused(plain(), handshake(0, &["PLAIN"]), Some(wrong)),
        AuthenticationProblem::Refused("wrong".into())
    );
    let silent = authenticate(58, None, b"");
    let problem = refused(plain(), handshake(0, &["PLAIN"]), Some(silent)).to_string();
    assert!(problem.contains("SASL_AUTHENTICATION_FAILED") && !problem.contains("hunter2"), "{problem}");
    let text = format!("{:?}", Transport::new(plain()).unwrap());
    assert!(text.contains("ann") && !text.contains("hunter2"), "{text}");
}

#[test]
fn a_password_that_plain_cannot_carry_is_refused_before_anything_is_sent() {
    let error = Transport::new(user(Mechanism::Plain, "a\0b")).unwrap_err();
    assert!(matches!(error, WireError::Settings { .. }), "{error}");
    assert!(Transport::new(user(Mechanism::ScramSha256, "a\0b")).is_ok());
}
