//! The host's counters that moved within the window, and the names of those that stayed at 0.

use crate::paint::printable;
use plumb_model::facts::{DiskDelta, InterfaceDelta};
use plumb_model::figure::{
    binary_bytes, bytes_per_s, count, per_s, percent, rate as rate_of, rough_share, time,
};
use plumb_model::observed::HostWindow;

/// The counters, in groups.
pub(super) struct CounterView {
    pub(super) groups: Vec<Group>,
    /// Names of those that were counted and stayed at 0.
    pub(super) still: Vec<String>,
    /// Those that could not be read, and why.
    pub(super) missing: Vec<String>,
    /// The process whose network namespace TCP is of, where it is not Plumb's own.
    pub(super) network_of: Option<u32>,
}

/// Counters of one part of the host.
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) rows: Vec<CounterRow>,
}

/// One counter.
pub(super) struct CounterRow {
    pub(super) name: String,
    pub(super) value: String,
}

/// Disks, interfaces and driver counters that are shown, those with most traffic.
const MOST: usize = 6;

/// The view of a window.
pub(super) fn view(window: &HostWindow) -> CounterView {
    let mut view = CounterView {
        groups: Vec::new(),
        still: Vec::new(),
        network_of: window.network_of,
        missing: window.counters.missing.iter().map(|what| printable(what)).collect(),
    };
    let seconds = window.counters.elapsed_ns as f64 / 1e9;
    if seconds > 0.0 {
        view.group("Processors", |rows| processors(rows, window, seconds));
        view.group("Waiting", |rows| pressure(rows, window));
        view.group("Memory", |rows| memory(rows, window));
        view.group("Disks", |rows| disks(rows, &window.counters.disks, seconds));
        view.group("Network", |rows| network(rows, window, seconds));
        view.group("TCP", |rows| tcp(rows, window));
    }
    view
}

/// Rows of a group being gathered.
#[derive(Default)]
struct Rows {
    moved: Vec<CounterRow>,
    still: Vec<String>,
}

impl Rows {
    /// A figure with its words: absent ones are left out, zeros are named only.
    fn add(&mut self, name: &str, figure: Option<f64>, written: impl Fn(f64) -> String) {
        match figure.filter(|figure| figure.is_finite()) {
            None => {}
            Some(0.0) => self.still.push(name.to_owned()),
            Some(figure) => {
                self.moved.push(CounterRow { name: name.to_owned(), value: written(figure) });
            }
        }
    }
}

impl CounterView {
    fn group(&mut self, name: &'static str, gather: impl FnOnce(&mut Rows)) {
        let mut rows = Rows::default();
        gather(&mut rows);
        if !rows.moved.is_empty() {
            self.groups.push(Group { name, rows: rows.moved });
        }
        self.still.extend(rows.still.into_iter().map(|still| format!("{}: {still}", name.to_lowercase())));
    }
}

fn counted(n: Option<u64>) -> Option<f64> {
    n.map(|n| n as f64)
}

fn whole(n: f64) -> String {
    count(n as u64)
}

fn ratio(part: Option<u64>, whole: Option<u64>) -> Option<f64> {
    let whole = whole.filter(|whole| *whole > 0)?;
    Some(part? as f64 / whole as f64)
}

fn processors(rows: &mut Rows, window: &HostWindow, seconds: f64) {
    let counters = &window.counters;
    rows.add("busy, all of them", counters.cpu.busy_share(), rough_share);
    let each = counters.each_cpu.iter().filter_map(|cpu| cpu.time.busy_share());
    let busiest =
        each.fold(None, |most: Option<f64>, share| Some(most.map_or(share, |most| most.max(share))));
    rows.add("busiest processor", busiest, rough_share);
    rows.add("stolen by the hypervisor", counters.cpu.steal_share(), rough_share);
    rows.add("idle with a disk request", ratio(counters.cpu.iowait_ns, counters.cpu.total_ns), rough_share);
    rows.add("context switches", counted(counters.context_switches).map(|n| n / seconds), per_s);
    // A sum of which a part is unknown is no sum.
    let received: Option<u64> = window.interrupts.iter().map(|cpu| cpu.net_rx).sum();
    let most = window.interrupts.iter().max_by_key(|cpu| cpu.net_rx);
    if let Some(most) = most.filter(|_| window.interrupts.len() > 1 && received > Some(0)) {
        rows.add(
            &format!("packets received on cpu{} alone", most.cpu),
            ratio(most.net_rx, received),
            rough_share,
        );
    }
}

fn pressure(rows: &mut Rows, window: &HostWindow) {
    let pressure = &window.counters.pressure;
    let of_time = |ns: Option<u64>| counted(ns).map(|ns| ns / window.counters.elapsed_ns as f64);
    rows.add("some thread for a processor", of_time(pressure.cpu_some_ns), rough_share);
    rows.add("some thread for a disk", of_time(pressure.io_some_ns), rough_share);
    rows.add("all threads for a disk", of_time(pressure.io_full_ns), rough_share);
    rows.add("some thread for memory", of_time(pressure.memory_some_ns), rough_share);
    rows.add("all threads for memory", of_time(pressure.memory_full_ns), rough_share);
}

fn memory(rows: &mut Rows, window: &HostWindow) {
    let counters = &window.counters;
    rows.add("available at the end", counted(counters.memory_available_bytes), binary_bytes);
    rows.add("dirty pages at the end", counted(counters.dirty_bytes), binary_bytes);
    rows.add("being written at the end", counted(counters.writeback_bytes), binary_bytes);
}

fn disks(rows: &mut Rows, disks: &[DiskDelta], seconds: f64) {
    let bytes =
        |disk: &DiskDelta| disk.read_bytes.unwrap_or(0).saturating_add(disk.written_bytes.unwrap_or(0));
    let mut busiest: Vec<&DiskDelta> = disks.iter().collect();
    busiest.sort_by_key(|disk| std::cmp::Reverse(bytes(disk)));
    for disk in busiest.into_iter().take(MOST) {
        let name = printable(&disk.name);
        let rate = |n: Option<u64>| counted(n).map(|n| n / seconds);
        let written = Requests { n: disk.writes, ns: disk.write_ns, seconds, name: "writes" };
        rows.add(&format!("{name}: written"), rate(disk.written_bytes), |n| written.beside(&bytes_per_s(n)));
        let read = Requests { n: disk.reads, ns: disk.read_ns, seconds, name: "reads" };
        rows.add(&format!("{name}: read"), rate(disk.read_bytes), |n| read.beside(&bytes_per_s(n)));
        let mean = ratio(disk.flush_ns, disk.flushes).map(|mean| format!(" of {}", time(mean)));
        let mean = mean.unwrap_or_default();
        rows.add(&format!("{name}: cache flushes"), rate(disk.flushes), |n| format!("{}{mean}", per_s(n)));
        rows.add(&format!("{name}: busy"), rate(disk.busy_ns).map(|ns| ns / 1e9), rough_share);
    }
}

/// Requests of one kind to a disk.
struct Requests {
    n: Option<u64>,
    /// Their times, added up.
    ns: Option<u64>,
    /// The window.
    seconds: f64,
    name: &'static str,
}

impl Requests {
    /// `4.87 MB/s, 41.33 writes/s of 1.53 ms`.
    fn beside(&self, bytes: &str) -> String {
        let Some(n) = self.n else { return bytes.to_owned() };
        let mean = ratio(self.ns, self.n).map(|mean| format!(" of {}", time(mean))).unwrap_or_default();
        format!("{bytes}, {} {}/s{mean}", rate_of(n as f64 / self.seconds), self.name)
    }
}

fn network(rows: &mut Rows, window: &HostWindow, seconds: f64) {
    let bytes =
        |face: &InterfaceDelta| face.received_bytes.unwrap_or(0).saturating_add(face.sent_bytes.unwrap_or(0));
    let mut busiest: Vec<&InterfaceDelta> = window.counters.interfaces.iter().collect();
    busiest.sort_by_key(|face| std::cmp::Reverse(bytes(face)));
    for face in busiest.into_iter().take(MOST) {
        let name = printable(&face.name);
        let rate = |n: Option<u64>| counted(n).map(|n| n / seconds);
        let link = window.links.get(&face.name).filter(|link| **link > 0).map(|link| *link as f64);
        let of_link = |per_s: f64| match link {
            Some(link) => format!("{} ({} of the link)", bytes_per_s(per_s), percent(per_s / link)),
            None => bytes_per_s(per_s),
        };
        rows.add(&format!("{name}: received"), rate(face.received_bytes), of_link);
        rows.add(&format!("{name}: sent"), rate(face.sent_bytes), of_link);
        rows.add(&format!("{name}: lost on the way in"), counted(face.received_drops), whole);
        rows.add(&format!("{name}: lost on the way out"), counted(face.sent_drops), whole);
    }
    if !window.softnet.is_empty() {
        let sum = |of: fn(&plumb_model::observed::SoftnetOfCpu) -> u64| {
            window.softnet.iter().fold(0_u64, |sum, cpu| sum.saturating_add(of(cpu))) as f64
        };
        rows.add("lost in full receive queues", Some(sum(|cpu| cpu.dropped)), whole);
        rows.add("receive budget used up", Some(sum(|cpu| cpu.time_squeeze)), |n| {
            format!("{} times", whole(n))
        });
    }
    for (name, packets) in window.nic_drops.iter().take(MOST) {
        rows.add(&printable(name), Some(*packets as f64), whole);
    }
}

fn tcp(rows: &mut Rows, window: &HostWindow) {
    let tcp = &window.tcp;
    rows.add("segments sent", counted(tcp.sent_segments), whole);
    let share = ratio(tcp.retransmitted, tcp.sent_segments).map(percent);
    rows.add("sent again", counted(tcp.retransmitted), |n| match &share {
        Some(share) => format!("{} ({share})", whole(n)),
        None => whole(n),
    });
    rows.add("retransmission time-outs", counted(tcp.timeouts), whole);
    rows.add("attempts to connect that found a full queue", counted(tcp.listen_overflows), whole);
    rows.add("receive windows that went to zero here", counted(tcp.zero_windows), whole);
    rows.add("delayed acknowledgements", counted(tcp.delayed_acks), whole);
    rows.add("connections opened by others", counted(tcp.passive_opens), whole);
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::facts::HostDelta;
    use plumb_model::observed::TcpWindow;

    #[test]
    fn a_zero_is_named_and_an_absent_counter_is_not() {
        let window = HostWindow {
            counters: HostDelta {
                elapsed_ns: 2_000_000_000,
                context_switches: Some(10),
                ..HostDelta::default()
            },
            tcp: TcpWindow {
                sent_segments: Some(1_000),
                retransmitted: Some(5),
                timeouts: Some(0),
                ..TcpWindow::default()
            },
            ..HostWindow::default()
        };
        let view = view(&window);
        let rows: Vec<String> = view
            .groups
            .iter()
            .flat_map(|group| {
                group.rows.iter().map(|row| format!("{}: {}: {}", group.name, row.name, row.value))
            })
            .collect();
        assert_eq!(
            rows,
            ["Processors: context switches: 5/s", "TCP: segments sent: 1,000", "TCP: sent again: 5 (0.5 %)"]
        );
        assert_eq!(view.still, ["tcp: retransmission time-outs"]);
    }
}
