//! Rows, lines and files as text: what can be read, and what is an error.

use super::*;

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

/// Sixteen servers, a line for each server and day; the quote of one cell is not closed.
fn with_open_quote(lines_behind: &str) -> Scene {
    let lines: String = (0..16)
        .flat_map(|server| (1..=20).map(move |day| format!("s{server},2026-03-{day:02},1,\n")))
        .collect();
    let opened = lines.replace("s3,2026-03-05,1,\n", &format!("s3,2026-03-05,1,\"disk full\n{lines_behind}"));
    assert_ne!(opened, lines);
    Scene::new(SampleKind::Increments).samples(&format!("server,time,drops,note\n{opened}"))
}

#[test]
fn a_quote_that_is_not_closed_is_an_error_with_its_line_and_takes_no_servers_away() {
    let error = with_open_quote("").error();
    assert!(
        error.ends_with("samples-0.csv:66: a quote opens here and is not closed in its line, so the lines behind it are no rows"),
        "{error}"
    );
    // The quote of another line's cell closes it.
    let closed = with_open_quote("s3,2026-03-05,1,\"again\"\n").error();
    assert!(closed.contains("samples-0.csv:66: a quote opens here"), "{closed}");
    // In a column that is read, and at the end of the file.
    for text in
        ["a,2026-03-01,\"1\nb,2026-03-01,1\nc,2026-03-01,1\n", "a,2026-03-01,1\n\n\"b,2026-03-01,1\nc\n"]
    {
        let error = Scene::new(SampleKind::Increments).samples(&format!("{HEADER}{text}")).error();
        let line = if text.contains("\"b") { 4 } else { 2 };
        assert!(error.contains(&format!("samples-0.csv:{line}: a quote opens here")), "{text:?}: {error}");
    }
}

#[test]
fn a_note_of_several_lines_is_no_open_quote() {
    let text = "server,time,drops,note\na,2026-03-01,1,\"disk full,\nreplaced \"\"sda\"\"\"\nb,2026-03-01,2,\"5\"\" disk\nnew\"\n";
    let table = Scene::new(SampleKind::Increments).samples(text).table();
    assert_eq!(
        table.servers.iter().map(|server| server.metric[0]).collect::<Vec<_>>(),
        [Some(1.0), Some(2.0)]
    );
}

#[test]
fn a_groups_file_with_an_open_quote_is_an_error_with_its_line() {
    for (groups, line) in [
        ("server,group\na,control\nb,\"test\nc,control\n", 3),
        ("server,group,note\na,control,\"x\nb,test,\n", 2),
        ("server,group,note\na,control,\nb,test,\"x\nstill x\n", 3),
    ] {
        let error = Scene::new(SampleKind::Increments).samples(HEADER).groups(groups).error();
        assert!(error.contains(&format!("groups.csv:{line}: a quote opens here")), "{groups:?}: {error}");
    }
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
    let empty = Scene::new(SampleKind::Level)
        .samples(&format!("{HEADER}a,2026-01-01,\nb,2026-01-01,\nb,2026-01-02,\n"))
        .groups("server,group\na,control\nb,test\n");
    assert!(
        empty.error().contains(
            "no usable sample of the metric: it is empty or no number in the 3 rows that were read"
        ),
        "{}",
        empty.error()
    );
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
