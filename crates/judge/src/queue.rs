//! The growth of the producers' queue, of steps whose purpose is to show it.
//!
//! The queue is every message that was due by the schedule and is not acknowledged, wherever it waits: in the application, in the
//! client's buffer or on its way. So a client that lets its sender wait does not hide it.

use crate::comparison::level;
use crate::setup::{Setup, by_block};
use plumb_model::document::RunDocument;
use plumb_model::figure::{self, counted, rate};
use plumb_model::observation::{Interval, IntervalMethod};
use plumb_model::plan::LoadPlan;
use plumb_model::prose::{list, quoted};
use plumb_model::queue::{QueueCourse, QueueLevel, QueueLimit, QueueResult};
use plumb_stats::interval::BLOCKS_MIN;
use plumb_stats::law::student_quantile;
use plumb_stats::trend::trend;

/// Fewest measured seconds of a block to tell a growth from chance (ours).
pub(crate) const SECONDS_MIN: usize = 6;

/// Growth below this share of the rate is none (ours, the complement of the share of the rate that counts as reached).
const GROWTH_MIN: f64 = 0.005;

/// Chance of seeing such a trend in a queue or backlog that does not grow.
pub(crate) const TREND_P: f64 = 0.01;

/// Room of a Java client for what is not yet acknowledged: `buffer.memory`, by default 32 MiB (Apache Kafka's documentation
/// of producer configs).
const JAVA_BUFFER_BYTES: f64 = 33_554_432.0;

/// The queue of every step that is to show it, in the plan's order.
pub(crate) fn queues(document: &RunDocument) -> Vec<QueueResult> {
    let setups = Setup::all(document).filter(Setup::shows_queue);
    setups.filter_map(|setup| queue(&setup, document)).collect()
}

fn queue(setup: &Setup, document: &RunDocument) -> Option<QueueResult> {
    let load = setup.load()?;
    let asked_per_s = load.rate_per_s?;
    let levels = levels(setup, load, document.plan.blocks);
    let slopes: Vec<Slope> = setup
        .whole_blocks()
        .filter_map(|block| {
            let measured = levels.iter().filter(|level| level.block == block.block && !level.warm_up);
            slope(&measured.map(|level| level.messages).collect::<Vec<f64>>(), asked_per_s)
        })
        .collect();
    let growths: Vec<f64> = slopes.iter().map(|slope| slope.per_s).collect();
    let mean = (!growths.is_empty()).then(|| growths.iter().sum::<f64>() / growths.len() as f64);
    let interval = interval(&growths, level(document));
    let course = course(&slopes, mean, interval.as_ref(), asked_per_s);
    Some(QueueResult {
        step: setup.name().to_owned(),
        asked_per_s,
        course,
        growth_per_s: mean,
        growth_interval: interval,
        growth_of_blocks_per_s: growths,
        longest: levels.iter().map(|level| level.messages).fold(0.0, f64::max),
        limits: match (course, mean) {
            (QueueCourse::Grows, Some(growth)) => limits(setup, load, growth),
            _ => Vec::new(),
        },
        levels,
    })
}

/// The queue at the end of every second that lies wholly within the schedule.
fn levels(setup: &Setup, load: &LoadPlan, blocks: u32) -> Vec<QueueLevel> {
    let (Some(rate_per_s), Some(planned_s)) = (load.rate_per_s, load.planned_s()) else { return Vec::new() };
    let warm_up_s = load.warm_up.as_secs_f64();
    let seconds = (warm_up_s + planned_s / f64::from(blocks.max(1))).floor() as u32;
    let acked = by_block(setup.result, |row| Some(row.acked));
    let mut levels = Vec::new();
    for (block, rows) in acked {
        let mut served = 0;
        let mut rows = rows.into_iter().peekable();
        for second in 0..seconds {
            while let Some(acked) = rows.next_if(|acked| acked.second <= second) {
                served += acked.value;
            }
            let due = rate_per_s * f64::from(second + 1);
            levels.push(QueueLevel {
                block,
                second,
                warm_up: f64::from(second) < warm_up_s,
                // An acknowledgement of the second's last moment may count in the next one.
                messages: (due - served as f64).max(0.0),
            });
        }
    }
    levels
}

/// The growth of the queue in one block.
struct Slope {
    /// Messages per second; below 0 where the queue shrinks.
    per_s: f64,
    /// True if it is growth: not by chance, and not next to nothing.
    grows: bool,
}

fn slope(levels: &[f64], asked_per_s: f64) -> Option<Slope> {
    if levels.len() < SECONDS_MIN {
        return None;
    }
    let trend = trend(levels)?;
    let grows = trend.s > 0 && trend.p < TREND_P && trend.slope > GROWTH_MIN * asked_per_s;
    Some(Slope { per_s: trend.slope, grows })
}

/// Student's t over the blocks; a queue may shrink, so unlike that of a time the interval may lie below 0.
fn interval(growths: &[f64], level: f64) -> Option<Interval> {
    let n = growths.len() as f64;
    if growths.len() < BLOCKS_MIN {
        return None;
    }
    let mean = growths.iter().sum::<f64>() / n;
    let variance = growths.iter().map(|growth| (growth - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let reach = student_quantile(0.5 + level / 2.0, n - 1.0)? * (variance / n).sqrt();
    Some(Interval { low: mean - reach, high: mean + reach, level, method: IntervalMethod::Blocks })
}

fn course(slopes: &[Slope], mean: Option<f64>, interval: Option<&Interval>, asked_per_s: f64) -> QueueCourse {
    let Some(mean) = mean else { return QueueCourse::TooShort };
    let growing = slopes.iter().filter(|slope| slope.grows).count();
    let certain = interval.is_none_or(|interval| interval.low > 0.0);
    // How fast it grows may differ from block to block: brokers compile what they run. That it grows is then as sure.
    let all = slopes.len() > 1 && growing == slopes.len();
    if growing == 0 {
        QueueCourse::KeepsUp
    } else if mean > GROWTH_MIN * asked_per_s && (all || certain && 2 * growing > slopes.len()) {
        QueueCourse::Grows
    } else {
        QueueCourse::Unclear
    }
}

/// The times after which the buffers in which messages wait are full: those of the client that was driven, and of a Java client
/// with its defaults.
fn limits(setup: &Setup, load: &LoadPlan, growth_per_s: f64) -> Vec<QueueLimit> {
    let producers = f64::from(load.producers.max(1));
    let bytes = setup.result.value_bytes_mean.max(1.0);
    let limit = |setting: String, of_one: f64| {
        let messages = of_one * producers;
        QueueLimit { setting, messages, full_after_s: messages / growth_per_s }
    };
    let own = |name: &str, unit: f64| {
        let value = setup.producer_number(&[name]).filter(|value| *value > 0.0)?;
        Some(limit(format!("{name} {value}"), value * unit))
    };
    let own = [own("queue.buffering.max.messages", 1.0), own("queue.buffering.max.kbytes", 1024.0 / bytes)];
    let soonest = own.into_iter().flatten().min_by(|a, b| a.full_after_s.total_cmp(&b.full_after_s));
    let java = limit("buffer.memory 33554432, a Java client's default".to_owned(), JAVA_BUFFER_BYTES / bytes);
    soonest.into_iter().chain([java]).collect()
}

/// Most rates that the sentence about queues tells one by one (ours).
const RATES_TOLD_MAX: usize = 3;

/// A setup with its queue.
struct SetupQueue<'a> {
    setup: Setup<'a>,
    queue: &'a QueueResult,
}

/// The one sentence about all queues: at each rate at which not all of them keep up, which grow, by how much, and which do not.
/// None where no queue grows for certain or in some blocks, and not all of them keep up.
pub(crate) fn sentence(document: &RunDocument, queues: &[QueueResult]) -> Option<String> {
    let mut all: Vec<SetupQueue> = Setup::all(document)
        .filter_map(|setup| {
            let queue = queues.iter().find(|queue| queue.step == setup.name())?;
            Some(SetupQueue { setup, queue })
        })
        .collect();
    all.sort_by(|a, b| a.queue.asked_per_s.total_cmp(&b.queue.asked_per_s));
    if all.iter().all(|held| held.queue.course == QueueCourse::KeepsUp) {
        let most = all.last()?.queue.asked_per_s;
        return Some(format!("No queue was seen to grow, up to {} msg/s.", rate(most)));
    }
    let grow = |held: &SetupQueue| matches!(held.queue.course, QueueCourse::Grows | QueueCourse::Unclear);
    if !all.iter().any(grow) {
        return None;
    }
    let (quiet, telling): (Vec<&[SetupQueue]>, Vec<&[SetupQueue]>) = all
        .chunk_by(|a, b| a.setup.same_offer(&b.setup))
        .partition(|held| held.iter().all(|held| held.queue.course == QueueCourse::KeepsUp));
    let mut told: Vec<String> = telling.iter().take(RATES_TOLD_MAX).map(|held| at_one_rate(held)).collect();
    if telling.len() > RATES_TOLD_MAX {
        told.push(format!(
            "at {} see the table",
            counted((telling.len() - RATES_TOLD_MAX) as u64, "more rate")
        ));
    }
    if !quiet.is_empty() {
        let rates: Vec<String> = quiet.iter().map(|held| rate(held[0].queue.asked_per_s)).collect();
        told.push(format!("at {} msg/s no queue grows", list(&rates)));
    }
    Some(format!("{}.", capital(&told.join("; "))))
}

/// `at 500 msg/s with acks=all the queue grows by 113 msg/s (98 to 128), and with acks=1 it does not grow`: what grows first.
fn at_one_rate(held: &[SetupQueue]) -> String {
    let mut ordered: Vec<&SetupQueue> = held.iter().collect();
    ordered.sort_by_key(|held| match held.queue.course {
        QueueCourse::Grows => 0,
        QueueCourse::Unclear => 1,
        QueueCourse::KeepsUp => 2,
        QueueCourse::TooShort => 3,
    });
    let each: Vec<String> = ordered
        .iter()
        .enumerate()
        .map(|(place, one)| {
            let what = if place == 0 { "the queue" } else { "it" };
            format!("{} {}", way(one, held), course_words(one.queue, what))
        })
        .collect();
    let rate = held.first().map_or(0.0, |held| held.queue.asked_per_s);
    format!("at {} msg/s {}", figure::rate(rate), each.join(", and "))
}

fn course_words(queue: &QueueResult, what: &str) -> String {
    match queue.course {
        QueueCourse::Grows => format!("{what} grows {}", growth(queue)),
        QueueCourse::KeepsUp => format!("{what} does not grow"),
        QueueCourse::Unclear => format!("it cannot be told whether {what} grows"),
        QueueCourse::TooShort => format!("no block was long enough to tell whether {what} grows"),
    }
}

/// `by 812 msg/s (780 to 845)`; where the interval holds 0 and yet it grows in every block, `in every block, by 294 to 1,070 msg/s`: the
/// mean is then no figure to rely on.
fn growth(queue: &QueueResult) -> String {
    let span = |low: f64, high: f64| figure::interval(low, high, rate);
    match (&queue.growth_interval, queue.blocks_span()) {
        (Some(it), _) if it.low > 0.0 => {
            let mean = queue.growth_per_s.map(rate).unwrap_or_default();
            format!("by {mean} msg/s ({})", span(it.low, it.high))
        }
        (_, Some((low, high))) if queue.growth_of_blocks_per_s.len() > 1 => {
            format!("in every block, by {} msg/s", span(low, high))
        }
        _ => format!("by {} msg/s in its one block", queue.growth_per_s.map(rate).unwrap_or_default()),
    }
}

/// The name of a setup beside those of the same rate: its acks, where these alone tell two apart.
fn way(one: &SetupQueue, all: &[SetupQueue]) -> String {
    let other = all.iter().find(|held| held.queue.step != one.queue.step).filter(|_| all.len() == 2);
    let differences = other.map(|other| one.setup.differences(&other.setup)).unwrap_or_default();
    match (&one.setup.result.durability.acks, differences.as_slice()) {
        (Some(acks), [only]) if only.contains("acks:") => format!("with acks={acks}"),
        _ => format!("with {}", quoted(one.setup.name())),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{DEFAULT, LOW, healthy};
    use crate::judge;
    use plumb_model::finding::ValidityVerdict;
    use plumb_model::plan::Purpose;

    /// The healthy run at 100 messages/s with acks=1, and its second step with acks=all as fast as this, in every block.
    fn run(served_per_s: impl Fn(u32) -> u64) -> RunDocument {
        let mut document = healthy();
        for (step, acks) in [(0, "1"), (1, "all")] {
            let plan = &mut document.plan.steps[step];
            plan.load.purpose = Purpose::Queue;
            plan.producer = [("acks".to_owned(), acks.to_owned())].into();
            let result = &mut document.steps[step];
            result.durability.acks = Some(acks.to_owned());
            result.effective.producer.insert("queue.buffering.max.messages".to_owned(), "100000".to_owned());
        }
        for row in &mut document.steps[1].series {
            row.acked = served_per_s(row.block);
        }
        document
    }

    #[test]
    fn a_queue_that_grows_by_30_messages_a_second_is_told_as_that_and_the_run_is_valid() {
        let judged = judge(&run(|_| 70));
        assert_eq!(judged.validity.verdict, ValidityVerdict::Valid, "{:#?}", judged.validity);
        let [one, all] = judged.queues.as_slice() else { panic!("{:#?}", judged.queues) };
        assert_eq!((one.step.as_str(), one.course), (LOW, QueueCourse::KeepsUp));
        assert_eq!((all.step.as_str(), all.course), (DEFAULT, QueueCourse::Grows));
        assert_eq!(all.growth_of_blocks_per_s, [30.0; 5]);
        let own = &all.limits[0];
        assert_eq!(own.setting, "queue.buffering.max.messages 100000");
        assert!((own.full_after_s - 100_000.0 / 30.0).abs() < 1e-6, "{own:?}");
        assert_eq!(all.limits[1].messages, 32_768.0, "32 MiB of 1 KiB");
        let sentence = &judged.summary[0];
        assert_eq!(
            sentence,
            "At 100 msg/s with acks=all the queue grows by 30 msg/s (30 to 30), and with acks=1 it does not grow."
        );
        assert_eq!(judged.comparisons, [], "times that are the length of a queue are held against nothing");
    }

    #[test]
    fn the_interval_rests_on_the_blocks() {
        let judged = judge(&run(|block| 70 - u64::from(block)));
        let all = &judged.queues[1];
        assert_eq!(all.growth_of_blocks_per_s, [30.0, 31.0, 32.0, 33.0, 34.0]);
        let interval = all.growth_interval.unwrap();
        // Mean 32, standard deviation 1.581, t = 2.776 with four degrees of freedom.
        assert!(
            (interval.low - 30.037).abs() < 1e-3 && (interval.high - 33.963).abs() < 1e-3,
            "{interval:?}"
        );
    }

    #[test]
    fn a_queue_that_grows_in_one_block_of_five_is_not_called_either_and_the_run_is_suspect() {
        let judged = judge(&run(|block| if block == 2 { 70 } else { 100 }));
        assert_eq!(judged.queues[1].course, QueueCourse::Unclear);
        assert_eq!(judged.validity.verdict, ValidityVerdict::Suspect);
        assert!(judged.validity.reasons.iter().any(|reason| reason.id == "queue-unclear"));
    }

    #[test]
    fn a_queue_that_grows_in_every_block_however_unlike_grows_and_says_how_unlike() {
        // Ten times as fast in the first block, as with brokers that have compiled nothing yet.
        let judged = judge(&run(|block| if block == 0 { 0 } else { 95 }));
        let queue = &judged.queues[1];
        assert_eq!(queue.course, QueueCourse::Grows, "{:?}", queue.growth_of_blocks_per_s);
        assert!(queue.growth_interval.unwrap().low < 0.0);
        assert_eq!(judged.validity.verdict, ValidityVerdict::Valid, "{:?}", judged.validity);
        assert!(
            judged.summary[0].contains("grows in every block, by 5 to 100 msg/s"),
            "{:?}",
            judged.summary
        );
    }

    #[test]
    fn each_rate_is_told_with_what_grows_there_and_what_does_not() {
        let judged = judge(&run(|_| 70));
        let [one, all] = judged.queues.as_slice() else { panic!("{:#?}", judged.queues) };
        let mut document = run(|_| 70);
        let mut queues = vec![one.clone(), all.clone()];
        // The same two setups at another rate, where nothing can be told of the one and the other keeps up.
        for (step, course) in [(0, QueueCourse::KeepsUp), (1, QueueCourse::Unclear)] {
            let name = format!("{step} at 250");
            let (mut plan, mut result) = (document.plan.steps[step].clone(), document.steps[step].clone());
            plan.name.clone_from(&name);
            plan.load.rate_per_s = Some(250.0);
            result.name.clone_from(&name);
            document.plan.steps.push(plan);
            document.steps.push(result);
            queues.push(QueueResult { step: name, asked_per_s: 250.0, course, ..queues[step].clone() });
        }
        assert_eq!(
            sentence(&document, &queues).unwrap(),
            "At 100 msg/s with acks=all the queue grows by 30 msg/s (30 to 30), and with acks=1 it does not grow; at 250 \
             msg/s with acks=all it cannot be told whether the queue grows, and with acks=1 it does not grow."
        );
    }

    #[test]
    fn without_the_purpose_the_same_run_is_invalid() {
        let mut document = run(|_| 70);
        document.plan.steps[1].load.purpose = Purpose::Path;
        assert_eq!(judge(&document).validity.verdict, ValidityVerdict::Invalid);
    }
}
