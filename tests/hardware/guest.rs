//! A virtual machine with hardware that this host does not have: started by QEMU, it runs a scene and powers itself off.
//!
//! Its files are this host's, read-only, with changes in its memory; `scripts/hardware-lab` made its kernel. A scene is a
//! shell script, put behind `scene.sh`; what it writes into `/scene` is in the guest's folder afterwards. Instructions are
//! translated (TCG), so no rate that the guest's processor bounds means anything; those of a held-back disk do.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The variable with the place where `make test-hardware` has the kernel and the tools.
const LAB: &str = "PLUMB_TEST_HARDWARE_LAB";
/// The functions that every scene may call.
const FUNCTIONS: &str = include_str!("scene.sh");
/// The QEMU of this host.
const QEMU: &str = "qemu-system-x86_64";
/// Longest that a scene takes; a guest that takes longer is stopped and its test fails.
const LIMIT: Duration = Duration::from_secs(300);
/// Time between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(50);

/// A machine that has not been started.
pub(super) struct Guest {
    folder: TempDir,
    qemu: PathBuf,
    cpu: &'static str,
    processors: &'static str,
    machine: &'static str,
    memory: &'static str,
    devices: Vec<String>,
}

impl Guest {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // With one processor the kernel's threads do not wait for a tick to wake each other.
        let (cpu, processors, machine, memory) = ("max", "1", "q35", "1G");
        Guest { folder, qemu: QEMU.into(), cpu, processors, machine, memory, devices: Vec::new() }
    }

    /// Another model of processor, in QEMU's words.
    pub(super) fn cpu(mut self, cpu: &'static str) -> Self {
        self.cpu = cpu;
        self
    }

    /// Two memory nodes of two processors each.
    pub(super) fn with_two_nodes(mut self) -> Self {
        self.processors = "4,sockets=2,cores=2,threads=1";
        self.device(&["-object", "memory-backend-ram,size=512M,id=near"])
            .device(&["-object", "memory-backend-ram,size=512M,id=far"])
            .device(&["-numa", "node,nodeid=0,cpus=0-1,memdev=near"])
            .device(&["-numa", "node,nodeid=1,cpus=2-3,memdev=far"])
            .device(&["-numa", "dist,src=0,dst=1,val=21"])
    }

    /// A network card with several queues (igb) that hangs on the second of two memory nodes. QEMU has it since version 8: none where neither
    /// this host's nor the lab's does.
    pub(super) fn with_card(mut self) -> Option<Self> {
        let knows = |qemu: &PathBuf| {
            let asked = Command::new(qemu).args(["-device", "igb,help"]).output();
            // It exits with 0 whether it has it or not.
            asked.is_ok_and(|asked| asked.stdout.starts_with(b"igb options"))
        };
        self.qemu = [QEMU.into(), lab().join("newer-qemu/run")].into_iter().find(knows)?;
        // A bus of its own says which node it is near.
        Some(
            self.device(&["-device", "pxb-pcie,id=far_bus,bus_nr=64,numa_node=1,bus=pcie.0"])
                .device(&["-device", "pcie-root-port,id=far_port,bus=far_bus,chassis=1,slot=1"])
                // Without a router that announces itself: the card would be the only way to the guest.
                .device(&["-netdev", "user,id=card,restrict=on,ipv6=off"])
                .device(&["-device", "igb,netdev=card,bus=far_port"]),
        )
    }

    /// Room for a persistent memory.
    pub(super) fn with_slots_for_memory(mut self) -> Self {
        (self.machine, self.memory) = ("q35,nvdimm=on,nvdimm-persistence=cpu", "1G,slots=2,maxmem=4G");
        self
    }

    /// Arguments of QEMU.
    pub(super) fn device(mut self, arguments: &[&str]) -> Self {
        self.devices.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    /// An empty disk image under this name for a `-device` to use, held back as `throttling` says, if at all.
    pub(super) fn image(self, name: &str, mib: u64, throttling: &str) -> Self {
        self.drive(name, mib, &format!("cache=unsafe{throttling}"))
    }

    /// The same, and what it said to have is still there after the end of power.
    pub(super) fn lasting_image(self, name: &str, mib: u64) -> Self {
        self.drive(name, mib, "cache=writethrough")
    }

    fn drive(self, name: &str, mib: u64, options: &str) -> Self {
        let path = self.file(name, mib);
        self.device(&["-drive", &format!("if=none,id={name},format=raw,file={},{options}", path.display())])
    }

    /// A file of this host as memory under this name, for a `-device` to use.
    pub(super) fn memory(self, name: &str, mib: u64) -> Self {
        let path = self.file(name, mib);
        self.device(&[
            "-object",
            &format!("memory-backend-file,id={name},size={mib}M,share=on,mem-path={}", path.display()),
        ])
    }

    /// An empty file in the guest's folder, which takes no space before it is written.
    fn file(&self, name: &str, mib: u64) -> PathBuf {
        let path = self.folder.path().join(format!("{name}.img"));
        std::fs::File::create(&path).unwrap().set_len(mib << 20).unwrap();
        path
    }

    /// Starts it, runs the scene and waits for the end.
    pub(super) fn run(self, scene: &str) -> Scene {
        self.start(scene, |_| false);
        self.ended()
    }

    /// Starts it and waits until the scene is over or the machine is: reset by the scene, or without power from the moment at which `is_cut`
    /// says so of the guest's folder. It can be started again, with what is on its disks.
    pub(super) fn start(&self, scene: &str, is_cut: impl Fn(&Path) -> bool) {
        let program = env!("CARGO_BIN_EXE_plumb");
        let script = format!("LAB={}\nPLUMB={program}\n{FUNCTIONS}\n{scene}\n", lab().display());
        let folder = self.folder.path();
        std::fs::write(folder.join("run"), script).unwrap();
        // Of the start before.
        let _ = std::fs::remove_file(folder.join("status"));
        let limit = Instant::now() + LIMIT;
        let mut machine = Machine(self.command(&lab()).spawn().expect("QEMU is installed"));
        while machine.0.try_wait().unwrap().is_none() && Instant::now() < limit && !is_cut(folder) {
            std::thread::sleep(LOOK);
        }
    }

    /// The folder that its scenes have as `/scene`.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What it left, of a scene that ended well.
    pub(super) fn ended(self) -> Scene {
        let scene = Scene { folder: self.folder };
        // A guest that panics powers off too: only one that got to the end says how the scene ended.
        assert_eq!(scene.text("status").trim(), "0", "{}", scene.all());
        scene
    }

    fn command(&self, lab: &Path) -> Command {
        let folder = self.folder.path().display();
        let mut command = Command::new(&self.qemu);
        // Not KVM where there is one: it would be another machine on every host.
        command.args(["-accel", "tcg,thread=multi", "-machine", self.machine, "-cpu", self.cpu]);
        command.args([
            "-smp",
            self.processors,
            "-m",
            self.memory,
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
        ]);
        command.args(["-no-reboot", "-serial", &format!("file:{folder}/console")]);
        command.arg("-kernel").arg(lab.join("vmlinux")).arg("-initrd").arg(lab.join("first.cpio"));
        command.args(["-append", "console=ttyS0 panic=-1 quiet mitigations=off usb-storage.delay_use=0"]);
        let share = |path: &str, tag: &str, more: &str| {
            format!("local,path={path},mount_tag={tag},security_model=none{more}")
        };
        command.args(["-virtfs", &share("/", "host", ",readonly=on,multidevs=remap")]);
        command.args(["-virtfs", &share(&folder.to_string(), "scene", "")]);
        let errors = std::fs::File::create(self.folder.path().join("errors")).unwrap();
        command.args(&self.devices).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        command
    }
}

/// The folder that `make test-hardware` made.
fn lab() -> PathBuf {
    std::env::var_os(LAB).expect("run by `make test-hardware`").into()
}

/// A machine that runs; stopped when dropped.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        // Without effect on one that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The files that a scene left behind.
pub(super) struct Scene {
    folder: TempDir,
}

impl Scene {
    /// A file that it wrote, empty where there is none.
    pub(super) fn text(&self, name: &str) -> String {
        let bytes = std::fs::read(self.folder.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A document that it wrote.
    pub(super) fn json(&self, name: &str) -> Value {
        let text = self.text(name);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{}", self.all()))
    }

    /// Everything that speaks of what went wrong.
    fn all(&self) -> String {
        let parts = ["status", "said", "console", "errors"];
        parts.map(|name| format!("--- {name}\n{}", self.text(name))).join("\n")
    }
}
