//! The part of a block's clients that one process runs: a range of its producers and one of its consumers, of those of all processes.
//!
//! A producer sends every n-th message of the block's schedule, n being the number of all producers, so that the union of all
//! segments is the schedule of a block in one process.

use crate::schedule::Share;
use plumb_model::plan::LoadPlan;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The clients that one process runs, by their numbers among all of the block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Its producers.
    pub producers: Range<usize>,
    /// Its consumers.
    pub consumers: Range<usize>,
}

impl Segment {
    /// All clients of a load.
    pub(crate) fn whole(producers: usize, consumers: usize) -> Self {
        Segment { producers: 0..producers, consumers: 0..consumers }
    }

    /// The clients dealt out to so many processes, as evenly as they go: producers from the first process on, consumers from the
    /// last, so that one producer and one consumer are on two hosts where there are two.
    pub fn split(producers: usize, consumers: usize, processes: usize) -> Vec<Segment> {
        let part = |clients: usize, at: usize| clients * at / processes..clients * (at + 1) / processes;
        let (mut of_producers, mut of_consumers) = (Vec::new(), Vec::new());
        for at in 0..processes {
            // The larger parts come last in `part`; they are wanted first.
            of_consumers.push(part(consumers, at));
            let mirrored = part(producers, processes - 1 - at);
            of_producers.push(producers - mirrored.end..producers - mirrored.start);
        }
        let both = of_producers.into_iter().zip(of_consumers);
        both.map(|(producers, consumers)| Segment { producers, consumers }).collect()
    }

    /// True if it has no client.
    pub fn is_idle(&self) -> bool {
        self.producers.is_empty() && self.consumers.is_empty()
    }

    /// The measured part of this segment. Messages that producers without a schedule share by a count cannot be shared
    /// between processes: each process has its own part of the count.
    pub(crate) fn share(&self, share: Share, load: &LoadPlan) -> Share {
        match share {
            Share::Count(count) if load.saturating() => {
                let producers = u64::from(load.producers.max(1));
                let below = |at: usize| count * at as u64 / producers;
                Share::Count(below(self.producers.end) - below(self.producers.start))
            }
            share => share,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Due, due_times};
    use crate::wire::sample;
    use plumb_model::plan::{RateStep, Schedule};
    use plumb_model::units::Nanos;
    use proptest::prelude::*;

    #[test]
    fn one_producer_and_one_consumer_are_on_two_hosts_where_there_are_two() {
        let expected =
            [Segment { producers: 0..1, consumers: 0..0 }, Segment { producers: 1..1, consumers: 0..1 }];
        assert_eq!(Segment::split(1, 1, 2), expected);
        assert!(Segment::split(1, 1, 3)[1].is_idle());
    }

    fn schedules() -> impl Strategy<Value = Schedule> {
        prop_oneof![
            Just(Schedule::Constant),
            Just(Schedule::Poisson),
            (1u32..20).prop_map(|messages| Schedule::Burst { messages }),
            (100.0..500.0f64, 500.0..2000.0f64).prop_map(|(from_per_s, to_per_s)| Schedule::Ramp {
                from_per_s,
                to_per_s,
                over: Nanos(200_000_000)
            }),
            (100.0..900.0f64).prop_map(|rate_per_s| Schedule::Steps(vec![
                RateStep { rate_per_s, hold: Nanos(100_000_000) },
                RateStep { rate_per_s: rate_per_s * 2.0, hold: Nanos(900_000_000) },
            ])),
        ]
    }

    proptest! {
        #[test]
        fn every_client_is_in_one_segment(producers in 0usize..40, consumers in 0usize..40, processes in 1usize..12) {
            let segments = Segment::split(producers, consumers, processes);
            prop_assert_eq!(segments.len(), processes);
            let all = |of: fn(&Segment) -> Range<usize>| segments.iter().flat_map(of).collect::<Vec<_>>();
            prop_assert_eq!(all(|segment| segment.producers.clone()), (0..producers).collect::<Vec<_>>());
            prop_assert_eq!(all(|segment| segment.consumers.clone()), (0..consumers).collect::<Vec<_>>());
            let sizes = |of: fn(&Segment) -> usize| {
                let sizes = segments.iter().map(of);
                sizes.clone().max().unwrap_or(0) - sizes.min().unwrap_or(0)
            };
            prop_assert!(sizes(|segment| segment.producers.len()) <= 1);
            prop_assert!(sizes(|segment| segment.consumers.len()) <= 1);
        }

        #[test]
        fn the_union_of_segments_is_the_single_schedule(
            schedule in schedules(), producers in 1usize..9, processes in 1usize..5, seed in any::<u64>(),
        ) {
            let mut load = sample::step().load;
            (load.schedule, load.rate_per_s) = (schedule, Some(700.0));
            load.warm_up = Nanos(50_000_000);
            let share = Share::Time(Nanos(300_000_000));
            let whole: Vec<Due> = due_times(&load, share, seed).collect();
            let mut union: Vec<Due> = Segment::split(producers, 0, processes)
                .into_iter()
                .flat_map(|segment| segment.producers)
                .flat_map(|index| due_times(&load, share, seed).skip(index).step_by(producers))
                .collect();
            union.sort_by_key(|due| due.index);
            prop_assert_eq!(union, whole);
        }

        #[test]
        fn the_quotas_of_segments_add_up(count in 0u64..1_000_000, producers in 1u32..40, processes in 1usize..12) {
            let mut load = sample::step().load;
            (load.schedule, load.rate_per_s, load.producers) = (Schedule::Saturating, None, producers);
            let segments = Segment::split(producers as usize, 0, processes);
            let quota = |segment: &Segment| match segment.share(Share::Count(count), &load) {
                Share::Count(count) => count,
                Share::Time(_) => 0,
            };
            prop_assert_eq!(segments.iter().map(quota).sum::<u64>(), count);
        }
    }
}
