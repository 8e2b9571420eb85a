//! Files of a fleet whose truth is known: 14 days before a change on 15 January 2026 and 7 after it, a sample every six hours.

use plumb_model::random::Random;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const DAYS: u32 = 21;
const BEFORE: u32 = 14;

/// The recipe of a made-up fleet.
pub(super) struct Fleet {
    /// Servers in each group.
    pub(super) servers: usize,
    /// Factor on the drops of the test group after the change.
    pub(super) drops_after: f64,
    /// Factor on the load of all after it; each server differs.
    pub(super) load_after: f64,
}

impl Default for Fleet {
    fn default() -> Self {
        Fleet { servers: 12, drops_after: 1.0, load_after: 1.0 }
    }
}

impl Fleet {
    /// Writes the file; every second server has the change.
    pub(super) fn write(&self, directory: &Path) -> PathBuf {
        let mut random = Random::new(17);
        let days: Vec<f64> = (0..DAYS).map(|_| (0.05 * random.normal()).exp()).collect();
        let mut text = "server,time,drops,packets,group\n".to_owned();
        for server in 0..2 * self.servers {
            let test = server % 2 == 0;
            let usual_drops = 500.0 * (0.5 * random.normal()).exp();
            let usual_load = 1e6 * (0.4 * random.normal()).exp();
            let surge =
                self.load_after * if self.load_after == 1.0 { 1.0 } else { (0.2 * random.normal()).exp() };
            for (day, usual) in days.iter().enumerate() {
                let after = day >= BEFORE as usize;
                let load = usual * (0.05 * random.normal()).exp() * if after { surge } else { 1.0 };
                let effect = if after && test { self.drops_after } else { 1.0 };
                for hour in [0, 6, 12, 18] {
                    let drops = usual_drops * load.powf(1.5) * effect * (0.1 * random.normal()).exp();
                    let group = if test { "test" } else { "control" };
                    let day = day + 1;
                    // Writing to a text does not fail.
                    let _ = writeln!(
                        text,
                        "edge-{server:02},2026-01-{day:02}T{hour:02}:00:00Z,{drops:.0},{:.0},{group}",
                        usual_load * load
                    );
                }
            }
        }
        let file = directory.join("fleet.csv");
        std::fs::write(&file, text).unwrap();
        file
    }
}
