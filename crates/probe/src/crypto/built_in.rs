//! Plumb's own libraries: ring, under rustls, and crc32c. What the wire driver itself can do on this host.
//!
//! ring looks for the processor's instructions by itself, whatever OpenSSL or Java were told.

mod handshake;

use super::sample::{Batch, sample};
use super::{CryptoError, Description, Engine, Sample, Work, keys};
use plumb_model::probe::crypto::{Algorithm, BLOCKS_BYTES, EngineName, Form, Operation};
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey,
};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Versions of the libraries; a test holds them against the lock file.
const VERSION: &str = "rustls 0.23.46, ring 0.17.14, crc32c 0.6.9";

/// The libraries that are part of this program.
#[derive(Debug, Default)]
pub struct BuiltIn;

impl Engine for BuiltIn {
    fn describe(&self) -> Description {
        Description {
            name: EngineName::Own,
            version: VERSION.to_owned(),
            file: None,
            chosen_because: None,
            not_measured: Vec::new(),
            jvm_flags: BTreeMap::new(),
            jvm_options: Vec::new(),
        }
    }

    fn work(&self) -> Vec<Work> {
        let bytes = Algorithm::ALL.into_iter().flat_map(|algorithm| {
            BLOCKS_BYTES.map(|block_bytes| Work::Bytes { algorithm, block_bytes, form: Form::Message })
        });
        bytes.chain(Operation::ALL.map(Work::Operation)).collect()
    }

    fn other_forms(&self) -> Vec<Work> {
        Vec::new()
    }

    fn warm_up(&mut self, _time: Duration, _stop: &AtomicBool) -> Result<(), CryptoError> {
        Ok(())
    }

    fn sample(&mut self, work: Work, threads: u32, time: Duration) -> Result<Sample, CryptoError> {
        sample(EngineName::Own, threads, time, &|| prepare(work))
    }
}

fn refused<E>(what: &'static str) -> impl FnOnce(E) -> CryptoError {
    move |_| CryptoError::refused(EngineName::Own, what)
}

fn prepare(work: Work) -> Result<Batch<'static>, CryptoError> {
    match work {
        Work::Bytes { algorithm, block_bytes, .. } => {
            let block = vec![0x5a; block_bytes as usize];
            match algorithm {
                Algorithm::Aes128Gcm => sealing(UnboundKey::new(&AES_128_GCM, &[7; 16]), block),
                Algorithm::Aes256Gcm => sealing(UnboundKey::new(&AES_256_GCM, &[7; 32]), block),
                Algorithm::Chacha20Poly1305 => sealing(UnboundKey::new(&CHACHA20_POLY1305, &[7; 32]), block),
                Algorithm::Sha256 => Ok(over(block, |block| {
                    black_box(digest(&SHA256, black_box(block)));
                })),
                Algorithm::Crc32c => Ok(over(block, |block| {
                    black_box(crc32c::crc32c(black_box(block)));
                })),
            }
        }
        Work::Operation(operation) => match operation {
            Operation::RsaSign | Operation::RsaVerify => rsa(operation == Operation::RsaSign),
            Operation::EcdsaSign | Operation::EcdsaVerify => ecdsa(operation == Operation::EcdsaSign),
            Operation::HandshakeRsa | Operation::HandshakeEcdsa | Operation::HandshakeResumed => {
                handshake::prepare(operation)
            }
        },
    }
}

fn over(block: Vec<u8>, once: impl Fn(&[u8]) + 'static) -> Batch<'static> {
    Box::new(move |count| {
        for _ in 0..count {
            once(&block);
        }
        Ok(Duration::ZERO)
    })
}

/// A key that is set once, and for each block a nonce of its own and a tag, as TLS does it.
fn sealing(
    key: Result<UnboundKey, ring::error::Unspecified>,
    mut block: Vec<u8>,
) -> Result<Batch<'static>, CryptoError> {
    let key = LessSafeKey::new(key.map_err(refused("a key"))?);
    let mut sequence = 0_u64;
    Ok(Box::new(move |count| {
        for _ in 0..count {
            sequence += 1;
            let mut nonce = [0; 12];
            nonce[4..].copy_from_slice(&sequence.to_be_bytes());
            let nonce = Nonce::assume_unique_for_key(nonce);
            let tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), &mut block);
            let _ = black_box(tag.map_err(refused("to seal"))?);
        }
        Ok(Duration::ZERO)
    }))
}

fn rsa(sign: bool) -> Result<Batch<'static>, CryptoError> {
    let key = RsaKeyPair::from_pkcs8(keys::RSA_KEY).map_err(refused("an RSA key"))?;
    let random = SystemRandom::new();
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &random, keys::MESSAGE, &mut signature)
        .map_err(refused("to sign with RSA"))?;
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref().to_vec());
    Ok(Box::new(move |count| {
        for _ in 0..count {
            if sign {
                key.sign(&RSA_PKCS1_SHA256, &random, keys::MESSAGE, &mut signature)
                    .map_err(refused("to sign with RSA"))?;
            } else {
                public.verify(keys::MESSAGE, &signature).map_err(refused("to verify with RSA"))?;
            }
        }
        Ok(Duration::ZERO)
    }))
}

fn ecdsa(sign: bool) -> Result<Batch<'static>, CryptoError> {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, keys::ECDSA_KEY, &random)
        .map_err(refused("an ECDSA key"))?;
    let signature = key.sign(&random, keys::MESSAGE).map_err(refused("to sign with ECDSA"))?;
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, key.public_key().as_ref().to_vec());
    Ok(Box::new(move |count| {
        for _ in 0..count {
            if sign {
                black_box(key.sign(&random, keys::MESSAGE).map_err(refused("to sign with ECDSA"))?);
            } else {
                public.verify(keys::MESSAGE, signature.as_ref()).map_err(refused("to verify with ECDSA"))?;
            }
        }
        Ok(Duration::ZERO)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_of_its_work_can_be_done() {
        let mut own = BuiltIn;
        for work in own.work() {
            let sample = own.sample(work, 1, Duration::from_micros(200)).unwrap();
            assert!(sample.per_s > 0.0, "{work:?}");
        }
    }

    #[test]
    fn the_versions_that_it_names_are_those_of_the_lock_file() {
        let lock = include_str!("../../../../Cargo.lock");
        for library in VERSION.split(", ") {
            let (name, version) = library.split_once(' ').unwrap();
            assert!(
                lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"")),
                "{library} is not what is built in"
            );
        }
    }
}
