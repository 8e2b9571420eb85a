//! The answer of a consumer to its group: it takes the partitions that it is given, and gives up those that are taken.

use super::client::Client;
use super::event::Rebalance;
use super::strings::{drop_error, text};
use rdkafka_sys as sys;
use std::ptr;

impl Rebalance<'_> {
    /// Answers: takes what is given, from the offsets that `position` says, and gives up what is taken. Returns how
    /// many partitions were given (positive) or taken (negative).
    pub(crate) fn answer(&self, client: &Client, position: impl Fn(i32) -> Option<i64>) -> i64 {
        let event = self.event.as_ptr();
        // SAFETY: the list belongs to the event; assign copies it. A null list gives up everything.
        unsafe {
            let list = sys::rd_kafka_event_topic_partition_list(event);
            let assigned = sys::rd_kafka_event_error(event)
                == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
            let cooperative = text(sys::rd_kafka_rebalance_protocol(client.handle())) == "COOPERATIVE";
            let mut count = 0;
            if let Some(partitions) = list.as_mut() {
                count = i64::from(partitions.cnt);
                for index in 0..partitions.cnt as usize {
                    let element = &mut *partitions.elems.add(index);
                    if let Some(offset) = position(element.partition) {
                        element.offset = offset;
                    }
                }
            }
            match (assigned, cooperative) {
                (true, false) => {
                    sys::rd_kafka_assign(client.handle(), list);
                }
                (false, false) => {
                    sys::rd_kafka_assign(client.handle(), ptr::null());
                }
                (true, true) => drop_error(sys::rd_kafka_incremental_assign(client.handle(), list)),
                (false, true) => drop_error(sys::rd_kafka_incremental_unassign(client.handle(), list)),
            }
            if assigned { count } else { -count }
        }
    }
}
