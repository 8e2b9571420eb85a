//! No document makes a diagnosis panic, and whatever it says is a number.

use super::super::causes::INJECTIONS;
use super::build::{ThreadClass, healthy_path};
use super::diagnose;
use plumb_model::facts::WindowMean;
use plumb_model::observed::{
    KernelWindow, LogHistogram, ObservedPath, OffCpuStack, ProcessWaits, Profile, ReceivingConnection,
};
use proptest::prelude::*;

/// Figures that no observer would write.
const STRANGE: [f64; 12] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.0, 0.0, 1e-300, 0.5, 1.0, 40e6, 1e18, f64::MAX];

/// Draws figures one after another from seeds.
struct Figures<'a> {
    seeds: &'a [u8],
    at: usize,
}

impl Figures<'_> {
    fn draw(&mut self) -> u8 {
        self.at += 1;
        self.seeds[self.at % self.seeds.len()].wrapping_add((self.at / self.seeds.len()) as u8)
    }

    /// Leaves a figure as it is, takes it away, or puts a strange one into its place.
    fn spoil(&mut self, figure: &mut Option<f64>) {
        match self.draw() % 4 {
            0 => *figure = None,
            1 => *figure = Some(self.strange()),
            _ => {}
        }
    }

    fn spoil_count(&mut self, figure: &mut Option<u64>) {
        match self.draw() % 4 {
            0 => *figure = None,
            1 => *figure = Some([0, 1, u64::MAX][usize::from(self.draw() % 3)]),
            _ => {}
        }
    }

    fn spoil_window(&mut self, figure: &mut Option<WindowMean>) {
        match self.draw() % 4 {
            0 => *figure = None,
            1 => {
                let (mean_ns, samples) = (self.strange(), [0, 1, u64::MAX][usize::from(self.draw() % 3)]);
                *figure = Some(WindowMean { mean_ns, low_ns: mean_ns, high_ns: mean_ns, samples });
            }
            _ => {}
        }
    }

    fn strange(&mut self) -> f64 {
        STRANGE[usize::from(self.draw()) % STRANGE.len()]
    }
}

fn spoil(path: &mut ObservedPath, figures: &mut Figures) {
    for broker in &mut path.brokers {
        for kind in broker.requests.values_mut() {
            figures.spoil(&mut kind.per_s);
            figures.spoil(&mut kind.bytes_mean);
            let stages = &mut kind.stages;
            for stage in [
                &mut stages.request_queue,
                &mut stages.local,
                &mut stages.remote,
                &mut stages.response_queue,
                &mut stages.response_send,
                &mut stages.throttle,
                &mut stages.total,
            ] {
                figures.spoil_window(stage);
            }
        }
        for processor in &mut broker.network_processors {
            figures.spoil(&mut processor.idle_share);
            figures.spoil(&mut processor.connections);
        }
        for topic in &mut broker.topics {
            figures.spoil(&mut topic.bytes_in_per_s);
        }
        for error in broker.errors_per_s.values_mut() {
            *error = figures.strange();
        }
        for figure in [
            &mut broker.handlers.idle_share,
            &mut broker.request_queue_size,
            &mut broker.bytes_in_per_s,
            &mut broker.bytes_out_per_s,
            &mut broker.messages_in_per_s,
            &mut broker.replication_bytes_in_per_s,
            &mut broker.conversions_per_s,
            &mut broker.leaders,
            &mut broker.partitions,
            &mut broker.under_replicated,
            &mut broker.under_min_isr,
            &mut broker.isr_shrinks_per_s,
            &mut broker.follower_max_lag,
            &mut broker.reassigning_partitions,
            &mut broker.log_flushes_per_s,
            &mut broker.log_flush_mean_ns,
            &mut broker.connections_per_s,
            &mut broker.acceptor_blocked_share,
            &mut broker.cleaner_bytes_per_s,
            &mut broker.late_transactions,
            &mut broker.gc_time_share,
            &mut broker.throttle_mean_ns,
        ] {
            figures.spoil(figure);
        }
    }
    for client in &mut path.clients {
        for figure in [
            &mut client.messages_per_s,
            &mut client.bytes_per_s,
            &mut client.queue_mean_ns,
            &mut client.outbuf_mean_ns,
            &mut client.rtt_mean_ns,
            &mut client.rtt_min_ns,
            &mut client.rtt_max_ns,
            &mut client.rtt_near_40_ms_share,
            &mut client.acknowledge_mean_ns,
            &mut client.end_to_end_mean_ns,
            &mut client.batch_messages_mean,
            &mut client.batch_bytes_mean,
            &mut client.record_bytes_mean,
            &mut client.in_flight_max,
            &mut client.queue_share_max,
            &mut client.buffer_wait_share,
            &mut client.reply_queue,
            &mut client.reports_waiting,
            &mut client.throttle_mean_ns,
            &mut client.retries_per_s,
            &mut client.lag_growth_per_s,
            &mut client.poll_idle_share,
            &mut client.commits_per_s,
            &mut client.commit_mean_ns,
            &mut client.stable_offset_lag,
            &mut client.partition_skew,
        ] {
            figures.spoil(figure);
        }
        figures.spoil_count(&mut client.throttled);
        figures.spoil_count(&mut client.negative_latencies);
        figures.spoil_count(&mut client.rebalances);
    }
    for process in &mut path.processes {
        for group in &mut process.groups {
            figures.spoil_count(&mut group.states.executing_ns);
            figures.spoil_count(&mut group.states.runnable_ns);
            figures.spoil_count(&mut group.states.disk_ns);
            figures.spoil_count(&mut group.states.lock_ns);
            figures.spoil(&mut group.busiest_share);
            group.waits.values_mut().for_each(|share| *share = figures.strange());
        }
        for row in process.profile.iter_mut().flat_map(|profile: &mut Profile| &mut profile.shares) {
            row.share = figures.strange();
        }
        figures.spoil(&mut process.remote_memory_share);
        figures.spoil(&mut process.device_read_bytes_per_s);
        figures.spoil_count(&mut process.usage.cpu_ns);
    }
    for host in path.host_window.iter_mut() {
        figures.spoil_count(&mut host.counters.cpu.busy_ns);
        figures.spoil_count(&mut host.counters.cpu.total_ns);
        figures.spoil_count(&mut host.counters.cpu.steal_ns);
        figures.spoil_count(&mut host.tcp.sent_segments);
        figures.spoil_count(&mut host.tcp.retransmitted);
        figures.spoil(&mut host.tcp.send_buffer_limited_share);
        figures.spoil(&mut host.tcp.receive_window_limited_share);
        host.tcp.longest_receiver =
            Some(ReceivingConnection { bytes_per_s: figures.strange(), round_trip_ns: figures.strange() });
        for disk in &mut host.counters.disks {
            figures.spoil_count(&mut disk.written_bytes);
            figures.spoil_count(&mut disk.writes);
            figures.spoil_count(&mut disk.write_ns);
            figures.spoil_count(&mut disk.busy_ns);
        }
    }
    for figure in [
        &mut path.limits.aes_gcm_bytes_per_s,
        &mut path.limits.fsync_per_s,
        &mut path.limits.write_bytes_per_s,
        &mut path.limits.network_bytes_per_s,
        &mut path.limits.memory_copy_bytes_per_s,
    ] {
        figures.spoil(figure);
    }
    if figures.draw().is_multiple_of(4) {
        path.elapsed_ns = 0;
    }
    if figures.draw().is_multiple_of(2) {
        path.kernel = Some(KernelWindow {
            elapsed_ns: 1,
            journal_commit: Some(LogHistogram { count: 1, sum_ns: u64::MAX, ..LogHistogram::default() }),
            ..KernelWindow::default()
        });
        path.processes[0].kernel = Some(ProcessWaits {
            elapsed_ns: u64::from(figures.draw() % 2),
            off_cpu: vec![OffCpuStack {
                frames: vec!["jbd2_log_wait_commit".to_owned()],
                time_ns: u64::MAX,
                ..OffCpuStack::default()
            }],
            fsync: Some(LogHistogram { count: u64::MAX, ..LogHistogram::default() }),
            ..ProcessWaits::default()
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_document_makes_it_panic_and_all_that_it_says_are_numbers(
        cause in 0..INJECTIONS.len(),
        seeds in proptest::collection::vec(any::<u8>(), 40..400),
    ) {
        let mut path = healthy_path();
        (INJECTIONS[cause].1)(&mut path);
        spoil(&mut path, &mut Figures { seeds: &seeds, at: 0 });
        let diagnosis = diagnose(&path);
        for cause in &diagnosis.findings {
            prop_assert!(cause.share_of_gap.is_none_or(|share| (0.0..=1.0).contains(&share)));
            for evidence in &cause.finding.evidence {
                let strange = ["NaN", "inf "].iter().any(|text| evidence.value.contains(text)) || evidence.value.starts_with('-');
                prop_assert!(!strange, "{}: {} {}", cause.finding.id, evidence.what, evidence.value);
            }
        }
        for bound in &diagnosis.bounds {
            prop_assert!(bound.limit.is_finite() && bound.measured.is_finite(), "{bound:?}");
        }
        for stage in &diagnosis.stages {
            prop_assert!(stage.mean_ns.is_none_or(f64::is_finite), "{stage:?}");
            prop_assert!(stage.share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{stage:?}");
        }
        prop_assert!(!diagnosis.summary.contains("NaN"), "{}", diagnosis.summary);
        prop_assert!(!diagnosis.summary.is_empty());
    }

    #[test]
    fn a_document_that_lacks_parts_is_diagnosed_from_what_is_left(cause in 0..INJECTIONS.len(), parts in 0_u8..64) {
        let mut path = healthy_path();
        (INJECTIONS[cause].1)(&mut path);
        let lacks = |bit: u8| parts & (1 << bit) != 0;
        if lacks(0) { path.brokers.clear() }
        if lacks(1) { path.clients.clear() }
        if lacks(2) { path.processes.clear() }
        if lacks(3) { path.host_window = None }
        if lacks(4) { path.host = None }
        if lacks(5) { (path.settings, path.limits) = Default::default() }
        let diagnosis = diagnose(&path);
        prop_assert!(!diagnosis.summary.is_empty());
        // Where nothing but the threads was seen, nothing says how long anybody waits.
        if lacks(0) && lacks(1) {
            prop_assert!(diagnosis.stages.iter().all(|stage| stage.mean_ns.is_none()));
            prop_assert!(diagnosis.findings.iter().all(|cause| cause.share_of_gap.is_none()), "{:#?}", diagnosis.findings);
        }
    }
}

#[test]
fn a_group_without_threads_is_no_division_by_zero() {
    let mut path = healthy_path();
    super::build::threads(&mut path, ThreadClass::Handler).threads = 0;
    assert!(diagnose(&path).findings.is_empty());
}
