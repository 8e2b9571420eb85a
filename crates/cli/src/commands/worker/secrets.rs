//! `plumb worker secrets`: what the run and its workers have to know of each other, made before either is started.

use crate::args::worker::SecretsArgs;
use crate::commands::End;
use crate::printer;
use anyhow::Result;
use plumb_session::LinkSecrets;
use std::os::unix::fs::DirBuilderExt;

pub(super) fn secrets(arguments: &SecretsArgs) -> Result<End> {
    let directory = &arguments.out;
    let make = || std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    make().map_err(|error| fs_error(directory, error))?;
    let secrets = LinkSecrets::in_directory(directory);
    let digest = secrets.create()?;
    printer::out(&format!("{digest}\n"));
    let (token, certificate) = (secrets.token.display(), secrets.certificate.certificate.display());
    printer::remark(&format!(
        "The run: --token-file {token} --cert-file {certificate} --key-file {}\n\
         Each worker: --token-file {token} --cert-file {certificate}, from copies of these two files. The key stays with the run.",
        secrets.certificate.key.display()
    ));
    Ok(End::Done)
}

fn fs_error(directory: &std::path::Path, error: std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), format!("cannot make the directory {}: {error}", directory.display()))
}
