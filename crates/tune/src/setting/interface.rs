//! The interface that a setting is of, known by its number: a name goes to another interface, by a rename or when one is made anew.

use crate::host::Host;

/// Directories whose next part is an interface.
const OF_INTERFACE: [&str; 5] = [
    "/sys/class/net/",
    "/proc/sys/net/ipv4/conf/",
    "/proc/sys/net/ipv4/neigh/",
    "/proc/sys/net/ipv6/conf/",
    "/proc/sys/net/ipv6/neigh/",
];
/// What stands there and is no interface.
const NONE: [&str; 2] = ["all", "default"];

/// The name of the interface in a place: a driver's setting by its own name, any other by its file.
pub(super) fn interface(place: &str) -> Option<&str> {
    let of_driver = place.strip_prefix("ethtool:").and_then(|rest| Some(rest.rsplit_once(':')?.0));
    let of_file = || {
        let rest = OF_INTERFACE.iter().find_map(|folder| place.strip_prefix(folder))?;
        rest.split_once('/').map(|(name, _)| name).filter(|name| !NONE.contains(name))
    };
    of_driver.or_else(of_file)
}

/// What the interface is known by as long as the kernel runs.
pub(super) fn identity(host: &Host, name: &str) -> Option<String> {
    let number = host.root().read(&format!("/sys/class/net/{name}/ifindex")).ok()?;
    Some(format!("interface {}", number.trim()))
}

/// The name that the interface of an identity has now.
pub(super) fn name_now(host: &Host, known: &str) -> Option<String> {
    let names = host.root().list("/sys/class/net").ok()?;
    names.into_iter().find(|name| identity(host, name).as_deref() == Some(known))
}

/// The same place with another interface.
pub(super) fn with_name(place: &str, name: &str) -> Option<String> {
    let old = interface(place)?;
    let at = old.as_ptr() as usize - place.as_ptr() as usize;
    Some(format!("{}{name}{}", &place[..at], &place[at + old.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_observe::HostRoot;

    #[test]
    fn the_interface_of_a_place_is_found_and_can_be_another() {
        for (place, name, other) in [
            ("ethtool:eth0:rings", Some("eth0"), "ethtool:w8:rings"),
            ("/sys/class/net/eth0/mtu", Some("eth0"), "/sys/class/net/w8/mtu"),
            (
                "/proc/sys/net/ipv4/conf/eth0.5/rp_filter",
                Some("eth0.5"),
                "/proc/sys/net/ipv4/conf/w8/rp_filter",
            ),
            ("/proc/sys/net/ipv4/conf/all/rp_filter", None, ""),
            ("/proc/sys/net/core/somaxconn", None, ""),
        ] {
            assert_eq!(interface(place), name, "{place}");
            assert_eq!(with_name(place, "w8").unwrap_or_default(), other, "{place}");
        }
    }

    #[test]
    fn an_interface_that_was_renamed_is_found_by_its_number() {
        let root = tempfile::tempdir().unwrap();
        for (name, number) in [("w8", "7\n"), ("w1", "9\n")] {
            let folder = root.path().join("sys/class/net").join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("ifindex"), number).unwrap();
        }
        let host = Host::below(HostRoot::new(root.path()));
        assert_eq!(name_now(&host, "interface 7").as_deref(), Some("w8"));
        assert_eq!(name_now(&host, "interface 8"), None);
    }
}
