//! The clocks of two hosts: by how much they differ and what that means first, then what it rests on.

use super::{DISTRIBUTION, cautions, conditions, distribution, time, title};
use crate::sheet::{Column, Section, Sheet};
use plumb_model::figure;
use plumb_model::probe::{
    ClaimSource, ClockClaim, ClockDifference, ClockOffsetProbe, ClockRelation, RateBand, SteppedClock,
    SteppedWhich,
};

/// From so many steps on another explanation is as likely (ours).
const STEPS_MANY: usize = 3;

/// The whole sheet.
pub fn sheet(document: &ClockOffsetProbe) -> Sheet {
    let mut sections = vec![answer(document)];
    sections.extend(course(document));
    sections.extend([way(document), rests_on(document), conditions(&document.conditions)]);
    Sheet {
        title: title(&format!("Clock of {} against this host's", document.peer), &document.conditions),
        findings: findings(document),
        cautions: cautions(&document.conditions),
        sections,
        ..Sheet::default()
    }
}

fn findings(document: &ClockOffsetProbe) -> Vec<String> {
    let mut findings: Vec<String> = Vec::new();
    if document.relation == ClockRelation::Contradicted {
        findings.push(
            "Both sides name the same boot of the same machine, and their clocks differ all the same: one may be a copy of a virtual \
             machine that was running, or a library makes up its clock. What the exchanges say is shown."
                .to_owned(),
        );
    }
    findings.extend(document.steps.iter().take(STEPS_MANY).map(stepped));
    if document.steps.len() > STEPS_MANY {
        findings.push(format!(
            "In all clocks stepped {}. So many may also be one clock that runs faster or slower than an oscillator can, by more than \
             {}.",
            figure::counted(document.steps.len(), "time"),
            figure::ppm(document.plan.rate_max_ppm)
        ));
    }
    if let (Some(false), Some(difference)) = (document.claims_hold, &document.difference) {
        findings.push(format!(
            "The clocks are further apart than both hosts say that they can be: {}. At least one of the two follows a source that is \
             wrong, or that it reaches over ways of unequal length.",
            claims(document, difference)
        ));
    }
    findings
}

fn stepped(step: &SteppedClock) -> String {
    let who = match step.clock {
        SteppedWhich::Oscillators => {
            "The clocks that nobody can set stepped against each other; one machine was moved, suspended or held"
        }
        SteppedWhich::WallHere => "This host's wall clock was set",
        SteppedWhich::WallThere => "The peer's wall clock was set",
    };
    let by = match step.low_ns.zip(step.high_ns) {
        Some((low_ns, high_ns)) => {
            let (middle, half) = (middle(low_ns, high_ns), low_ns.abs_diff(high_ns) as f64 / 2.0);
            let way = if middle < 0.0 { "back" } else { "ahead" };
            format!(", {way} by {}", figure::time_within(middle.abs(), half))
        }
        None => ", by how much is not known".to_owned(),
    };
    format!(
        "{who}, {} after the beginning{by}. The figures are of the time since the last step.",
        figure::time_interval(step.after_ns as f64, step.before_ns as f64)
    )
}

fn middle(low_ns: i64, high_ns: i64) -> f64 {
    f64::midpoint(low_ns as f64, high_ns as f64)
}

fn answer(document: &ClockOffsetProbe) -> Section {
    let mut lines = Vec::new();
    match (document.relation, &document.difference) {
        (ClockRelation::OneClock, Some(_)) => lines.push(
            "Both sides are on one machine and read one clock: it is the same time, with no error. Latencies between them need no \
             correction."
                .to_owned(),
        ),
        (_, Some(difference)) => {
            lines.push(ahead(difference));
            lines.push(format!(
                "A latency from one of these hosts to the other, corrected by this, may still be off by {} (half of the band), all \
                 such latencies alike. The band holds however unequal the ways there and back are.",
                figure::time(difference.half_ns() as f64)
            ));
        }
        (_, None) => lines.push(
            "By how much the clocks differ is not known: too little was exchanged since the last step.".to_owned(),
        ),
    }
    if document.relation == ClockRelation::OneMachine {
        lines.push(
            "Both sides are on one machine, in time namespaces that shift their monotonic clocks: the wall clock is one all the same."
                .to_owned(),
        );
    }
    if document.relation != ClockRelation::OneClock {
        lines.extend(drift(document));
        lines.push(held_against(document));
    }
    if document.steps.is_empty() {
        lines.push(
            "No clock was seen to step; a step that is smaller than the band passes unseen.".to_owned(),
        );
    }
    Section::sentences(
        "How far the clocks differ",
        "the peer's over this host's, when the probe ended",
        lines,
    )
}

fn ahead(difference: &ClockDifference) -> String {
    let ClockDifference { ahead_ns, low_ns, high_ns, .. } = *difference;
    let within = figure::time_within(ahead_ns.unsigned_abs() as f64, difference.half_ns() as f64);
    let estimate = format!("{within} {}", if ahead_ns < 0 { "behind" } else { "ahead" });
    match () {
        () if low_ns > 0 || high_ns < 0 => {
            format!(
                "The peer's wall clock is {estimate}{} this host's.",
                if ahead_ns < 0 { "" } else { " of" }
            )
        }
        () => format!(
            "The wall clocks may be equal: the peer's is at most {} behind and at most {} ahead (estimate: {estimate}).",
            figure::time(low_ns.unsigned_abs() as f64),
            figure::time(high_ns.unsigned_abs() as f64)
        ),
    }
}

fn drift(document: &ClockOffsetProbe) -> Option<String> {
    let rates = document.rates.as_ref()?;
    let range = |rate: &RateBand| {
        format!("{} ppm", figure::interval(rate.low_ppm, rate.high_ppm, |ppm| figure::significant(ppm, 3)))
    };
    let (walls, oscillators) = (&rates.wall_clocks, &rates.oscillators);
    let bound = document.plan.rate_max_ppm;
    if oscillators.low_ppm <= -bound && oscillators.high_ppm >= bound {
        return Some(
            "How the clocks drift cannot be told from exchanges over so short a time: try a longer --duration.".to_owned(),
        );
    }
    let drift = match () {
        () if walls.low_ppm > 0.0 || walls.high_ppm < 0.0 => {
            let way = if walls.low_ppm > 0.0 { "faster" } else { "slower" };
            let estimate = figure::ppm(walls.estimate_ppm);
            format!("The peer's wall clock runs {way} than this host's: {estimate} ({})", range(walls))
        }
        () => format!("The wall clocks may run alike: the peer's drifts by {}", range(walls)),
    };
    Some(format!(
        "{drift}. Its oscillator, which no time service steers: {} ({}).",
        figure::ppm(oscillators.estimate_ppm),
        range(oscillators)
    ))
}

/// The claims of both hosts in words.
fn claims(document: &ClockOffsetProbe, difference: &ClockDifference) -> String {
    let claim = |claim: Option<&ClockClaim>| match claim {
        Some(ClockClaim { error_ns, source }) => {
            let who = match source {
                ClaimSource::TimeService => "its time service",
                ClaimSource::Kernel => "its kernel",
            };
            format!("{} by {who}", figure::time(*error_ns as f64))
        }
        None => "unknown".to_owned(),
    };
    format!(
        "this host claims to be off by at most {}, the peer {}, and the band is {}",
        claim(document.claim_here.as_ref()),
        claim(document.claim_there.as_ref()),
        figure::time_interval(difference.low_ns as f64, difference.high_ns as f64)
    )
}

fn held_against(document: &ClockOffsetProbe) -> String {
    match (document.claims_hold, &document.difference) {
        (Some(true), Some(difference)) => {
            format!("What both hosts claim of their clocks can be: {}.", claims(document, difference))
        }
        (Some(false), _) => "What both hosts claim of their clocks cannot be: see above.".to_owned(),
        _ => {
            let silent = match (document.claim_here, document.claim_there) {
                (None, None) => "neither host's clock is kept by a time service that says how well",
                (None, Some(_)) => "nothing says how well this host's clock is kept",
                _ => "the peer has nothing that says how well its clock is kept",
            };
            format!("There is no claim to hold this against: {silent}.")
        }
    }
}

fn course(document: &ClockOffsetProbe) -> Option<Section> {
    if document.course.is_empty() {
        return None;
    }
    let columns = [Column::number("after"), Column::number("ahead by")];
    let row = |at: &ClockDifference| {
        vec![figure::time(at.at_ns as f64), figure::time_within(at.ahead_ns as f64, at.half_ns() as f64)]
    };
    let rows = document.course.iter().map(row).collect();
    Some(Section::table(
        "Course",
        "the wall clocks by the exchanges alone; negative: the peer is behind",
        columns,
        rows,
    ))
}

fn way(document: &ClockOffsetProbe) -> Section {
    let mut columns = vec![Column::number("exchanges"), Column::number("least")];
    columns.extend(DISTRIBUTION.into_iter().skip(1));
    let mut cells = vec![figure::count(document.exchanges), time(document.least_round_trip_ns)];
    cells.extend(distribution(&document.round_trip).into_iter().skip(1));
    Section::table(
        "Round trips of the exchanges",
        "without what the peer took between question and answer",
        columns,
        vec![cells],
    )
}

fn rests_on(document: &ClockOffsetProbe) -> Section {
    let mut lines = vec![format!(
        "Certain: the peer's clock is between what it would be had the whole round trip gone there, and had it all gone back. Taken for \
         granted: two oscillators differ by at most {} ppm, and keep within {} ppm of one rate for {} s.",
        figure::plain(document.plan.rate_max_ppm),
        figure::plain(document.plan.wander_max_ppm),
        figure::plain(document.plan.window_ns as f64 / 1e9)
    )];
    if let (Some(measured), Some(least_ns)) = (&document.measured, document.least_round_trip_ns) {
        let width_ns = measured.low_ns.abs_diff(measured.high_ns);
        let ratio = width_ns as f64 / least_ns.max(1) as f64;
        lines.push(format!(
            "The band of the exchanges is {} wide, {} times the least round trip. A quicker way makes it narrower; more time hardly does.",
            figure::time(width_ns as f64),
            figure::ratio_digits(ratio)
        ));
    }
    Section::sentences("What it rests on", "", lines)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plain, quiet};
    use super::*;
    use plumb_model::observation::Distribution;
    use plumb_model::probe::{ClockOffsetPlan, ClockRates, ProbeKind};

    fn difference(low_ns: i64, high_ns: i64) -> ClockDifference {
        ClockDifference { at_ns: 9_900_000_000, ahead_ns: i64::midpoint(low_ns, high_ns), low_ns, high_ns }
    }

    fn document(low_ns: i64, high_ns: i64) -> ClockOffsetProbe {
        let rate = RateBand { estimate_ppm: 0.5, low_ppm: -1.0, high_ppm: 2.0 };
        let difference = difference(low_ns, high_ns);
        ClockOffsetProbe {
            conditions: quiet(ProbeKind::ClockOffset),
            plan: ClockOffsetPlan {
                duration_ns: 10_000_000_000,
                exchanges_at_an_end: 50,
                exchanges_per_s: 10.0,
                rate_max_ppm: 200.0,
                wander_max_ppm: 0.2,
                window_ns: 30_000_000_000,
            },
            peer: "192.0.2.7:7586".to_owned(),
            relation: ClockRelation::TwoMachines,
            difference: Some(difference),
            latency_error_ns: Some(difference.half_ns()),
            measured: Some(difference),
            rates: Some(ClockRates { oscillators: rate, wall_clocks: rate }),
            exchanges: 200,
            least_round_trip_ns: Some(50_000),
            round_trip: Distribution::default(),
            course: vec![difference],
            steps: vec![],
            claim_here: None,
            claim_there: None,
            claims_hold: None,
        }
    }

    fn text(document: &ClockOffsetProbe) -> String {
        plain(&sheet(document))
    }

    #[test]
    fn the_difference_is_said_first_with_its_band_and_what_it_means_for_latencies() {
        let ahead = text(&document(12_314_000, 12_376_000));
        assert!(
            ahead.contains("The peer's wall clock is 12.345 ms ± 31 µs ahead of this host's."),
            "{ahead}"
        );
        assert!(ahead.contains("may still be off by 31.0 µs (half of the band)"), "{ahead}");
        assert_eq!(ahead.matches("12.345 ms ± 31 µs").count(), 2, "in the course too: {ahead}");
        assert!(ahead.find("ahead of").unwrap() < ahead.find("Round trips").unwrap());
        let behind = text(&document(-60_000_031_000, -60_000_001_000));
        assert!(behind.contains("is 60.000016 s ± 15 µs behind this host's."), "{behind}");
        let equal = text(&document(-20_000, 42_000));
        assert!(
            equal.contains("may be equal: the peer's is at most 20.0 µs behind and at most 42.0 µs ahead (estimate: 11 µs ± 31 µs ahead)"),
            "{equal}"
        );
        assert!(equal.contains("1.24 times the least round trip"), "{equal}");
        assert!(!equal.contains("FINDING"), "{equal}");
        assert!(
            equal.contains("may run alike: the peer's drifts by -1.00 to 2.00 ppm. Its oscillator"),
            "{equal}"
        );
        let mut short = document(1, 2);
        short.rates.as_mut().unwrap().oscillators =
            RateBand { estimate_ppm: 0.0, low_ppm: -200.0, high_ppm: 200.0 };
        assert!(text(&short).contains("cannot be told from exchanges over so short a time"));
        let mut slow = document(1, 2);
        slow.rates.as_mut().unwrap().wall_clocks =
            RateBand { estimate_ppm: -3.0, low_ppm: -4.0, high_ppm: -2.0 };
        assert!(text(&slow).contains("runs slower than this host's: -3.00 ppm (-4.00 to -2.00 ppm)"));
    }

    #[test]
    fn one_clock_has_no_error_and_nothing_to_correct() {
        let one = ClockOffsetProbe { relation: ClockRelation::OneClock, ..document(0, 0) };
        let text = text(&one);
        assert!(text.contains("read one clock: it is the same time, with no error"), "{text}");
        assert!(!text.contains("drift") && !text.contains("claim"), "{text}");
    }

    #[test]
    fn a_difference_that_is_not_known_is_not_claimed() {
        let nothing = ClockOffsetProbe {
            difference: None,
            latency_error_ns: None,
            measured: None,
            rates: None,
            course: vec![],
            ..document(0, 0)
        };
        let text = text(&nothing);
        assert!(text.contains("is not known: too little was exchanged"), "{text}");
        assert!(!text.contains("Course") && !text.contains("half of the band"), "{text}");
    }

    #[test]
    fn claims_are_held_against_the_band() {
        let claim = |error_ns| Some(ClockClaim { error_ns, source: ClaimSource::TimeService });
        let of = |error_ns, hold| ClockOffsetProbe {
            claim_here: claim(error_ns),
            claim_there: claim(error_ns),
            claims_hold: Some(hold),
            ..document(5_000_000, 5_100_000)
        };
        let wrong = text(&of(1_000, false));
        assert!(wrong.contains("FINDING  The clocks are further apart than both hosts say"), "{wrong}");
        assert!(wrong.contains("off by at most 1.00 µs by its time service"), "{wrong}");
        let right = text(&of(9_000_000, true));
        assert!(right.contains("can be: this host claims") && !right.contains("FINDING"), "{right}");
        assert!(text(&document(1, 2)).contains("neither host's clock is kept by a time service"));
    }

    #[test]
    fn every_step_says_whose_clock_it_was_when_and_how_far_and_many_say_that_they_may_be_drift() {
        let step = |clock, low_ns, high_ns| SteppedClock {
            clock,
            after_ns: 4_000_000_000,
            before_ns: 4_100_000_000,
            low_ns,
            high_ns,
        };
        let back = step(SteppedWhich::WallThere, Some(-2_000_000_500), Some(-1_999_999_500));
        let unknown = step(SteppedWhich::Oscillators, None, None);
        let two = text(&ClockOffsetProbe { steps: vec![back, unknown], ..document(1, 2) });
        let said = "The peer's wall clock was set, 4.00 to 4.10 s after the beginning, back by 2.00000000 s ± 500 ns.";
        assert!(two.contains(said), "{two}");
        assert!(two.contains("by how much is not known") && !two.contains("So many"), "{two}");
        let many = text(&ClockOffsetProbe { steps: vec![unknown; 9], ..document(1, 2) });
        assert!(many.contains("In all clocks stepped 9 times") && many.contains("+200 ppm"), "{many}");
    }

    #[test]
    fn a_machine_that_contradicts_itself_is_a_finding() {
        let copy = ClockOffsetProbe { relation: ClockRelation::Contradicted, ..document(500, 600) };
        assert!(text(&copy).contains("FINDING  Both sides name the same boot"));
        let shifted = ClockOffsetProbe { relation: ClockRelation::OneMachine, ..document(-5, 6) };
        assert!(text(&shifted).contains("time namespaces that shift"));
    }
}
