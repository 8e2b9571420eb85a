//! TCP: round trips, what Nagle's algorithm does to two writes, throughput, new connections.

use super::{DISTRIBUTION, cautions, conditions, distribution, median, or_absent, time, title};
use crate::sheet::{Column, Section, Sheet};
use plumb_model::figure;
use plumb_model::observation::Distribution;
use plumb_model::probe::{NetworkProbe, StreamRate, WritePattern};

/// A median this many times that of one write is called by its name (ours: a delayed acknowledgement is thousands of
/// times a round trip on loopback, and ten times one of 4 ms).
const NAGLE_RATIO: f64 = 3.0;
/// Below it two writes are said to cost no more than one (ours).
const SAME_RATIO: f64 = 1.2;

/// The whole sheet.
pub fn sheet(document: &NetworkProbe) -> Sheet {
    let what = match document.loopback {
        true => "Network, loopback (both ends in this process)".to_owned(),
        false => format!("Network, to {}", document.peer),
    };
    let mut sections = vec![round_trips(document), writes(document)];
    sections.extend(nagle(document));
    sections.extend([throughput(document), tcp(document)]);
    sections.extend(connections(document));
    if document.loopback {
        sections.push(Section::sentences(
            "What loopback is",
            "",
            vec![
                "No device is on the way, and both ends share this host's CPUs: it bounds what the kernel's TCP costs here, \
                 not what a network carries. Run `plumb probe network --listen ADDR` on another host, and \
                 `plumb probe network HOST` here."
                    .to_owned(),
            ],
        ));
    }
    sections.push(conditions(&document.conditions));
    Sheet {
        title: title(&what, &document.conditions),
        findings: lost(document),
        cautions: cautions(&document.conditions),
        sections,
        ..Sheet::default()
    }
}

/// Bytes that were written and never read.
fn lost(document: &NetworkProbe) -> Vec<String> {
    let differs = |rate: &&StreamRate| rate.sent_bytes != rate.received_bytes;
    let say = |rate: &StreamRate| {
        format!(
            "With {} {} bytes were written and {} arrived: something on the way changes streams.",
            figure::counted(rate.streams as usize, "stream"),
            figure::count(rate.sent_bytes),
            figure::count(rate.received_bytes)
        )
    };
    document.throughput.iter().filter(differs).map(say).collect()
}

fn round_trips(document: &NetworkProbe) -> Section {
    let mut columns = vec![Column::number("bytes")];
    columns.extend(DISTRIBUTION);
    let rows = document.round_trips.iter().map(|row| {
        let mut cells = vec![figure::count(u64::from(row.message_bytes))];
        cells.extend(distribution(&row.round_trip));
        cells
    });
    Section::table(
        "Round trip",
        &format!("one message there and back at a time, Nagle's algorithm off; {}", turns(document)),
        columns,
        rows.collect(),
    )
}

/// The sharing of the time, in words.
fn turns(document: &NetworkProbe) -> String {
    format!(
        "everything takes turns in {} of random order",
        figure::counted(document.plan.rounds as usize, "round")
    )
}

fn writes(document: &NetworkProbe) -> Section {
    let mut columns = vec![Column::text("request in"), Column::text("Nagle"), Column::number("mean")];
    columns.extend(DISTRIBUTION);
    let rows = document.writes.iter().map(|row| {
        let nagle = if row.nodelay { "off (TCP_NODELAY)" } else { "on" };
        let mean = or_absent(row.round_trip.mean_ns, figure::time);
        let mut cells = vec![figure::counted(row.writes as usize, "write"), nagle.to_owned(), mean];
        cells.extend(distribution(&row.round_trip));
        cells
    });
    let meaning =
        "round trip of a small request; with two writes the second waits for the first one's acknowledgement";
    Section::table("Nagle and delayed acknowledgements", meaning, columns, rows.collect())
}

/// The cost of the two writes, in words.
fn nagle(document: &NetworkProbe) -> Option<Section> {
    let find = |writes: u32, nodelay: bool| {
        let same = |row: &&WritePattern| row.writes == writes && row.nodelay == nodelay;
        document.writes.iter().find(same).map(|row| &row.round_trip)
    };
    let (slow, fast, one) = (find(2, false)?, find(2, true)?, find(1, false)?);
    let each = |figure: fn(&Distribution) -> Option<f64>| Some((figure(slow)?, figure(fast)?, figure(one)?));
    // Held back, a request takes so long that a short probe has too few for a median: then the means.
    let medians = each(|times| Some(times.p50_ns? as f64));
    let middle = if medians.is_some() { "" } else { " on average" };
    let (slow, fast, one) = medians.or_else(|| each(|times| times.mean_ns))?;
    let over_one = |ns: f64| ns / one.max(1.0);
    let (slow_ratio, fast_ratio) = (over_one(slow), over_one(fast));
    let line = if slow_ratio > NAGLE_RATIO {
        format!(
            "Two writes with Nagle's algorithm take {}{middle} where one write takes {}: the kernel holds the second back until the \
             other side acknowledges the first, and that waits for data to go along with (40 ms on Linux at first). \
             TCP_NODELAY brings it to {}, and so does one write. librdkafka: socket.nagle.disable; the Java client and \
             brokers have it off.",
            figure::time(slow),
            figure::time(one),
            figure::time(fast)
        )
    } else if slow_ratio.max(fast_ratio) < SAME_RATIO {
        format!(
            "Two writes cost no more{middle} than one here: {} of it with Nagle's algorithm, {} without.",
            figure::ratio(slow_ratio),
            figure::ratio(fast_ratio)
        )
    } else {
        format!(
            "Two writes take{middle} {} of one write with Nagle's algorithm and {} without ({}, {} and {} for one). On a path with a \
             long round trip a delayed acknowledgement (40 ms on Linux at first) is a small multiple of it.",
            figure::ratio(slow_ratio),
            figure::ratio(fast_ratio),
            figure::time(slow),
            figure::time(fast),
            figure::time(one)
        )
    };
    Some(Section::sentences("In words", "", vec![line]))
}

fn throughput(document: &NetworkProbe) -> Section {
    let columns = [
        Column::number("streams"),
        Column::number("Gbit/s"),
        Column::number("MB/s"),
        Column::number("slices"),
        Column::number("lowest"),
        Column::number("highest"),
    ];
    let gigabits = |bytes_per_s: f64| figure::significant(bytes_per_s * 8.0 / 1e9, 3);
    let row = |row: &StreamRate| {
        let figure = row.bytes_per_s.as_ref();
        vec![
            figure::count(u64::from(row.streams)),
            median(figure, gigabits),
            median(figure, |bytes| figure::significant(bytes / 1e6, 3)),
            or_absent(figure, |figure| figure::count(u64::from(figure.blocks))),
            or_absent(figure, |figure| gigabits(figure.lowest)),
            or_absent(figure, |figure| gigabits(figure.highest)),
        ]
    };
    let meaning = "acknowledged by the other side's kernel, in slices of 0.1 s or less after a warm-up";
    Section::table("Throughput", meaning, columns, document.throughput.iter().map(row).collect())
}

fn tcp(document: &NetworkProbe) -> Section {
    let columns = [
        Column::number("streams"),
        Column::number("sent again"),
        Column::number("round trip"),
        Column::number("smallest"),
        Column::number("window"),
        Column::number("segment"),
        Column::number("receiver-bound"),
        Column::number("buffer-bound"),
        Column::text("control"),
    ];
    let row = |row: &StreamRate| {
        let tcp = &row.tcp;
        vec![
            figure::count(u64::from(row.streams)),
            or_absent(tcp.retransmitted_segments, figure::count),
            time(tcp.rtt_ns),
            time(tcp.min_rtt_ns),
            or_absent(tcp.congestion_window_segments, figure::count),
            or_absent(tcp.segment_bytes, |bytes| format!("{} B", figure::count(u64::from(bytes)))),
            or_absent(tcp.receiver_limited_share, figure::percent),
            or_absent(tcp.send_buffer_limited_share, figure::percent),
            tcp.congestion_control.clone().unwrap_or_else(|| figure::ABSENT.to_owned()),
        ]
    };
    let meaning = "TCP_INFO at the end of each: segments sent again and window of all streams; round trip under the load";
    Section::table(
        "What the kernel says of them",
        meaning,
        columns,
        document.throughput.iter().map(row).collect(),
    )
}

fn connections(document: &NetworkProbe) -> Option<Section> {
    let seen = document.connections.as_ref()?;
    let mut columns = vec![Column::text("until")];
    columns.extend(DISTRIBUTION);
    let row = |name: &str, times| {
        let mut cells = vec![name.to_owned()];
        cells.extend(distribution(times));
        cells
    };
    let rows = vec![row("connected", &seen.connect), row("first answer", &seen.first_answer)];
    let meaning = format!("one after the other, {} a second", figure::rate(seen.rate_per_s));
    Some(Section::table("New connections", &meaning, columns, rows))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{figure, plain, quiet};
    use super::*;
    use plumb_model::probe::{NetworkPlan, ProbeKind, TcpState};

    fn taking(p50_ns: u64) -> Distribution {
        Distribution { samples: 50, p50_ns: Some(p50_ns), ..Distribution::default() }
    }

    fn document(slow_ns: u64, received_bytes: u64) -> NetworkProbe {
        let pattern = |writes, nodelay, p50_ns| WritePattern { writes, nodelay, round_trip: taking(p50_ns) };
        NetworkProbe {
            conditions: quiet(ProbeKind::Network),
            plan: NetworkPlan { duration_ns: 2_000_000_000, rounds: 3, seed: 1 },
            peer: "192.0.2.7:7586".to_owned(),
            loopback: false,
            round_trips: vec![],
            writes: vec![pattern(1, false, 50_000), pattern(2, false, slow_ns), pattern(2, true, 60_000)],
            throughput: vec![StreamRate {
                streams: 1,
                write_bytes: 1,
                bytes_per_s: Some(figure(1.25e9)),
                sent_bytes: 1_000,
                received_bytes,
                tcp: TcpState::default(),
            }],
            connections: None,
        }
    }

    #[test]
    fn a_delayed_acknowledgement_is_called_by_its_name_and_what_takes_it_away() {
        let text = plain(&sheet(&document(44_000_000, 1_000)));
        assert!(text.contains("take 44.0 ms where one write takes 50.0 µs"), "{text}");
        assert!(text.contains("TCP_NODELAY brings it to 60.0 µs"), "{text}");
    }

    #[test]
    fn where_too_few_requests_have_a_median_the_means_are_told_as_such() {
        let mut few = document(44_000_000, 1_000);
        for row in &mut few.writes {
            row.round_trip.mean_ns = row.round_trip.p50_ns.map(|ns| ns as f64 + 1_000.0);
        }
        few.writes[1].round_trip.p50_ns = None;
        let text = plain(&sheet(&few));
        assert!(text.contains("take 44.0 ms on average where one write takes 51.0 µs"), "{text}");
        let row = text.lines().find(|line| line.starts_with("2 writes") && line.contains("  on ")).unwrap();
        assert!(row.contains("44.0 ms"), "{row}");
    }

    #[test]
    fn two_writes_cost_no_more_than_one_only_where_they_do_not() {
        let near = document(55_000, 1_000);
        let mut near_too = near.clone();
        near_too.writes[2].round_trip = taking(51_000);
        assert!(plain(&sheet(&near_too)).contains("cost no more than one here: ×1.10"));
        // 60 µs without Nagle's algorithm is a fifth more than 50 µs.
        assert!(!plain(&sheet(&near)).contains("cost no more"));
        // A round trip of 50 ms, and 40 ms of a delayed acknowledgement.
        let mut far = document(90_000_000, 1_000);
        far.writes[0].round_trip = taking(50_000_000);
        far.writes[2].round_trip = taking(50_000_000);
        let text = plain(&sheet(&far));
        assert!(
            text.contains("Two writes take ×1.80 of one write") && !text.contains("cost no more"),
            "{text}"
        );
    }

    #[test]
    fn bytes_that_did_not_arrive_are_said_first_and_bits_are_eight_to_the_byte() {
        let text = plain(&sheet(&document(70_000, 999)));
        let (finding, table) = (text.find("999 arrived").unwrap(), text.find("Throughput").unwrap());
        assert!(finding < table && text.contains("10.0"), "{text}");
        assert!(!plain(&sheet(&document(70_000, 1_000))).contains("arrived"));
    }
}
