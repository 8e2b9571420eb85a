//! The bare loop that waits for acknowledgements: one thread sends, one serves delivery reports. Nothing is consumed.

#![expect(unsafe_code, reason = "librdkafka is a C library, and a layer of ours around it would not be bare")]

use super::{Client, DRAIN_S, SPIN_NS_MAX, Topic, c_string, cpu_ns, now_ns, wait_until};
use crate::arguments::{IDEMPOTENT, Load, VALUE_BYTES};
use crate::error::BenchError;
use rdkafka_sys as sys;
use std::ffi::c_void;
use std::fmt::Write as _;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// The time at which each message was acknowledged, 0 before; one that failed stays at 0.
type Acknowledged = Vec<AtomicU64>;

/// The loop. Returns the same lines as the other one, with the time of the acknowledgement in place of the reception.
pub(crate) fn acknowledged_in_this_process(
    bootstrap: &str,
    topic: &str,
    load: &Load,
) -> Result<String, BenchError> {
    let spin_ns = plumb_load::calibrate::calibrate().spin_ns;
    let total = load.warm_up_count + load.count;
    // The last one is for the message that connects everything before the schedule starts.
    let acknowledged: Acknowledged = (0..=total).map(|_| AtomicU64::new(0)).collect();
    let producer = Client::reporting(bootstrap, IDEMPOTENT, on_delivery, &acknowledged)?;
    let name = c_string(topic);
    // SAFETY: the client is alive; the topic is destroyed before it.
    let topic = Topic(unsafe { sys::rd_kafka_topic_new(producer.0, name.as_ptr(), ptr::null_mut()) });
    produce(&topic, &mut [0; VALUE_BYTES], total);
    serve_until(&producer, &acknowledged[total as usize..], now_ns() + DRAIN_S * 1_000_000_000)?;

    let gap_ns = 1e9 / load.rate_per_s as f64;
    let start_ns = now_ns() + 5_000_000;
    let due_ns = |index: u64| start_ns + (index as f64 * gap_ns) as u64;
    let spin_ns = spin_ns.min(SPIN_NS_MAX).min((gap_ns / 5.0) as u64);
    let mut sent = Vec::with_capacity(total as usize);
    let mut warm_cpu_ns = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Without the permission the slack stays as it is.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
            let mut value = [0; VALUE_BYTES];
            for index in 0..total {
                wait_until(due_ns(index), spin_ns);
                if index == load.warm_up_count {
                    warm_cpu_ns = cpu_ns();
                }
                sent.push(now_ns());
                produce(&topic, &mut value, index);
            }
        });
        let deadline_ns = due_ns(total) + DRAIN_S * 1_000_000_000;
        serve_until(&producer, &acknowledged[..total as usize], deadline_ns)
    })?;
    let mut text = (cpu_ns() - warm_cpu_ns).to_string();
    for index in load.warm_up_count..total {
        let at = acknowledged[index as usize].load(Ordering::Relaxed);
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{} {} {at}", due_ns(index), sent[index as usize]);
    }
    Ok(text)
}

/// Serves delivery reports until all of these are acknowledged.
fn serve_until(producer: &Client, of: &[AtomicU64], deadline_ns: u64) -> Result<(), BenchError> {
    let mut received = 0;
    while received < of.len() {
        // SAFETY: the handle is alive.
        unsafe { sys::rd_kafka_poll(producer.0, 50) };
        // Mostly in the order of sending, so the first that lacks is soon found.
        received += of[received..].iter().take_while(|at| at.load(Ordering::Relaxed) != 0).count();
        if now_ns() > deadline_ns {
            return Err(BenchError::Missing { expected: of.len(), received, waited_s: DRAIN_S });
        }
    }
    Ok(())
}

/// Called by `rd_kafka_poll`, on the thread that calls it.
unsafe extern "C" fn on_delivery(
    _client: *mut sys::rd_kafka_t,
    message: *const sys::rd_kafka_message_t,
    opaque: *mut c_void,
) {
    let at = now_ns();
    // SAFETY: the library hands on a whole message, whose opaque is the index that `produce` gave, and the opaque of the
    // configuration, which lives until the client is destroyed.
    let (failed, index, all) =
        unsafe { ((*message).err, (*message)._private as usize, &*opaque.cast::<Acknowledged>()) };
    if failed == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR
        && let Some(acknowledged) = all.get(index)
    {
        acknowledged.store(at, Ordering::Relaxed);
    }
}

fn produce(topic: &Topic, value: &mut [u8; VALUE_BYTES], index: u64) {
    let bytes = value.as_mut_ptr().cast::<c_void>();
    let opaque = ptr::without_provenance_mut(index as usize);
    // SAFETY: the topic is alive; with F_COPY the value is copied before the call returns. A message that is not taken is
    // missed in the end.
    unsafe {
        let copy = sys::RD_KAFKA_MSG_F_COPY;
        sys::rd_kafka_produce(topic.0, -1, copy, bytes, VALUE_BYTES, ptr::null(), 0, opaque);
    }
}
