//! The OpenSSL that is installed on this host, through EVP.
//!
//! Loaded at run time: what is measured is the file that applications here use, with whatever its distribution and
//! `OPENSSL_ia32cap` made of it, not a copy that this program was built with.

mod library;

use super::sample::{Batch, sample};
use super::{CryptoError, Description, Engine, Sample, Work, keys};
use library::{Cipher, Digest, Library, PrivateKey};
use plumb_model::probe::crypto::{Algorithm, BLOCKS_BYTES, EngineName, Form, NotMeasured, Operation};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Algorithms that it has.
const ALGORITHMS: [Algorithm; 4] =
    [Algorithm::Aes128Gcm, Algorithm::Aes256Gcm, Algorithm::Chacha20Poly1305, Algorithm::Sha256];

/// The shared library of this host.
#[derive(Debug)]
pub struct OpenSsl {
    library: Library,
}

impl OpenSsl {
    /// Loads it: version 3, else 1.1.
    pub fn load() -> Result<Self, CryptoError> {
        Ok(OpenSsl { library: Library::load()? })
    }

    /// The form in which `openssl speed -evp` of this version treats each block. Since 3.0.16 it begins a message for each block
    /// of AES-GCM; before, and for ChaCha20-Poly1305 still, all blocks are parts of one (openssl issue 28063).
    fn form_of_speed(&self, algorithm: Algorithm) -> Form {
        match algorithm {
            Algorithm::Chacha20Poly1305 => Form::Stream,
            Algorithm::Aes128Gcm | Algorithm::Aes256Gcm if !speed_begins_messages(self.library.number()) => {
                Form::Stream
            }
            _ => Form::Message,
        }
    }

    fn prepare(&self, work: Work) -> Result<Batch<'_>, CryptoError> {
        match work {
            Work::Bytes { algorithm, block_bytes, form } => {
                let mut block = vec![0x5a; block_bytes as usize];
                let Some(name) = cipher_name(algorithm) else {
                    let digest = Digest::sha256(&self.library)?;
                    return Ok(Box::new(move |count| digest.whole(&block, count)));
                };
                let mut cipher = Cipher::new(&self.library, name)?;
                Ok(match form {
                    Form::Message => Box::new(move |count| cipher.messages(&mut block, count)),
                    Form::Stream => Box::new(move |count| cipher.stream(&mut block, count)),
                })
            }
            Work::Operation(operation) => {
                let key = match operation {
                    Operation::RsaSign | Operation::RsaVerify => keys::RSA_KEY,
                    _ => keys::ECDSA_KEY,
                };
                let key = PrivateKey::new(&self.library, key)?;
                if matches!(operation, Operation::RsaSign | Operation::EcdsaSign) {
                    return Ok(Box::new(move |count| key.sign(keys::MESSAGE, count).map(|_| Duration::ZERO)));
                }
                let signature = key.sign(keys::MESSAGE, 1)?;
                Ok(Box::new(move |count| key.verify(keys::MESSAGE, &signature, count)))
            }
        }
    }
}

impl Engine for OpenSsl {
    fn describe(&self) -> Description {
        let not_measured = vec![
            NotMeasured { what: Algorithm::Crc32c.name().to_owned(), reason: "OpenSSL has none".to_owned() },
            NotMeasured {
                what: "TLS handshakes".to_owned(),
                reason: "measured with Plumb's own TLS library only; signatures are the larger part of them"
                    .to_owned(),
            },
        ];
        Description {
            name: EngineName::Openssl,
            version: self.library.version(),
            file: self.library.file(),
            chosen_because: Some("what the loader finds first by this name".to_owned()),
            not_measured,
            jvm_flags: BTreeMap::new(),
            jvm_options: Vec::new(),
        }
    }

    fn work(&self) -> Vec<Work> {
        let bytes = ALGORITHMS.into_iter().flat_map(|algorithm| {
            let form = self.form_of_speed(algorithm);
            BLOCKS_BYTES.map(|block_bytes| Work::Bytes { algorithm, block_bytes, form })
        });
        bytes.chain(Operation::SIGNATURES.map(Work::Operation)).collect()
    }

    fn other_forms(&self) -> Vec<Work> {
        let ciphers = ALGORITHMS.into_iter().filter(|algorithm| algorithm.is_cipher());
        let other = |algorithm| match self.form_of_speed(algorithm) {
            Form::Message => Form::Stream,
            Form::Stream => Form::Message,
        };
        ciphers
            .flat_map(|algorithm| {
                let form = other(algorithm);
                BLOCKS_BYTES.map(|block_bytes| Work::Bytes { algorithm, block_bytes, form })
            })
            .collect()
    }

    fn warm_up(&mut self, _time: Duration, _stop: &AtomicBool) -> Result<(), CryptoError> {
        Ok(())
    }

    fn sample(&mut self, work: Work, threads: u32, time: Duration) -> Result<Sample, CryptoError> {
        sample(EngineName::Openssl, threads, time, &|| self.prepare(work))
    }
}

/// Its name for EVP; none for what is no cipher.
fn cipher_name(algorithm: Algorithm) -> Option<&'static std::ffi::CStr> {
    match algorithm {
        Algorithm::Aes128Gcm => Some(c"AES-128-GCM"),
        Algorithm::Aes256Gcm => Some(c"AES-256-GCM"),
        Algorithm::Chacha20Poly1305 => Some(c"ChaCha20-Poly1305"),
        Algorithm::Sha256 | Algorithm::Crc32c => None,
    }
}

/// True for versions whose `speed` begins a message for each block, by `OPENSSL_VERSION_NUMBER`, 0xMNN00PP0. The change was seen
/// between 3.0.15 and 3.0.16; of the younger branches, the releases of the same day (February 2025) are taken to have it too.
fn speed_begins_messages(number: u64) -> bool {
    let (major, minor, patch) = (number >> 28, number >> 20 & 0xff, number >> 4 & 0xff);
    match (major, minor) {
        (0..=2, _) => false,
        (3, 0) => patch >= 16,
        (3, 1) => patch >= 8,
        (3, 2) => patch >= 4,
        (3, 3) => patch >= 3,
        (3, 4) => patch >= 1,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_follows_the_version() {
        assert!(!speed_begins_messages(0x1010_116f), "1.1.1v");
        assert!(!speed_begins_messages(0x3000_00f0), "3.0.15");
        assert!(speed_begins_messages(0x3000_0100), "3.0.16");
        assert!(speed_begins_messages(0x3050_0000), "3.5.0");
    }

    #[test]
    fn every_piece_of_its_work_can_be_done() {
        // Where there is no OpenSSL, that is what has to be said.
        let mut openssl = match OpenSsl::load() {
            Ok(openssl) => openssl,
            Err(error) => {
                assert!(matches!(error, CryptoError::NoLibrary { .. }), "{error}");
                return;
            }
        };
        for work in openssl.work().into_iter().chain(openssl.other_forms()) {
            let time = Duration::from_micros(200);
            assert!(openssl.sample(work, 1, time).unwrap().per_s > 0.0, "{work:?}");
            // Threads that got no processor within so short a window did nothing in it.
            assert!(openssl.sample(work, 2, time).unwrap().per_s.is_finite(), "{work:?}");
        }
    }
}
