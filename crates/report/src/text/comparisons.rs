//! Which setups differ by more than the noise, and which do not.

use super::Page;
use super::paint::Tone;
use super::table::{Column, Table};
use crate::number::{ABSENT, counted, p_value, percent, ratio, significant};
use crate::wording;
use plumb_model::document::RunDocument;
use plumb_model::finding::{Comparison, ComparisonVerdict};

/// Lines shown of comparisons that lie within the noise; the rest is counted.
const WITHIN_NOISE_LINES: usize = 6;

/// What differs first, then what does not. Durability differences stand before everything.
pub(super) fn write(page: &mut Page, document: &RunDocument) {
    let comparisons = &document.comparisons;
    let Some(first) = comparisons.first() else { return };
    let meaning =
        format!("second setup / first, {} confidence over all of them together", percent(first.level));
    page.heading("Differences beyond noise", &meaning);
    write_durability(page, document);
    let (differing, others): (Vec<&Comparison>, Vec<&Comparison>) =
        comparisons.iter().partition(|comparison| comparison.verdict == ComparisonVerdict::Differs);
    if differing.is_empty() {
        page.prose("  ", "None: no setup differs from another by more than the noise.", Tone::Plain);
    }
    let shown = differing.iter().chain(others.iter().take(WITHIN_NOISE_LINES));
    write_rows(page, document, shown.copied());
    if others.len() > WITHIN_NOISE_LINES {
        let text = format!(
            "and {} that show no difference",
            counted(others.len() - WITHIN_NOISE_LINES, "more comparison")
        );
        page.prose("  ", &text, Tone::Dim);
    }
    write_smallest(page, &others);
}

fn write_durability(page: &mut Page, document: &RunDocument) {
    let mut said: Vec<(String, &[String])> = Vec::new();
    for comparison in document.comparisons.iter().filter(|c| !c.durability_differences.is_empty()) {
        let pair = pair(document, comparison);
        if !said.iter().any(|(earlier, _)| *earlier == pair) {
            said.push((pair, &comparison.durability_differences));
        }
    }
    for (pair, differences) in said {
        let text =
            format!("{pair} differ in durability, so in what they guarantee: {}", differences.join("; "));
        page.prose("  !! ", &text, Tone::Warning);
    }
}

fn write_rows<'c>(page: &mut Page, document: &RunDocument, shown: impl Iterator<Item = &'c Comparison>) {
    let columns = ["", "ratio", "interval", "", "verdict"].map(|heading| match heading {
        "ratio" => Column::number(heading),
        _ => Column::text(heading),
    });
    let mut table = Table::new("", columns.into());
    for comparison in shown {
        let interval = match (comparison.ratio_low, comparison.ratio_high) {
            (Some(low), Some(high)) => format!("{}..{}", significant(low, 3), significant(high, 3)),
            _ => ABSENT.to_owned(),
        };
        let differs = comparison.verdict == ComparisonVerdict::Differs;
        table.push(
            &format!("  {}", pair(document, comparison)),
            vec![
                wording::metric(comparison),
                comparison.ratio.map_or_else(|| ABSENT.to_owned(), ratio),
                interval,
                comparison.p_adjusted.map_or_else(|| ABSENT.to_owned(), p_value),
                wording::comparison(comparison.verdict).to_owned(),
            ],
            if differs { Tone::Strong } else { Tone::Plain },
        );
    }
    let lines = table.lines(page.width, page.paint);
    for line in &lines {
        page.line(line);
    }
}

/// The smallest effect that the comparisons without a result could have shown.
fn write_smallest(page: &mut Page, others: &[&Comparison]) {
    let smallest = others.iter().filter_map(|comparison| comparison.smallest_detectable_ratio);
    if let Some(largest) = smallest.reduce(f64::max) {
        let text = format!(
            "A difference of {} or more would have been seen in 4 of 5 runs; smaller ones may be there.",
            ratio(largest)
        );
        page.prose("  ", &text, Tone::Dim);
    }
}

/// `#2 / #1`, by name where the step is not in the document.
fn pair(document: &RunDocument, comparison: &Comparison) -> String {
    let short = |name| wording::short_name(document, name);
    format!("{} / {}", short(&comparison.b), short(&comparison.a))
}
