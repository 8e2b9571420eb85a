//! A result in which something is absent and a name is hostile, in every renderer.

use super::{page, text};
use crate::text::TextStyle;
use plumb_model::finding::{Check, CheckOutcome, Finding, Severity};
use plumb_model::fleet::{
    Exclusion, FLEET_SCHEMA_VERSION, FleetDay, FleetGroup, FleetResult, FleetUnit, NaiveFigure, RolloutStage,
    SampleKind, ServersNeeded, Surge,
};
use plumb_model::trial::Good;
use plumb_model::verdict::Verdict;
use std::collections::BTreeMap;

const HOSTILE: &str = "drops<script>alert(1)</script>";

fn result() -> FleetResult {
    let day = |start: &str, group, metric_mean| FleetDay {
        start: start.to_owned(),
        group,
        servers: 3,
        metric_mean,
        metric_median: metric_mean,
        load_mean: Some(1e6),
    };
    FleetResult {
        outcome: None,
        schema_version: FLEET_SCHEMA_VERSION,
        plumb_version: "0.0.0".to_owned(),
        metric: HOSTILE.to_owned(),
        metric_kind: SampleKind::Increments,
        load: Some("packets".to_owned()),
        good: Good::Lower,
        changed_at: "2026-01-03T00:00:00Z".to_owned(),
        intervals_before: 2,
        intervals_after: 2,
        interval_s: 86_400,
        seed: 1,
        servers: BTreeMap::from([(FleetGroup::Control, 3), (FleetGroup::Test, 3)]),
        strata: 1,
        unit: FleetUnit::Server,
        units: BTreeMap::from([(FleetGroup::Control, 3), (FleetGroup::Test, 3)]),
        by_intervals: None,
        effect_ratio: Some(0.0517),
        interval_low: Some(0.0404),
        interval_high: Some(0.0631),
        level: 0.95,
        p: None,
        of_shares: false,
        margin: 0.03,
        verdict: Verdict::Undecided,
        reason: Some("So few servers cannot show any difference.".to_owned()),
        smallest_detectable_ratio: None,
        needed: vec![ServersNeeded { ratio: 1.03, servers: None }, ServersNeeded { ratio: 1.1, servers: Some(1_234) }],
        load_elasticity: Some(1.5),
        load_elasticity_low: Some(1.2),
        load_elasticity_high: Some(1.8),
        checks: vec![Check {
            id: "leave-one-out".to_owned(),
            outcome: CheckOutcome::Failed,
            statement: "Without any one server the ratio is between 0.05 and 0.06, as somebody with a lot to say would put it.".to_owned(),
            p: Some(0.0004),
        }],
        naive: vec![NaiveFigure {
            name: "test group, after over before".to_owned(),
            estimate_ratio: None,
            interval_low: None,
            interval_high: None,
            p: None,
            why_not: "Whatever else happened at that time is in it.".to_owned(),
        }],
        surge: Some(Surge {
            from: "2026-01-04T00:00:00Z".to_owned(),
            until: None,
            has_change_in_it: true,
            load_ratio: BTreeMap::from([(FleetGroup::Control, 1.9), (FleetGroup::Test, 1.8)]),
            metric_ratio: BTreeMap::from([(FleetGroup::Control, 13.75), (FleetGroup::Test, 4.23)]),
            ratio_of_ratios: Some(4.23 / 13.75),
            interval_low: None,
            interval_high: None,
            p: None,
        }),
        days: [("01", Some(4_000.0)), ("02", None), ("03", Some(5_000.0)), ("04", Some(55_000.0))]
            .into_iter()
            .flat_map(|(of, mean)| {
                let start = format!("2026-01-{of}T00:00:00Z");
                [day(&start, FleetGroup::Control, mean), day(&start, FleetGroup::Test, mean.map(|mean| mean / 2.0))]
            })
            .collect(),
        rollout: vec![RolloutStage { share: 0.05, servers: 100, watch_intervals: 7, stop_when: vec!["it is above 1.02".to_owned()] }],
        exclusions: vec![Exclusion { what: "counter resets".to_owned(), count: 3, example: "edge-1".to_owned(), done: "mended".to_owned() }],
        summary: vec!["Undecided.".to_owned()],
        findings: Vec::new(),
    }
}

#[test]
fn the_text_is_no_wider_than_the_terminal_and_what_is_absent_is_a_dash() {
    let text = text::render(&result(), TextStyle { color: false, width: 100 });
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("is UNDECIDED\n"), "{text}");
    assert!(text.contains("Figures  not to be relied on: the check leave-one-out failed\n"), "{text}");
    assert!(text.contains("p, by permutation of servers"), "{text}");
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(row("p, by permutation").ends_with(" -"), "{text}");
    assert!(row("FAILED").contains("leave-one-out  < 0.001"), "{text}");
    assert!(row("ratio of ratios").ends_with("0.308, without an interval: too few servers"), "{text}");
    assert!(row("with the change in it").contains("no time on this side"), "{text}");
    let needed = text.lines().find(|line| line.contains("1.030")).unwrap();
    assert!(needed.ends_with("  more than a million"), "{text}");
}

#[test]
fn the_answer_is_last_with_what_speaks_against_it_just_before() {
    let finding = |id, claim: &str| Finding::new(id, Severity::Note, claim.to_owned());
    let findings = vec![
        finding("leave-one-out", "The check has its row."),
        finding("no-control-left", "Keep some servers back."),
    ];
    let text = text::render(&FleetResult { findings, ..result() }, TextStyle { color: false, width: 100 });
    let end = "\n\nBefore relying on it\n- Keep some servers back (plumb explain no-control-left)\n\nIn short\n- Undecided.\n";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn sites_are_counted_as_sites_and_a_power_that_cannot_be_told_is_a_dash() {
    let sites = FleetResult {
        unit: FleetUnit::Site,
        units: BTreeMap::from([(FleetGroup::Control, 4), (FleetGroup::Test, 5)]),
        servers: BTreeMap::from([(FleetGroup::Control, 1_600), (FleetGroup::Test, 20)]),
        load_elasticity: None,
        load_elasticity_low: Some(-11.8),
        load_elasticity_high: Some(8.65),
        metric: "drops".to_owned(),
        ..result()
    };
    let text = text::render(&sites, TextStyle { color: false, width: 140 });
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(row("sites compared").ends_with("  4 control, 5 test"), "{text}");
    assert!(row("their servers").ends_with("  1,600 control, 20 test"), "{text}");
    let power = row("drops grows with packets to the power of");
    assert!(
        power.ends_with(" - (-11.8 to 8.65): the load of the sites changed too little, or too much alike"),
        "{text}"
    );
    let page = page::render(&sites).unwrap();
    assert!(page.contains("<dt>Sites</dt><dd>4 control, 5 test</dd>"), "{page}");
    let servers = text::render(&result(), TextStyle { color: false, width: 140 });
    assert!(servers.contains("\nservers compared ") && !servers.contains("their servers"), "{servers}");
}

#[test]
fn a_spark_line_marks_the_change_and_shows_a_gap_as_a_gap() {
    let text = text::render(&result(), TextStyle { color: false, width: 100 });
    let line = text.lines().find(|line| line.starts_with(&format!("{HOSTILE}, control"))).unwrap();
    assert!(line.ends_with("▁·|▁█"), "{line}");
}

#[test]
fn the_page_escapes_names_draws_pieces_between_gaps_and_shades_the_surge() {
    let page = page::render(&result()).unwrap();
    assert!(!page.contains("<script") && page.contains("drops&#60;script&#62;"), "names are escaped");
    assert_eq!(
        page.matches("<polyline class=\"curve c1 d1\"").count(),
        3,
        "two pieces of the metric, one of the load"
    );
    assert!(page.contains("<rect class=\"surge\" x=\"75.00%\" y=\"0\" width=\"25.00%\""), "{page}");
    assert!(page.contains("<line class=\"change\" x1=\"50.00%\""), "{page}");
    assert!(page.matches("not to be relied on: the check leave-one-out failed").count() == 2, "{page}");
    assert!(page.contains(", with the change in it: no time on this side"), "{page}");
}
