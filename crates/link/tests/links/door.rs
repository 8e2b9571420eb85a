//! A coordinator of one test and the workers that join it.

use plumb_link::{
    Certificate, CertificateDigest, CertificateFiles, Gathering, Introduction, JoinOptions, LinkError,
    ListenOptions, Peer, Token, Workers, join,
};
use plumb_model::probe::ClockAccount;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything here takes, also on a machine that is busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
static STOP: AtomicBool = AtomicBool::new(false);
pub(crate) static NO_STOP: &AtomicBool = &STOP;

pub(crate) fn introduction(build: &str) -> Introduction {
    // Two of unknown boots have two clocks, as far as they can say.
    let clock = ClockAccount { boot_id: None, namespace_offset_ns: None, claim: None };
    let facts = serde_json::Value::Null;
    Introduction { build: build.to_owned(), host: "here".to_owned(), clock, cpus: 1, facts }
}

pub(crate) struct Door {
    pub(crate) gathering: Gathering,
    pub(crate) digest: CertificateDigest,
    directory: TempDir,
}

impl Door {
    pub(crate) fn open(workers: Workers) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let token = Token::create(&directory.path().join("token")).unwrap();
        let files = certificate_files(&directory);
        let digest = files.create().unwrap();
        let gathering = Gathering::listen(ListenOptions {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            workers,
            certificate: Certificate::read(&files).unwrap(),
            token,
            introduction: introduction("one build"),
        });
        Door { gathering: gathering.unwrap(), digest, directory }
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        certificate_files(&self.directory).certificate
    }

    /// A file of this test with another token in it.
    pub(crate) fn other_token(&self) -> PathBuf {
        let path = self.directory.path().join("other");
        Token::create(&path).unwrap();
        path
    }

    pub(crate) fn token(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("token")).unwrap().trim().to_owned()
    }

    pub(crate) fn options(&self, name: &str) -> JoinOptions {
        JoinOptions {
            address: self.gathering.address().to_string(),
            certificate_sha256: self.digest,
            token_file: self.directory.path().join("token"),
            name: name.to_owned(),
            introduction: introduction("one build"),
            within: PATIENCE,
        }
    }

    pub(crate) fn worker(&self, name: &str) -> Peer {
        join(&self.options(name), NO_STOP, &mut |_| ()).unwrap()
    }

    /// A worker that joins by way of another address.
    pub(crate) fn worker_by(&self, name: &str, address: SocketAddr) -> Peer {
        join(&JoinOptions { address: address.to_string(), ..self.options(name) }, NO_STOP, &mut |_| ())
            .unwrap()
    }

    /// The error of one that is not let in.
    pub(crate) fn turned_away(&self, change: impl FnOnce(&mut JoinOptions)) -> LinkError {
        let mut options = self.options("b");
        options.within = Duration::from_millis(300);
        change(&mut options);
        join(&options, NO_STOP, &mut |_| ()).unwrap_err()
    }

    pub(crate) fn gather(&self) -> Vec<Peer> {
        self.gathering.gather(Instant::now() + PATIENCE, NO_STOP, &mut |_| ()).unwrap()
    }
}

fn certificate_files(directory: &TempDir) -> CertificateFiles {
    let path = |name| directory.path().join(name);
    CertificateFiles { certificate: path("certificate.pem"), key: path("key.pem") }
}

/// The error of a link whose frames nobody looks at.
pub(crate) fn end_of(peer: &Peer) -> LinkError {
    let until = Instant::now() + PATIENCE;
    loop {
        match peer.receive(Duration::from_millis(100)) {
            Err(error) => return error,
            Ok(_) => assert!(Instant::now() < until, "the link does not end"),
        }
    }
}
