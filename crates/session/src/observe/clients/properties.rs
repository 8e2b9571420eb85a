//! What an application's clients are set to, from its own properties files: librdkafka's statistics tell no setting.

use plumb_load::librdkafka::java::entries;
use plumb_model::observed::{ClientWindow, Unseen};
use plumb_model::plan::Properties;
use plumb_model::property::is_identity;
use plumb_model::secret::{REDACTED, is_secret};
use std::io::{self, Read};

/// Longest file that is read (ours): properties of a client are some dozen lines.
const FILE_LIMIT_BYTES: u64 = 1 << 20;

const HINT: &str = "--client-properties takes [CLIENT=]FILE, the properties that the application gives to its client, with the names of the \
                    Java client or of librdkafka; CLIENT is its client.id";

/// Gives each client the properties of the files that are its own.
pub(in crate::observe) fn give_properties(
    words: &[String],
    clients: &mut [ClientWindow],
    unseen: &mut Vec<Unseen>,
) {
    for word in words {
        if let Err(reason) = ClientProperties::read(word).and_then(|properties| properties.give(clients)) {
            let what = format!("client properties of {word}");
            unseen.push(Unseen { what, reason, hint: Some(HINT.to_owned()) });
        }
    }
}

/// The properties of one file.
struct ClientProperties {
    /// The client.id of the client that has them; absent where all clients do.
    client: Option<String>,
    properties: Properties,
}

impl ClientProperties {
    /// Reads `[CLIENT=]FILE`. A file whose own name has a `=` is taken as a file.
    ///
    /// # Errors
    /// When there is no such file, or it has no property in it.
    fn read(word: &str) -> Result<Self, String> {
        let (client, content) = match (read_text(word), word.split_once('=')) {
            (Ok(content), _) => (None, content),
            (Err(_), Some((client, file))) => {
                (Some(client.to_owned()), read_text(file).map_err(|error| error.to_string())?)
            }
            (Err(error), None) => return Err(error.to_string()),
        };
        let entries = entries(&content);
        if !entries.iter().any(|entry| !entry.value.is_empty()) {
            return Err("it has no property in it".to_owned());
        }
        let of_file = || entries.iter().find(|entry| entry.key == "client.id");
        let client = client.or_else(|| of_file().map(|entry| entry.value.clone()));
        let shown = |key: &str, value: String| if is_secret(key) { REDACTED.to_owned() } else { value };
        let settings = entries.into_iter().filter(|entry| !is_identity(&entry.key));
        let properties = settings.map(|entry| (entry.key.clone(), shown(&entry.key, entry.value))).collect();
        Ok(ClientProperties { client, properties })
    }

    /// # Errors
    /// When no client is called so.
    fn give(self, clients: &mut [ClientWindow]) -> Result<(), String> {
        let is_named = |client: &ClientWindow| match &self.client {
            Some(name) => client_id(&client.name) == name,
            None => true,
        };
        let mut given = false;
        for client in clients.iter_mut().filter(|client| is_named(client)) {
            // What a client says of itself comes first.
            for (key, value) in &self.properties {
                client.settings.entry(key.clone()).or_insert_with(|| value.clone());
            }
            given = true;
        }
        match (given, self.client) {
            (true, _) => Ok(()),
            (false, Some(name)) => Err(format!("no client whose statistics were seen is called {name}")),
            (false, None) => Err("no client's statistics were seen".to_owned()),
        }
    }
}

/// The client.id in a client's name: librdkafka adds `#producer-1`.
fn client_id(name: &str) -> &str {
    name.rsplit_once('#').map_or(name, |(id, _)| id)
}

fn read_text(path: &str) -> io::Result<String> {
    let mut content = String::new();
    fs_err::File::open(path)?.take(FILE_LIMIT_BYTES).read_to_string(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn clients() -> Vec<ClientWindow> {
        ["orders#producer-1", "billing#consumer-2"]
            .map(|name| ClientWindow { name: name.to_owned(), ..ClientWindow::default() })
            .into()
    }

    fn file(directory: &Path, content: &str) -> String {
        let path = directory.join("client.properties");
        std::fs::write(&path, content).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn given(words: &[String]) -> (Vec<ClientWindow>, Vec<Unseen>) {
        let (mut clients, mut unseen) = (clients(), Vec::new());
        give_properties(words, &mut clients, &mut unseen);
        (clients, unseen)
    }

    #[test]
    fn the_client_that_is_named_has_them_and_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path(), "linger.ms = 200\nssl.key.password = swordfish\ngroup.id = g\n");
        let (clients, unseen) = given(&[format!("orders={path}")]);
        assert!(unseen.is_empty(), "{unseen:?}");
        assert_eq!(clients[0].settings["linger.ms"], "200");
        assert_eq!(clients[0].settings["ssl.key.password"], REDACTED);
        assert!(!clients[0].settings.contains_key("group.id"));
        assert!(clients[1].settings.is_empty());
    }

    #[test]
    fn a_file_names_its_client_itself_or_holds_for_all() {
        let directory = tempfile::tempdir().unwrap();
        let own = file(directory.path(), "client.id=billing\nfetch.min.bytes=1000\n");
        let (clients, _) = given(&[own]);
        assert!(clients[0].settings.is_empty());
        assert_eq!(clients[1].settings["fetch.min.bytes"], "1000");
        let all = file(directory.path(), "security.protocol=SSL");
        let (clients, _) = given(&[all]);
        assert!(clients.iter().all(|client| client.settings["security.protocol"] == "SSL"));
    }

    #[test]
    fn what_cannot_be_given_to_a_client_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path(), "linger.ms=5");
        let empty = directory.path().join("empty");
        std::fs::write(&empty, "# nothing\n").unwrap();
        let words =
            [format!("shop={path}"), "shop=/no/such".to_owned(), empty.to_string_lossy().into_owned()];
        let (clients, unseen) = given(&words);
        assert!(clients.iter().all(|client| client.settings.is_empty()));
        let reasons: Vec<&str> = unseen.iter().map(|unseen| unseen.reason.as_str()).collect();
        assert!(reasons[0].contains("is called shop"), "{reasons:?}");
        assert!(reasons[1].contains("/no/such"), "{reasons:?}");
        assert!(reasons[2].contains("no property"), "{reasons:?}");
    }
}
