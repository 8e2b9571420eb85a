//! Hosts with two memory nodes and network interfaces of several kinds.

use super::guest::Guest;
use serde_json::{Value, json};

#[test]
#[ignore = "needs a virtual machine: make test-hardware"]
fn memory_nodes_sockets_and_the_drivers_of_interfaces_are_told() {
    let guest = Guest::new()
        .with_two_nodes()
        .device(&["-netdev", "user,id=plain,restrict=on", "-device", "e1000e,netdev=plain"])
        .device(&["-netdev", "user,id=cloud,restrict=on", "-device", "virtio-net-pci,netdev=cloud"]);
    let scene = guest.run(
        "modprobe -a e1000e virtio_net
         plumb facts probe facts",
    );
    let document = scene.json("facts.json");
    let fact = |name: &str| &document["host"][name]["value"];
    let nodes: Vec<(&Value, &Value)> = fact("numa_nodes")
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (&node["cpus"], &node["distances"]))
        .collect();
    let expected = [(json!("0-1"), json!([10, 21])), (json!("2-3"), json!([21, 10]))];
    assert_eq!(nodes, expected.iter().map(|(cpus, distances)| (cpus, distances)).collect::<Vec<_>>());
    let topology = fact("cpu_topology");
    let counted = ["sockets", "cores", "threads_per_core"].map(|name| topology[name].as_u64().unwrap());
    assert_eq!(counted, [2, 4, 1], "{topology}");
    assert_eq!(fact("virtualisation")["virtual_machine"], true);
    let interfaces = fact("network_interfaces").as_array().unwrap();
    for driver in ["e1000e", "virtio_net"] {
        let of_driver = interfaces.iter().find(|interface| interface["driver"] == driver);
        let interface = of_driver.unwrap_or_else(|| panic!("no {driver}: {interfaces:?}"));
        assert_eq!((&interface["device"], &interface["receive_queues"]), (&json!(true), &json!(1)));
        assert_ne!(interface["bypasses_hypervisor"], true, "{interface}");
    }
}
