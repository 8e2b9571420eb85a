//! The frames between Plumb and a program: everything that either may say.
//!
//! A frame is its length (4 bytes: of what follows), its kind (1 byte, a letter) and its body. All numbers are little-endian. Times are
//! nanoseconds of CLOCK_MONOTONIC. Plumb's are read and written here for both sides, because tests and Plumb's own programs are the other
//! one. Lengths are not believed: a frame is no longer than [`FRAME_MAX`].

use std::io::{Error, ErrorKind, Read, Result};

/// The version of the protocol that a program is told.
pub const VERSION: u32 = 1;
/// Bytes that a program tells of a record: those of a stamp.
pub const HEAD_BYTES: usize = 48;
/// The longest frame, in bytes: the largest value of a load and what is around it.
pub const FRAME_MAX: usize = 128 << 20;

/// A frame that Plumb sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// `S`: a fact, `name=value`: `version`, `role`, `topic`, `group`.
    Setting(String, String),
    /// `P`: a property of the client, `name=value`.
    Property(String, String),
    /// `B`: make the client; a producer answers with ready, a consumer joins its group first.
    Begin,
    /// `O`: send this record when it is due.
    Send(SendOrder),
    /// `E`: nothing more comes; close the client and exit.
    End,
}

/// A record to send.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SendOrder {
    /// Names the record in the report.
    pub number: u64,
    /// The time at which it is to be sent, not before.
    pub due_ns: u64,
    /// The partition; -1: the client's choice.
    pub partition: i32,
    /// The place at which the time of the send is to be written (8 bytes), in the value, or in the last header's value.
    pub time_at: u32,
    /// True if that place is in the last header.
    pub time_in_header: bool,
    /// The key, if it has one.
    pub key: Option<Vec<u8>>,
    /// Headers in their order.
    pub headers: Vec<Header>,
    /// The value.
    pub value: Vec<u8>,
}

/// A header of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Vec<u8>,
}

/// A frame that a program sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// `P`: a property in effect.
    Property(String, String),
    /// `R`: the client is there; `name=value` lines about it: `client`, `version`, `runtime`.
    Ready(String),
    /// `A`: a record was acknowledged.
    Acknowledged(Acknowledged),
    /// `F`: a record was not sent, or its outcome is an error.
    Failed(Failed),
    /// `G`: a record was received.
    Got(Got),
    /// `J`: the consumer holds so many partitions now.
    Joined(u32),
    /// `T`: the time now, every 10 ms, by a thread of its own.
    Beat(u64),
    /// `N`: a sentence for the user.
    Note(String),
    /// `X`: the program cannot go on.
    Fatal(String),
}

/// A record that was acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// The order's number.
    pub number: u64,
    /// The time just before it was handed to the client.
    pub called_ns: u64,
    /// The time at which the client told of the acknowledgement.
    pub acked_ns: u64,
    /// Where it is.
    pub partition: i32,
    /// Its offset; -1 where nobody told (acks=0).
    pub offset: i64,
}

/// A record that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failed {
    /// The order's number.
    pub number: u64,
    /// The time just before it was handed to the client.
    pub called_ns: u64,
    /// The time at which the client told of the failure.
    pub failed_ns: u64,
    /// Why, in the client's words.
    pub reason: String,
}

/// A record that was received.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Got {
    /// The time at which the client handed it over: the return of the poll.
    pub received_ns: u64,
    /// Where it was.
    pub partition: i32,
    /// Its offset.
    pub offset: i64,
    /// The broker's append time in milliseconds since the epoch; -1 where the topic keeps none.
    pub append_ms: i64,
    /// Bytes of its value.
    pub value_bytes: u32,
    /// The value of its header `plumb`, or the first 48 bytes of its value.
    pub head: Vec<u8>,
}

const NO_KEY: u32 = u32::MAX;

impl Order {
    /// Appends the frame to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Order::Setting(name, value) => pair(out, b'S', name, value),
            Order::Property(name, value) => pair(out, b'P', name, value),
            Order::Begin => frame(out, b'B', |_| ()),
            Order::Send(order) => order.write(out),
            Order::End => frame(out, b'E', |_| ()),
        }
    }

    /// Reads the next frame.
    ///
    /// # Errors
    /// When the other side ended, or what came is no such frame.
    pub fn read(from: &mut impl Read) -> Result<Self> {
        let (kind, body) = read_frame(from)?;
        let mut body = Body(&body);
        match kind {
            b'S' => body.pair().map(|(name, value)| Order::Setting(name, value)),
            b'P' => body.pair().map(|(name, value)| Order::Property(name, value)),
            b'B' => Some(Order::Begin),
            b'O' => SendOrder::read(&mut body).map(Order::Send),
            b'E' => Some(Order::End),
            _ => None,
        }
        .ok_or_else(|| no_frame(kind))
    }
}

impl SendOrder {
    /// Appends the frame to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        frame(out, b'O', |out| {
            out.extend(self.number.to_le_bytes());
            out.extend(self.due_ns.to_le_bytes());
            out.extend(self.partition.to_le_bytes());
            out.extend(self.time_at.to_le_bytes());
            out.push(u8::from(self.time_in_header));
            match &self.key {
                Some(key) => bytes(out, key),
                None => out.extend(NO_KEY.to_le_bytes()),
            }
            out.extend(length(self.headers.len()).to_le_bytes());
            for header in &self.headers {
                bytes(out, header.name.as_bytes());
                bytes(out, &header.value);
            }
            out.extend(&self.value);
        });
    }

    fn read(body: &mut Body<'_>) -> Option<Self> {
        let (number, due_ns) = (body.u64()?, body.u64()?);
        let (partition, time_at) = (body.i32()?, body.u32()?);
        let time_in_header = body.take(1)?[0] != 0;
        let key = match body.u32()? {
            NO_KEY => None,
            length => Some(body.take(length as usize)?.to_vec()),
        };
        let mut headers = Vec::new();
        for _ in 0..body.u32()? {
            headers.push(Header { name: body.text_of()?, value: body.bytes()?.to_vec() });
        }
        let value = body.0.to_vec();
        Some(SendOrder { number, due_ns, partition, time_at, time_in_header, key, headers, value })
    }

    /// Writes the time of the send where it belongs.
    pub fn set_time(&mut self, now_ns: u64) {
        let place = match self.time_in_header {
            true => self.headers.last_mut().map(|header| &mut header.value),
            false => Some(&mut self.value),
        };
        let at = self.time_at as usize;
        if let Some(place) = place.and_then(|place| place.get_mut(at..at + 8)) {
            place.copy_from_slice(&now_ns.to_le_bytes());
        }
    }
}

impl Report {
    /// Appends the frame to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Report::Property(name, value) => pair(out, b'P', name, value),
            Report::Ready(text) => frame(out, b'R', |out| out.extend(text.as_bytes())),
            Report::Note(text) => frame(out, b'N', |out| out.extend(text.as_bytes())),
            Report::Fatal(text) => frame(out, b'X', |out| out.extend(text.as_bytes())),
            Report::Joined(partitions) => frame(out, b'J', |out| out.extend(partitions.to_le_bytes())),
            Report::Beat(now_ns) => frame(out, b'T', |out| out.extend(now_ns.to_le_bytes())),
            Report::Acknowledged(report) => frame(out, b'A', |out| {
                out.extend(report.number.to_le_bytes());
                out.extend(report.called_ns.to_le_bytes());
                out.extend(report.acked_ns.to_le_bytes());
                out.extend(report.partition.to_le_bytes());
                out.extend(report.offset.to_le_bytes());
            }),
            Report::Failed(report) => frame(out, b'F', |out| {
                out.extend(report.number.to_le_bytes());
                out.extend(report.called_ns.to_le_bytes());
                out.extend(report.failed_ns.to_le_bytes());
                out.extend(report.reason.as_bytes());
            }),
            Report::Got(got) => frame(out, b'G', |out| {
                out.extend(got.received_ns.to_le_bytes());
                out.extend(got.partition.to_le_bytes());
                out.extend(got.offset.to_le_bytes());
                out.extend(got.append_ms.to_le_bytes());
                out.extend(got.value_bytes.to_le_bytes());
                out.extend(&got.head);
            }),
        }
    }

    /// The report of a frame's kind and body; none if there is no such.
    pub fn of(kind: u8, body: &[u8]) -> Option<Self> {
        let mut body = Body(body);
        let report = match kind {
            b'P' => body.pair().map(|(name, value)| Report::Property(name, value))?,
            b'R' => Report::Ready(body.text()),
            b'N' => Report::Note(body.text()),
            b'X' => Report::Fatal(body.text()),
            b'J' => Report::Joined(body.u32()?),
            b'T' => Report::Beat(body.u64()?),
            b'A' => Report::Acknowledged(Acknowledged {
                number: body.u64()?,
                called_ns: body.u64()?,
                acked_ns: body.u64()?,
                partition: body.i32()?,
                offset: body.i64()?,
            }),
            b'F' => Report::Failed(Failed {
                number: body.u64()?,
                called_ns: body.u64()?,
                failed_ns: body.u64()?,
                reason: body.text(),
            }),
            b'G' => Report::Got(Got {
                received_ns: body.u64()?,
                partition: body.i32()?,
                offset: body.i64()?,
                append_ms: body.i64()?,
                value_bytes: body.u32()?,
                head: body.0.get(..body.0.len().min(HEAD_BYTES))?.to_vec(),
            }),
            _ => return None,
        };
        Some(report)
    }

    /// Reads the next frame.
    ///
    /// # Errors
    /// As [`Order::read`].
    pub fn read(from: &mut impl Read) -> Result<Self> {
        let (kind, body) = read_frame(from)?;
        Report::of(kind, &body).ok_or_else(|| no_frame(kind))
    }
}

fn no_frame(kind: u8) -> Error {
    Error::new(ErrorKind::InvalidData, format!("a frame of kind {:?} that is none", char::from(kind)))
}

fn read_frame(from: &mut impl Read) -> Result<(u8, Vec<u8>)> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if !(1..=FRAME_MAX).contains(&length) {
        return Err(Error::new(ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    let mut frame = Vec::new();
    // As much as comes, and not what the length promises.
    if from.take(length as u64).read_to_end(&mut frame)? < length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok((frame[0], frame.split_off(1)))
}

fn frame(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend([0; 4]);
    out.push(kind);
    body(out);
    let length = length(out.len() - at - 4);
    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

fn pair(out: &mut Vec<u8>, kind: u8, name: &str, value: &str) {
    frame(out, kind, |out| {
        out.extend(name.as_bytes());
        out.push(b'=');
        out.extend(value.as_bytes());
    });
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(length(bytes.len()).to_le_bytes());
    out.extend(bytes);
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// What is left of a frame.
struct Body<'b>(&'b [u8]);

impl<'b> Body<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = self.u32()? as usize;
        self.take(length)
    }

    fn text_of(&mut self) -> Option<String> {
        self.bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    fn text(&mut self) -> String {
        String::from_utf8_lossy(self.0).into_owned()
    }

    fn pair(&mut self) -> Option<(String, String)> {
        let text = self.text();
        text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order() -> SendOrder {
        let headers = vec![Header { name: "h".to_owned(), value: vec![0; 16] }];
        SendOrder {
            number: 7,
            due_ns: 8,
            partition: -1,
            key: Some(vec![1]),
            headers,
            value: vec![9; 60],
            ..SendOrder::default()
        }
    }

    #[test]
    fn orders_read_back_as_they_were_written() {
        let keyless = SendOrder { key: None, headers: Vec::new(), ..order() };
        let orders = [
            Order::Setting("role".to_owned(), "producer".to_owned()),
            Order::Property("sasl.jaas.config".to_owned(), "a=b c=d".to_owned()),
            Order::Begin,
            Order::Send(order()),
            Order::Send(keyless),
            Order::End,
        ];
        let mut bytes = Vec::new();
        orders.iter().for_each(|order| order.write(&mut bytes));
        let mut from = bytes.as_slice();
        for order in &orders {
            assert_eq!(Order::read(&mut from).unwrap(), *order);
        }
        assert_eq!(Order::read(&mut from).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn the_time_of_a_send_goes_into_the_value_or_the_last_header() {
        let mut order = order();
        order.time_at = 32;
        order.set_time(0x0102);
        assert_eq!((order.value[32], order.value[33], order.value[40]), (2, 1, 9));
        (order.time_in_header, order.time_at) = (true, 8);
        order.set_time(5);
        assert_eq!(order.headers[0].value[8], 5);
        order.time_at = 12;
        order.set_time(u64::MAX);
        assert_eq!(order.headers[0].value[15], 0, "a place that is not there is left alone");
    }

    proptest! {
        #[test]
        fn any_report_can_be_read(kind in any::<u8>(), body in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Some(report) = Report::of(kind, &body) {
                let mut bytes = Vec::new();
                report.write(&mut bytes);
                prop_assert_eq!(Report::read(&mut bytes.as_slice()).unwrap(), report);
            }
        }

        #[test]
        fn any_bytes_can_be_read_as_an_order(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Order::read(&mut bytes.as_slice());
        }
    }
}
