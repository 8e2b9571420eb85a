//! The floor: as little as can be put around librdkafka to send on a schedule and to know when each message came.
//!
//! One thread sends, one receives; the time is in the value's first bytes. No statistics, no delivery reports, no group, no
//! checks, no histograms: every sample is kept. Pacing is that of Plumb (sleep, then spin as long as its calibration says),
//! because the two shall differ in nothing else. It runs as a process of its own, so that its CPU time can be told.

#![expect(unsafe_code, reason = "librdkafka is a C library, and a layer of ours around it would not be bare")]

mod acknowledged;

use crate::arguments::{CONSUMER, Load, Measured, PRODUCER, VALUE_BYTES};
use crate::error::BenchError;
use crate::figures::{Figures, Run};
use crate::machine::{Meter, Spent};
pub(crate) use acknowledged::acknowledged_in_this_process;
use rdkafka_sys as sys;
use rustix::time::{ClockId, clock_gettime};
use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt::Write as _;
use std::ptr;
use std::time::Duration;

/// Longest wait for messages after the last send.
const DRAIN_S: u64 = 10;

/// As Plumb: never spin longer before a send, nor longer than a fifth of the gap between sends.
const SPIN_NS_MAX: u64 = 100_000;

/// The path that the loop measures.
pub(crate) struct BarePath<'a> {
    pub(crate) measured: Measured,
    pub(crate) bootstrap: &'a str,
    pub(crate) topic: &'a str,
}

/// Runs the loop in a process of its own and works out the figures. `keep` takes the samples.
pub(crate) fn run(
    path: &BarePath<'_>,
    load: &Load,
    meter: &Meter,
    keep: &std::path::Path,
) -> Result<Run, BenchError> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    let numbers = [load.rate_per_s, load.warm_up_count, load.count].map(|number| number.to_string());
    command.args(["bare", path.measured.word(), path.bootstrap, path.topic]).args(numbers);
    let (text, spent) = meter.run(command)?;
    fs_err::write(keep, &text)?;
    samples_of("bare", &text, load, spent)
}

/// The figures of a program that prints the CPU time of the measured part, then a line with intended, actual and last time
/// of each measured message.
pub(crate) fn samples_of(program: &str, text: &str, load: &Load, spent: Spent) -> Result<Run, BenchError> {
    let lines =
        text.lines().map(|line| line.split(' ').filter_map(|word| word.parse::<u64>().ok()).collect());
    let lines: Vec<Vec<u64>> = lines.collect();
    let samples = |from: usize| {
        let taken =
            lines.iter().filter(|line| line.len() == 3).map(|line| line[2].saturating_sub(line[from]));
        Figures::exact(taken.collect())
    };
    let cpu_ns = lines.iter().find(|line| line.len() == 1).map(|line| line[0]);
    let no_cpu =
        || BenchError::Output { program: program.into(), expected: "CPU time", got: text.to_owned() };
    Ok(Run {
        service: samples(1),
        response: samples(0),
        measured_cpu_us: cpu_ns.ok_or_else(no_cpu)? as f64 / 1e3 / load.count as f64,
        whole_cpu_s: spent.child_cpu_s,
        foreign_share: spent.foreign_share,
    })
}

/// The loop. Returns a line with the CPU time of the measured part and one with intended, actual and receive time for each
/// measured message, all in nanoseconds.
pub(crate) fn in_this_process(bootstrap: &str, topic: &str, load: &Load) -> Result<String, BenchError> {
    let spin_ns = plumb_load::calibrate::calibrate().spin_ns;
    let producer = Client::new(sys::rd_kafka_type_t::RD_KAFKA_PRODUCER, bootstrap, PRODUCER)?;
    let grouped: Vec<_> = CONSUMER.iter().copied().chain([("group.id", topic)]).collect();
    let consumer = Client::new(sys::rd_kafka_type_t::RD_KAFKA_CONSUMER, bootstrap, &grouped)?;
    let name = c_string(topic);
    // SAFETY: both handles are alive until the end of this function. The list is made, used and destroyed here; the last
    // call returns null or a topic that is destroyed below, before its client.
    let topic = unsafe {
        sys::rd_kafka_poll_set_consumer(consumer.0);
        let list = sys::rd_kafka_topic_partition_list_new(1);
        (*sys::rd_kafka_topic_partition_list_add(list, name.as_ptr(), 0)).offset = 0;
        sys::rd_kafka_assign(consumer.0, list);
        sys::rd_kafka_topic_partition_list_destroy(list);
        Topic(sys::rd_kafka_topic_new(producer.0, name.as_ptr(), ptr::null_mut()))
    };
    // One message round, so that everything is connected before the schedule starts.
    produce(&topic, &mut [0; VALUE_BYTES]);
    receive(&consumer, 1, now_ns() + DRAIN_S * 1_000_000_000, |_| ())?;

    let total = load.warm_up_count + load.count;
    let gap_ns = 1e9 / load.rate_per_s as f64;
    let start_ns = now_ns() + 5_000_000;
    let due_ns = |index: u64| start_ns + (index as f64 * gap_ns) as u64;
    let spin_ns = spin_ns.min(SPIN_NS_MAX).min((gap_ns / 5.0) as u64);
    let mut samples: Vec<[u64; 3]> = Vec::with_capacity(total as usize);
    let mut warm_cpu_ns = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Without the permission the slack stays as it is.
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
            let mut value = [0; VALUE_BYTES];
            for index in 0..total {
                wait_until(due_ns(index), spin_ns);
                value[..8].copy_from_slice(&due_ns(index).to_le_bytes());
                value[8..16].copy_from_slice(&now_ns().to_le_bytes());
                produce(&topic, &mut value);
            }
        });
        receive(&consumer, total as usize, due_ns(total) + DRAIN_S * 1_000_000_000, |[due, sent]| {
            samples.push([due, sent, now_ns()]);
            if samples.len() as u64 == load.warm_up_count {
                warm_cpu_ns = cpu_ns();
            }
        })
    })?;
    let mut text = (cpu_ns() - warm_cpu_ns).to_string();
    for [due, sent, received] in &samples[load.warm_up_count as usize..] {
        let _ = write!(text, "\n{due} {sent} {received}");
    }
    Ok(text)
}

/// Sleeps until shortly before, then spins.
fn wait_until(due_ns: u64, spin_ns: u64) {
    while let Some(left_ns) = due_ns.checked_sub(now_ns()).filter(|left| *left > 0) {
        if left_ns <= spin_ns {
            std::hint::spin_loop();
        } else {
            std::thread::sleep(Duration::from_nanos(left_ns - spin_ns));
        }
    }
}

fn produce(topic: &Topic, value: &mut [u8; VALUE_BYTES]) {
    let bytes = value.as_mut_ptr().cast::<c_void>();
    // SAFETY: the topic is alive; with F_COPY the value is copied before the call returns. A message that is not taken is
    // missed at the other end.
    unsafe {
        let copy = sys::RD_KAFKA_MSG_F_COPY;
        sys::rd_kafka_produce(topic.0, -1, copy, bytes, VALUE_BYTES, ptr::null(), 0, ptr::null_mut());
    }
}

/// Receives `expected` messages and hands on the two times in each.
fn receive(
    consumer: &Client,
    expected: usize,
    deadline_ns: u64,
    mut take: impl FnMut([u64; 2]),
) -> Result<(), BenchError> {
    let mut received = 0;
    while received < expected {
        // SAFETY: the handle is alive; the message is null or ours until it is destroyed, and has `len` bytes.
        unsafe {
            let message = sys::rd_kafka_consumer_poll(consumer.0, 50);
            if !message.is_null() {
                let is_whole = (*message).err == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR
                    && (*message).len == VALUE_BYTES;
                if is_whole {
                    take((*message).payload.cast::<[u64; 2]>().read_unaligned().map(u64::from_le));
                    received += 1;
                }
                sys::rd_kafka_message_destroy(message);
            }
        }
        if now_ns() > deadline_ns {
            return Err(BenchError::Missing { expected, received, waited_s: DRAIN_S });
        }
    }
    Ok(())
}

/// CLOCK_MONOTONIC.
fn now_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// CPU time of this process.
fn cpu_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

struct Client(*mut sys::rd_kafka_t);

struct Topic(*mut sys::rd_kafka_topic_t);

// SAFETY: librdkafka documents its topic handles as thread-safe.
unsafe impl Sync for Topic {}

impl Client {
    fn new(
        kind: sys::rd_kafka_type_t,
        bootstrap: &str,
        properties: &[(&str, &str)],
    ) -> Result<Client, BenchError> {
        Client::of(kind, configuration(bootstrap, properties)?)
    }

    /// A producer that hands each delivery report to `on_delivery`, with `opaque`, which outlives it.
    fn reporting<T>(
        bootstrap: &str,
        properties: &[(&str, &str)],
        on_delivery: OnDelivery,
        opaque: &T,
    ) -> Result<Client, BenchError> {
        let conf = configuration(bootstrap, properties)?;
        // SAFETY: the configuration is ours until rd_kafka_new takes it.
        unsafe {
            sys::rd_kafka_conf_set_opaque(conf, ptr::from_ref(opaque).cast_mut().cast());
            sys::rd_kafka_conf_set_dr_msg_cb(conf, Some(on_delivery));
        }
        Client::of(sys::rd_kafka_type_t::RD_KAFKA_PRODUCER, conf)
    }

    fn of(kind: sys::rd_kafka_type_t, conf: *mut sys::rd_kafka_conf_t) -> Result<Client, BenchError> {
        let mut words: [c_char; 512] = [0; 512];
        // SAFETY: the library takes the configuration and ends what it writes into the buffer with a zero byte.
        let handle = unsafe { sys::rd_kafka_new(kind, conf, words.as_mut_ptr(), words.len()) };
        if handle.is_null() { Err(refused("new client", &words)) } else { Ok(Client(handle)) }
    }
}

/// The function that the library calls for each delivery report.
type OnDelivery = unsafe extern "C" fn(*mut sys::rd_kafka_t, *const sys::rd_kafka_message_t, *mut c_void);

fn configuration(
    bootstrap: &str,
    properties: &[(&str, &str)],
) -> Result<*mut sys::rd_kafka_conf_t, BenchError> {
    let mut words: [c_char; 512] = [0; 512];
    let own = [("bootstrap.servers", bootstrap), ("log_level", "3")];
    // SAFETY: the configuration is ours until rd_kafka_new takes it; all pointers are valid for their calls, and the
    // library ends what it writes into the buffer with a zero byte.
    unsafe {
        let conf = sys::rd_kafka_conf_new();
        for (key, value) in own.iter().chain(properties) {
            let (c_key, c_value) = (c_string(key), c_string(value));
            let set = sys::rd_kafka_conf_set(
                conf,
                c_key.as_ptr(),
                c_value.as_ptr(),
                words.as_mut_ptr(),
                words.len(),
            );
            if set != sys::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK {
                return Err(refused(&format!("{key}={value}"), &words));
            }
        }
        Ok(conf)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: last use; the consumer is in no group that it would have to leave.
        unsafe { sys::rd_kafka_destroy_flags(self.0, sys::RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE) }
    }
}

impl Drop for Topic {
    fn drop(&mut self) {
        // SAFETY: last use, and its client is still alive: it was made before.
        unsafe { sys::rd_kafka_topic_destroy(self.0) }
    }
}

fn refused(operation: &str, words: &[c_char; 512]) -> BenchError {
    // SAFETY: the buffer began as zeroes and the library ends what it writes with one.
    let reason = unsafe { CStr::from_ptr(words.as_ptr()) }.to_string_lossy().into_owned();
    BenchError::Librdkafka { operation: operation.to_owned(), reason }
}

/// None of the texts here has a zero byte; one that had would come out empty and be refused.
fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}
