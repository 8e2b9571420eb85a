//! The servers that are read, and the group of each.

use super::*;

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
