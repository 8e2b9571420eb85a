//! Whether the wall clock follows a time server. A report: brokers and producers write down times, and logs are thrown away by them.

use super::{Context, Look, Tunable};
use crate::window::level;
use plumb_model::check::{Risk, Status};
use plumb_model::facts::Fact;
use plumb_model::figure;

pub(super) const TUNABLE: Tunable = Tunable {
    id: "time-sync",
    title: "wall clock that follows a time server",
    risk: Risk::Performance,
    interrupts: "",
    source: "RFC 5905; the bound of 100 ms is ours",
    look,
};

/// A clock that is off by more puts events of two hosts in the wrong order. Ours.
const OFF_NS: u64 = 100_000_000;

fn look(context: &Context<'_>) -> Vec<Look> {
    let look = match &context.facts.clock_sync {
        Fact::Unknown { reason } => Look::unknown("", reason.clone()),
        Fact::Known { value, .. } if !value.synchronised => {
            Look::found("", Status::Advice, "follows none", "the wall clock follows no time server: times of events, and what is thrown away by them, drift; start chrony or systemd-timesyncd")
                .showing(vec![level("clock follows a source", 0.0, "sources")])
        }
        Fact::Known { value, .. } => match value.offset_ns {
            Some(off) if off > OFF_NS => Look::found("", Status::Advice, format!("{} off", figure::time(off as f64)), "the clock follows a time server from afar: see whether it can be reached, and whether the virtual machine was stopped meanwhile")
                .showing(vec![level("offset of the clock", (off as f64 / 1e6).round(), "ms")]),
            Some(off) => Look::found("", Status::Ok, format!("{} off", figure::time(off as f64)), "the wall clock follows a time server"),
            None => Look::found("", Status::Ok, "follows one", "the wall clock follows a time server, which does not say how far off it is"),
        },
    };
    vec![look]
}

#[cfg(test)]
mod tests {
    use super::super::recorded::Recorded;
    use plumb_model::check::{SettingCheck, Status};

    /// As `chronyc -c tracking` prints it, with the system's offset in seconds and the leap status.
    fn check(offset: &str, leap: &str) -> SettingCheck {
        let answer = format!(
            "A9FEA97B,169.254.169.123,4,1700000000.0,{offset},0.000001,0.00001,-7.5,0.0,0.03,0.0004,0.0001,16.1,{leap}\n"
        );
        Recorded::new().answers("chronyc -n -c tracking", &answer).check("time-sync")[0].clone()
    }

    #[test]
    fn a_clock_that_follows_nothing_or_from_afar_is_told() {
        assert_eq!(check("0.000001", "Normal").status, Status::Ok);
        assert_eq!(check("0.000001", "Not synchronised").status, Status::Advice);
        assert_eq!(check("-0.5", "Normal").evidence[0].amount, 500.0);
        assert_eq!(Recorded::new().check("time-sync")[0].status, Status::Unknown);
    }
}
