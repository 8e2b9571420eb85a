//! A consumer of the client library: a thread that receives records and notes them.

use super::ffi::{Client, EventView, Message};
use super::statistics::Emissions;
use crate::clock::now_ns;
use crate::consume::{Received, Record};
use crate::error::LoadError;
use crate::patience::Patience;
use crate::seconds::Seconds;
use crate::shared::Shared;
use std::time::Duration;

/// Longest wait for the group to let a consumer go.
const CLOSE: Duration = Duration::from_secs(5);

/// The errors by which a broker refuses a member, however often it is asked.
const JOIN_REFUSALS: [&str; 3] =
    ["INVALID_SESSION_TIMEOUT", "INCONSISTENT_GROUP_PROTOCOL", "GROUP_AUTHORIZATION_FAILED"];

/// Receives until the block ends, then leaves the group.
pub(crate) fn receive(
    shared: &Shared<'_>,
    client: &Client,
    index: usize,
    patience: &Patience,
    mut seconds: Seconds<'_>,
) -> Received {
    let mut received = Received::new(shared.partitions());
    let mut windows = shared.windows_of_consumer();
    let mut emissions = Emissions::default();
    let mut holds = false;
    while !shared.finished() {
        if shared.consumers_must_wait() != holds {
            holds = !holds;
            match holds {
                true => {
                    client.pause();
                    shared.consumer_holds();
                }
                false => client.resume(),
            }
        }
        // The release must be noticed at once.
        let patience = Duration::from_millis(if holds { 1 } else { 50 });
        let Some(event) = client.poll(patience) else {
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
                if holds {
                    client.pause();
                }
                // One change of the group takes partitions and gives them again: it is counted when it gives.
                received.rebalances += u64::from(given > 0 && shared.measured_part_has_begun(now));
            }
            EventView::PartitionEnd { partition, offset } => shared.reached(partition, offset),
            EventView::Statistics(json) => emissions.take(json, windows.next(now)),
            EventView::Error { code, text, fatal } => {
                refused_to_join(shared, &code, &text);
                received.errors.note_client(&code, &text, fatal);
            }
            _ => {}
        }
        seconds.pass(now);
    }
    received.arrivals.end_run();
    received.warm_up_arrivals.end_run();
    seconds.finish();
    leave(client, patience);
    received.statistics = emissions.sum;
    received
}

/// Ends a block whose consumers the broker does not let into their group: no wait changes that.
fn refused_to_join(shared: &Shared<'_>, code: &str, text: &str) {
    if JOIN_REFUSALS.contains(&code) {
        let reason = format!("{text} ({code})");
        shared.fail(LoadError::Refused { operation: "join the consumers' group".to_owned(), reason });
    } else {
        shared.note_trouble(text.to_owned());
    }
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
    let partition = message.partition();
    shared.reached(partition, message.offset() + 1);
    shared.count_received(1);
    let value = message.value();
    let record = Record {
        partition,
        offset: message.offset(),
        stamp_bytes: message.stamp_header().unwrap_or(value),
        value_bytes: value.len(),
        append_time_ms: message.append_time_ms(),
    };
    received.note(shared, &record, now, seconds);
}

/// Leaves the group, so that the cluster need not wait for the member's session to end.
fn leave(client: &Client, patience: &Patience) {
    // A member that could not leave ends with its session.
    let _ = patience.wait(CLOSE, |timeout| {
        let begun = now_ns();
        client.begin_close();
        while !client.is_closed() {
            if now_ns() - begun > timeout.as_nanos() as u64 {
                return Err(());
            }
            if let Some(event) = client.poll(Duration::from_millis(10))
                && let EventView::Rebalance(rebalance) = event.view()
            {
                rebalance.answer(client, |_| None);
            }
        }
        Ok(())
    });
}
