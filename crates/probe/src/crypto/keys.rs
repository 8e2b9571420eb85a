//! Keys and certificates to measure with.
//!
//! Everybody can read them, so they protect nothing: they are made once, because making an RSA key takes as long as all
//! measuring of it, and the same key on every host makes hosts comparable. Made with `openssl genpkey` and `openssl req
//! -x509`, for `localhost`, valid for a hundred years.

/// RSA-2048, PKCS #8.
pub(super) const RSA_KEY: &[u8] = include_bytes!("keys/rsa-2048.key.der");
/// A certificate of it, signed by itself.
pub(super) const RSA_CERTIFICATE: &[u8] = include_bytes!("keys/rsa-2048.cert.der");
/// ECDSA on P-256, PKCS #8.
pub(super) const ECDSA_KEY: &[u8] = include_bytes!("keys/ecdsa-p256.key.der");
/// A certificate of it, signed by itself.
pub(super) const ECDSA_CERTIFICATE: &[u8] = include_bytes!("keys/ecdsa-p256.cert.der");
/// The message that is signed.
pub(super) const MESSAGE: &[u8] =
    b"What a server signs in a handshake is about so long: a label and a digest.";
