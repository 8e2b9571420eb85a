//! Changes of brokers and topics as commands of Kafka's own tool, with the way back.

use super::InstallFile;
use super::setting::{Kind, LeftOut, Written};
use crate::install::{comment, quoted};

/// The value of a key that was never set.
const DEFAULT: &str = "(default)";

const HEAD: &str = r#"set -eu
undo=no
[ "${2:-}" != undo ] || undo=yes
[ $# -eq 1 ] || { [ $# -eq 2 ] && [ "$undo" = yes ]; } || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
bootstrap=$1
configs() {
    kafka-configs.sh --bootstrap-server "$bootstrap" ${COMMAND_CONFIG:+--command-config "$COMMAND_CONFIG"} --alter "$@"
}
give() { configs --entity-type "$1" --entity-name "$2" --add-config "$3=[$4]"; }
take() { configs --entity-type "$1" --entity-name "$2" --delete-config "$3"; }
"#;

/// What is set, and what has it as it was, each in its order.
pub(super) struct Settings<'a> {
    pub(super) apply: &'a [Written],
    pub(super) undo: &'a [Written],
}

pub(super) fn files(settings: &Settings<'_>, left_out: &mut Vec<LeftOut>) -> Vec<InstallFile> {
    let (apply, undo) = (lines(settings.apply, left_out), lines(settings.undo, left_out));
    if apply.is_empty() {
        return Vec::new();
    }
    let text = format!(
        "#!/bin/sh\n{}{HEAD}if [ \"$undo\" = yes ]; then\n{}    exit 0\nfi\n{}",
        comment(
            "Usage: [COMMAND_CONFIG=client.properties] ./configs.sh BOOTSTRAP [undo]\nSets brokers and topics as planned or proven, or as they were before."
        ),
        undo.iter().map(|line| format!("    {line}\n")).collect::<String>(),
        apply.iter().map(|line| format!("{line}\n")).collect::<String>(),
    );
    vec![InstallFile::script("kafka/configs.sh", text)]
}

fn lines(all: &[Written], left_out: &mut Vec<LeftOut>) -> Vec<String> {
    let mut lines = Vec::new();
    for written in all {
        let (kind, which, key) = match &written.kind {
            Kind::Broker { id, key } => ("brokers", id.to_string(), key),
            Kind::Topic { name, key } => ("topics", name.clone(), key),
            _ => continue,
        };
        let (which, key) = (quoted(&which), quoted(key));
        match written.value.as_str() {
            DEFAULT => lines.push(format!("take {kind} {which} {key}")),
            // kafka-configs ends a value with commas at the bracket.
            value if value.contains(['[', ']']) => {
                left_out
                    .push(LeftOut::new(&written.name, "kafka-configs cannot be given a value with brackets"));
            }
            value => lines.push(format!("give {kind} {which} {key} {}", quoted(value))),
        }
    }
    lines
}
