//! What is written of a plan, and that nothing of it breaks out of its format.

use super::*;
use plumb_model::change::{Assignment, Owner, Target};
use plumb_model::check::{PlannedChange, Risk, Role, SCHEMA_VERSION, SettingCheck, Status};
use proptest::prelude::*;
use std::io::Write;
use std::process::{Command, Stdio};

fn change(key: &str, before: &str, after: &str) -> PlannedChange {
    PlannedChange {
        id: "profile".to_owned(),
        order: 1,
        change: Change::plain(
            Target { owner: Owner::Host, key: key.to_owned() },
            Some(before.to_owned()),
            Some(after.to_owned()),
        ),
        risk: Risk::Low,
        interrupts: String::new(),
        reason: String::new(),
        evidence: Vec::new(),
        expected: String::new(),
        source: String::new(),
    }
}

fn plan(changes: Vec<PlannedChange>) -> TunePlan {
    TunePlan {
        schema_version: SCHEMA_VERSION,
        plumb_version: "1".to_owned(),
        made_at: "2026-01-02T03:04:05Z".to_owned(),
        role: Role::KafkaBroker,
        host_digest: None,
        bootstrap: None,
        changes,
        left_out: Vec::new(),
        cpus: Vec::new(),
    }
}

/// One change of each kind.
fn every_kind() -> TunePlan {
    let mut scheduler = change("/sys/block/sda/queue/scheduler", "mq-deadline", "none");
    scheduler
        .change
        .inverse
        .push(Assignment { key: "/sys/block/sda/queue/nr_requests".to_owned(), value: "256".to_owned() });
    let mut plan = plan(vec![
        change("ethtool:eth0:channels", "combined 4", "combined 8"),
        scheduler,
        change("/sys/block/sda/queue/nr_requests", "256", "1024"),
        change("net.core.somaxconn", "128", "4096"),
        change("net.ipv4.tcp_rmem", "4096 131072 6291456", "4096 131072 16777216"),
        change("ethtool:eth0:rings", "rx 512 tx 512", "rx 4096 tx 4096"),
        change(
            "ethtool:eth0:coalesce",
            "adaptive-rx on rx-usecs 3 stats-block-usecs 0",
            "adaptive-rx off rx-usecs 20 stats-block-usecs 9",
        ),
        change(
            "ethtool:eth0:features",
            "rx-gro on rx-udp-gro-forwarding off",
            "rx-gro off rx-udp-gro-forwarding on",
        ),
        change("ethtool:eth1:rings", "rx 256", "rx 512"),
        change("ethtool:eth0:rss", "default", "equal 4"),
        change("ethtool:eth0:flow-hash-udp4", "sd", "sdfn"),
        change("irq:0000:3b:00.0:eth0-TxRx-3", "0-7", "3"),
        change("/sys/class/net/eth0/queues/rx-0/rps_cpus", "00", "0f"),
        change("/sys/class/net/eth1/queues/rx-0/rps_cpus", "00", "0f"),
        change("/sys/kernel/mm/transparent_hugepage/enabled", "always", "madvise"),
        change("affinity:77", "0-7", "2-7"),
        change("affinity:78", "78=0 79=1", "2-7"),
        change("broker:1:num.io.threads", "(default)", "16"),
        change("topic:orders:cleanup.policy", "delete", "compact,delete"),
        change("ethtool:eth0:rss", "default", "table 0 1 2"),
    ]);
    plan.left_out.push(SettingCheck {
        id: "mitigations".to_owned(),
        target: String::new(),
        status: Status::NoEvidence,
        configured: None,
        effective: Some("on".to_owned()),
        recommended: None,
        reason: "a restart with other boot options changes it".to_owned(),
        evidence: Vec::new(),
        risk: Risk::Reboot,
        source: String::new(),
        assignments: Vec::new(),
        expected: String::new(),
        by_hand: String::new(),
    });
    plan
}

fn around() -> Surroundings {
    let eth0 = InterfaceIdentity {
        device: Some("0000:3b:00.0".to_owned()),
        driver: Some("ice".to_owned()),
        path: Some("pci-0000:3b:00.0".to_owned()),
        address: None,
    };
    Surroundings {
        interfaces: [("eth0".to_owned(), eth0)].into(),
        disks: [("sda".to_owned(), "pci-0000:00:1f.2-ata-1".to_owned())].into(),
        units: [(77, "kafka.service".to_owned())].into(),
        tuned_profile: Some("throughput-performance".to_owned()),
    }
}

fn of(plan: &TunePlan) -> Vec<InstallFile> {
    exported(plan, &around(), ForMany::default()).unwrap()
}

fn text<'f>(files: &'f [InstallFile], path: &str) -> &'f str {
    files.iter().find(|file| file.path == path).map_or("", |file| &file.text)
}

/// What comes after the functions that every script has.
fn own(script: &str) -> &str {
    script.rsplit_once("\n}\n").map_or("", |(_, own)| own)
}

#[test]
fn the_files_of_a_plan() {
    let files = of(&every_kind());
    let shown = files.iter().filter(|file| !file.path.starts_with("ansible/")).map(|file| {
        let text = if file.text.contains("\nfile_is()") { own(&file.text) } else { &file.text };
        format!("=== {}{}\n{text}\n", file.path, if file.executable { " (script)" } else { "" })
    });
    insta::assert_snapshot!("plan_files", shown.collect::<String>());
}

#[test]
fn the_role_gets_the_settings_of_the_host_and_the_files_that_fit_many() {
    let files = of(&every_kind());
    let role = |path: &str| text(&files, &format!("ansible/roles/plumb_tune/{path}"));
    insta::assert_snapshot!(
        "plan_role",
        format!("{}\n{}", role("files/profile.yaml"), role("vars/main.yml"))
    );
    assert_eq!(role("files/sysctl.d/99-plumb.conf"), text(&files, "sysctl.d/99-plumb.conf"));
}

#[test]
fn the_readme_names_every_file_and_what_each_is_for() {
    let files = of(&every_kind());
    for file in files.iter().filter(|file| file.path != "README.md") {
        assert!(files[0].text.contains(&format!("- `{}`: ", file.path)), "{}", file.path);
        assert!(!files[0].text.contains(&format!("- `{}`: see inside", file.path)), "{}", file.path);
    }
}

#[test]
fn a_setting_is_in_one_file_of_the_systems_own() {
    let files = of(&every_kind());
    let native = [
        "sysctl.d/99-plumb.conf",
        "udev/99-plumb.rules",
        "tmpfiles.d/plumb.conf",
        "network/70-plumb-eth0.link",
    ];
    let start = own(text(&files, "systemd/plumb-tune")).split("stop)").next().unwrap();
    for word in [
        "somaxconn",
        "queue/scheduler",
        "transparent_hugepage",
        "RxBufferSize=",
        "set_spread",
        "eth0/queues/rx-0",
        "eth1/queues/rx-0",
    ] {
        let holds = native.iter().filter(|path| {
            // Rules name the interface by its path.
            text(&files, path).contains(word)
                || (word == "eth0/queues/rx-0" && text(&files, path).contains("ATTR{queues/rx-0"))
        });
        let holds = holds.count() + usize::from(start.contains(word));
        assert_eq!(holds, 1, "{word}");
    }
}

#[test]
fn a_plan_of_a_profile_alone_has_no_file_that_says_nothing() {
    let files = of(&plan(vec![change("net.core.somaxconn", "128", "4096")]));
    let paths: Vec<&str> =
        files.iter().map(|file| file.path.as_str()).filter(|path| !path.starts_with("ansible/")).collect();
    assert_eq!(
        paths,
        [
            "README.md",
            "sysctl.d/99-plumb.conf",
            "sysctl.d/99-plumb.undo.conf",
            "tuned/plumb/tuned.conf",
            "apply.sh",
            "undo.sh"
        ]
    );
}

#[test]
fn groups_are_an_inventory_and_no_host_is_in_both() {
    let member = |name: &str, group: &str| Member { name: name.to_owned(), group: group.to_owned() };
    let plan = plan(vec![change("net.core.somaxconn", "128", "4096")]);
    let files =
        |groups: &[Member]| exported(&plan, &Surroundings::default(), ForMany { groups, force: false });
    let good = [member("b", "test"), member("a", "control"), member("c", "test"), member("d", "left out")];
    let made = files(&good).unwrap();
    let inventory = text(&made, "ansible/inventory.ini");
    assert!(inventory.ends_with("[test]\nb\nc\n\n[control]\na\n\n"), "{inventory}");
    assert!(matches!(
        files(&[member("a", "test"), member("a", "control")]),
        Err(InventoryError::Twice { .. })
    ));
    assert!(matches!(files(&[member("a", "test")]), Err(InventoryError::Empty { group: "control" })));
    for name in ["a b", "a[1:9]", "a=b", "{{ x }}", "", "a\nb", "-a"] {
        assert!(matches!(files(&[member(name, "test")]), Err(InventoryError::Name { .. })), "{name:?}");
    }
}

#[test]
fn what_a_host_refuses_without_force_is_said_and_forced_only_where_that_was_asked_for() {
    let flags = PlannedChange { risk: Risk::LockOut, ..change("/sys/class/net/eth0/mtu", "1500", "9000") };
    let plan = plan(vec![change("net.core.somaxconn", "128", "4096"), flags]);
    let files = |force| exported(&plan, &Surroundings::default(), ForMany { groups: &[], force }).unwrap();
    let [plain, forced] = [false, true].map(files);
    let vars = "ansible/roles/plumb_tune/vars/main.yml";
    assert!(
        !text(&plain, vars).contains("force") && text(&forced, vars).contains("\nplumb_tune_force: true\n")
    );
    assert!(
        text(&plain, "ansible/roles/plumb_tune/defaults/main.yml").contains("\nplumb_tune_force: false\n")
    );
    let apply = text(&plain, "ansible/roles/plumb_tune/tasks/apply.yml");
    assert!(apply.contains("['--force'] if plumb_tune_force | bool else []"), "{apply}");
    assert!(plain[0].text.contains("or lose data: `/sys/class/net/eth0/mtu`"), "{}", plain[0].text);
    assert!(
        plain[0].text.contains("fails on each host") && forced[0].text.contains("makes them all the same")
    );
    assert!(!of(&every_kind())[0].text.contains("--force"));
}

/// `sh` over a script that it is given.
fn sh(arguments: &[&str], script: &str) -> (bool, String) {
    let mut shell = Command::new("sh")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let ended = shell.wait_with_output().unwrap();
    (ended.status.success(), String::from_utf8_lossy(&ended.stdout).into_owned())
}

#[test]
fn a_shell_reads_every_script() {
    for file in of(&every_kind()).iter().filter(|file| file.executable) {
        assert!(sh(&["-n"], &file.text).0, "{}", file.path);
    }
}

/// A word of what is likely to break a format, and of what is harmless.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "'",
        "\"",
        "\n",
        "\r",
        "\t",
        " ",
        "$(touch /tmp/x)",
        "`id`",
        "${HOME}",
        "%n",
        "%%",
        "\\",
        "#",
        ";",
        "|",
        "&",
        "{{ x }}",
        "{% x %}",
        ": ",
        "- ",
        "[",
        "]",
        "*",
        "?",
        "!",
        "=",
        ",",
        "\u{85}",
        "\u{2028}",
        "\u{7f}",
        "é",
        "0",
        "4096",
        "a",
        "none",
        "on",
        "rx",
        "..",
        "/",
    ]);
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn hostile_key() -> impl Strategy<Value = String> {
    let start = prop::sample::select(vec![
        "net.core.",
        "/proc/sys/",
        "/sys/block/",
        "/sys/block/sda/queue/",
        "/sys/class/net/eth0/",
        "/sys/kernel/",
        "ethtool:eth0:rings",
        "ethtool:",
        "ethtool:eth0:",
        "irq:0000:3b:00.0:",
        "irq:",
        "affinity:",
        "broker:1:",
        "topic:",
        "topic:a:",
        "",
    ]);
    (start, hostile(), hostile()).prop_map(|(start, middle, end)| format!("{start}{middle}{end}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nothing_of_a_plan_breaks_out_of_its_format(key in hostile_key(), before in hostile(), after in hostile(), unit in hostile(), profile in hostile()) {
        let around = Surroundings {
            units: [(7, format!("{unit}.service"))].into(),
            tuned_profile: Some(profile),
            disks: [("sda".to_owned(), before.clone())].into(),
            interfaces: [("eth0".to_owned(), InterfaceIdentity {
                device: Some(after.clone()), driver: Some(before.clone()), path: Some(unit), address: Some(key.clone()),
            })].into(),
        };
        let good = [change("net.core.somaxconn", "128", "4096"), change("affinity:7", "0", "1")];
        let all: Vec<PlannedChange> = good.into_iter().chain([change(&key, &before, &after)]).collect();
        let files = exported(&plan(all), &around, ForMany::default()).unwrap();
        for file in &files {
            assert_is_sound(file);
        }
    }

    #[test]
    fn a_word_is_the_same_word_to_a_shell(word in hostile()) {
        // A shell reads no zero byte, and none is made here.
        let (_, said) = sh(&[], &format!("printf '%s' {}\n", super::super::quoted(&word)));
        prop_assert_eq!(said, word);
    }

    #[test]
    fn what_is_told_a_script_is_told_it_as_it_is(value in hostile()) {
        if let Ok(written) = Written::new("net.core.somaxconn", &value) {
            let call = shell::call(&written).unwrap();
            let (_, said) = sh(&[], &format!("set_file() {{ printf '%s|' \"$@\"; }}\n{call}\n"));
            prop_assert_eq!(said, format!("/proc/sys/net/core/somaxconn|{}|", written.value));
        }
    }
}

/// True if a line has no more than its format gives it: nothing of what is hostile is anywhere but in quotes of a shell.
fn assert_is_sound(file: &InstallFile) {
    let is_static =
        file.path.starts_with("ansible/") && !file.path.contains("files/") && !file.path.contains("vars/");
    if is_static || file.path == "README.md" {
        return;
    }
    let name = file.path.rsplit('/').next().unwrap();
    let path_is_plain = file.path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-@:\\".contains(c));
    // Dots within a name lead nowhere else.
    let leads_up = file.path.split('/').any(|part| part == "..");
    assert!(path_is_plain && !leads_up, "{}", file.path);
    assert!(
        file.text.chars().all(|c| c == '\n' || c == '\t' || c == ' ' || c.is_ascii_graphic()),
        "{:?}",
        file.text
    );
    let lines = file.text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let plain =
        |text: &str, marks: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c));
    match name {
        "99-plumb.rules" => {
            for line in lines {
                assert_eq!(line.matches('"').count() % 2, 0, "{line}");
                // Inside of quotes, and nothing outside that a plan has named but an attribute.
                for (at, part) in line.split('"').enumerate() {
                    let marks = if at % 2 == 1 { " ._,:/+@|-" } else { "=, {}_./:@+~-" };
                    assert!(plain(part, marks), "{line}");
                }
            }
        }
        "plumb.conf" if file.path.contains("tmpfiles.d") => {
            lines
                .for_each(|line| assert!(line.starts_with("w /sys/") && plain(line, " ._,:/+@~-"), "{line}"));
        }
        "99-plumb.conf" | "99-plumb.undo.conf" => {
            // Anything but the end of the line may be in a value.
            lines.for_each(|line| assert!(plain(line.split_once(" = ").unwrap().0, "._/@:+~,-"), "{line}"));
        }
        "tuned.conf" => lines.for_each(|line| {
            let own = line.starts_with("script=") || line.starts_with('[');
            assert!(own || plain(line.split_once('=').unwrap().1, " ._,:/+@-"), "{line}");
        }),
        "plumb.conf" | "plumb-tune.service" => {
            lines.for_each(|line| assert!(plain(line, " []=,./-_"), "{line}"));
        }
        "profile.yaml" => lines.for_each(|line| {
            let mut values = serde_json::Deserializer::from_str(line).into_iter::<String>();
            assert!(values.next().unwrap().is_ok(), "{line}");
            let rest = line[values.byte_offset()..].strip_prefix(": ").unwrap();
            assert!(serde_json::from_str::<String>(rest).is_ok(), "{line}");
        }),
        _ if file.executable => assert!(sh(&["-n"], &file.text).0, "{}", file.text),
        _ => {}
    }
}
