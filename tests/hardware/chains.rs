//! Layers on layers: partitions in a RAID, a logical volume on it, encrypted, with a file system.

use super::guest::Guest;
use super::{commit, details, kinds, target, warnings};
use serde_json::Value;

#[test]
#[ignore = "needs a virtual machine: make test-hardware"]
fn every_layer_from_a_file_system_down_to_the_disks_has_its_name() {
    let guest = ["one", "two"].into_iter().fold(Guest::new(), |guest, name| {
        let device = format!("virtio-blk-pci,drive={name},serial={name}");
        guest.image(name, 256, "").device(&["-device", &device])
    });
    let scene = guest.run(
        "modprobe -a virtio_pci virtio_blk md_mod raid1 dm_mod dm_crypt xts aes_generic algif_skcipher loop overlay
         for name in one two; do echo 'start=2048, size=400000' | sfdisk -q --no-reread $(disk $name); done
         one=$(disk one)1 two=$(disk two)1
         until_there ls $one $two
         mdadm --create /dev/md0 --run --assume-clean --level=1 --raid-devices=2 --metadata=1.2 $one $two
         mkdir -p /etc/lvm
         cat > /etc/lvm/lvm.conf <<CONF
devices { obtain_device_list_from_udev=0 external_device_info_source=\"none\" use_devicesfile=0 }
activation { udev_sync=0 udev_rules=0 monitoring=0 }
global { use_lvmpolld=0 event_activation=0 }
CONF
         pvcreate -q /dev/md0
         vgcreate -q group /dev/md0
         lvcreate -q -n log -L 128M group
         echo secret | cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --hash sha256 \\
             /dev/mapper/group-log hidden
         make_ext4 /dev/mapper/hidden
         mounted chain /dev/mapper/hidden
         truncate -s 64M /mnt/chain/image
         make_ext4 /mnt/chain/image
         mounted loop /mnt/chain/image -o loop
         mkdir /mnt/loop/upper /mnt/loop/work /mnt/loop/lower /mnt/over
         mount -t overlay over /mnt/over -o lowerdir=/mnt/loop/lower,upperdir=/mnt/loop/upper,workdir=/mnt/loop/work
         plumb chain probe storage /mnt/chain /mnt/over --method fsync --committers 1 \\
             --duration 300ms --rounds 3 --no-streams
         plumb hidden probe storage /var --method fsync,direct --committers 1 --duration 300ms --rounds 3",
    );
    let document = scene.json("chain.json");
    let chain =
        ["file_system", "encrypted", "logical_volume", "raid", "partition", "virtio", "partition", "virtio"];
    let of = target(&document, "/mnt/chain");
    assert_eq!(kinds(of), chain, "{}", details(of));
    for words in ["aes-xts-plain64", "raid1, 2 disks"] {
        assert!(details(of).contains(words), "no {words}: {}", details(of));
    }
    assert!(!details(of).contains("secret") && !scene.text("chain.json").contains("secret"));
    assert_eq!(commit(of, "fsync")["durable"], true);

    let of = target(&document, "/mnt/over");
    let over: Vec<&str> = ["file_system", "file_system", "loop"].into_iter().chain(chain).collect();
    assert_eq!(kinds(of), over, "{}", details(of));
    assert_eq!(of["layers"][0]["name"], "overlay");

    // The guest's own files are an overlay on memory, on a directory that its programs do not see.
    let hidden = scene.json("hidden.json");
    let of = target(&hidden, "/var");
    assert_eq!(kinds(of), ["file_system"], "{}", details(of));
    assert!(of["storage"]["missing"].as_array().is_some_and(|missing| !missing.is_empty()), "{of}");
    let fsync = commit(of, "fsync");
    assert_eq!((warnings(fsync), &fsync["durable"]), (vec!["unknowable"], &Value::Null), "{fsync}");
    assert!(commit(of, "direct")["unavailable"].as_str().unwrap().contains("refuses O_DIRECT"), "{of}");
    let refused = |stream: &&Value| stream["unavailable"].is_string();
    assert_eq!(of["sequential"].as_array().unwrap().iter().filter(refused).count(), 2, "{of}");
}
