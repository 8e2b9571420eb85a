//! Broker properties and JVM flags, as lines for the files that start a broker.

use super::{InstallFile, comment, quoted};
use plumb_model::change::{Change, Owner};

pub(super) fn files(settings: &[Change]) -> Vec<InstallFile> {
    let mut files = Vec::new();
    let of = |owner: Owner| settings.iter().filter(move |change| change.target.owner == owner);
    if of(Owner::Broker).next().is_some() {
        let mut text = comment(
            "Add to each broker's server.properties, broker after broker, and restart it. Undo: the value named above each.",
        );
        for change in of(Owner::Broker) {
            text.push_str(&comment(&format!("was {}:", change.before.as_deref().unwrap_or("not set"))));
            match &change.after {
                Some(value) => {
                    text.push_str(&format!("{}={}\n", change.target.key, value.replace('\\', "\\\\")))
                }
                None => text.push_str(&comment(&format!("{}: leave it out", change.target.key))),
            }
        }
        files.push(InstallFile::plain("broker/server.properties", text));
    }
    if of(Owner::Jvm).next().is_some() {
        let mut text = comment(
            "Source this before kafka-server-start.sh, or set it in the broker's unit. Undo: the value named above each.",
        );
        for change in of(Owner::Jvm) {
            text.push_str(&comment(&format!("was {}:", change.before.as_deref().unwrap_or("none"))));
            text.push_str(&match (change.target.key.as_str(), &change.after) {
                ("heap", Some(heap)) => {
                    format!("export KAFKA_HEAP_OPTS={}\n", quoted(&format!("-Xms{heap} -Xmx{heap}")))
                }
                (_, Some(flags)) => format!("export KAFKA_OPTS=\"${{KAFKA_OPTS:-}} \"{}\n", quoted(flags)),
                (_, None) => comment("start the brokers without them"),
            });
        }
        files.push(InstallFile::plain("broker/environment.sh", text));
    }
    files
}
