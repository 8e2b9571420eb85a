//! Plumb's figure, taken as the program takes it: the median of forty samples.

use crate::BenchError;
use crate::arguments::Ours;
use plumb_model::probe::crypto::{Algorithm, Form};
use plumb_probe::crypto::jvm::{Jvm, Launcher};
use plumb_probe::crypto::openssl::OpenSsl;
use plumb_probe::crypto::{Engine, Work};
use plumb_stats::figure::figure;
use std::process::Command;
use std::time::Duration;

/// As in `plumb probe crypto`; the samples are longer, so that they come to the second that openssl speed takes.
const SAMPLES: u32 = 40;
const SAMPLE: Duration = Duration::from_millis(25);
/// Time for a Java's just-in-time compiler.
const WARM_UP: Duration = Duration::from_secs(4);
const LEVEL: f64 = 0.95;

/// Bytes per second, as a line.
pub(crate) fn in_this_process(ours: Ours) -> Result<String, BenchError> {
    let (mut engine, work): (Box<dyn Engine>, Work) = match ours {
        Ours::OpenSsl(work) => (Box::new(OpenSsl::load()?), work),
        Ours::Java(options) => {
            let launcher = Launcher { options, ..Launcher::of_environment()? };
            let algorithm = Algorithm::Aes256Gcm;
            (
                Box::new(Jvm::start(launcher)?),
                Work::Bytes { algorithm, block_bytes: 16384, form: Form::Message },
            )
        }
    };
    let Work::Bytes { block_bytes, .. } = work else {
        return Err(BenchError::Usage("a signature has no bytes".to_owned()));
    };
    if engine.describe().file.is_some_and(|file| file.ends_with("java")) {
        // Only what is measured: the program warms everything up, which takes longer.
        engine.sample(work, 1, WARM_UP)?;
    }
    let mut rates = Vec::new();
    for _ in 0..SAMPLES {
        rates.push(engine.sample(work, 1, SAMPLE)?.per_s * f64::from(block_bytes));
    }
    let median = figure(&rates, LEVEL).map(|figure| figure.median);
    Ok(median.map_or_else(|| "no figure".to_owned(), |median| format!("{median}")))
}

/// The same in a process of its own.
pub(crate) fn measure(words: &[&str], mask: Option<&str>) -> Result<f64, BenchError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words);
    command.env_remove("OPENSSL_ia32cap").envs(mask.map(|mask| ("OPENSSL_ia32cap", mask)));
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    said.parse().map_err(|_| BenchError::NoFigure {
        program: "plumb's engine".to_owned(),
        said: format!("{said} {}", String::from_utf8_lossy(&output.stderr).trim()),
    })
}
