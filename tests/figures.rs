//! The writing of figures: by one module of the model, so that a value reads alike wherever it stands.

use plumb_model::figure;
use plumb_report::text::{Figures, TextStyle};
use std::path::{Path, PathBuf};

#[path = "../crates/report/tests/sample/mod.rs"]
#[allow(dead_code, reason = "the samples of the renderers' own tests, of which these need one")]
mod sample;

/// The one file that rounds a figure for people.
const WRITES: &str = "crates/model/src/figure.rs";

/// Files that round what no person reads as a figure, or what another program's readers expect just so.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("crates/judge/src/best/simulated.rs", "a simulation, which prints a table for whoever runs it"),
    ("crates/judge/src/best/simulated/proven.rs", "a simulation, which prints a table for whoever runs it"),
    ("crates/judge/src/best/simulated/profile.rs", "a simulation, which prints a table for whoever runs it"),
    ("crates/observe/src/kernel/truth.rs", "a test, which tells its cost to whoever runs it"),
    ("crates/report/src/fleet/chart.rs", "coordinates of a drawing"),
    ("crates/report/src/html/curves.rs", "coordinates of a drawing"),
    ("crates/report/src/html/flow.rs", "coordinates of a drawing"),
    ("crates/report/src/html/queue.rs", "coordinates of a drawing"),
    ("crates/report/src/html/scale.rs", "places on a page, in percent of its width"),
    ("crates/report/src/html/sweep.rs", "coordinates of a drawing"),
    ("crates/report/src/html/timeline.rs", "coordinates of a drawing"),
    ("crates/scenario/src/perf_test/lines.rs", "Kafka's own tools write these lines, and scripts read them"),
    (
        "crates/stats/src/fleet/coverage.rs",
        "tables of simulations, which only those who work on the statistics run",
    ),
    (
        "crates/stats/src/simulations.rs",
        "tables of simulations, which only those who work on the statistics run",
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every source file of the crates but their tests, as a path from the root.
fn sources(directory: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let is = |name: &str| path.file_name().is_some_and(|it| it == name);
        if path.is_dir() && !is("tests") && !is("examples") && !is("target") {
            sources(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "html") && !is("tests.rs")
        {
            all.push(path);
        }
    }
}

/// The format specifications with a precision in a line of code: `{:.2}`, `{share:+.1}`, `{value:.places$}`.
fn precisions(line: &str) -> Vec<&str> {
    let code = if line.trim_start().starts_with("//") { "" } else { line };
    let specification = |text: &str| {
        let (name, format) = text.split_once(':')?;
        // A blank begins a specification only where it is the fill of an alignment: `{ entropy: 0.3 }` is text.
        if format.starts_with(' ') && !format[1..].starts_with(['<', '^', '>']) {
            return None;
        }
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
        let after = format.trim_start_matches(|c: char| c.is_ascii_digit() || "<>^+-#$ ".contains(c));
        let digits = after.strip_prefix('.')?.trim_end_matches(['$', '*', 'e']);
        (is_name && digits.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).then_some(())
    };
    code.split('{')
        .skip(1)
        .filter_map(|part| Some(part.split_once('}')?.0))
        .filter(|text| specification(text).is_some())
        .collect()
}

/// Lines outside of a file's own tests, which stand at its end.
fn shown(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().take_while(|(_, line)| *line != "#[cfg(test)]")
}

#[test]
fn only_the_models_figure_module_rounds_what_people_read() {
    assert_eq!(
        precisions(r#"format!("{:.2} of {n} {share:+.1} {value:.places$} {:>7.1} {: >7.1} {p:?} {a}: .5 {entropy: 0.3}")"#)
            .len(),
        5
    );
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    assert!(files.len() > 300, "{}", files.len());
    let mut wrong = Vec::new();
    let mut used = Vec::new();
    for path in files {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let found = shown(&text).filter(|(_, line)| !precisions(line).is_empty());
        let found: Vec<String> =
            found.map(|(at, line)| format!("{name}:{}: {}", at + 1, line.trim())).collect();
        if name == WRITES || found.is_empty() {
            continue;
        }
        match EXCEPTIONS.iter().find(|(file, _)| *file == name) {
            Some((file, _)) => used.push(*file),
            None => wrong.extend(found),
        }
    }
    assert!(wrong.is_empty(), "write these by {WRITES}, or say in EXCEPTIONS why not:\n{}", wrong.join("\n"));
    let idle: Vec<_> = EXCEPTIONS.iter().filter(|(file, _)| !used.contains(file)).collect();
    assert!(idle.is_empty(), "these need no exception any more: {idle:?}");
}

/// A verdict's sentence is the judge's; table and page are the renderers'.
#[test]
fn a_value_reads_alike_in_sentence_table_and_page() {
    let mut document = sample::full();
    document.plan.steps.truncate(1);
    document.steps.truncate(1);
    document.comparisons.clear();
    plumb_judge::judge(&document).put_into(&mut document);
    let step = &document.steps[0];
    let (mean_ns, p99_ns) =
        (step.latency.end_to_end.mean_ns.unwrap(), step.latency.end_to_end.p99_ns.unwrap() as f64);
    let sentence = document.summary.join(" ");
    let style = TextStyle { color: false, width: 140 };
    let text = plumb_report::text::render(&document, style, Figures::Headline);
    let page = plumb_report::html::render(&document).unwrap();
    let (_, table) = text.split_once("asked/s").unwrap();
    for ns in [mean_ns, p99_ns] {
        // The column's heading says that these are milliseconds.
        let digits = figure::milliseconds(ns);
        assert_eq!(figure::time(ns), format!("{digits} ms"));
        assert!(sentence.contains(&figure::time(ns)), "{} in {sentence}", figure::time(ns));
        assert!(table.split_whitespace().any(|cell| cell == digits), "{digits} in {table}");
        assert!(page.contains(&format!(">{digits}<")), "{digits}");
    }
}
