use super::*;
use crate::observation::Measure;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Mutex;

/// A carrier of small messages that gives back what it was given.
struct Pipe {
    largest: usize,
    pieces: Mutex<VecDeque<Vec<u8>>>,
}

impl Pipe {
    fn of(largest: usize, pieces: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Pipe { largest, pieces: Mutex::new(pieces.into_iter().collect()) }
    }
}

impl Carrier for Pipe {
    fn largest(&self) -> usize {
        self.largest
    }

    fn send(&self, message: &[u8]) -> Result<(), LinkLost> {
        assert!(message.len() <= self.largest);
        self.pieces.lock().unwrap().push_back(message.to_vec());
        Ok(())
    }

    fn receive(&self, _: Duration) -> Result<Option<Vec<u8>>, LinkLost> {
        Ok(self.pieces.lock().unwrap().pop_front())
    }
}

fn second(samples: u64) -> FromWorker {
    let mut part = SecondPart::new(Measure::Acknowledge);
    (0..samples).for_each(|sample| part.response.record_ns(1_000 + 977 * sample as i64));
    part.acked = samples;
    FromWorker::Second(Box::new(part))
}

#[test]
fn a_message_larger_than_its_carrier_takes_comes_in_pieces_and_is_whole_again() {
    let pipe = Pipe::of(64, []);
    send(&pipe, &second(500)).unwrap();
    send(&pipe, &second(3)).unwrap();
    assert!(pipe.pieces.lock().unwrap().len() > 10);
    let mut reader = Reader::default();
    for samples in [500, 3] {
        let read: FromWorker = reader.receive(&pipe, Duration::ZERO).unwrap().unwrap();
        let FromWorker::Second(part) = read else { panic!("{read:?}") };
        assert_eq!((part.acked, part.response.samples()), (samples, samples));
    }
    assert!(reader.receive::<FromWorker>(&pipe, Duration::ZERO).unwrap().is_none());
}

#[test]
fn a_message_whose_rest_is_late_is_none_yet() {
    let pipe = Pipe::of(64, []);
    send(&pipe, &second(100)).unwrap();
    let last = pipe.pieces.lock().unwrap().pop_back().unwrap();
    let mut reader = Reader::default();
    assert!(reader.receive::<FromWorker>(&pipe, Duration::ZERO).unwrap().is_none());
    pipe.pieces.lock().unwrap().push_back(last);
    assert!(reader.receive::<FromWorker>(&pipe, Duration::ZERO).unwrap().is_some());
}

proptest! {
    /// Whatever comes, it is a message or an error, and what was read before does not stay in the way of what follows an error.
    #[test]
    fn bytes_of_anybody_are_refused_or_read(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..8)) {
        let pipe = Pipe::of(1 << 20, pieces);
        let mut reader = Reader::default();
        for _ in 0..10 {
            let _ = reader.receive::<FromWorker>(&pipe, Duration::ZERO);
        }
        let mut reader = Reader::default();
        let _ = reader.receive::<ToWorker>(&pipe, Duration::ZERO);
    }

    /// A message with some bytes changed is refused or read, and never more than it says.
    #[test]
    fn a_damaged_message_is_refused_or_read(at in 0_usize..2_000, to in any::<u8>(), samples in 1_u64..60) {
        let mut bytes = vec![LAST];
        bytes.extend(postcard::to_stdvec(&second(samples)).unwrap());
        let at = 1 + at % (bytes.len() - 1);
        bytes[at] = to;
        let pipe = Pipe::of(1 << 20, [bytes]);
        let _ = Reader::default().receive::<FromWorker>(&pipe, Duration::ZERO);
    }
}
