//! The brokers' metrics: their addresses, and the user who asks for them.
//!
//! A user and a password come from the environment: an argument is seen by everybody on the machine, and an address is kept in
//! the run's document. The meaning of the figures is in `crates/observe/src/requests.rs`.

use plumb_model::fault::UsageError;
use plumb_model::secret::METRICS_PASSWORD;
use plumb_observe::{Login, ObserveError, PageOf, Scrape, scrape};
use std::env::VarError;
use std::time::Duration;

/// Longest wait for a broker's metrics.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// Variable of the environment with the user.
const USER: &str = "PLUMB_METRICS_USER";

/// The addresses at which the brokers serve their metrics; empty when they serve none.
#[derive(Debug, Clone, Default)]
pub(super) struct BrokerMetrics {
    pub(super) urls: Vec<String>,
    login: Option<Login>,
}

impl BrokerMetrics {
    /// Those of a lab, for which nobody has to log in.
    pub(super) fn of_lab(urls: Vec<String>) -> Self {
        BrokerMetrics { urls, login: None }
    }

    /// Those that the user names, with the login of the environment.
    pub(super) fn of_brokers(urls: Vec<String>) -> Result<Self, UsageError> {
        let login = if urls.is_empty() { None } else { login(|name| std::env::var(name))? };
        Ok(BrokerMetrics { urls, login })
    }

    /// Reads one of them.
    pub(super) fn read(&self, url: &str, timeout: Duration) -> Result<Scrape, ObserveError> {
        scrape(url, self.login.as_ref(), timeout, PageOf::Broker)
    }
}

fn login(variable: impl Fn(&str) -> Result<String, VarError>) -> Result<Option<Login>, UsageError> {
    let of = |name: &str| match variable(name) {
        Ok(text) if text.chars().any(char::is_control) => {
            Err(refused(name, "has characters that no login has"))
        }
        Ok(text) => Ok(Some(text)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(refused(name, "is not UTF-8")),
    };
    match (of(USER)?, of(METRICS_PASSWORD)?) {
        (None, None) => Ok(None),
        (Some(user), _) if user.contains(':') => {
            Err(refused(USER, "has a colon, which ends the user in HTTP's basic authentication"))
        }
        (Some(user), Some(password)) => Ok(Some(Login { user, password })),
        (Some(_), None) => Err(refused(METRICS_PASSWORD, &format!("is missing beside {USER}"))),
        (None, Some(_)) => Err(refused(USER, &format!("is missing beside {METRICS_PASSWORD}"))),
    }
}

fn refused(name: &str, problem: &str) -> UsageError {
    UsageError::new(
        format!("the environment's {name} {problem}"),
        format!(
            "{USER} and {METRICS_PASSWORD} are the login for the brokers' metrics (--metrics): set both or neither"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(user: Option<&str>, password: Option<&str>) -> Result<Option<Login>, String> {
        let variable = |name: &str| {
            let value = if name == USER { user } else { password };
            value.map(str::to_owned).ok_or(VarError::NotPresent)
        };
        login(variable).map_err(|error| error.message)
    }

    #[test]
    fn a_login_is_both_variables_or_none() {
        let login = Login { user: "me".to_owned(), password: "a:b".to_owned() };
        assert_eq!(of(Some("me"), Some("a:b")), Ok(Some(login)));
        assert_eq!(of(None, None), Ok(None));
        for (user, password) in [
            (Some("me"), None),
            (None, Some("hunter2")),
            (Some("m:e"), Some("hunter2")),
            (Some("me"), Some("hunter2\n")),
        ] {
            let error = of(user, password).unwrap_err();
            assert!(error.contains("PLUMB_METRICS_") && !error.contains("hunter2"), "{error}");
        }
    }
}
