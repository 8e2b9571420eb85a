//! One consumer: a thread that receives, knows every record again and notes what is missing.

use crate::block::{Errors, Shared};
use crate::clock::now_ns;
use crate::librdkafka::statistics::StatisticsSum;
use crate::librdkafka::{Client, EventView, Message};
use crate::seconds::Seconds;
use crate::stamp::{Part, Reading, Stamp};
use crate::verify::Arrivals;
use std::collections::HashMap;
use std::time::Duration;

/// Longest wait for the group to let a consumer go.
const CLOSE_NS: u64 = 5_000_000_000;

/// What a consumer received.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) arrivals: Arrivals,
    pub(crate) foreign: u64,
    pub(crate) corrupt: u64,
    /// Times that partitions were given to this consumer after the measured part had begun.
    pub(crate) rebalances: u64,
    pub(crate) appends: Appends,
    /// Sum over measured messages of the time from their send to the reception of the one before them in the partition.
    pub(crate) catch_up_at_most_sum_ns: f64,
    /// When the last record of each partition came.
    last_received_ns: HashMap<i32, u64>,
    pub(crate) statistics: StatisticsSum,
    pub(crate) errors: Errors,
}

/// What the broker's append times say, where the topic keeps them (LogAppendTime).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Appends {
    pub(crate) samples: u64,
    /// Sum of append time (floor of a millisecond) minus actual send time, both of the epoch.
    pub(crate) sum_ns: f64,
    /// Largest lower and smallest upper bound of broker clock minus ours, over all messages.
    pub(crate) offset_low_ns: Option<i64>,
    pub(crate) offset_high_ns: Option<i64>,
}

const MILLISECOND_NS: i64 = 1_000_000;

impl Appends {
    /// Notes a message sent at `sent_ns` and received at `received_ns` (epoch), appended in the millisecond `append_ms`.
    fn note(&mut self, sent_ns: i64, received_ns: i64, append_ms: i64) {
        let append_ns = append_ms * MILLISECOND_NS;
        self.samples += 1;
        self.sum_ns += (append_ns - sent_ns) as f64;
        // Appended after it was sent and before it was received.
        let low = append_ns - received_ns;
        let high = append_ns + MILLISECOND_NS - sent_ns;
        self.offset_low_ns = Some(self.offset_low_ns.map_or(low, |so_far| so_far.max(low)));
        self.offset_high_ns = Some(self.offset_high_ns.map_or(high, |so_far| so_far.min(high)));
    }

    pub(crate) fn absorb(&mut self, other: &Appends) {
        self.samples += other.samples;
        self.sum_ns += other.sum_ns;
        self.offset_low_ns = [self.offset_low_ns, other.offset_low_ns].into_iter().flatten().max();
        self.offset_high_ns = [self.offset_high_ns, other.offset_high_ns].into_iter().flatten().min();
    }
}

/// Receives until the block ends, then leaves the group.
pub(crate) fn receive(
    shared: &Shared<'_>,
    client: &Client,
    index: usize,
    mut seconds: Seconds<'_>,
) -> Received {
    let mut received = Received::default();
    let mut window = shared.window();
    while !shared.finished() {
        let Some(event) = client.poll(Duration::from_millis(50)) else {
            seconds.pass(now_ns());
            continue;
        };
        let now = now_ns();
        match event.view() {
            EventView::Messages(messages) => {
                for message in messages {
                    note_message(shared, message, now, &mut received, &mut seconds);
                }
            }
            EventView::Rebalance(rebalance) => {
                let given = rebalance.answer(client, |partition| shared.position(partition));
                shared.set_assigned(index, given > 0);
                // One change of the group takes partitions and gives them again: it is counted when it gives.
                received.rebalances += u64::from(given > 0 && shared.measured_part_has_begun(now));
            }
            EventView::Statistics(json) => received.statistics.take(json, window.next(now)),
            EventView::Error { code, text, fatal } => received.errors.note_client(&code, &text, fatal),
            _ => {}
        }
        seconds.pass(now);
    }
    seconds.finish();
    leave(client);
    received
}

fn note_message(
    shared: &Shared<'_>,
    message: Message<'_>,
    now: u64,
    received: &mut Received,
    seconds: &mut Seconds<'_>,
) {
    if let Some((code, text)) = message.error() {
        received.errors.note("consume", &code, &text);
        return;
    }
    shared.reached(message.partition(), message.offset() + 1);
    let before_ns = received.last_received_ns.insert(message.partition(), now);
    let bytes = message.stamp_header().unwrap_or_else(|| message.value());
    let stamp = match Stamp::read(bytes) {
        Reading::Stamped(stamp) if stamp.run == shared.run => stamp,
        Reading::Stamped(_) | Reading::Foreign => {
            received.foreign += 1;
            return;
        }
        Reading::Damaged => {
            received.corrupt += 1;
            return;
        }
    };
    if stamp.part == Part::Probe {
        shared.probe_received(message.partition());
        return;
    }
    let measured = stamp.part == Part::Measured;
    if measured {
        if !received.arrivals.note(stamp.producer, message.partition(), stamp.sequence) {
            return;
        }
        let busy_ns = before_ns.map_or(0, |before| before.saturating_sub(stamp.sent_ns));
        received.catch_up_at_most_sum_ns += busy_ns as f64;
        if let Some(append_ms) = message.append_time_ms() {
            received.appends.note(shared.epoch_ns(stamp.sent_ns), shared.epoch_ns(now), append_ms);
        }
    }
    let second = seconds.at(now, !measured);
    second.received += 1;
    second.response.record(stamp.intended_ns, now);
    second.service.record(stamp.sent_ns, now);
}

/// Leaves the group, so that the cluster need not wait for the member's session to end.
fn leave(client: &Client) {
    let deadline = now_ns() + CLOSE_NS;
    client.begin_close();
    while !client.is_closed() && now_ns() < deadline {
        if let Some(event) = client.poll(Duration::from_millis(10))
            && let EventView::Rebalance(rebalance) = event.view()
        {
            rebalance.answer(client, |_| None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_of_the_clock_offset_enclose_the_truth() {
        // Broker clock ahead by 7 ms; sent at t, appended 0.4 ms later, received 0.9 ms after sending.
        let offset = 7_000_000;
        let mut appends = Appends::default();
        for sent in (0..50_000_000i64).step_by(770_000) {
            let append_broker_ms = (sent + 400_000 + offset) / MILLISECOND_NS;
            appends.note(sent, sent + 900_000, append_broker_ms);
        }
        let (low, high) = (appends.offset_low_ns.unwrap(), appends.offset_high_ns.unwrap());
        assert!(low <= offset && offset <= high, "{low} {high}");
        assert!(high - low <= 1_000_000, "{low} {high}");
    }
}
