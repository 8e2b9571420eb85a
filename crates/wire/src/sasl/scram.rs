//! SCRAM (RFC 5802, RFC 7677): both sides prove that they know the password, neither says it.
//!
//! No channel binding, which Kafka does not have. The password is taken as its UTF-8 bytes, as Kafka's own client takes it,
//! without the normalisation that the RFC would have (SASLprep).

use std::fmt;
use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::rand::SecureRandom;
use ring::{digest, hmac, pbkdf2};

use super::{Mechanism, Secret};
use crate::error::AuthenticationProblem;

/// More iterations than that would keep us busy for seconds: Kafka allows 16,384.
const ITERATIONS_MAX: u32 = 1_000_000;
/// The size of our nonce, before base64.
const NONCE_BYTES: usize = 24;
/// No channel binding, no other identity, in base64.
const HEADER: &str = "n,,";

/// The client's side, before the server has spoken.
pub struct Scram {
    hash: Hash,
    password: Secret,
    nonce: String,
    /// The first message without its header.
    first_bare: String,
}

/// The server's first message.
struct Challenge<'a> {
    /// Our nonce with the server's behind it.
    nonce: &'a str,
    salt: Vec<u8>,
    iterations: NonZeroU32,
}

/// The client's side after the last message: what the server has to answer.
#[derive(Debug)]
pub struct ServerProof {
    key: hmac::Key,
    signed: String,
}

#[derive(Clone, Copy)]
struct Hash {
    hmac: hmac::Algorithm,
    pbkdf2: pbkdf2::Algorithm,
    digest: &'static digest::Algorithm,
}

impl Scram {
    /// A new exchange, with a nonce of its own. `None` for mechanisms that are not SCRAM, or if the system has no randomness.
    #[must_use]
    pub fn new(mechanism: Mechanism, user: &str, password: &Secret) -> Option<Self> {
        let mut nonce = [0; NONCE_BYTES];
        ring::rand::SystemRandom::new().fill(&mut nonce).ok()?;
        Self::with_nonce(mechanism, user, password, BASE64.encode(nonce))
    }

    /// The same with a known nonce, which is no secret but must never be used again.
    fn with_nonce(mechanism: Mechanism, user: &str, password: &Secret, nonce: String) -> Option<Self> {
        let hash = match mechanism {
            Mechanism::Plain => return None,
            Mechanism::ScramSha256 => {
                Hash { hmac: hmac::HMAC_SHA256, pbkdf2: pbkdf2::PBKDF2_HMAC_SHA256, digest: &digest::SHA256 }
            }
            Mechanism::ScramSha512 => {
                Hash { hmac: hmac::HMAC_SHA512, pbkdf2: pbkdf2::PBKDF2_HMAC_SHA512, digest: &digest::SHA512 }
            }
        };
        let user = user.replace('=', "=3D").replace(',', "=2C");
        let first_bare = format!("n={user},r={nonce}");
        Some(Self { hash, password: password.clone(), nonce, first_bare })
    }

    /// The first message.
    #[must_use]
    pub(crate) fn first_message(&self) -> String {
        format!("{HEADER}{}", self.first_bare)
    }

    /// Reads the server's first message: gives our last one, and the answer that the server has to give to it.
    ///
    /// # Errors
    /// When the message is not what the RFC says, or asks for an absurd number of iterations.
    pub(crate) fn last_message(
        self,
        server_first: &[u8],
    ) -> Result<(String, ServerProof), AuthenticationProblem> {
        let server_first = text(server_first)?;
        let Challenge { nonce, salt, iterations } = self.challenge(server_first)?;
        let mut salted = vec![0; self.hash.digest.output_len()];
        pbkdf2::derive(self.hash.pbkdf2, iterations, &salt, self.password.0.as_bytes(), &mut salted);
        let salted = hmac::Key::new(self.hash.hmac, &salted);

        let without_proof = format!("c={},r={nonce}", BASE64.encode(HEADER));
        let signed = format!("{},{server_first},{without_proof}", self.first_bare);
        let client_key = hmac::sign(&salted, b"Client Key");
        let stored_key =
            hmac::Key::new(self.hash.hmac, digest::digest(self.hash.digest, client_key.as_ref()).as_ref());
        let signature = hmac::sign(&stored_key, signed.as_bytes());
        let proof: Vec<u8> =
            client_key.as_ref().iter().zip(signature.as_ref()).map(|(key, mask)| key ^ mask).collect();

        let server_key = hmac::sign(&salted, b"Server Key");
        let key = hmac::Key::new(self.hash.hmac, server_key.as_ref());
        Ok((format!("{without_proof},p={}", BASE64.encode(proof)), ServerProof { key, signed }))
    }

    fn challenge<'a>(&self, server_first: &'a str) -> Result<Challenge<'a>, AuthenticationProblem> {
        let mut fields = server_first.split(',');
        let mut field = |name| attribute(fields.next(), name);
        let nonce = field("r=").ok_or(message("expected a nonce (r=) first"))?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err(message("expected our nonce with the server's behind it, got another"));
        }
        let salt = field("s=")
            .and_then(|salt| BASE64.decode(salt).ok())
            .ok_or(message("expected a salt in base64 (s=) after the nonce"))?;
        let iterations = field("i=")
            .and_then(|count| count.parse().ok())
            .filter(|count| *count <= ITERATIONS_MAX)
            .and_then(NonZeroU32::new)
            .ok_or(message("expected 1 to 1,000,000 iterations (i=) after the salt"))?;
        Ok(Challenge { nonce, salt, iterations })
    }
}

impl ServerProof {
    /// Holds the server's last message against what only someone who knows the password can say.
    ///
    /// # Errors
    /// When it says something else.
    pub fn check(&self, server_last: &[u8]) -> Result<(), AuthenticationProblem> {
        let server_last = text(server_last)?;
        let first = server_last.split(',').next();
        if let Some(error) = attribute(first, "e=") {
            return Err(AuthenticationProblem::Refused(error.to_owned()));
        }
        let signature = attribute(first, "v=")
            .and_then(|signature| BASE64.decode(signature).ok())
            .ok_or(message("expected a signature in base64 (v=) or an error (e=)"))?;
        hmac::verify(&self.key, self.signed.as_bytes(), &signature)
            .map_err(|_| AuthenticationProblem::ServerSignature)
    }
}

impl fmt::Debug for Scram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scram").field("first_bare", &self.first_bare).finish_non_exhaustive()
    }
}

fn attribute<'a>(field: Option<&'a str>, name: &str) -> Option<&'a str> {
    field?.strip_prefix(name)
}

fn text(bytes: &[u8]) -> Result<&str, AuthenticationProblem> {
    std::str::from_utf8(bytes).map_err(|_| message("expected UTF-8"))
}

const fn message(problem: &'static str) -> AuthenticationProblem {
    AuthenticationProblem::Message(problem)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 7677, section 3.
    const NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const SERVER_FIRST: &str =
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    const SERVER_LAST: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

    fn rfc_7677() -> Scram {
        let password = Secret::new("pencil");
        Scram::with_nonce(Mechanism::ScramSha256, "user", &password, NONCE.into()).unwrap()
    }

    #[test]
    fn the_messages_are_those_of_the_example_in_rfc_7677() {
        let scram = rfc_7677();
        assert_eq!(scram.first_message(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let (last, proof) = scram.last_message(SERVER_FIRST.as_bytes()).unwrap();
        assert_eq!(
            last,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        proof.check(SERVER_LAST.as_bytes()).unwrap();
    }

    #[test]
    fn a_server_that_does_not_know_the_password_is_found_out() {
        let (_, proof) = rfc_7677().last_message(SERVER_FIRST.as_bytes()).unwrap();
        let wrong = SERVER_LAST.replace("6rri", "7rri");
        assert_eq!(proof.check(wrong.as_bytes()), Err(AuthenticationProblem::ServerSignature));
        assert_eq!(
            proof.check(b"e=invalid-proof"),
            Err(AuthenticationProblem::Refused("invalid-proof".into()))
        );
        assert!(matches!(proof.check(b""), Err(AuthenticationProblem::Message(_))));
    }

    #[test]
    fn challenges_that_break_the_rules_are_refused_before_any_work_is_done() {
        for challenge in [
            "",
            "r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
            "r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
            "r=rOprNGfwEbeRWgbNEkqOx,s=%,i=4096",
            "r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=0",
            "r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4294967295",
            "m=ext,r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        ] {
            let refused = rfc_7677().last_message(challenge.as_bytes());
            assert!(matches!(refused, Err(AuthenticationProblem::Message(_))), "{challenge}");
        }
    }

    #[test]
    fn signs_that_separate_fields_are_escaped_in_a_user_name() {
        let scram = Scram::with_nonce(Mechanism::ScramSha512, "a=b,c", &Secret::new(""), "x".into()).unwrap();
        assert_eq!(scram.first_message(), "n,,n=a=3Db=2Cc,r=x");
    }

    #[test]
    fn two_exchanges_have_two_nonces() {
        let scram = || Scram::new(Mechanism::ScramSha256, "user", &Secret::new("pencil")).unwrap();
        assert_ne!(scram().first_message(), scram().first_message());
    }

    proptest! {
        #[test]
        fn whatever_a_server_says_is_an_answer_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _result = rfc_7677().last_message(&bytes);
            let (_, proof) = rfc_7677().last_message(SERVER_FIRST.replace("4096", "1").as_bytes()).unwrap();
            prop_assert!(proof.check(&bytes).is_err());
        }
    }
}
