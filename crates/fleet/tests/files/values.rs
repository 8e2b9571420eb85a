//! From samples to the value of a server in an interval.

use super::*;

#[test]
fn increments_are_summed_by_server_and_day() {
    let text = format!("{HEADER}{}{}", six_hourly("b", 3, |_| 1.0), six_hourly("a", 3, f64::from));
    let table = Scene::new(SampleKind::Increments).samples(&text).table();
    assert_eq!(table.intervals_start_s, [1_772_323_200, 1_772_409_600, 1_772_496_000]);
    let names: Vec<&str> = table.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(table.servers[0].metric, [Some(6.0), Some(22.0), Some(38.0)]);
    assert_eq!(table.servers[1].metric, [Some(4.0); 3]);
    assert_eq!(table.servers[1].metric_basis.covered, [1.0; 3]);
    assert_eq!(table.servers[0].load, []);
    assert_eq!(table.exclusions, []);
}

#[test]
fn levels_are_averaged_and_empty_cells_are_missing_not_0() {
    let text =
        format!("{HEADER}{}", six_hourly("a", 2, f64::from)).replace(",2\n", ",\n").replace(",5\n", ",NaN\n");
    let table = Scene::new(SampleKind::Level).samples(&text).table();
    assert_eq!(table.servers[0].metric, [Some(4.0 / 3.0), Some((4.0 + 6.0 + 7.0) / 3.0)]);
    assert_eq!(table.servers[0].metric_basis.covered, [0.75; 2]);
    assert_eq!(left(&table, "empty or no number").unwrap(), (2, "a at 2026-03-01T12:00:00Z".to_owned()));
}

#[test]
fn counters_that_restart_keep_every_rise_and_are_counted() {
    // Rises of 10 a sample; the restart after the fifth sample leaves 7 on the counter.
    let value = |sample: u32| {
        if sample < 5 { 1000.0 + 10.0 * f64::from(sample) } else { f64::from(sample - 5) * 10.0 + 7.0 }
    };
    let text = format!("{HEADER}{}", six_hourly("a", 3, value));
    let table = Scene::new(SampleKind::Counter).samples(&text).table();
    // The last day's last sample begins a rise that nobody ends: 30 in 18 hours are 40 a day.
    assert_eq!(table.servers[0].metric, [Some(40.0), Some(37.0), Some(40.0)]);
    assert_eq!(left(&table, "resets").unwrap(), (1, "a at 2026-03-02T06:00:00Z".to_owned()));
    assert_eq!(table.exclusions.len(), 1);
}

#[test]
fn a_state_that_is_called_a_counter_is_an_error() {
    let wave = |sample: u32| 100.0 + f64::from(sample % 7) + f64::from(sample % 3);
    let text = format!("{HEADER}{}", six_hourly("a", 28, wave));
    let error = Scene::new(SampleKind::Counter).samples(&text).error();
    assert!(
        error.starts_with("the metric falls in ") && error.contains("such as a at 2026-03-01T18"),
        "{error}"
    );
}

#[test]
fn an_interval_with_less_than_half_of_its_samples_has_no_value_and_one_with_more_is_scaled() {
    let text = format!("{HEADER}{}{}", six_hourly("a", 3, |_| 6.0), six_hourly("b", 3, |_| 6.0));
    let without = |sample: &&str| {
        let missing = ["a,2026-03-02T06", "b,2026-03-02T00", "b,2026-03-02T06", "b,2026-03-02T18"];
        !missing.iter().any(|missing| sample.starts_with(missing))
    };
    let text = text.lines().filter(without).collect::<Vec<_>>().join("\n");
    let table = Scene::new(SampleKind::Increments).samples(&text).table();
    assert_eq!(table.servers[0].metric, [Some(24.0); 3]);
    assert_eq!(table.servers[0].metric_basis.covered, [1.0, 0.75, 1.0]);
    assert_eq!(table.servers[1].metric, [Some(24.0), None, Some(24.0)]);
    assert_eq!(left(&table, "with gaps").unwrap(), (1, "a from 2026-03-02T00:00:00Z".to_owned()));
    assert_eq!(left(&table, "less than half").unwrap(), (1, "b from 2026-03-02T00:00:00Z".to_owned()));
}

#[test]
fn days_that_the_samples_cover_in_part_and_the_day_of_the_change_are_left_out() {
    let text = format!("{HEADER}{}", six_hourly("a", 6, |_| 1.0));
    let text = text.replace("a,2026-03-01T00:00:00Z,1\n", "").replace("a,2026-03-06T18:00:00Z,1\n", "");
    let mut scene = Scene::new(SampleKind::Increments).samples(&text);
    scene.request.window.changed_at = Some("2026-03-03T10:00:00Z".parse().unwrap());
    let table = scene.table();
    assert_eq!(table.intervals_start_s, [1_772_409_600, 1_772_582_400, 1_772_668_800]);
    assert_eq!(left(&table, "only in part").unwrap(), (2, "2026-03-01T00:00:00Z".to_owned()));
    assert_eq!(left(&table, "the change came").unwrap(), (1, "2026-03-03T00:00:00Z".to_owned()));
    // A change at midnight cuts no day.
    scene.request.window.changed_at = Some("2026-03-03T00:00:00Z".parse().unwrap());
    assert_eq!(scene.table().intervals_start_s.len(), 4);
}

#[test]
fn days_follow_the_zone_through_the_change_of_daylight_time() {
    let hourly = |hour: i64| format!("a,{},1\n", 1_774_652_400 + hour * 3600);
    // From midnight of 28 March 2026 in Berlin: 24, 23 and 24 hours.
    let text = format!("{HEADER}{}", (0..71).map(hourly).collect::<String>());
    let mut scene = Scene::new(SampleKind::Increments).samples(&text);
    scene.request.window.zone = TimeZone::get("Europe/Berlin").unwrap();
    let table = scene.table();
    assert_eq!(table.servers[0].metric, [Some(24.0), Some(23.0), Some(24.0)]);
    assert_eq!(table.servers[0].metric_basis.covered, [1.0; 3]);
    assert_eq!(table.exclusions, []);
}

#[test]
fn one_row_a_server_and_day_is_enough() {
    let text = "server,time,drops\na,2026-03-01,5\nb,2026-03-01,6\na,2026-03-02,7\nb,2026-03-02,8\n";
    let table = Scene::new(SampleKind::Increments).samples(text).table();
    assert_eq!(table.servers[0].metric, [Some(5.0), Some(7.0)]);
    assert_eq!(table.exclusions, []);
}

#[test]
fn rows_in_any_order_and_in_several_files_give_what_they_give_in_order() {
    let (first, second) =
        (six_hourly("a", 4, |sample| 5.0 * f64::from(sample)), six_hourly("b", 4, f64::from));
    let in_order = Scene::new(SampleKind::Counter).samples(&format!("{HEADER}{first}{second}")).table();
    let mut lines: Vec<&str> = first.lines().chain(second.lines()).collect();
    lines.sort_by_key(|line| line.bytes().rev().collect::<Vec<u8>>());
    let (one, other) = lines.split_at(11);
    let shuffled = Scene::new(SampleKind::Counter)
        .samples(&format!("{HEADER}{}\n", one.join("\n")))
        .samples(&format!("{HEADER}{}\n", other.join("\n")));
    assert_eq!(shuffled.table(), in_order);
}

#[test]
fn the_same_sample_twice_counts_once_and_one_that_differs_is_told() {
    let text = format!("{HEADER}{}", six_hourly("a", 2, |_| 1.0));
    let again = "a,2026-03-02T06:00:00Z,1\na,2026-03-02T12:00:00Z,9\n";
    let table = Scene::new(SampleKind::Increments).samples(&format!("{text}{again}")).table();
    assert_eq!(table.servers[0].metric, [Some(4.0); 2]);
    assert_eq!(left(&table, "twice, alike").unwrap(), (1, "a at 2026-03-02T06:00:00Z".to_owned()));
    assert_eq!(left(&table, "that differ").unwrap(), (1, "a at 2026-03-02T12:00:00Z".to_owned()));
}

#[test]
fn a_window_leaves_the_rest_out_and_counts_it() {
    let text = format!("{HEADER}{}", six_hourly("a", 6, |_| 1.0));
    let mut scene = Scene::new(SampleKind::Increments).samples(&text);
    scene.request.window.from = Some("2026-03-02T12:00:00Z".parse().unwrap());
    scene.request.window.until = Some("2026-03-05T00:00:00Z".parse().unwrap());
    let table = scene.table();
    assert_eq!(table.intervals_start_s, [1_772_496_000, 1_772_582_400]);
    assert_eq!(left(&table, "outside the window").unwrap().0, 14);
    scene.request.window.from = Some("2030-01-01T00:00:00Z".parse().unwrap());
    scene.request.window.until = None;
    assert!(scene.error().contains("24 of 24 rows are outside the window"), "{}", scene.error());
}

#[test]
fn a_server_with_another_spacing_is_judged_by_its_own_and_told() {
    let slow = "c,2026-03-01T00:00:00Z,3\nc,2026-03-01T12:00:00Z,3\nc,2026-03-02T00:00:00Z,3\nc,2026-03-02T12:00:00Z,3\n";
    let text = format!("{HEADER}{}{}{slow}", six_hourly("a", 2, |_| 1.0), six_hourly("b", 2, |_| 1.0));
    let mut scene = Scene::new(SampleKind::Increments).samples(&text);
    let table = scene.table();
    assert_eq!(table.servers[2].metric, [Some(6.0); 2]);
    assert_eq!(table.servers[2].metric_basis.covered, [1.0; 2]);
    assert_eq!(left(&table, "further apart").unwrap(), (1, "c: 43200 s, not 21600 s".to_owned()));
    // Told what the spacing is, half of the samples are missing.
    scene.request.step_s = Some(21_600.0);
    assert_eq!(scene.table().servers[2].metric_basis.covered, [0.5; 2]);
}

#[test]
fn intervals_shorter_than_the_spacing_and_spans_without_a_whole_interval_are_errors() {
    let text = format!("{HEADER}{}", six_hourly("a", 2, |_| 1.0));
    let mut scene = Scene::new(SampleKind::Increments).samples(&text);
    scene.request.window.interval = FleetInterval::Seconds(3600);
    assert!(
        scene.error().starts_with("samples are 21600 s apart, intervals 3600 s long"),
        "{}",
        scene.error()
    );
    scene.request.window.interval = FleetInterval::Seconds(7 * 86_400);
    assert!(scene.error().contains("cover no whole interval"), "{}", scene.error());
}

#[test]
fn several_rows_for_each_server_and_time_are_an_error_unless_a_column_tells_them_apart() {
    let rows = |part: &str, factor: f64| {
        let rows = six_hourly("a", 4, |sample| factor * f64::from(1 + sample % 3));
        rows.lines().map(|line| format!("{line},{part}\n")).collect::<String>()
    };
    let text = format!("server,time,drops,nic\n{}{}", rows("eth0", 1.0), rows("eth1", 10.0));
    let mut scene = Scene::new(SampleKind::Increments).samples(&text);
    assert_eq!(
        scene.error(),
        "16 of 32 rows have a server and time that an earlier one has, with other values, such as a at 2026-03-01T00:00:00Z; expected \
         one row for each"
    );
    scene.columns().part = Some("nic".to_owned());
    let table = scene.table();
    // 1 + 2 + 3 + 1, and so on round.
    assert_eq!(table.servers[0].metric, [Some(77.0), Some(88.0), Some(99.0), Some(77.0)]);
    assert_eq!((table.servers.len(), table.exclusions.as_slice()), (1, [].as_slice()));
}

#[test]
fn each_part_of_a_server_is_a_counter_of_its_own_and_one_that_is_away_is_told() {
    let rows = |part: &str, value: &dyn Fn(u32) -> f64| {
        let rows = six_hourly("a", 4, value);
        rows.lines().map(|line| format!("{line},{part}\n")).collect::<Vec<String>>()
    };
    let restarted = |sample: u32| if sample < 6 { 500.0 + f64::from(sample) } else { f64::from(sample - 5) };
    let (steady, mut restarted) =
        (rows("eth0", &|sample| 10.0 * f64::from(sample)), rows("eth1", &restarted));
    let read = |text: String| {
        let mut scene = Scene::new(SampleKind::Counter).samples(&format!("server,time,drops,nic\n{text}"));
        scene.columns().part = Some("nic".to_owned());
        scene.table()
    };
    let table = read(format!("{}{}", steady.concat(), restarted.concat()));
    assert_eq!(table.servers[0].metric[..3], [Some(44.0); 3]);
    assert_eq!(left(&table, "resets").unwrap(), (1, "a at 2026-03-02T12:00:00Z".to_owned()));
    restarted.drain(4..8);
    let table = read(format!("{}{}", steady.concat(), restarted.concat()));
    assert_eq!(table.servers[0].metric[1], Some(40.0));
    assert_eq!(left(&table, "one of its parts").unwrap(), (1, "a from 2026-03-02T00:00:00Z".to_owned()));
    let mut levels = Scene::new(SampleKind::Level).samples("server,time,drops,nic\n");
    levels.columns().part = Some("nic".to_owned());
    assert!(levels.error().contains("names parts whose metrics are added up"), "{}", levels.error());
}

#[test]
fn a_column_that_only_rises_is_no_count_of_each_step_unless_somebody_says_so() {
    let rising =
        |server: &str, jump: f64| {
            six_hourly(server, 5, move |sample| {
                if sample < 12 { jump + 3.0 * f64::from(sample) } else { f64::from(sample) }
            })
        };
    let steady = six_hourly("c", 5, |sample| f64::from(sample * 7 % 5));
    let text = format!("{HEADER}{}{}{steady}", rising("a", 500.0), rising("b", 900.0));
    let mut scene = Scene::new(SampleKind::Increments).samples(&text);
    scene.table();
    scene.request.metric_kind = Sampling::Usual(SampleKind::Increments);
    assert_eq!(
        scene.error(),
        "the metric looks like a counter: it rises and hardly ever falls on 2 of 3 servers; say drops:counter if it counts since the \
         start of a process, or drops:increments if each row has what happened in it"
    );
    let rare = |server: &str, at: u32| six_hourly(server, 5, move |sample| f64::from(u8::from(sample == at)));
    for text in [six_hourly("a", 5, |sample| f64::from(sample * 7 % 5)), rare("a", 3) + &rare("b", 19)] {
        let mut scene = Scene::new(SampleKind::Increments).samples(&format!("{HEADER}{text}"));
        scene.request.metric_kind = Sampling::Usual(SampleKind::Increments);
        scene.table();
    }
}

#[test]
fn a_bursty_rate_that_is_called_a_counter_is_an_error_and_daily_restarts_are_not() {
    // Bursts of one sample in five: each ends near zero, as a restart would.
    let bursts = |sample: u32| {
        if sample.is_multiple_of(5) { 100.0 + f64::from(sample) } else { f64::from(sample % 2) }
    };
    let error =
        Scene::new(SampleKind::Counter).samples(&format!("{HEADER}{}", six_hourly("a", 28, bursts))).error();
    assert!(error.starts_with("the metric falls in ") && error.contains("such as a at 2026-03-"), "{error}");
    let hourly = |sample: i64| format!("a,{},{}\n", 1_772_323_200 + sample * 3600, 1 + sample % 24);
    let text = format!("{HEADER}{}", (0..24 * 28).map(hourly).collect::<String>());
    let table = Scene::new(SampleKind::Counter).samples(&text).table();
    assert_eq!(left(&table, "resets").unwrap().0, 27);
}

/// One sample a day at a time of day, from 1 March, UTC.
fn daily(server: &str, time: &str) -> String {
    (1..=10).map(|day| format!("{server},2026-03-{day:02}T{time}Z,{}\n", day * 7 % 4)).collect()
}

#[test]
fn samples_once_a_day_and_not_of_the_days_begin_are_told_and_those_next_to_the_change_left_out() {
    let of = |time: &str, zone: &str, change: &str| {
        let text = format!("{HEADER}{}{}", daily("a", time), daily("b", time));
        let mut scene = Scene::new(SampleKind::Increments).samples(&text);
        scene.request.window.zone = TimeZone::get(zone).unwrap();
        scene.request.window.changed_at = Some(change.parse().unwrap());
        scene.table()
    };
    // Days of UTC in New York: that of 5 March, stamped there at 19:00 of the 4th, is after the change for the most part.
    let table = of("00:00:00", "America/New_York", "2026-03-05T05:00:00Z");
    assert_eq!(left(&table, "another time than its begin").unwrap(), (20, "a".to_owned()));
    assert_eq!(left(&table, "next to the change").unwrap(), (2, "2026-03-04T05:00:00Z".to_owned()));
    let days: Vec<i64> =
        table.intervals_start_s.iter().map(|start_s| (start_s - 1_772_341_200) / 86_400).collect();
    assert!(!days.contains(&3) && !days.contains(&4) && days.contains(&2) && days.contains(&5), "{days:?}");
    // A job at 03:00 that tells of the day before.
    let table = of("03:00:00", "UTC", "2026-03-05T00:00:00Z");
    assert_eq!(left(&table, "next to the change").unwrap().0, 2);
    // Of the day's begin, or its end, there is no doubt.
    for time in ["00:00:00", "00:01:30", "23:59:59"] {
        let table = of(time, "UTC", "2026-03-05T00:00:00Z");
        assert_eq!(
            (left(&table, "next to the change"), left(&table, "another time")),
            (None, None),
            "{time}"
        );
    }
}
