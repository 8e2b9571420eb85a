//! The errors of asking a management controller.

use crate::HttpError;
use plumb_model::fault::{Fault, HasFault, chain};
use std::borrow::Cow;
use thiserror::Error;

/// A controller that did not tell the firmware's settings. Paths are those of its Redfish service.
#[derive(Debug, Error)]
pub enum BmcError {
    /// Usage: the address is none of a controller.
    #[error(
        "expected https://HOST[:PORT] or https://HOST[:PORT]/redfish/v1/Systems/ID, without user and password, got {got:?}"
    )]
    Address {
        /// The address, as far as it may be shown.
        got: String,
    },
    /// Target: a resource could not be fetched.
    #[error("cannot read {path} of the management controller")]
    Fetch {
        /// The resource.
        path: String,
        /// The reason.
        #[source]
        source: HttpError,
    },
    /// Target: an answer is no JSON.
    #[error("expected JSON at {path} of the management controller, got {got:?}")]
    NotJson {
        /// The resource.
        path: String,
        /// Its first characters.
        got: String,
    },
    /// Target: an answer has not what the standard says.
    #[error("expected {expected} at {path} of the management controller")]
    Shape {
        /// The resource.
        path: String,
        /// What it should have.
        expected: &'static str,
    },
    /// Target: not one system that is known to be this host.
    #[error("{}", systems(paths))]
    Systems {
        /// The systems that there are.
        paths: Vec<String>,
    },
    /// Target: a system without settings of its firmware.
    #[error("the management controller tells no settings of the firmware of {system}")]
    NoBios {
        /// The system.
        system: String,
    },
}

fn systems(paths: &[String]) -> String {
    match paths {
        [] => "the management controller has no system that this login may see".to_owned(),
        paths => format!(
            "the management controller has {} systems, and none of them is known to be this host: {}",
            paths.len(),
            paths.iter().take(4).map(String::as_str).collect::<Vec<_>>().join(", ")
        ),
    }
}

impl BmcError {
    pub(super) fn address(url: &str) -> Self {
        // What stands before an @ is a password and is not repeated.
        BmcError::Address { got: url.rsplit('@').next().unwrap_or(url).chars().take(200).collect() }
    }

    pub(super) fn shape(path: &str, expected: &'static str) -> Self {
        BmcError::Shape { path: super::tree::shown(path), expected }
    }

    /// The error with its causes and the next step, in one line.
    pub fn in_words(&self) -> String {
        chain(self).into_iter().chain(self.hint().map(Cow::into_owned)).collect::<Vec<_>>().join(": ")
    }
}

impl HasFault for BmcError {
    fn fault(&self) -> Fault {
        match self {
            BmcError::Address { .. } => Fault::User,
            BmcError::Fetch { source: HttpError::Authorities { .. }, .. } => Fault::Environment,
            _ => Fault::Target,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        let hint = match self {
            BmcError::Address { .. } => "--bmc takes the address of the controller's own network port",
            BmcError::Fetch { source, .. } => of_fetch(source)?,
            BmcError::NotJson { .. } | BmcError::Shape { .. } => {
                "is a Redfish service there, and switched on? Its root is at /redfish/v1/"
            }
            BmcError::Systems { paths } if paths.is_empty() => "the user needs the right to read systems",
            BmcError::Systems { .. } => {
                "name the one that is this host, such as --bmc https://HOST/redfish/v1/Systems/1; as root it is found by its number"
            }
            BmcError::NoBios { .. } => {
                "older controllers, and some without a licence, do not tell them: look in the firmware's own menu"
            }
        };
        Some(hint.into())
    }
}

fn of_fetch(source: &HttpError) -> Option<&'static str> {
    Some(match source {
        HttpError::Status { status: 401 | 403 } => {
            "the user and password of --bmc-credentials do not log in there, or may not read this"
        }
        HttpError::Status { status: 300..=399 } => {
            "a redirect is not followed, so that the login goes nowhere else: name the address that it leads to"
        }
        HttpError::Status { status: 404 } => {
            "does this controller have Redfish, and is it switched on there?"
        }
        HttpError::Status { .. } => {
            "the controller is busy or restarting, or has a fault: try again, and look at its own log"
        }
        HttpError::Authorities { .. } => {
            "name a file of authorities, PEM, in the environment's SSL_CERT_FILE, or the certificate's digest with --bmc-cert-sha256"
        }
        HttpError::Tls { .. } => {
            "most controllers have a certificate of their own: --bmc-cert-sha256 takes its digest, which `openssl s_client -connect HOST:443 </dev/null | openssl x509 -noout -fingerprint -sha256` shows; ask whoever set it up whether it is the right one"
        }
        HttpError::Connection { .. } | HttpError::TimedOut { .. } => {
            "can this host reach the controller's network? Most keep it apart; controllers are also slow, so try again"
        }
        HttpError::TooLarge { .. } | HttpError::Protocol { .. } => "is that a management controller?",
        HttpError::Url { .. } => return None,
    })
}
