//! The known figures of the machine: the table, then a run over it, then the flags over both.

use super::LIST;
use crate::args::size::{Quantity, SizeArgs, SizeOutput};
use crate::errors::UsageError;
use crate::printer;
use anyhow::Result;
use plumb_judge::capacity::{CpuCost, Figure, Machine, Measured, PublishedMachine, from_run, published};
use plumb_model::finding::ValidityVerdict;
use plumb_report::sheet::{self, Column, Section, Sheet};

/// The known figures of the machine.
pub(super) struct Known {
    pub(super) machine: Machine,
    /// Cautions about the source of the figures, each as a sentence.
    pub(super) cautions: Vec<String>,
    /// The run's, where one is used.
    pub(super) verdict: Option<ValidityVerdict>,
}

pub(super) fn known(arguments: &SizeArgs) -> Result<Known> {
    let mut machine = match &arguments.machine {
        Some(name) => of_table(name)?,
        None => Machine::default(),
    };
    let mut cautions = Vec::new();
    let mut verdict = None;
    if let Some(path) = &arguments.from {
        let document = plumb_session::run_dir::read_document(path)?;
        let measured = from_run(&document, arguments.step.as_deref()).map_err(|error| {
            UsageError::new(error.to_string(), "--step NAME takes another of the run's steps")
        })?;
        lay_over(&mut machine, &measured, arguments.machine.is_some());
        cautions = measured.cautions;
        verdict = Some(measured.verdict);
    }
    say(&mut machine, arguments);
    Ok(Known { machine, cautions, verdict })
}

fn of_table(name: &str) -> Result<Machine> {
    let machines = published()?;
    // MSK calls an m5.large kafka.m5.large.
    let plain = name.strip_prefix("kafka.").unwrap_or(name);
    let Some(found) = machines.iter().find(|machine| machine.name == plain) else {
        let names: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
        let message = format!("there is no machine {name:?} in the table");
        let hint = format!("one of: {}; `--machine {LIST}` shows their figures", names.join(", "));
        return Err(UsageError::new(message, hint).into());
    };
    Ok(found.machine.clone())
}

/// A run's load and CPU cost. Its host's cores and memory only where no machine was named: the target's machine is then another.
fn lay_over(machine: &mut Machine, measured: &Measured, named: bool) {
    let run = &measured.machine;
    machine.proven_ingress_bytes_per_s.clone_from(&run.proven_ingress_bytes_per_s);
    machine.proven_replication = run.proven_replication;
    machine.cpu.clone_from(&run.cpu);
    if !named {
        machine.cores.clone_from(&run.cores);
        machine.memory_bytes.clone_from(&run.memory_bytes);
    }
}

/// The flags' figures.
fn say(machine: &mut Machine, arguments: &SizeArgs) {
    let quantities = [
        (&mut machine.disk_bytes_per_s, &arguments.disk, "--disk"),
        (&mut machine.storage_network_bytes_per_s, &arguments.storage_network, "--storage-network"),
        (&mut machine.nic_bytes_per_s, &arguments.nic, "--nic"),
        (&mut machine.ingress_bytes_per_s, &arguments.ingress, "--ingress"),
        (&mut machine.egress_bytes_per_s, &arguments.egress, "--egress"),
        (&mut machine.fsync_s, &arguments.fsync, "--fsync"),
        (&mut machine.aes_bytes_per_s_per_core, &arguments.aes, "--aes"),
        (&mut machine.memory_bytes, &arguments.memory, "--memory"),
        (&mut machine.memory_per_replica_bytes, &arguments.memory_per_replica, "--memory-per-replica"),
        (&mut machine.memory_bandwidth_bytes_per_s, &arguments.memory_bandwidth, "--memory-bandwidth"),
        (&mut machine.storage_bytes, &arguments.storage, "--storage"),
        (&mut machine.service_time_s, &arguments.service_time, "--service-time"),
        (&mut machine.append_time_s, &arguments.append_time, "--append-time"),
        (&mut machine.fetch_round_trip_s, &arguments.fetch_round_trip, "--fetch-round-trip"),
    ];
    for (figure, given, flag) in quantities {
        if let Some(Quantity { value, text }) = given {
            *figure = Some(Figure::given(*value, text, flag));
        }
    }
    let numbers = [
        (&mut machine.cores, arguments.cores, "--cores"),
        (&mut machine.replicas, arguments.replicas, "--replicas"),
        (&mut machine.planned_utilisation, arguments.utilisation, "--utilisation"),
    ];
    for (figure, given, flag) in numbers {
        if let Some(value) = given {
            *figure = Some(Figure::given(value, &value.to_string(), flag));
        }
    }
    if let Some(value) = arguments.cpu_per_gb {
        let target = super::target::target(arguments);
        let s_per_gb = Figure::given(value, &format!("{value} CPU seconds per GB"), "--cpu-per-gb");
        // Who gives it knows it for the load that is asked about.
        let tls = target.tls != plumb_judge::capacity::Tls::Off;
        machine.cpu = Some(CpuCost { s_per_gb, replication: target.replication, groups: target.groups, tls });
    }
}

/// The table, to be looked at.
pub(super) fn list(output: SizeOutput) -> Result<String> {
    let machines = published()?;
    if output == SizeOutput::Json {
        return Ok(format!("{}\n", serde_json::to_string_pretty(&machines)?));
    }
    let columns = vec![
        Column::text("machine"),
        Column::number("storage net"),
        Column::number("NIC"),
        Column::number("in"),
        Column::number("out"),
        Column::number("vCPUs"),
        Column::number("memory"),
        Column::number("storage"),
        Column::number("replicas"),
        Column::number("used"),
    ];
    let sheet = Sheet {
        title: "Published machine types".to_owned(),
        sections: vec![
            Section::table(
                "Figures",
                "rates in MB/s (10^6 bytes), sizes in GiB; used: the share of a limit that the vendor plans with",
                columns,
                machines.iter().map(row).collect(),
            ),
            Section::sentences(
                "Sources",
                "",
                vec![
                    "AWS MSK sizing script, aws/agent-toolkit-for-aws commit d6ad2e4; virtual CPUs and memory: AWS EC2 \
                     instance types."
                        .to_owned(),
                    "Express egress is 2 x ingress, which gives the 125 MB/s that AWS's guide prints for the 2xlarge; the script \
                     of the same source has 2.5."
                        .to_owned(),
                    "A default gp2 or gp3 volume on MSK stops at 250 MiB/s, whatever the machine's storage network takes: \
                     give --disk."
                        .to_owned(),
                ],
            ),
        ],
        ..Sheet::default()
    };
    Ok(sheet::text::render(&sheet, printer::style()))
}

fn row(published: &PublishedMachine) -> Vec<String> {
    let machine = &published.machine;
    let number = |figure: &Option<Figure>| {
        let shown = figure.as_ref().and_then(|figure| figure.shown.split(' ').next());
        shown.unwrap_or(plumb_model::figure::ABSENT).to_owned()
    };
    let mut cells = vec![published.name.clone()];
    cells.extend(
        [
            &machine.storage_network_bytes_per_s,
            &machine.nic_bytes_per_s,
            &machine.ingress_bytes_per_s,
            &machine.egress_bytes_per_s,
            &machine.cores,
            &machine.memory_bytes,
            &machine.storage_bytes,
            &machine.replicas,
            &machine.planned_utilisation,
        ]
        .map(number),
    );
    cells
}
