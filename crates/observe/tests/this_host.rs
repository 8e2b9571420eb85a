//! The host on which the tests run: whatever it is, it must be readable without privileges.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, in its helpers too")]

use std::net::{IpAddr, UdpSocket};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use plumb_model::facts::ThreadUsage;
use plumb_observe::{
    HostRoot, SystemCommands, host_delta, host_facts, is_local_address, process_usage, sample_host,
    sample_threads,
};

#[test]
fn this_host_has_a_kernel_processors_and_memory() {
    let facts = host_facts(&HostRoot::default(), &SystemCommands::default());
    assert!(facts.kernel_release.value().is_some(), "{facts:?}");
    assert!(facts.logical_cpus.value().is_some_and(|cpus| *cpus > 0), "{facts:?}");
    let total = *facts.memory_total_bytes.value().unwrap();
    assert!(facts.memory_available_bytes.value().is_some_and(|bytes| *bytes <= total), "{facts:?}");
}

#[test]
fn counters_of_this_host_go_forward() {
    let root = HostRoot::default();
    let before = sample_host(&root).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let delta = host_delta(&before, &sample_host(&root).unwrap());
        assert!(!delta.each_cpu.is_empty());
        if delta.cpu.busy_ns > Some(0) && delta.context_switches > Some(0) {
            return;
        }
        assert!(Instant::now() < deadline, "no work seen in {} ns: {delta:?}", delta.elapsed_ns);
    }
}

#[test]
fn a_busy_thread_is_seen_by_its_name() {
    let root = HostRoot::default();
    let before = sample_threads(&root, process::id()).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let spin = || {
            while !done.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        };
        thread::Builder::new().name("plumb-spins".to_owned()).spawn_scoped(scope, spin).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let spent_ns = |usage: &ThreadUsage| usage.user_ns.unwrap_or(0) + usage.system_ns.unwrap_or(0);
        let seen = loop {
            let usage = process_usage(&before, &sample_threads(&root, process::id()).unwrap());
            let spinner = usage.threads.iter().find(|usage| usage.name == "plumb-spins");
            if spinner.is_some_and(|spinner| spent_ns(spinner) > 0) || Instant::now() > deadline {
                break spinner.cloned();
            }
        };
        done.store(true, Ordering::Relaxed);
        assert!(seen.as_ref().is_some_and(|usage| spent_ns(usage) > 0), "{seen:?}");
    });
}

#[test]
fn an_address_that_can_be_bound_is_local_and_one_that_cannot_is_not() {
    let root = HostRoot::default();
    for address in ["127.0.0.1", "192.0.2.77", "198.51.100.1"] {
        let address: IpAddr = address.parse().unwrap();
        let bindable = UdpSocket::bind((address, 0)).is_ok();
        assert_eq!(is_local_address(&root, address).unwrap(), bindable, "{address}");
    }
}
