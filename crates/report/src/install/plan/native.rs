//! The system's own files: which of them holds a setting, so that each is in one place.

use super::setting::{Kind, LeftOut, Written, is_plain};
use super::{Export, InstallFile, host, link, systemd, udev};

/// The system's own files, and what has to be told of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Native {
    pub(super) files: Vec<InstallFile>,
    /// The place of each that is to be installed, by its path here.
    pub(super) places: Vec<Place>,
}

/// Where a file goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) goes_to: String,
    /// True of one that fits other hosts with the same hardware: it names no hardware address.
    pub(super) is_for_many: bool,
}

impl Native {
    fn add(&mut self, file: InstallFile, goes_to: String, is_for_many: bool) {
        self.places.push(Place { path: file.path.clone(), goes_to, is_for_many });
        self.files.push(file);
    }
}

pub(super) fn files(export: &Export<'_>, left_out: &mut Vec<LeftOut>) -> Native {
    let mut native = Native::default();
    let (mut sysctls, mut in_tmpfiles, mut rules) = (Vec::new(), Vec::new(), udev::Rules::default());
    let (mut links, mut without_place) = (link::Links::default(), Vec::new());
    for written in &export.apply {
        match &written.kind {
            Kind::Sysctl { .. } => sysctls.push(written),
            Kind::Sys { path } => {
                if !rules.take(path, &written.value, export.around) {
                    match written.interface().is_none() && is_plain(&written.value) {
                        true => in_tmpfiles.push(written),
                        false => without_place.push(written.clone()),
                    }
                }
            }
            Kind::Driver { interface, group } => {
                without_place.extend(links.take(written, interface, group, export.around));
            }
            Kind::Interrupt { .. } => without_place.push(written.clone()),
            Kind::Process { .. } | Kind::Broker { .. } | Kind::Topic { .. } => {}
        }
    }
    let back =
        |is_one: &dyn Fn(&Written) -> bool| export.undo.iter().filter(|it| is_one(it)).collect::<Vec<_>>();
    if !sysctls.is_empty() {
        let lines = |all: &[&Written]| all.iter().map(|it| host::sysctl_line(&it.name, &it.value)).collect();
        let before = back(&|it| matches!(it.kind, Kind::Sysctl { .. }));
        let both = host::both(
            ["sysctl.d/99-plumb.conf", "sysctl.d/99-plumb.undo.conf"],
            host::SYSCTL_HOW,
            "as read when the plan was made",
            [lines(&sysctls), lines(&before)],
        );
        let [apply, undo] = both;
        native.add(apply, "/etc/sysctl.d/99-plumb.conf".to_owned(), true);
        native.files.push(undo);
    }
    let (text, is_for_many) = rules.text();
    if let Some(text) = text {
        let file = InstallFile::plain("udev/99-plumb.rules", text);
        native.add(file, "/etc/udev/rules.d/99-plumb.rules".to_owned(), is_for_many);
    }
    if !in_tmpfiles.is_empty() {
        let lines =
            |all: &[&Written]| all.iter().map(|it| host::tmpfiles_line(&it.name, &it.value)).collect();
        let before = back(&|it| in_tmpfiles.iter().any(|other| other.name == it.name) && is_plain(&it.value));
        let [apply, undo] = host::both(
            ["tmpfiles.d/plumb.conf", "tmpfiles.d/plumb.undo.conf"],
            host::TMPFILES_HOW,
            "as read when the plan was made",
            [lines(&in_tmpfiles), lines(&before)],
        );
        native.add(apply, "/etc/tmpfiles.d/plumb.conf".to_owned(), true);
        native.files.push(undo);
    }
    for link in links.files() {
        let goes_to = format!("/etc/systemd/{}", link.file.path);
        native.add(link.file, goes_to, link.is_for_many);
    }
    if !without_place.is_empty() {
        let is_service = |it: &Written| without_place.iter().any(|other| other.name == it.name);
        let before: Vec<Written> = export.undo.iter().filter(|it| is_service(it)).cloned().collect();
        let script = export.service(
            "Sets, after the network is up, what no file of the system's own holds: `plumb-tune start`. With `stop` it puts back what was.",
            &without_place,
            &before,
        );
        native.add(InstallFile::script("systemd/plumb-tune", script), systemd::SCRIPT.to_owned(), true);
        let unit = InstallFile::plain("systemd/plumb-tune.service", systemd::unit());
        native.add(unit, "/etc/systemd/system/plumb-tune.service".to_owned(), true);
    }
    for missing in links.without_identity() {
        left_out.push(LeftOut::new(
            &missing,
            "not in a .link file: neither the path nor the address of its hardware is known; systemd/plumb-tune has it",
        ));
    }
    native
}
