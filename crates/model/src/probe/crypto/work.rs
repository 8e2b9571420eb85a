//! The work of a library: algorithms, sizes, forms, operations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of each operation, those of `openssl speed`. A TLS record holds at most the last.
pub const BLOCKS_BYTES: [u32; 6] = [16, 64, 256, 1024, 8192, 16384];

/// A library that encrypts for somebody on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// The OpenSSL that is installed here, through EVP: what librdkafka and its applications use.
    Openssl,
    /// Plumb's own: rustls with ring, and crc32c.
    Own,
    /// The Java virtual machine that runs, or would run, the broker.
    Jvm,
}

impl EngineName {
    /// All, in the order in which they are shown.
    pub const ALL: [EngineName; 3] = [EngineName::Openssl, EngineName::Own, EngineName::Jvm];
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EngineName::Openssl => "openssl",
            EngineName::Own => "own",
            EngineName::Jvm => "jvm",
        })
    }
}

/// A computation over bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Algorithm {
    /// AES-128 in Galois/Counter mode, encryption.
    #[serde(rename = "aes-128-gcm")]
    Aes128Gcm,
    /// AES-256 in Galois/Counter mode, encryption.
    #[serde(rename = "aes-256-gcm")]
    Aes256Gcm,
    /// ChaCha20 with Poly1305, encryption.
    #[serde(rename = "chacha20-poly1305")]
    Chacha20Poly1305,
    /// SHA-256.
    #[serde(rename = "sha-256")]
    Sha256,
    /// CRC-32C, which every Kafka batch carries.
    #[serde(rename = "crc32c")]
    Crc32c,
}

impl Algorithm {
    /// All, in the order in which they are shown.
    pub const ALL: [Algorithm; 5] = [
        Algorithm::Aes128Gcm,
        Algorithm::Aes256Gcm,
        Algorithm::Chacha20Poly1305,
        Algorithm::Sha256,
        Algorithm::Crc32c,
    ];

    /// True if it encrypts and authenticates.
    pub fn is_cipher(self) -> bool {
        matches!(self, Algorithm::Aes128Gcm | Algorithm::Aes256Gcm | Algorithm::Chacha20Poly1305)
    }

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Aes128Gcm => "aes-128-gcm",
            Algorithm::Aes256Gcm => "aes-256-gcm",
            Algorithm::Chacha20Poly1305 => "chacha20-poly1305",
            Algorithm::Sha256 => "sha-256",
            Algorithm::Crc32c => "crc32c",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Algorithm::Aes128Gcm => "AES-128-GCM",
            Algorithm::Aes256Gcm => "AES-256-GCM",
            Algorithm::Chacha20Poly1305 => "ChaCha20-Poly1305",
            Algorithm::Sha256 => "SHA-256",
            Algorithm::Crc32c => "CRC-32C",
        }
    }
}

/// The form of one operation. At 16 bytes the two differ by a factor of ten, at 16 KiB hardly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Each block is a message of its own: nonce set, encrypted, tag computed; or hashed to the end.
    Message,
    /// All blocks are parts of one endless message: `openssl speed -evp` measured ciphers so before 3.0.16.
    Stream,
}

/// An operation that is counted, not weighed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Operation {
    /// RSA-2048 with PKCS#1 v1.5 and SHA-256.
    #[serde(rename = "rsa-2048-sign")]
    RsaSign,
    /// The same, verified.
    #[serde(rename = "rsa-2048-verify")]
    RsaVerify,
    /// ECDSA on P-256 with SHA-256.
    #[serde(rename = "ecdsa-p256-sign")]
    EcdsaSign,
    /// The same, verified.
    #[serde(rename = "ecdsa-p256-verify")]
    EcdsaVerify,
    /// A server's side of a full TLS 1.3 handshake with an RSA-2048 certificate.
    #[serde(rename = "tls13-full-rsa-2048")]
    HandshakeRsa,
    /// A server's side of a full TLS 1.3 handshake with an ECDSA P-256 certificate.
    #[serde(rename = "tls13-full-ecdsa-p256")]
    HandshakeEcdsa,
    /// A server's side of a TLS 1.3 handshake that resumes a session.
    #[serde(rename = "tls13-resumed")]
    HandshakeResumed,
}

impl Operation {
    /// All, in the order in which they are shown.
    pub const ALL: [Operation; 7] = [
        Operation::RsaSign,
        Operation::RsaVerify,
        Operation::EcdsaSign,
        Operation::EcdsaVerify,
        Operation::HandshakeRsa,
        Operation::HandshakeEcdsa,
        Operation::HandshakeResumed,
    ];

    /// The four that are a signature made or checked.
    pub const SIGNATURES: [Operation; 4] =
        [Operation::RsaSign, Operation::RsaVerify, Operation::EcdsaSign, Operation::EcdsaVerify];

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Operation::RsaSign => "rsa-2048-sign",
            Operation::RsaVerify => "rsa-2048-verify",
            Operation::EcdsaSign => "ecdsa-p256-sign",
            Operation::EcdsaVerify => "ecdsa-p256-verify",
            Operation::HandshakeRsa => "tls13-full-rsa-2048",
            Operation::HandshakeEcdsa => "tls13-full-ecdsa-p256",
            Operation::HandshakeResumed => "tls13-resumed",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Operation::RsaSign => "RSA-2048 sign",
            Operation::RsaVerify => "RSA-2048 verify",
            Operation::EcdsaSign => "ECDSA P-256 sign",
            Operation::EcdsaVerify => "ECDSA P-256 verify",
            Operation::HandshakeRsa => "TLS 1.3 handshake, full, RSA-2048",
            Operation::HandshakeEcdsa => "TLS 1.3 handshake, full, ECDSA P-256",
            Operation::HandshakeResumed => "TLS 1.3 handshake, resumed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_in_documents_are_the_names_that_programs_are_told() {
        for algorithm in Algorithm::ALL {
            assert_eq!(serde_json::to_value(algorithm).unwrap(), algorithm.name());
        }
        for operation in Operation::ALL {
            assert_eq!(serde_json::to_value(operation).unwrap(), operation.name());
        }
        for engine in EngineName::ALL {
            assert_eq!(serde_json::to_value(engine).unwrap(), engine.to_string());
        }
    }
}
