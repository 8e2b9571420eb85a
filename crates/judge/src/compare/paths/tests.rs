//! Two paths of which it is known what differs.

use super::*;
use crate::diagnosis::tests::{path_with_cause, path_without_cause};
use plumb_model::compare::paths::FigureUnit;
use plumb_model::facts::WindowMean;
use plumb_model::observed::{ClusterSettings, JvmFacts, JvmWindow};
use plumb_model::plan::Properties;

fn pair() -> (ObservedPath, ObservedPath) {
    let before = ObservedPath { started_at: "2026-11-20T15:00:00Z".to_owned(), ..path_without_cause() };
    let after = ObservedPath { started_at: "2026-11-20T16:00:00Z".to_owned(), ..path_without_cause() };
    (before, after)
}

fn compared(a: &ObservedPath, b: &ObservedPath) -> PathCompareResult {
    compare(Side { label: "before", path: a }, Side { label: "after", path: b }).unwrap()
}

fn flags(path: &mut ObservedPath, pairs: &[(&str, &str)]) {
    let flags: Properties =
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    path.processes[0].jvm =
        Some(JvmWindow { facts: JvmFacts { flags, ..JvmFacts::default() }, ..JvmWindow::default() });
}

#[test]
fn paths_that_are_alike_but_for_the_hour_have_no_figure_setting_or_finding_of_their_own() {
    let (a, b) = pair();
    let result = compared(&a, &b);
    assert_eq!(result.apart_s, Some(3_600));
    let differ: Vec<&PathFigure> = result.figures.iter().filter(|figure| figure.differs).collect();
    assert!(differ.is_empty(), "{differ:?}");
    assert!(result.figures.len() > 20, "{:?}", result.figures);
    assert!(
        result.settings.is_empty() && result.conditions.is_empty() && result.alone.is_empty(),
        "{result:?}"
    );
    assert!(result.findings.iter().all(|finding| finding.a == finding.b), "{:?}", result.findings);
}

#[test]
fn a_path_is_not_held_against_itself() {
    let (a, _) = pair();
    let error = compare(Side { label: "x", path: &a }, Side { label: "y", path: &a }).unwrap_err();
    assert_eq!(error.to_string(), "x and y are one watched path, which differs from itself in nothing");
}

#[test]
fn the_figure_that_differs_most_is_first_with_the_second_over_the_first() {
    let (a, mut b) = pair();
    for broker in &mut b.brokers {
        let stages = &mut broker.requests.get_mut("Produce").unwrap().stages;
        stages.local.as_mut().unwrap().mean_ns *= 8.0;
        stages.response_send.as_mut().unwrap().mean_ns *= 2.0;
    }
    let result = compared(&a, &b);
    let first = &result.figures[0];
    assert_eq!((first.part, first.name.as_str(), first.unit), (PathPart::Stages, "local", FigureUnit::Ns));
    assert!((first.ratio.unwrap() - 8.0).abs() < 1e-9, "{first:?}");
    let send = result.figures.iter().position(|figure| figure.name == "send").unwrap();
    let alike = result.figures.iter().position(|figure| !figure.differs).unwrap();
    assert!(send < alike, "{:?}", result.figures);
    let said = result.cannot_show.join(" ");
    assert!(said.contains("no interval") && said.contains("plumb trial run"), "{said}");
}

#[test]
fn what_only_one_of_them_knows_is_neither_a_difference_nor_a_zero() {
    let (a, mut b) = pair();
    for broker in &mut b.brokers {
        broker.requests.get_mut("Produce").unwrap().stages.local = None;
    }
    let result = compared(&a, &b);
    let local = result
        .figures
        .iter()
        .find(|figure| figure.part == PathPart::Stages && figure.name == "local")
        .unwrap();
    assert!(
        local.a_figure.is_some() && local.b_figure.is_none() && local.ratio.is_none() && !local.differs,
        "{local:?}"
    );
}

#[test]
fn flags_and_settings_that_differ_are_told_and_names_of_brokers_are_not() {
    let (mut a, mut b) = pair();
    flags(&mut a, &[("UseAES", "false"), ("UseG1GC", "true")]);
    flags(&mut b, &[("UseAES", "true"), ("UseG1GC", "true"), ("MaxHeapSize", "1")]);
    let set = |pairs: &[(&str, &str)]| -> Properties {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    a.settings.brokers = [("1".to_owned(), set(&[("num.io.threads", "8"), ("node.id", "1")]))].into();
    b.settings.brokers = [("7".to_owned(), set(&[("num.io.threads", "16"), ("node.id", "7")]))].into();
    a.settings.quotas = vec!["user=x: producer_byte_rate=1".to_owned()];
    let result = compared(&a, &b);
    let told: Vec<String> = result
        .settings
        .iter()
        .map(|it| {
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
            format!("{}: {} {} / {}", it.of, it.key, value(&it.a), value(&it.b))
        })
        .collect();
    assert_eq!(
        told,
        [
            "JVM: MaxHeapSize - / 1",
            "JVM: UseAES false / true",
            "broker 1 / 7: num.io.threads 8 / 16",
            "quota: user=x: producer_byte_rate=1 set / -",
        ]
    );
}

#[test]
fn what_only_one_of_them_told_is_named_whichever_it_is() {
    let (mut a, mut b) = pair();
    a.settings = ClusterSettings::default();
    a.clients.iter_mut().for_each(|client| client.settings.clear());
    a.host_window.as_mut().unwrap().settings.clear();
    flags(&mut a, &[]);
    flags(&mut b, &[("UseAES", "true")]);
    let set = |key: &str| Properties::from([(key.to_owned(), "8".to_owned())]);
    b.settings.brokers = [("7".to_owned(), set("num.io.threads"))].into();
    b.settings.quotas = vec!["user=x: producer_byte_rate=1".to_owned()];
    b.host_window.as_mut().unwrap().settings = set("net.core.somaxconn");
    let named = ["JVM", "broker 7", "topic orders", "kernel of the host"];
    let (first, second) = (compared(&b, &a), compared(&a, &b));
    for what in named {
        let told = |which: &str| format!("{what}: only the {which} told its settings");
        assert!(first.alone.contains(&told("first")), "{what}: {:?}", first.alone);
        assert!(second.alone.contains(&told("second")), "{what}: {:?}", second.alone);
    }
    assert!(
        second.alone.contains(&"quotas: only the second was asked for them".to_owned()),
        "{:?}",
        second.alone
    );
    assert!(second.alone.iter().any(|what| what.starts_with("client ")), "{:?}", second.alone);
    assert!(second.settings.is_empty(), "{:?}", second.settings);
}

#[test]
fn a_stage_within_the_error_that_only_one_knows_is_a_row() {
    let (mut a, mut b) = pair();
    let set = |path: &mut ObservedPath, mean: Option<f64>| {
        for broker in &mut path.brokers {
            let stage = &mut broker.requests.get_mut("Produce").unwrap().stages.response_queue;
            *stage = stage.zip(mean).map(|(window, mean_ns)| WindowMean { mean_ns, ..window });
        }
    };
    set(&mut a, Some(0.0));
    set(&mut b, None);
    let is_queue = |figure: &&PathFigure| figure.part == PathPart::Stages && figure.name == "response queue";
    let result = compared(&a, &b);
    let row = result.figures.iter().find(is_queue).unwrap();
    assert_eq!((row.a_figure, row.b_figure, row.differs), (Some(0.0), None, false));
    assert!(compared(&a, &a_minute_later(&a)).figures.iter().all(|figure| !is_queue(&figure)));
}

fn a_minute_later(path: &ObservedPath) -> ObservedPath {
    ObservedPath { started_at: "2026-11-20T15:01:00Z".to_owned(), ..path.clone() }
}

#[test]
fn a_producers_rate_is_named_as_what_it_sent() {
    let (a, b) = pair();
    let result = compared(&a, &b);
    let of_load = result.figures.iter().filter(|figure| figure.part == PathPart::Load);
    let names: Vec<&str> = of_load.map(|figure| figure.name.as_str()).collect();
    assert!(
        names.contains(&"messages sent, acknowledged or not, by the producers that were seen"),
        "{names:?}"
    );
}

#[test]
fn another_load_is_said_before_any_ratio_is_believed() {
    let (a, mut b) = pair();
    for broker in &mut b.brokers {
        broker.bytes_in_per_s = broker.bytes_in_per_s.map(|bytes| bytes * 2.0);
    }
    let said = compared(&a, &b).cannot_show.join(" ");
    assert!(said.contains("bytes in of the second is ×2.00 that of the first"), "{said}");
}

#[test]
fn a_finding_of_one_alone_stands_before_those_of_both() {
    let (a, b) = pair();
    let b = ObservedPath { started_at: b.started_at, ..path_with_cause("handlers-saturated") };
    let result = compared(&a, &b);
    let first = &result.findings[0];
    assert_eq!((first.id.as_str(), first.a), ("handlers-saturated", None));
    assert!(first.b >= Some(Confidence::Supported), "{first:?}");
}
