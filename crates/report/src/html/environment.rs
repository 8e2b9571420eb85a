//! Host, client and cluster of the run.

use super::grid::Grid;
use super::walk::{self, Leaf};
use crate::ReportError;
use crate::wording;
use plumb_model::document::{KeyFate, RunDocument};
use plumb_model::figure::ABSENT;

/// The environment.
pub(super) struct EnvironmentView {
    pub(super) cluster: Vec<(&'static str, String)>,
    /// The facts of the host.
    pub(super) host: Vec<Leaf>,
    /// The fate of each key of a client properties file.
    pub(super) config_keys: Grid,
}

/// The environment of a run.
pub(super) fn view(document: &RunDocument) -> Result<EnvironmentView, ReportError> {
    let environment = &document.environment;
    let cluster = &environment.cluster;
    let or_absent = |text: &Option<String>| text.clone().unwrap_or_else(|| ABSENT.to_owned());
    let text = |text: &str| if text.is_empty() { ABSENT.to_owned() } else { text.to_owned() };
    let host = match &environment.host {
        Some(host) => walk::leaves(&serde_json::to_value(host)?),
        None => Vec::new(),
    };
    let rows = environment.config_keys.iter().map(|key| {
        let fate = match &key.fate {
            KeyFate::Passed => "passed as it is".to_owned(),
            KeyFate::Translated { to } => format!("passed as {}", to.join(", ")),
            KeyFate::JavaOnly { reason } => format!("left out: {reason}"),
        };
        vec![key.key.clone(), key.line.to_string(), fate]
    });
    Ok(EnvironmentView {
        cluster: vec![
            ("client", text(&environment.client)),
            ("brokers", text(&cluster.brokers.join(", "))),
            ("where they run", wording::cluster_place(cluster.on_this_host).to_owned()),
            ("version", or_absent(&cluster.version)),
            ("cluster id", or_absent(&cluster.id)),
            ("security protocol", or_absent(&cluster.security_protocol)),
        ],
        host,
        config_keys: Grid {
            caption: "Keys of the client properties file".to_owned(),
            heads: ["key", "line", "what was done"].map(str::to_owned).into(),
            rows: rows.collect(),
            ..Default::default()
        },
    })
}
