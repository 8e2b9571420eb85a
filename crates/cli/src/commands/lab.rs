//! `plumb lab`: real brokers that stay until they are taken down.

mod sink;

use super::End;
use crate::args::{InterBrokerWord, LabCommand, LabUpArgs, OutputFormat, SaslMechanism};
use crate::errors::UsageError;
use crate::{printer, stop};
use anyhow::Result;
use plumb_lab::kafka::{LabOptions, LabStatus, Labs, ScramUser, Tls};
use plumb_model::plan::{InterBroker, heap_mib};

pub(super) fn lab(command: &LabCommand) -> Result<End> {
    let labs = Labs::of_user()?;
    match command {
        LabCommand::Up(arguments) => {
            let status = labs.up(&options(arguments)?)?;
            show(&[status], arguments.output, |_| "a lab is up")
        }
        LabCommand::Status(arguments) => show(&labs.status()?, arguments.output, state),
        LabCommand::Down(arguments) => {
            let mut labs = labs.down(&arguments.names)?;
            labs.iter_mut().flat_map(|lab| &mut lab.brokers).for_each(|broker| broker.alive = false);
            show(&labs, arguments.output, |_| "taken down")
        }
        LabCommand::Sink(arguments) => sink::sink(arguments),
    }
}

fn options(arguments: &LabUpArgs) -> Result<LabOptions> {
    let broker_properties: Result<Vec<_>, UsageError> = arguments
        .broker_property
        .iter()
        .map(|property| match property.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(UsageError::new(
                format!("--broker-property {property:?} has no value"),
                "write KEY=VALUE",
            )),
        })
        .collect();
    let sasl = match arguments.sasl {
        None => Vec::new(),
        Some(SaslMechanism::Scram) => vec![ScramUser::with_random_password("plumb")],
    };
    Ok(LabOptions {
        brokers: arguments.brokers,
        tls: if arguments.tls { Tls::Server } else { Tls::Off },
        inter_broker: match arguments.inter_broker {
            InterBrokerWord::Plaintext => InterBroker::Plaintext,
            InterBrokerWord::Tls => InterBroker::Tls,
        },
        sasl,
        log_dirs: arguments.log_dir.clone(),
        broker_properties: broker_properties?,
        jvm_flags: arguments.jvm_flag.clone(),
        heap_mib: heap_mib(&arguments.heap)?,
        kafka_home: arguments.kafka_home.clone(),
        interrupt: stop::flag()?,
        ..LabOptions::default()
    })
}

/// The state of a lab in a word. One whose brokers ended by themselves still has its data.
fn state(lab: &LabStatus) -> &'static str {
    match lab.brokers.iter().filter(|broker| broker.alive).count() {
        0 => "ended, its data is still there (plumb lab down removes it)",
        alive if alive < lab.brokers.len() => "running in part",
        _ => "running",
    }
}

fn show(labs: &[LabStatus], format: OutputFormat, title: fn(&LabStatus) -> &'static str) -> Result<End> {
    if format == OutputFormat::Json {
        printer::out(&format!("{}\n", serde_json::to_string_pretty(labs)?));
        return Ok(End::Done);
    }
    if labs.is_empty() {
        printer::out("no labs\n");
        return Ok(End::Done);
    }
    for lab in labs {
        let (title, version) = (title(lab), &lab.kafka_version);
        printer::out(&format!("{title}: Apache Kafka {version}, started {} s ago\n", lab.uptime_s));
        printer::out(&format!("  name        {}\n", lab.id));
        printer::out(&format!("  bootstrap   {}\n", lab.bootstrap));
        if lab.client_properties.iter().any(|(key, _)| key.starts_with("ssl.") || key.starts_with("sasl.")) {
            printer::out(&format!("  config      {}\n", lab.client_properties_file.display()));
        }
        printer::out(&format!("  directory   {}\n", lab.directory.display()));
        for broker in &lab.brokers {
            let state = if broker.alive { "alive" } else { "ended" };
            printer::out(&format!(
                "  broker {}    pid {}, {state}, log {}\n",
                broker.id,
                broker.pid,
                broker.log.display()
            ));
        }
    }
    Ok(End::Done)
}
