//! What a trial could show, as terminal text.

use crate::number::{self, counted, percent, ratio};
use crate::size_text::{Body, Column, Section, Sheet, render as sheet};
use crate::text::TextStyle;
use crate::trials;
use plumb_model::power::{MetricPower, PowerResult};

/// The whole text.
pub fn render(result: &PowerResult, style: TextStyle) -> String {
    let mut sections = vec![spreads(result)];
    sections.extend(result.metrics.first().map(designs));
    sections.push(Section {
        heading: "In short".to_owned(),
        meaning: String::new(),
        body: Body::Sentences(result.summary.clone()),
    });
    let title = format!(
        "{}: what a trial could show, from {} of the reference against itself (run {})",
        result.name,
        counted(result.pilot_pairs as usize, "pair"),
        result.run_id
    );
    sheet(&Sheet { title, findings: Vec::new(), cautions: Vec::new(), sections }, style)
}

fn spreads(result: &PowerResult) -> Section {
    let pairs = |pairs: Option<u64>| pairs.map_or_else(|| number::ABSENT.to_owned(), number::count);
    let mut columns = vec![
        Column::text("metric"),
        Column::number("median"),
        Column::number("spread"),
        Column::number("at most"),
        Column::number("pairs for margin"),
    ];
    if result.detect.is_some() {
        columns.push(Column::number("pairs to detect"));
    }
    let row = |metric: &MetricPower| {
        let mut row = vec![
            trials::metric(&metric.name),
            trials::known(&metric.unit, metric.median),
            percent(metric.sd_log.exp() - 1.0),
            percent(metric.sd_log_high.exp() - 1.0),
            pairs(metric.pairs_for_margin),
        ];
        if result.detect.is_some() {
            row.push(pairs(metric.pairs_for_detect));
        }
        row
    };
    let wanted = match result.detect {
        Some(detect) => format!("margin {}, to detect {}", percent(result.margin), percent(detect)),
        None => format!("margin {}", percent(result.margin)),
    };
    Section {
        heading: "Equal settings".to_owned(),
        meaning: format!(
            "spread of a pair's ratio, what it truly is at most (4 of 5 pilots), and pairs by that at {} confidence and {} \
             power; {wanted}",
            percent(result.level),
            percent(result.power)
        ),
        body: Body::Table { columns, rows: result.metrics.iter().map(row).collect() },
    }
}

fn designs(metric: &MetricPower) -> Section {
    let row = |design: &plumb_model::power::Design| {
        vec![design.pairs.to_string(), ratio(design.detectable_ratio), ratio(design.detectable_ratio_high)]
    };
    Section {
        heading: trials::metric(&metric.name),
        meaning: "the smallest difference that so many pairs show".to_owned(),
        body: Body::Table {
            columns: vec![
                Column::number("pairs"),
                Column::number("by the spread seen"),
                Column::number("by the most it may be"),
            ],
            rows: metric.designs.iter().map(row).collect(),
        },
    }
}
