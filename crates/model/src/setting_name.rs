//! How the names of settings are read, wherever one is met: what changes a setting, and what writes it into files.

/// The file that a sysctl name or a path means. Whether it is one of a kernel setting is for the caller to see.
pub fn kernel_file(name: &str) -> String {
    if name.starts_with('/') {
        return name.to_owned();
    }
    // As sysctl does it: a dot inside of a part (an interface eth0.5) is written as a slash.
    let swap = |c| match c {
        '.' => '/',
        '/' => '.',
        c => c,
    };
    format!("/proc/sys/{}", name.chars().map(swap).collect::<String>())
}

/// An interrupt, by what it is known by at every start of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptName<'a> {
    /// The device's address on its bus, such as `0000:3b:00.0` or `virtio1`.
    pub device: &'a str,
    /// Its name in `/proc/interrupts`.
    pub name: &'a str,
}

impl<'a> InterruptName<'a> {
    /// From `device:name`. An address of PCI (`0000:3b:00.0`) has two colons of its own; any other device has none. None where a part is missing.
    pub fn new(text: &'a str) -> Option<Self> {
        let domain = text.split(':').next()?;
        let is_pci = domain.len() >= 4 && domain.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (at, _) = text.match_indices(':').nth(if is_pci { 2 } else { 0 })?;
        let (device, name) = (&text[..at], &text[at + 1..]);
        (!device.is_empty() && !name.is_empty()).then_some(InterruptName { device, name })
    }
}

/// A setting of a cluster that can be changed while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterName<'a> {
    /// Whose it is.
    pub of: ClusterPart<'a>,
    /// Its key, such as `num.io.threads`.
    pub key: &'a str,
}

/// A broker or a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterPart<'a> {
    /// A broker, by its number.
    Broker(i32),
    /// A topic, by its name.
    Topic(&'a str),
}

impl<'a> ClusterName<'a> {
    /// From `broker:1:num.io.threads` or `topic:orders:flush.messages`; none of any other name.
    pub fn new(name: &'a str) -> Option<Self> {
        let (kind, rest) = name.split_once(':')?;
        let (which, key) = rest.rsplit_once(':')?;
        let of = match kind {
            "broker" => ClusterPart::Broker(which.parse().ok().filter(|id| *id >= 0)?),
            "topic" if !which.is_empty() => ClusterPart::Topic(which),
            _ => return None,
        };
        let is_plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c));
        is_plain.then_some(ClusterName { of, key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sysctl_name_is_found_as_sysctl_finds_it_and_a_path_is_itself() {
        assert_eq!(kernel_file("net.ipv4.tcp_rmem"), "/proc/sys/net/ipv4/tcp_rmem");
        assert_eq!(kernel_file("net.ipv4.conf.eth0/5.mtu"), "/proc/sys/net/ipv4/conf/eth0.5/mtu");
        assert_eq!(kernel_file("/sys/block/sda/queue/scheduler"), "/sys/block/sda/queue/scheduler");
    }

    #[test]
    fn a_setting_of_a_cluster_is_told_apart_from_those_of_the_host() {
        let broker = ClusterName { of: ClusterPart::Broker(1), key: "num.io.threads" };
        assert_eq!(ClusterName::new("broker:1:num.io.threads"), Some(broker));
        let topic = ClusterName { of: ClusterPart::Topic("a:b"), key: "flush.ms" };
        assert_eq!(ClusterName::new("topic:a:b:flush.ms"), Some(topic));
        for name in
            ["broker:x:k", "broker:-1:k", "topic::k", "topic:t:", "topic:t:a b", "irq:0:k", "vm.swappiness"]
        {
            assert_eq!(ClusterName::new(name), None, "{name}");
        }
    }

    #[test]
    fn a_device_is_told_apart_from_the_name_of_its_interrupt() {
        let parts = |text| InterruptName::new(text).map(|found| (found.device, found.name));
        assert_eq!(parts("0000:3b:00.0:eth0-TxRx-3"), Some(("0000:3b:00.0", "eth0-TxRx-3")));
        assert_eq!(
            parts("0000:00:05.0:mlx5_comp3@pci:0000:00:05.0"),
            Some(("0000:00:05.0", "mlx5_comp3@pci:0000:00:05.0"))
        );
        assert_eq!(parts("virtio1:virtio1-input.0"), Some(("virtio1", "virtio1-input.0")));
        assert_eq!((parts("virtio1"), parts("0000:3b:00.0"), parts(":x")), (None, None, None));
    }
}
