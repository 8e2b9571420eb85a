//! librdkafka as a program of its own: what the protocol costs is the difference between it and the library in Plumb's process.
//!
//! Also the plainest complete example of a driver, in the language of the house.

use super::frame::{Acknowledged, Failed, Got, HEAD_BYTES, Order, Report, SendOrder};
use crate::clock::now_ns;
use crate::librdkafka;
use crate::librdkafka::ffi::{Client, Delivery, EventView, Message, ProduceError, Role, Topic};
use crate::pace::{Pace, sharpen_timers};
use plumb_model::plan::Properties;
use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::fs::File;
use std::io::{BufReader, Error, Result, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const BEAT: Duration = Duration::from_millis(10);
/// Sleeping ends so long before a send.
const SPIN_NS: u64 = 60_000;
/// Longest wait for the group to let the consumer go.
const LEAVE: Duration = Duration::from_secs(2);

/// Where reports go.
struct Reports {
    socket: Mutex<File>,
}

impl Reports {
    fn say(&self, reports: &[Report]) -> Result<()> {
        let mut bytes = Vec::new();
        reports.iter().for_each(|report| report.write(&mut bytes));
        self.socket.lock().unwrap_or_else(PoisonError::into_inner).write_all(&bytes)
    }
}

/// What the program was told before it was to begin.
#[derive(Default)]
struct Told {
    settings: BTreeMap<String, String>,
    properties: Properties,
}

/// Serves the protocol on standard input until it ends.
///
/// # Errors
/// When standard input is no socket of Plumb's, or ends.
pub fn serve() -> Result<()> {
    let socket = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let reports = Reports { socket: Mutex::new(socket.try_clone()?) };
    let mut orders = BufReader::new(socket);
    let mut told = Told::default();
    loop {
        match Order::read(&mut orders)? {
            Order::Setting(name, value) => _ = told.settings.insert(name, value),
            Order::Property(name, value) => _ = told.properties.insert(name, value),
            Order::Begin => break,
            Order::Send(_) | Order::End => return Ok(()),
        }
    }
    let is_producer = told.settings.get("role").is_some_and(|role| role == "producer");
    let role = if is_producer { Role::Producer } else { Role::Consumer };
    let client = match Client::new(role, &told.properties) {
        Ok(client) => client,
        Err(error) => return reports.say(&[Report::Fatal(error.to_string())]),
    };
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| beat(&reports, &over));
        let (sender, inbox) = channel();
        scope.spawn(move || {
            while let Ok(order @ Order::Send(_)) = Order::read(&mut orders) {
                if sender.send(order).is_err() {
                    return;
                }
            }
        });
        let topic = told.settings.get("topic").map(String::as_str).unwrap_or_default();
        let served = introduce(&reports, &client).and_then(|()| match role {
            Role::Producer => produce(&reports, &client, topic, &inbox, &over),
            _ => consume(&reports, &client, topic, &inbox),
        });
        over.store(true, Ordering::Release);
        served
    })
}

fn introduce(reports: &Reports, client: &Client) -> Result<()> {
    let effective = client.effective().into_iter().map(|(name, value)| Report::Property(name, value));
    let about = format!("client=librdkafka\nversion={}\nruntime=native", librdkafka::version());
    reports.say(&effective.chain([Report::Ready(about)]).collect::<Vec<_>>())
}

fn beat(reports: &Reports, over: &AtomicBool) {
    while !over.load(Ordering::Acquire) && reports.say(&[Report::Beat(now_ns())]).is_ok() {
        std::thread::sleep(BEAT);
    }
}

/// The bytes of a record by which its order is found again: all that Plumb wrote in front of the time of the send.
type Name = [u8; 32];
/// The orders that the library has.
type Handed = Mutex<HashMap<Name, u64>>;

fn name_of(bytes: &[u8]) -> Name {
    let mut name = Name::default();
    let length = bytes.len().min(name.len());
    name[..length].copy_from_slice(&bytes[..length]);
    name
}

fn produce(
    reports: &Reports,
    client: &Client,
    topic: &str,
    inbox: &Receiver<Order>,
    over: &AtomicBool,
) -> Result<()> {
    let topic = client.topic(topic).map_err(|error| Error::other(error.to_string()))?;
    let handed = Handed::default();
    std::thread::scope(|scope| {
        let hearing = scope.spawn(|| hear(reports, client, &handed, over));
        sharpen_timers();
        let pace = Pace::new(SPIN_NS, 1.0);
        while let Ok(Order::Send(order)) = inbox.recv() {
            pace.wait(order.due_ns, |_| false);
            send(reports, &topic, &handed, order)?;
        }
        over.store(true, Ordering::Release);
        hearing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Hands one record over; waits while the library has no room.
fn send(reports: &Reports, topic: &Topic<'_>, handed: &Handed, mut order: SendOrder) -> Result<()> {
    let called_ns = now_ns();
    order.set_time(called_ns);
    let SendOrder { number, partition, key, headers, value, time_in_header, .. } = order;
    let headers: Vec<(CString, Vec<u8>)> = headers
        .into_iter()
        .map(|header| (CString::new(header.name).unwrap_or_default(), header.value))
        .collect();
    let named = headers.last().filter(|_| time_in_header).map_or(&value, |(_, bytes)| bytes);
    let name = name_of(named);
    lock(handed).insert(name, number);
    loop {
        let result = match headers.is_empty() {
            true => topic.produce(partition, key.as_deref(), &value),
            false => topic.produce_with_headers(partition, key.as_deref(), &value, &headers),
        };
        let reason = match result {
            Ok(()) => return Ok(()),
            Err(ProduceError::QueueFull) => {
                std::thread::sleep(Duration::from_micros(200));
                continue;
            }
            Err(ProduceError::TooLarge(text)) => format!("MSG_SIZE_TOO_LARGE: {text}"),
            Err(ProduceError::Other { code, text }) => format!("{code}: {text}"),
        };
        lock(handed).remove(&name);
        return reports.say(&[Report::Failed(Failed { number, called_ns, failed_ns: now_ns(), reason })]);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hears what became of each record.
fn hear(reports: &Reports, client: &Client, handed: &Handed, over: &AtomicBool) -> Result<()> {
    while !over.load(Ordering::Acquire) {
        let Some(event) = client.poll(Duration::from_millis(50)) else { continue };
        let now = now_ns();
        match event.view() {
            EventView::Messages(messages) => {
                let told: Vec<Report> = messages.filter_map(|message| report(message, handed, now)).collect();
                reports.say(&told)?;
            }
            EventView::Error { code, text, .. } => reports.say(&[Report::Note(format!("{code}: {text}"))])?,
            _ => {}
        }
    }
    Ok(())
}

fn report(message: Message<'_>, handed: &Handed, acked_ns: u64) -> Option<Report> {
    let named = message.stamp_header().unwrap_or_else(|| message.value());
    let number = lock(handed).remove(&name_of(named))?;
    let called_ns = u64::from_le_bytes(named.get(32..40)?.try_into().ok()?);
    Some(match message.delivery() {
        Delivery::Acknowledged => {
            let (partition, offset) = (message.partition(), message.offset());
            Report::Acknowledged(Acknowledged { number, called_ns, acked_ns, partition, offset })
        }
        Delivery::Failed { code, text } | Delivery::Unknown { code, text } => Report::Failed(Failed {
            number,
            called_ns,
            failed_ns: acked_ns,
            reason: format!("{code}: {text}"),
        }),
    })
}

/// Receives until the orders end, then leaves the group.
fn consume(reports: &Reports, client: &Client, topic: &str, inbox: &Receiver<Order>) -> Result<()> {
    client.subscribe(topic).map_err(|error| Error::other(error.to_string()))?;
    while !matches!(inbox.try_recv(), Err(TryRecvError::Disconnected)) {
        let Some(event) = client.poll(Duration::from_millis(20)) else { continue };
        let now = now_ns();
        match event.view() {
            EventView::Messages(messages) => {
                let told: Vec<Report> = messages.map(|message| got(message, now)).collect();
                reports.say(&told)?;
            }
            EventView::Rebalance(rebalance) => {
                let given = rebalance.answer(client, |_| None);
                reports.say(&[Report::Joined(u32::try_from(given).unwrap_or(0))])?;
            }
            EventView::Error { code, text, .. } => reports.say(&[Report::Note(format!("{code}: {text}"))])?,
            _ => {}
        }
    }
    leave(client);
    Ok(())
}

fn got(message: Message<'_>, received_ns: u64) -> Report {
    if let Some((code, text)) = message.error() {
        return Report::Note(format!("{code}: {text}"));
    }
    let value = message.value();
    let head = message.stamp_header().unwrap_or(value);
    Report::Got(Got {
        received_ns,
        partition: message.partition(),
        offset: message.offset(),
        append_ms: message.append_time_ms().unwrap_or(-1),
        value_bytes: u32::try_from(value.len()).unwrap_or(u32::MAX),
        head: head[..head.len().min(HEAD_BYTES)].to_vec(),
    })
}

/// Leaves the group, so that the cluster need not wait for the member's session to end.
fn leave(client: &Client) {
    let until = now_ns() + LEAVE.as_nanos() as u64;
    client.begin_close();
    while !client.is_closed() && now_ns() < until {
        if let Some(event) = client.poll(Duration::from_millis(10))
            && let EventView::Rebalance(rebalance) = event.view()
        {
            rebalance.answer(client, |_| None);
        }
    }
}
