//! Figures that are not what they should be: a clear error, or left out and counted in text, JSON and page. Never silence.

use super::simulated::Fleet;
use super::{COLUMNS, trial};
use crate::program::Ended;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const BETTER: Fleet = Fleet { servers: 12, drops_after: 0.3, load_after: 1.0 };

/// The files of a fleet that a test spoils.
struct Scene {
    directory: TempDir,
    file: PathBuf,
}

impl Scene {
    /// Each row with its server, day of January, hour and the rest; what `spoil` gives instead.
    fn with(spoil: impl Fn(&Row) -> Option<String>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = BETTER.write(directory.path());
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        let head = lines.next().unwrap().to_owned();
        let rows = lines.filter_map(|line| spoil(&Row::of(line)));
        let text: String = std::iter::once(head).chain(rows).map(|line| line + "\n").collect();
        std::fs::write(&file, text).unwrap();
        Scene { directory, file }
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        trial(&self.file, arguments)
    }

    /// The result, once text and page say the same of what was left out.
    fn told(&self, arguments: &[&str], what: &str, count: u64) -> Value {
        let out = self.directory.path().join("out");
        let ended = self.run(&[arguments, &["--out", out.to_str().unwrap()]].concat());
        assert!(matches!(ended.code(), Some(0 | 1)), "{}", ended.stderr);
        let result: Value = serde_json::from_slice(&std::fs::read(out.join("fleet.json")).unwrap()).unwrap();
        let rows = result["exclusions"].as_array().unwrap();
        let row = rows.iter().find(|row| row["what"].as_str().unwrap().contains(what));
        let row = row.unwrap_or_else(|| panic!("no {what:?} in {rows:#?}"));
        assert_eq!(row["count"], count, "{row}");
        assert!(row["example"] != "" && row["done"] != "", "{row}");
        let page = std::fs::read_to_string(out.join("report.html")).unwrap().replace("&#39;", "'");
        for shown in [&ended.stdout, &page] {
            // Lines of the text may be broken anywhere.
            let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            for words in [row["what"].as_str().unwrap(), row["example"].as_str().unwrap()] {
                assert!(shown.contains(words), "no {words:?} in {shown}");
            }
        }
        result
    }

    fn refused(&self, arguments: &[&str], said: &[&str]) {
        let ended = self.run(arguments);
        assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
        for words in said.iter().chain(&["\nhint: "]) {
            assert!(ended.stderr.contains(words), "no {words:?} in {}", ended.stderr);
        }
        assert!(ended.stdout.is_empty(), "{}", ended.stdout);
    }
}

/// A row of the file; servers with even numbers are the test group.
struct Row<'l> {
    line: &'l str,
    server: u32,
    day: u32,
    hour: u32,
    cells: Vec<&'l str>,
}

impl<'l> Row<'l> {
    fn of(line: &'l str) -> Self {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |text: &str| text.parse().unwrap();
        let (server, day, hour) =
            (number(&cells[0][5..]), number(&cells[1][8..10]), number(&cells[1][11..13]));
        Row { line, server, day, hour, cells }
    }

    fn is_test(&self) -> bool {
        self.server.is_multiple_of(2)
    }

    /// With another cell.
    fn with(&self, cell: usize, text: &str) -> Option<String> {
        let mut cells = self.cells.clone();
        cells[cell] = text;
        Some(cells.join(","))
    }
}

const DROPS: usize = 2;

fn same(row: &Row<'_>) -> Option<String> {
    Some(row.line.to_owned())
}

/// Once `1,182` was read as 1, and forty percent more drops were called ninety percent less.
#[test]
fn a_number_with_a_thousands_separator_that_is_the_delimiter_is_refused_with_its_line() {
    let scene =
        Scene::with(
            |row| if row.server == 3 && row.day == 16 { row.with(DROPS, "1,182") } else { same(row) },
        );
    let ended = scene.run(&COLUMNS);
    assert_eq!(ended.code(), Some(2), "{}", ended.stdout);
    assert!(ended.stderr.contains("fields, where the header has"), "{}", ended.stderr);
    assert!(ended.stderr.contains("1182, not 1,182"), "{}", ended.stderr);
    // A delimiter at the end of each line is no field.
    let scene = Scene::with(|row| Some(format!("{},", row.line)));
    assert_ne!(scene.run(&COLUMNS).code(), Some(2));
}

#[test]
fn servers_without_a_sample_or_a_group_are_counted() {
    let scene = Scene::with(same);
    let rows = (0..30).map(|server| format!("edge-{server:02},{}\n", ["test", "control"][server % 2]));
    // Six that have no samples; three that have and are named nowhere.
    let groups = rows.skip(3).collect::<String>();
    let groups = scene.write("groups.csv", &format!("server,group\n{groups}"));
    let arguments = ["--metric", "drops", "--load", "packets", "--groups", &groups, "--change", "2026-01-15"];
    let result = scene.told(&arguments, "servers of the groups file without a sample", 6);
    assert_eq!(result["servers"], serde_json::json!({"control": 11, "test": 10}));
    let scene = Scene::with(same);
    scene.told(&arguments, "servers that the groups file does not name", 3);
}

#[test]
fn test_servers_that_are_gone_after_the_change_take_the_verdict_with_them() {
    let scene =
        Scene::with(|row| if row.is_test() && row.server < 10 && row.day >= 15 { None } else { same(row) });
    let result = scene.told(
        &COLUMNS,
        "test servers with values in less than half of the intervals after the change only",
        5,
    );
    assert_eq!(result["verdict"], "undecided");
    assert!(
        result["reason"].as_str().unwrap().starts_with("5 of the 12 test servers (5: without values after)"),
        "{result:#}"
    );
    let scene = Scene::with(|row| if row.is_test() && row.day >= 15 { None } else { same(row) });
    scene.refused(
        &COLUMNS,
        &["12 of the 12 test servers that were there before the change are gone after it", "take them out?"],
    );
}

#[test]
fn a_server_in_both_groups_is_an_error_that_names_both_places() {
    let scene =
        Scene::with(|row| if row.server == 4 && row.day == 20 { row.with(4, "control") } else { same(row) });
    scene.refused(&COLUMNS, &["the server \"edge-04\" is in both groups: \"test\" (", "and \"control\" ("]);
    let scene = Scene::with(same);
    let groups = scene.write("groups.csv", "server,group\nedge-00,test\nedge-01,control\nedge-00,control\n");
    let arguments = ["--metric", "drops", "--groups", &groups, "--change", "2026-01-15"];
    scene.refused(
        &arguments,
        &["the server \"edge-00\" is in both groups", "groups.csv:2", "groups.csv:4", "belongs to neither"],
    );
}

/// The drops as counts since the start of a process, which one server starts anew on 10 January.
fn counters(restart: bool) -> Scene {
    let scene = Scene::with(same);
    let text = std::fs::read_to_string(&scene.file).unwrap();
    let mut counts = [0.0; 24];
    let lines = text.lines().skip(1).map(|line| {
        let row = Row::of(line);
        let count = &mut counts[row.server as usize];
        if restart && row.server == 3 && (row.day, row.hour) == (10, 6) {
            *count = 0.0;
        }
        // What a row has happens after its time.
        let counted = row.with(DROPS, &count.to_string()).unwrap() + "\n";
        *count += row.cells[DROPS].parse::<f64>().unwrap();
        counted
    });
    let text = format!("server,time,drops,packets,group\n{}", lines.collect::<String>());
    std::fs::write(&scene.file, text).unwrap();
    scene
}

#[test]
fn a_counter_that_goes_backwards_once_was_restarted_and_one_that_always_does_is_none() {
    let mut counter = COLUMNS;
    counter[1] = "drops:counter";
    let result = counters(true).told(&counter, "resets of the metric's counters", 1);
    assert_eq!(
        (result["verdict"].as_str(), result["metric_kind"].as_str()),
        (Some("better"), Some("counter"))
    );
    let (low, high) = (result["interval_low"].as_f64().unwrap(), result["interval_high"].as_f64().unwrap());
    assert!(low <= 0.3 && 0.3 <= high, "{low} to {high}");
    // Increments that were called a counter.
    Scene::with(same).refused(&counter, &["expected a counter, which only falls at a restart", "increments"]);
}

#[test]
fn a_counter_that_nobody_called_one_is_refused_with_the_word_for_it() {
    counters(true).refused(
        &COLUMNS,
        &[
            "the metric looks like a counter",
            "on 24 of 24 servers; say drops:counter",
            "--metric drops:counter",
        ],
    );
    let mut said = COLUMNS;
    said[1] = "drops:increments";
    let ended = counters(true).run(&said);
    assert!(matches!(ended.code(), Some(0 | 1)), "what the user says holds: {}", ended.stderr);
}

/// Each row twice, for two interfaces, the second with twice the drops before the change and as many as without it after it.
fn two_interfaces() -> Scene {
    let scene = Scene::with(same);
    let text = std::fs::read_to_string(&scene.file).unwrap();
    let mut lines = text.lines();
    let head = lines.next().unwrap();
    let rows = lines.flat_map(|line| {
        let row = Row::of(line);
        let drops: f64 = row.cells[DROPS].parse().unwrap();
        let factor = if row.is_test() && row.day >= 15 { 2.0 / 0.3 } else { 2.0 };
        let second = row.with(DROPS, &format!("{:.0}", drops * factor)).unwrap();
        [format!("{line},eth0\n"), format!("{second},eth1\n")]
    });
    let text = format!("{head},nic\n{}", rows.collect::<String>());
    std::fs::write(&scene.file, text).unwrap();
    scene
}

#[test]
fn rows_of_several_interfaces_are_refused_until_a_column_tells_them_apart_and_then_added_up() {
    two_interfaces().refused(
        &COLUMNS,
        &["2016 of 4032 rows have a server and time that an earlier one has", "--part-column NAME"],
    );
    let ended =
        two_interfaces().run(&[&COLUMNS, ["--part-column", "nic", "--output", "json"].as_slice()].concat());
    let result = ended.json();
    let (low, high) = (result["interval_low"].as_f64().unwrap(), result["interval_high"].as_f64().unwrap());
    // A third of all drops was on the first interface, and 0.3 of it is left.
    let truth = (0.3 + 2.0) / 3.0;
    assert!(low <= truth && truth <= high && high / low < 1.5, "{low} to {high}");
}

#[test]
fn days_of_another_zone_are_told_and_those_next_to_the_change_left_out() {
    let scene = Scene::with(|row| if row.hour == 0 { same(row) } else { None });
    let mut local = COLUMNS;
    local[7] = "2026-01-15T05:00:00Z";
    let arguments = [&local, ["--time-zone", "America/New_York"].as_slice()].concat();
    let result = scene.told(&arguments, "intervals next to the change", 2);
    assert!(result["exclusions"].to_string().contains("is --time-zone the right one?"), "{result:#}");
    // 15 days of New York were before the change, and 6 after it.
    assert_eq!((&result["intervals_before"], &result["intervals_after"]), (&14.into(), &5.into()));
}

#[test]
fn what_is_no_number_is_missing_and_never_0() {
    let scene = Scene::with(|row| match (row.server, row.day, row.hour) {
        (1, 3, 6) => row.with(DROPS, "NaN"),
        (1, 3, 12) => row.with(DROPS, "+Inf"),
        (2, 4, 6) => row.with(DROPS, ""),
        _ => same(row),
    });
    let result = scene.told(&COLUMNS, "samples of the metric that are empty or no number", 3);
    assert_eq!(result["verdict"], "better");
    // A day with a hole is of the rest, scaled up.
    assert!(result["exclusions"].to_string().contains("scaled up to the whole interval"), "{result:#}");
    let scene = Scene::with(|row| if row.server == 5 { row.with(DROPS, "-7") } else { same(row) });
    scene.told(&COLUMNS, "negative samples of the metric, which counts", 84);
    let scene = Scene::with(|row| if row.day % 3 == 0 { row.with(DROPS, "many") } else { same(row) });
    scene.refused(&COLUMNS, &["rows cannot be used, such as ", "expected at most 5 %"]);
}

#[test]
fn groups_whose_days_do_not_overlap_are_not_compared() {
    let scene = Scene::with(|row| if row.is_test() == (row.day >= 11) { same(row) } else { None });
    scene.refused(
        &COLUMNS,
        &[
            "no interval in which both groups have values",
            "less than half of a group has values",
            "both sides of it?",
        ],
    );
    // Where some days do, the others are counted.
    let scene = Scene::with(|row| if row.is_test() && row.day <= 4 { None } else { same(row) });
    let result = scene.told(&COLUMNS, "intervals in which less than half of a group has values", 4);
    assert_eq!((&result["intervals_before"], &result["verdict"]), (&10.into(), &"better".into()));
}

#[test]
fn a_group_that_never_moves_is_no_measurement() {
    let scene = Scene::with(|row| if row.is_test() { row.with(DROPS, "5") } else { same(row) });
    scene.refused(
        &COLUMNS,
        &[
            "drops of the test group is 20 in every interval of every server",
            "expected values that change",
            "the right column",
        ],
    );
}

/// The rows with the same moments, written in other ways.
fn written(time: impl Fn(&Row) -> String) -> Scene {
    Scene::with(|row| row.with(1, &time(row)))
}

#[test]
fn the_same_moments_in_other_zones_are_the_same_and_days_begin_where_it_is_said() {
    let effect = |scene: &Scene, more: &[&str]| {
        let ended = scene.run(&[&COLUMNS, ["--output", "json"].as_slice(), more].concat());
        let result = ended.json();
        (result["effect_ratio"].as_f64().unwrap(), result["intervals_before"].as_u64().unwrap())
    };
    let utc = effect(&Scene::with(same), &[]);
    // 00:00Z is 09:00 in Tokyo, which has no daylight time.
    let tokyo = |row: &Row| {
        let hour = row.hour + 9;
        format!("2026-01-{:02}T{:02}:00:00", row.day + hour / 24, hour % 24)
    };
    let offset = written(|row| format!("{}+09:00", tokyo(row)));
    assert_eq!(effect(&offset, &[]), utc);
    let local = written(tokyo);
    let mut change = COLUMNS;
    change[7] = "2026-01-15T00:00:00Z";
    let ended = local.run(&[&change, ["--output", "json", "--time-zone", "Asia/Tokyo"].as_slice()].concat());
    let result = ended.json();
    // Days of Tokyo begin at 15:00Z: the first, the last and the one of the change are not whole.
    assert_eq!(
        (&result["intervals_before"], &result["intervals_after"]),
        (&13.into(), &6.into()),
        "{result:#}"
    );
    let left = result["exclusions"].to_string();
    assert!(
        left.contains("intervals in which the change came") && left.contains("cover only in part"),
        "{left}"
    );
    assert!((result["effect_ratio"].as_f64().unwrap() / utc.0 - 1.0).abs() < 0.1, "{result:#}");
    // Taken for UTC the change would come nine hours early: the flag is what decides.
    assert_ne!(effect(&local, &[]), utc);

    let scene = written(|row| format!("{:02}.01.2026 {:02}:00", row.day, row.hour));
    scene.refused(&COLUMNS, &["rows cannot be used", "Times are RFC 3339"]);
    let missing = Path::new("no-such-file.csv");
    let ended = trial(missing, &COLUMNS);
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("cannot read no-such-file.csv") && ended.stderr.contains("hint: "),
        "{}",
        ended.stderr
    );
}
