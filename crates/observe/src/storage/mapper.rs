//! The function of a mapping of the device mapper: it caches, encrypts or joins.
//!
//! `dmsetup` says all of it, but to root only. Without it the name and the id that the volume manager gave tell the kind,
//! and a cache's mode stays unknown. Tables are described in the kernel documentation, admin-guide/device-mapper. Nothing
//! of a table is repeated that could be a key.

use plumb_model::facts::{DeviceClass, DeviceRole};

use crate::{CommandRunner, HostRoot};

/// The role of a device in a mapping.
#[derive(Debug, PartialEq)]
pub(super) struct KnownRole {
    /// The device's number, `major:minor`.
    pub(super) number: String,
    pub(super) role: DeviceRole,
}

/// A mapping.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Mapping {
    pub(super) class: DeviceClass,
    pub(super) detail: Option<String>,
    pub(super) cache_mode: Option<String>,
    /// The devices below that have a role.
    pub(super) roles: Vec<KnownRole>,
    /// The reason why something that matters is not known.
    pub(super) missing: Option<String>,
}

/// The mapping with this number, `major:minor`, whose files are in `folder`.
pub(super) fn read(root: &HostRoot, commands: &dyn CommandRunner, folder: &str, number: &str) -> Mapping {
    let id = root.read(&format!("{folder}/dm/uuid")).unwrap_or_default();
    let mut mapping = by_names(root, folder, id.trim());
    let Some((major, minor)) = number.split_once(':') else { return mapping };
    let ask = |what: &str| commands.run("dmsetup", &[what, "-j", major, "-m", minor]);
    match ask("table") {
        Ok(table) => {
            by_table(&mut mapping, &table);
            if mapping.class == DeviceClass::DmCache {
                by_cache_status(&mut mapping, &ask("status").unwrap_or_default());
            }
        }
        Err(error) => {
            mapping.missing = match mapping.class {
                DeviceClass::DmCache => Some(format!("the mode of its cache is not known: {error}")),
                DeviceClass::Mapped => Some(format!("what it maps, and how, is not known: {error}")),
                _ => None,
            };
        }
    }
    mapping
}

/// The mapping by the id's prefix, which the maker of a mapping chooses, and by the names that LVM gives to the parts of a cache
/// (lvmcache(7)).
fn by_names(root: &HostRoot, folder: &str, id: &str) -> Mapping {
    let class = match id.split('-').next() {
        Some("LVM") => DeviceClass::LogicalVolume,
        Some("CRYPT") if !id.starts_with("CRYPT-VERITY") && !id.starts_with("CRYPT-INTEGRITY") => {
            DeviceClass::Encrypted
        }
        Some("mpath") => DeviceClass::Multipath,
        _ => DeviceClass::Mapped,
    };
    let mut mapping = Mapping { class, ..Mapping::default() };
    let text = |path: String| root.read(&path).map(|text| text.trim().to_owned()).unwrap_or_default();
    for slave in root.list(&format!("{folder}/slaves")).unwrap_or_default() {
        let slave = format!("{folder}/slaves/{slave}");
        let (name, id) = (text(format!("{slave}/dm/name")), text(format!("{slave}/dm/uuid")));
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        let role = match () {
            () if ends(&["_wcorig"]) => {
                mapping.class = DeviceClass::DmWritecache;
                mapping.cache_mode = Some("writeback".to_owned());
                DeviceRole::Origin
            }
            () if ends(&["_corig"]) => {
                mapping.class = DeviceClass::DmCache;
                DeviceRole::Origin
            }
            () if ends(&["_cdata", "-cdata", "_cvol"]) => DeviceRole::Cache,
            () if ends(&["_cmeta", "-cmeta"]) => DeviceRole::CacheMetadata,
            () => {
                if id.ends_with("-tpool") {
                    mapping.class = DeviceClass::Thin;
                }
                continue;
            }
        };
        mapping.roles.push(KnownRole { number: text(format!("{slave}/dev")), role });
    }
    if matches!(mapping.class, DeviceClass::DmCache | DeviceClass::DmWritecache | DeviceClass::Thin) {
        mapping.detail = Some("logical volume".to_owned());
    }
    mapping
}

/// Lines of `start length target arguments`.
fn by_table(mapping: &mut Mapping, table: &str) {
    let mut targets: Vec<String> = Vec::new();
    let made_by_lvm = mapping.class == DeviceClass::LogicalVolume || mapping.detail.is_some();
    for line in table.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().skip(2).collect();
        let word = |index: usize| words.get(index).copied().unwrap_or_default();
        let known = |at: usize, role| KnownRole { number: word(at).to_owned(), role };
        let description = match word(0) {
            "" => continue,
            "cache" => {
                mapping.class = DeviceClass::DmCache;
                mapping.roles = vec![
                    known(1, DeviceRole::CacheMetadata),
                    known(2, DeviceRole::Cache),
                    known(3, DeviceRole::Origin),
                ];
                let features = counted(&words, 5);
                // The documentation of dm-cache: write-back unless a feature says otherwise.
                let mode = ["writethrough", "passthrough"].into_iter().find(|mode| features.contains(mode));
                mapping.cache_mode = Some(mode.unwrap_or("writeback").to_owned());
                format!("policy {}", word(6 + features.len()))
            }
            "writecache" => {
                mapping.class = DeviceClass::DmWritecache;
                mapping.cache_mode = Some("writeback".to_owned());
                mapping.roles = vec![known(2, DeviceRole::Origin), known(3, DeviceRole::Cache)];
                let place = if word(1) == "p" { "persistent memory" } else { "an SSD" };
                format!("writes are cached on {place}")
            }
            "crypt" => {
                mapping.class = DeviceClass::Encrypted;
                format!("cipher {}", word(1))
            }
            "thin" => {
                mapping.class = DeviceClass::Thin;
                "thin".to_owned()
            }
            "snapshot" | "snapshot-origin" | "snapshot-merge" => {
                mapping.class = DeviceClass::Snapshot;
                word(0).to_owned()
            }
            "striped" => format!("striped over {}", word(1)),
            target => target.to_owned(),
        };
        if !targets.contains(&description) {
            targets.push(description);
        }
    }
    if made_by_lvm && mapping.class != DeviceClass::LogicalVolume {
        targets.push("logical volume".to_owned());
    }
    // A volume that is one piece, or several in a row, is nothing that a reader has to know.
    targets.retain(|target| target != "linear" || mapping.class == DeviceClass::Mapped);
    mapping.detail = (!targets.is_empty()).then(|| targets.join(", "));
}

/// `... cache METADATA_BLOCK USED/ALL BLOCK USED/ALL HITS MISSES HITS MISSES DEMOTED PROMOTED DIRTY FEATURES ...`
fn by_cache_status(mapping: &mut Mapping, status: &str) {
    let words: Vec<&str> = status.split_ascii_whitespace().skip(2).collect();
    let (Some(used), Some(dirty)) = (words.get(4), words.get(11)) else { return };
    let (Some((used, all)), Ok(dirty)) = (used.split_once('/'), dirty.parse::<u64>()) else { return };
    let features = counted(&words, 12);
    if let Some(mode) =
        ["writeback", "writethrough", "passthrough"].into_iter().find(|mode| features.contains(mode))
    {
        mapping.cache_mode = Some(mode.to_owned());
    }
    let detail = mapping.detail.get_or_insert_default();
    detail.push_str(&format!(", {used} of {all} blocks in use, {dirty} dirty"));
}

/// The words after a count of them.
fn counted<'a>(words: &'a [&'a str], at: usize) -> &'a [&'a str] {
    let count: usize = words.get(at).and_then(|count| count.parse().ok()).unwrap_or(0);
    let rest = words.get(at + 1..).unwrap_or_default();
    rest.get(..count).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_table(table: &str) -> Mapping {
        let mut mapping = Mapping { class: DeviceClass::Mapped, ..Mapping::default() };
        by_table(&mut mapping, table);
        mapping
    }

    #[test]
    fn a_cache_without_a_mode_writes_back_and_its_three_devices_are_told_apart() {
        let mapping = of_table("0 204800 cache 253:0 253:1 8:0 64 0 smq 0\n");
        assert_eq!((mapping.class, mapping.cache_mode.as_deref()), (DeviceClass::DmCache, Some("writeback")));
        assert_eq!(mapping.detail.as_deref(), Some("policy smq"));
        let roles: Vec<_> = mapping.roles.iter().map(|known| (known.number.as_str(), known.role)).collect();
        let expected =
            [("253:0", DeviceRole::CacheMetadata), ("253:1", DeviceRole::Cache), ("8:0", DeviceRole::Origin)];
        assert_eq!(roles, expected);
    }

    #[test]
    fn the_mode_in_force_is_the_one_of_the_status() {
        let mut mapping = of_table("0 204800 cache 253:0 253:1 8:0 64 2 metadata2 writethrough mq 0\n");
        assert_eq!(
            (mapping.cache_mode.as_deref(), mapping.detail.as_deref()),
            (Some("writethrough"), Some("policy mq"))
        );
        by_cache_status(
            &mut mapping,
            "0 204800 cache 8 27/4096 64 10/768 0 1 2 3 0 10 3 2 metadata2 passthrough 2 migration_threshold 2048 smq 0 rw - \n",
        );
        assert_eq!(mapping.cache_mode.as_deref(), Some("passthrough"));
        assert_eq!(mapping.detail.as_deref(), Some("policy mq, 10 of 768 blocks in use, 3 dirty"));
    }

    #[test]
    fn a_key_in_a_table_is_not_repeated() {
        let mapping = of_table("0 99 crypt aes-xts-plain64 c0ffee00c0ffee00 0 8:2 32768 1 allow_discards\n");
        assert_eq!(
            (mapping.class, mapping.detail.as_deref()),
            (DeviceClass::Encrypted, Some("cipher aes-xts-plain64"))
        );
        assert!(!format!("{mapping:?}").contains("c0ffee"));
    }

    #[test]
    fn pieces_in_a_row_are_not_worth_a_word_but_a_delay_is() {
        let mut volume = Mapping { class: DeviceClass::LogicalVolume, ..Mapping::default() };
        by_table(&mut volume, "0 8 linear 8:1 0\n8 8 linear 8:2 0\n");
        assert_eq!((volume.class, volume.detail), (DeviceClass::LogicalVolume, None));
        assert_eq!(of_table("0 8 delay 8:0 0 25 8:0 0 25\n").detail.as_deref(), Some("delay"));
    }

    proptest! {
        #[test]
        fn the_parsers_never_panic(text in "(?s)([0-9:/]{0,6} |cache |writecache |crypt |thin |99999999999 ){0,20}.{0,30}") {
            let mut mapping = of_table(&text);
            by_cache_status(&mut mapping, &text);
        }
    }
}
