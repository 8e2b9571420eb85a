//! The quotas of clients that are set in a cluster, which librdkafka does not ask for.

use super::settings::SocketSettings;
use super::{addresses, load_error, security};
use crate::error::LoadError;
use crate::librdkafka::connect::Cluster;
use plumb_wire::connection::Transport;
use plumb_wire::quotas::{ClientQuota, client_quotas};
use std::time::{Duration, Instant};

/// Longest wait for an answer. Ours.
const ANSWER: Duration = Duration::from_secs(5);

impl Cluster {
    /// The quotas that are set, in words: `user=alice, client-id=<default>: producer_byte_rate=1000000`.
    ///
    /// # Errors
    /// When none of the brokers answers, or the user may not know.
    pub fn client_quotas(&self) -> Result<Vec<String>, LoadError> {
        let transport = security::transport(&self.properties, SocketSettings::CONTROL)?;
        let mut last = LoadError::Stopped;
        for address in addresses(&self.bootstrap) {
            let ask = |timeout| {
                let mut connection =
                    Transport::open_within(&transport, &address.host, address.port, timeout)?;
                client_quotas(&mut connection, Instant::now() + timeout)
            };
            match self.patience.ask(ANSWER, ask) {
                Ok(quotas) => return Ok(quotas.iter().map(words).collect()),
                Err(error) => last = load_error(error, &self.bootstrap),
            }
        }
        Err(last)
    }
}

fn words(quota: &ClientQuota) -> String {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "<default>".to_owned());
    let of: Vec<String> =
        quota.of.iter().map(|entity| format!("{}={}", entity.kind, name(&entity.name))).collect();
    let values: Vec<String> =
        quota.values.iter().map(|quota| format!("{}={}", quota.key, quota.value)).collect();
    format!("{}: {}", of.join(", "), values.join(", "))
}
