//! A server's answer: series with samples, warnings, or an error. Every field is checked.

use super::error::PrometheusError;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, de};
use std::collections::BTreeMap;
use std::fmt;

/// An answer that has data.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) series: Vec<Series>,
    /// The reasons why it may not be everything.
    pub(super) warnings: Vec<String>,
}

/// A series with its samples: milliseconds since 1970, value.
#[derive(Debug, PartialEq)]
pub(super) struct Series {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) samples: Vec<(i64, f64)>,
}

/// The document, as all of these servers write it. Keys that are not named here are of no use to us.
#[derive(Deserialize)]
struct Document {
    status: String,
    data: Option<Data>,
    #[serde(rename = "errorType")]
    error_type: Option<String>,
    error: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
    /// VictoriaMetrics: a storage node did not answer.
    #[serde(default, rename = "isPartial")]
    is_partial: bool,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "resultType")]
    result_type: String,
    #[serde(default)]
    result: Vec<SeriesDocument>,
}

#[derive(Deserialize)]
struct SeriesDocument {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<Sample>,
    /// Native histograms have no single value.
    #[serde(default)]
    histograms: Vec<de::IgnoredAny>,
}

/// Reads an answer.
pub(super) fn parse(body: &[u8]) -> Result<Answer, PrometheusError> {
    let unreadable = |error: serde_json::Error| match error.is_eof() {
        true => PrometheusError::Truncated { bytes: body.len() },
        false => {
            PrometheusError::Answer { expected: "the JSON of a Prometheus server", got: shown(body, &error) }
        }
    };
    let document: Document = serde_json::from_slice(body).map_err(unreadable)?;
    if document.status != "success" {
        return Err(PrometheusError::Refused {
            kind: document.error_type.unwrap_or_else(|| document.status.clone()),
            reason: document.error.unwrap_or_else(|| "it gives no reason".to_owned()),
        });
    }
    let data = document
        .data
        .ok_or(PrometheusError::Answer { expected: "data in the answer", got: "none".to_owned() })?;
    if data.result_type != "matrix" {
        return Err(PrometheusError::Answer { expected: "a matrix of samples", got: data.result_type });
    }
    let mut warnings = document.warnings;
    if document.is_partial {
        warnings.push("the answer is partial".to_owned());
    }
    let series = data.result.into_iter().map(|series| match series.histograms.is_empty() {
        true => Ok(Series {
            labels: series.metric,
            samples: series.values.into_iter().map(|Sample(time_ms, value)| (time_ms, value)).collect(),
        }),
        false => Err(PrometheusError::Answer {
            expected: "samples that are numbers",
            got: "native histograms; take a quantile of them with histogram_quantile()".to_owned(),
        }),
    });
    Ok(Answer { series: series.collect::<Result<_, _>>()?, warnings })
}

/// The begin of what is no JSON of ours.
fn shown(body: &[u8], error: &serde_json::Error) -> String {
    let begin: String = String::from_utf8_lossy(body).chars().take(80).collect();
    format!("{begin:?} ({error})")
}

/// `[seconds, "value"]`.
struct Sample(i64, f64);

impl<'de> Deserialize<'de> for Sample {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(2, SampleVisitor)
    }
}

struct SampleVisitor;

impl<'de> Visitor<'de> for SampleVisitor {
    type Value = Sample;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a time in seconds and a value in quotes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Sample, A::Error> {
        let (time_s, NumberText(value)) =
            match (parts.next_element::<f64>()?, parts.next_element::<NumberText>()?) {
                (Some(time_s), Some(value)) => (time_s, value),
                _ => return Err(A::Error::custom("a sample of fewer than two parts")),
            };
        if parts.next_element::<de::IgnoredAny>()?.is_some() {
            return Err(A::Error::custom("a sample of more than two parts"));
        }
        // Three digits are exact: Prometheus' own times are whole milliseconds.
        Ok(Sample((time_s * 1000.0).round() as i64, value))
    }
}

/// A number in quotes, such as "1.5", "NaN" and "+Inf".
struct NumberText(f64);

impl<'de> Deserialize<'de> for NumberText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NumberTextVisitor)
    }
}

struct NumberTextVisitor;

impl Visitor<'_> for NumberTextVisitor {
    type Value = NumberText;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number in quotes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<NumberText, E> {
        text.parse().map(NumberText).map_err(|_| E::custom(format!("{text:?} is no number")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(body: &str) -> String {
        parse(body.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn series_have_labels_and_samples_at_their_own_milliseconds() {
        let body = r#"{"status":"success","infos":["x"],"data":{"resultType":"matrix","result":[
            {"metric":{"__name__":"drops","instance":"a:9100"},"values":[[1772323200.123,"17"],[1772323215,"NaN"],[1772323230,"+Inf"]]}
        ]}}"#;
        let answer = parse(body.as_bytes()).unwrap();
        assert_eq!(answer.series[0].labels["instance"], "a:9100");
        let samples = &answer.series[0].samples;
        assert_eq!(samples[0], (1_772_323_200_123, 17.0));
        assert!(samples[1].1.is_nan() && samples[2].1.is_infinite());
        assert!(answer.warnings.is_empty());
    }

    #[test]
    fn warnings_and_partial_answers_are_told() {
        let body = r#"{"status":"success","warnings":["a store is away"],"isPartial":true,
            "data":{"resultType":"matrix","result":[]}}"#;
        assert_eq!(parse(body.as_bytes()).unwrap().warnings, ["a store is away", "the answer is partial"]);
    }

    #[test]
    fn what_is_cut_wrong_or_refused_is_an_error_that_says_so() {
        let body =
            r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"2"]"#;
        assert_eq!(error(body), format!("the answer ends after {} bytes, in the middle", body.len()));
        assert!(error("<html>login</html>").contains("got \"<html>login</html>\""));
        let refused = error(r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#);
        assert_eq!(refused, "the metrics server refuses (bad_data): parse error");
        let vector = error(r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#);
        assert!(vector.contains("expected a matrix of samples"), "{vector}");
        let histograms = r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"histograms":[[1,{}]]}]}}"#;
        assert!(error(histograms).contains("native histograms"));
        assert!(error(r#"{"status":"success"}"#).contains("data in the answer"));
        let three =
            r#"{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1,"2",3]]}]}}"#;
        assert!(error(three).contains("more than two parts"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }
    }
}
