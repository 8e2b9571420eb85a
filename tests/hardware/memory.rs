//! Persistent memory, with the file system that maps it directly and without, and one that only looks like it.

use super::guest::Guest;
use super::{commit, details, kinds, target, warnings};
use serde_json::Value;

const PROBE: &str =
    "--method map_sync,msync,fdatasync --overwrite --committers 1 --duration 300ms --rounds 3 --no-streams";

fn layer(target: &Value, index: usize) -> &Value {
    &target["storage"]["layers"][index]["layer"]
}

#[test]
#[ignore = "needs a virtual machine: make test-hardware"]
fn persistent_memory_is_named_by_its_namespace_and_map_sync_is_there_with_dax_only() {
    let guest = Guest::new()
        .with_slots_for_memory()
        .memory("nv", 256)
        .device(&["-device", "nvdimm,memdev=nv"])
        .memory("shared", 128)
        .device(&["-device", "virtio-pmem-pci,memdev=shared"]);
    let scene = guest.run(&format!(
        "modprobe -a nfit nd_pmem dax_pmem virtio_pmem
         until_there ls /sys/bus/nd/devices/namespace0.0
         ndctl create-namespace -f -e namespace0.0 -m fsdax --map=mem
         make_ext4 /dev/pmem0
         mounted dax /dev/pmem0 -o dax
         plumb dax probe storage /mnt/dax {PROBE}
         umount /mnt/dax
         mounted plain /dev/pmem0
         plumb plain probe storage /mnt/plain {PROBE}
         umount /mnt/plain
         until_there ls /dev/pmem1
         make_ext4 /dev/pmem1
         mounted shared /dev/pmem1 -o dax
         plumb shared probe storage /mnt/shared {PROBE}
         ndctl create-namespace -f -e namespace0.0 -m sector
         make_ext4 /dev/pmem0s
         mounted sector /dev/pmem0s
         plumb facts probe facts
         plumb sector probe storage /mnt/sector {PROBE}"
    ));
    let document = |name: &str| scene.json(&format!("{name}.json"));
    let (dax, plain, shared, sector) =
        (document("dax"), document("plain"), document("shared"), document("sector"));

    let of = target(&dax, "/mnt/dax");
    assert_eq!(kinds(of), ["file_system", "persistent_memory"], "{}", details(of));
    assert_eq!(layer(of, 0)["dax"], true, "{}", details(of));
    let memory = &layer(of, 1)["persistent_memory"];
    assert_eq!((&memory["mode"], &memory["namespace"]), (&"fsdax".into(), &"namespace0.0".into()));
    assert_eq!((&memory["provider"], &memory["region"]), (&"ACPI.NFIT".into(), &"region0".into()));
    assert_eq!(memory["persistence_domain"], "cpu_cache");
    let map_sync = commit(of, "map_sync");
    assert!(map_sync["rate_per_s"].is_f64() && map_sync["durable"] == true, "{map_sync}");
    // No call at all against one that walks the file's pages: on any processor.
    let rate = |method: &str| commit(of, method)["rate_per_s"].as_f64().unwrap();
    assert!(rate("map_sync") > rate("msync"), "{} and {}", rate("map_sync"), rate("msync"));

    let of = target(&plain, "/mnt/plain");
    assert_eq!(layer(of, 0)["dax"], false, "{}", details(of));
    for (document, path) in [(&plain, "/mnt/plain"), (&shared, "/mnt/shared"), (&sector, "/mnt/sector")] {
        let map_sync = commit(target(document, path), "map_sync");
        assert_eq!((&map_sync["rate_per_s"], &map_sync["durable"]), (&Value::Null, &Value::Null), "{path}");
        assert!(map_sync["unavailable"].as_str().unwrap().contains("MAP_SYNC"), "{path}: {map_sync}");
        let fdatasync = commit(target(document, path), "fdatasync");
        assert_eq!((&fdatasync["durable"], warnings(fdatasync)), (&true.into(), vec![]), "{path}");
    }

    // Memory of another host's file, which a flush has to reach.
    let of = target(&shared, "/mnt/shared");
    assert_eq!(layer(of, 0)["dax"], true, "{}", details(of));
    assert_eq!(layer(of, 1)["persistent_memory"]["provider"], "virtio-pmem", "{}", details(of));

    let of = target(&sector, "/mnt/sector");
    assert_eq!(layer(of, 1)["name"], "pmem0s");
    assert_eq!(layer(of, 1)["persistent_memory"]["mode"], "sector", "{}", details(of));

    let facts = &document("facts")["host"]["persistent_memory"]["value"];
    assert_eq!(facts["modules"], 1, "{facts}");
    let providers: Vec<&Value> =
        facts["regions"].as_array().unwrap().iter().map(|region| &region["provider"]).collect();
    assert_eq!(providers, ["ACPI.NFIT", "virtio-pmem"], "{facts}");
    let namespaces = facts["namespaces"].as_array().unwrap();
    let sector = namespaces.iter().find(|namespace| namespace["name"] == "namespace0.0").unwrap();
    assert_eq!(sector["mode"], "sector", "{facts}");
}
