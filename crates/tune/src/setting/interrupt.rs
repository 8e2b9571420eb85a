//! The processors that an interrupt may go to.
//!
//! An interrupt is known by its device and its name, because its number changes with every start of the machine, load of the driver and
//! change of the number of queues.

use super::SettingError;
use crate::host::Host;
use plumb_model::setting_name::InterruptName;
use std::io;
use std::path::PathBuf;

/// An interrupt of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interrupt {
    /// The device's address on its bus, such as `0000:3b:00.0` or `virtio1`.
    device: String,
    /// Its name in `/proc/interrupts`.
    name: String,
}

impl Interrupt {
    /// From `device:name`.
    pub(super) fn new(rest: &str) -> Option<Self> {
        let InterruptName { device, name } = InterruptName::new(rest)?;
        let plain = |text: &str| !text.contains('/') && !text.chars().any(char::is_control);
        (plain(device) && plain(name)).then(|| Interrupt { device: device.to_owned(), name: name.to_owned() })
    }

    pub(super) fn read(&self, name: &str, host: &Host) -> Result<String, SettingError> {
        self.text(name, host, "smp_affinity_list")
    }

    /// The processors that the hardware really sends it to: on x86 mostly one of those allowed. Kernels that do not tell have what was set.
    pub(super) fn effective(&self, name: &str, host: &Host) -> Result<String, SettingError> {
        self.text(name, host, "effective_affinity_list").or_else(|_| self.read(name, host))
    }

    pub(super) fn write(&self, name: &str, host: &Host, value: &str) -> Result<(), SettingError> {
        let path = self.folder(name, host)?.join("smp_affinity_list");
        // A recorded host keeps the end of its line.
        let end = if host.root().is_host() { "" } else { "\n" };
        fs_err::write(host.root().locate(&path.to_string_lossy()), format!("{value}{end}")).map_err(
            |source| {
                // The kernel keeps interrupts that it places itself (managed ones: NVMe, some network drivers).
                match source.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
                    Some(rustix::io::Errno::IO | rustix::io::Errno::PERM) => SettingError::Unchangeable {
                        name: name.to_owned(),
                        reason: "the kernel places this interrupt itself".to_owned(),
                    },
                    _ => SettingError::Refused { name: name.to_owned(), value: value.to_owned(), source },
                }
            },
        )
    }

    pub(super) fn check_permission(&self, name: &str, host: &Host) -> Result<(), SettingError> {
        let path = self.folder(name, host)?.join("smp_affinity_list");
        let opened = fs_err::OpenOptions::new().write(true).open(host.root().locate(&path.to_string_lossy()));
        opened.map(drop).map_err(|source| SettingError::Permission { name: name.to_owned(), path, source })
    }

    pub(super) fn by_hand(&self, value: &str) -> String {
        format!(
            "echo '{value}' > /proc/irq/N/smp_affinity_list, where N is the number of {} in /proc/interrupts",
            self.name
        )
    }

    fn text(&self, name: &str, host: &Host, file: &str) -> Result<String, SettingError> {
        let path = self.folder(name, host)?.join(file);
        let text = fs_err::read_to_string(host.root().locate(&path.to_string_lossy()));
        let text = text.map_err(|source| SettingError::Unknown { name: name.to_owned(), path, source })?;
        Ok(super::plain(&text))
    }

    /// The directory of its present number.
    fn folder(&self, name: &str, host: &Host) -> Result<PathBuf, SettingError> {
        // Some kernels leave the list of a device's interrupts empty.
        let listed =
            host.root().list(&format!("/sys/bus/pci/devices/{}/msi_irqs", self.device)).unwrap_or_default();
        let of_device = |line: &&Line| {
            line.name == self.name && (listed.is_empty() || listed.contains(&line.number.to_string()))
        };
        let lines = lines(host);
        let found: Vec<&Line> = lines.iter().filter(of_device).collect();
        match found[..] {
            [line] => Ok(PathBuf::from(format!("/proc/irq/{}", line.number))),
            _ => Err(SettingError::Unknown {
                name: name.to_owned(),
                path: format!("{} in /proc/interrupts", self.name).into(),
                source: io::Error::new(
                    io::ErrorKind::NotFound,
                    format!("{} interrupts of this name, expected one", found.len()),
                ),
            }),
        }
    }
}

/// An interrupt as `/proc/interrupts` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u32,
    pub(crate) name: String,
}

/// The numbered interrupts of a host.
pub(crate) fn lines(host: &Host) -> Vec<Line> {
    let text = host.root().read("/proc/interrupts").unwrap_or_default();
    let mut lines = text.lines();
    let cpus = lines.next().unwrap_or_default().split_ascii_whitespace().count();
    let line = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        // After the counters: the controller, its number there, the kind, the names. A name with a blank does not occur for devices of a bus.
        let name = rest.split_ascii_whitespace().skip(cpus).last()?;
        Some(Line { number, name: name.to_owned() })
    };
    lines.filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;
    use plumb_observe::HostRoot;

    fn host(number: u32) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let place = root.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        };
        write(
            "proc/interrupts",
            &format!(
                "      CPU0 CPU1\n  1: 0 0 IO-APIC 1-edge i8042\n {number}: 7 9 PCI-MSI 3-edge eth0-TxRx-3\nNMI: 0 0 Non-maskable\n"
            ),
        );
        write(&format!("proc/irq/{number}/smp_affinity_list"), "0-1\n");
        write(&format!("proc/irq/{number}/effective_affinity_list"), "1\n");
        write(&format!("sys/bus/pci/devices/0000:3b:00.0/msi_irqs/{number}"), "msix\n");
        let host = Host::below(HostRoot::new(root.path()));
        (root, host)
    }

    #[test]
    fn an_interrupt_is_found_by_device_and_name_whatever_its_number_is_now() {
        for number in [34, 77] {
            let (root, host) = host(number);
            let setting = Setting::new("irq:0000:3b:00.0:eth0-TxRx-3").unwrap();
            assert_eq!(setting.read(&host).unwrap(), "0-1");
            assert_eq!(setting.effective(&host).unwrap(), "1");
            setting.write(&host, "1").unwrap();
            let now =
                std::fs::read_to_string(root.path().join(format!("proc/irq/{number}/smp_affinity_list")));
            assert_eq!(now.unwrap(), "1\n");
        }
    }

    #[test]
    fn an_interrupt_of_another_device_with_that_name_is_not_it() {
        let (_root, host) = host(34);
        std::fs::create_dir_all(host.root().locate("/sys/bus/pci/devices/0000:af:00.0/msi_irqs")).unwrap();
        std::fs::write(host.root().locate("/sys/bus/pci/devices/0000:af:00.0/msi_irqs/99"), "msix\n")
            .unwrap();
        let error = Setting::new("irq:0000:af:00.0:eth0-TxRx-3").unwrap().read(&host).unwrap_err();
        assert!(matches!(error, SettingError::Unknown { .. }), "{error}");
    }

    #[test]
    fn a_name_that_leads_out_of_its_directory_is_none() {
        assert_eq!(Interrupt::new("a:../b"), None);
    }
}
