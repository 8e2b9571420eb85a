//! Processors whose instructions are hidden from the guest.

use super::guest::Guest;
use serde_json::Value;

const PROBE: &str = "plumb crypto probe crypto --engine openssl --engine own --duration 4s";

fn probed(cpu: &'static str) -> Value {
    Guest::new().cpu(cpu).run(PROBE).json("crypto.json")
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap_or_else(|| panic!("no list: {list}"))
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect()
}

fn findings(document: &Value) -> Vec<&str> {
    document["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap()).collect()
}

#[test]
#[ignore = "needs a virtual machine: make test-hardware"]
fn instructions_that_the_hypervisor_hides_are_named_and_those_that_it_shows_are_not() {
    let shown = probed("Westmere,+rdrand");
    let cpu = &shown["cpu"];
    assert_eq!(cpu["generation"], "Westmere-EP", "{cpu}");
    assert_eq!(names(&cpu["missing"]), Vec::<&str>::new(), "{cpu}");
    assert_eq!(cpu["virtual_machine"], true, "{cpu}");
    assert!(!findings(&shown).contains(&"crypto-flags-hidden"), "{}", shown["findings"]);

    let hidden = probed("Westmere,+rdrand,-aes,-pclmulqdq");
    let cpu = &hidden["cpu"];
    assert_eq!(names(&cpu["missing"]), ["aes", "pclmulqdq"], "{cpu}");
    assert!(names(&cpu["absent"]).contains(&"aes"), "{cpu}");
    let ids = findings(&hidden);
    assert!(ids.contains(&"crypto-flags-hidden"), "{ids:?}");
    // Both are slow here, because the instructions are translated: the published peers are of real processors.
    assert!(ids.contains(&"crypto-slower-than-peer"), "{ids:?}");
    let engines = hidden["engines"].as_array().unwrap();
    assert_eq!(engines.len(), 2, "{}", hidden["unavailable"]);
    for engine in engines {
        let rows = engine["rows"].as_array().unwrap();
        assert!(rows.iter().any(|row| row["algorithm"] == "aes-256-gcm" && row["block_bytes"] == 16384));
    }
}

#[test]
#[ignore = "needs a virtual machine: make test-hardware"]
fn a_hypervisors_default_model_is_known_as_one_that_hides_what_every_server_has() {
    let document = probed("qemu64,+rdrand");
    let cpu = &document["cpu"];
    assert_eq!(cpu["generation"], Value::Null, "a made-up model is of no generation: {cpu}");
    assert_eq!(names(&cpu["missing"]), ["aes", "pclmulqdq"], "{cpu}");
    assert!(cpu["missing_because"].as_str().unwrap().contains("QEMU"), "{cpu}");
    let ids = findings(&document);
    assert!(ids.contains(&"crypto-flags-hidden") && ids.contains(&"crypto-in-software"), "{ids:?}");
}
