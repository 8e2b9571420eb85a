//! The outputs that other programs read: CSV and JSON, to the letter.

#![allow(missing_docs, clippy::unwrap_used)]

#[allow(dead_code)]
mod sample;

use plumb_model::document::{RunDocument, StepResult};
use plumb_model::observation::{Counts, Distribution};

#[test]
fn csv_has_units_in_its_names_quotes_where_needed_and_empty_cells_for_what_is_absent() {
    let mut document = sample::killed();
    let mut step = StepResult {
        name: "linger \"0\", fetch 10 ms".to_owned(),
        asked_per_s: Some(100.0),
        value_bytes_mean: 1024.0,
        counts: Counts { intended: 3, sent: 3, acked: 2, unknown: 1, received: 2, ..Default::default() },
        ..Default::default()
    };
    step.latency.end_to_end = Distribution {
        samples: 2,
        min_ns: Some(9_090_000),
        mean_ns: Some(10_000_000.25),
        max_ns: Some(10_910_000),
        ..Default::default()
    };
    document.steps = vec![step];
    let csv = plumb_report::csv::render(&document);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        lines[0].split(',').take(33).collect::<Vec<_>>().join(","),
        "run_id,run_verdict,step,asked_per_s,achieved_per_s,value_bytes_mean,blocks,intended,sent,acked,failed,\
         unknown,received,lost,removed,duplicated,reordered,offset_delta,offsets_agree,acks,min_insync_replicas,\
         replication,end_to_end_samples,end_to_end_min_ns,end_to_end_mean_ns,end_to_end_mean_low_ns,\
         end_to_end_mean_high_ns,end_to_end_p50_ns,end_to_end_p75_ns,end_to_end_p95_ns,end_to_end_p99_ns,\
         end_to_end_p99_low_ns,end_to_end_p99_high_ns"
    );
    let empty = |n: usize| ",".repeat(n);
    let absent_distribution = format!("0{}0,0,", empty(13));
    assert_eq!(
        lines[1],
        format!(
            "5d1c0b7fa9e3428e,invalid,\"linger \"\"0\"\", fetch 10 ms\",100,,1024,0,3,3,2,0,1,2,0,,0,0,,,,,,\
             2,9090000,10000000.3{}10910000,0,0,,{absent_distribution},{absent_distribution},\
             {absent_distribution},{absent_distribution}{}",
            empty(10),
            empty(41)
        )
    );
}

#[test]
fn every_csv_row_has_a_cell_for_each_column() {
    let mut document = sample::full();
    for (index, step) in document.steps.iter_mut().enumerate() {
        step.name = format!("step {index}");
    }
    let csv = plumb_report::csv::render(&document);
    let cells: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(cells, vec![cells[0]; 9]);
}

#[test]
fn json_is_the_document_and_what_is_absent_is_null() {
    let document = sample::full();
    let text = plumb_report::json::render(&document).unwrap();
    let again: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(again["steps"][3]["latency"]["end_to_end"]["p99_ns"], serde_json::Value::Null);
    assert_eq!(again["steps"][0]["latency"]["end_to_end"]["p99_ns"], 45_310_000);
    assert_eq!(again["validity"]["verdict"], "suspect");
    let killed = plumb_report::json::render(&sample::killed()).unwrap();
    assert_eq!(serde_json::from_str::<RunDocument>(&killed).unwrap(), sample::killed());
}
