//! The power of a trial as terminal text: in pairs, or in starts of the brokers where those are the unit of its verdict.

use crate::sheet::{self, Column, Section, Sheet};
use crate::text::TextStyle;
use crate::trials;
use plumb_model::figure::{self, counted, percent, ratio};
use plumb_model::power::{Design, MetricPower, PowerResult};

/// The whole text.
pub fn render(result: &PowerResult, style: TextStyle) -> String {
    let mut sections = vec![spreads(result)];
    sections.extend(result.metrics.first().map(|metric| designs(result, metric)));
    let on = result.pilot_starts.map(|starts| format!(" on {}", counted(starts as usize, "start")));
    let title = format!(
        "{}: what a trial could show, from {}{} of the reference against itself (run {})",
        result.name,
        counted(result.pilot_pairs as usize, "pair"),
        on.unwrap_or_default(),
        result.run_id
    );
    let cautions = result.cautions.clone();
    let answer = vec![Section::sentences("In short", "", result.summary.clone())];
    sheet::text::render(&Sheet { title, cautions, sections, answer, ..Sheet::default() }, style)
}

/// The unit of the planned trial's verdicts: in words, and the headings of its columns.
struct Words {
    unit: &'static str,
    for_margin: &'static str,
    to_detect: &'static str,
}

fn words(result: &PowerResult) -> Words {
    match result.pairs_per_start {
        Some(_) => Words { unit: "start", for_margin: "starts for margin", to_detect: "starts to detect" },
        None => Words { unit: "pair", for_margin: "pairs for margin", to_detect: "pairs to detect" },
    }
}

fn spreads(result: &PowerResult) -> Section {
    let words = words(result);
    let mut columns = vec![
        Column::text("metric"),
        Column::number("median"),
        Column::number("spread"),
        Column::number("at most"),
        Column::number(words.for_margin),
    ];
    if result.detect.is_some() {
        columns.push(Column::number(words.to_detect));
    }
    let needed = |pairs: Option<u64>, starts: Option<u64>| {
        let units = if result.pairs_per_start.is_some() { starts } else { pairs };
        units.map_or_else(|| figure::ABSENT.to_owned(), figure::count)
    };
    let row = |metric: &MetricPower| {
        let mut row = vec![
            trials::metric(&metric.name),
            trials::known(&metric.unit, metric.median),
            percent(metric.sd_log.exp() - 1.0),
            percent(metric.sd_log_high.exp() - 1.0),
            needed(metric.pairs_for_margin, metric.starts_for_margin),
        ];
        if result.detect.is_some() {
            row.push(needed(metric.pairs_for_detect, metric.starts_for_detect));
        }
        row
    };
    let of = match result.pairs_per_start {
        Some(pairs) => format!("the mean ratio of a start of {}", counted(pairs as usize, "pair")),
        None => "the ratio of a pair".to_owned(),
    };
    let wanted = match result.detect {
        Some(detect) => {
            format!("margin {}, to detect {}", percent(result.margin), percent(detect))
        }
        None => format!("margin {}", percent(result.margin)),
    };
    let looked_at = if result.until_decided { ", looking after each pair" } else { "" };
    let allowed = match result.comparisons {
        0 | 1 => String::new(),
        comparisons => format!(", {comparisons} comparisons allowed for"),
    };
    Section::table(
        "Equal settings",
        &format!(
            "spread: how far {of} strays from 1; at most: how far in truth, for 4 of 5 pilots; {unit}s: how many that takes at {} \
             confidence and {} power{looked_at}{allowed}; {wanted}",
            percent(result.level),
            percent(result.power),
            unit = words.unit
        ),
        columns,
        result.metrics.iter().map(row).collect(),
    )
}

fn designs(result: &PowerResult, metric: &MetricPower) -> Section {
    let row = |design: &Design| {
        let starts = design.starts.map(|starts| starts.to_string());
        let figures =
            [design.pairs.to_string(), ratio(design.detectable_ratio), ratio(design.detectable_ratio_high)];
        starts.into_iter().chain(figures).collect::<Vec<String>>()
    };
    let starts = result.pairs_per_start.map(|_| Column::number("starts"));
    let columns = ["pairs", "by the spread seen", "by the most it may be"].map(Column::number);
    Section::table(
        &trials::metric(&metric.name),
        &format!("the smallest difference that so many {}s show", words(result).unit),
        starts.into_iter().chain(columns).collect::<Vec<Column>>(),
        metric.designs.iter().map(row).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::power::POWER_SCHEMA_VERSION;

    fn in_starts() -> PowerResult {
        let design = |starts: u32, ratio: f64| Design {
            pairs: 2 * starts,
            starts: Some(starts),
            detectable_ratio: ratio,
            detectable_ratio_high: ratio * ratio,
        };
        PowerResult {
            schema_version: POWER_SCHEMA_VERSION,
            run_id: "5d1c0b7fa9e3428e".to_owned(),
            name: "broker flags".to_owned(),
            level: 0.95,
            power: 0.8,
            margin: 0.03,
            detect: Some(0.1),
            comparisons: 3,
            until_decided: false,
            pairs_per_start: Some(2),
            pilot_pairs: 12,
            pilot_starts: Some(6),
            pair_s: Some(60.0),
            metrics: vec![MetricPower {
                name: "end_to_end.p99".to_owned(),
                unit: "ns".to_owned(),
                median: Some(9.2e6),
                pairs: 12,
                starts: Some(6),
                sd_log: 0.05,
                sd_log_high: 0.073,
                designs: vec![design(6, 1.07), design(12, 1.04)],
                pairs_for_margin: Some(128),
                starts_for_margin: Some(64),
                pairs_for_detect: Some(18),
                starts_for_detect: Some(9),
            }],
            cautions: Vec::new(),
            summary: vec!["One sentence.".to_owned()],
        }
    }

    #[test]
    fn what_speaks_against_the_pilot_comes_before_its_numbers() {
        let cautions = vec!["The pilot is suspect: the host was noisy".to_owned()];
        let text = render(&PowerResult { cautions, ..in_starts() }, TextStyle { color: false, width: 100 });
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(at("The pilot is suspect") < at("Equal settings"), "{text}");
    }

    #[test]
    fn a_difference_below_a_tenth_of_a_percent_is_not_written_as_none() {
        let tiny = PowerResult { margin: 0.0025, detect: Some(0.0001), ..in_starts() };
        let text = render(&tiny, TextStyle { color: false, width: 100 });
        assert!(text.contains("margin 0.25 %, to detect 0.01 %"), "{text}");
    }

    #[test]
    fn where_starts_are_the_unit_they_are_counted_and_pairs_stand_beside_them() {
        insta::assert_snapshot!(render(&in_starts(), TextStyle { color: false, width: 100 }), @r"
        broker flags: what a trial could show, from 12 pairs on 6 starts of the reference against itself
        (run 5d1c0b7fa9e3428e)

        Equal settings
        spread: how far the mean ratio of a start of 2 pairs strays from 1; at most: how far in truth, for 4
        of 5 pilots; starts: how many that takes at 95 % confidence and 80 % power, 3 comparisons allowed
        for; margin 3 %, to detect 10 %
        metric           median  spread  at most  starts for margin  starts to detect
        end-to-end p99  9.20 ms   5.1 %    7.6 %                 64                 9

        end-to-end p99  the smallest difference that so many starts show
        starts  pairs  by the spread seen  by the most it may be
             6     12              ×1.070                  ×1.14
            12     24              ×1.040                 ×1.082

        In short
        - One sentence.
        ");
    }
}
