//! librdkafka's statistics at an address: the latest of each client, asked for again and again, or a stream of lines.

use super::Shared;
use plumb_model::fault::chain;
use plumb_observe::{ClientsSeen, ObserveError, statistics_of};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two questions (ours): an application's statistics are a second apart at least.
const PACE: Duration = Duration::from_millis(500);
/// Time between two looks at whether the window is over.
const LOOK: Duration = Duration::from_millis(50);
/// Longest wait beyond the window for an answer to end.
const SLACK: Duration = Duration::from_secs(5);

const HINT: &str =
    "it has to answer with the latest statistics, or with a stream of them, one object in a line";

/// An address that is asked.
pub(super) struct AddressSource {
    pub(super) shared: Shared,
    /// Why the last question had no answer.
    fault: Arc<Mutex<Option<ObserveError>>>,
}

impl AddressSource {
    /// Asks from now on, for as long as the window may be.
    pub(super) fn begin(url: &str, window: Duration) -> Self {
        let source = AddressSource { shared: Shared::new(url), fault: Arc::default() };
        let (shared, fault) = (source.shared.clone(), source.fault.clone());
        // Nobody waits for its end: a silent stream holds it until the window and its slack are over.
        std::thread::spawn(move || ask_until_stopped(&shared, &fault, Instant::now() + window + SLACK));
        source
    }

    pub(super) fn close(self) -> ClientsSeen {
        let seen = self.shared.close();
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        match fault {
            Some(error) if seen.clients.is_empty() => self.shared.unseen(chain(&error).join(": "), HINT),
            _ => seen,
        }
    }
}

fn ask_until_stopped(shared: &Shared, fault: &Mutex<Option<ObserveError>>, deadline: Instant) {
    while !shared.is_stopped() && Instant::now() < deadline {
        let asked = Instant::now();
        shared.readings().begin_of_answer();
        let ended = statistics_of(&shared.source, deadline.saturating_duration_since(asked), &mut |bytes| {
            if shared.is_stopped() {
                return ControlFlow::Break(());
            }
            shared.readings().take(bytes);
            ControlFlow::Continue(())
        });
        if shared.is_stopped() {
            return;
        }
        shared.readings().end_of_answer();
        *fault.lock().unwrap_or_else(PoisonError::into_inner) = ended.err();
        while asked.elapsed() < PACE && !shared.is_stopped() {
            std::thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::{Receiver, Sender, channel};

    fn emission(ts_us: u64, messages: u64) -> String {
        format!(
            r#"{{"name": "a#producer-1", "type": "producer", "ts": {ts_us}, "age": {ts_us}, "txmsgs": {messages}, "brokers": {{}}}}"#
        )
    }

    /// A server that answers each question by `answer`, which is told how many came before; tells after each answer.
    fn serve(answer: impl Fn(&mut TcpStream, u64) + Send + 'static) -> (String, Receiver<u64>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/stats", listener.local_addr().unwrap());
        let (tell, told): (Sender<u64>, _) = channel();
        std::thread::spawn(move || {
            for (index, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                    head.push(byte[0]);
                }
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                answer(&mut stream, index as u64);
                drop(stream);
                if tell.send(index as u64).is_err() {
                    return;
                }
            }
        });
        (url, told)
    }

    fn closed(source: AddressSource) -> ClientsSeen {
        source.shared.stop();
        source.close()
    }

    #[test]
    fn the_latest_object_is_asked_for_again_and_again_and_counts_once() {
        // Asked twice, it says the same twice.
        let (url, told) = serve(|stream, index| {
            let _ = stream.write_all(emission(1_000_000 + index / 2 * 1_000_000, index / 2 * 100).as_bytes());
        });
        let source = AddressSource::begin(&url, Duration::from_secs(60));
        // The third answer was read when the fourth question came.
        (0..=3).for_each(|index| assert_eq!(told.recv().unwrap(), index));
        let seen = closed(source);
        assert_eq!(seen.clients[0].messages_per_s, Some(100.0), "{:?}", seen.unseen);
    }

    #[test]
    fn a_stream_is_read_while_it_lasts_and_nobody_waits_for_its_end() {
        let (hold, held) = channel::<()>();
        let held = Mutex::new(held);
        let (url, _told) = serve(move |stream, _| {
            for second in 0..3 {
                let _ = writeln!(stream, "{}", emission(second * 1_000_000, second * 50));
            }
            let _ = held.lock().unwrap().recv();
        });
        let source = AddressSource::begin(&url, Duration::from_secs(60));
        let begun = Instant::now();
        let mut seen = source.shared.close();
        while seen.clients.is_empty() && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(LOOK);
            seen = source.shared.close();
        }
        drop(hold);
        assert_eq!(seen.clients[0].name, "a#producer-1");
    }

    #[test]
    fn an_address_that_does_not_answer_says_why() {
        let source = AddressSource::begin("http://127.0.0.1:1/stats", Duration::from_secs(60));
        while source.fault.lock().unwrap().is_none() {
            std::thread::sleep(LOOK);
        }
        let seen = closed(source);
        assert!(seen.unseen[0].reason.contains("cannot fetch"), "{:?}", seen.unseen);
    }
}
