//! The digest of the running program: two sides with the same digest speak of the same things.

use crate::error::LinkError;
use crate::token::hex;
use ring::digest::{Context, SHA256};
use std::io::Read;
use std::sync::Arc;

/// The running program's file.
const OWN: &str = "/proc/self/exe";

/// SHA-256 of the running program's file, in hexadecimal digits.
///
/// # Errors
/// When it cannot be read.
pub fn program_digest() -> Result<String, LinkError> {
    let failed = |source| LinkError::Program { source: Arc::new(source) };
    let mut file = std::fs::File::open(OWN).map_err(failed)?;
    let (mut context, mut piece) = (Context::new(&SHA256), vec![0; 1 << 20]);
    loop {
        match file.read(&mut piece).map_err(failed)? {
            0 => return Ok(hex(context.finish().as_ref())),
            bytes => context.update(&piece[..bytes]),
        }
    }
}
