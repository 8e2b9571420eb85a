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
    FromWorker::Seconds(vec![part.to_send()])
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
        let FromWorker::Seconds(parts) = read else { panic!("{read:?}") };
        assert_eq!((parts[0].acked, parts[0].response.recorded()), (samples, samples));
    }
    assert!(reader.receive::<FromWorker>(&pipe, Duration::ZERO).unwrap().is_none());
}

/// The binary form writes no type, so that what needs one to be read must not be in it: times and sizes of plans are such.
#[test]
fn a_block_is_read_as_it_was_sent_whatever_its_share() {
    let step = crate::wire::sample::step();
    for share in [Share::Count(7), Share::Time(plumb_model::units::Nanos(5))] {
        let job = BlockJob {
            run: 1,
            group: "group".to_owned(),
            step: serde_json::to_string(&step).unwrap(),
            topic: "topic".to_owned(),
            share: serde_json::to_string(&share).unwrap(),
            seed: 2,
            starts: vec![3, 4],
            bootstrap: "a:1".to_owned(),
            security: [("sasl.password".to_owned(), "canary".to_owned())].into(),
            segments: Segment::split(3, 2, 2),
            place: 1,
        };
        assert!(!format!("{job:?}").contains("canary"));
        let pipe = Pipe::of(1 << 20, []);
        send(&pipe, &ToWorker::Block(Box::new(job.clone()))).unwrap();
        let read: ToWorker = Reader::default().receive(&pipe, Duration::ZERO).unwrap().unwrap();
        let ToWorker::Block(read) = read else { panic!("{read:?}") };
        assert_eq!(read.step().unwrap(), step);
        assert_eq!(format!("{:?}", read.share().unwrap()), format!("{share:?}"));
        assert_eq!(
            (&read.security, &read.segments, &read.starts),
            (&job.security, &job.segments, &job.starts)
        );
    }
}

#[test]
fn what_a_worker_says_is_read_as_it_was_said() {
    let progress = Progress {
        probes_acknowledged: vec![true, false],
        positions: vec![-1, 9],
        trouble: Some("a".to_owned()),
        probe_error: Some(RefusedProbe { code: "b".to_owned(), text: "c".to_owned() }),
        armed_for_ns: Some(u64::MAX),
        ..Progress::default()
    };
    let failure = Failure::of(&LoadError::OneProcess { what: "it".to_owned() });
    let pipe = Pipe::of(1 << 20, []);
    send(&pipe, &FromWorker::Progress(progress.clone())).unwrap();
    send(&pipe, &FromWorker::Failed(failure)).unwrap();
    let mut reader = Reader::default();
    let read: FromWorker = reader.receive(&pipe, Duration::ZERO).unwrap().unwrap();
    assert!(matches!(read, FromWorker::Progress(read) if read == progress));
    let read: FromWorker = reader.receive(&pipe, Duration::ZERO).unwrap().unwrap();
    let FromWorker::Failed(failure) = read else { panic!("{read:?}") };
    let error = failure.of_worker("one");
    assert_eq!(error.fault(), Fault::User);
    assert!(error.to_string().starts_with("worker one: it cannot be measured"), "{error}");
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
