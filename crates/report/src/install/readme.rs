//! The page beside the files: what won, by how much, what to install and how to go back.

use super::{Handed, InstallFile};
use crate::trials;
use plumb_model::change::{Change, Owner};
use plumb_model::figure;
use plumb_model::winner::Winner;

/// The gain of a winner, in words: `an end-to-end mean ×0.512 that of "default" (×0.480 to ×0.550, 95 % confidence)`.
pub(crate) fn gain(winner: &Winner) -> String {
    let interval = match (winner.ratio_low, winner.ratio_high) {
        (Some(low), Some(high)) => format!(
            " ({} to {}, {} confidence)",
            figure::ratio(low),
            figure::ratio(high),
            figure::percent(winner.level)
        ),
        _ => String::new(),
    };
    format!(
        "{} {} that of \"{}\"{interval}",
        trials::metric(&winner.metric),
        figure::ratio(winner.ratio),
        winner.against
    )
}

pub(super) fn text(handed: &Handed, settings: &[Change], files: &[InstallFile]) -> String {
    let winner = handed.winner;
    let mut text = format!("# What to install: {:?}\n\n", winner.step);
    text.push_str(&format!(
        "Run {}, {}. \"{}\": {}.",
        handed.document.run.id,
        handed.document.run.started_at,
        winner.step,
        gain(winner)
    ));
    if settings.len() > 1 {
        text.push_str(" That is what all of these settings brought together; what each brings by itself was not measured.");
    }
    if !winner.also_better.is_empty() {
        text.push_str(&format!(
            " Better than \"{}\" as well, and not shown to be worse than this: {}.",
            winner.against,
            winner.also_better.join(", ")
        ));
    }
    text.push_str("\n\nIt was measured at one load on one path. Install it in one place first, and hold it against what you have there with `plumb trial run`.\n\n");
    text.push_str("| whose | setting | was | install |\n|---|---|---|---|\n");
    for change in settings {
        let cell = |value: &Option<String>, none: &str| {
            value.as_deref().unwrap_or(none).replace('|', "\\|").replace('\n', " ")
        };
        text.push_str(&format!(
            "| {} | `{}` | {} | {} |\n",
            change.target.owner.word(),
            change.target.key,
            cell(&change.before, "not set"),
            cell(&change.after, "leave it out")
        ));
    }
    text.push_str("\n## Files\n\n");
    for file in files {
        text.push_str(&format!("- `{}`: {}\n", file.path, purpose(&file.path)));
    }
    let other: Vec<&Change> = settings.iter().filter(|change| change.target.owner == Owner::Other).collect();
    if !other.is_empty() {
        text.push_str("\n## Not in any file\n\n");
        for change in other {
            text.push_str(&format!("- {}\n", by_hand(&change.target.key)));
        }
    }
    text
}

/// The purpose of a file, and the way back.
fn purpose(path: &str) -> &'static str {
    match path {
        "librdkafka/producer.properties" | "librdkafka/consumer.properties" => {
            "properties for clients on librdkafka; undo: the value above each line"
        }
        "java/producer.properties" | "java/consumer.properties" => {
            "the same for Kafka's Java client, by its names; undo: the value above each line"
        }
        "topic/apply.sh" => "`./apply.sh BOOTSTRAP TOPIC` sets the topic, and keeps what it had",
        "topic/undo.sh" => "`./undo.sh BOOTSTRAP TOPIC` gives the topic back what it had",
        "broker/server.properties" => {
            "lines for each broker's server.properties; undo: the value above each line"
        }
        "broker/environment.sh" => "what the broker's JVM is started with; undo: the value above each line",
        "log-directory/server.properties" => "the broker's `log.dirs`; undo: the value above it",
        path if path.starts_with("log-directory/prepare-") => {
            "makes such a directory from empty devices; without `--yes` it only says what it would do"
        }
        path if path.ends_with(".undo.conf") => "the values before",
        path if path.starts_with("host/99") => "kernel settings for /etc/sysctl.d/",
        path if path.starts_with("host/") => "kernel settings for /etc/tmpfiles.d/",
        _ => "what was seen, to be made by hand",
    }
}

fn by_hand(key: &str) -> &'static str {
    match key {
        "client" => "The two were driven by different clients: part of the difference is the client's own.",
        "partitions" => {
            "Partitions: `kafka-topics.sh --alter --partitions N` adds some, moves keys to other partitions, and cannot be undone."
        }
        "replication" => "Replication: `kafka-reassign-partitions.sh` changes it for a topic that is there.",
        _ => {
            "The winner had a command run before each of its blocks: what that changed is part of what won, and is in no file."
        }
    }
}
