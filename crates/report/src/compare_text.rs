//! Two single runs side by side, as terminal text: what they do not promise alike first, then what they can show, then
//! what they cannot, and the trial that could.

use crate::sheet::{self, Column, Section, Sheet};
use crate::text::TextStyle;
use crate::{trials, wording};
use plumb_model::compare::{CompareResult, CompareSays, ComparedMetric, ComparedRun, ComparedSteps};
use plumb_model::figure::{self, ABSENT, counted, p_value, ratio, ratio_digits, time};
use plumb_model::finding::ValidityVerdict;
use plumb_model::plan::Length;

/// The whole text.
pub fn render(result: &CompareResult, style: TextStyle) -> String {
    let mut findings: Vec<String> = Vec::new();
    for steps in result.steps.iter().filter(|steps| !steps.unequal_guarantees.is_empty()) {
        findings.push(format!(
            "{} do not promise the same: {}",
            names(steps),
            steps.unequal_guarantees.join("; ")
        ));
    }
    let mut cautions: Vec<String> = Vec::new();
    let same_run = result.a.run_id == result.b.run_id;
    let both: &[(&str, &ComparedRun)] = match same_run {
        true => &[("one", &result.a)],
        false => &[("first", &result.a), ("second", &result.b)],
    };
    for (which, run) in both {
        if run.validity != ValidityVerdict::Valid {
            let reasons: Vec<&str> = run.reasons.iter().map(|reason| reason.trim_end_matches('.')).collect();
            cautions.push(format!("The {which} run is {}: {}", run.validity.word(), reasons.join("; ")));
        }
    }
    cautions
        .extend(result.steps.iter().filter(|steps| !steps.guarantees_not_known.is_empty()).map(|steps| {
        let parts = steps.guarantees_not_known.join("; ");
        format!(
            "It is not known whether {} promise the same, as one of them does not tell all of it: {parts}",
            names(steps)
        )
    }));
    cautions.extend(result.steps.iter().filter(|steps| !steps.same_load).map(|steps| {
        format!("{} were not offered the same load: the ratio is of both, load and setting", names(steps))
    }));
    cautions.extend(result.steps.iter().filter_map(unlike_lengths));
    let mut sections = vec![runs(result)];
    if !result.conditions.is_empty() {
        sections.push(Section::sentences("Around them", "first / second", result.conditions.clone()));
    }
    for steps in &result.steps {
        sections.push(metrics(steps));
        if !steps.settings.is_empty() {
            let heading = format!("Settings of {}", names(steps));
            sections.push(Section::sentences(
                &heading,
                "as read back, load as asked for; first / second",
                steps.settings.clone(),
            ));
        }
    }
    if !result.alone.is_empty() {
        sections.push(Section::sentences("Not compared", "", result.alone.clone()));
    }
    sections.push(Section::sentences("What this cannot show", "", result.cannot_show.clone()));
    let title = format!("{} and {}: two runs, each measured for itself", result.a.name, result.b.name);
    let sheet = Sheet { title, findings, cautions, sections, ..Sheet::default() };
    let mut text = sheet::text::render(&sheet, style);
    for steps in &result.steps {
        let names = names(steps);
        if let Some(why) = &steps.no_arms {
            text.push_str(&format!("\nNo trial can hold them against each other ({names}): {why}.\n"));
        }
        if let Some(arms) = &steps.arms {
            text.push_str(&format!("\nThe trial that would prove it ({names}): `plumb trial run` on\n"));
            for line in crate::paint::printable_lines(arms) {
                text.push_str(&format!("    {line}\n"));
            }
        }
    }
    text
}

/// That the two were not measured for equally long, in words.
fn unlike_lengths(steps: &ComparedSteps) -> Option<String> {
    let (a, b) = steps.a_length.zip(steps.b_length).filter(|(a, b)| a != b)?;
    let words = |length: Length| match length {
        Length::Count(count) => counted(usize::try_from(count).unwrap_or(usize::MAX), "message"),
        Length::Duration(time) => time.to_string(),
    };
    Some(format!(
        "{} were not measured for equally long: {} / {}, blocks included; maxima and rare events grow with the time alone",
        names(steps),
        words(a),
        words(b)
    ))
}

fn names(steps: &ComparedSteps) -> String {
    if steps.a == steps.b {
        format!("\"{}\"", steps.a)
    } else {
        format!("\"{}\" and \"{}\"", steps.a, steps.b)
    }
}

fn runs(result: &CompareResult) -> Section {
    let row = |which: &str, run: &ComparedRun| {
        vec![
            which.to_owned(),
            run.name.clone(),
            wording::instant(&run.started_at),
            run.validity.word().to_owned(),
            run.run_id.clone(),
        ]
    };
    let apart = match result.apart_s {
        _ if result.a.run_id == result.b.run_id => "the same".to_owned(),
        Some(apart_s) => format!("{} apart", time(apart_s.unsigned_abs() as f64 * 1e9)),
        None => "time apart not known".to_owned(),
    };
    let columns = ["", "name", "started", "verdict", "run"].map(Column::text);
    Section::table("Runs", &apart, columns, vec![row("first", &result.a), row("second", &result.b)])
}

fn metrics(steps: &ComparedSteps) -> Section {
    let row = |metric: &ComparedMetric| {
        let within = match (metric.within_low, metric.within_high) {
            (Some(low), Some(high)) => figure::interval(low, high, ratio_digits),
            _ => ABSENT.to_owned(),
        };
        vec![
            trials::metric(&metric.name),
            trials::known(&metric.unit, metric.a_median),
            trials::known(&metric.unit, metric.b_median),
            metric.ratio.map_or_else(|| ABSENT.to_owned(), ratio),
            within,
            metric.p.map_or_else(|| ABSENT.to_owned(), p_value),
            match metric.says {
                CompareSays::DiffersMoreThanBlocks => "more than blocks differ",
                CompareSays::CannotTell => "cannot tell",
            }
            .to_owned(),
        ]
    };
    let blocks = steps.metrics.first().map_or(String::new(), |metric| {
        format!(" of {} and {}", metric.a_blocks, counted(metric.b_blocks as usize, "block"))
    });
    let meaning = format!(
        "medians{blocks}; ratio of typical blocks: the second over the first, over all pairs of one here and one there, not that of the medians; within: its interval, \
         with the spread of blocks within the runs, no drift between them"
    );
    let columns = [
        Column::text("metric"),
        Column::number("first"),
        Column::number("second"),
        Column::number("ratio of blocks"),
        Column::text("within"),
        Column::text("p"),
        Column::text("what can be said"),
    ];
    Section::table(&names(steps), &meaning, columns, steps.metrics.iter().map(row).collect())
}
