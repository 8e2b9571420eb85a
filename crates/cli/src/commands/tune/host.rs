//! The host that is looked at or changed.

use anyhow::Result;
use plumb_tune::host::Host;

/// This host, with the cluster whose settings are to be asked or changed.
pub(in crate::commands) fn with_cluster(bootstrap: Option<&str>, config: Option<&str>) -> Result<Host> {
    let host = Host::default();
    Ok(match bootstrap {
        None => host,
        Some(bootstrap) => host.with_cluster(plumb_session::cluster_settings(bootstrap, config)?),
    })
}
