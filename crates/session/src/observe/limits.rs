//! Limits of this host, after the window: what its links say, and short calibrations.
//!
//! Encryption uses one CPU for a few seconds. What writes to a device or fills memory is measured only where the user asked for it: it takes from
//! the broker what it measures. Only what a broker of this host is bound by: of a broker elsewhere this host's limits say nothing.

mod network;
mod storage;

use super::ObserveSettings;
use crate::context::RunContext;
use crate::probe::crypto::{WARM_UP_LEAST, launcher_of};
use crate::probe::memory::copied_per_s;
use plumb_model::fault::{HasFault, chain};
use plumb_model::observed::{CpuClass, HostLimits, ObservedPath, ProcessWindow, Unseen};
use plumb_model::probe::crypto::{Algorithm, Form};
use plumb_observe::{HostRoot, java_of};
use plumb_probe::crypto::jvm::{Jvm, Launcher};
use plumb_probe::crypto::{CryptoError, Engine, Work};
use std::error::Error;
use std::time::Duration;

/// Bytes of a TLS record at most (RFC 8446).
const RECORD_BYTES: u32 = 16_384;
/// Time of the sample.
const SAMPLE: Duration = Duration::from_millis(300);

/// The limits that are known without measuring, and those that the settings allow to measure.
pub(super) fn limits(
    path: &ObservedPath,
    settings: &ObserveSettings,
    context: &RunContext,
    unseen: &mut Vec<Unseen>,
) -> HostLimits {
    let mut limits = HostLimits::default();
    let brokers: Vec<&ProcessWindow> = path.processes.iter().filter(|process| process.is_broker).collect();
    if brokers.is_empty() {
        return limits;
    }
    if let Some(link) = path.host_window.as_ref().and_then(network::nearest) {
        limits.network_bytes_per_s = Some(link.bytes_per_s);
        limits.network_of = Some(link.interface);
    }
    if settings.calibrate && !context.is_stopped() {
        aes(&brokers, context, &mut limits, unseen);
    }
    if settings.measure_limits && !context.is_stopped() {
        device(&brokers, context, &mut limits, unseen);
    }
    if settings.measure_limits && !context.is_stopped() {
        memory(context, &mut limits, unseen);
    }
    limits
}

fn not_measured<E: HasFault + Error + 'static>(what: String, error: &E) -> Unseen {
    Unseen { what, reason: chain(error).join(": "), hint: error.hint().map(|hint| hint.into_owned()) }
}

/// What the device of the first broker's logs commits and takes.
fn device(
    brokers: &[&ProcessWindow],
    context: &RunContext,
    limits: &mut HostLimits,
    unseen: &mut Vec<Unseen>,
) {
    const WHAT: &str = "how fast the device of the logs commits and takes bytes";
    let mut all =
        brokers.iter().flat_map(|broker| broker.log_directories.iter().map(|log| (broker.pid, log)));
    let Some((pid, log)) = all.next() else {
        unseen.push(Unseen {
            what: WHAT.to_owned(),
            reason: "no log directory was found among the open files of the brokers of this host".to_owned(),
            hint: Some(
                "run as the broker's user, or as root; or plumb probe storage on the directory".to_owned(),
            ),
        });
        return;
    };
    for (pid, other) in all.filter(|(_, other)| other.device != log.device) {
        unseen.push(Unseen {
            what: format!("how fast the device of {} of process {pid} commits and takes bytes", other.path),
            reason: "one device is measured".to_owned(),
            hint: Some("run plumb probe storage on that directory".to_owned()),
        });
    }
    context.phase("measuring the device of the logs");
    match storage::measure(pid, log, context) {
        Ok(measured) => {
            limits.fsync_per_s = measured.commits_per_s;
            limits.write_bytes_per_s = measured.bytes_per_s;
            limits.storage_of = Some(log.clone());
        }
        Err(error) => unseen.push(not_measured(format!("{WHAT} ({})", log.path), &error)),
    }
}

fn memory(context: &RunContext, limits: &mut HostLimits, unseen: &mut Vec<Unseen>) {
    const WHAT: &str = "how fast the processors copy in memory";
    context.phase("measuring copies in memory");
    match copied_per_s(context) {
        Ok(Some(bytes_per_s)) => limits.memory_copy_bytes_per_s = Some(bytes_per_s),
        Ok(None) => unseen.push(Unseen {
            what: WHAT.to_owned(),
            reason: "arrays beyond the caches would take memory that is in use".to_owned(),
            hint: Some("run plumb probe memory while the broker has little to do".to_owned()),
        }),
        Err(error) => unseen.push(not_measured(WHAT.to_owned(), &error)),
    }
}

/// What one CPU encrypts in the Java of a watched broker, with its flags. Nothing is measured where no broker encrypts.
fn aes(brokers: &[&ProcessWindow], context: &RunContext, limits: &mut HostLimits, unseen: &mut Vec<Unseen>) {
    let java = brokers.iter().filter(|process| process.jvm.is_some());
    let Some(broker) = java.into_iter().find(|process| may_encrypt(process)) else { return };
    context.phase("calibrating AES");
    let launcher = launcher_of(java_of(&HostRoot::default(), broker.pid));
    let measured = launcher.and_then(|launcher| {
        let with_instructions = with_instructions(&launcher);
        let measured = in_java(launcher, context)?;
        Ok((measured, with_instructions))
    });
    match measured {
        Ok((measured, with_instructions)) => {
            limits.aes_gcm_bytes_per_s = Some(measured.bytes_per_s);
            limits.aes_gcm_of = Some(measured.of);
            // Beside the point where it cannot be had: the broker's own rate is what bounds it.
            let other = with_instructions.and_then(|launcher| in_java(launcher, context).ok());
            limits.aes_gcm_with_instructions_bytes_per_s = other.map(|other| other.bytes_per_s);
        }
        Err(error) => unseen.push(Unseen {
            what: format!("how fast one CPU encrypts in the Java of process {}", broker.pid),
            reason: error.to_string(),
            hint: Some("run plumb probe crypto on the broker's host".to_owned()),
        }),
    }
}

/// Whether a profile shows encryption; without a profile it may.
fn may_encrypt(process: &ProcessWindow) -> bool {
    let encrypts = |class: CpuClass| matches!(class, CpuClass::Aes | CpuClass::Tls);
    process.profile.as_ref().is_none_or(|profile| profile.shares.iter().any(|share| encrypts(share.class)))
}

/// JVM options that turn the processor's AES instructions off.
const AES_OFF: [&str; 3] = ["-XX:-UseAES", "-XX:-UseAESIntrinsics", "-XX:-UseGHASHIntrinsics"];

struct AesRate {
    bytes_per_s: f64,
    of: String,
}

/// The same Java without the options that turn AES instructions off; none where there are none of these.
fn with_instructions(launcher: &Launcher) -> Option<Launcher> {
    let mut other = launcher.clone();
    other.options.retain(|option| !AES_OFF.contains(&option.as_str()));
    (other.options.len() < launcher.options.len()).then_some(other)
}

fn in_java(launcher: Launcher, context: &RunContext) -> Result<AesRate, CryptoError> {
    let mut java = Jvm::start(launcher, &context.stop)?;
    let description = java.describe();
    java.warm_up(WARM_UP_LEAST, &context.stop)?;
    let work =
        Work::Bytes { algorithm: Algorithm::Aes256Gcm, block_bytes: RECORD_BYTES, form: Form::Message };
    let sample = java.sample(work, 1, SAMPLE)?;
    let options = match description.jvm_options.is_empty() {
        true => String::new(),
        false => format!(" with {}", description.jvm_options.join(" ")),
    };
    Ok(AesRate {
        bytes_per_s: sample.per_s * f64::from(RECORD_BYTES),
        of: format!("{}{options}", description.version),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_with_instructions_is_asked_for_where_a_flag_turns_them_off_and_other_options_stay() {
        let with = |options: &[&str]| {
            with_instructions(&Launcher {
                program: "java".into(),
                because: String::new(),
                options: options.iter().map(|option| (*option).to_owned()).collect(),
            })
        };
        assert_eq!(with(&["-XX:-UseAES", "-XX:UseAVX=2"]).unwrap().options, ["-XX:UseAVX=2"]);
        assert!(with(&["-XX:+UseAES"]).is_none() && with(&[]).is_none());
    }
}
