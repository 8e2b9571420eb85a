//! A driver's settings on a recorded host.

use super::*;
use crate::setting::Setting;
use plumb_model::fault::{Fault, HasFault};
use plumb_observe::HostRoot;
use proptest::prelude::*;
use std::path::Path;

/// A host whose interface `eth0` has these files.
fn host(content: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
    let root = tempfile::tempdir().unwrap();
    let place = root.path().join("ethtool/eth0");
    std::fs::create_dir_all(&place).unwrap();
    for (name, text) in content {
        std::fs::write(place.join(name), text).unwrap();
    }
    let host = Host::below(HostRoot::new(root.path()));
    (root, host)
}

fn setting(group: &str) -> Setting {
    Setting::new(&format!("ethtool:eth0:{group}")).unwrap()
}

fn text(root: &Path, group: &str) -> String {
    std::fs::read_to_string(root.join("ethtool/eth0").join(group)).unwrap()
}

#[test]
fn keys_that_a_value_does_not_name_stay_as_they_are() {
    let (root, host) = host(&[("rings", "rx 512  tx 256\n"), ("rss", "default hkey 6d:5a\n")]);
    assert_eq!(setting("rings").write(&host, "tx 1024").unwrap(), "rx 512 tx 1024");
    assert_eq!(text(root.path(), "rings"), "rx 512  tx 1024\n");
    assert_eq!(setting("rss").write(&host, "equal 2").unwrap(), "equal 2 hkey 6d:5a");
    assert_eq!(setting("rss").write(&host, "hkey 00:01").unwrap(), "equal 2 hkey 00:01");
}

#[test]
fn a_value_beyond_the_maximum_is_refused_with_the_maximum_before_and_when_it_is_written() {
    let (root, host) = host(&[
        ("rings", "rx 512 tx 512"),
        ("rings.max", "rx 4096 tx 2048\n"),
        ("rss", "default"),
        ("rss.max", "queues 4 entries 8"),
    ]);
    for (group, value, reason) in [
        ("rings", "rx 1024 tx 4096", "tx 4096 is beyond its maximum, 2048"),
        ("rss", "equal 5", "it names queue 4, but the last one is 3 (4 queues at most)"),
    ] {
        let setting = setting(group);
        for error in
            [setting.check_written(&host, value).unwrap_err(), setting.write(&host, value).unwrap_err()]
        {
            let expected = format!("host setting ethtool:eth0:{group}: {value:?} cannot be: {reason}");
            assert_eq!((error.to_string(), error.fault()), (expected, Fault::User));
        }
    }
    assert_eq!(text(root.path(), "rings"), "rx 512 tx 512");
    assert_eq!(
        limits(&host, "eth0", "rings").unwrap(),
        [("rx".to_owned(), 4096), ("tx".to_owned(), 2048)].into()
    );
    assert_eq!(limits(&host, "eth0", "features"), None);
}

#[test]
fn a_setting_of_which_more_is_set_than_the_maximum_can_still_be_changed_elsewhere() {
    let (_root, host) = host(&[("rings", "rx 512 tx 512"), ("rings.max", "rx 256 tx 4096")]);
    assert_eq!(setting("rings").write(&host, "rx 512 tx 1024").unwrap(), "rx 512 tx 1024");
}

#[test]
fn what_the_driver_does_not_let_be_changed_says_so_and_being_as_asked_already_is_no_change() {
    let (_root, host) =
        host(&[("pause", "autoneg on rx on tx on"), ("pause.fixed", "the link is virtual\n")]);
    let error = setting("pause").write(&host, "rx off").unwrap_err();
    assert!(matches!(error, SettingError::Unchangeable { .. }), "{error}");
    assert!(error.to_string().ends_with("cannot be changed: the link is virtual"), "{error}");
    setting("pause").check_written(&host, "rx off").unwrap();
    setting("pause").write(&host, "rx on").unwrap();
}

#[test]
fn words_that_are_none_of_the_groups_are_refused_with_those_that_are() {
    let (_root, host) = host(&[
        ("rings", "rx 512 tx 512"),
        ("features", "rx-gro on"),
        ("pause", "autoneg on rx on tx on"),
        ("flow-hash-udp4", "sd"),
    ]);
    for (group, value, reason) in [
        ("rings", "rx-mini 5", "eth0 has no rx-mini, expected one of rx, tx"),
        ("rings", "rx many", "rx is \"many\", expected a whole number"),
        ("rings", "rx -5", "rx is \"-5\", expected a whole number"),
        ("rings", "rx", "rx has no value"),
        ("features", "gro yes", "rx-gro is \"yes\", expected on or off"),
        ("features", "lro on", "eth0 has no lro, expected one of rx-gro"),
        ("pause", "rx 1", "rx is \"1\", expected on or off"),
        ("flow-hash-udp4", "sdx", "'x' is no field of a packet, expected letters of \"mvtsdfnelr\" or none"),
    ] {
        let error = setting(group).check_written(&host, value).unwrap_err();
        assert!(error.to_string().ends_with(&format!("cannot be: {reason}")), "{error}");
    }
}

#[test]
fn short_names_and_letters_in_any_order_are_what_they_stand_for() {
    let features = "tx-tcp-segmentation on tx-tcp6-segmentation on rx-gro on";
    let (_root, host) = host(&[("features", features), ("flow-hash-udp4", "sd")]);
    let reads = setting("features").write(&host, "gro off tso off").unwrap();
    assert_eq!(reads, "tx-tcp-segmentation off tx-tcp6-segmentation off rx-gro off");
    assert!(setting("features").is_met("tso off", &reads));
    assert!(!setting("features").is_met("tso off gro on", &reads));
    assert_eq!(setting("flow-hash-udp4").write(&host, "nfds").unwrap(), "sdfn");
}

#[test]
fn one_spread_in_two_forms_is_taken_where_the_size_is_known() {
    let (_root, host) = host(&[("rss", "default"), ("rss.max", "queues 4 entries 8")]);
    assert_eq!(setting("rss").write(&host, "equal 4").unwrap(), "default");
    assert_eq!(setting("rss").write(&host, "weight 3 1").unwrap(), "weight 3 1");
    assert_eq!(setting("rss").in_effect(&host, "weight 6 2").unwrap(), "weight 3 1");
}

#[test]
fn a_number_that_the_driver_rounded_is_taken_but_is_not_what_was_asked_for() {
    let (root, host) = host(&[("rings", "rx 1024 tx 512"), ("channels", "combined 4")]);
    let rings = setting("rings");
    assert_eq!(rings.in_effect(&host, "rx 700").unwrap(), "rx 1024 tx 512");
    assert!(!rings.is_met("rx 700", "rx 1024 tx 512"));
    for value in ["rx 511", "rx 2049", "rx 700 tx 5000"] {
        assert!(matches!(rings.in_effect(&host, value), Err(SettingError::NotInEffect { .. })), "{value}");
    }
    // Half of the queues is no rounding.
    assert!(setting("channels").in_effect(&host, "combined 5").is_err());
    std::fs::write(root.path().join("ethtool/eth0/rings"), "rx 4294967295 tx 0").unwrap();
    assert!(rings.in_effect(&host, "rx 2147483647").is_err());
}

#[test]
fn numbers_that_the_driver_chooses_itself_are_no_change_of_somebody_elses() {
    let coalesce = setting("coalesce");
    let text = |adaptive: &str, usecs: u32, tx: u32| {
        format!("adaptive-rx {adaptive} rx-usecs {usecs} tx-usecs {tx}")
    };
    assert!(coalesce.reads_alike(&text("on", 8, 1), &text("on", 50, 1)));
    assert!(!coalesce.reads_alike(&text("on", 8, 1), &text("on", 8, 2)));
    assert!(!coalesce.reads_alike(&text("on", 8, 1), &text("off", 8, 1)));
    assert!(!coalesce.is_met(&text("on", 8, 1), &text("on", 50, 1)));
    let (_root, host) = host(&[("coalesce", &text("on", 50, 1))]);
    coalesce.in_effect(&host, &text("on", 8, 1)).unwrap();
}

#[test]
fn the_command_for_a_person_is_ethtools() {
    let by_hand = |group: &str, value: &str| setting(group).by_hand(value);
    assert_eq!(by_hand("rings", "rx  4096"), "ethtool -G eth0 rx 4096");
    assert_eq!(by_hand("channels", "combined 4"), "ethtool -L eth0 combined 4");
    assert_eq!(by_hand("features", "gro off"), "ethtool -K eth0 gro off");
    assert_eq!(by_hand("coalesce", "adaptive-rx on"), "ethtool -C eth0 adaptive-rx on");
    assert_eq!(by_hand("rss", "equal 4"), "ethtool -X eth0 equal 4");
    assert_eq!(by_hand("rss", "table 0 2 1"), "ethtool has no command for it: eth0 table 0 2 1");
    assert_eq!(by_hand("pause", "rx off"), "ethtool -A eth0 rx off");
    assert_eq!(by_hand("flow-hash-udp4", "sdfn"), "ethtool -N eth0 rx-flow-hash udp4 sdfn");
    let hostile = Setting::new("ethtool:a;reboot':rings").unwrap();
    assert_eq!(hostile.by_hand("rx 1"), r"ethtool -G 'a;reboot'\''' rx 1");
}

#[test]
fn a_name_that_is_no_interfaces_or_no_groups_is_refused() {
    for rest in [
        "eth0",
        "eth0:",
        ":rings",
        "eth0:ring",
        "eth0:flow-hash-tcp",
        "../x:rings",
        "a/b:rings",
        "..:rings",
        ".:rings",
        "a b:rings",
        "a\nb:rings",
        "eth0:1:rings",
        "-s:rings",
        "a-name-of-16-byt:rings",
        "é€é€é€é:rings",
    ] {
        assert!(
            matches!(Setting::new(&format!("ethtool:{rest}")), Err(SettingError::Name { .. })),
            "{rest:?}"
        );
    }
    Setting::new("ethtool:a-name-of-15-by:flow-hash-tcp6").unwrap();
}

#[test]
fn what_was_not_recorded_is_not_there() {
    let (_root, host) = host(&[]);
    let error = setting("rings").read(&host).unwrap_err();
    assert_eq!(
        error.to_string(),
        "host setting ethtool:eth0:rings: this kernel has no /ethtool/eth0/rings that can be read"
    );
}

/// A recorded text of a group that is a row of keys, and a value that names some of them.
fn row_and_part() -> impl Strategy<Value = (&'static str, String, String)> {
    let groups = prop_oneof![
        Just(("channels", vec!["rx", "tx", "other", "combined"])),
        Just(("rings", vec!["rx", "rx-mini", "rx-jumbo", "tx"])),
        Just(("coalesce", vec!["rx-usecs", "rx-frames", "tx-usecs", "pkt-rate-low", "sample-interval"])),
        Just(("pause", vec!["autoneg", "rx", "tx"])),
        Just(("features", vec!["rx-gro", "tx-tcp-segmentation", "rx-hashing", "tx-scatter-gather"])),
    ];
    groups.prop_flat_map(|(group, keys)| {
        let is_flags = ["pause", "features"].contains(&group);
        let value = move || match is_flags {
            true => prop_oneof![Just("on".to_owned()), Just("off".to_owned())].boxed(),
            false => any::<u32>().prop_map(|number| number.to_string()).boxed(),
        };
        let blank = prop_oneof![Just(" "), Just("  "), Just("\t"), Just("\n")];
        let entries = keys.len();
        let columns = (
            prop::collection::vec((value(), blank.clone(), blank), entries),
            prop::collection::vec((any::<bool>(), value()), entries),
        );
        columns.prop_map(move |(own, part)| {
            let line = |(key, (value, after_key, after)): (&&str, &(String, &str, &str))| {
                format!("{key}{after_key}{value}{after}")
            };
            let recorded = keys.iter().zip(&own).map(line).collect();
            let named = keys.iter().zip(&part).filter(|(_, (is_named, _))| *is_named);
            let part = named.map(|(key, (_, value))| format!("{key} {value}")).collect::<Vec<_>>().join(" ");
            (group, recorded, part)
        })
    })
}

proptest! {
    // Each makes files.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_read_before_is_written_again_and_every_byte_is_back((group, recorded, part) in row_and_part()) {
        prop_assume!(!part.is_empty());
        let (root, host) = host(&[(group, &recorded)]);
        let setting = setting(group);
        let before = setting.read(&host).unwrap();
        let reads = setting.write(&host, &part).unwrap();
        prop_assert!(setting.is_met(&part, &reads));
        setting.write(&host, &before).unwrap();
        prop_assert_eq!(text(root.path(), group), recorded);
    }

    #[test]
    fn any_recorded_text_and_any_value_give_a_value_or_an_error(recorded in "[a-z0-9: \n-]{0,40}", value in ".{0,40}") {
        for group in ["rings", "coalesce", "features", "rss", "flow-hash-tcp4"] {
            let (_root, host) = host(&[(group, &recorded), (&format!("{group}.max"), &recorded)]);
            let _ = setting(group).check_written(&host, &value);
            let _ = setting(group).write(&host, &value);
        }
    }
}
