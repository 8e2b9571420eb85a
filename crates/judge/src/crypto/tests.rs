//! Documents of hosts whose state is known, with their findings.

use super::*;
use plumb_model::facts::HostFacts;
use plumb_model::finding::Severity;
use plumb_model::observation::{Interval, IntervalMethod};
use plumb_model::probe::crypto::{
    Algorithm, BLOCKS_BYTES, CryptoCpu, CryptoEngine, CryptoPlan, CryptoRow, EngineName, Form, OtherForm,
    Throughput,
};
use plumb_model::probe::{Conditions, Noise, ProbeKind, SCHEMA_VERSION};
use std::collections::BTreeMap;

fn throughput(bytes_per_s: f64) -> Throughput {
    Throughput {
        bytes_per_s: Some(bytes_per_s),
        interval: Some(Interval {
            low: bytes_per_s * 0.99,
            high: bytes_per_s * 1.01,
            level: 0.95,
            method: IntervalMethod::OrderStatistics,
        }),
        samples: 40,
        ..Throughput::default()
    }
}

/// An engine whose algorithms have such rates at every size.
fn engine(name: EngineName, rates: &[(Algorithm, f64)]) -> CryptoEngine {
    let rows = rates.iter().flat_map(|(algorithm, rate)| {
        BLOCKS_BYTES.map(|block_bytes| CryptoRow {
            algorithm: *algorithm,
            block_bytes,
            form: Form::Message,
            one_core: throughput(*rate),
            all_cores: None,
            other_form: Some(OtherForm { form: Form::Stream, one_core: throughput(*rate) }),
        })
    });
    CryptoEngine {
        name,
        version: "a test".to_owned(),
        file: None,
        chosen_because: None,
        rows: rows.collect(),
        operations: Vec::new(),
        not_measured: Vec::new(),
        jvm_flags: BTreeMap::new(),
        jvm_options: Vec::new(),
    }
}

fn document(engines: Vec<CryptoEngine>) -> CryptoProbe {
    CryptoProbe {
        conditions: Conditions {
            schema_version: SCHEMA_VERSION,
            probe: ProbeKind::Crypto,
            plumb_version: "0.0.0".to_owned(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            elapsed_ns: 1,
            complete: true,
            ended_by: None,
            host: HostFacts::default(),
            noise: Noise::default(),
        },
        plan: CryptoPlan { rounds: 40, sample_ns: 1, seed: 1, cores: 2 },
        cpu: CryptoCpu::default(),
        engines,
        unavailable: Vec::new(),
        peers: Vec::new(),
        findings: Vec::new(),
    }
}

fn openssl(aes: f64) -> CryptoProbe {
    let rates = [(Algorithm::Aes256Gcm, aes), (Algorithm::Chacha20Poly1305, 3e9)];
    document(vec![engine(EngineName::Openssl, &rates)])
}

fn ids(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.id.as_str()).collect()
}

#[test]
fn a_host_with_its_instructions_has_no_finding() {
    let mut host = openssl(4e9);
    host.peers = published(&host);
    assert_eq!(host.peers.len(), 3);
    assert_eq!(findings(&host), []);
}

#[test]
fn the_published_broker_is_named_at_0_03_of_its_hypervisor() {
    let mut broker = openssl(137_462_000.0);
    broker.peers = published(&broker);
    let found = findings(&broker);
    let claims: Vec<&str> = found.iter().map(|finding| finding.claim.as_str()).collect();
    assert_eq!(
        claims,
        [
            "OpenSSL encrypts AES without the processor's instructions.",
            "This host encrypts at 3.3 % of the rate of hypervisor of a broker.",
            "This host encrypts at 3.8 % of the rate of some other VM.",
        ]
    );
}

#[test]
fn the_slower_of_two_hosts_is_named_from_either_side() {
    let (slow, fast) = (openssl(137e6), openssl(4.1e9));
    let said = |here: &CryptoProbe, there: &CryptoProbe| {
        let mut here = here.clone();
        here.peers = vec![beside(&here, there, "b.json")];
        findings(&here)
            .into_iter()
            .find(|finding| finding.id == "crypto-slower-than-peer")
            .map(|found| found.claim)
    };
    assert_eq!(said(&slow, &fast).as_deref(), Some("This host encrypts at 3.3 % of the rate of b.json."));
    assert_eq!(
        said(&fast, &slow).as_deref(),
        Some("The host of b.json encrypts at 3.3 % of the rate of this host.")
    );
    assert_eq!(said(&fast, &fast), None);
}

#[test]
fn a_ratio_is_of_the_same_form_and_has_the_interval_that_both_allow() {
    let here = openssl(2e9);
    let mut there = openssl(4e9);
    for row in &mut there.engines[0].rows {
        row.other_form = None;
    }
    let ratios = beside(&here, &there, "b").ratios;
    assert!(ratios.iter().all(|ratio| ratio.form == Form::Message));
    assert_eq!(ratios.len(), 12);
    let (low, high) = (ratios[0].ratio_low.unwrap(), ratios[0].ratio_high.unwrap());
    assert!((low - 0.5 * 0.99 / 1.01).abs() < 1e-9 && (high - 0.5 * 1.01 / 0.99).abs() < 1e-9);
}

#[test]
fn without_a_figure_there_is_no_ratio_and_no_claim() {
    let mut here = openssl(1e6);
    for row in &mut here.engines[0].rows {
        row.one_core = Throughput::default();
        row.other_form = None;
    }
    here.peers = published(&here);
    assert!(here.peers.iter().all(|peer| peer.ratios.is_empty()));
    assert_eq!(findings(&here), []);
}

#[test]
fn a_mask_of_the_surroundings_is_evidence_and_a_java_option_suffices() {
    let mut masked = openssl(272e6);
    masked.cpu.masks.insert("OPENSSL_ia32cap".to_owned(), "~0x2".to_owned());
    let found = &findings(&masked)[0];
    assert!(found.evidence.iter().any(|seen| seen.what == "OPENSSL_ia32cap" && seen.value == "~0x2"));

    let mut java = document(vec![engine(EngineName::Jvm, &[])]);
    java.engines[0].jvm_flags.insert("UseAES".to_owned(), "false".to_owned());
    let found = findings(&java);
    assert_eq!(ids(&found), ["crypto-in-software"]);
    assert!(found[0].advice[0].starts_with("Take the option off"));
}

#[test]
fn what_was_measured_decides_over_a_setting() {
    let with = |flags: &[&str], rates: &[(Algorithm, f64)]| {
        let mut java = document(vec![engine(EngineName::Jvm, rates)]);
        java.engines[0].jvm_flags =
            flags.iter().map(|flag| ((*flag).to_owned(), "false".to_owned())).collect();
        let found = findings(&java).remove(0);
        (found.severity, found.claim)
    };
    let rates = |aes: f64| [(Algorithm::Aes256Gcm, aes), (Algorithm::Chacha20Poly1305, 1e9)];
    for flag in ["UseAES", "UseGHASHIntrinsics"] {
        let (severity, claim) = with(&[flag], &rates(1.2e9));
        assert_eq!(severity, Severity::Note);
        assert!(claim.starts_with(&format!("Java has {flag} switched off, and its rates")), "{claim}");
    }
    let (severity, claim) = with(&["UseGHASHIntrinsics"], &rates(0.2e9));
    assert_eq!(severity, Severity::Suspect);
    assert!(claim.starts_with("Java computes GHASH, the checksum of AES-GCM, without"), "{claim}");
    let (_, claim) = with(&["UseAES", "UseGHASHIntrinsics"], &rates(0.1e9));
    assert!(claim.starts_with("Java encrypts AES without"), "{claim}");
    assert!(with(&["UseAES"], &[]).1.starts_with("Java is set to encrypt AES without"));
}

#[test]
fn libraries_of_two_versions_are_said_before_the_rates_and_no_guest_is_blamed() {
    let advice = |theirs: &str| {
        let (mut here, mut there) = (openssl(137e6), openssl(4.1e9));
        there.engines[0].version = theirs.to_owned();
        here.peers = vec![beside(&here, &there, "b.json")];
        let found =
            findings(&here).into_iter().find(|finding| finding.id == "crypto-slower-than-peer").unwrap();
        (found.evidence[0].what.clone(), found.advice[0].clone())
    };
    let (first, said) = advice("another");
    assert_eq!(first, "openssl's version here");
    assert!(said.contains("differ in version") && !said.contains("guest"), "{said}");
    let (first, said) = advice("a test");
    assert!(first.ends_with("bytes, openssl: here"), "{first}");
    assert!(said.contains("a guest with the hypervisor's default model"), "{said}");
}

#[test]
fn hidden_flags_come_first() {
    let mut guest = openssl(137e6);
    guest.cpu = hidden(CryptoCpu {
        model: Some("Common KVM processor".to_owned()),
        virtual_machine: Some(true),
        absent: vec!["aes".to_owned(), "pclmulqdq".to_owned()],
        ..CryptoCpu::default()
    });
    let found = findings(&guest);
    assert_eq!(ids(&found), ["crypto-flags-hidden", "crypto-in-software"]);
    assert!(found[0].advice[0].contains("host-passthrough"));
}
