//! Client properties files: the winner's, for librdkafka and for Java.

use super::java::{self, Java, Role};
use super::settings::property;
use super::{Handed, InstallFile, comment};
use plumb_model::change::{Change, Owner};
use plumb_model::plan::{Driver, Properties};
use plumb_model::secret::REDACTED;

/// Settings that the two clients have by other defaults, so that Java's file says what the winner really had.
const DEFAULTS_DIFFER: [(Role, &str); 6] = [
    (Role::Producer, "acks"),
    (Role::Producer, "enable.idempotence"),
    (Role::Producer, "linger.ms"),
    (Role::Producer, "compression.type"),
    (Role::Consumer, "fetch.min.bytes"),
    (Role::Consumer, "fetch.wait.max.ms"),
];

/// True if a value weakens the guarantee that a producer has of a write. A file never takes of it what the client has by default:
/// both setups of an experiment may have done without, and yours may not.
fn promises_less(key: &str, value: &str) -> bool {
    match key {
        "acks" | "request.required.acks" => !["all", "-1"].contains(&value),
        "enable.idempotence" => value == "false",
        _ => false,
    }
}

/// A file for each client and role of which a setting differs.
pub(super) fn files(handed: &Handed, settings: &[Change]) -> Vec<InstallFile> {
    let mut files = Vec::new();
    for (owner, role) in [(Owner::Producer, Role::Producer), (Owner::Consumer, Role::Consumer)] {
        let of_role: Vec<&Change> = settings.iter().filter(|change| change.target.owner == owner).collect();
        if of_role.is_empty() {
            continue;
        }
        let word = role.word();
        files.push(InstallFile::plain(
            &format!("librdkafka/{word}.properties"),
            librdkafka(handed, role, &of_role),
        ));
        files.push(InstallFile::plain(&format!("java/{word}.properties"), for_java(handed, role, &of_role)));
    }
    files
}

fn asked<'d>(handed: &Handed<'d>, role: Role) -> (&'d Properties, &'d Properties) {
    let (plan, effective) = (handed.won.plan, &handed.won.result.effective);
    match role {
        Role::Producer => (&plan.producer, &effective.producer),
        Role::Consumer => (&plan.consumer, &effective.consumer),
    }
}

fn librdkafka(handed: &Handed, role: Role, differing: &[&Change]) -> String {
    let client = match handed.won.plan.driver {
        Driver::Librdkafka => "measured with librdkafka itself",
        Driver::Wire => {
            "measured with Plumb's wire driver, not with librdkafka: hold both against each other there before you rely on it"
        }
        Driver::External => {
            "measured with another client, under the names that it knows: not all of them may be librdkafka's"
        }
    };
    let mut text = comment(&format!(
        "Settings of the {} of \"{}\", for librdkafka; {client}.",
        role.word(),
        handed.winner.step
    ));
    for (key, value) in asked(handed, role).0 {
        text.push_str(&was(differing, key));
        text.push_str(&line(key, value));
    }
    text.push_str(&left_out(asked(handed, role).0, differing));
    text + &connection(handed)
}

fn for_java(handed: &Handed, role: Role, differing: &[&Change]) -> String {
    let mut text = comment(&format!(
        "Settings of the {} of \"{}\", for Kafka's Java client. Another client was measured: hold both settings against each \
         other there before you rely on it.",
        role.word(),
        handed.winner.step
    ));
    let (asked, read) = asked(handed, role);
    let mut all = asked.clone();
    for (of, key) in DEFAULTS_DIFFER {
        if of == role
            && property(&all, key).is_none()
            && let Some(value) = property(read, key)
        {
            all.insert(key.to_owned(), value.clone());
        }
    }
    for (key, value) in &all {
        text.push_str(&was(differing, key));
        match java::translate(role, key, value) {
            Java::Key(name, value) => text.push_str(&line(&name, &value)),
            Java::None(reason) => {
                text.push_str(&comment(&format!("{key}={value} has no counterpart: {reason}")))
            }
        }
    }
    text.push_str(&left_out(asked, differing));
    text + &connection(handed)
}

/// The former value of the setting, above the ones that differ.
fn was(differing: &[&Change], key: &str) -> String {
    let of_key = differing.iter().find(|change| change.target.key == key);
    of_key.map_or_else(String::new, |change| match &change.before {
        Some(was) => comment(&format!("was {was}:")),
        None => comment("was not set:"),
    })
}

/// Settings that the winner leaves at their default and the other does not.
fn left_out(asked: &Properties, differing: &[&Change]) -> String {
    let left = differing.iter().filter(|change| !asked.contains_key(&change.target.key));
    left.map(|change| {
        let (was, now) =
            (change.before.as_deref().unwrap_or("not set"), change.after.as_deref().unwrap_or("the default"));
        comment(&format!("{} was {was}: leave it out ({now})", change.target.key))
    })
    .collect()
}

fn line(key: &str, value: &str) -> String {
    if promises_less(key, value) {
        return comment(&format!(
            "{key}={value} was measured, in both setups, and promises less than the client does by default: it is not proposed."
        ));
    }
    match value {
        REDACTED => comment(&format!("{key}= (fill it in: Plumb keeps no secrets)")),
        // No escape of a properties file is one that every client reads.
        value if value.contains(['\n', '\r']) => comment(&format!("{key}= (its value has several lines)")),
        value => format!("{key}={}\n", value.replace('\\', "\\\\")),
    }
}

/// The connection settings, which are the reader's: no value of them is kept.
fn connection(handed: &Handed) -> String {
    let keys = &handed.document.environment.config_keys;
    if keys.is_empty() {
        return comment("How to connect (bootstrap.servers, security) is not in here.");
    }
    let mut text = comment(
        "How to connect was in your client properties file. Its values are kept nowhere; fill them in:",
    );
    for key in keys {
        text.push_str(&comment(&format!("{}=", key.key)));
    }
    text
}
