//! A backlog whose readers wait for a known time is drained in that time.

use super::proof::{Verdict, holds, within};
use crate::drivers::{Driver, on_both_drivers};
use crate::instrument::modes::{assert_all_received, run};
use crate::instrument::{Path, TOPIC};
use plumb_lab::sink::{ApiKey, Apis};
use std::time::Duration;

on_both_drivers!(a_backlog_of_a_known_delay_drains_in_that_time);

fn a_backlog_of_a_known_delay_drains_in_that_time(driver: Driver) {
    const RATE_PER_S: u64 = 2_000;
    const BACKLOG_S: u64 = 1;
    const STALL: Duration = Duration::from_millis(1_500);
    let drains = || -> Verdict {
        let path = Path::new(driver);
        // Nobody is answered from the record on at which the consumers are released.
        let first = 1 + RATE_PER_S * BACKLOG_S;
        path.control.stall_at_record(TOPIC, first, Apis::one(ApiKey::Fetch), STALL);
        let backlog = RATE_PER_S * BACKLOG_S * 100;
        let load = format!("rate: {RATE_PER_S}, mode: {{backlog: {backlog}}}, duration: 3s");
        let document = run(&path, &load);
        let sent = document.count("sent");
        assert_eq!((document.count("acked"), document.count("lost")), (sent, 0));
        assert_all_received(&document, sent);
        let drain_ms = 1e3 * document.at("/steps/0/throughput/drain_s").as_f64().unwrap();
        within("drain", drain_ms, STALL.as_secs_f64() * 1e3, 200.0)
    };
    holds(drains);
}
