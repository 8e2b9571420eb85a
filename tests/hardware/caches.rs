//! A slow disk alone, behind bcache and behind dm-cache, with a log on a disk of its own: what a commit costs on each.

use super::guest::Guest;
use super::{commit, details, kinds, target, warnings};

/// Requests that the slow disks take in a second: ext4 makes three of an appending commit.
const REQUESTS_PER_S: f64 = 40.0;
/// Names of the slow disks; each but the first has a fast one beside it.
const PLACES: [&str; 4] = ["alone", "bcache", "dmcache", "log"];

fn with_slow_disks() -> Guest {
    let throttling = format!(",throttling.iops-total={REQUESTS_PER_S}");
    let guest = Guest::new().device(&["-device", "qemu-xhci,id=usb"]);
    PLACES.iter().fold(guest, |guest, name| {
        let slow = format!("slow-{name}");
        let usb = format!("usb-storage,bus=usb.0,drive={slow},serial=SLOW-{name}");
        let guest = guest.image(&slow, 256, &throttling).device(&["-device", &usb]);
        if *name == "alone" {
            return guest;
        }
        let fast = format!("fast-{name}");
        let virtio = format!("virtio-blk-pci,drive={fast},serial=FAST-{name}");
        // bcache refuses a cache of less.
        guest.image(&fast, 1024, "").device(&["-device", &virtio])
    })
}

#[test]
#[ignore = "needs a virtual machine: make test-hardware"]
fn a_slow_disk_commits_as_often_as_it_can_turn_and_many_times_as_often_behind_a_cache() {
    let scene = with_slow_disks().run(
        "modprobe -a sd_mod xhci_pci usb_storage virtio_pci virtio_blk bcache dm_cache dm_cache_smq
         slow=$(disk SLOW-alone)
         make_ext4 $slow 100M
         mounted alone $slow

         slow=$(disk SLOW-bcache) fast=$(disk FAST-bcache)
         make-bcache --wipe-bcache --writeback -B $slow -C $fast
         for device in $slow $fast; do echo $device > /sys/fs/bcache/register; done
         until_there ls /dev/bcache0
         make_ext4 /dev/bcache0 100M
         mounted bcache /dev/bcache0

         slow=$(disk SLOW-dmcache) fast=$(disk FAST-dmcache)
         dmsetup create metadata --table \"0 8192 linear $fast 0\"
         dmsetup create blocks --table \"0 409600 linear $fast 8192\"
         dd if=/dev/zero of=/dev/mapper/metadata bs=4096 count=1 status=none
         dmsetup create cached --table \\
             \"0 204800 cache /dev/mapper/metadata /dev/mapper/blocks $slow 512 1 writeback smq 0\"
         make_ext4 /dev/mapper/cached 100M
         mounted dmcache /dev/mapper/cached

         slow=$(disk SLOW-log) fast=$(disk FAST-log)
         mkfs.ext4 -q -F -b 4096 -O journal_dev $fast 8192
         mkfs.ext4 -q -F -b 4096 -J device=$fast -E lazy_itable_init=1,nodiscard $slow 100M
         mounted log $slow
         sync

         # One request for each: nothing of the file system has to be written.
         plumb overwritten probe storage /mnt/alone --method direct_dsync,fdatasync --overwrite --committers 1 \\
             --duration 3s --rounds 3 --no-streams
         # dm-cache takes what is used again and again.
         plumb before probe storage /mnt/dmcache --method fsync --committers 1 --duration 6s --rounds 2 --no-streams
         plumb probe probe storage /mnt/alone /mnt/bcache /mnt/dmcache /mnt/log \\
             --method fsync --committers 1 --duration 4s --rounds 3 --no-streams",
    );
    let document = scene.json("probe.json");
    let place = |name: &str| target(&document, &format!("/mnt/{name}"));

    for (name, expected) in [
        ("alone", vec!["file_system", "scsi"]),
        ("bcache", vec!["file_system", "bcache", "virtio", "scsi"]),
        ("dmcache", vec!["file_system", "dm_cache", "mapped", "virtio", "mapped", "virtio", "scsi"]),
        ("log", vec!["file_system", "scsi", "virtio"]),
    ] {
        let mut found = kinds(place(name));
        // A cache's parts are told apart by their roles: the kernel lists them in any order.
        let mut expected = expected;
        found[2..].sort_unstable();
        expected[2..].sort_unstable();
        assert_eq!(found, expected, "{}", details(place(name)));
        assert!(details(place(name)).contains("USB"), "{}", details(place(name)));
        assert_eq!(warnings(commit(place(name), "fsync")), Vec::<&str>::new(), "{name}");
    }
    for name in ["bcache", "dmcache"] {
        let details = details(place(name));
        for words in ["writeback", "\"the cache, ", "\"the disk behind the cache, "] {
            assert!(details.contains(words), "{name}: no {words}: {details}");
        }
    }
    assert!(details(place("log")).contains("\"the log, "), "{}", details(place("log")));

    let commit = |name: &str, placement: &str| {
        let commits = place(name)["commits"].as_array().unwrap();
        commits.iter().find(|commit| commit["placement"] == placement).unwrap()
    };
    let appended = commit("alone", "append");
    let rate = appended["rate_per_s"].as_f64().unwrap();
    // Three requests each, and a little that the file system writes now and then.
    assert!((REQUESTS_PER_S / 4.5..REQUESTS_PER_S / 2.7).contains(&rate), "{appended}");
    let overwritten = scene.json("overwritten.json");
    for method in ["direct_dsync", "fdatasync"] {
        let found = super::commit(target(&overwritten, "/mnt/alone"), method);
        let rate = found["rate_per_s"].as_f64().unwrap();
        assert!((REQUESTS_PER_S * 0.7..REQUESTS_PER_S * 1.1).contains(&rate), "{found}");
    }
    let ratio =
        |name: &str, placement: &str| commit(name, placement)["ratio_to_first"]["ratio"].as_f64().unwrap();
    for (name, placement, at_least) in [
        ("bcache", "append", 2.0),
        ("bcache", "overwrite", 8.0),
        ("dmcache", "overwrite", 1.3),
        // One request of three is left to the slow disk.
        ("log", "append", 2.0),
    ] {
        let ratio = ratio(name, placement);
        assert!(ratio > at_least, "{name}, {placement}: x{ratio}");
    }
    assert!(ratio("log", "append") < 3.6, "a log elsewhere does not make its disk faster: {appended}");
}
