//! The resources of a Redfish service, by their paths. No link leads to another host: the login goes to the controller alone.

use super::{Bmc, BmcError};
use crate::HttpError;
use crate::http::{self, Question, Trust};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// One answer, and all of them. Controllers are slow: some take seconds for a resource.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
const ALL_WITHIN: Duration = Duration::from_secs(60);
/// A registry of attributes has up to 3 MB; all else is far smaller.
const ANSWER_LIMIT_BYTES: u64 = 8 << 20;
/// Of a text of the controller's that is shown.
const SHOWN_CHARS: usize = 200;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A controller that is being asked, until its time is over.
pub(super) struct Tree<'b> {
    bmc: &'b Bmc,
    until: Instant,
}

impl<'b> Tree<'b> {
    pub(super) fn of(bmc: &'b Bmc) -> Self {
        Tree { bmc, until: Instant::now() + ALL_WITHIN }
    }

    /// A resource.
    pub(super) fn get(&self, path: &str) -> Result<Value, BmcError> {
        let body = self.body(path)?;
        serde_json::from_slice(&body).map_err(|_| {
            // It may send back what it was asked with.
            let text = self.bmc.login.removed_from(&String::from_utf8_lossy(&body));
            let got = text.chars().filter(|c| !c.is_control()).take(80).collect();
            BmcError::NotJson { path: shown(path), got }
        })
    }

    fn body(&self, path: &str) -> Result<Vec<u8>, BmcError> {
        let question = Question {
            url: &format!("{}{path}", self.bmc.address),
            login: Some(&self.bmc.login),
            trust: self.bmc.certificate_sha256.map_or(Trust::Authorities, Trust::Certificate),
            accept: "application/json",
            timeout: ANSWER_WITHIN.min(self.until.saturating_duration_since(Instant::now())),
            limit_bytes: ANSWER_LIMIT_BYTES,
        };
        let mut body = Vec::new();
        let read = http::read(&question, &mut |bytes| {
            body.extend_from_slice(bytes);
            ControlFlow::Continue(())
        });
        let fetch = |source| BmcError::Fetch { path: shown(path), source };
        read.map_err(fetch)?;
        unpacked(body).map_err(fetch)
    }
}

/// Some controllers send a registry packed, whatever they were asked for.
fn unpacked(body: Vec<u8>) -> Result<Vec<u8>, HttpError> {
    if !body.starts_with(&GZIP) {
        return Ok(body);
    }
    let mut text = Vec::new();
    let read = GzDecoder::new(body.as_slice()).take(ANSWER_LIMIT_BYTES + 1).read_to_end(&mut text);
    match read {
        Ok(count) if count as u64 > ANSWER_LIMIT_BYTES => {
            Err(HttpError::TooLarge { limit_bytes: ANSWER_LIMIT_BYTES })
        }
        // What is no packed text is none of JSON either, and refused as that.
        _ => Ok(text),
    }
}

/// The path that a resource names at a place of its own (a JSON pointer); none where it names none, or one that leads elsewhere.
pub(super) fn link(resource: &Value, at: &str) -> Option<String> {
    let path = resource.pointer(&format!("{at}/@odata.id"))?.as_str()?;
    is_path(path).then(|| path.to_owned())
}

/// True of a path on the controller itself.
pub(super) fn is_path(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '\\' | '@');
    text.starts_with('/') && !text.starts_with("//") && text.chars().all(is_plain)
}

/// A text of the controller's, as it may be shown and kept.
pub(super) fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect()
}
