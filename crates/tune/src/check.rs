//! This host against what an ingestion host needs: every tunable asked, with the counters of a window as evidence.

use crate::devices;
use crate::host::Host;
use crate::losses::{add_reasons, losses};
use crate::other_owners::other_owners;
use crate::placement::{self, placement};
use crate::tunables::{Context, Firmware, TUNABLES, unseen_firmware};
use crate::window::Window;
use plumb_model::check::{HostCheck, Role, SCHEMA_VERSION};
use plumb_model::fault::{HasFault, chain};
use plumb_observe::{CommandRunner, KernelTrace, find_brokers, host_facts, named_counters};
use std::time::Instant;

mod unseen;

const REASONS: &str = "the kernel's reasons of drops";

/// What a check is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What the host is for.
    pub role: Role,
    /// The processes that it is for; none: the brokers that are found.
    pub processes: Vec<u32>,
    /// The tunables to look at; none: all.
    pub only: Vec<String>,
    /// True if interrupts and the application are to share the processors.
    pub shared_cpus: bool,
    /// True if the kernel is to be traced for the reasons of drops (root).
    pub kernel: bool,
    /// What a management controller told of this host's firmware.
    pub firmware: Firmware,
}

/// Watches the host's counters until `wait` returns, then holds its settings against what the role needs.
pub fn check(host: &Host, commands: &dyn CommandRunner, asked: &Asked, wait: impl FnOnce()) -> HostCheck {
    let trace = asked.kernel.then(|| KernelTrace::attach(&[]));
    let (began, before) = (Instant::now(), named_counters(host.root()));
    wait();
    let after = named_counters(host.root());
    let window = Window::new(before, after, began.elapsed().as_secs_f64());
    let mut found = check_with(host, commands, asked, &window);
    match trace {
        None => {}
        Some(Ok(trace)) => {
            let kernel = trace.finish().host;
            add_reasons(&mut found.losses, &kernel.drops);
            let missing = kernel.missing.iter().filter_map(|missing| missing.strip_prefix("drops: "));
            found.unseen.extend(missing.map(|why| format!("{REASONS}: {why}")));
        }
        Some(Err(error)) => {
            let why = chain(&error).into_iter().chain(error.hint().map(Into::into));
            found.unseen.push(format!("{REASONS}: {}", why.collect::<Vec<String>>().join("; ")));
        }
    }
    found
}

/// The same, with a window that is there.
pub(crate) fn check_with(
    host: &Host,
    commands: &dyn CommandRunner,
    asked: &Asked,
    window: &Window,
) -> HostCheck {
    let facts = host_facts(host.root(), commands);
    let interfaces = devices::interfaces(host);
    let disks = devices::disks(host);
    let mut processes = asked.processes.clone();
    // Whoever names a process means that one, and not whatever broker else is here.
    if processes.is_empty() && host.root().is_host() && asked.role == Role::KafkaBroker {
        processes.extend(find_brokers(host.root()));
    }
    processes.sort_unstable();
    processes.dedup();
    let placement = placement(host, &interfaces, &processes, asked.shared_cpus);
    let context = Context {
        host,
        role: asked.role,
        window,
        facts: &facts,
        interfaces: &interfaces,
        disks: &disks,
        processes: &processes,
        placement: &placement,
        firmware: &asked.firmware,
    };
    let is_asked = |id: &str| asked.only.is_empty() || asked.only.iter().any(|only| only == id);
    let mut checks: Vec<_> =
        TUNABLES.iter().filter(|row| is_asked(row.id)).flat_map(|row| row.checks(&context)).collect();
    // Of one status the order of the registry stays, in which they are changed.
    checks.sort_by_key(|check| check.status);
    HostCheck {
        schema_version: SCHEMA_VERSION,
        plumb_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        window_s: window.seconds(),
        role: asked.role,
        label: None,
        losses: losses(window),
        also_changed_by: other_owners(host, &checks),
        checks,
        cpus: placement::map(host, &interfaces, &placement),
        unseen: [
            unseen::sources(host, window, &interfaces),
            unseen::foreign_interfaces(host).into_iter().collect(),
            unseen::networks(host, &processes),
            unseen_firmware(&asked.firmware),
        ]
        .concat(),
        host: facts,
    }
}

#[cfg(test)]
mod hosts;
