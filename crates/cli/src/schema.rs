//! JSON schemas of documents that machines read: generated, kept in `docs/reference`, held true by a test.

use plumb_model::check::{HostCheck, HostsCompared, TunePlan};
use plumb_model::compare::CompareResult;
use plumb_model::compare::searches::SearchesCompared;
use plumb_model::document::RunDocument;
use plumb_model::fleet::FleetResult;
use plumb_model::power::PowerResult;
use plumb_model::probe::crypto::CryptoProbe;
use plumb_model::probe::storage::StorageProbe;
use plumb_model::probe::{ClockOffsetProbe, ClockProbe, FactsProbe, MemoryProbe, NetworkProbe};
use plumb_model::scenario::Scenario;
use plumb_model::search_report::SearchReport;
use plumb_model::trial::TrialResult;

/// Each schema's file name with its content.
pub fn schemas() -> Vec<(&'static str, String)> {
    let text = |schema: schemars::Schema| {
        let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
        text.push('\n');
        text
    };
    vec![
        ("run-document.schema.json", text(schemars::schema_for!(RunDocument))),
        ("scenario.schema.json", text(schemars::schema_for!(Scenario))),
        ("fleet-result.schema.json", text(schemars::schema_for!(FleetResult))),
        ("search-report.schema.json", text(schemars::schema_for!(SearchReport))),
        ("searches-compared.schema.json", text(schemars::schema_for!(SearchesCompared))),
        ("trial-result.schema.json", text(schemars::schema_for!(TrialResult))),
        ("trial-power.schema.json", text(schemars::schema_for!(PowerResult))),
        ("compare-result.schema.json", text(schemars::schema_for!(CompareResult))),
        ("host-check.schema.json", text(schemars::schema_for!(HostCheck))),
        ("hosts-compared.schema.json", text(schemars::schema_for!(HostsCompared))),
        ("tune-plan.schema.json", text(schemars::schema_for!(TunePlan))),
        ("clock-probe.schema.json", text(schemars::schema_for!(ClockProbe))),
        ("clock-offset-probe.schema.json", text(schemars::schema_for!(ClockOffsetProbe))),
        ("crypto-probe.schema.json", text(schemars::schema_for!(CryptoProbe))),
        ("facts-probe.schema.json", text(schemars::schema_for!(FactsProbe))),
        ("memory-probe.schema.json", text(schemars::schema_for!(MemoryProbe))),
        ("network-probe.schema.json", text(schemars::schema_for!(NetworkProbe))),
        ("storage-probe.schema.json", text(schemars::schema_for!(StorageProbe))),
    ]
}
