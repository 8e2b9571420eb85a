//! Values of messages: a pool of bytes made before the run, so that sending draws no randomness per byte.

use crate::error::LoadError;
use crate::random::Random;
use crate::stamp::STAMP_BYTES;
use plumb_model::plan::{LoadPlan, Payload, SizePlan, WeightedSize};

/// Different random contents that values rotate through, so that a batch does not compress by repetition.
const POOL_BYTES: usize = 4 << 20;

/// The place of the stamp in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampPlace {
    /// In the first bytes of the value.
    Value,
    /// In a header.
    Header,
}

/// A source of values: each is a slice into a prepared pool.
#[derive(Debug)]
pub struct PayloadSource {
    pool: Vec<u8>,
    sizes: Sizes,
    largest: usize,
    random: Random,
    entropy: f64,
    next: usize,
    from_file: bool,
    drawn: Drawn,
    /// A value that is not in the pool as it is.
    apart: Vec<u8>,
    /// The front of the value drawn last was lent to be written over; what it was is kept.
    is_lent: bool,
    kept: [u8; STAMP_BYTES],
}

/// The place of the value drawn last.
#[derive(Debug, Clone, Copy)]
enum Drawn {
    InPool { start: usize, size: usize },
    Apart,
}

#[derive(Debug)]
enum Sizes {
    Fixed(usize),
    Mix { parts: Vec<WeightedSize>, total: u64 },
}

/// The place of the stamps in a load's records.
pub(crate) fn stamp_place(load: &LoadPlan) -> StampPlace {
    match load.payload {
        Payload::Entropy(_) if load.size.smallest().as_usize() >= STAMP_BYTES => StampPlace::Value,
        _ => StampPlace::Header,
    }
}

/// The bytes of a payload file.
pub(crate) fn read_payload_file(path: &str) -> Result<Vec<u8>, LoadError> {
    let bytes = std::fs::read(path)
        .map_err(|source| LoadError::PayloadFile { path: path.to_owned(), reason: source.to_string() })?;
    if bytes.is_empty() {
        return Err(LoadError::PayloadFile { path: path.to_owned(), reason: "the file is empty".to_owned() });
    }
    Ok(bytes)
}

impl PayloadSource {
    /// Values as planned, from a random stream of their own.
    pub(crate) fn new(load: &LoadPlan, mut random: Random) -> Result<Self, LoadError> {
        let largest = load.size.largest().as_usize();
        let sizes = match &load.size {
            SizePlan::Fixed(size) => Sizes::Fixed(size.as_usize()),
            SizePlan::Mix(parts) => Sizes::Mix {
                total: parts.iter().map(|part| u64::from(part.weight)).sum(),
                parts: parts.clone(),
            },
        };
        let (pool, entropy, from_file) = match &load.payload {
            Payload::Entropy(share) => {
                let mut pool = vec![0; POOL_BYTES.max(largest)];
                random.fill(&mut pool);
                (pool, *share, false)
            }
            Payload::File(path) => {
                let content = read_payload_file(path)?;
                let length = content.len().max(largest) + content.len();
                (content.iter().copied().cycle().take(length).collect(), 1.0, true)
            }
        };
        Ok(PayloadSource {
            pool,
            sizes,
            largest,
            random,
            entropy,
            next: 0,
            from_file,
            drawn: Drawn::Apart,
            apart: Vec::new(),
            is_lent: false,
            kept: [0; STAMP_BYTES],
        })
    }

    /// Draws a value of the largest size.
    pub(crate) fn draw_largest(&mut self) {
        self.draw_sized(self.largest);
    }

    /// Draws the next value.
    pub(crate) fn draw(&mut self) {
        let size = match &self.sizes {
            Sizes::Fixed(size) => *size,
            Sizes::Mix { parts, total } => {
                let mut at = self.random.below(*total as usize) as u64;
                let mut size = 0;
                for part in parts {
                    size = part.size.as_usize();
                    if at < u64::from(part.weight) {
                        break;
                    }
                    at -= u64::from(part.weight);
                }
                size
            }
        };
        self.draw_sized(size);
    }

    /// The value drawn last.
    pub(crate) fn current(&self) -> &[u8] {
        match self.drawn {
            Drawn::InPool { start, size } => &self.pool[start..start + size],
            Drawn::Apart => &self.apart,
        }
    }

    /// The same, to write a stamp at its front; whatever is written there is gone with the next value.
    pub(crate) fn current_mut(&mut self) -> &mut [u8] {
        match self.drawn {
            Drawn::InPool { start, size } => {
                if !self.is_lent {
                    let kept = size.min(STAMP_BYTES);
                    self.kept[..kept].copy_from_slice(&self.pool[start..start + kept]);
                    self.is_lent = true;
                }
                &mut self.pool[start..start + size]
            }
            Drawn::Apart => &mut self.apart,
        }
    }

    fn draw_sized(&mut self, size: usize) {
        self.take_back();
        let start = self.next_start(size);
        self.drawn = Drawn::InPool { start, size };
        if self.entropy < 1.0 {
            let random_bytes = (size as f64 * self.entropy).round() as usize;
            self.apart.clear();
            self.apart.extend_from_slice(&self.pool[start..start + size]);
            self.apart[random_bytes..].fill(0);
            self.drawn = Drawn::Apart;
        }
    }

    /// The pool must not fill with stamps: they are not random, and compress.
    fn take_back(&mut self) {
        if let Drawn::InPool { start, size } = self.drawn
            && self.is_lent
        {
            let kept = size.min(STAMP_BYTES);
            self.pool[start..start + kept].copy_from_slice(&self.kept[..kept]);
        }
        self.is_lent = false;
    }

    /// The pool is walked from front to back again and again, which is kind to caches; random contents are begun at another
    /// place each time, so that no value comes twice.
    fn next_start(&mut self, size: usize) -> usize {
        let room = self.pool.len() - size;
        let start = self.next.min(room);
        self.next = start + size;
        if self.next > room {
            let anew = if self.from_file { 0 } else { self.random.below(size + 1) };
            self.next = anew.min(room);
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::plan::{Keys, Length, Mode, Purpose, Schedule};
    use plumb_model::units::{Bytes, Nanos};

    fn load(size: SizePlan, payload: Payload) -> LoadPlan {
        LoadPlan {
            rate_per_s: Some(1.0),
            schedule: Schedule::Constant,
            length: Length::Count(1),
            warm_up: Nanos(0),
            drain: Nanos(0),
            producers: 1,
            consumers: 1,
            workers: 0,
            size,
            keys: Keys::None,
            headers: Default::default(),
            payload,
            in_flight: None,
            until_device: false,
            purpose: Purpose::default(),
            mode: Mode::Mixed,
        }
    }

    #[test]
    fn half_the_entropy_leaves_half_the_value_zero() {
        let plan = load(SizePlan::Fixed(Bytes(10_000)), Payload::Entropy(0.5));
        let mut source = PayloadSource::new(&plan, Random::new(1)).unwrap();
        source.draw();
        let value = source.current();
        assert_eq!(value.len(), 10_000);
        assert!(value[5_000..].iter().all(|byte| *byte == 0));
        assert!(value[..5_000].iter().filter(|byte| **byte == 0).count() < 100);
    }

    #[test]
    fn stamps_leave_the_pool_as_it_was() {
        let plan = load(SizePlan::Fixed(Bytes(100)), Payload::Entropy(1.0));
        let mut source = PayloadSource::new(&plan, Random::new(1)).unwrap();
        let pool = source.pool.clone();
        for _ in 0..1_000 {
            source.draw();
            source.current_mut()[..STAMP_BYTES].fill(7);
            assert_eq!(source.current()[..STAMP_BYTES], [7; STAMP_BYTES]);
        }
        source.draw();
        assert!(source.pool == pool);
    }

    #[test]
    fn a_mix_is_drawn_by_weight() {
        let parts = vec![
            WeightedSize { size: Bytes(100), weight: 9 },
            WeightedSize { size: Bytes(1_000), weight: 1 },
        ];
        let plan = load(SizePlan::Mix(parts), Payload::Entropy(1.0));
        let mut source = PayloadSource::new(&plan, Random::new(1)).unwrap();
        let large = (0..10_000)
            .filter(|_| {
                source.draw();
                source.current().len() == 1_000
            })
            .count();
        assert!((900..1_100).contains(&large), "{large}");
    }

    #[test]
    fn a_file_is_walked_and_its_stamps_travel_in_a_header() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"abcdef").unwrap();
        let path = file.path().to_str().unwrap().to_owned();
        let plan = load(SizePlan::Fixed(Bytes(4)), Payload::File(path));
        assert_eq!(stamp_place(&plan), StampPlace::Header);
        let mut source = PayloadSource::new(&plan, Random::new(1)).unwrap();
        source.draw();
        assert_eq!(source.current(), b"abcd");
        source.draw();
        assert_eq!(source.current(), b"efab");
    }

    #[test]
    fn a_value_too_small_for_a_stamp_carries_it_in_a_header() {
        let small = load(SizePlan::Fixed(Bytes(10)), Payload::Entropy(1.0));
        assert_eq!(stamp_place(&small), StampPlace::Header);
        let large = load(SizePlan::Fixed(Bytes(48)), Payload::Entropy(1.0));
        assert_eq!(stamp_place(&large), StampPlace::Value);
    }
}
