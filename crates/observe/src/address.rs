//! Is an address one of this host's? For the label "generator and broker on one host".
//!
//! Not for names: the caller resolves them. A port that is forwarded from here to another host (a container's published
//! port, a tunnel) counts as here, because the address is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{HostRoot, ObserveError};

const IPV4_ROUTES: &str = "/proc/net/fib_trie";
const IPV6_ADDRESSES: &str = "/proc/net/if_inet6";

/// True if packets to `address` stay on this host, in this network namespace.
pub fn is_local_address(root: &HostRoot, address: IpAddr) -> Result<bool, ObserveError> {
    let address = address.to_canonical();
    // Linux connects to the unspecified address as to loopback.
    if address.is_loopback() || address.is_unspecified() {
        return Ok(true);
    }
    match address {
        IpAddr::V4(address) => {
            let text = root.read(IPV4_ROUTES)?;
            Ok(local_ipv4(&text).iter().any(|(network, bits)| contains(*network, *bits, address)))
        }
        // Without the file the kernel has no IPv6, and so no such address.
        IpAddr::V6(_) if !root.exists(IPV6_ADDRESSES) => Ok(false),
        IpAddr::V6(address) => Ok(local_ipv6(&root.read(IPV6_ADDRESSES)?).any(|own| own == address)),
    }
}

/// Networks marked `host LOCAL`: a line with the address, then lines with what it is.
fn local_ipv4(text: &str) -> Vec<(Ipv4Addr, u32)> {
    let mut networks = Vec::new();
    let mut current = None;
    for line in text.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            current = address.parse::<Ipv4Addr>().ok();
        } else if let (Some(address), Some(bits)) =
            (current, line.strip_suffix(" host LOCAL").and_then(|prefix| prefix.strip_prefix('/')))
        {
            networks.extend(bits.parse().ok().map(|bits| (address, bits)));
        }
    }
    networks
}

fn contains(network: Ipv4Addr, bits: u32, address: Ipv4Addr) -> bool {
    let mask = 32_u32.checked_sub(bits).map(|host_bits| u32::MAX.checked_shl(host_bits).unwrap_or(0));
    mask.is_some_and(|mask| network.to_bits() & mask == address.to_bits() & mask)
}

/// `fd000000000000000000000000000002 04 40 00 82     eth0`
fn local_ipv6(text: &str) -> impl Iterator<Item = Ipv6Addr> {
    text.lines().filter_map(|line| {
        let digits = line.split_ascii_whitespace().next().filter(|digits| digits.len() == 32)?;
        u128::from_str_radix(digits, 16).ok().map(Ipv6Addr::from_bits)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_prefix_marked_local_holds_all_its_addresses() {
        let networks = local_ipv4("|-- 10.1.0.0\n   /16 host LOCAL\n|-- 10.2.0.1\n   /32 link BROADCAST\n");
        assert_eq!(networks, [(Ipv4Addr::new(10, 1, 0, 0), 16)]);
        assert!(contains(networks[0].0, 16, Ipv4Addr::new(10, 1, 200, 9)));
        assert!(!contains(networks[0].0, 16, Ipv4Addr::new(10, 2, 0, 1)));
        assert!(contains(networks[0].0, 0, Ipv4Addr::new(99, 2, 0, 1)));
        assert!(!contains(networks[0].0, 33, networks[0].0));
    }

    proptest! {
        #[test]
        fn the_parsers_never_panic(text in "(?s)(\\|-- [0-9.]{0,16}\n/[0-9]{0,11} host LOCAL\n){0,3}[0-9a-f]{32}.{0,30}", bits: u32) {
            for (network, bits) in local_ipv4(&text) {
                let _ = contains(network, bits, Ipv4Addr::LOCALHOST);
            }
            let _ = contains(Ipv4Addr::LOCALHOST, bits, Ipv4Addr::LOCALHOST);
            let _ = local_ipv6(&text).count();
        }
    }
}
