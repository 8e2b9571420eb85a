//! Servers that a change takes out, and strata that leave nothing to compare.

use super::*;

/// A fleet of 20 + 20 without any effect, the first `gone` test servers of which are treated by `how` from the change on.
fn after_the_change(gone: usize, how: fn(&mut FleetServer)) -> FleetTable {
    let mut table = Fleet { servers: 20, drops: fewer, ..USUAL }.table();
    let test = table.servers.iter_mut().filter(|server| server.group == Some(FleetGroup::Test));
    test.take(gone).for_each(how);
    table
}

fn silent(server: &mut FleetServer) {
    server.metric[BEFORE..].fill(None);
    server.load[BEFORE..].fill(None);
}

fn idle(server: &mut FleetServer) {
    server.metric[BEFORE..].fill(Some(0.0));
    server.load[BEFORE..].fill(Some(0.0));
}

#[test]
fn a_change_that_kills_test_servers_is_never_called_better() {
    for (how, words, exclusion) in [
        (silent as fn(&mut FleetServer), "(9: without values after)", "intervals after the change only"),
        (idle, "(9: no load after, load before)", "with no load after the change, load before"),
    ] {
        let result = result(&after_the_change(9, how), &question()).unwrap();
        let found = check(&result, "missing");
        assert_eq!(found.outcome, CheckOutcome::Failed, "{found:?}");
        assert!(found.statement.starts_with(&format!("9 of the 20 test servers {words}")), "{found:?}");
        // Fisher: 2 C(20, 9) / C(40, 9).
        assert!((found.p.unwrap() - 0.001_228_5).abs() < 1e-6, "{found:?}");
        assert_eq!(result.verdict, Verdict::Undecided);
        assert_eq!(result.reason.as_ref(), Some(&found.statement));
        let said = &result.summary[0];
        let (reason, figures) =
            said.split_once(" The figures, which are not to be relied on, say -9").unwrap();
        assert_eq!(reason, format!("Undecided: {}", found.statement), "{figures}");
        let row = result.exclusions.iter().find(|it| it.what.contains(exclusion)).unwrap();
        assert!(row.what.starts_with("test servers ") && row.count == 9, "{row:?}");
    }
}

#[test]
fn where_most_of_the_test_group_is_gone_the_error_says_so() {
    let error = result(&after_the_change(14, silent), &question()).unwrap_err();
    assert!(
        error.to_string().starts_with(
            "14 of the 20 test servers that were there before the change are gone after it, and 0 of the 20 of the other group"
        ),
        "{error}"
    );
}

#[test]
fn servers_that_die_in_the_middle_of_the_time_after_are_missed_too() {
    // The last four of seven days have less than half of the test group, and are compared no more.
    let late = |server: &mut FleetServer| server.metric[BEFORE + 3..].fill(None);
    let result = result(&after_the_change(14, late), &question()).unwrap();
    assert_eq!(result.intervals_after, 3);
    let found = check(&result, "missing");
    assert_eq!(found.outcome, CheckOutcome::Failed);
    // Their first three days are compared, and said to be.
    assert_eq!(result.servers[&FleetGroup::Test], 20);
    let said = "The test servers among them are in the figures, which are of the time when both groups still had values";
    assert!(found.statement.contains(said) && !found.statement.contains("in no figure"), "{found:?}");
    assert_eq!(result.verdict, Verdict::Undecided);
}

#[test]
fn lost_servers_that_are_in_no_figure_are_counted_apart_from_those_that_are_in_some() {
    let mut table = after_the_change(14, |server| server.metric[BEFORE + 3..].fill(None));
    silent(&mut table.servers[0]);
    let result = result(&table, &question()).unwrap();
    assert_eq!(result.servers[&FleetGroup::Test], 19);
    let said = "Of the test servers among them 1 is in no figure, and 13 are in those of the time when both groups still had values";
    let found = check(&result, "missing");
    assert!(found.statement.contains(said), "{found:?}");
}

#[test]
fn one_server_that_dies_is_a_warning_and_as_many_in_both_groups_are_chance() {
    let one = result(&after_the_change(1, silent), &question()).unwrap();
    assert_eq!(check(&one, "missing").outcome, CheckOutcome::Warning, "{:?}", one.checks);
    assert_eq!(one.verdict, Verdict::Better);

    let mut table = after_the_change(1, silent);
    silent(&mut table.servers[1]);
    let both = result(&table, &question()).unwrap();
    assert_eq!(check(&both, "missing").outcome, CheckOutcome::Passed, "{:?}", both.checks);
    let none = result(&after_the_change(0, silent), &question()).unwrap();
    assert_eq!(check(&none, "missing").statement, "Every server has a value in every interval.");
}

#[test]
fn a_change_that_cannot_be_told_from_the_site_has_no_verdict_and_no_ratio() {
    let mut table = after_the_change(0, silent);
    for server in &mut table.servers {
        server.site = if server.group == Some(FleetGroup::Test) { "ams" } else { "fra" }.to_owned();
    }
    let by_site = FleetQuestion { strata: vec![Stratum::Site], ..question() };
    let result = result(&table, &by_site).unwrap();
    assert_eq!((result.verdict, result.effect_ratio), (Verdict::Undecided, None));
    assert_eq!(
        result.reason.as_deref(),
        Some("No site has both groups: the change cannot be told from the site.")
    );
    assert_eq!(check(&result, "strata").outcome, CheckOutcome::Failed);
}

#[test]
fn sites_that_part_the_groups_are_told_though_nobody_asked() {
    let mut table = after_the_change(0, silent);
    for server in &mut table.servers {
        server.site = if server.group == Some(FleetGroup::Test) { "ams" } else { "fra" }.to_owned();
    }
    let parted = result(&table, &question()).unwrap();
    let found = check(&parted, "site");
    assert_eq!(found.outcome, CheckOutcome::Warning);
    assert!(
        found.statement.starts_with("No site has both groups, and whatever else comes to one"),
        "{found:?}"
    );
    assert!(
        parted.summary[2].ends_with("have to say before relying on it: site, servers."),
        "{:?}",
        parted.summary
    );
    table.servers[0].site = "fra".to_owned();
    let mixed = result(&table, &question()).unwrap();
    assert_eq!(check(&mixed, "site").outcome, CheckOutcome::Failed, "one server does not mix two sites");
}

#[test]
fn servers_of_strata_with_one_group_only_are_left_out_and_told_by_group() {
    let mut table = Fleet { drops: fewer, ..USUAL }.table();
    table.servers[0].site = "waw".to_owned();
    table.servers[1].site = "lhr".to_owned();
    table.servers[3].site = "lhr".to_owned();
    let by_site = FleetQuestion { strata: vec![Stratum::Site], ..question() };
    let result = result(&table, &by_site).unwrap();
    let rows: Vec<(&str, u64, &str)> = result
        .exclusions
        .iter()
        .filter(|it| it.what.contains("one group only"))
        .map(|it| (it.what.split(' ').next().unwrap(), it.count, it.done.as_str()))
        .collect();
    assert_eq!(rows, [("control", 2, "left out"), ("test", 1, "left out")]);
    let found = check(&result, "balance");
    assert_eq!(found.outcome, CheckOutcome::Warning);
    assert!(found.statement.contains("3 of 80 servers (3.75 %: 1 test, 2 control)"), "{found:?}");
    assert_eq!((result.strata, result.verdict), (2, Verdict::Better));
    assert_eq!(result.servers, [(FleetGroup::Control, 38), (FleetGroup::Test, 39)].into());
}
