//! `plumb probe network --listen`: the other side, until Ctrl-C.

use crate::commands::End;
use crate::printer;
use crate::stop;
use anyhow::Result;
use plumb_probe::network::{Limits, Listener};
use plumb_session::probe::clock_account::clock_account;
use std::net::SocketAddr;

pub(super) fn listen(address: &SocketAddr) -> Result<End> {
    let stop = stop::flag()?;
    let listener = Listener::bind(*address, Limits::default())?.with_account(clock_account);
    let address = listener.address();
    printer::out(&format!("listening on {address}\n"));
    // Nobody could find it.
    printer::printed()?;
    printer::note("plumb: for one peer at a time; Ctrl-C ends it");
    if !address.ip().is_loopback() {
        printer::note(
            "plumb: whoever reaches this port can make this host receive and send back data, and reads its clock; end it when you are done",
        );
    }
    listener.serve(&stop, |visit| printer::note(&format!("plumb: measuring with {}", visit.address)));
    Ok(End::Done)
}
