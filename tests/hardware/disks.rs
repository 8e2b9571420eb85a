//! Disks on their buses, with a write cache and without, and kernels that were told to leave out its flush.

use super::guest::Guest;
use super::{commit, details, kinds, target, warnings};

const PROBE: &str = "--method fsync --committers 1 --duration 600ms --rounds 3 --no-streams";

/// One NVMe disk and three SATA disks, none slower than its emulation.
fn with_disks() -> Guest {
    Guest::new()
        .image("nvme", 128, "")
        .device(&["-device", "nvme,drive=nvme,serial=NVME"])
        .image("cached", 128, "")
        .device(&["-device", "ide-hd,bus=ide.0,drive=cached,serial=CACHED,model=CACHED,rotation_rate=1"])
        .image("bare", 128, "")
        .device(&[
            "-device",
            "ide-hd,bus=ide.1,drive=bare,serial=BARE,model=BARE,rotation_rate=1,write-cache=off",
        ])
        .image("turning", 128, "")
        .device(&["-device", "ide-hd,bus=ide.2,drive=turning,serial=TURNING,rotation_rate=7200"])
}

#[test]
#[ignore = "needs a virtual machine: make test-hardware"]
fn a_disk_is_named_with_its_bus_and_cache_and_a_flush_that_is_left_out_is_told() {
    let scene = with_disks().run(&format!(
        "modprobe -a nvme ahci sd_mod
         for name in nvme cached bare turning; do
             device=$(disk ${{name^^}})
             make_ext4 $device
             mounted $name $device
         done
         plumb asked probe storage /mnt/nvme /mnt/cached /mnt/bare /mnt/turning {PROBE}
         echo 'write through' > /sys/block/$(basename $(disk CACHED))/queue/write_cache
         mount -o remount,nobarrier /mnt/nvme
         mount -o remount,nobarrier /mnt/bare
         plumb left_out probe storage /mnt/nvme /mnt/cached /mnt/bare {PROBE}"
    ));
    let asked = scene.json("asked.json");
    for (path, kind, words) in [
        ("/mnt/nvme", "nvme", ["over pcie", "write cache write back", "not rotational"]),
        ("/mnt/cached", "scsi", ["SATA", "write cache write back", "not rotational"]),
        ("/mnt/bare", "scsi", ["SATA", "write cache write through", "not rotational"]),
        ("/mnt/turning", "scsi", ["SATA", "write cache write back", ", rotational"]),
    ] {
        let target = target(&asked, path);
        assert_eq!(kinds(target), ["file_system", kind], "{}", details(target));
        for words in words {
            assert!(details(target).contains(words), "no {words}: {}", details(target));
        }
        let fsync = commit(target, "fsync");
        // The image of the turning disk is in this host's memory, and in a guest nobody can say that a disk turns.
        assert_eq!((warnings(fsync), &fsync["durable"]), (vec![], &true.into()), "{path}");
        let flushes = fsync["device_flushes_per_commit"].as_f64().unwrap();
        assert_eq!(flushes > 0.5, path != "/mnt/bare", "{path}: {flushes} flushes a commit");
    }
    let left_out = scene.json("left_out.json");
    for (path, id, durable) in [
        ("/mnt/nvme", vec!["no-barrier", "no-flush-seen"], false),
        ("/mnt/cached", vec!["flush-suppressed"], false),
        // Without a volatile cache nothing needs a flush.
        ("/mnt/bare", vec![], true),
    ] {
        let fsync = commit(target(&left_out, path), "fsync");
        assert_eq!((warnings(fsync), &fsync["durable"]), (id, &durable.into()), "{path}");
    }
}
