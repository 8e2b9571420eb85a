//! `plumb check` and `plumb tune` on real drivers, and with a journal on a disk through resets and ends of power.

use super::guest::{Guest, Scene};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Cards brought up, igb first, and what the kernel says of their settings in its own words.
const CARDS: &str = r#"
card() {
    modprobe "$1"
    until_there ls "/sys/class/net/$2"
    ip link set "$2" up
    until_there grep -q up "/sys/class/net/$2/operstate"
}
card igb eth0

readings() {
    local interface option name list
    for interface in "$@"; do
        for option in g l c a k x; do
            echo "== $interface $option"
            # A driver that has none of it says so, and always the same.
            ethtool -$option "$interface" 2>&1 || true
        done
    done
    echo "== interrupts"
    # By name: a driver that makes its queues anew gets other numbers.
    for name in /proc/irq/*/{eth,virtio}*; do
        read -r list < "${name%/*}/smp_affinity_list"
        echo "${name##*/} $list"
    done | sort
    echo "== steering"
    grep -s . /sys/class/net/*/queues/*/{rps,xps}_cpus || true
}
"#;

/// Everything that has a group of its own, on each driver what it has.
const PROFILE: &str = r#"
"ethtool:eth0:rings": rx 512 tx 1024
"ethtool:eth0:coalesce": rx-usecs 50
"ethtool:eth0:features": rx-gro off tx-tcp-segmentation off
"ethtool:eth0:rss": weight 3 1 2 2
"ethtool:eth0:pause": autoneg off rx off tx off
"ethtool:eth0:flow-hash-udp4": sdfn
"irq:0000:41:00.0:eth0-rx-0": 2
"irq:0000:41:00.0:eth0-rx-1": 3
"irq:0000:41:00.0:eth0-tx-0": 0-1
"ethtool:eth1:rings": rx 1024
"ethtool:eth1:coalesce": rx-usecs 20
"ethtool:eth1:features": tx-tcp-segmentation off
"irq:0000:00:04.0:eth1-rx-0": 3
"irq:virtio2:virtio2-input.0": 1
"/sys/class/net/eth0/queues/rx-0/rps_cpus": c
"#;

/// What is said of why a test proves nothing here.
#[expect(clippy::print_stderr, reason = "whoever runs the tests has to know what was not run")]
fn passed_over() {
    eprintln!("passed over: no QEMU here has igb, a card with several queues (version 8 or newer)");
}

/// The lines of a part of the readings.
fn part<'t>(readings: &'t str, name: &str) -> Vec<&'t str> {
    let mut parts = readings.split("== ");
    let part = parts.find(|part| part.lines().next() == Some(name));
    part.unwrap_or_else(|| panic!("no {name}: {readings}")).lines().skip(1).collect()
}

/// The numbers and words of the lines of a part, without the blanks between them.
fn words(readings: &str, name: &str) -> Vec<String> {
    part(readings, name).iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn found<'d>(check: &'d Value, id: &str, target: &str) -> &'d Value {
    let checks = check["checks"].as_array().unwrap();
    let found = checks.iter().find(|found| found["id"] == id && found["target"] == target);
    found.unwrap_or_else(|| panic!("no {id} of {target}: {checks:?}"))
}

fn befores(plan: &Value) -> Vec<(&Value, &Value)> {
    let changes = plan["changes"].as_array().unwrap();
    changes.iter().map(|planned| (&planned["target"]["key"], &planned["before"])).collect()
}

#[test]
#[ignore = "needs a virtual machine: make test-hardware"]
fn settings_of_real_drivers_are_found_changed_read_back_by_the_kernel_and_put_back_exactly() {
    let Some(guest) = Guest::new().with_two_nodes().with_card() else { return passed_over() };
    let guest = guest
        .device(&["-netdev", "user,id=plain,restrict=on,ipv6=off"])
        .device(&["-device", "e1000e,netdev=plain,bus=pcie.0,addr=4"])
        .device(&["-netdev", "user,id=cloud,restrict=on,ipv6=off"])
        .device(&["-device", "virtio-net-pci,netdev=cloud,bus=pcie.0"]);
    let scene = guest.run(&format!(
        r#"{CARDS}
        card e1000e eth1
        card virtio_net eth2
        cards="eth0 eth1 eth2"
        export PLUMB_STATE_DIR=/tmp/state
        # An idle host.
        plumb idle check --window 2s
        cat /proc/interrupts > /scene/interrupts

        # plan NAME ARGUMENT...: into /tmp/NAME.json and the scene.
        plan() {{
            local name=$1
            shift
            "$PLUMB" tune plan "$@" --window 1s --out "/tmp/$name.json" > /dev/null
            cp "/tmp/$name.json" "/scene/$name.json"
        }}
        # refused PLAN CODE: applied in vain.
        refused() {{
            local status=0
            "$PLUMB" tune apply "/tmp/$1.json" 2> "/scene/$1-refused" || status=$?
            [ "$status" = "$2" ]
        }}

        readings $cards > /scene/before
        cat > /tmp/groups.yaml <<'END'
{PROFILE}
END
        plan groups --only profile --profile /tmp/groups.yaml
        ip route add default dev eth0
        refused groups 2
        ip route del default
        plumb applied tune apply /tmp/groups.json
        readings $cards > /scene/during
        plumb status tune status
        plumb reverted tune revert
        readings $cards > /scene/after

        # Fewer queues than a table names that was written once, though it is the driver's own again.
        echo '"ethtool:eth0:channels": combined 2' > /tmp/fewer.yaml
        plan fewer --only profile --profile /tmp/fewer.yaml
        refused fewer 3
        readings $cards > /scene/after_refusal

        # What a change of the number of queues makes the driver forget.
        ethtool -X eth0 default
        ethtool -C eth0 rx-usecs 77
        for name in /proc/irq/*/eth0-rx-2; do echo 1 > "${{name%/*}}/smp_affinity_list"; done
        echo 4 > /sys/class/net/eth0/queues/rx-3/rps_cpus
        echo 8 > /sys/class/net/eth0/queues/tx-3/xps_cpus
        readings eth0 > /scene/many
        echo '"ethtool:eth0:rings": rx 512' >> /tmp/fewer.yaml
        plan queues --only profile --profile /tmp/fewer.yaml
        "$PLUMB" tune apply /tmp/queues.json
        readings eth0 > /scene/few
        "$PLUMB" tune revert
        readings eth0 > /scene/many_again
        # An interrupt that the plan's own change of queues takes away.
        printf '"ethtool:eth0:channels": combined 2\n"irq:0000:41:00.0:eth0-rx-3": 2\n' > /tmp/gone.yaml
        plan gone --only profile --profile /tmp/gone.yaml
        refused gone 3
        readings eth0 > /scene/many_after_refusal

        # Interrupts far from their card. Hardware follows at the next interrupt.
        for name in /proc/irq/*/eth0-*; do echo 0 > "${{name%/*}}/smp_affinity_list"; done
        for name in /proc/irq/*/eth0-*; do until_there grep -qx 0 "${{name%/*}}/effective_affinity_list"; done
        readings eth0 > /scene/far
        plan near --only interrupts --without-evidence
        "$PLUMB" tune apply /tmp/near.json
        readings eth0 > /scene/near
        "$PLUMB" tune revert
        readings eth0 > /scene/far_again

        # All that is usual on this host, whether it matters or not.
        plan usual --without-evidence
        plumb usual_applied tune apply /tmp/usual.json
        plumb usual_reverted tune revert
        plan usual_again --without-evidence
        readings eth0 > /scene/far_at_the_end
        "#
    ));
    the_idle_host_is_described(&scene);
    groups_go_there_and_back(&scene);

    let refused = scene.text("groups-refused");
    assert!(refused.contains("eth0 down, which is the only way to this host"), "{refused}");
    // The kernel refuses what would leave a table with queues that are not there.
    let refused = scene.text("fewer-refused");
    assert!(refused.contains("set ethtool:eth0:rss to fewer first"), "{refused}");
    assert_eq!(scene.text("after_refusal"), scene.text("after"));
    let (many, few) = (scene.text("many"), scene.text("few"));
    assert_eq!(words(&few, "eth0 l").last().unwrap(), "Combined: 2");
    assert!(words(&few, "eth0 g").contains(&"RX: 512".to_owned()), "{few}");
    assert!(!part(&few, "interrupts").iter().any(|line| line.starts_with("eth0-rx-2 ")), "{few}");
    assert_eq!(scene.text("many_again"), many);
    let refused = scene.text("gone-refused");
    assert!(refused.contains("no eth0-rx-3 in /proc/interrupts"), "{refused}");
    assert!(refused.contains("all 2 changes that were begun are put back"), "{refused}");
    assert_eq!(scene.text("many_after_refusal"), many);

    let near = scene.text("near");
    let served: BTreeSet<&str> = part(&near, "interrupts")
        .iter()
        .filter_map(|line| line.strip_prefix("eth0-")?.split_once(' '))
        .map(|(_, cpus)| cpus)
        .collect();
    assert_eq!(served, BTreeSet::from(["2", "3"]), "{near}");
    assert_eq!(befores(&scene.json("near.json")).len(), 8, "the link's own stays where it is");
    assert_eq!(scene.text("far_again"), scene.text("far"));

    let (usual, applied) = (scene.json("usual.json"), scene.json("usual_applied.json"));
    let not_made: Vec<&Value> =
        applied["changes"].as_array().unwrap().iter().filter(|made| !made["skipped"].is_null()).collect();
    assert!(befores(&usual).len() >= 10 && not_made.is_empty(), "{usual} {not_made:?}");
    for step in scene.json("usual_reverted.json")["steps"].as_array().unwrap() {
        assert!(["restored", "unchanged"].contains(&outcome(step)), "{step}");
    }
    // What another window has evidence for may differ.
    let (again, first) = (scene.json("usual_again.json"), befores(&usual));
    for (key, before) in befores(&again) {
        let is_as_it_was = first.iter().all(|(own, was)| *own != key || *was == before);
        assert!(is_as_it_was, "{key} is {before}: {first:?}");
    }
    assert_eq!(scene.text("far_at_the_end"), scene.text("far"));
}

/// What became of a change: a word, or a word with more behind it.
fn outcome(step: &Value) -> &str {
    let outcome = &step["outcome"];
    let of_more = || outcome.as_object()?.keys().next().map(String::as_str);
    outcome.as_str().or_else(of_more).unwrap_or_default()
}

fn the_idle_host_is_described(scene: &Scene) {
    let idle = scene.json("idle.json");
    let changes: Vec<&Value> =
        idle["checks"].as_array().unwrap().iter().filter(|check| check["status"] == "change").collect();
    assert!(changes.is_empty(), "nothing hurts an idle host: {changes:?}");
    let cpus = idle["cpus"].as_array().unwrap();
    let nodes: Vec<&Value> = cpus.iter().map(|cpu| &cpu["node"]).collect();
    assert_eq!(nodes, [&json!(0), &json!(0), &json!(1), &json!(1)], "{cpus:?}");
    for cpu in &cpus[..2] {
        assert!(!cpu["interrupts"].as_array().unwrap().contains(&json!("eth0")), "it is far: {cpu}");
    }
    assert!(cpus[2..].iter().any(|cpu| cpu["interrupts"].as_array().unwrap().contains(&json!("eth0"))));
    let interrupts = found(&idle, "interrupts", "eth0");
    // Where the kernel puts them at first is its own matter.
    assert!(["ok", "no_evidence"].map(Value::from).contains(&interrupts["status"]), "{interrupts}");
    assert_eq!(interrupts["recommended"], "2-3", "{interrupts}");
    // The driver's own table has runs of one queue, and all of them are of one length.
    for (id, target) in [("rss", "eth0"), ("rings", "eth0"), ("channels", "eth0"), ("rings", "eth1")] {
        let check = found(&idle, id, target);
        assert_eq!(check["status"], "ok", "{check}");
    }
    assert_eq!(found(&idle, "channels", "eth1")["status"], "not_applicable");
    assert_eq!(found(&idle, "channels", "eth2")["status"], "not_applicable");
    assert!(scene.text("interrupts").contains("eth0-tx-3"), "{}", scene.text("interrupts"));
}

fn groups_go_there_and_back(scene: &Scene) {
    let (before, during) = (scene.text("before"), scene.text("during"));
    let now = |part: &str, line: &str| {
        let is_there = |readings: &str| words(readings, part).iter().any(|own| own == line);
        assert!(is_there(&during) && !is_there(&before), "{part}: {line}\n{during}");
    };
    now("eth0 g", "RX: 512");
    now("eth0 g", "TX: 1024");
    now("eth0 c", "rx-usecs: 50");
    now("eth0 k", "tx-tcp-segmentation: off");
    now("eth0 k", "generic-receive-offload: off");
    now("eth0 a", "Autonegotiate: off");
    now("eth0 x", "40: 0 0 0 0 0 0 0 0");
    now("eth1 g", "RX: 1024");
    now("eth1 c", "rx-usecs: 20");
    now("eth1 k", "tx-tcp-segmentation: off");
    now("interrupts", "eth0-rx-0 2");
    now("interrupts", "eth0-rx-1 3");
    now("interrupts", "eth0-tx-0 0-1");
    now("interrupts", "eth1-rx-0 3");
    now("interrupts", "virtio2-input.0 1");
    now("steering", "/sys/class/net/eth0/queues/rx-0/rps_cpus:c");

    let applied = scene.json("applied.json");
    let made = applied["changes"].as_array().unwrap();
    assert_eq!(made.len(), 15, "{applied}");
    assert!(made.iter().all(|made| made["skipped"].is_null()), "{applied}");
    let plan = scene.json("groups.json");
    let before_of = |target: &Value| {
        let found = befores(&plan).into_iter().find(|(key, _)| *key == target);
        found.map(|(_, before)| before.clone()).unwrap()
    };
    let status = scene.json("status.json");
    for change in status[0]["changes"].as_array().unwrap() {
        assert_eq!(change["before"], before_of(&change["target"]));
        assert_ne!(change["reads_now"], change["before"], "{change}");
    }
    let reverted = scene.json("reverted.json");
    let steps = reverted["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 15, "{reverted}");
    assert!(steps.iter().all(|step| outcome(step) == "restored"), "{reverted}");
    assert_eq!(scene.text("after"), before);
}

/// Settings that take any such number, which none of them has; the last digits tell rounds apart.
const ANY_NUMBER: [&str; 22] = [
    "fs.aio-max-nr",
    "fs.inotify.max_queued_events",
    "fs.inotify.max_user_watches",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_challenge_ack_limit",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_max_orphans",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.udp_rmem_min",
    "net.unix.max_dgram_qlen",
    "vm.dirty_expire_centisecs",
    "vm.max_map_count",
];
const NUMBER: &str = "7700000";

/// A change of the middle, at whose announcement the machine is reset.
const MIDDLE: usize = 8;

/// Noted changes of the host after which its power is cut, for each time: within any step of applying or putting back.
const CUTS: [usize; 3] = [9, 31, 64];

fn file_of(setting: &str) -> String {
    format!("/proc/sys/{}", setting.replace('.', "/"))
}

/// What every start of the machine with the journals begins with.
fn start() -> String {
    let files: Vec<String> = ANY_NUMBER.iter().map(|setting| file_of(setting)).collect();
    let files = files.join(" ");
    format!(
        r#"{CARDS}
        modprobe virtio_blk
        disk=$(disk JOURNAL)
        export PLUMB_STATE_DIR=/mnt/lasting/state
        all() {{ cat {files}; readings eth0; }}
        # Notes each value that it sees, as soon as it sees it: outside of the machine.
        watch() {{
            local -A seen
            local file value
            while :; do
                for file in {files}; do
                    read -r value < "$file"
                    [ "${{seen[$file]-}}" = "$value" ] || echo "$file $value" >> "$1"
                    seen[$file]=$value
                done
            done
        }}
        "#
    )
}

/// A start after the end of another one: what that left, and that it is in nobody's way.
fn look(number: usize) -> String {
    format!(
        r#"{}
        mounted lasting "$disk"
        mkdir "/scene/kept-{number}"
        cp "$PLUMB_STATE_DIR"/journal/*.jsonl "/scene/kept-{number}/"
        plumb status-{number} tune status
        plumb history-{number} tune history
        "$PLUMB" tune history 2>&1 > /dev/null | tee /scene/warnings-{number}
        all > /tmp/before
        # What ended with the start is in no one's way.
        "$PLUMB" tune apply /mnt/lasting/plan.json
        "$PLUMB" tune revert
        all | cmp - /tmp/before
        "#,
        start()
    )
}

/// Applies and puts back in turn, with a number of its own each time, until the power goes.
fn rounds(number: usize) -> String {
    format!(
        r#"
        watch /scene/seen-{number} &
        for round in $(seq 200); do
            sed "s/{NUMBER}/$((7700000 + {number} * 1000 + round))/" /mnt/lasting/plan.json > /tmp/round.json
            "$PLUMB" tune apply /tmp/round.json
            "$PLUMB" tune revert
        done
        "#
    )
}

/// A file of the guest's folder, empty where there is none.
fn kept(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_default()
}

/// The records of a journal. Its last line may be torn.
fn records(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let record =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}\n{text}"));
    whole.lines().map(record).collect()
}

/// All records of the journals that a start found.
fn journals(folder: &Path, number: usize) -> Vec<Value> {
    let mut paths: Vec<_> = std::fs::read_dir(folder.join(format!("kept-{number}")))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths.iter().flat_map(|path| records(path)).collect()
}

#[test]
#[ignore = "needs a virtual machine: make test-hardware"]
fn a_reset_and_ends_of_power_amid_changes_leave_journals_that_announce_all_and_are_in_nobodys_way() {
    let Some(guest) = Guest::new().with_two_nodes().with_card() else { return passed_over() };
    let guest = guest
        .lasting_image("lasting", 64)
        .device(&["-device", "virtio-blk-pci,drive=lasting,serial=JOURNAL,bus=pcie.0"]);
    let folder = guest.folder().to_owned();
    let settings: String = ANY_NUMBER.iter().map(|setting| format!("{setting}: {NUMBER}\n")).collect();
    let start = start();
    guest.start(
        &format!(
            r#"{start}
            make_ext4 "$disk"
            mounted lasting "$disk"
            cat > /tmp/profile.yaml <<'END'
"ethtool:eth0:rings": rx 512
"ethtool:eth0:coalesce": rx-usecs 50
"irq:0000:41:00.0:eth0-rx-0": 2
{settings}
END
            "$PLUMB" tune plan --only profile --profile /tmp/profile.yaml --window 0s --out /mnt/lasting/plan.json
            sync
            "$PLUMB" tune apply /mnt/lasting/plan.json 2>&1 > /dev/null | while read -r line; do
                case $line in {MIDDLE}/*) echo b > /proc/sysrq-trigger ;; esac
            done
            "#
        ),
        |_| false,
    );
    assert_eq!(kept(&folder, "status"), "", "it was not reset: {}", kept(&folder, "said"));

    // The first start after it has settings of its own, which stay, even where they are what was being set before.
    let own = format!(
        r#"
        ethtool -G eth0 rx 512
        all > /tmp/before
        status=0
        "$PLUMB" tune revert --output json > /scene/reverted-0.json || status=$?
        [ "$status" = 1 ]
        all | cmp - /tmp/before
        ethtool -G eth0 rx 256
        {}"#,
        rounds(0)
    );
    let rest = |number: usize| {
        format!(
            r#"
            plumb reverted-{number} tune revert
            all | cmp - /tmp/before
            {}"#,
            if number < CUTS.len() { rounds(number) } else { String::new() }
        )
    };
    for (number, cut) in CUTS.into_iter().enumerate() {
        let after = if number == 0 { own.clone() } else { rest(number) };
        let is_cut =
            |folder: &Path| kept(folder, &format!("seen-{number}")).lines().count() >= ANY_NUMBER.len() + cut;
        guest.start(&format!("{}{after}", look(number)), is_cut);
        assert_eq!(kept(&folder, "status"), "", "its power was not cut: {}", kept(&folder, "said"));
    }
    guest.start(&format!("{}{}", look(CUTS.len()), rest(CUTS.len())), |_| false);
    let scene = guest.ended();

    the_reset_is_told(&scene, &folder);
    for (number, cut) in CUTS.into_iter().enumerate() {
        let announced: BTreeSet<(String, String)> = journals(&folder, number + 1)
            .iter()
            .filter(|record| record["record"] == "begun")
            .map(|record| (text(&record["change"]["target"]["key"]), text(&record["change"]["after"])))
            .collect();
        let seen = scene.text(&format!("seen-{number}"));
        let made: Vec<(&str, &str)> = seen
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(_, value)| value.starts_with("770"))
            .collect();
        assert!(made.len() >= cut / 2, "{seen}");
        for (file, value) in made {
            let is_announced = announced.iter().any(|(key, after)| file_of(key) == file && after == value);
            assert!(is_announced, "{file} was {value}, which no journal announced: {announced:?}");
        }
        assert_eq!(scene.text(&format!("warnings-{}", number + 1)), "");
        // What was left is of the round that the power ended, and it was in no one's way.
        let reverted = scene.json(&format!("reverted-{}.json", number + 1));
        for step in reverted["steps"].as_array().unwrap() {
            assert_eq!(outcome(step), "unchanged", "{step}");
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What the first start after the reset says of it.
fn the_reset_is_told(scene: &Scene, folder: &Path) {
    let found = journals(folder, 0);
    let of = |kind: &str| found.iter().filter(|record| record["record"] == kind).count();
    assert_eq!((of("opened"), of("applied")), (1, 0), "it was in the middle: {found:?}");
    assert!((MIDDLE - 1..ANY_NUMBER.len() + 3).contains(&of("begun")), "{found:?}");
    for name in ["status-0.json", "history-0.json"] {
        let listed = scene.json(name);
        assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(listed[0]["started_anew_since"], true, "{listed}");
        assert_eq!(listed[0]["state"], "begun and not finished", "{listed}");
        assert_eq!(listed[0]["changes"].as_array().unwrap().len(), of("begun"), "{listed}");
    }
    let reverted = scene.json("reverted-0.json");
    for step in reverted["steps"].as_array().unwrap() {
        let expected = if step["target"] == "ethtool:eth0:rings" { "foreign" } else { "unchanged" };
        assert_eq!(outcome(step), expected, "{step}");
    }
}
