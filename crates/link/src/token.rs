//! The secret of one run: who knows it may join. It lives in a file that its owner alone may read, and in no argument, log or error.

use crate::secret_error::SecretError;
use crate::secret_file::{self, TOKEN};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::path::Path;

const TOKEN_BYTES: usize = 16;

/// 128 random bits.
#[derive(Clone)]
pub struct Token([u8; TOKEN_BYTES]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([redacted])")
    }
}

impl Token {
    /// Makes a new one and writes it to a new file with mode 0600, as 32 digits and a line's end.
    ///
    /// # Errors
    /// When the file is there already or cannot be written, or the system has no randomness to give.
    pub fn create(path: &Path) -> Result<Token, SecretError> {
        let token = Token::random()?;
        secret_file::create(TOKEN, path, &format!("{}\n", token.hex()))?;
        Ok(token)
    }

    /// Reads one from a file.
    ///
    /// # Errors
    /// When it cannot be read, everybody may read it, or it holds no token. What it holds is never said.
    pub fn read(path: &Path) -> Result<Token, SecretError> {
        let text = secret_file::read(TOKEN, path)?;
        let text = std::str::from_utf8(&text).unwrap_or_default();
        Token::from_hex(text.trim()).ok_or_else(|| SecretError::NoToken { path: path.to_owned() })
    }

    /// Another one that nobody knows yet.
    pub(crate) fn random() -> Result<Token, SecretError> {
        let mut bytes = [0; TOKEN_BYTES];
        fill_random(&mut bytes)?;
        Ok(Token(bytes))
    }

    pub(crate) fn from_hex(text: &str) -> Option<Token> {
        let mut bytes = [0; TOKEN_BYTES];
        read_hex(text, &mut bytes)?;
        Some(Token(bytes))
    }

    pub(crate) fn hex(&self) -> String {
        hex(&self.0)
    }

    /// True if both are one, in a time that does not depend on where they differ: what is compared are two keyed digests.
    pub(crate) fn is(&self, other: &Token) -> bool {
        let key = |token: &Token| hmac::Key::new(hmac::HMAC_SHA256, &token.0);
        let tag = hmac::sign(&key(other), b"plumb link");
        hmac::verify(&key(self), b"plumb link", tag.as_ref()).is_ok()
    }
}

fn fill_random(bytes: &mut [u8]) -> Result<(), SecretError> {
    SystemRandom::new().fill(bytes).map_err(|_| SecretError::NoRandomness)
}

/// Two lower-case digits a byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    let mut text = String::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|byte| {
        let _infallible = write!(text, "{byte:02x}");
    });
    text
}

/// Fills exactly `bytes`, from digits of either case.
pub(crate) fn read_hex(text: &str, bytes: &mut [u8]) -> Option<()> {
    if text.len() != 2 * bytes.len() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_read_back_from_a_file_that_its_owner_alone_may_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let made = Token::create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text.trim().len(), 32);
        assert!(Token::read(&path).unwrap().is(&made));
        assert!(Token::create(&path).is_err(), "a token is not overwritten");
        assert!(!Token::random().unwrap().is(&made));
        assert!(!format!("{made:?}").contains(text.trim()));
    }

    #[test]
    fn a_token_in_which_one_bit_differs_is_another() {
        let token = Token([0x5a; TOKEN_BYTES]);
        for bit in 0..8 * TOKEN_BYTES {
            let mut other = token.clone();
            other.0[bit / 8] ^= 1 << (bit % 8);
            assert!(!token.is(&other) && !other.is(&token), "{bit}");
        }
    }

    #[test]
    fn a_file_that_everybody_may_read_or_that_holds_no_token_is_refused_without_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        let with = |text: &str, mode: u32| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            Token::read(&path).map(|_| ()).unwrap_err()
        };
        let good = "00112233445566778899aabbccddeeff";
        let open = with(good, 0o644);
        assert!(matches!(open, SecretError::SecretOpen { mode: 0o644, .. }), "{open:?}");
        for text in ["", "canary", "00112233445566778899aabbccddeef", "+0112233445566778899aabbccddeeff"] {
            let error = with(text, 0o600);
            assert!(matches!(error, SecretError::NoToken { .. }), "{error:?}");
            assert!(!format!("{error} {error:?}").contains("canary"));
        }
    }
}
