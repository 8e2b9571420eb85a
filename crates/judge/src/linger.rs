//! The part of a step's latency in which the producer waits for a batch to fill.

use crate::setup::Setup;

/// The mean wait in the client's queue must be at least this share of `linger.ms` (ours: at a rate at which a second
/// message joins the batch, that one waits less, and the mean of the two is still above half).
const QUEUE_SHARE_MIN: f64 = 0.5;

/// Above `linger.ms` and this, messages wait in the queue for another reason (ours): a fifth, and 0.3 ms of scheduling.
const QUEUE_SHARE_MAX: f64 = 1.2;
const QUEUE_EXTRA_NS: f64 = 300_000.0;

/// A batch filled to this share would have gone for its size (ours).
const BATCH_FILL_MAX: f64 = 0.5;

/// librdkafka's defaults where the settings in force are not in the document (CONFIGURATION.md).
const BATCH_MESSAGES_DEFAULT: f64 = 10_000.0;
const BATCH_BYTES_DEFAULT: f64 = 1_000_000.0;

/// A producer that waits for its linger time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Linger {
    /// `linger.ms` in force.
    pub(crate) setting_ms: f64,
    /// Mean wait in the client's queue.
    pub(crate) queue_mean_ns: f64,
    /// The part of that which is the linger, in nanoseconds: at most the setting.
    pub(crate) wait_ns: f64,
}

impl Linger {
    /// None when the step does not linger, its batches go because they are full, its queue holds messages for another
    /// reason, or this cannot be told.
    pub(crate) fn of(setup: &Setup) -> Option<Linger> {
        let setting_ms = setup.linger_ms().filter(|ms| *ms > 0.0)?;
        let setting_ns = setting_ms * 1e6;
        let statistics = &setup.result.producer_statistics;
        let queue_mean_ns = statistics.queue_mean_ns?;
        let lingers = queue_mean_ns >= QUEUE_SHARE_MIN * setting_ns
            && queue_mean_ns <= QUEUE_SHARE_MAX * setting_ns + QUEUE_EXTRA_NS;
        let filled = |mean: Option<f64>, names: &[&str], default: f64| {
            mean.is_some_and(|mean| mean > BATCH_FILL_MAX * setup.producer_number(names).unwrap_or(default))
        };
        let full = filled(statistics.batch_messages_mean, &["batch.num.messages"], BATCH_MESSAGES_DEFAULT)
            || filled(statistics.batch_bytes_mean, &["batch.size"], BATCH_BYTES_DEFAULT);
        let wait_ns = queue_mean_ns.min(setting_ns);
        (lingers && !full).then_some(Linger { setting_ms, queue_mean_ns, wait_ns })
    }
}
