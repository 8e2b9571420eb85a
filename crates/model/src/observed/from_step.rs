//! A load of Plumb's own as a client that was observed.

use super::{ClientKind, ClientWindow};
use crate::document::StepResult;

impl ClientWindow {
    /// The producer and the consumer of a step; of each only what was measured.
    pub fn from_step(step: &StepResult) -> Vec<ClientWindow> {
        let statistics = &step.producer_statistics;
        let latency = &step.latency;
        let producer = ClientWindow {
            source: "probe load".to_owned(),
            name: step.name.clone(),
            kind: ClientKind::Probe,
            is_producer: true,
            messages_per_s: step.achieved_per_s,
            bytes_per_s: step.achieved_per_s.map(|per_s| per_s * step.value_bytes_mean),
            queue_mean_ns: statistics.queue_mean_ns,
            outbuf_mean_ns: statistics.outbuf_mean_ns,
            rtt_mean_ns: statistics.rtt_mean_ns,
            rtt_min_ns: statistics.rtt_min_ns.map(|ns| ns as f64),
            acknowledge_mean_ns: latency.acknowledge_service.mean_ns,
            end_to_end_mean_ns: latency.end_to_end_service.mean_ns,
            batch_messages_mean: statistics.batch_messages_mean,
            batch_bytes_mean: statistics.batch_bytes_mean,
            record_bytes_mean: Some(step.value_bytes_mean),
            throttled: Some(statistics.throttled_responses),
            out_of_range: Some(statistics.out_of_range),
            settings: step.effective.producer.clone(),
            ..ClientWindow::default()
        };
        vec![producer]
    }
}
