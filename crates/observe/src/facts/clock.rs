//! The kernel's clock source, and how well the wall clock follows a time server.

use plumb_model::facts::{ClockSync, Fact};

use crate::{CommandRunner, HostRoot};

pub(super) fn source(root: &HostRoot) -> Fact<String> {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    root.fact(path, "a clock source", |text| (!text.trim().is_empty()).then(|| text.trim().to_owned()))
}

/// Clock sources that the kernel could use.
pub fn clock_sources(root: &HostRoot) -> Fact<Vec<String>> {
    let path = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    root.fact(path, "clock sources", |text| Some(words(text)).filter(|words| !words.is_empty()))
}

/// The synchronisation by chrony, which knows its error; else by systemd, which knows only yes or no.
pub fn clock_sync(commands: &dyn CommandRunner) -> Fact<ClockSync> {
    let chrony = match commands.run("chronyc", &["-n", "-c", "tracking"]) {
        Ok(text) => match parse_chrony(&text) {
            Some(sync) => return Fact::known(sync, "chronyc -n -c tracking"),
            None => "chronyc tracking: expected 14 fields".to_owned(),
        },
        Err(error) => error.to_string(),
    };
    let systemd = match commands.run("timedatectl", &["show", "--property=NTPSynchronized", "--value"]) {
        Ok(text) => match parse_timedatectl(&text) {
            Some(sync) => return Fact::known(sync, "timedatectl show --property=NTPSynchronized"),
            None => "timedatectl: expected yes or no".to_owned(),
        },
        Err(error) => without_systemd(&error.to_string()),
    };
    Fact::unknown(format!("{chrony}; {systemd}"))
}

/// The complaint of systemd's tools where systemd does not run, in words; any other complaint as it is.
fn without_systemd(complaint: &str) -> String {
    let absent = ["not been booted with systemd", "Failed to connect to bus"];
    match absent.iter().any(|words| complaint.contains(words)) {
        true => "systemd, which timedatectl asks, does not run here".to_owned(),
        false => complaint.to_owned(),
    }
}

/// Fields of `chronyc -c tracking`: reference id, its name, stratum, reference time, system time, last offset, RMS
/// offset, frequency, residual frequency, skew, root delay, root dispersion, update interval, leap status. The name
/// is left out of the fact. Times are in seconds.
fn parse_chrony(text: &str) -> Option<ClockSync> {
    let fields: Vec<&str> = text.trim().split(',').collect();
    let [_, _, stratum, _, offset, _, rms, _, _, _, delay, dispersion, _, leap] = fields[..] else {
        return None;
    };
    Some(ClockSync {
        synchronised: leap != "Not synchronised",
        stratum: stratum.parse().ok(),
        offset_ns: size_ns(offset),
        rms_offset_ns: size_ns(rms),
        root_delay_ns: size_ns(delay),
        root_dispersion_ns: size_ns(dispersion),
    })
}

/// Seconds without their sign, in nanoseconds; absent when no clock can be so far off.
fn size_ns(seconds: &str) -> Option<u64> {
    let ns = seconds.parse::<f64>().ok()?.abs() * 1e9;
    (ns < u64::MAX as f64).then_some(ns.round() as u64)
}

fn parse_timedatectl(text: &str) -> Option<ClockSync> {
    let synchronised = match text.trim() {
        "yes" => true,
        "no" => false,
        _ => return None,
    };
    Some(ClockSync {
        synchronised,
        stratum: None,
        offset_ns: None,
        rms_offset_ns: None,
        root_delay_ns: None,
        root_dispersion_ns: None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{CommandError, RecordedCommands};

    const TRACKING: &str = "A9FEA97B,169.254.169.123,4,1763719200.123456789,-0.000006523,-0.000004,0.000021377,\
                            -3.221,-0.001,0.018,0.000413,0.000259,16.2,Normal\n";

    #[test]
    fn chrony_gives_sizes_in_nanoseconds_and_no_server_name() {
        let commands = RecordedCommands::default().with("chronyc -n -c tracking", Ok(TRACKING));
        let fact = clock_sync(&commands);
        let value = fact.value().unwrap();
        assert!(value.synchronised);
        assert_eq!(value.stratum, Some(4));
        assert_eq!((value.offset_ns, value.rms_offset_ns), (Some(6_523), Some(21_377)));
        assert_eq!((value.root_delay_ns, value.root_dispersion_ns), (Some(413_000), Some(259_000)));
        assert!(!format!("{fact:?}").contains("169.254"));
    }

    #[test]
    fn without_chrony_systemd_is_asked() {
        let commands = RecordedCommands::default()
            .with("timedatectl show --property=NTPSynchronized --value", Ok("no\n"));
        let fact = clock_sync(&commands);
        assert!(!fact.value().unwrap().synchronised);
        assert_eq!(fact.value().unwrap().offset_ns, None);
    }

    #[test]
    fn when_nobody_answers_the_reasons_of_both_are_given() {
        let dead = CommandError::Failed {
            program: "chronyc".to_owned(),
            status: "exit status: 1".to_owned(),
            message: "506 Cannot talk to daemon".to_owned(),
        };
        let fact = clock_sync(&RecordedCommands::default().with("chronyc -n -c tracking", Err(dead)));
        let expected =
            "chronyc failed (exit status: 1): 506 Cannot talk to daemon; timedatectl is not installed";
        assert_eq!(fact, Fact::unknown(expected));
    }

    #[test]
    fn where_systemd_does_not_run_that_is_said_and_not_its_tool_s_own_words() {
        let failed = |message: &str| {
            let message = message.to_owned();
            let (program, status) = ("timedatectl".to_owned(), "exit status: 1".to_owned());
            let dead = CommandError::Failed { program, status, message };
            let asked = "timedatectl show --property=NTPSynchronized --value";
            format!("{:?}", clock_sync(&RecordedCommands::default().with(asked, Err(dead))))
        };
        let booted = "System has not been booted with systemd as init system (PID 1). Can't operate.";
        assert!(
            failed(booted)
                .contains("chronyc is not installed; systemd, which timedatectl asks, does not run here")
        );
        assert!(!failed(booted).contains("PID 1"));
        assert!(failed("no such property").contains("no such property"));
    }

    proptest! {
        #[test]
        fn the_parsers_never_panic(text in "(?s)([0-9a-zA-Z.eE-]{0,8},){0,15}.{0,20}") {
            let _ = parse_chrony(&text);
            let _ = parse_timedatectl(&text);
        }
    }
}
