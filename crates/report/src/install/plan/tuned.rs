//! A plan as a profile of TuneD, on top of the one that is active.
//!
//! TuneD gives `$`, quotes, `#` and leading signs such as `>` a meaning, so that only plain values go in; a script has the rest.

use super::setting::{Group, Kind, LeftOut, Words, Written, is_plain, is_word};
use super::{Export, InstallFile};
use crate::install::comment;
use std::collections::BTreeMap;

/// A value that a profile takes as it is.
fn is_taken(value: &str) -> bool {
    is_plain(value) && value.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '/')
}

pub(super) fn files(export: &Export<'_>, left_out: &mut Vec<LeftOut>) -> Vec<InstallFile> {
    let (mut sysctl, mut sysfs) = (String::new(), String::new());
    let mut net: BTreeMap<&str, String> = BTreeMap::new();
    let mut scripted: Vec<Written> = Vec::new();
    for written in export.apply.iter().filter(|it| it.is_lasting()) {
        let value = &written.value;
        match &written.kind {
            // Its separator is a dot here, and a dot in a name a slash (sysctl(8)).
            Kind::Sysctl { path } if is_taken(value) => {
                let swap = |c| match c {
                    '.' => '/',
                    '/' => '.',
                    c => c,
                };
                sysctl += &format!("{}={value}\n", path.chars().map(swap).collect::<String>());
            }
            // A colon would end the name.
            Kind::Sys { path } if is_taken(value) && !path.contains(':') => {
                sysfs += &format!("{path}={value}\n")
            }
            Kind::Driver { interface, group: Group::Pairs(words, _) } if *words != Words::Features => {
                let option = match words {
                    Words::Rings => "ring",
                    words => words.name(),
                };
                *net.entry(interface).or_default() += &format!("{option}={value}\n");
            }
            _ => scripted.push(written.clone()),
        }
    }
    if sysctl.is_empty() && sysfs.is_empty() && net.is_empty() && scripted.is_empty() {
        return Vec::new();
    }
    let mut text = comment(
        "Copy this directory to /etc/tuned/plumb and run: tuned-adm profile plumb. Undo: tuned-adm profile with the one that is included below.",
    ) + "[main]\nsummary=Settings that Plumb planned\n";
    match export.around.tuned_profile.as_deref() {
        Some(active) if active.split(' ').all(|name| is_word(name, "._-")) => {
            text += &format!("include={}\n", active.replace(' ', ","));
        }
        Some(_) => left_out.push(LeftOut::new(
            "tuned/plumb/tuned.conf",
            "the name of the active profile is not safe in it: add include= yourself",
        )),
        None => {
            text += &comment(
                "No profile was active, or TuneD is not there: add include= with the one that you use.",
            )
        }
    }
    for (section, lines) in [("sysctl", sysctl), ("sysfs", sysfs)] {
        if !lines.is_empty() {
            text += &format!("\n[{section}]\n{lines}");
        }
    }
    for (interface, lines) in net {
        text += &format!("\n[net_{interface}]\ntype=net\ndevices={interface}\n{lines}");
    }
    let mut files = Vec::new();
    if !scripted.is_empty() {
        text += "\n[script]\nscript=${i:PROFILE_DIR}/plumb.sh\n";
        let is_scripted = |it: &&Written| scripted.iter().any(|other| other.name == it.name);
        let before: Vec<Written> = export.undo.iter().filter(is_scripted).cloned().collect();
        files.push(InstallFile::script(
            "tuned/plumb/plumb.sh",
            export.service(
                "TuneD runs it with `start` and `stop`: what its own sections do not set.",
                &scripted,
                &before,
            ),
        ));
    }
    files.insert(0, InstallFile::plain("tuned/plumb/tuned.conf", text));
    files
}
