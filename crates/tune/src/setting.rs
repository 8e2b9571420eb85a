//! A setting by its name: read, written, and read back.
//!
//! | name | what |
//! |---|---|
//! | `net.core.somaxconn`, `/sys/block/sda/queue/scheduler` | a kernel setting that is a file |
//! | `ethtool:eth0:rings` | a network driver's settings, in ethtool's words |
//! | `irq:0000:3b:00.0:eth0-TxRx-3` | the processors that an interrupt may go to, by device and name, as its number changes at every start |
//! | `affinity:1234` | the processors that all threads of a process may use |
//! | `broker:1:num.io.threads`, `topic:orders:flush.messages` | a setting that a cluster lets one change while it runs |
//!
//! Values are text in one form for each kind, so that what was read can be written again. Read `inverse.rs` next.

mod affinity;
mod cluster;
mod error;
pub(crate) mod ethtool;
mod file;
mod interface;
mod interrupt;

pub use error::SettingError;
pub(crate) use file::plain;
pub(crate) use interrupt::lines;

use crate::host::Host;
use affinity::ProcessAffinity;
use cluster::ClusterSetting;
use ethtool::DriverSettings;
use file::KernelFile;
use interrupt::Interrupt;
use plumb_model::change::{Owner, Target};
use plumb_model::check::Risk;
use std::path::Path;

/// A setting by the name that the user, or a tunable, gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    name: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    File(KernelFile),
    Driver(DriverSettings),
    Interrupt(Interrupt),
    Affinity(ProcessAffinity),
    Cluster(ClusterSetting),
}

impl Setting {
    /// From its name.
    ///
    /// # Errors
    /// Where the name is none of the forms above.
    pub fn new(name: &str) -> Result<Self, SettingError> {
        let unknown = || SettingError::Name { name: name.to_owned() };
        let kind = match name.split_once(':') {
            Some(("ethtool", rest)) => Kind::Driver(DriverSettings::new(rest).ok_or_else(unknown)?),
            Some(("irq", rest)) => Kind::Interrupt(Interrupt::new(rest).ok_or_else(unknown)?),
            Some(("affinity", rest)) => Kind::Affinity(ProcessAffinity::new(rest).ok_or_else(unknown)?),
            Some(("broker" | "topic", _)) => Kind::Cluster(ClusterSetting::new(name).ok_or_else(unknown)?),
            _ => Kind::File(KernelFile::new(name).ok_or_else(unknown)?),
        };
        Ok(Setting { name: name.to_owned(), kind })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The target of a change of it.
    pub fn target(&self) -> Target {
        let owner = match &self.kind {
            Kind::Cluster(setting) => setting.owner(),
            _ => Owner::Host,
        };
        Target { owner, key: self.name.clone() }
    }

    /// Its file; none of a setting that is no file.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.kind {
            Kind::File(file) => Some(file.path()),
            _ => None,
        }
    }

    /// The interface whose number of queues it is: changing that makes them anew.
    pub(crate) fn interface_of_channels(&self) -> Option<&str> {
        match &self.kind {
            Kind::Driver(driver) => driver.interface_of_channels(),
            _ => None,
        }
    }

    /// True if both are one setting, by one name or two.
    pub(crate) fn is_same(&self, other: &Setting) -> bool {
        self.kind == other.kind
    }

    /// What changing it can do at worst, whoever asks for it.
    pub(crate) fn risk(&self) -> Risk {
        match &self.kind {
            Kind::Driver(driver) if driver.resets_the_device() => Risk::LinkFlap,
            Kind::File(file) if file.cuts_off_or_loses() => Risk::LockOut,
            _ => Risk::Performance,
        }
    }

    /// What changing it may interrupt, whoever asks for it; empty where nothing is known to be.
    pub(crate) fn may_interrupt(&self) -> &'static str {
        match &self.kind {
            Kind::Driver(driver) if driver.resets_the_device() => {
                "packets are lost for a moment, and some drivers take the link down"
            }
            Kind::File(file) => file.may_interrupt(),
            _ => "",
        }
    }

    /// True if it is as it was after a start of the machine, because nothing keeps it.
    pub(crate) fn ends_with_the_boot(&self) -> bool {
        !matches!(self.kind, Kind::Cluster(_))
    }

    /// The value that it was set to.
    ///
    /// # Errors
    /// Where this host has no such setting, or does not let it be read.
    pub fn read(&self, host: &Host) -> Result<String, SettingError> {
        match &self.kind {
            Kind::File(file) => file.read(&self.name, host),
            Kind::Driver(driver) => driver.read(&self.name, host),
            Kind::Interrupt(interrupt) => interrupt.read(&self.name, host),
            Kind::Affinity(affinity) => affinity.read(&self.name, host),
            Kind::Cluster(setting) => setting.read(&self.name, host),
        }
    }

    /// The value in effect, where the kernel tells it apart from what was set.
    ///
    /// # Errors
    /// As [`Setting::read`].
    pub fn effective(&self, host: &Host) -> Result<String, SettingError> {
        match &self.kind {
            Kind::Driver(driver) => driver.effective(&self.name, host),
            Kind::Interrupt(interrupt) => interrupt.effective(&self.name, host),
            Kind::Cluster(setting) => setting.in_force(&self.name, host),
            _ => self.read(host),
        }
    }

    /// What the thing that is set is known by beside its name, such as a device's address on the bus: a name may go to another one.
    pub(crate) fn identity(&self, host: &Host) -> Option<String> {
        let of_interface =
            interface::interface(&self.place()).and_then(|name| interface::identity(host, name));
        if of_interface.is_some() {
            return of_interface;
        }
        match &self.kind {
            Kind::Driver(driver) => driver.identity(host),
            Kind::Affinity(affinity) => affinity.identity(host),
            Kind::File(file) => file.identity(host),
            Kind::Interrupt(_) | Kind::Cluster(_) => None,
        }
    }

    /// The interface that it is of.
    pub(crate) fn interface(&self) -> Option<String> {
        interface::interface(&self.place()).map(str::to_owned)
    }

    /// Its name where each kind has one form: of a file its path.
    fn place(&self) -> String {
        self.path().map_or_else(|| self.name.clone(), |path| path.display().to_string())
    }

    /// The same setting of the interface that is known by this, whatever it is called now; itself where it is of no interface, or none is
    /// known by it any more.
    pub(crate) fn of_known(self, host: &Host, known: &str) -> Setting {
        let place = self.place();
        let Some(name) = interface::interface(&place) else { return self };
        if interface::identity(host, name).as_deref() == Some(known) {
            return self;
        }
        let renamed = interface::name_now(host, known).and_then(|name| interface::with_name(&place, &name));
        renamed.and_then(|place| Setting::new(&place).ok()).unwrap_or(self)
    }

    /// Writes it, and gives what it reads afterwards: a driver may have rounded the value.
    ///
    /// # Errors
    /// Where it may not be written, the value is not taken, or something else came out.
    pub fn write(&self, host: &Host, value: &str) -> Result<String, SettingError> {
        match &self.kind {
            Kind::File(file) => file.write(&self.name, host, value)?,
            Kind::Driver(driver) => driver.write(&self.name, host, value)?,
            Kind::Interrupt(interrupt) => interrupt.write(&self.name, host, value)?,
            Kind::Affinity(affinity) => affinity.write(&self.name, host, value)?,
            Kind::Cluster(setting) => setting.write(&self.name, host, value)?,
        }
        self.in_effect(host, value)
    }

    /// Refuses a value that is not in effect, or what a driver made of it by rounding; gives what it reads.
    ///
    /// # Errors
    /// Where something else is in effect.
    pub fn in_effect(&self, host: &Host, value: &str) -> Result<String, SettingError> {
        let got = self.read(host)?;
        let is_taken = match &self.kind {
            Kind::Driver(driver) => driver.is_taken(host, value, &got),
            _ => self.is_met(value, &got),
        };
        match is_taken {
            true => Ok(got),
            false => Err(SettingError::NotInEffect {
                name: self.name.clone(),
                expected: self.canonical(value),
                got,
            }),
        }
    }

    /// True if what it reads is exactly what the value asks for.
    pub fn is_met(&self, value: &str, reads: &str) -> bool {
        match &self.kind {
            Kind::Driver(driver) => driver.is_met(value, reads),
            _ => self.canonical(value) == self.canonical(reads),
        }
    }

    /// True if two readings of it are the same.
    pub fn reads_alike(&self, one: &str, other: &str) -> bool {
        match &self.kind {
            Kind::Driver(driver) => driver.reads_alike(one, other),
            _ => self.canonical(one) == self.canonical(other),
        }
    }

    /// A value in the one form in which it is compared.
    fn canonical(&self, value: &str) -> String {
        match &self.kind {
            Kind::File(file) => file.canonical(value),
            Kind::Interrupt(_) | Kind::Affinity(_) => crate::cpus::canonical(value),
            Kind::Driver(_) | Kind::Cluster(_) => plain(value),
        }
    }

    /// Refuses a setting that is not there or may not be written, and a value that none can be. Writes nothing.
    ///
    /// # Errors
    /// With the reason.
    pub fn check_written(&self, host: &Host, value: &str) -> Result<(), SettingError> {
        if value.trim().is_empty() || value.chars().any(|c| c.is_control() && c != '\t') {
            return Err(SettingError::Value { name: self.name.clone(), value: value.to_owned() });
        }
        if let Kind::File(file) = &self.kind
            && let Some(reason) = file.never()
        {
            return Err(SettingError::Unchangeable { name: self.name.clone(), reason: reason.to_owned() });
        }
        if let Kind::File(file) = &self.kind
            && let Some(reason) = file.loses(value)
        {
            let (name, value) = (self.name.clone(), value.to_owned());
            return Err(SettingError::Unfit { name, value, reason: reason.to_owned() });
        }
        self.read(host)?;
        match &self.kind {
            Kind::File(file) => file.check_permission(&self.name, host),
            Kind::Interrupt(interrupt) => interrupt.check_permission(&self.name, host),
            Kind::Driver(driver) => driver.check(&self.name, host, value),
            Kind::Cluster(setting) => setting.check(&self.name),
            Kind::Affinity(_) => Ok(()),
        }
    }

    /// The command with which a person sets it.
    pub fn by_hand(&self, value: &str) -> String {
        match &self.kind {
            Kind::File(file) => file.by_hand(value),
            Kind::Driver(driver) => driver.by_hand(value),
            Kind::Interrupt(interrupt) => interrupt.by_hand(value),
            Kind::Affinity(affinity) => affinity.by_hand(value),
            Kind::Cluster(setting) => setting.by_hand(value),
        }
    }
}
