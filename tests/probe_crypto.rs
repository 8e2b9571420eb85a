//! `plumb probe crypto` as a user has it. The truth is known because it is injected: the mask under which OpenSSL does
//! without the processor's instructions, the option under which Java does.

use crate::program::{Ended, Program};
use rustix::process::Signal;
use serde_json::Value;

/// Takes AES, carry-less multiplication and their wide forms away from OpenSSL (OPENSSL_ia32cap(3): bits 57 and 33 of the
/// first word, 41 and 42 of the second).
const MASK: &str = "~0x200000200000000:~0x60000000000";

fn probe(words: &[&str]) -> Program {
    Program::new(["probe", "crypto", "--duration", "400ms"]).args(words)
}

/// True if a mask can show anything here.
fn has_aes() -> bool {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let flags = cpu.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    flags.split_whitespace().any(|flag| flag == "aes")
}

fn engine<'a>(document: &'a Value, name: &str) -> &'a Value {
    document["engines"].as_array().unwrap().iter().find(|engine| engine["name"] == name).unwrap()
}

/// The ids of findings that name this library in their claim.
fn found(document: &Value, words: &str) -> Vec<String> {
    let findings = document["findings"].as_array().unwrap().iter();
    let named = findings.filter(|finding| finding["claim"].as_str().unwrap().contains(words));
    named.map(|finding| finding["id"].as_str().unwrap().to_owned()).collect()
}

fn saved(program: Program, name: &str, result: &Ended) -> Program {
    std::fs::write(program.directory().join(name), &result.stdout).unwrap();
    program
}

#[test]
fn its_json_keeps_its_contract_and_begins_with_what_it_is() {
    let ended = probe(&["--engine", "openssl", "--engine", "own", "--output", "json"]).run();
    let document = ended.json();
    let keys: Vec<&String> = document.as_object().unwrap().keys().take(3).collect();
    assert_eq!(keys, ["schema_version", "probe", "plumb_version"]);
    assert_eq!((&document["probe"], &document["complete"]), (&"crypto".into(), &true.into()));
    for (name, algorithms) in [("openssl", 4), ("own", 5)] {
        let engine = engine(&document, name);
        assert!(engine["version"].as_str().is_some_and(|version| !version.is_empty()));
        let rows = engine["rows"].as_array().unwrap();
        assert_eq!(rows.len(), algorithms * 6, "{name}");
        for row in rows {
            assert!(row["algorithm"].is_string() && row["block_bytes"].is_u64(), "{row}");
            assert!(row["bytes_per_s"].as_f64().is_some_and(|rate| rate > 0.0), "{row}");
            assert!(row["samples"].as_u64() >= Some(20), "{row}");
            let low = row["interval"]["low"].as_f64().unwrap();
            assert!(low <= row["bytes_per_s"].as_f64().unwrap(), "{row}");
        }
        assert!(engine["operations"].as_array().unwrap().len() >= 4);
    }
    let cpu = document["cpu"].as_object().unwrap();
    for key in ["flags", "missing", "hypervisor"] {
        assert!(cpu.contains_key(key), "{key}");
    }
}

#[test]
fn a_library_without_its_instructions_is_named_and_its_neighbour_is_not() {
    if !has_aes() {
        return;
    }
    let words = ["--engine", "openssl", "--engine", "own", "--output", "json"];
    let plain = probe(&words).run();
    assert_eq!(found(&plain.json(), "encrypts AES without"), Vec::<String>::new());

    let masked = probe(&words).args(["--compare", "plain.json"]).env("OPENSSL_ia32cap", MASK);
    let masked = saved(masked, "plain.json", &plain).run();
    let document = masked.json();
    assert_eq!(masked.code(), Some(1), "{}", masked.stderr);
    assert_eq!(found(&document, "OpenSSL"), ["crypto-in-software"]);
    assert_eq!(found(&document, "Plumb's own"), Vec::<String>::new());
    assert_eq!(document["cpu"]["masks"]["OPENSSL_ia32cap"], MASK);
    // The host is the same, so only OpenSSL's AES differs: by far more than any noise.
    let peer = &document["peers"][0];
    assert_eq!(peer["name"], "plain.json");
    let aes = peer["ratios"].as_array().unwrap().iter().find(|ratio| {
        ratio["engine"] == "openssl" && ratio["algorithm"] == "aes-256-gcm" && ratio["block_bytes"] == 16384
    });
    assert!(aes.unwrap()["ratio"].as_f64().unwrap() < 0.3, "{aes:?}");
    assert_eq!(found(&document, "the rate of plain.json"), ["crypto-slower-than-peer"]);

    // Seen from the fast one, the slow one is the other.
    let fast = saved(probe(&words).args(["--compare", "masked.json"]), "masked.json", &masked).run();
    assert_eq!(found(&fast.json(), "The host of masked.json encrypts at "), ["crypto-slower-than-peer"]);
}

#[test]
fn a_java_that_was_told_to_do_without_is_named_with_the_option() {
    let ended = probe(&["--engine", "jvm", "--output", "json"])
        .env("JDK_JAVA_OPTIONS", "-XX:-UseAES -Dsecret=hush-8231")
        .run();
    let document = ended.json();
    let jvm = engine(&document, "jvm");
    if cfg!(target_arch = "x86_64") {
        assert_eq!(jvm["jvm_flags"]["UseAES"], "false", "{}", ended.stderr);
        assert_eq!(found(&document, "Java"), ["crypto-in-software"]);
    }
    assert_eq!(document["cpu"]["masks"]["JDK_JAVA_OPTIONS"], "-XX:-UseAES");
    assert!(!ended.stdout.contains("hush-8231"), "what is no matter of ours stays out");
    assert!(jvm["rows"].as_array().unwrap().len() == 30 || jvm["not_measured"][0]["what"] == "everything");
}

#[test]
fn the_text_shows_each_library_and_the_published_hosts() {
    let ended = probe(&["--engine", "openssl", "--engine", "own"]).run();
    let text = &ended.stdout;
    for word in [
        "Processor",
        "OpenSSL",
        "Plumb's own",
        "AES-256-GCM",
        "16 KiB",
        "Beside published hosts",
        "a broker VM",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn ctrl_c_ends_it_with_what_was_measured() {
    let mut running =
        Program::new(["probe", "crypto", "--engine", "own", "--duration", "60s", "--output", "json"]).start();
    running.wait_until_it_listens_for_signals();
    running.signal(Signal::INT);
    let ended = running.wait();
    assert_eq!(ended.code(), Some(130), "{}", ended.stderr);
    let document = ended.json();
    assert_eq!(document["complete"], false);
    // Stopped in its first rounds: no median, and the samples are counted.
    assert!(engine(&document, "own")["rows"][0]["bytes_per_s"].is_null());
}

#[test]
fn figures_that_no_host_has_are_refused_and_a_name_moves_no_cursor() {
    let good = probe(&["--engine", "own", "--output", "json"]).run().json();
    for figure in ["1e300", "0", "-5", "0.0"] {
        let mut bad = good.clone();
        bad["engines"][0]["rows"][0]["bytes_per_s"] = serde_json::from_str(figure).unwrap();
        let program = probe(&["--engine", "own", "--compare", "other.json"]);
        std::fs::write(program.directory().join("other.json"), bad.to_string()).unwrap();
        let ended = program.run();
        assert_eq!((ended.code(), ended.stdout.as_str()), (Some(2), ""), "{figure}: {}", ended.stderr);
        assert!(ended.stderr.contains("has a figure that no host has: AES-128-GCM"), "{}", ended.stderr);
    }
    let mut named = good;
    named["cpu"]["model"] = "evil\u{1b}[2J\u{7}".into();
    let program = probe(&["--engine", "own", "--compare", "ev\u{1b}[2Jil.json"]);
    std::fs::write(program.directory().join("ev\u{1b}[2Jil.json"), named.to_string()).unwrap();
    let text = program.run().stdout;
    assert!(text.contains("Beside ev\\u{1b}[2Jil.json") && text.contains("evil\\u{1b}[2J\\u{7}"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

#[test]
fn a_java_needs_no_temporary_directory() {
    let ended = probe(&["--engine", "jvm", "--output", "json"]).env("TMPDIR", "/nonexistent").run();
    if ended.stderr.contains("no java here") || ended.stderr.contains("jvm has no figure") {
        return;
    }
    assert!(!engine(&ended.json(), "jvm")["rows"].as_array().unwrap().is_empty(), "{}", ended.stderr);
}

#[test]
fn a_comparison_with_what_is_no_result_is_refused_before_anything_is_measured() {
    for (content, says) in [
        (None, "No such file"),
        (Some("{"), "is no result of a probe"),
        (Some("{\"schema_version\": 1, \"probe\": \"clock\"}"), "is of the probe \"clock\", not of crypto"),
        (Some("{\"schema_version\": 99, \"probe\": \"crypto\"}"), "has schema version 99"),
    ] {
        let program = probe(&["--compare", "other.json"]);
        if let Some(content) = content {
            std::fs::write(program.directory().join("other.json"), content).unwrap();
        }
        let ended = program.run();
        assert_eq!((ended.code(), ended.stdout.as_str()), (Some(2), ""), "{}", ended.stderr);
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
        assert!(ended.stderr.contains("hint: make it on the other host"), "{}", ended.stderr);
    }
}
