//! The comparisons of setups, those beyond the noise and those within it: one line a pair, one column a metric.

use super::Page;
use crate::paint::Tone;
use crate::sheet::table::{Column, Table};
use crate::wording;
use plumb_model::document::RunDocument;
use plumb_model::figure::{self, ABSENT, counted, percent, ratio, ratio_digits};
use plumb_model::finding::{Comparison, ComparisonVerdict};
use plumb_model::verdict::DETECTABLE_MAX;

/// Lines shown of pairs without a difference; the rest is counted.
const EQUAL_PAIRS: usize = 12;

/// The comparisons of one pair of steps.
struct Pair<'d> {
    name: String,
    comparisons: Vec<&'d Comparison>,
}

impl Pair<'_> {
    fn differs(&self) -> bool {
        self.comparisons.iter().any(|comparison| comparison.verdict == ComparisonVerdict::Differs)
    }
}

/// Writes the comparisons: those that differ first, then the others. Durability differences stand before everything.
pub(super) fn write(page: &mut Page, document: &RunDocument) {
    let comparisons = &document.comparisons;
    let Some(first) = comparisons.first() else { return };
    let meaning = format!(
        "second / first; * by more than the noise, {} confidence over all of them together",
        percent(first.level)
    );
    page.heading("Which setups differ", &meaning);
    let pairs = pairs(document);
    write_durability(page, &pairs);
    let (differing, equal): (Vec<&Pair>, Vec<&Pair>) = pairs.iter().partition(|pair| pair.differs());
    if differing.is_empty() {
        page.prose("  ", wording::none_differs(comparisons), Tone::Plain);
    }
    write_rows(page, comparisons, differing.iter().chain(equal.iter().take(EQUAL_PAIRS)));
    if equal.len() > EQUAL_PAIRS {
        let text = format!("and {} without a difference", counted(equal.len() - EQUAL_PAIRS, "more pair"));
        page.prose("  ", &text, Tone::Dim);
    }
    write_limits(page, comparisons);
}

fn pairs(document: &RunDocument) -> Vec<Pair<'_>> {
    let mut pairs: Vec<Pair> = Vec::new();
    for comparison in &document.comparisons {
        let [b, a] = [&comparison.b, &comparison.a].map(|name| wording::short_name(document, name));
        let name = format!("{b} / {a}");
        match pairs.iter_mut().find(|pair| pair.name == name) {
            Some(pair) => pair.comparisons.push(comparison),
            None => pairs.push(Pair { name, comparisons: vec![comparison] }),
        }
    }
    pairs
}

fn write_durability(page: &mut Page, pairs: &[Pair]) {
    for pair in pairs {
        let differences = pair.comparisons.iter().map(|comparison| &comparison.durability_differences);
        if let Some(differences) = differences.into_iter().find(|differences| !differences.is_empty()) {
            let text = format!(
                "{} differ in durability, so in what they guarantee: {}",
                pair.name,
                differences.join("; ")
            );
            page.prose("  !! ", &text, Tone::Warning);
        }
    }
}

fn write_rows<'p>(page: &mut Page, all: &[Comparison], shown: impl Iterator<Item = &'p &'p Pair<'p>>) {
    let mut metrics: Vec<&str> = Vec::new();
    for comparison in all {
        if !metrics.contains(&comparison.metric.as_str()) {
            metrics.push(&comparison.metric);
        }
    }
    let headings = metrics.iter().map(|metric| wording::metric(metric));
    let columns = headings.flat_map(|heading| [Column::decimal(""), Column::words(heading)]);
    let mut table = Table::new("  pair", columns.collect());
    for pair in shown {
        let mut cells = Vec::new();
        for metric in &metrics {
            let found = pair.comparisons.iter().find(|comparison| comparison.metric == *metric);
            cells.extend(found.map_or_else(|| [String::new(), String::new()], |comparison| cell(comparison)));
        }
        table.push(
            &format!("  {}", pair.name),
            cells,
            if pair.differs() { Tone::Strong } else { Tone::Plain },
        );
    }
    for line in table.lines(page.width, page.paint) {
        page.line(&line);
    }
}

/// The ratio, and its interval with a star when it differs.
fn cell(comparison: &Comparison) -> [String; 2] {
    let star = match comparison.verdict {
        ComparisonVerdict::Differs => " *",
        ComparisonVerdict::Ceiling => " ceiling",
        ComparisonVerdict::WithinNoise | ComparisonVerdict::TooFewBlocks => "",
    };
    let interval = match (comparison.ratio_low, comparison.ratio_high) {
        (Some(low), Some(high)) => figure::interval(low, high, ratio_digits),
        _ => String::new(),
    };
    [comparison.ratio.map_or_else(|| ABSENT.to_owned(), ratio), format!("{interval}{star}")]
}

/// Writes the smallest differences that comparisons without a result could have shown.
fn write_limits(page: &mut Page, comparisons: &[Comparison]) {
    let mut few: Vec<String> = Vec::new();
    for comparison in comparisons.iter().filter(|it| it.verdict == ComparisonVerdict::TooFewBlocks) {
        let metric = wording::metric(&comparison.metric);
        if !few.contains(&metric) {
            few.push(metric);
        }
    }
    if !few.is_empty() {
        page.prose("  - ", &format!("too few blocks to compare {}", few.join(", ")), Tone::Dim);
    }
    if comparisons.iter().any(|comparison| comparison.verdict == ComparisonVerdict::Ceiling) {
        let text = "ceiling: rates within 0.5 % of each other. Something that both setups share limits them, and hides what they differ in.";
        page.prose("  ", text, Tone::Dim);
    }
    for text in could_have_been_seen(comparisons) {
        page.prose("  ", &text, Tone::Dim);
    }
}

/// The largest of the smallest differences that comparisons of a metric could have seen.
struct Detectable<'c> {
    metric: &'c str,
    ratio: f64,
}

/// The smallest difference that would have been seen in every pair without one, for each metric; words where that is any size.
fn could_have_been_seen(comparisons: &[Comparison]) -> Vec<String> {
    let unseen = comparisons.iter().filter(|c| c.verdict == ComparisonVerdict::WithinNoise);
    let mut largest: Vec<Detectable> = Vec::new();
    for comparison in unseen {
        let Some(smallest) = comparison.smallest_detectable_ratio else { continue };
        match largest.iter_mut().find(|known| known.metric == comparison.metric) {
            Some(known) => known.ratio = known.ratio.max(smallest),
            None => largest.push(Detectable { metric: &comparison.metric, ratio: smallest }),
        }
    }
    let (none, some): (Vec<Detectable>, Vec<Detectable>) =
        largest.into_iter().partition(|detectable| detectable.ratio >= DETECTABLE_MAX);
    let some: Vec<String> = some
        .iter()
        .map(|it| format!("{} or more in the {}", ratio(it.ratio), wording::metric(it.metric)))
        .collect();
    let some = (!some.is_empty()).then(|| {
        format!(
            "Without a star: a difference of {} would have been seen in 4 of 5 runs, smaller ones may be there.",
            some.join(", ")
        )
    });
    let none: Vec<String> = none.iter().map(|it| wording::metric(it.metric)).collect();
    let none = (!none.is_empty()).then(|| {
        format!(
            "Without a star in the {}: no difference of any size could have been seen with so few blocks that differ so much.",
            none.join(" and the ")
        )
    });
    some.into_iter().chain(none).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_nobody_looks_for_is_told_in_words() {
        let comparison = |metric: &str, smallest| Comparison {
            a: "a".to_owned(),
            b: "b".to_owned(),
            metric: metric.to_owned(),
            ratio: Some(1.1),
            ratio_low: Some(0.9),
            ratio_high: Some(1.3),
            level: 0.95,
            p_adjusted: Some(0.4),
            smallest_detectable_ratio: Some(smallest),
            blocks: 3,
            verdict: ComparisonVerdict::WithinNoise,
            durability_differences: Vec::new(),
            durability_not_known: Vec::new(),
        };
        let said = could_have_been_seen(&[
            comparison("end_to_end.mean", 1.2),
            comparison("end_to_end.p99", 8210.0),
            comparison("end_to_end.mean", 1.5),
        ]);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("a difference of ×1.50 or more in the end-to-end mean would"), "{said:?}");
        assert!(said[1].contains("in the end-to-end p99: no difference of any size"), "{said:?}");
    }
}
