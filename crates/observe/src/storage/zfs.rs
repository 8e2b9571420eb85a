//! A ZFS file system: its settings, its pool and the pool's devices, as `zfs` and `zpool` print them (zfs-get(8),
//! zpool-status(8)). The kernel shows none of it in files.

use std::collections::BTreeMap;

use plumb_model::facts::{DeviceRole, Pool};

use crate::{CommandError, CommandRunner};

/// The properties that decide how fast a synchronous write is, and whether it is one.
const PROPERTIES: &str = "sync,logbias,recordsize,compression,primarycache,encryption";

/// A device of a pool.
#[derive(Debug, PartialEq)]
pub(super) struct Member {
    /// Its file: `/dev/sda1`, or that of a file on a file system.
    pub(super) path: String,
    pub(super) role: Option<DeviceRole>,
    /// The mirror or RAID that it is part of: `mirror-0`.
    pub(super) group: Option<String>,
}

/// Settings of a data set.
pub(super) fn properties(
    commands: &dyn CommandRunner,
    data_set: &str,
) -> Result<BTreeMap<String, String>, CommandError> {
    let text = commands.run("zfs", &["get", "-H", "-p", "-o", "property,value", PROPERTIES, data_set])?;
    let line = |line: &str| line.split_once('\t').map(|(name, value)| (name.to_owned(), value.to_owned()));
    // What is switched off, or unknown to an older version, is not worth a word.
    let kept = |(name, value): &(String, String)| {
        value != "-" && !(value == "off" && matches!(name.as_str(), "compression" | "encryption"))
    };
    Ok(text.lines().filter_map(line).filter(kept).collect())
}

/// The pool of a data set.
pub(super) fn pool_of(data_set: &str) -> &str {
    data_set.split(['/', '@']).next().unwrap_or(data_set)
}

/// A pool and its devices.
pub(super) fn pool(commands: &dyn CommandRunner, name: &str) -> Result<(Pool, Vec<Member>), CommandError> {
    let text = commands.run("zpool", &["status", "-L", "-P", name])?;
    let state = text.lines().find_map(|line| line.trim().strip_prefix("state: ")).map(str::to_owned);
    let members = members(&text, name);
    let logs = members.iter().filter(|member| member.role == Some(DeviceRole::Log)).count();
    // Without any device the text is none that is known here, and a count of 0 would be a guess.
    let log_devices = (!members.is_empty()).then_some(u32::try_from(logs).unwrap_or(u32::MAX));
    Ok((Pool { name: name.to_owned(), health: state, log_devices }, members))
}

/// The members of a pool. Each line after the headings: a tab, two blanks for each step down, a name, its state.
fn members(text: &str, pool: &str) -> Vec<Member> {
    let mut found = Vec::new();
    let (mut role, mut group) = (None, None);
    let is_heading = |line: &&str| line.trim_start().starts_with("NAME ");
    let lines = text.lines().skip_while(|line| !is_heading(line)).skip(1);
    for line in lines.map_while(|line| line.strip_prefix('\t')) {
        let Some(name) = line.split_ascii_whitespace().next() else { continue };
        if name.starts_with('/') {
            // A group ends where a device stands as far left as a group would.
            let group = (line.len() - line.trim_start().len() > 2).then(|| group.clone()).flatten();
            found.push(Member { path: name.to_owned(), role, group });
        } else if line.starts_with(' ') {
            group = Some(name.to_owned());
        } else {
            group = None;
            role = match name {
                "logs" => Some(DeviceRole::Log),
                "cache" => Some(DeviceRole::ReadCache),
                "special" | "dedup" => Some(DeviceRole::Special),
                "spares" => Some(DeviceRole::Spare),
                name if name == pool => None,
                _ => role,
            };
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STATUS: &str = "  pool: tank\n state: ONLINE\nconfig:\n\n\
        \tNAME                STATE     READ WRITE CKSUM\n\
        \ttank                ONLINE       0     0     0\n\
        \t  mirror-0          ONLINE       0     0     0\n\
        \t    /dev/sda1       ONLINE       0     0     0\n\
        \t    /dev/sdb1       ONLINE       0     0     0\n\
        \tlogs\t\n\
        \t  /dev/nvme0n1p1    ONLINE       0     0     0\n\
        \tcache\n\
        \t  /dev/nvme0n1p2    ONLINE       0     0     0\n\
        \nerrors: No known data errors\n";

    #[test]
    fn each_device_of_a_pool_is_found_with_its_part() {
        let found = members(STATUS, "tank");
        let said: Vec<_> =
            found.iter().map(|member| (member.path.as_str(), member.role, member.group.as_deref())).collect();
        let expected = [
            ("/dev/sda1", None, Some("mirror-0")),
            ("/dev/sdb1", None, Some("mirror-0")),
            ("/dev/nvme0n1p1", Some(DeviceRole::Log), None),
            ("/dev/nvme0n1p2", Some(DeviceRole::ReadCache), None),
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn a_data_set_is_in_the_pool_that_its_name_begins_with() {
        assert_eq!(pool_of("tank/kafka/log"), "tank");
        assert_eq!(pool_of("tank"), "tank");
    }

    proptest! {
        #[test]
        fn the_parser_never_panics(text in "(?s)(NAME STATE\n|\t {0,4}[a-z/0-9-]{0,9} ONLINE\n|\tlogs\n){0,9}.{0,30}") {
            let _ = members(&text, "tank");
        }
    }
}
