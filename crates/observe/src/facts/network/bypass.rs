//! The answer to one question, always with its reason: do an interface's packets go around the hypervisor? Yes, no, or not to be
//! told. Pure.
//!
//! A guest sees no flag for it. What speaks is the driver: some are for virtual functions only, some for a cloud's own
//! adapter that is passed through, some for what a hypervisor emulates.

/// The signs of an interface by which it is told.
pub(super) struct Signs<'a> {
    /// True if a hypervisor is below.
    pub(super) guest: Option<bool>,
    /// True if there is a device behind it.
    pub(super) device: bool,
    pub(super) driver: Option<&'a str>,
    /// Vendor and device.
    pub(super) pci_id: Option<(u16, u16)>,
    /// The device is a virtual function of one that is seen here too.
    pub(super) has_physical_function: bool,
    /// An interface with a device that this one is put together from, and its driver.
    pub(super) attached: Option<(&'a str, Option<String>)>,
}

const MELLANOX: u16 = 0x15b3;

/// Virtual functions of ConnectX-3 to ConnectX-7 and BlueField (kernel, mlx4 `main.c` and mlx5_core `main.c`, PCI tables; pciutils'
/// pci.ids names each of them so).
const MELLANOX_FUNCTIONS: [u16; 8] = [0x1004, 0x1014, 0x1016, 0x1018, 0x101a, 0x101c, 0x101e, 0xa2d3];

/// Drivers of virtual functions and nothing else (kernel documentation, networking/device_drivers/ethernet).
const FUNCTION_DRIVERS: [&str; 4] = ["iavf", "i40evf", "ixgbevf", "igbvf"];

/// Adapters that a cloud made for its guests, with what is known of each.
const CLOUD_DRIVERS: [(&str, &str); 2] = [
    ("ena", "ena is Amazon's adapter, which the guest drives itself (enhanced networking)"),
    ("mana", "mana is Microsoft's adapter, which the guest drives itself (accelerated networking)"),
];

/// The drivers of devices that hypervisors emulate or carry by themselves.
const CARRIED: [&str; 8] =
    ["virtio_net", "vmxnet3", "xen_netfront", "vif", "e1000", "e1000e", "8139cp", "tulip"];

/// Yes, no or not known; and why.
pub(super) fn judge(signs: &Signs<'_>) -> (Option<bool>, String) {
    let driver = signs.driver.unwrap_or("no driver");
    if !signs.device {
        return match &signs.attached {
            Some((lower, _)) => (None, format!("no device of its own: see {lower}")),
            None => (None, "no device behind it".to_owned()),
        };
    }
    if signs.has_physical_function {
        return (Some(true), format!("a virtual function ({driver})"));
    }
    if signs.guest == Some(false) {
        return (None, "no hypervisor below to go around".to_owned());
    }
    if driver == "hv_netvsc" {
        return match &signs.attached {
            Some((lower, below)) => (
                Some(true),
                format!(
                    "{lower} ({}) is attached to it as virtual function",
                    below.as_deref().unwrap_or("no driver")
                ),
            ),
            None => (
                Some(false),
                "hv_netvsc without a virtual function: the host's switch carries every packet".to_owned(),
            ),
        };
    }
    if let Some((_, reason)) = CLOUD_DRIVERS.iter().find(|(name, _)| *name == driver) {
        return (Some(true), (*reason).to_owned());
    }
    if FUNCTION_DRIVERS.contains(&driver) {
        return (Some(true), format!("{driver} drives virtual functions only"));
    }
    if let Some((MELLANOX, device)) = signs.pci_id
        && MELLANOX_FUNCTIONS.contains(&device)
    {
        return (Some(true), format!("PCI id 15b3:{device:04x} is a virtual function ({driver})"));
    }
    if CARRIED.contains(&driver) {
        let reason =
            format!("{driver}: the hypervisor carries the packets, unless its hardware does that unseen");
        return (Some(false), reason);
    }
    (None, format!("{driver}: whether it is passed through or emulated is not shown to a guest"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest(driver: &str) -> Signs<'_> {
        Signs {
            guest: Some(true),
            device: true,
            driver: Some(driver),
            pci_id: None,
            has_physical_function: false,
            attached: None,
        }
    }

    #[test]
    fn azures_interface_goes_around_only_with_a_function_attached() {
        assert_eq!(judge(&guest("hv_netvsc")).0, Some(false));
        let attached = Some(("enP1s2", Some("mlx5_core".to_owned())));
        let (bypasses, reason) = judge(&Signs { attached, ..guest("hv_netvsc") });
        assert_eq!(bypasses, Some(true));
        assert_eq!(reason, "enP1s2 (mlx5_core) is attached to it as virtual function");
    }

    #[test]
    fn a_connectx_in_a_guest_is_told_by_its_id() {
        let function = Signs { pci_id: Some((MELLANOX, 0x101a)), ..guest("mlx5_core") };
        assert_eq!(judge(&function).0, Some(true));
        let whole = Signs { pci_id: Some((MELLANOX, 0x1019)), ..guest("mlx5_core") };
        assert_eq!(judge(&whole).0, None, "passed through as a whole, or not a function");
    }

    #[test]
    fn what_cannot_be_told_is_neither_yes_nor_no() {
        assert_eq!(judge(&guest("gve")).0, None);
        assert_eq!(judge(&Signs { guest: Some(false), ..guest("ice") }).0, None);
        assert_eq!(judge(&guest("virtio_net")).0, Some(false));
        assert_eq!(judge(&guest("ena")).0, Some(true));
    }
}
