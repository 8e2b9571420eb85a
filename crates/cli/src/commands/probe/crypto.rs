//! `plumb probe crypto`: how fast libraries here encrypt, and what hides the processor's instructions from them.

mod peers;

use super::end;
use crate::args::probe::CryptoArgs;
use crate::commands::End;
use crate::{progress, stop};
use anyhow::Result;
use plumb_session::probe::crypto::{CryptoSettings, probe};

pub(super) fn crypto(arguments: &CryptoArgs) -> Result<End> {
    let settings = CryptoSettings {
        engines: arguments.engine.iter().map(|word| word.name()).collect(),
        // Read before anything is measured: a wrong file is said at once.
        others: peers::read(&arguments.compare)?,
        duration: arguments.duration.to_duration(),
        seed: arguments.seed,
    };
    let probed = probe(&settings, &stop::flag()?, &progress::watcher())?;
    end(probed, &arguments.result, plumb_report::probe::crypto::sheet, "probe crypto")
}
