//! Plumb's figure: samples as the program takes them, and their sum over the processor time that they had, as `openssl speed`
//! counts.

use crate::BenchError;
use crate::arguments::Ours;
use plumb_model::probe::crypto::{Algorithm, Form};
use plumb_probe::crypto::jvm::{Jvm, Launcher};
use plumb_probe::crypto::openssl::OpenSsl;
use plumb_probe::crypto::{Engine, Work};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// As in `plumb probe crypto`; the samples are longer, so that they come to the second that openssl speed takes.
const SAMPLES: u32 = 40;
const SAMPLE: Duration = Duration::from_millis(25);
/// Time for a Java's just-in-time compiler.
const WARM_UP: Duration = Duration::from_secs(4);

/// Bytes per second of processor time, as a line. Java does not tell its processor time: there it is the time on the clock.
pub(crate) fn in_this_process(ours: Ours) -> Result<String, BenchError> {
    let (mut engine, work): (Box<dyn Engine>, Work) = match ours {
        Ours::OpenSsl(work) => (Box::new(OpenSsl::load()?), work),
        Ours::Java(options) => {
            let launcher = Launcher { options, ..Launcher::of_environment()? };
            let algorithm = Algorithm::Aes256Gcm;
            (
                Box::new(Jvm::start(launcher, &Arc::default())?),
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
    // All samples are of the same length, so that their rates and shares add up.
    let (mut per_s, mut on_cpu) = (0.0, 0.0);
    for _ in 0..SAMPLES {
        let sample = engine.sample(work, 1, SAMPLE)?;
        per_s += sample.per_s;
        on_cpu += sample.on_cpu_share.unwrap_or(1.0);
    }
    Ok(format!("{}", per_s * f64::from(block_bytes) / on_cpu))
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
