//! The generated, listed and shipped files are what the program has. `PLUMB_BLESS=1` writes the generated files anew.

use crate::program::Program;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Names of the files in a directory of the repository that end so.
fn files(directory: &str, end: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join(directory)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(end)).collect()
}

#[test]
fn the_published_schemas_are_those_of_the_program() {
    let schemas = plumb_cli::schema::schemas();
    let directory = root().join("docs/reference");
    if std::env::var_os("PLUMB_BLESS").is_some() {
        std::fs::create_dir_all(&directory).unwrap();
        for (name, schema) in &schemas {
            std::fs::write(directory.join(name), schema).unwrap();
        }
    }
    for (name, schema) in &schemas {
        let published = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
        assert!(published == *schema, "docs/reference/{name} is old: run this test with PLUMB_BLESS=1");
    }
    let names: BTreeSet<String> = schemas.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(files("docs/reference", ".schema.json"), names);
}

/// Ends of names, or parts of them, that say what a fraction is counted in.
const UNITS: [&str; 18] = [
    "ns", "us", "ms", "s", "bytes", "mhz", "ppm", "percent", "ratio", "share", "p", "level", "log", "per",
    "mean", "messages", "records", "load",
];

/// Fractions whose name has no unit: they have none, or that of the figure beside which they stand, which names it.
const WITHOUT_UNIT: [&str; 30] = [
    // Of the figure that they belong to.
    "a_median",
    "b_median",
    "against_median",
    "amount",
    "arm_median",
    "median",
    "metric_median",
    "interval_low",
    "interval_high",
    "within_low",
    "within_high",
    "low",
    "high",
    "lowest",
    "highest",
    "least",
    "most",
    "longest",
    "at",
    "objective",
    "before",
    "clock_error",
    "after",
    // Without any.
    "effect",
    "detect",
    "entropy",
    "exponent",
    "margin",
    "power",
    "quantile",
];
/// The same, of the variation of blocks.
const VARIATIONS: [&str; 3] = ["variation", "variation_before", "variation_after"];

/// Names of the fractions in a schema.
fn fractions(schema: &Value, names: &mut BTreeSet<String>) {
    let is_fraction = |property: &Value| match &property["type"] {
        Value::Array(types) => types.iter().any(|name| name == "number"),
        name => name == "number",
    };
    match schema {
        Value::Object(entries) => {
            if let Some(Value::Object(properties)) = entries.get("properties") {
                let named = properties.iter().filter(|(_, property)| is_fraction(property));
                names.extend(named.map(|(name, _)| name.clone()));
            }
            entries.values().for_each(|entry| fractions(entry, names));
        }
        Value::Array(entries) => entries.iter().for_each(|entry| fractions(entry, names)),
        _ => {}
    }
}

#[test]
fn every_fraction_in_a_document_names_its_unit_or_is_known_to_have_none() {
    let mut names = BTreeSet::new();
    for (_, schema) in plumb_cli::schema::schemas() {
        fractions(&serde_json::from_str(&schema).unwrap(), &mut names);
    }
    assert!(names.len() > 100, "{names:?}");
    names.retain(|name| !name.split('_').any(|part| UNITS.contains(&part)));
    let known: BTreeSet<String> =
        WITHOUT_UNIT.iter().chain(&VARIATIONS).map(|name| (*name).to_owned()).collect();
    assert_eq!(names, known, "a new name needs a unit, one that is gone goes here too");
}

#[test]
fn every_finding_has_its_page_and_every_page_its_finding() {
    let pages: BTreeSet<String> = plumb_judge::rows().map(|row| format!("{}.md", row.id)).collect();
    assert_eq!(files("docs/findings", ".md"), pages);
    for row in plumb_judge::rows() {
        let page = std::fs::read_to_string(root().join(format!("docs/findings/{}.md", row.id))).unwrap();
        assert_eq!(row.page, page, "{} prints another page", row.id);
        let explained = Program::new(["explain", row.id]).run();
        assert_eq!((explained.code(), explained.stdout), (Some(0), row.explanation()), "{}", row.id);
    }
}

#[test]
fn every_setting_that_would_prove_a_finding_is_one_that_an_arm_can_have() {
    let flips = plumb_judge::rows().filter_map(|row| Some((row.id, row.flip.as_ref()?.setting.as_ref()?)));
    for (id, setting) in flips {
        let (section, key) = setting.path.split_once('.').unwrap();
        let words = match key.split_once('.') {
            Some((map @ ("configs" | "broker_properties"), property)) => {
                format!("{section}: {{{map}: {{{property}: {}}}}}", setting.value)
            }
            _ if key == "jvm_flags" => {
                format!("{section}: {{{key}: [{}]}}", setting.value.replace(' ', ", "))
            }
            _ => format!("{section}: {{{key}: {}}}", setting.value),
        };
        let program = Program::new(["trial", "run", "flip.yaml", "--dry-run"]);
        let scenario =
            format!("cluster: lab\nload: {{rate: 200, duration: 10s}}\narms: {{a: {{}}, b: {{{words}}}}}\n");
        std::fs::write(program.directory().join("flip.yaml"), scenario).unwrap();
        let ended = program.run();
        assert_eq!(ended.code(), Some(0), "{id}: {words}: {}", ended.stderr);
    }
}

#[test]
fn every_scenario_that_ships_resolves_to_a_plan() {
    let scenarios = files("scenarios", ".yaml");
    assert!(!scenarios.is_empty());
    for name in scenarios {
        let file = root().join("scenarios").join(&name);
        let text = std::fs::read_to_string(&file).unwrap();
        let command: &[&str] = match (text.contains("\narms:"), text.contains("\nsearch:")) {
            (true, _) => &["trial", "run"],
            (_, true) => &["search"],
            _ => &["run"],
        };
        // What earlier trials on this machine were like refuses no plan here.
        let cache = tempfile::tempdir().unwrap();
        let program = Program::new(command).args([file.as_os_str()]).args(["--dry-run"]);
        // Devices that a scenario names are directories that are there.
        for device in ["sata", "nvme", "pmem"] {
            std::fs::create_dir_all(program.directory().join("devices").join(device)).unwrap();
        }
        let planned = program.env("XDG_CACHE_HOME", cache.path()).run();
        assert_eq!(planned.code(), Some(0), "{name}: {}", planned.stderr);
        assert!(planned.stdout.contains(name.trim_end_matches(".yaml")), "{name}: {}", planned.stdout);
        assert!(!planned.path("runs").exists(), "a dry run leaves nothing behind");
    }
}
