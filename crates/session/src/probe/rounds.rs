//! The rounds of a probe: in each, every case has its turn once, in a random order by the seed.
//!
//! A disturbance that comes and goes meets all cases alike then, and widens their intervals. Not here: the measurement of a turn,
//! which is each probe's own, and the results of its turns.

use crate::context::RunContext;
use crate::watcher::Event;
use plumb_model::random::Random;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Time between two forecasts of the rest. Ours: short turns would otherwise be spent on forecasts, and forecasts of the first of
/// them be wild.
const FORECAST_EVERY: Duration = Duration::from_millis(200);

/// A case in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) case: usize,
    pub(super) round: u32,
}

/// Each of the cases once in every round, each round in an order of its own.
pub(super) fn order(random: &mut Random, cases: &[usize], rounds: u32) -> Vec<Turn> {
    let round = |round: u32| {
        let mut turns: Vec<Turn> = cases.iter().map(|case| Turn { case: *case, round }).collect();
        random.shuffle(&mut turns);
        turns
    };
    (0..rounds).flat_map(round).collect()
}

/// An experiment whose cases have turns.
pub(super) trait Experiment {
    /// The error that can end it before its time.
    type Error;

    /// A case, for people.
    fn title(&self, case: usize) -> String;

    /// Seconds that a turn of the case takes, as far as is known before it ran.
    fn planned_s(&self, case: usize) -> f64;

    /// Cases with the same number are slow together, as those of one device are.
    fn shared_resource(&self, _case: usize) -> usize {
        0
    }

    /// Measures a case for one turn.
    fn measure(&mut self, turn: Turn) -> Result<(), Self::Error>;
}

/// An error in a turn. The turns after it were not measured.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FailedTurn<E> {
    pub(super) error: E,
    /// Turns before it.
    pub(super) position: usize,
}

/// Runs the turns until all are over, the user stops them or one fails.
pub(super) fn run<E: Experiment>(
    experiment: &mut E,
    turns: &[Turn],
    context: &RunContext,
) -> Result<(), FailedTurn<E::Error>> {
    let mut forecast = Forecast::default();
    let mut told = Instant::now();
    for (position, turn) in turns.iter().enumerate() {
        if context.is_stopped() {
            break;
        }
        let title = experiment.title(turn.case);
        context.tell(&Event::Turn { position: position + 1, turns: turns.len(), title: &title });
        let began = Instant::now();
        experiment.measure(*turn).map_err(|error| FailedTurn { error, position })?;
        forecast.took(experiment, turn.case, began.elapsed().as_secs_f64());
        if told.elapsed() >= FORECAST_EVERY {
            context.tell(&Event::Rest(forecast.rest_s(experiment, &turns[position + 1..])));
            told = Instant::now();
        }
    }
    Ok(())
}

/// Seconds of these turns, as far as is known before any of them ran.
pub(super) fn planned_s(experiment: &impl Experiment, turns: &[Turn]) -> f64 {
    turns.iter().map(|turn| experiment.planned_s(turn.case)).sum()
}

/// The estimate of the rest: as planned at first, then by the time of such turns.
#[derive(Debug, Default)]
struct Forecast {
    /// Seconds of the last turn of each case. The last one, since the first may have had to wake a device.
    took_s: HashMap<usize, f64>,
    /// All turns so far by what they share.
    by_resource: HashMap<usize, TurnTimes>,
}

#[derive(Debug, Clone, Copy, Default)]
struct TurnTimes {
    planned_s: f64,
    took_s: f64,
}

impl Forecast {
    fn took(&mut self, experiment: &impl Experiment, case: usize, seconds: f64) {
        self.took_s.insert(case, seconds);
        let times = self.by_resource.entry(experiment.shared_resource(case)).or_default();
        times.planned_s += experiment.planned_s(case);
        times.took_s += seconds;
    }

    /// Seconds of these turns. One whose case has not been measured yet is as much longer than planned as the others that share
    /// its resource.
    fn rest_s(&self, experiment: &impl Experiment, turns: &[Turn]) -> f64 {
        let turn_s = |turn: &Turn| {
            let of_others = || {
                let times = self.by_resource.get(&experiment.shared_resource(turn.case));
                let factor = times.filter(|times| times.planned_s > 0.0);
                factor.map_or(1.0, |times| times.took_s / times.planned_s)
            };
            let same = self.took_s.get(&turn.case).copied();
            same.unwrap_or_else(|| experiment.planned_s(turn.case) * of_others())
        };
        turns.iter().map(turn_s).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watcher::Watcher;
    use plumb_model::plan::Properties;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};

    /// Two cases that are planned to take 10 ms on each of two devices. It fails at one turn, and is stopped in another.
    #[derive(Default)]
    struct TwoDevices {
        measured: Vec<Turn>,
        fails_at: Option<usize>,
        stopped_at: Option<usize>,
        stop: Arc<AtomicBool>,
    }

    impl Experiment for TwoDevices {
        type Error = &'static str;

        fn title(&self, case: usize) -> String {
            format!("case {case}")
        }

        fn planned_s(&self, _case: usize) -> f64 {
            0.01
        }

        fn shared_resource(&self, case: usize) -> usize {
            case / 2
        }

        fn measure(&mut self, turn: Turn) -> Result<(), &'static str> {
            if self.fails_at == Some(self.measured.len()) {
                return Err("no device");
            }
            self.stop.store(self.stopped_at == Some(self.measured.len()), Ordering::Relaxed);
            self.measured.push(turn);
            Ok(())
        }
    }

    #[derive(Default)]
    struct Titles(Mutex<Vec<String>>);

    impl Watcher for Titles {
        fn event(&self, event: &Event<'_>) {
            if let Event::Turn { position, turns, title } = event {
                self.0.lock().unwrap().push(format!("{position}/{turns} {title}"));
            }
        }
    }

    fn turns() -> Vec<Turn> {
        order(&mut Random::new(1), &[0, 1, 2, 3], 3)
    }

    fn carried_out(mut experiment: TwoDevices) -> (Result<(), FailedTurn<&'static str>>, Vec<Turn>) {
        let watcher: Arc<dyn Watcher> = Arc::new(Titles::default());
        let context = RunContext::new(Properties::new(), &experiment.stop, &watcher);
        let ended = run(&mut experiment, &turns(), &context);
        (ended, experiment.measured)
    }

    #[test]
    fn every_round_has_each_case_once_in_an_order_of_its_own_that_the_seed_determines() {
        let turns = turns();
        let rounds: Vec<Vec<usize>> = turns
            .chunk_by(|a, b| a.round == b.round)
            .map(|round| round.iter().map(|t| t.case).collect())
            .collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        assert!(rounds.len() == 3 && (rounds[0] != rounds[1] || rounds[1] != rounds[2]), "{rounds:?}");
        assert_eq!(turns, order(&mut Random::new(1), &[0, 1, 2, 3], 3));
        assert_ne!(turns, order(&mut Random::new(2), &[0, 1, 2, 3], 3));
    }

    #[test]
    fn all_turns_run_in_their_order_until_one_fails_or_the_user_stops_them() {
        let (ended, measured) = carried_out(TwoDevices::default());
        assert_eq!((ended, measured), (Ok(()), turns()));
        let (ended, measured) = carried_out(TwoDevices { fails_at: Some(5), ..TwoDevices::default() });
        assert_eq!(ended, Err(FailedTurn { error: "no device", position: 5 }));
        assert_eq!(measured, turns()[..5]);
        let (ended, measured) = carried_out(TwoDevices { stopped_at: Some(2), ..TwoDevices::default() });
        assert_eq!((ended, measured.len()), (Ok(()), 3));
    }

    #[test]
    fn the_watcher_hears_of_each_turn_before_it_is_measured() {
        let titles = Arc::new(Titles::default());
        let watcher: Arc<dyn Watcher> = titles.clone();
        let mut experiment = TwoDevices { fails_at: Some(1), ..TwoDevices::default() };
        let context = RunContext::new(Properties::new(), &experiment.stop, &watcher);
        run(&mut experiment, &[Turn { case: 3, round: 0 }, Turn { case: 0, round: 0 }], &context)
            .unwrap_err();
        assert_eq!(*titles.0.lock().unwrap(), ["1/2 case 3", "2/2 case 0"]);
    }

    #[test]
    fn the_rest_is_as_long_as_planned_until_turns_take_longer() {
        let experiment = TwoDevices::default();
        let turn = |case| Turn { case, round: 0 };
        let rest = [turn(0), turn(1), turn(2)];
        let mut forecast = Forecast::default();
        let rest_ms = |forecast: &Forecast| (forecast.rest_s(&experiment, &rest) * 1e3).round();
        assert_eq!((rest_ms(&forecast), planned_s(&experiment, &rest)), (30.0, 0.03));
        forecast.took(&experiment, 0, 1.0);
        assert_eq!(rest_ms(&forecast), 2_010.0, "the same again, one on the same device, one on another");
        forecast.took(&experiment, 1, 0.1);
        assert_eq!(rest_ms(&forecast), 1_110.0);
    }
}
