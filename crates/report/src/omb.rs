//! A step as a result file of the Open Messaging Benchmark, for the scripts that people have for those.
//!
//! Keys and units are the benchmark's: `publishLatency*` in milliseconds from the actual send to the acknowledgement,
//! `publishDelayLatency*` in microseconds from the intended to the actual send, `endToEndLatency*` in milliseconds from
//! the actual send to the consumer; an array has a value for each window of ten seconds. What the benchmark's format has
//! no place for is in one object more, `plumb`: latency from the intended send time, the verdict, and why an array is
//! empty. Nothing is ever 0 because it is not known: an array without values is empty, a lone figure is `null`.

mod provenance;
mod windows;

use crate::ReportError;
use plumb_model::document::{RunDocument, StepResult};
use plumb_model::observation::Distribution;
use plumb_stats::histogram::Histogram;
use serde_json::{Map, Value, json};
use windows::Window;

/// The histograms of a step's seconds: one for each row of its series, none where that second had no sample. A slice that
/// is empty stands for histograms that are not at hand.
#[derive(Debug, Clone, Copy, Default)]
pub struct SecondHistograms<'a> {
    /// Actual send to acknowledgement.
    pub acknowledge_service: &'a [Option<Histogram>],
    /// Actual send to reception.
    pub end_to_end_service: &'a [Option<Histogram>],
    /// Intended to actual send.
    pub slip: &'a [Option<Histogram>],
}

/// Quantiles of the benchmark's result, by the end of their keys.
const QUANTILES: [(&str, f64); 6] = [
    ("50pct", 0.5),
    ("75pct", 0.75),
    ("95pct", 0.95),
    ("99pct", 0.99),
    ("999pct", 0.999),
    ("9999pct", 0.9999),
];

/// Nanoseconds of the units that the benchmark uses.
/// A latency as the benchmark calls it, and the unit that it is in.
struct Named {
    key: &'static str,
    unit_ns: f64,
}

const PUBLISH: Named = Named { key: "publishLatency", unit_ns: MILLISECOND_NS };
const PUBLISH_DELAY: Named = Named { key: "publishDelayLatency", unit_ns: MICROSECOND_NS };
const END_TO_END: Named = Named { key: "endToEndLatency", unit_ns: MILLISECOND_NS };
const MILLISECOND_NS: f64 = 1e6;
const MICROSECOND_NS: f64 = 1e3;

/// The result file of one step; `index` is its place in the document. None when there is no such step.
///
/// # Errors
/// [`ReportError::Json`] when serialisation fails, which no document should cause.
pub fn render(
    document: &RunDocument,
    index: usize,
    seconds: SecondHistograms<'_>,
) -> Result<Option<String>, ReportError> {
    let Some((step, planned)) = document.steps.get(index).zip(document.plan.steps.get(index)) else {
        return Ok(None);
    };
    let windows = windows::of(document, index, seconds);
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    put("workload", json!(document.plan.name));
    put("driver", json!(step.name));
    put("messageSize", json!(step.value_bytes_mean.round() as u64));
    put("topics", json!(1));
    put("partitions", json!(step.effective.partitions));
    put("producersPerTopic", json!(planned.load.producers));
    put("consumersPerTopic", json!(planned.load.consumers));
    put("sampleRateMillis", json!(windows::WINDOW_S * 1_000));
    rates(&mut out, step, &windows);
    let latency = &step.latency;
    measure(&mut out, &PUBLISH, &latency.acknowledge_service, &windows, |w| w.publish.as_ref());
    measure(&mut out, &PUBLISH_DELAY, &step.slip, &windows, |w| w.delay.as_ref());
    measure(&mut out, &END_TO_END, &latency.end_to_end_service, &windows, |w| w.end_to_end.as_ref());
    out.insert("plumb".to_owned(), provenance::of(document, index, seconds));
    let mut text = serde_json::to_string_pretty(&Value::Object(out))?;
    text.push('\n');
    Ok(Some(text))
}

/// The benchmark's name of the file: workload, driver and the time at which the run began (UTC).
pub fn file_name(document: &RunDocument, index: usize) -> Option<String> {
    let step = document.steps.get(index)?;
    let digits = document.run.started_at.chars().map(|c| if c.is_ascii_digit() { c } else { '-' });
    let time: String = digits.take("yyyy-MM-dd-HH-mm-ss".len()).collect();
    let name = format!("{}-{}-{time}.json", document.plan.name, step.name);
    Some(name.chars().map(|c| if c == '/' || c.is_control() { '-' } else { c }).collect())
}

fn rates(out: &mut Map<String, Value>, step: &StepResult, windows: &[Window]) {
    let sent = step.counts.sent > 0;
    let received = step.counts.received > 0;
    let list = |known: bool, of: &dyn Fn(&Window) -> Value| -> Value {
        if known { windows.iter().map(of).collect() } else { json!([]) }
    };
    out.insert("publishRate".to_owned(), list(sent, &|window| json!(window.publish_per_s)));
    // The seconds do not say when a message failed; without any failure, every window had none.
    let flawless = sent && step.counts.failed == 0 && step.counts.unknown == 0;
    out.insert("publishErrorRate".to_owned(), list(flawless, &|_| json!(0.0)));
    out.insert("consumeRate".to_owned(), list(received, &|window| json!(window.consume_per_s)));
    out.insert("backlog".to_owned(), list(received && sent, &|window| json!(window.backlog)));
}

/// Arrays, aggregates and quantiles of one latency.
fn measure(
    out: &mut Map<String, Value>,
    Named { key, unit_ns }: &Named,
    whole: &Distribution,
    windows: &[Window],
    of: impl Fn(&Window) -> Option<&Histogram>,
) {
    let histograms: Vec<Option<&Histogram>> = windows.iter().map(of).collect();
    let any = histograms.iter().any(Option::is_some);
    let list = |figure: &dyn Fn(&Histogram) -> Option<f64>| -> Value {
        if !any {
            return json!([]);
        }
        histograms.iter().map(|histogram| json!(histogram.and_then(figure).map(|ns| ns / unit_ns))).collect()
    };
    let mut capital = (*key).to_owned();
    capital[..1].make_ascii_uppercase();
    let aggregated = format!("aggregated{capital}");
    out.insert(format!("{key}Avg"), list(&Histogram::mean_ns));
    out.insert(format!("{aggregated}Avg"), json!(whole.mean_ns.map(|ns| ns / unit_ns)));
    for (name, quantile) in QUANTILES {
        let enough = |histogram: &Histogram| histogram.samples() as f64 * (1.0 - quantile) >= 10.0 - 1e-6;
        let of = |histogram: &Histogram| {
            histogram.at_quantile(quantile).filter(|_| enough(histogram)).map(|ns| ns as f64)
        };
        out.insert(format!("{key}{name}"), list(&of));
        out.insert(format!("{aggregated}{name}"), json!(at(whole, quantile).map(|ns| ns as f64 / unit_ns)));
    }
    out.insert(format!("{key}Max"), list(&|histogram| histogram.exact().max_ns.map(|ns| ns as f64)));
    out.insert(format!("{aggregated}Max"), json!(whole.max_ns.map(|ns| ns as f64 / unit_ns)));
    let quantiles: Map<String, Value> = whole
        .curve
        .iter()
        .map(|(quantile, ns)| (percentile(*quantile), json!(*ns as f64 / unit_ns)))
        .collect();
    out.insert(format!("{aggregated}Quantiles"), Value::Object(quantiles));
}

/// A quantile of a step: one of its figures, or a point of its curve, which ends where samples are too few.
fn at(distribution: &Distribution, quantile: f64) -> Option<u64> {
    let figures = [
        (0.5, distribution.p50_ns),
        (0.75, distribution.p75_ns),
        (0.95, distribution.p95_ns),
        (0.99, distribution.p99_ns),
        (0.999, distribution.p999_ns),
    ];
    let figure = figures.into_iter().find(|(of, _)| *of == quantile).and_then(|(_, ns)| ns);
    // The curve's points lie close together out there: the next one is hardly above, and never below.
    let beyond = quantile..(1.0 + quantile) / 2.0;
    let on_curve = || distribution.curve.iter().find(|(of, _)| beyond.contains(of)).map(|(_, ns)| *ns);
    figure.or_else(on_curve)
}

/// A quantile as the benchmark writes it: 0.999 is `99.9`, 0.5 is `50.0`.
fn percentile(quantile: f64) -> String {
    format!("{:?}", (quantile * 1e11).round() / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_written_as_java_does() {
        assert_eq!([0.5, 0.999, 0.9999, 1.0].map(percentile), ["50.0", "99.9", "99.99", "100.0"]);
    }
}
