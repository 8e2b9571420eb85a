//! A consumer that is a program: it tells of each record when and from where it came, with the bytes that carry the stamp.

use super::frame::{Got, Report};
use super::link::Link;
use crate::client_outcome::ClientOutcome;
use crate::clock::now_ns;
use crate::consume::{Received, Record};
use crate::error::LoadError;
use crate::seconds::Seconds;
use crate::shared::Shared;
use std::time::Duration;

const TICK: Duration = Duration::from_millis(20);

/// Consumes until the block ends.
pub(super) fn receive(
    index: usize,
    shared: &Shared<'_>,
    link: &mut Link,
    mut seconds: Seconds<'_>,
) -> ClientOutcome {
    let mut received = Received::new(shared.partitions());
    match receive_until_end(index, shared, link, &mut received, &mut seconds) {
        Ok(()) => link.tell_end(),
        Err(error) => shared.end_by(error),
    }
    received.arrivals.end_run();
    received.warm_up_arrivals.end_run();
    seconds.finish();
    ClientOutcome::of_consumer(shared, received)
}

fn receive_until_end(
    index: usize,
    shared: &Shared<'_>,
    link: &mut Link,
    received: &mut Received,
    seconds: &mut Seconds<'_>,
) -> Result<(), LoadError> {
    while !shared.finished() {
        link.exchange(TICK, |report, now| match report {
            Report::Joined(partitions) => {
                shared.set_assigned(index, partitions > 0);
                received.rebalances += u64::from(partitions > 0 && shared.measured_part_has_begun(now));
                Ok(())
            }
            Report::Got(got) => note(shared, &got, now, received, seconds),
            _ => Err("a consumer sent a report of a producer".to_owned()),
        })?;
        let now = now_ns();
        seconds.pass(now);
        if shared.measured_part_has_begun(now) {
            link.note_measured_part();
        }
    }
    Ok(())
}

fn note(
    shared: &Shared<'_>,
    got: &Got,
    now: u64,
    received: &mut Received,
    seconds: &mut Seconds<'_>,
) -> Result<(), String> {
    let known = usize::try_from(got.partition).is_ok_and(|at| at < shared.partitions());
    if got.received_ns > now || !known || got.offset < 0 {
        return Err(format!(
            "it reports a record of partition {} at offset {} with a place that is not there or a time that has not come",
            got.partition, got.offset
        ));
    }
    shared.reached(got.partition, got.offset + 1);
    shared.count_received(1);
    let record = Record {
        partition: got.partition,
        offset: got.offset,
        stamp_bytes: &got.head,
        value_bytes: got.value_bytes as usize,
        append_time_ms: (got.append_ms >= 0).then_some(got.append_ms),
    };
    received.note(shared, &record, got.received_ns, seconds);
    Ok(())
}
