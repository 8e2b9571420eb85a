//! TLS encrypts without the processor's AES instructions, which takes five to twenty times the processor time.

use super::super::bounds;
use super::super::case::Case;
use super::super::cause::{CauseRow, Claim};
use super::super::measure::{known, ratio};
use super::super::stages::Stage;
use crate::row::{Family, FlipRow, Row, SettingRow};
use plumb_model::figure::{bytes_per_s, percent};
use plumb_model::finding::{Confidence, Expect, PathStage, Severity};
#[cfg(test)]
use plumb_model::observed::ObservedPath;
use plumb_model::observed::{CpuClass, ThreadClass};

pub(in crate::diagnosis) const CAUSE: CauseRow = CauseRow {
    row: Row {
        id: "aes-not-accelerated",
        summary: "TLS encrypts without the processor's AES instructions, which takes five to twenty times the processor time.",
        page: include_str!("../../../../../docs/findings/aes-not-accelerated.md"),
        family: Family::Diagnosis,
        severity: Severity::Note,
        confidence: Confidence::Supported,
        because: "a profile shows the encryption, and flags, processor or a calibration show that it runs in software",
        stage: Some(PathStage::Network),
        flip: Some(FlipRow {
            change: "give the broker AES instructions (its JVM flags, or the virtual machine's CPU model)",
            setting: Some(SettingRow {
                path: "cluster.jvm_flags",
                value: "-XX:+UseAES -XX:+UseAESIntrinsics -XX:+UseGHASHIntrinsics",
            }),
            observe: "cpu.broker_per_message",
            expect: Expect::Falls,
        }),
    },
    consequence_of: &[],
    rivals: &["tls-cpu", "connection-storm", "network-threads-saturated"],
    advice: &[
        "Start the JVM without -XX:-UseAES, -XX:-UseAESIntrinsics and -XX:-UseGHASHIntrinsics, on Java 17 or later.",
        "Give the virtual machine the CPU model of its host (host-model or passthrough), so that it sees aes and pclmulqdq.",
        "Until then ChaCha20-Poly1305 needs no such instructions, and compression leaves fewer bytes to encrypt.",
    ],
    check,
};

/// Share of encryption in the broker's work from which it costs much (ours).
const AES_MIN: f64 = 0.15;
/// Bytes a second that one processor with AES instructions encrypts at 16 KiB: the lower of two published figures, 3.65 GB/s (see
/// `plumb probe crypto`).
const PUBLISHED_PER_S: f64 = 3.65e9;
/// A rate below this share of a peer's is near-certain to be software (ours; masking AES cost a factor of 12 and more).
const PEER_SHARE: f64 = 0.2;
/// Flags of the JVM that turn its AES off.
const FLAGS: [&str; 3] = ["UseAES", "UseAESIntrinsics", "UseGHASHIntrinsics"];

fn check(case: &Case) -> Option<Claim> {
    if !case.uses_tls() {
        return None;
    }
    let aes = case.profile(&[CpuClass::Aes], None);
    let costly = aes.is_some_and(|aes| aes >= AES_MIN);
    let flags = case.path.host.as_ref().and_then(|host| host.cpu_flags.value());
    let shown = flags.and_then(|flags| flags.get("aes").copied());
    let jvm_flags = || case.broker_processes().filter_map(|process| Some(&process.jvm.as_ref()?.facts.flags));
    let off: Vec<&str> = FLAGS
        .into_iter()
        .filter(|flag| jvm_flags().any(|flags| flags.get(*flag).is_some_and(|value| value == "false")))
        .collect();
    let rate_per_s = known(case.path.limits.aes_gcm_bytes_per_s);
    let with_instructions = known(case.path.limits.aes_gcm_with_instructions_bytes_per_s);
    let slow = rate_per_s.is_some_and(|rate_per_s| rate_per_s < PEER_SHARE * PUBLISHED_PER_S);
    if off.is_empty() && shown != Some(false) && !slow {
        return None;
    }
    // Without a profile nobody knows what it costs here.
    if aes.is_some() && !costly {
        return None;
    }
    let why = match (off.is_empty(), shown) {
        (false, _) => "the broker's JVM has its AES instructions turned off".to_owned(),
        (true, Some(false)) => "this processor shows no AES instructions".to_owned(),
        (true, _) => "one processor encrypts far less here than elsewhere".to_owned(),
    };
    let replication = case.replicates_over_tls();
    let mut stages = Vec::new();
    if case.clients_use_tls() {
        stages.extend([Stage::Unexplained, Stage::ResponseQueue, Stage::Send]);
    }
    if replication {
        stages.push(Stage::Remote);
    }
    let share = case.share(&stages);
    let mut claim = Claim::new(costly, share, format!("TLS encrypts in software: {why}"))
        .seen("share of AES and GHASH in the broker's work", aes, percent, "below 15 %")
        .seen("AES-256-GCM of one processor", rate_per_s, bytes_per_s, "about 3,650 MB/s")
        .seen("the same with its AES instructions", with_instructions, bytes_per_s, "")
        .seen(
            "work of the broker that they would save",
            gain(aes, rate_per_s, with_instructions),
            percent,
            "",
        );
    if let Some(shown) = shown {
        claim = claim.told("the processor shows aes", if shown { "yes" } else { "no" }, "yes");
    }
    for flag in off {
        claim = claim.told(format!("JVM flag {flag}"), "false", "true");
    }
    Some(
        claim
            .seen(
                "share of AES and GHASH in the replica fetchers' work",
                case.profile(&[CpuClass::Aes], Some(ThreadClass::ReplicaFetcher)).filter(|_| replication),
                percent,
                "",
            )
            .seen(bounds::encrypted_for(case), bounds::encrypted_per_s(case), bytes_per_s, "")
            .seen("idle of the busiest network thread", case.network_idle(), percent, "above 30 %"),
    )
}

/// Share of the broker's work that instructions would save, by both rates; absent where one of them was not measured.
fn gain(aes: Option<f64>, now_per_s: Option<f64>, then_per_s: Option<f64>) -> Option<f64> {
    let left = ratio(now_per_s, then_per_s).filter(|left| *left < 1.0)?;
    Some(aes? * (1.0 - left))
}

/// A path that has it.
#[cfg(test)]
pub(in crate::diagnosis) fn inject(path: &mut ObservedPath) {
    use crate::diagnosis::tests::build::*;
    tls(path);
    profile(path, &[(CpuClass::Aes, 0.6), (CpuClass::Tls, 0.1)]);
    jvm_flag(path, "UseAES", "false");
    path.limits.aes_gcm_bytes_per_s = Some(140e6);
    path.limits.aes_gcm_with_instructions_bytes_per_s = Some(2.8e9);
    idle(path, 0.06, 0.8);
    cpu_busy(path, 0.8);
    states(path, ThreadClass::Network, [0.92, 0.03, 0.0, 0.0]);
    wait(path, |waits| (waits.unexplained, waits.response_queue) = (30.0, 8.0));
}
