//! Formatting the brokers' storage with Kafka's own tool.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fs_err as fs;

use super::configuration::BrokerPlan;
use super::error::{LabError, Result};
use super::identity::ProcessId;
use super::install::last_lines;
use super::launch::Launcher;
use super::options::LabOptions;
use super::security::write_private;

/// Formats the storage of all brokers at the same time. `java` runs the tool: program, class path and flags set.
///
/// SCRAM users are made here, so that they can log in from the first moment. Their passwords would be for all to see
/// in the list of processes, so the tool reads its arguments from a file that only the owner may read and that is
/// removed right after.
pub(super) fn format_storage(
    brokers: &[BrokerPlan],
    cluster_id: &str,
    options: &LabOptions,
    launcher: &Launcher,
    java: impl Fn() -> Command,
) -> Result<()> {
    let mut running = Vec::new();
    for broker in brokers {
        running.push((broker, start(broker, cluster_id, options, launcher, java())?));
    }
    let outcomes: Vec<_> =
        running.into_iter().map(|(broker, child)| finish(broker, child, options)).collect();
    outcomes.into_iter().collect()
}

fn start(
    broker: &BrokerPlan,
    cluster_id: &str,
    options: &LabOptions,
    launcher: &Launcher,
    mut java: Command,
) -> Result<Child> {
    let mut arguments = format!("format\n--cluster-id\n{cluster_id}\n--config\nserver.properties\n");
    for user in &options.sasl {
        let mechanism = user.mechanism.name();
        arguments += &format!("--add-scram\n{mechanism}=[name={},password={}]\n", user.name, user.password);
    }
    write_private(&arguments_file(&broker.directory), &arguments)?;
    let console = fs::File::create(broker.console())?.into_parts().0;
    java.args(["kafka.tools.StorageTool", "@format.args"])
        .current_dir(&broker.directory)
        .stdin(Stdio::null())
        .stdout(console.try_clone()?)
        .stderr(console);
    Ok(launcher.spawn(java)?)
}

fn finish(broker: &BrokerPlan, mut child: Child, options: &LabOptions) -> Result<()> {
    let process = ProcessId::read(child.id().cast_signed());
    while !process.is_none_or(|process| process.has_ended_within(Duration::from_millis(100))) {
        if options.check_interrupt().is_err() {
            child.kill()?;
        }
    }
    let status = child.wait()?;
    fs::remove_file(arguments_file(&broker.directory))?;
    options.check_interrupt()?;
    if status.success() {
        // It tells the users' salted credentials; a console that is kept must not.
        fs::remove_file(broker.console())?;
        return Ok(());
    }
    Err(LabError::Format { broker: broker.id, status, output: last_lines(&broker.console(), 10, |_| true) })
}

fn arguments_file(directory: &Path) -> std::path::PathBuf {
    directory.join("format.args")
}
