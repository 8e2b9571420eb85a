//! The system's own Prometheus on series whose every rise is known.

use super::recorded::Prometheus;
use super::{DAY_S, START_S, left, request, source, table};
use plumb_fleet::{FleetGroups, GroupNames, Sampling};
use plumb_model::fleet::{FleetGroup, SampleKind};
use std::fmt::Write as _;
use std::sync::{Mutex, Weak};

const STEP_S: i64 = 300;
const SAMPLES: i64 = 4 * DAY_S / STEP_S;

static SHARED: Mutex<Weak<Prometheus>> = Mutex::new(Weak::new());

/// A series with a sample every five minutes; `value(sample)`, none where there is a gap.
fn series(text: &mut String, name: &str, value: impl Fn(i64) -> Option<i64>) {
    for sample in 0..SAMPLES {
        if let Some(value) = value(sample) {
            // Scraped 7.125 s after the full five minutes.
            writeln!(text, "{name} {value} {}.125", START_S + sample * STEP_S + 7).unwrap();
        }
    }
}

/// Sample of a day and hour.
const fn at(day: i64, hour: i64) -> i64 {
    (day * 24 + hour) * 12
}

/// Rises of 10 a sample, 2880 a day, with what servers do: restart, lose samples, have two interfaces.
fn fleet() -> String {
    let mut text = "# TYPE drops counter\n".to_owned();
    let steady = |sample| Some(1000 + 10 * sample);
    series(&mut text, "drops_total{instance=\"steady\",group=\"old\",site=\"a\"}", steady);
    // It restarts on the second day and has 4 at the next sample, where 10 more would have been.
    let restarts = |sample| Some(if sample < at(1, 6) { 10 * sample } else { 4 + 10 * (sample - at(1, 6)) });
    series(&mut text, "drops_total{instance=\"restarts\",group=\"new\",site=\"b\"}", restarts);
    // Nothing is scraped for three hours of the second day; the counter goes on.
    let gap = |sample| (sample <= at(1, 10) || sample >= at(1, 13)).then_some(10 * sample);
    series(&mut text, "drops_total{instance=\"gap\",group=\"new\",site=\"b\"}", gap);
    // Nothing from 22:00 on the second day to 02:00 on the third.
    let night = |sample| (sample <= at(1, 22) || sample >= at(2, 2)).then_some(10 * sample);
    series(&mut text, "drops_total{instance=\"night\",group=\"old\",site=\"a\"}", night);
    let half = |sample| Some(5 * sample);
    series(&mut text, "drops_total{instance=\"two\",group=\"other\",device=\"eth0\"}", half);
    series(&mut text, "drops_total{instance=\"two\",group=\"other\",device=\"eth1\"}", half);
    text.push_str("# TYPE sent counter\n");
    for server in ["steady", "restarts", "gap", "night"] {
        series(&mut text, &format!("sent_total{{instance=\"{server}\"}}"), |sample| Some(100 * sample));
    }
    text.push_str("# TYPE p99 gauge\n");
    for (server, level) in [("steady", 3), ("restarts", 7)] {
        series(&mut text, &format!("p99{{instance=\"{server}\"}}"), |_| Some(level));
    }
    text
}

#[test]
fn raw_samples_of_a_real_prometheus_give_every_rise_once_and_gaps_stay_gaps() {
    let prometheus = Prometheus::shared(&SHARED, fleet);
    let mut asked = request(&prometheus.url, "drops_total");
    let drops = table(&asked).unwrap();
    assert_eq!(drops.intervals_start_s, [0, 1, 2, 3].map(|day| START_S + day * DAY_S));
    let metric = |name: &str| {
        let server = drops.servers.iter().find(|server| server.name == name).unwrap();
        (
            server.metric.iter().map(|value| value.unwrap().round()).collect::<Vec<_>>(),
            server.metric_basis.covered[1],
        )
    };
    assert_eq!(metric("steady"), (vec![2880.0; 4], 1.0));
    assert_eq!(metric("two"), (vec![2880.0; 4], 1.0));
    assert_eq!(metric("restarts").0, [2880.0, 2874.0, 2880.0, 2880.0]);
    // Within a day the counter tells what happened in the gap.
    assert_eq!(metric("gap"), (vec![2880.0; 4], 1.0));
    // Over midnight nobody knows which day has it: both days are scaled from the rest.
    assert_eq!(metric("night").0, [2880.0; 4]);
    assert_eq!(
        left(&drops, "over a gap between").unwrap(),
        (1, "night at 2026-03-03T02:00:07.125Z".to_owned())
    );
    assert_eq!(left(&drops, "with gaps").unwrap().0, 2);
    assert_eq!(left(&drops, "resets").unwrap(), (1, "restarts at 2026-03-02T06:00:07.125Z".to_owned()));

    source(&mut asked).load = Some("sent_total{instance=~\".+\"}".to_owned());
    source(&mut asked).group_label = Some("group".to_owned());
    source(&mut asked).site_label = Some("site".to_owned());
    asked.groups =
        FleetGroups::Source { names: GroupNames { control: "old".to_owned(), test: "new".to_owned() } };
    let grouped = table(&asked).unwrap();
    let servers: Vec<_> = grouped
        .servers
        .iter()
        .map(|server| (server.name.as_str(), server.group, server.site.as_str()))
        .collect();
    let (control, test) = (Some(FleetGroup::Control), Some(FleetGroup::Test));
    assert_eq!(
        servers,
        [("gap", test, "b"), ("night", control, "a"), ("restarts", test, "b"), ("steady", control, "a")]
    );
    assert_eq!(left(&grouped, "neither group").unwrap(), (1, "two".to_owned()));
    assert_eq!(
        grouped.servers[3].load.iter().map(|load| load.unwrap().round()).collect::<Vec<_>>(),
        [28_800.0; 4]
    );
}

#[test]
fn expressions_levels_and_their_faults_on_a_real_prometheus() {
    let prometheus = Prometheus::shared(&SHARED, fleet);
    let mut asked = request(&prometheus.url, "max by (instance) (p99)");
    asked.metric_kind = Sampling::Stated(SampleKind::Level);
    // More points in four days than Prometheus gives at a time (11,000): it is asked in pieces.
    asked.step_s = Some(15.0);
    let levels = table(&asked).unwrap();
    assert_eq!(levels.servers[0].metric, [Some(7.0); 4]);
    assert_eq!(levels.servers[1].metric, [Some(3.0); 4]);

    let mut error = |metric: &str, kind, step_s| {
        source(&mut asked).metric = metric.to_owned();
        (asked.metric_kind, asked.step_s) = (Sampling::Stated(kind), step_s);
        table(&asked).unwrap_err().to_string()
    };
    let refused = error("max by (instance) (p99", SampleKind::Level, Some(300.0));
    assert!(refused.starts_with("the metrics server refuses (bad_data): "), "{refused}");
    let nothing = error("no_such_total", SampleKind::Counter, None);
    assert!(nothing.contains("no series of \"no_such_total\" in the window"), "{nothing}");
    let two = error("drops_total", SampleKind::Level, None);
    assert!(
        two.contains("several series for the server \"two\"") && two.contains("device=\"eth0\""),
        "{two}"
    );
    let step = error("rate(drops_total[5m])", SampleKind::Level, None);
    assert!(step.contains("needs a step"), "{step}");
    let counter = error("sum(drops_total)", SampleKind::Counter, None);
    assert!(counter.contains("a counter has to be a selector"), "{counter}");
}
