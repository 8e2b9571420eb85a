use super::*;
use plumb_model::facts::{Medium, Pool, StorageLayer};
use std::process::Command;

fn on(fs_type: &str, options: &[&str], below: Layer) -> LogDirectory {
    let file_system = FileSystem {
        mount_point: "/srv/log".to_owned(),
        fs_type: fs_type.to_owned(),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        medium: Medium::Device,
        ..FileSystem::default()
    };
    let layers = [Layer::FileSystem(file_system), below];
    let layers = (0..).zip(layers).map(|(depth, layer)| StorageLayer { depth, layer }).collect();
    LogDirectory {
        name: "fast".to_owned(),
        path: Some("/srv/log".to_owned()),
        storage: Storage { layers, missing: Vec::new() },
        ..LogDirectory::default()
    }
}

fn device(class: DeviceClass) -> Layer {
    Layer::Device(Device {
        name: "dev0".to_owned(),
        class,
        model: Some("a\nmodel".to_owned()),
        ..Device::default()
    })
}

fn all() -> Vec<LogDirectory> {
    let pool = Layer::Pool(Pool { name: "tank".to_owned(), health: None, log_devices: Some(1) });
    let mut zfs = on("zfs", &["rw"], pool);
    if let Layer::FileSystem(file_system) = &mut zfs.storage.layers[0].layer {
        file_system.properties.insert("logbias".to_owned(), "latency".to_owned());
    }
    vec![
        on("ext4", &["rw", "noatime", "errors=remount-ro"], device(DeviceClass::Nvme)),
        on("xfs", &["rw", "dax=always"], device(DeviceClass::PersistentMemory)),
        on("ext4", &["rw"], device(DeviceClass::Bcache)),
        on("ext4", &["rw"], device(DeviceClass::DmCache)),
        on("ext4", &["rw"], device(DeviceClass::DmWritecache)),
        zfs,
    ]
}

#[test]
fn every_script_is_one_that_bash_reads() {
    for directory in all() {
        let text = script(&directory).unwrap();
        let place = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(place.path(), &text).unwrap();
        let read = Command::new("bash").arg("-n").arg(place.path()).output().unwrap();
        assert!(read.status.success(), "{}\n{text}", String::from_utf8_lossy(&read.stderr));
        // Without the right number of words it does nothing and says how it is called.
        let called = Command::new("bash").arg(place.path()).output().unwrap();
        assert_eq!(called.status.code(), Some(2), "{text}");
        assert!(String::from_utf8_lossy(&called.stderr).contains("usage:"), "{text}");
    }
}

#[test]
fn what_is_no_block_device_is_refused_with_or_without_yes() {
    let place = tempfile::tempdir().unwrap();
    let (file, to) = (place.path().join("file"), place.path().join("log"));
    std::fs::write(&file, "mine").unwrap();
    for (directory, words) in all().iter().zip([1, 0, 2, 2, 2, 2]) {
        let path = place.path().join("prepare.sh");
        std::fs::write(&path, script(directory).unwrap()).unwrap();
        for yes in [&[][..], &["--yes"]] {
            let mut command = Command::new("bash");
            command.arg(&path).args(yes);
            match words {
                0 => command.arg("region-that-is-not-there"),
                n => command.args(std::iter::repeat_n(&file, n)),
            };
            let ended = command.arg(&to).output().unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.code() == Some(1) && said.starts_with("refused: "), "{said}");
            assert!(!to.exists() && std::fs::read_to_string(&file).unwrap() == "mine");
        }
    }
}

#[test]
fn options_that_someone_chose_are_kept_and_the_kernel_s_own_are_not() {
    let text = script(&all()[0]).unwrap();
    assert!(text.contains("mount -t ext4 -o noatime \"$device\""), "{text}");
    assert!(!text.contains("remount-ro\""), "{text}");
    let zfs = script(&all()[5]).unwrap();
    assert!(zfs.contains("run zpool create -m \"$directory\" kafka \"$disk\" log \"$log\"\nrun zfs set logbias=latency kafka\n"), "{zfs}");
}

#[test]
fn what_the_script_cannot_make_is_described() {
    let cases = [on("btrfs", &[], device(DeviceClass::Nvme)), on("ext4", &[], device(DeviceClass::Raid))];
    for directory in cases {
        let reason = script(&directory).unwrap_err();
        assert!(reason.ends_with("as seen here:"), "{reason}");
    }
}

#[test]
fn a_name_with_a_line_break_ends_no_comment() {
    let mut directory = all().remove(0);
    directory.name = "fast\nrm -rf /".to_owned();
    let text = script(&directory).unwrap();
    assert!(text.lines().all(|line| !line.starts_with("rm")), "{text}");
}

/// A loop device that goes, with what is mounted of it, however the test ends.
struct Loop {
    device: String,
    directory: String,
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.directory).output();
        let _ = Command::new("losetup").args(["--detach", &self.device]).output();
    }
}

fn told(program: &str, words: &[&str]) -> String {
    let ended = Command::new(program).args(words).output().unwrap();
    assert!(ended.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8_lossy(&ended.stdout).trim().to_owned()
}

#[test]
#[ignore = "needs root and loop devices: `make devices`"]
fn a_directory_is_made_when_told_to_and_never_of_a_device_that_holds_something() {
    let there = |kind: &&str| Command::new(format!("mkfs.{kind}")).arg("-V").output().is_ok();
    for kind in ["ext4", "xfs"].into_iter().filter(there) {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
        let (image, directory, other) = (path("image"), path("log"), path("other"));
        let text = script(&on(kind, &["noatime"], device(DeviceClass::Loop))).unwrap();
        std::fs::write(path("prepare.sh"), text).unwrap();
        std::fs::File::create(&image).unwrap().set_len(400 << 20).unwrap();
        let device = told("losetup", &["--find", "--show", &image]);
        let _gone_at_last = Loop { device: device.clone(), directory: directory.clone() };
        let run = |words: &[&str]| {
            let ended = Command::new("bash").arg(path("prepare.sh")).args(words).output().unwrap();
            let said = [ended.stdout, ended.stderr].concat();
            (ended.status.code(), String::from_utf8_lossy(&said).into_owned())
        };

        let (code, said) = run(&[&device, &directory]);
        assert!(code == Some(0) && said.contains("nothing was done"), "{said}");
        assert_eq!(told("wipefs", &["--no-act", "--noheadings", &device]), "");

        let (code, said) = run(&["--yes", &device, &directory]);
        assert!(code == Some(0) && said.contains("add to /etc/fstab: UUID="), "{said}");
        let mounted = told("findmnt", &["--noheadings", "--output", "FSTYPE,OPTIONS", &directory]);
        assert!(mounted.starts_with(kind) && mounted.contains("noatime"), "{mounted}");

        let (code, said) = run(&["--yes", &device, &other]);
        assert!(code == Some(1) && said.contains("is mounted"), "{said}");
        told("umount", &[&directory]);
        let (code, said) = run(&["--yes", &device, &other]);
        assert!(code == Some(1) && said.contains("holds something already"), "{said}");
    }
}
