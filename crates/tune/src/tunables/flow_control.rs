//! Pause frames: one side of a wire asks the other to stop for a moment. They hide where packets wait.
//!
//! A report: changing it renegotiates the link, and what to do about it is on the other side as often as here.

use super::network::{each, group};
use super::{Context, Look, Tunable};
use crate::devices::Interface;
use plumb_model::check::{Evidence, Risk, Status};

pub(super) const TUNABLE: Tunable = Tunable {
    id: "flow-control",
    title: "pause frames",
    risk: Risk::LinkFlap,
    interrupts: "",
    source: "ethtool(8), -a; the driver's counters of pause frames",
    look,
};

const WORDS: [&str; 2] = ["pause", "xoff"];
/// Not numbers of frames.
const OTHERS: [&str; 4] = ["duration", "transition", "storm", "time"];

fn look(context: &Context<'_>) -> Vec<Look> {
    each(context, |context, interface| vec![of_interface(context, interface)])
}

fn of_interface(context: &Context<'_>, interface: &Interface) -> Look {
    let name = &interface.name;
    let reads = match group(context, name, "pause") {
        Ok(reads) => reads,
        Err(look) => return *look,
    };
    let (sent, came): (Vec<Evidence>, Vec<Evidence>) = frames(context, name)
        .into_iter()
        .partition(|evidence| evidence.counter.to_ascii_lowercase().contains("tx"));
    let (status, reason) = match (sent.is_empty(), came.is_empty()) {
        (true, true) => (Status::Ok, "no pause frame was sent or came in the window"),
        (false, _) => (
            Status::Advice,
            "this host asked the switch to stop: it takes packets too slowly, and they wait, or are lost, in the switch instead of here, where no counter shows it",
        ),
        (true, false) => (
            Status::Advice,
            "the switch asked this host to stop: what waits here is for something behind the switch, and no setting of this host mends it",
        ),
    };
    Look::found(name, status, reads, reason).showing(sent.into_iter().chain(came).collect())
}

/// Counters of pause frames that grew.
fn frames(context: &Context<'_>, interface: &str) -> Vec<Evidence> {
    let start = format!("nic.{interface}.");
    let is_frames = |name: &&str| {
        let counter = name[start.len()..].to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| counter.contains(word));
        has(&WORDS) && !has(&OTHERS)
    };
    let names: Vec<&str> =
        context.window.matching(&start, "").map(|(name, _)| name).filter(is_frames).collect();
    context.window.evidence_of(&names, "frames")
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::Status;

    fn host() -> Recorded {
        Recorded::interface("eth0", "mlx5_core", 2).file("/ethtool/eth0/pause", "autoneg off rx on tx on\n")
    }

    #[test]
    fn frames_that_were_sent_or_came_are_told_and_never_changed() {
        for (counter, word) in [
            ("tx_pause_ctrl_phy", "this host asked"),
            ("tx_flow_control_xoff", "this host asked"),
            ("port.link_xoff_tx", "this host asked"),
            ("rx_pause_ctrl_phy", "the switch asked"),
            ("rx_flow_control_xoff", "the switch asked"),
        ] {
            let check = &host().grew(&format!("nic.eth0.{counter}"), 5).check("flow-control")[0];
            assert_eq!((check.status, check.assignments.len()), (Status::Advice, 0), "{counter}");
            assert!(check.reason.starts_with(word), "{counter}: {}", check.reason);
        }
    }

    #[test]
    fn no_frame_is_no_finding() {
        let check = &host().grew("nic.eth0.rx_global_pause_duration", 5).check("flow-control")[0];
        assert_eq!(check.status, Status::Ok);
    }
}
