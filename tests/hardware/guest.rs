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
/// Longest that a scene takes; a guest that takes longer is stopped and its test fails.
const LIMIT: Duration = Duration::from_secs(180);
/// Time between two looks at whether it has ended.
const LOOK: Duration = Duration::from_millis(50);

/// A machine that has not been started.
pub(super) struct Guest {
    folder: TempDir,
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
        Guest { folder, cpu: "max", processors: "1", machine: "q35", memory: "1G", devices: Vec::new() }
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
        let path = self.file(name, mib);
        let drive = format!("if=none,id={name},format=raw,cache=unsafe,file={}{throttling}", path.display());
        self.device(&["-drive", &drive])
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
        let lab = std::env::var(LAB).expect("run by `make test-hardware`");
        let program = env!("CARGO_BIN_EXE_plumb");
        let script = format!("LAB={lab}\nPLUMB={program}\n{FUNCTIONS}\n{scene}\n");
        std::fs::write(self.folder.path().join("run"), script).unwrap();
        let limit = Instant::now() + LIMIT;
        let mut machine = Machine(self.command(Path::new(&lab)).spawn().expect("QEMU is installed"));
        while machine.0.try_wait().unwrap().is_none() && Instant::now() < limit {
            std::thread::sleep(LOOK);
        }
        let scene = Scene { folder: self.folder };
        // A guest that panics powers off too: only one that got to the end says how the scene ended.
        assert_eq!(scene.text("status").trim(), "0", "{}", scene.all());
        scene
    }

    fn command(&self, lab: &Path) -> Command {
        let folder = self.folder.path().display();
        let mut command = Command::new("qemu-system-x86_64");
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
