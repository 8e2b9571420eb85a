//! Files into tables, with answers that were worked out by hand.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

use jiff::tz::TimeZone;
use plumb_fleet::{
    FleetColumns, FleetFiles, FleetGroups, FleetInputError, FleetInterval, FleetRequest, FleetSource,
    FleetWindow, GroupNames, read,
};
use plumb_model::fleet::{FleetGroup, FleetTable, SampleKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory with files, and a request for them that a test changes.
struct Scene {
    directory: TempDir,
    request: FleetRequest,
}

impl Scene {
    fn new(kind: SampleKind) -> Self {
        let columns = FleetColumns {
            server: "server".to_owned(),
            time: "time".to_owned(),
            metric: "drops".to_owned(),
            load: None,
            group: None,
            site: None,
            hardware: None,
        };
        let request = FleetRequest {
            source: FleetSource::Files(FleetFiles { paths: Vec::new(), columns }),
            groups: FleetGroups::None,
            window: FleetWindow {
                changed_at: None,
                interval: FleetInterval::Days,
                zone: TimeZone::UTC,
                from: None,
                until: None,
            },
            metric_kind: kind,
            load_kind: SampleKind::Increments,
            step_s: None,
        };
        Scene { directory: tempfile::tempdir().unwrap(), request }
    }

    fn files(&mut self) -> &mut FleetFiles {
        let FleetSource::Files(files) = &mut self.request.source else { unreachable!() };
        files
    }

    fn columns(&mut self) -> &mut FleetColumns {
        &mut self.files().columns
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn samples(mut self, text: &str) -> Self {
        let name = format!("samples-{}.csv", self.files().paths.len());
        let path = self.write(&name, text);
        self.files().paths.push(path);
        self
    }

    fn groups(mut self, text: &str) -> Self {
        let path = self.write("groups.csv", text);
        self.request.groups = FleetGroups::File { path, names: GroupNames::default() };
        self
    }

    fn read(&self) -> Result<FleetTable, FleetInputError> {
        read(&self.request, &mut |_| ControlFlow::Continue(()))
    }

    fn table(&self) -> FleetTable {
        self.read().unwrap()
    }

    fn error(&self) -> String {
        self.read().unwrap_err().to_string()
    }
}

/// Count and example of what was left out, found by a word of its name.
fn left(table: &FleetTable, word: &str) -> Option<(u64, String)> {
    let found = table.exclusions.iter().find(|left| left.what.contains(word));
    found.map(|left| (left.count, left.example.clone()))
}

/// Six-hourly samples over days from 1 March 2026, UTC; `value(sample)`.
fn six_hourly(server: &str, days: u32, value: impl Fn(u32) -> f64) -> String {
    let line = |sample: u32| {
        format!("{server},2026-03-{:02}T{:02}:00:00Z,{}\n", 1 + sample / 4, sample % 4 * 6, value(sample))
    };
    (0..days * 4).map(line).collect()
}

const HEADER: &str = "server,time,drops\n";

#[test]
fn increments_are_summed_by_server_and_day() {
    let text = format!("{HEADER}{}{}", six_hourly("b", 3, |_| 1.0), six_hourly("a", 3, f64::from));
    let table = Scene::new(SampleKind::Increments).samples(&text).table();
    assert_eq!(table.intervals_start_s, [1_772_323_200, 1_772_409_600, 1_772_496_000]);
    let names: Vec<&str> = table.servers.iter().map(|server| server.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(table.servers[0].metric, [Some(6.0), Some(22.0), Some(38.0)]);
    assert_eq!(table.servers[1].metric, [Some(4.0); 3]);
    assert_eq!(table.servers[1].complete, [1.0; 3]);
    assert_eq!(table.servers[0].load, []);
    assert_eq!(table.exclusions, []);
}

#[test]
fn levels_are_averaged_and_empty_cells_are_missing_not_0() {
    let text =
        format!("{HEADER}{}", six_hourly("a", 2, f64::from)).replace(",2\n", ",\n").replace(",5\n", ",NaN\n");
    let table = Scene::new(SampleKind::Level).samples(&text).table();
    assert_eq!(table.servers[0].metric, [Some(4.0 / 3.0), Some((4.0 + 6.0 + 7.0) / 3.0)]);
    assert_eq!(table.servers[0].complete, [0.75; 2]);
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
    assert_eq!(table.servers[0].complete, [1.0, 0.75, 1.0]);
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
    assert_eq!(table.servers[0].complete, [1.0; 3]);
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
fn groups_come_from_a_file_and_whoever_is_missing_on_either_side_is_counted() {
    let text = ["a", "b", "c", "d"].map(|server| six_hourly(server, 2, |_| 1.0)).concat();
    let scene = Scene::new(SampleKind::Increments)
        .samples(&format!("{HEADER}{text}"))
        .groups("server,group,site\na,control,x\nb,test,y\nc,canary,x\ngone,test,y\n");
    let table = scene.table();
    let groups: Vec<_> = table
        .servers
        .iter()
        .map(|server| (server.name.as_str(), server.group, server.site.as_str()))
        .collect();
    assert_eq!(groups, [("a", Some(FleetGroup::Control), "x"), ("b", Some(FleetGroup::Test), "y")]);
    assert_eq!(left(&table, "neither group").unwrap(), (1, "c".to_owned()));
    assert_eq!(left(&table, "does not name").unwrap(), (1, "d".to_owned()));
    assert_eq!(left(&table, "without a sample").unwrap(), (1, "gone".to_owned()));
}

#[test]
fn names_that_are_not_the_same_in_groups_and_samples_are_an_error_with_one_of_each() {
    let scene = Scene::new(SampleKind::Increments)
        .samples(&format!("{HEADER}{}", six_hourly("a:9100", 2, |_| 1.0)))
        .groups("server,group\na,control\nb,test\n");
    let error = scene.error();
    assert_eq!(
        error,
        "no server of the group \"control\" has a sample: expected such as \"a\", got such as \"a:9100\""
    );
    let scene = Scene::new(SampleKind::Increments)
        .samples(&format!("{HEADER}{}{}", six_hourly("a", 2, |_| 1.0), six_hourly("b:9100", 2, |_| 1.0)))
        .groups("server,group\na,control\nb,test\n");
    let error = scene.error();
    assert_eq!(
        error,
        "no server of the group \"test\" has a sample: expected such as \"b\", got such as \"a\""
    );
}

#[test]
fn groups_sites_and_hardware_come_from_columns_and_a_server_in_both_groups_is_an_error_with_both_lines() {
    let text = "server,time,drops,group,site,hw\n\
                a,2026-03-01,1,old,x,h1\nb,2026-03-01,2,new,y,\nc,2026-03-01,2,,y,\n\
                a,2026-03-02,3,old,z,h1\nb,2026-03-02,4,new,y,h2\n";
    let mut scene = Scene::new(SampleKind::Increments).samples(text);
    scene.columns().group = Some("group".to_owned());
    scene.columns().site = Some("site".to_owned());
    scene.columns().hardware = Some("hw".to_owned());
    let names = GroupNames { control: "old".to_owned(), test: "new".to_owned() };
    scene.request.groups = FleetGroups::Source { names: names.clone() };
    let table = scene.table();
    let [a, b] = &table.servers[..] else { panic!("{table:?}") };
    assert_eq!((a.group, a.site.as_str(), a.hardware.as_str()), (Some(FleetGroup::Control), "x", "h1"));
    assert_eq!((b.group, b.site.as_str(), b.hardware.as_str()), (Some(FleetGroup::Test), "y", "h2"));
    assert_eq!(left(&table, "site or hardware").unwrap(), (1, "a: x, then z".to_owned()));
    assert_eq!(left(&table, "neither group").unwrap(), (1, "c".to_owned()));

    let mut scene = scene.samples("server,time,drops,group,site,hw\na,2026-03-03,1,new,x,h1\n");
    let error = scene.error();
    assert!(
        error.contains("\"a\" is in both groups: \"old\"") && error.contains("samples-0.csv:2)"),
        "{error}"
    );
    assert!(error.contains("and \"new\"") && error.contains("samples-1.csv:2)"), "{error}");

    scene.files().paths.pop();
    scene.request.groups =
        FleetGroups::Source { names: GroupNames { control: "control".to_owned(), ..names } };
    let error = scene.error();
    assert!(error.contains("\"control\" according to the column \"group\""), "{error}");
}

#[test]
fn a_load_stands_beside_the_metric_and_a_server_without_one_is_told() {
    let text =
        "server,time,drops,sent\na,2026-03-01,1,10\nb,2026-03-01,2,\na,2026-03-02,3,30\nb,2026-03-02,4,\n";
    let mut scene = Scene::new(SampleKind::Increments).samples(text);
    scene.columns().load = Some("sent".to_owned());
    let table = scene.table();
    assert_eq!(table.servers[0].load, [Some(10.0), Some(30.0)]);
    assert_eq!(table.servers[1].load, [None, None]);
    assert_eq!(table.servers[1].metric, [Some(2.0), Some(4.0)]);
    assert_eq!(left(&table, "a metric and no load").unwrap(), (1, "b".to_owned()));

    scene.columns().load = Some("load".to_owned());
    let error = scene.error();
    let expected = "has no column \"load\" for the load; it has \"server\", \"time\", \"drops\", \"sent\"";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_too_many_of_them_are_an_error() {
    let good = six_hourly("a", 25, |_| 1.0);
    let bad = "a,2026-03-26T00:00:00Z,\"1,5\"\n,2026-03-26T06:00:00Z,1\na,tomorrow,1\na\n";
    let table = Scene::new(SampleKind::Increments).samples(&format!("{HEADER}{good}{bad}")).table();
    let (count, example) = left(&table, "cannot be read").unwrap();
    assert_eq!(count, 2);
    assert!(example.ends_with("samples-0.csv:102: \"1,5\" is no number"), "{example}");
    let (count, example) = left(&table, "whose time").unwrap();
    assert!(count == 1 && example.ends_with("samples-0.csv:104"), "{example}");
    assert_eq!(left(&table, "without a server").unwrap().0, 1);

    let error = Scene::new(SampleKind::Increments).samples(&format!("{HEADER}{bad}")).error();
    assert!(
        error.starts_with("4 of 4 rows cannot be used, such as ") && error.contains("expected at most 5 %"),
        "{error}"
    );
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
    assert_eq!(table.servers[2].complete, [1.0; 2]);
    assert_eq!(left(&table, "further apart").unwrap(), (1, "c: 43200 s, not 21600 s".to_owned()));
    // Told what the spacing is, half of the samples are missing.
    scene.request.step_s = Some(21_600.0);
    assert_eq!(scene.table().servers[2].complete, [0.5; 2]);
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
fn times_of_another_unit_that_make_centuries_of_intervals_are_an_error() {
    // 1971 and 2199: in the believed range, and no trial.
    let mut scene =
        Scene::new(SampleKind::Level).samples("server,time,drops\na,40000000,1\na,7258000000,1\n");
    scene.request.step_s = Some(1.0);
    scene.request.window.interval = FleetInterval::Seconds(60);
    let error = scene.error();
    assert!(error.contains("are more than 10000000 values"), "{error}");
}

#[test]
fn files_that_are_not_there_empty_or_of_another_kind_are_errors_that_name_them() {
    let mut scene = Scene::new(SampleKind::Level);
    assert!(scene.error().contains("at least one file"));
    let path = scene.directory.path().join("none.csv");
    scene.files().paths = vec![path];
    assert!(scene.error().contains("cannot read") && scene.error().contains("none.csv"));
    scene.files().paths.clear();
    let scene = scene.samples("");
    assert!(
        scene.error().contains("has no column \"server\" for the server; it has none"),
        "{}",
        scene.error()
    );
    let scene = Scene::new(SampleKind::Level).samples(HEADER);
    assert!(scene.error().contains("no usable sample of the metric: there are no rows"), "{}", scene.error());
    let twice = Scene::new(SampleKind::Level).samples("server,time,drops,drops\n");
    assert!(twice.error().contains("has the column \"drops\" 2 times"), "{}", twice.error());
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut scene = Scene::new(SampleKind::Level);
    scene.files().paths.push(here.to_owned());
    assert!(scene.error().contains("cannot read"), "{}", scene.error());
}

#[test]
fn delimiters_marks_and_line_ends_of_other_programs_are_understood() {
    for text in
        ["server;time;drops\na;2026-03-01;5\n", "\u{feff}drops\tserver\ttime\r\n5\t a \t2026-03-01\r\n"]
    {
        let table = Scene::new(SampleKind::Increments).samples(text).table();
        assert_eq!(table.servers[0].metric, [Some(5.0)], "{text:?}");
    }
}

#[test]
fn whoever_watches_may_stop_it() {
    let many: String = (0..200_000).map(|number| format!("s{number},2026-03-01,1\n")).collect();
    let scene = Scene::new(SampleKind::Level).samples(&format!("{HEADER}{many}"));
    let mut told = 0;
    let stopped = read(&scene.request, &mut |progress| {
        told += 1;
        assert!((0.0..=1.0).contains(&progress.share));
        ControlFlow::Break(())
    });
    // A machine so quick that nobody was told in time is done.
    assert!(stopped.is_ok() == (told == 0) && matches!(stopped, Ok(_) | Err(FleetInputError::Stopped)));
}
