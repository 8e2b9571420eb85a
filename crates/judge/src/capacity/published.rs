//! The table of published machine types. It is data (`machines.csv`), compiled in; its sources stand at its head.

use super::input::{Figure, Source};
use super::machine::Machine;
use serde::{Deserialize, Serialize};
use thiserror::Error;

const TABLE: &str = include_str!("machines.csv");
const SOURCE: &str = "AWS MSK sizing (agent-toolkit-for-aws d6ad2e4)";
const INSTANCE_SOURCE: &str = "AWS EC2 instance types";
const EXPRESS: &str = "express.";
const MB: f64 = 1e6;
const GIB: f64 = 1_073_741_824.0;

/// A table that cannot be read: a bug, because it is part of the program.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line} of the table of machines has {got:?}; expected {expected}")]
pub struct PublishedError {
    /// The line, from 1.
    pub line: usize,
    /// The content of the line.
    pub got: String,
    /// The expected content.
    pub expected: &'static str,
}

/// A machine type with the figures that are published of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedMachine {
    /// Its name, as its vendor has it.
    pub name: String,
    /// Its figures.
    pub machine: Machine,
}

/// Every machine type of the table.
///
/// # Errors
/// [`PublishedError`], which is a bug.
pub fn published() -> Result<Vec<PublishedMachine>, PublishedError> {
    let lines = TABLE.lines().enumerate().filter(|(_, line)| !line.starts_with('#')).skip(1);
    lines.map(|(index, line)| row(line, index + 1)).collect()
}

fn row(text: &str, line: usize) -> Result<PublishedMachine, PublishedError> {
    let error = |expected| PublishedError { line, got: text.to_owned(), expected };
    let fields: Vec<&str> = text.split(',').collect();
    let [name, numbers @ ..] = fields.as_slice() else { return Err(error("a name")) };
    let numbers: Result<Vec<Option<f64>>, _> = numbers
        .iter()
        .map(|field| if field.is_empty() { Ok(None) } else { field.parse().map(Some) })
        .collect();
    let numbers = numbers.map_err(|_| error("numbers after the name"))?;
    let [storage_network, nic, ingress, egress, vcpus, memory, storage, replicas, utilisation] = numbers[..]
    else {
        return Err(error("ten fields"));
    };
    let rate = |mb_s| figure(mb_s, MB, "MB/s", SOURCE);
    let express = name.starts_with(EXPRESS);
    let machine = Machine {
        name: Some((*name).to_owned()),
        hidden: express
            .then(|| "Express brokers hide their devices; the vendor's limits stand for them".to_owned()),
        storage_network_bytes_per_s: rate(storage_network),
        nic_bytes_per_s: rate(nic),
        ingress_bytes_per_s: rate(ingress),
        egress_bytes_per_s: rate(egress),
        cores: figure(vcpus, 1.0, "virtual CPUs", INSTANCE_SOURCE),
        memory_bytes: figure(memory, GIB, "GiB", INSTANCE_SOURCE),
        storage_bytes: figure(storage, GIB, "GiB", SOURCE),
        replicas: figure(replicas, 1.0, "replicas", SOURCE),
        planned_utilisation: figure(utilisation, 1.0, "of the limit", SOURCE),
        ..Machine::default()
    };
    Ok(PublishedMachine { name: (*name).to_owned(), machine })
}

fn figure(number: Option<f64>, scale: f64, unit: &str, source: &str) -> Option<Figure> {
    number.map(|number| Figure {
        value: number * scale,
        shown: format!("{number} {unit}"),
        source: Source::Published(source.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_reads_and_names_each_machine_once() {
        let machines = published().unwrap();
        let names: BTreeSet<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
        assert_eq!((machines.len(), names.len()), (22, 22));
        let large = &machines[0];
        assert_eq!(large.name, "m5.large");
        assert_eq!(large.machine.nic_bytes_per_s.as_ref().unwrap().value, 93.75e6);
        assert_eq!(large.machine.disk_bytes_per_s, None);
    }

    /// Mbit/s to EBS and Gbit/s of the network that AWS gives for the instance types.
    #[test]
    fn rates_are_those_of_the_bits_that_aws_publishes() {
        let machines = published().unwrap();
        for (name, storage_mbit_s, nic_gbit_s) in
            [("m5.8xlarge", 6_800.0, 10.0), ("m5.24xlarge", 8_000.0, 25.0), ("m7g.8xlarge", 8_000.0, 15.0)]
        {
            let machine = &machines.iter().find(|machine| machine.name == name).unwrap().machine;
            let value = |figure: &Option<Figure>| figure.as_ref().unwrap().value;
            assert_eq!(value(&machine.storage_network_bytes_per_s), storage_mbit_s * 1e6 / 8.0, "{name}");
            assert_eq!(value(&machine.nic_bytes_per_s), nic_gbit_s * 1e9 / 8.0, "{name}");
        }
    }

    #[test]
    fn a_line_that_is_damaged_is_named() {
        assert_eq!(row("m5.large,81", 7).unwrap_err().expected, "ten fields");
        assert_eq!(row("m5.large,x,,,,,,,,", 7).unwrap_err().expected, "numbers after the name");
    }
}
