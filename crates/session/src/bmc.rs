//! The login for a management controller, from a file that others cannot read: an argument is seen by everybody on the machine.

use crate::error::Result;
use plumb_link::{CertificateDigest, read_secret};
use plumb_model::fault::UsageError;
use plumb_observe::Login;
use std::path::Path;

/// Reads the user and the password of a file of one line, `USER:PASSWORD`.
///
/// # Errors
/// When it cannot be read, other users may read it, or it has something else. What it has is never said.
pub fn bmc_login(path: &Path) -> Result<Login> {
    let text = read_secret("file of the management controller's login", path)?;
    let login = std::str::from_utf8(&text).ok().and_then(login);
    login.ok_or_else(|| {
        let message = format!("{} has no login: expected one line, USER:PASSWORD", path.display());
        UsageError::new(message, "the first colon ends the user; chmod 600 keeps the file from others").into()
    })
}

fn login(text: &str) -> Option<Login> {
    let line = text.strip_suffix('\n').unwrap_or(text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    let (user, password) = line.split_once(':')?;
    let is_whole = !user.is_empty() && !password.is_empty() && !line.chars().any(char::is_control);
    is_whole.then(|| Login { user: user.to_owned(), password: password.to_owned() })
}

/// The SHA-256 of a management controller's certificate, as a user writes it or `openssl x509 -fingerprint -sha256` prints it.
///
/// # Errors
/// When it is none.
pub fn bmc_certificate(text: &str) -> Result<[u8; 32]> {
    let digits = text.rsplit('=').next().unwrap_or(text);
    let digest: CertificateDigest = digits.parse().map_err(|reason| {
        let shows = "`openssl s_client -connect HOST:443 </dev/null | openssl x509 -noout -fingerprint -sha256` shows it";
        UsageError::new(reason, shows)
    })?;
    Ok(digest.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::fault::{Fault, HasFault, chain};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn of(text: &str, mode: u32) -> Result<Login> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bmc");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        bmc_login(&path)
    }

    #[test]
    fn a_login_is_one_line_of_a_file_that_others_cannot_read() {
        let login = Login { user: "me".to_owned(), password: "a:b c".to_owned() };
        for text in ["me:a:b c", "me:a:b c\n", "me:a:b c\r\n"] {
            assert_eq!(of(text, 0o600).unwrap(), login);
        }
        let open = chain(&of("me:canary", 0o644).unwrap_err()).join(" ");
        assert!(open.contains("0644") && !open.contains("canary"), "{open}");
        for text in ["", "canary", ":canary", "canary:", "me:canary\nmore", "me:can\u{1b}ary"] {
            let error = of(text, 0o600).unwrap_err();
            assert_eq!(error.fault(), Fault::User);
            assert!(!chain(&error).join(" ").contains("canary"), "{error}");
        }
    }

    #[test]
    fn a_certificates_digest_is_read_as_openssl_prints_it() {
        let pairs = vec!["AB"; 32].join(":");
        for text in [pairs.clone(), format!("sha256 Fingerprint={pairs}"), "ab".repeat(32)] {
            assert_eq!(bmc_certificate(&text).unwrap(), [0xab; 32]);
        }
        assert_eq!(bmc_certificate("12").unwrap_err().fault(), Fault::User);
    }
}
