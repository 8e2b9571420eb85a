//! A kernel setting that is a file below `/proc/sys` or `/sys`.

use super::SettingError;
use crate::host::Host;
use plumb_model::setting_name::kernel_file;
use std::io;
use std::path::{Path, PathBuf};

/// Masks of processors: groups of eight hexadecimal digits, with zeros before them or not.
const MASKS: [&str; 2] = ["rps_cpus", "xps_cpus"];

/// The least MTU of a link with IPv6, in bytes (RFC 8200, section 5).
const IPV6_MTU_MIN: u64 = 1_280;

/// A file of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KernelFile {
    path: PathBuf,
}

impl KernelFile {
    /// From a sysctl name, or a path under /proc/sys or /sys.
    pub(super) fn new(name: &str) -> Option<Self> {
        let path = kernel_file(name);
        let below = ["/proc/sys/", "/sys/"].iter().any(|top| path.len() > top.len() && path.starts_with(top));
        let plain = path.split('/').skip(1).all(|part| !part.is_empty() && part != "." && part != "..");
        let named = below && plain && !path.chars().any(|c| c.is_control() || c.is_whitespace());
        named.then(|| KernelFile { path: path.into() })
    }

    /// Its place, on a host whose files are at their places.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// True if a wrong value takes an interface away, or lets the kernel believe that a device keeps what it does not.
    pub(super) fn cuts_off_or_loses(&self) -> bool {
        let path = self.path.to_string_lossy();
        let of_interface = ["flags", "mtu", "address", "carrier", "netdev_group", "operstate"];
        let interface =
            path.contains("/net/") && of_interface.iter().any(|file| path.ends_with(&format!("/{file}")));
        interface
            || path.ends_with("/queue/write_cache")
            || [
                "/disable_ipv6",
                "/ip_forward",
                "/forwarding",
                "/rp_filter",
                "/arp_ignore",
                "/arp_announce",
                "/ip_default_ttl",
                "/hop_limit",
            ]
            .iter()
            .any(|file| path.ends_with(file))
    }

    /// What changing it may interrupt; empty where nothing is known to be.
    pub(super) fn may_interrupt(&self) -> &'static str {
        let path = self.path.to_string_lossy();
        let ends = |names: &[&str]| names.iter().any(|name| path.ends_with(&format!("/{name}")));
        let is_of_interface = path.starts_with("/sys/class/net/") || path.contains("/net/ipv6/conf/");
        match () {
            () if !path.contains("/net/") => "",
            () if ends(&["flags", "carrier"]) => {
                "the link goes down, and its IPv6 addresses and routes go with it and do not come back by themselves"
            }
            () if is_of_interface && ends(&["mtu"]) => {
                "packets that are larger than the path takes are lost, and some drivers take the link down for a moment"
            }
            () if ends(&["address"]) => "peers know the interface by its old address until they ask again",
            () if ends(&["forwarding"]) => {
                "this host stops or begins to pass on packets of others; with IPv6 forwarding an interface takes no more addresses and routes from routers, and those that it has from them expire"
            }
            () if ends(&["rp_filter"]) => "packets that come by another way than answers go are dropped",
            () if ends(&["arp_ignore", "arp_announce"]) => "peers may find this host's addresses no more",
            () if ends(&["ip_default_ttl", "hop_limit"]) => {
                "too low, peers behind more routers are not reached"
            }
            () => "",
        }
    }

    /// The reason why it is never changed: its value is a secret, or reads as something that it does not take back.
    pub(super) fn never(&self) -> Option<&'static str> {
        let path = self.path.to_string_lossy();
        let ends = |names: &[&str]| names.iter().any(|name| path.ends_with(name));
        if ends(&["/tcp_fastopen_key", "/stable_secret"]) {
            return Some("its value is a secret, which no plan and no journal keeps");
        }
        if path.contains("/neigh/") && ends(&["/base_reachable_time", "/retrans_time", "/unres_qlen"]) {
            return Some(
                "it is a coarser name of another setting, and writing it changes that one: use base_reachable_time_ms, retrans_time_ms, unres_qlen_bytes",
            );
        }
        if ends(&["/ip_forward", "/conf/all/forwarding", "/disable_ipv6"]) {
            return Some(
                "the kernel changes or removes with it what each interface has (forwarding, addresses, routes), and writing it again brings none of that back",
            );
        }
        if ends(&["/vm/drop_caches", "/vm/compact_memory"]) {
            return Some("it is a command and no setting: what it does cannot be put back");
        }
        None
    }

    /// The reason why a value takes away what another one does not bring back.
    pub(super) fn loses(&self, value: &str) -> Option<&'static str> {
        let is_mtu = self.path.to_string_lossy().contains("/net/") && self.path.ends_with("mtu");
        let is_below_ipv6 = number(value.trim()).is_some_and(|bytes| bytes < IPV6_MTU_MIN);
        (is_mtu && is_below_ipv6).then_some(
            "below 1,280 bytes the kernel takes the interface's IPv6 addresses and routes away for good",
        )
    }

    fn locate(&self, host: &Host) -> PathBuf {
        host.root().locate(&self.path.to_string_lossy())
    }

    /// Where the links on the way to it lead: behind `/sys/class/net/eth0` stands the device by its place on the bus.
    pub(super) fn identity(&self, host: &Host) -> Option<String> {
        let real = host.root().real(&self.path.to_string_lossy()).ok()?;
        let top = host.root().real("/").ok()?;
        let place = Path::new("/").join(real.strip_prefix(top).ok()?);
        (place != self.path).then(|| place.display().to_string())
    }

    /// Refuses one that may not be written.
    pub(super) fn check_permission(&self, name: &str, host: &Host) -> Result<(), SettingError> {
        let opened = fs_err::OpenOptions::new().write(true).open(self.locate(host));
        opened.map(drop).map_err(|source| self.permission(name, source))
    }

    /// Its present value: of a file that lists the choices, the one in brackets.
    pub(super) fn read(&self, name: &str, host: &Host) -> Result<String, SettingError> {
        let text = fs_err::read_to_string(self.locate(host)).map_err(|source| SettingError::Unknown {
            name: name.to_owned(),
            path: self.path.clone(),
            source,
        })?;
        Ok(chosen(&text).unwrap_or_else(|| plain(&text)))
    }

    /// Writes it.
    pub(super) fn write(&self, name: &str, host: &Host, value: &str) -> Result<(), SettingError> {
        use io::Write;
        if !host.root().is_host() {
            return self.write_recorded(name, host, value);
        }
        let opened = fs_err::OpenOptions::new().write(true).truncate(true).open(self.locate(host));
        let mut file = opened.map_err(|source| self.permission(name, source))?;
        // In one call: the kernel takes each as a whole value. An empty one is a line without words, as nothing at all is no call.
        let text = if value.is_empty() { "\n" } else { value };
        file.write_all(text.as_bytes()).map_err(|source| SettingError::Refused {
            name: name.to_owned(),
            value: value.to_owned(),
            source,
        })
    }

    /// As the kernel does with its own: of a file that lists the choices the brackets move, and one that is none is refused.
    fn write_recorded(&self, name: &str, host: &Host, value: &str) -> Result<(), SettingError> {
        self.check_permission(name, host)?;
        let refused =
            |source| SettingError::Refused { name: name.to_owned(), value: value.to_owned(), source };
        let place = self.locate(host);
        let before = fs_err::read_to_string(&place).map_err(refused)?;
        let text = match chosen(&before) {
            None => value.to_owned(),
            Some(_) => {
                let words: Vec<&str> =
                    before.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
                if !words.contains(&value) {
                    return Err(refused(io::Error::from(io::ErrorKind::InvalidInput)));
                }
                let word =
                    |word: &&str| if *word == value { format!("[{word}]") } else { (*word).to_owned() };
                words.iter().map(word).collect::<Vec<_>>().join(" ")
            }
        };
        let end = if before.ends_with('\n') { "\n" } else { "" };
        fs_err::write(place, format!("{text}{end}")).map_err(refused)
    }

    /// A value in the one form in which it is compared.
    pub(super) fn canonical(&self, value: &str) -> String {
        let file = self.path.file_name().unwrap_or_default();
        match MASKS.iter().any(|mask| file == *mask) {
            true => crate::cpus::canonical_mask(value),
            false => plain(value),
        }
    }

    /// The command with which a person sets it.
    pub(super) fn by_hand(&self, value: &str) -> String {
        format!("echo '{value}' > {}", self.path.display())
    }

    fn permission(&self, name: &str, source: io::Error) -> SettingError {
        SettingError::Permission { name: name.to_owned(), path: self.path.clone(), source }
    }
}

/// A number as the kernel reads it: `0x10` and `010` are 16 and 8.
fn number(text: &str) -> Option<u64> {
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => radix(digits, 16),
        None if text.len() > 1 && text.starts_with('0') => radix(text, 8),
        None => text.parse().ok(),
    }
}

/// One blank between words, none around them: the kernel answers with tabs.
pub(crate) fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `always [madvise] never`: the word in brackets.
fn chosen(text: &str) -> Option<String> {
    let words = || text.split_whitespace();
    let chosen = words().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))?;
    Some(chosen.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;
    use plumb_model::fault::{Fault, HasFault};
    use plumb_observe::HostRoot;

    /// A host with one setting.
    fn host(path: &str, content: &str) -> (tempfile::TempDir, Host) {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, content).unwrap();
        let files = Host::below(HostRoot::new(root.path()));
        (root, files)
    }

    #[test]
    fn a_sysctl_name_is_found_as_sysctl_finds_it() {
        let path = |name: &str| Setting::new(name).unwrap().path().unwrap().display().to_string();
        assert_eq!(path("net.ipv4.tcp_rmem"), "/proc/sys/net/ipv4/tcp_rmem");
        assert_eq!(path("net.ipv4.conf.eth0/5.mtu"), "/proc/sys/net/ipv4/conf/eth0.5/mtu");
        assert_eq!(path("/sys/block/sda/queue/scheduler"), "/sys/block/sda/queue/scheduler");
    }

    #[test]
    fn what_is_no_kernel_setting_is_refused() {
        for name in
            ["", "/etc/passwd", "/sys/", "/proc/sys/../../etc/passwd", "/sys/../etc/passwd", "a..b", "a b"]
        {
            assert!(matches!(Setting::new(name), Err(SettingError::Name { .. })), "{name:?}");
        }
    }

    #[test]
    fn what_can_cut_a_host_off_says_what_it_may_interrupt() {
        for name in [
            "/sys/class/net/eth0/flags",
            "/sys/class/net/eth0/mtu",
            "/sys/class/net/eth0/address",
            "net.ipv4.conf.eth0.forwarding",
            "net.ipv6.conf.eth0.forwarding",
            "net.ipv6.conf.eth0.mtu",
            "net.ipv4.conf.all.rp_filter",
            "net.ipv4.conf.eth0.arp_ignore",
            "net.ipv4.ip_default_ttl",
            "ethtool:eth0:rings",
        ] {
            let setting = Setting::new(name).unwrap();
            assert!(setting.risk() > plumb_model::check::Risk::Performance, "{name}");
            assert!(!setting.may_interrupt().is_empty(), "{name}");
        }
        for name in ["net.core.somaxconn", "vm.swappiness", "/sys/block/sda/queue/scheduler"] {
            assert_eq!(Setting::new(name).unwrap().may_interrupt(), "", "{name}");
        }
    }

    #[test]
    fn words_that_the_kernel_sets_apart_with_tabs_are_the_same_value() {
        let (_root, files) = host("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
        let setting = Setting::new("net.ipv4.tcp_rmem").unwrap();
        assert_eq!(setting.read(&files).unwrap(), "4096 131072 6291456");
        setting.write(&files, "4096  65536 6291456").unwrap();
        assert_eq!(setting.read(&files).unwrap(), "4096 65536 6291456");
    }

    #[test]
    fn of_a_list_of_choices_the_one_in_brackets_is_the_value() {
        let (_root, files) = host("sys/kernel/mm/enabled", "always [madvise] never\n");
        assert_eq!(Setting::new("/sys/kernel/mm/enabled").unwrap().read(&files).unwrap(), "madvise");
    }

    #[test]
    fn a_setting_that_this_kernel_has_not_is_named_with_its_place() {
        let (_root, files) = host("proc/sys/vm/swappiness", "60\n");
        let error = Setting::new("vm.swapiness").unwrap().check_written(&files, "1").unwrap_err();
        let text = error.to_string();
        assert_eq!(
            text,
            "host setting vm.swapiness: this kernel has no /proc/sys/vm/swapiness that can be read"
        );
    }

    #[test]
    fn a_value_of_several_lines_is_refused() {
        let (_root, files) = host("proc/sys/vm/swappiness", "60\n");
        let error = Setting::new("vm.swappiness").unwrap().check_written(&files, "1\n2").unwrap_err();
        assert_eq!(error.fault(), Fault::User, "{error}");
    }
}
