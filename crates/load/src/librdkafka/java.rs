//! Reads a client `.properties` file written for the Java client or for librdkafka, and says what became of each key.
//!
//! The format is Java's: `key=value`, `key: value` or `key value`, `#` and `!` comments, `\` at the end of a line
//! continues it, `\uXXXX` escapes. Java-only keys without meaning here are named, not dropped silently; those that would
//! change what is measured, or that cannot work, are errors.

use plumb_model::document::{ConfigKeyFate, KeyFate};
use plumb_model::plan::Properties;
use thiserror::Error;

/// The librdkafka properties that a properties file comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientConfig {
    /// The properties for librdkafka.
    pub properties: Properties,
    /// The fate of each key, in the file's order.
    pub fates: Vec<ConfigKeyFate>,
}

/// A properties file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}:{line}: {key}: {reason}")]
pub struct ConfigError {
    /// As the user named it.
    pub path: String,
    /// 1-based.
    pub line: u32,
    /// The key.
    pub key: String,
    /// The fault, and the way to mend it.
    pub reason: String,
}

/// One key of properties text with its value and place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// 1-based.
    pub line: u32,
    /// Without escapes.
    pub key: String,
    /// Without escapes.
    pub value: String,
    /// False of a line that is a key alone, which has an empty value by Java's rules.
    pub has_value: bool,
}

/// Keys of the Java client that can be left out, each with the reason; for files, flags and other tools' files alike.
const WITHOUT_MEANING: &[(&str, &str)] = &[
    ("key.serializer", "records are made by Plumb"),
    ("value.serializer", "records are made by Plumb"),
    ("key.deserializer", "records are read by Plumb"),
    ("value.deserializer", "records are read by Plumb"),
    ("metric.reporters", "Plumb reads the client's statistics itself"),
    ("metrics.recording.level", "Plumb reads the client's statistics itself"),
    ("metrics.num.samples", "Plumb reads the client's statistics itself"),
    ("metrics.sample.window.ms", "Plumb reads the client's statistics itself"),
    ("auto.include.jmx.reporter", "there is no JMX here"),
    ("interceptor.classes", "there are no interceptors"),
    ("client.dns.lookup", "the library uses all addresses of a name"),
    ("ssl.protocol", "the library negotiates the version"),
    ("ssl.enabled.protocols", "the library negotiates the version"),
    ("socket.connection.setup.timeout.max.ms", "the library's time-out for a connection does not grow"),
    ("max.block.ms", "a send waits for room as long as it takes; the wait is in the latency"),
    ("max.poll.records", "the library hands records over one by one"),
    ("default.api.timeout.ms", "each call of the library has its own time-out"),
    ("exclude.internal.topics", "consumers subscribe to one topic by its name"),
    ("group.id", "each run uses a group of its own and deletes it"),
];

/// The reason why a key of the Java client can be left out here, if it can.
pub fn without_meaning(key: &str) -> Option<&'static str> {
    WITHOUT_MEANING.iter().find(|(known, _)| *known == key).map(|(_, reason)| *reason)
}

const NO_TRUST_STORE: &str =
    "a Java key store cannot be read here; export its certificates as PEM and set ssl.ca.location";
const NO_KEY_STORE: &str =
    "a Java key store cannot be read here; convert it to PKCS#12 (keytool -importkeystore)";

/// Reads a properties file. `path` is for messages only.
pub fn read(path: &str, content: &str) -> Result<ClientConfig, ConfigError> {
    let mut config = ClientConfig::default();
    for entry in entries(content) {
        let fate = place(&entry, &mut config.properties).map_err(|reason| ConfigError {
            path: path.to_owned(),
            line: entry.line,
            key: entry.key.clone(),
            reason,
        })?;
        config.fates.push(ConfigKeyFate { key: entry.key, line: entry.line, fate });
    }
    Ok(config)
}

/// Puts one entry where it belongs.
fn place(entry: &Entry, properties: &mut Properties) -> Result<KeyFate, String> {
    let (key, value) = (entry.key.as_str(), entry.value.as_str());
    if let Some(reason) = without_meaning(key) {
        return Ok(KeyFate::JavaOnly { reason: reason.to_owned() });
    }
    match key {
        "bootstrap.servers" => Err("give the brokers by --bootstrap or cluster.bootstrap".to_owned()),
        "sasl.jaas.config" => {
            let (user, password) = jaas_login(value).ok_or(
                "only PlainLoginModule and ScramLoginModule with username and password can be translated",
            )?;
            properties.insert("sasl.username".to_owned(), user);
            properties.insert("sasl.password".to_owned(), password);
            Ok(KeyFate::Translated { to: vec!["sasl.username".to_owned(), "sasl.password".to_owned()] })
        }
        "ssl.truststore.type" if !value.eq_ignore_ascii_case("PEM") => Err(NO_TRUST_STORE.to_owned()),
        "ssl.keystore.type" if value.eq_ignore_ascii_case("JKS") => Err(NO_KEY_STORE.to_owned()),
        "ssl.truststore.type" | "ssl.keystore.type" => {
            Ok(KeyFate::JavaOnly { reason: "the type is seen from the file".to_owned() })
        }
        "ssl.truststore.location" if is_java_keystore(value) => Err(NO_TRUST_STORE.to_owned()),
        "ssl.truststore.location" => {
            properties.insert("ssl.ca.location".to_owned(), value.to_owned());
            Ok(KeyFate::Translated { to: vec!["ssl.ca.location".to_owned()] })
        }
        "ssl.truststore.certificates" => {
            properties.insert("ssl.ca.pem".to_owned(), value.to_owned());
            Ok(KeyFate::Translated { to: vec!["ssl.ca.pem".to_owned()] })
        }
        "ssl.truststore.password" => {
            Ok(KeyFate::JavaOnly { reason: "PEM trust stores have none".to_owned() })
        }
        "ssl.keystore.location" if is_java_keystore(value) => Err(NO_KEY_STORE.to_owned()),
        "linger.ms"
        | "batch.size"
        | "acks"
        | "compression.type"
        | "max.in.flight.requests.per.connection" => {
            Err("it belongs to a setup, where the report can show it: move it to setups[].producer or use -X"
                .to_owned())
        }
        _ => {
            properties.insert(key.to_owned(), value.to_owned());
            Ok(KeyFate::Passed)
        }
    }
}

fn is_java_keystore(path: &str) -> bool {
    path.ends_with(".jks") || path.ends_with(".keystore") || path.ends_with(".truststore")
}

/// User and password of a JAAS line.
fn jaas_login(value: &str) -> Option<(String, String)> {
    if !value.contains("PlainLoginModule") && !value.contains("ScramLoginModule") {
        return None;
    }
    let option = |name: &str| -> Option<String> {
        let start = value.find(&format!("{name}="))? + name.len() + 1;
        let rest = value[start..].trim_start();
        match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().map(str::to_owned),
            None => rest.split([' ', ';']).next().map(str::to_owned),
        }
    };
    Some((option("username")?, option("password")?))
}

/// The entries of properties text by Java's rules, as they stand there: nothing is translated or judged.
pub fn entries(content: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut lines = content.lines().enumerate();
    while let Some((index, first)) = lines.next() {
        let mut text = first.trim_start().to_owned();
        if text.is_empty() || text.starts_with(['#', '!']) {
            continue;
        }
        while continues(&text) {
            text.pop();
            match lines.next() {
                Some((_, next)) => text.push_str(next.trim_start()),
                None => break,
            }
        }
        let (key, value) = split(&text);
        let line = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let has_value = text.trim_end().len() > key.len();
        entries.push(Entry { line, key: unescape(key), value: unescape(value), has_value });
    }
    entries
}

/// True if a line ends with an odd number of backslashes.
fn continues(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Key and value: the key ends at the first unescaped `=`, `:` or white space.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line
        .char_indices()
        .find(|(_, c)| {
            let ends = !escaped && (*c == '=' || *c == ':' || c.is_whitespace());
            escaped = !escaped && *c == '\\';
            ends
        })
        .map_or(line.len(), |(at, _)| at);
    let rest = line[end..].trim_start();
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (&line[..end], rest.trim_start())
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let digits: String = chars.clone().take(4).collect();
                match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                    Some(decoded) if digits.len() == 4 => {
                        out.push(decoded);
                        chars.nth(3);
                    }
                    _ => out.push('u'),
                }
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn javas_rules_for_separators_continuations_and_escapes_hold() {
        let content = "# comment\n! too\nsecurity.protocol = SASL_SSL\nclient.id:plumb\\u0041\nsocket.timeout.ms 5000\n\
                       sasl.oauthbearer.scope=a \\\n   b\nempty\npath=c\\\\d\n";
        let found: Vec<(u32, String, String)> =
            entries(content).into_iter().map(|entry| (entry.line, entry.key, entry.value)).collect();
        let expected = [
            (3, "security.protocol", "SASL_SSL"),
            (4, "client.id", "plumbA"),
            (5, "socket.timeout.ms", "5000"),
            (6, "sasl.oauthbearer.scope", "a b"),
            (8, "empty", ""),
            (9, "path", "c\\d"),
        ];
        assert_eq!(found, expected.map(|(line, key, value)| (line, key.to_owned(), value.to_owned())));
        let has_value = |line: &str| entries(line)[0].has_value;
        assert!(!has_value("alone") && !has_value("alone  ") && has_value("empty=") && has_value("spaced 1"));
    }

    #[test]
    fn a_jaas_line_becomes_user_and_password() {
        let content = "sasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config=org.apache.kafka.common.security.scram.\
                       ScramLoginModule required username=\"ann\" password=\"p;w d\";\n";
        let config = read("c.properties", content).unwrap();
        assert_eq!(config.properties["sasl.username"], "ann");
        assert_eq!(config.properties["sasl.password"], "p;w d");
        assert!(matches!(config.fates[1].fate, KeyFate::Translated { .. }));
    }

    #[test]
    fn java_only_keys_are_named_and_java_key_stores_refused() {
        let content = "key.serializer=x.Y\nmax.block.ms=60000\nsocket.connection.setup.timeout.max.ms=9\n";
        let config = read("c.properties", content).unwrap();
        assert!(config.properties.is_empty(), "{:?}", config.properties);
        assert_eq!(config.fates.len(), 3);
        assert!(config.fates.iter().all(|fate| matches!(fate.fate, KeyFate::JavaOnly { .. })));
        let error = read("c.properties", "\nssl.truststore.location=/etc/kafka/trust.jks\n").unwrap_err();
        assert!(error.to_string().starts_with("c.properties:2: ssl.truststore.location: a Java key store"));
        let error =
            read("c.properties", "ssl.truststore.type=JKS\nssl.truststore.location=/t\n").unwrap_err();
        assert!(error.to_string().starts_with("c.properties:1: ssl.truststore.type: a Java key store"));
        assert!(read("c.properties", "ssl.truststore.type=PEM\nssl.keystore.type=PKCS12\n").is_ok());
    }

    #[test]
    fn a_setting_under_test_does_not_hide_in_the_connection_file() {
        assert!(read("c", "linger.ms=100\n").unwrap_err().reason.contains("belongs to a setup"));
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(content in ".*") {
            let _ = read("c", &content);
        }
    }
}
