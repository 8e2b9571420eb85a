//! The file that says who asks: Prometheus' own form of HTTP client settings, so that one that is there can be used as it is.
//!
//! Secrets are in it, or better in files and environment variables that it names. None of them is ever shown.

use super::error::PrometheusError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The headers of every question, and the settings of the connection.
#[derive(Default)]
pub(super) struct Settings {
    /// Names and values.
    pub(super) headers: Vec<(String, String)>,
    /// The secrets among them, as they are sent and as they were given.
    pub(super) secrets: Vec<String>,
    /// File with the certificates of authorities, PEM.
    pub(super) authorities: Option<PathBuf>,
    /// This client's certificates and their key, PEM.
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    basic_auth: Option<BasicAuth>,
    authorization: Option<Authorization>,
    #[serde(default)]
    http_headers: BTreeMap<String, Header>,
    tls_config: Option<Tls>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BasicAuth {
    username: String,
    password: Option<String>,
    password_file: Option<PathBuf>,
    password_env: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Authorization {
    #[serde(rename = "type")]
    kind: Option<String>,
    credentials: Option<String>,
    credentials_file: Option<PathBuf>,
    credentials_env: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    secrets: Vec<String>,
    #[serde(default)]
    files: Vec<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tls {
    ca_file: Option<PathBuf>,
    cert_file: Option<PathBuf>,
    key_file: Option<PathBuf>,
    /// Known, so that whoever has it in a file of Prometheus' is told that it is not to be had.
    insecure_skip_verify: Option<IgnoredAny>,
    server_name: Option<IgnoredAny>,
}

/// Reads the file and those that it names; their paths are relative to it.
pub(super) fn read(path: &Path) -> Result<Settings, PrometheusError> {
    let fault = |reason: String| PrometheusError::Config { path: path.to_owned(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
    let document = serde_saphyr::from_str::<Document>(&text);
    // The parser's message shows the lines around the fault, which may be secrets: only the place is told.
    let document = document.map_err(|error| {
        let place = error.location().map_or(String::new(), |place| format!(" in line {}", place.line()));
        fault(format!(
            "expected basic_auth, authorization, http_headers and tls_config as Prometheus writes them{place}"
        ))
    })?;
    let sources = Sources { directory: path.parent().unwrap_or(Path::new("")), fault: &fault };
    let mut settings = Settings::default();
    if let Some(basic) = document.basic_auth {
        let password =
            sources.secret("basic_auth.password", basic.password, basic.password_file, basic.password_env)?;
        let encoded = BASE64.encode(format!("{}:{password}", basic.username));
        settings.headers.push(("Authorization".to_owned(), format!("Basic {encoded}")));
        settings.secrets.extend([encoded, password]);
    }
    if let Some(own) = document.authorization {
        if !settings.headers.is_empty() {
            return Err(fault("expected one of basic_auth and authorization, got both".to_owned()));
        }
        let credentials = sources.secret(
            "authorization.credentials",
            own.credentials,
            own.credentials_file,
            own.credentials_env,
        )?;
        let kind = own.kind.unwrap_or_else(|| "Bearer".to_owned());
        settings.headers.push(("Authorization".to_owned(), format!("{kind} {credentials}")));
        settings.secrets.push(credentials);
    }
    for (name, header) in document.http_headers {
        let files = header.files.iter().map(|file| sources.text(file)).collect::<Result<Vec<_>, _>>()?;
        settings.secrets.extend(header.secrets.iter().chain(&files).cloned());
        let values = header.values.into_iter().chain(header.secrets).chain(files);
        settings.headers.extend(values.map(|value| (name.clone(), value)));
    }
    // An empty one would be found everywhere.
    settings.secrets.retain(|secret| !secret.is_empty());
    if let Some(tls) = document.tls_config {
        let refused = [
            (
                tls.insecure_skip_verify,
                "insecure_skip_verify is not taken: a server's certificate is always checked; give its authority as ca_file",
            ),
            (
                tls.server_name,
                "server_name is not taken: the address has to have the name that the certificate is for",
            ),
        ];
        if let Some((_, reason)) = refused.into_iter().find(|(given, _)| given.is_some()) {
            return Err(fault(format!("tls_config.{reason}")));
        }
        settings.authorities = tls.ca_file.map(|file| sources.directory.join(file));
        settings.identity = match (tls.cert_file, tls.key_file) {
            (Some(certificate), Some(key)) => Some((sources.bytes(&certificate)?, sources.bytes(&key)?)),
            (None, None) => None,
            _ => return Err(fault("expected both of tls_config.cert_file and key_file, got one".to_owned())),
        };
    }
    Ok(settings)
}

/// The sources of secrets.
struct Sources<'a> {
    directory: &'a Path,
    fault: &'a dyn Fn(String) -> PrometheusError,
}

impl Sources<'_> {
    fn bytes(&self, file: &Path) -> Result<Vec<u8>, PrometheusError> {
        let path = self.directory.join(file);
        std::fs::read(&path).map_err(|error| (self.fault)(format!("cannot read {}: {error}", path.display())))
    }

    /// A file's only line.
    fn text(&self, file: &Path) -> Result<String, PrometheusError> {
        let text = String::from_utf8(self.bytes(file)?);
        let text = text.map_err(|_| (self.fault)(format!("{} is no text", file.display())))?;
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// The one of three places that is named.
    fn secret(
        &self,
        name: &str,
        value: Option<String>,
        file: Option<PathBuf>,
        variable: Option<String>,
    ) -> Result<String, PrometheusError> {
        match (value, file, variable) {
            (Some(value), None, None) => Ok(value),
            (None, Some(file), None) => self.text(&file),
            (None, None, Some(variable)) => std::env::var(&variable)
                .map_err(|_| (self.fault)(format!("{name}_env: the environment has no {variable}"))),
            _ => Err((self.fault)(format!("expected one of {name}, {name}_file and {name}_env"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str, files: &[(&str, &str)]) -> Result<Settings, PrometheusError> {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        let path = directory.path().join("http.yml");
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    fn error(text: &str) -> String {
        match settings(text, &[]) {
            Ok(_) => panic!("{text} was taken"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn secrets_come_from_the_file_or_from_files_that_it_names() {
        let basic =
            settings("basic_auth: {username: plumb, password_file: secret}", &[("secret", "open sesame\n")]);
        let expected = ("Authorization".to_owned(), format!("Basic {}", BASE64.encode("plumb:open sesame")));
        let basic = basic.unwrap();
        assert_eq!(basic.secrets, [BASE64.encode("plumb:open sesame"), "open sesame".to_owned()]);
        assert_eq!(basic.headers, [expected]);
        let bearer = settings(
            "authorization: {credentials: abc}\nhttp_headers: {X-Scope-OrgID: {values: [tenant-1]}}",
            &[],
        );
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            bearer.unwrap().headers,
            [pair("Authorization", "Bearer abc"), pair("X-Scope-OrgID", "tenant-1")]
        );
    }

    #[test]
    fn faults_name_the_place_and_show_no_secret() {
        for text in [
            "basic_auth: {username: a, password: hunter2, pasword: hunter2}",
            "authorization: [hunter2]",
            "hunter2",
            "tls_config: {verify: hunter2}",
        ] {
            let error = error(text);
            assert!(error.contains("http.yml: expected basic_auth") && !error.contains("hunter2"), "{error}");
        }
        assert!(
            error("basic_auth: {username: a}")
                .contains("expected one of basic_auth.password, basic_auth.password_file")
        );
        let both = error("basic_auth: {username: a, password: b}\nauthorization: {credentials: c}");
        assert!(both.contains("expected one of basic_auth and authorization"), "{both}");
        let variable = error("authorization: {credentials_env: PLUMB_NO_SUCH_VARIABLE}");
        assert!(variable.contains("the environment has no PLUMB_NO_SUCH_VARIABLE"), "{variable}");
        assert!(error("tls_config: {cert_file: none.pem, key_file: none.key}").contains("cannot read"));
        for key in ["insecure_skip_verify", "server_name"] {
            let error = error(&format!("tls_config: {{{key}: hunter2}}"));
            assert!(
                error.contains(&format!("tls_config.{key} is not taken: ")) && !error.contains("hunter2")
            );
        }
    }
}
