//! The same on the real kernel: a pair of virtual interfaces with several queues, and a tap, in a network namespace of their own.
//!
//! Each test runs itself again inside of a new namespace, and is passed over where that cannot be made.

use super::*;
use crate::apply::{self, Unseen};
use crate::journal::{Cause, Journal, JournalOwner, Places, Restored};
use crate::revert::revert;
use crate::setting::Setting;
use crate::steps;
use std::process::Command;

/// Says that the test is inside, and of which namespace it is not.
const INSIDE: &str = "PLUMB_TEST_IN_NAMESPACE";

/// True inside of a namespace with the interfaces. Outside it runs the test of that name there, and is false.
fn is_inside(test: &str) -> bool {
    let run = |program: &str, line: &str| {
        let output = Command::new(program).args(line.split(' ')).output();
        output.is_ok_and(|output| output.status.success())
    };
    let namespace = std::fs::read_link("/proc/self/ns/net").unwrap();
    if let Some(outside) = std::env::var_os(INSIDE) {
        assert_ne!(namespace.as_os_str(), outside, "the interfaces of this host are nothing to test with");
        let pair =
            "link add v0 numrxqueues 4 numtxqueues 4 type veth peer name v1 numrxqueues 4 numtxqueues 4";
        assert!(run("ip", pair), "no pair of interfaces");
        return true;
    }
    if !rustix::process::geteuid().is_root() || !run("unshare", "--net ip link add v0 type veth peer name v1")
    {
        println!("passed over: it needs root, unshare, ip, and a kernel with veth");
        return false;
    }
    let name = format!("{}::{test}", module_path!().split_once("::").unwrap().1);
    let output = Command::new("unshare")
        .arg("--net")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(INSIDE, namespace)
        .output()
        .unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{text}");
    assert!(output.status.success() && text.contains("1 passed"), "inside of the namespace: {text}");
    false
}

fn setting(name: &str) -> Setting {
    Setting::new(&format!("ethtool:{name}")).unwrap()
}

#[test]
fn channels_go_from_4_to_2_and_back() {
    if !is_inside("channels_go_from_4_to_2_and_back") {
        return;
    }
    let host = Host::default();
    let channels = setting("v0:channels");
    assert_eq!(channels.read(&host).unwrap(), "rx 4 tx 4");
    assert_eq!(channels.write(&host, "rx 2").unwrap(), "rx 2 tx 4");
    assert_eq!(channels.write(&host, "tx 2").unwrap(), "rx 2 tx 2");
    assert_eq!(channels.write(&host, "rx 4 tx 4").unwrap(), "rx 4 tx 4");
    let limits = limits(&host, "v0", "channels").unwrap();
    assert_eq!(limits, [("rx".to_owned(), 4), ("tx".to_owned(), 4)].into());
    let error = channels.write(&host, "rx 8").unwrap_err();
    assert!(error.to_string().contains("rx 8 is beyond its maximum, 4"), "{error}");
    // The kernel's own refusal: a driver of such interfaces needs one of each.
    let error = channels.write(&host, "rx 0").unwrap_err();
    assert!(matches!(error, SettingError::Refused { .. }), "{error}");
    assert_eq!(channels.read(&host).unwrap(), "rx 4 tx 4");
}

#[test]
fn features_go_off_and_on_and_read_exactly_as_before() {
    if !is_inside("features_go_off_and_on_and_read_exactly_as_before") {
        return;
    }
    let host = Host::default();
    let features = setting("v0:features");
    let before = features.read(&host).unwrap();
    let flipped = |key: &str| match before.contains(&format!("{key} on")) {
        true => format!("{key} off"),
        false => format!("{key} on"),
    };
    for key in ["rx-gro", "tx-tcp-segmentation"] {
        let value = flipped(key);
        let reads = features.write(&host, &value).unwrap();
        assert!(reads.contains(&value) && reads != before, "{reads}");
        assert_eq!(features.write(&host, &before).unwrap(), before);
    }
    let reads = features.write(&host, "tso off gro on").unwrap();
    assert!(
        reads.contains("tx-tcp-segmentation off") && reads.contains("tx-tcp6-segmentation off"),
        "{reads}"
    );
    assert_eq!(features.write(&host, &before).unwrap(), before);
}

#[test]
fn a_feature_that_goes_off_with_another_stays_wanted_and_comes_back_with_it() {
    if !is_inside("a_feature_that_goes_off_with_another_stays_wanted_and_comes_back_with_it") {
        return;
    }
    let host = Host::default();
    let features = setting("v0:features");
    let (before, active) = (features.read(&host).unwrap(), features.effective(&host).unwrap());
    let reads = features.write(&host, "tx-scatter-gather off").unwrap();
    assert!(reads.contains("tx-tcp-segmentation on"), "{reads}");
    let effective = features.effective(&host).unwrap();
    assert!(effective.contains("tx-tcp-segmentation off"), "{effective}");
    features.write(&host, "tx-scatter-gather on").unwrap();
    assert_eq!((features.read(&host).unwrap(), features.effective(&host).unwrap()), (before, active));
}

#[test]
fn what_a_driver_has_not_or_keeps_is_told_apart_from_what_nobody_has() {
    if !is_inside("what_a_driver_has_not_or_keeps_is_told_apart_from_what_nobody_has") {
        return;
    }
    let host = Host::default();
    for group in ["rings", "coalesce", "pause", "rss", "flow-hash-udp4"] {
        let error = setting(&format!("v0:{group}")).write(&host, "rx 1").unwrap_err();
        let told = plumb_model::fault::chain(&error).join(": ");
        let expected = format!(
            "host setting ethtool:v0:{group}: this kernel has no {group} of v0 that can be read: the driver of v0 has none"
        );
        assert_eq!(told, expected);
    }
    let refused = |value: &str| setting("v0:features").write(&host, value).unwrap_err();
    let error = refused("rx-gro-hw on");
    assert!(matches!(error, SettingError::Unchangeable { .. }), "{error}");
    assert!(error.to_string().contains("of v0, rx-gro-hw is fixed off"), "{error}");
    let error = refused("lro on");
    assert!(error.to_string().contains("rx-lro is fixed off"), "{error}");
    assert!(refused("warp on").to_string().contains("there is no feature warp"));
    let error = setting("v9:channels").read(&host).unwrap_err();
    assert!(plumb_model::fault::chain(&error).join(": ").contains("No such device"), "{error}");
}

#[test]
fn a_taps_one_number_of_coalescing_is_written_and_others_are_refused() {
    if !is_inside("a_taps_one_number_of_coalescing_is_written_and_others_are_refused") {
        return;
    }
    let made = Command::new("ip").args(["tuntap", "add", "dev", "tap0", "mode", "tap"]).output().unwrap();
    if !made.status.success() {
        println!("passed over: no tap here: {}", String::from_utf8_lossy(&made.stderr));
        return;
    }
    let host = Host::default();
    let coalesce = setting("tap0:coalesce");
    assert_eq!(coalesce.read(&host).unwrap(), "rx-frames 0");
    assert_eq!(coalesce.write(&host, "rx-frames 16").unwrap(), "rx-frames 16");
    assert_eq!(coalesce.write(&host, "rx-frames 0").unwrap(), "rx-frames 0");
    let error = coalesce.write(&host, "adaptive-rx on").unwrap_err();
    assert!(error.to_string().contains("tap0 has no adaptive-rx, expected one of rx-frames"), "{error}");
    // Its channels can be read, and there is no way to set them.
    let error = setting("tap0:channels").write(&host, "combined 1").unwrap_err();
    assert!(matches!(error, SettingError::Unchangeable { .. }), "{error}");
    assert!(error.to_string().contains("the driver of tap0 does not let it be changed so"), "{error}");
}

#[test]
fn whoever_may_not_change_it_reads_it_and_is_told() {
    if !is_inside("whoever_may_not_change_it_reads_it_and_is_told") {
        return;
    }
    // Of this thread alone.
    let mut sets = rustix::thread::capabilities(None).unwrap();
    sets.effective.remove(rustix::thread::CapabilitySet::NET_ADMIN);
    rustix::thread::set_capabilities(None, sets).unwrap();
    let host = Host::default();
    for (group, value) in [("channels", "rx 2"), ("features", "tso off")] {
        let setting = setting(&format!("v0:{group}"));
        let before = setting.read(&host).unwrap();
        let error = setting.write(&host, value).unwrap_err();
        assert!(matches!(error, SettingError::Permission { .. }), "{error}");
        assert!(
            error.to_string().ends_with(&format!("{group} of v0 may not be written by this user")),
            "{error}"
        );
        assert_eq!(setting.read(&host).unwrap(), before);
    }
}

#[test]
fn changes_with_a_journal_are_made_and_put_back() {
    if !is_inside("changes_with_a_journal_are_made_and_put_back") {
        return;
    }
    let host = Host::default();
    let place = tempfile::tempdir().unwrap();
    let places = Places { own: place.path().to_owned(), others: Vec::new() };
    let mut journal = Journal::open(
        &places,
        &host,
        JournalOwner::Trial { run: "r".into(), bootstrap: None },
        jiff::Timestamp::now(),
    )
    .unwrap();
    let settings = ["v0:channels", "v0:features"].map(setting);
    let reads = || settings.each_ref().map(|setting| setting.read(&host).unwrap());
    let before = reads();
    let changes: Vec<_> = settings
        .iter()
        .zip(["rx 2 tx 2", "tso off"])
        .map(|(setting, value)| steps::change(setting, &host, value).unwrap())
        .collect();
    apply::check(&host, &changes).unwrap();
    apply::apply(&host, &mut journal, &changes, &mut Unseen).unwrap();
    assert_eq!(reads()[0], "rx 2 tx 2");
    assert!(reads()[1].contains("tx-tcp-segmentation off"));
    let reverted = revert(&host, &mut journal, Cause::Asked).unwrap();
    assert!(reverted.steps.iter().all(|step| step.outcome == Restored::Restored), "{reverted:?}");
    assert_eq!(reads(), before);
}
