//! The rate at which messages came to the broker, from its own counts over time.
//!
//! Every tool means something else by its rate: one begins before its first connection, another with its first message.
//! So the broker's end offsets are read some forty times a second, and the rate is that of the middle 98 % of the
//! messages. What is left out is the start of the client and the wait for its last acknowledgement, nothing else.

/// Shares of all messages between which the rate is taken.
const FROM: f64 = 0.01;
const TO: f64 = 0.99;

/// The broker's counts over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flow {
    samples: Vec<(f64, u64)>,
}

impl Flow {
    /// Notes that the broker had so many messages at that time.
    pub fn note(&mut self, at_s: f64, messages: u64) {
        self.samples.push((at_s, messages));
    }

    /// Messages at the last look.
    pub fn messages(&self) -> u64 {
        self.samples.last().map_or(0, |(_, messages)| *messages)
    }

    /// Messages a second over the middle 98 %; none when there are none, or all came between two looks.
    pub fn messages_per_s(&self) -> Option<f64> {
        let total = self.messages() as f64;
        let span_s = self.reached(total * TO)? - self.reached(total * FROM)?;
        let between = self.samples.iter().filter(|(_, messages)| (1..self.messages()).contains(messages));
        (between.count() > 0 && span_s > 0.0).then(|| total * (TO - FROM) / span_s)
    }

    /// The time at which that many were there, with a straight line drawn between looks.
    fn reached(&self, messages: f64) -> Option<f64> {
        let after = self.samples.iter().position(|(_, seen)| *seen as f64 >= messages && *seen > 0)?;
        let (t1, n1) = self.samples[after];
        let Some(before) = after.checked_sub(1) else { return Some(t1) };
        let (t0, n0) = self.samples[before];
        Some(t0 + (t1 - t0) * (messages - n0 as f64) / (n1 - n0) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(samples: &[(f64, u64)]) -> Flow {
        Flow { samples: samples.to_vec() }
    }

    #[test]
    fn an_even_flow_has_its_rate_whenever_it_begins_and_ends() {
        let even = flow(&[(0.0, 0), (1.0, 0), (2.0, 500), (3.0, 1000), (9.0, 1000)]);
        assert!((even.messages_per_s().unwrap() - 500.0).abs() < 1e-9);
    }

    #[test]
    fn a_probe_that_goes_before_the_load_does_not_stretch_the_time() {
        let probed = flow(&[(0.0, 0), (0.1, 6), (2.0, 6), (3.0, 100_006), (4.0, 200_006)]);
        let rate = probed.messages_per_s().unwrap();
        assert!((rate - 100_000.0).abs() < 10.0, "{rate}");
    }

    #[test]
    fn what_came_between_two_looks_has_no_rate() {
        assert_eq!(flow(&[(0.0, 0), (1.0, 1000)]).messages_per_s(), None);
        assert_eq!(flow(&[]).messages_per_s(), None);
        assert_eq!(flow(&[(0.0, 0), (1.0, 0)]).messages_per_s(), None);
    }
}
