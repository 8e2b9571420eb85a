//! The digest by which a certificate is known.

use crate::token::{hex, read_hex};
use ring::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;
use std::fmt;
use std::str::FromStr;

/// SHA-256 of a certificate in DER.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CertificateDigest([u8; 32]);

impl CertificateDigest {
    /// Of a certificate.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Self {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        CertificateDigest(bytes)
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; 32] {
        self.0
    }
}

impl fmt::Display for CertificateDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for CertificateDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for CertificateDigest {
    type Err = String;

    /// From 64 hexadecimal digits, with or without colons between pairs, as `openssl x509 -fingerprint` prints them.
    fn from_str(text: &str) -> Result<Self, String> {
        let digits: String = text.trim().chars().filter(|character| *character != ':').collect();
        let mut bytes = [0; 32];
        let expected = || format!("expected 64 hexadecimal digits (SHA-256 of a certificate), got {text:?}");
        read_hex(&digits, &mut bytes).map(|()| CertificateDigest(bytes)).ok_or_else(expected)
    }
}
