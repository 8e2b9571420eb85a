//! The sizing against what vendors and operators published, and against bounds worked out by hand.

use super::*;

const MIB: f64 = 1_048_576.0;
const MB: f64 = 1e6;

fn given(value: f64) -> Option<Figure> {
    Some(Figure::given(value, "", "test"))
}

fn load(bytes_per_s: f64) -> Load {
    Load { bytes_per_s: Some(bytes_per_s), ..Load::default() }
}

fn one(target: &Target, machine: &Machine) -> Capacity {
    let mut sizing = size(target, machine, &Assumptions::default()).unwrap();
    assert_eq!(sizing.readings.len(), 1);
    sizing.readings.remove(0).capacity
}

fn machine(name: &str) -> Machine {
    let mut machines = published().unwrap();
    let index = machines.iter().position(|machine| machine.name == name).unwrap();
    machines.swap_remove(index).machine
}

fn known(capacity: &Capacity, name: BoundName) -> &Known {
    let bound = capacity.bounds.iter().find(|bound| bound.name == name).unwrap();
    bound.known().unwrap_or_else(|| panic!("{name:?}: {:?}", bound.standing))
}

fn near(got: f64, expected: f64) {
    assert!((got / expected - 1.0).abs() < 0.01, "got {got}, expected {expected}");
}

/// In, out: mean and peak in MB/s; three copies, 1000 partitions, a day kept. For the space that it takes the script reads the same
/// figures as MiB/s, so the day is longer by as much.
fn aws(mean: f64, peak: f64, out_peak: f64) -> Target {
    Target {
        load: load(mean * MB),
        peak_factor: peak / mean,
        groups: out_peak / peak,
        partitions: Some(1_000),
        retention_s: Some(86_400.0 * MIB / MB),
        ..Target::default()
    }
}

#[test]
fn plans_for_an_even_load_are_those_of_aws_sizing_script() {
    for (name, brokers) in [
        ("m5.large", 21),
        ("m5.xlarge", 12),
        ("m5.2xlarge", 6),
        ("m5.4xlarge", 6),
        ("m5.8xlarge", 6),
        ("m5.12xlarge", 6),
        ("m5.16xlarge", 6),
        ("m5.24xlarge", 6),
        ("m7g.large", 18),
        ("m7g.xlarge", 9),
        ("m7g.2xlarge", 6),
        ("express.m7g.large", 9),
        ("express.m7g.xlarge", 6),
        ("express.m7g.2xlarge", 3),
    ] {
        let capacity = one(&aws(100.0, 100.0, 200.0), &machine(name));
        assert_eq!(capacity.plan.brokers, brokers, "{name}");
    }
    // From 4xlarge on it is the space, not a rate.
    let capacity = one(&aws(100.0, 100.0, 200.0), &machine("m5.4xlarge"));
    assert_eq!(capacity.plan.binding, Some(BoundName::Storage));
}

#[test]
fn plans_for_a_peak_of_five_times_the_mean_are_those_of_aws_sizing_script() {
    for (name, brokers) in [
        ("m5.large", 93),
        ("m5.xlarge", 57),
        ("m5.2xlarge", 30),
        ("m5.4xlarge", 15),
        ("m5.8xlarge", 9),
        ("m7g.large", 84),
        ("m7g.xlarge", 42),
        ("m7g.2xlarge", 21),
        ("m7g.4xlarge", 12),
        ("m7g.8xlarge", 9),
        ("express.m7g.large", 45),
        ("express.m7g.xlarge", 24),
        ("express.m7g.2xlarge", 12),
        ("express.m7g.4xlarge", 6),
        ("express.m7g.8xlarge", 3),
    ] {
        let capacity = one(&aws(100.0, 500.0, 1_000.0), &machine(name));
        assert_eq!(capacity.plan.brokers, brokers, "{name}");
    }
}

#[test]
fn the_plan_of_one_m5_large_is_the_one_worked_out_by_hand() {
    // min(81 / 6.5, 93.75 / 8.7) x .5 = 5.39 MB/s; 100 / 5.39 = 18.56.
    let capacity = one(&aws(100.0, 100.0, 200.0), &machine("m5.large"));
    assert_eq!(capacity.plan.binding, Some(BoundName::NicOut));
    near(known(&capacity, BoundName::NicOut).plan.as_ref().unwrap().need.exact, 18.56);
}

#[test]
fn three_m5_2xlarge_carry_234_mb_s_by_physics_and_54_by_plan() {
    // Theory min(250, 312.5 x 3 / 4) = 234.4; plan 3 x 17.96.
    let target = Target { load: load(234.375 * MB), groups: 2.0, ..Target::default() };
    let capacity = one(&target, &machine("m5.2xlarge"));
    assert_eq!((capacity.physics.brokers, capacity.physics.binding), (3, Some(BoundName::NicOut)));
    near(capacity.flip_test.as_ref().unwrap().capacity_bytes_per_s, 234.375 * MB);
    near(known(&capacity, BoundName::StorageNetwork).slack.unwrap().at_physics.unwrap(), 250.0 / 234.375);
    let planned = Target { load: load(53.8 * MB), ..target };
    assert_eq!(one(&planned, &machine("m5.2xlarge")).plan.brokers, 3);
    let more = Target { load: load(54.0 * MB), ..planned };
    assert_eq!(one(&more, &machine("m5.2xlarge")).plan.brokers, 6);
}

/// 3.76 GB/s in three copies through NICs of 10 Gbit/s: 3 x 3.76 / 1.25 = 9.02.
#[test]
fn a_nic_of_ten_gigabits_carries_a_quarter_more_than_a_gigabyte_and_no_more() {
    let m5 = Machine { storage_network_bytes_per_s: given(100e9), ..machine("m5.8xlarge") };
    let capacity = one(&Target { load: load(3.76e9), ..Target::default() }, &m5);
    assert_eq!((capacity.physics.brokers, capacity.physics.binding), (10, Some(BoundName::NicIn)));
}

#[test]
fn express_brokers_with_five_groups_come_to_the_six_of_aws_example() {
    // 100 in, 5 groups, 500 out. 500 / 125 = 4, in three zones 6. The script's 2.5 x 62.5 = 156 would also come to 6; the table
    // has the smaller.
    let target = Target { load: load(100.0 * MB), groups: 5.0, ..Target::default() };
    let express = machine("express.m7g.2xlarge");
    let capacity = one(&target, &express);
    near(known(&capacity, BoundName::VendorEgress).physics.unwrap().exact, 4.0);
    assert_eq!((capacity.plan.brokers, capacity.plan.binding), (6, Some(BoundName::VendorEgress)));
    let script = Machine { egress_bytes_per_s: given(156.25 * MB), ..express };
    assert_eq!(one(&target, &script).plan.brokers, 6);
}

#[test]
fn the_flows_of_a_broker_are_those_of_redpandas_example() {
    // 75 MB/s, three copies on three nodes, one consumer, three days: each writes 75 MB/s.
    let day = Target { load: load(75e6), retention_s: Some(86_400.0), ..Target::default() };
    let case = |target: &Target, brokers| {
        let (machine, assumptions) = (Machine::default(), Assumptions::default());
        let ingress = load::readings(target).unwrap().loads[0].1;
        flows::flows(&Case { target, machine: &machine, assumptions: &assumptions, ingress }, brokers)
    };
    let node = case(&day, 3);
    near(node.written_bytes_per_s, 75e6);
    // They print 254 GB an hour; 75 MB/s is 270 GB or 251 GiB. We take the product.
    near(node.written_bytes_per_s * 3_600.0, 270e9);
    // 6.4 TB a day and 20 TB in three days are their roundings.
    near(node.stored_bytes.unwrap(), 6.48e12);
    near(
        case(&Target { retention_s: Some(3.0 * 86_400.0), ..day.clone() }, 3).stored_bytes.unwrap(),
        19.44e12,
    );
    // 150 MB/s of copies in the cluster, 75 to the consumer.
    near((node.sent_bytes_per_s - node.consumed_bytes_per_s) * 3.0, 150e6);
    near(node.consumed_bytes_per_s * 3.0, 75e6);
    // 500 MB/s: three nodes write and read 500 each with three groups; five write 300.
    let large = Target { load: load(500e6), groups: 3.0, ..Target::default() };
    near(case(&large, 3).written_bytes_per_s, 500e6);
    near(case(&large, 3).consumed_bytes_per_s, 500e6);
    near(case(&large, 5).written_bytes_per_s, 300e6);
}

#[test]
fn ten_thousand_partitions_take_sixty_gigabytes_of_redpandas_memory() {
    let target = Target { load: load(75e6), partitions: Some(10_000), ..Target::default() };
    let machine =
        Machine { memory_per_replica_bytes: given(2e6), memory_bytes: given(20e9), ..Machine::default() };
    let capacity = one(&target, &machine);
    near(known(&capacity, BoundName::ReplicaMemory).physics.unwrap().exact, 3.0);
}

#[test]
fn the_flows_of_kafkas_example_cluster_come_out() {
    // 60 brokers, two copies, 300 MB/s in, 1 GB/s out: 10 MB/s written, about 22 sent.
    let target = Target {
        load: load(300e6),
        replication: 2,
        groups: 10.0 / 3.0,
        brokers: Some(60),
        ..Target::default()
    };
    let flows = one(&target, &Machine::default()).stated.unwrap().flows;
    near(flows.written_bytes_per_s, 10e6);
    near(flows.sent_bytes_per_s, 21.7e6);
}

#[test]
fn linkedins_cluster_is_not_throughput_bound() {
    // 2015: more than 1,100 brokers; at the peak 13 million messages/s, 2.75 GB/s; 3.7 times as much out; two copies.
    let target = Target {
        load: Load { messages_per_s: Some(13e6), message_bytes: Some(211.5), bytes_per_s: Some(2.75e9) },
        replication: 2,
        groups: 3.7,
        brokers: Some(1_100),
        ..Target::default()
    };
    let capacity = one(&target, &Machine { nic_bytes_per_s: given(125e6), ..Machine::default() });
    let stated = capacity.stated.as_ref().unwrap();
    near(stated.flows.ingress_bytes_per_s, 2.5e6);
    // About 10 % of 1 GbE.
    assert_eq!(stated.fullest, Some(BoundName::NicOut));
    near(stated.fullest_share.unwrap(), 0.094);
    assert!(
        capacity.advice.iter().any(|advice| advice.contains("not throughput-bound")),
        "{:?}",
        capacity.advice
    );
    assert!(capacity.physics.brokers < 110);
}

#[test]
fn a_sync_bounds_each_queue_to_its_batch_per_sync() {
    // 2 ms: 16 KiB batches 7.8 MiB/s, 1 MiB 500 MiB/s; 50 us: 312 MiB/s at 16 KiB.
    for (sync_s, batch, mib_s) in [(0.002, 16_384.0, 7.8125), (0.002, MIB, 500.0), (50e-6, 16_384.0, 312.5)] {
        let target = Target {
            load: load(100e6),
            flush: Flush::BeforeAck,
            batch_bytes: Some(batch),
            partitions: Some(10_000),
            ..Target::default()
        };
        let capacity = one(&target, &Machine { fsync_s: given(sync_s), ..Machine::default() });
        near(known(&capacity, BoundName::Fsync).limit.value, mib_s * MIB);
        near(known(&capacity, BoundName::FsyncPartition).limit.value, mib_s * MIB);
        near(known(&capacity, BoundName::Fsync).physics.unwrap().exact, 300e6 / (mib_s * MIB));
    }
}

#[test]
fn tls_takes_the_cores_that_its_provider_needs() {
    // 100 MB/s on one broker, r = 3, c = 2, brokers encrypt too: 7 bytes for each, 700 MB/s.
    for (aes, cores) in [(5.9e9, 0.12), (0.47e9, 1.5), (0.277e9, 2.5)] {
        let target = Target { load: load(100e6), groups: 2.0, tls: Tls::All, ..Target::default() };
        let machine =
            Machine { aes_bytes_per_s_per_core: given(aes), cores: given(1.0), ..Machine::default() };
        let exact = known(&one(&target, &machine), BoundName::Tls).physics.unwrap().exact;
        assert!((exact - cores).abs() < 0.03, "{exact} cores at {aes}");
    }
}

#[test]
fn figures_of_one_load_that_disagree_are_named_and_both_worked_out() {
    let load = Load { messages_per_s: Some(1.6e6), message_bytes: Some(240e3), bytes_per_s: Some(800e9) };
    let machine = Machine { ingress_bytes_per_s: given(2.5e6), ..Machine::default() };
    let sizing = size(&Target { load, ..Target::default() }, &machine, &Assumptions::default()).unwrap();
    let loads: Vec<f64> = sizing.readings.iter().map(|reading| reading.ingress.peak_bytes_per_s).collect();
    assert_eq!(loads, [384e9, 800e9]);
    assert_eq!(sizing.readings[0].capacity.physics.brokers, 153_600);
    assert_eq!(sizing.readings[1].capacity.physics.brokers, 320_000);
    let named = &sizing.contradictions[0];
    for part in ["384 GB/s", "800 GB/s", "2.08", "500 KB", "3,333,333"] {
        assert!(named.contains(part), "{part} in {named}");
    }
}

#[test]
fn a_disagreement_is_named_from_one_per_cent_on() {
    let of = |bytes_per_s| {
        let load = Load {
            messages_per_s: Some(1_000.0),
            message_bytes: Some(1_000.0),
            bytes_per_s: Some(bytes_per_s),
        };
        size(&Target { load, ..Target::default() }, &Machine::default(), &Assumptions::default()).unwrap()
    };
    assert!(of(1.009e6).contradictions.is_empty());
    assert_eq!(of(1.011e6).readings.len(), 2);
    assert_eq!(of(0.989e6).readings.len(), 2);
    let units = &of(1.024e6).contradictions[0];
    assert!(units.contains("KiB to KB"), "{units}");
}

#[test]
fn a_bound_without_its_figure_is_unknown_and_the_count_a_lower_bound() {
    let capacity = one(
        &Target { load: load(1e9), ..Target::default() },
        &Machine { disk_bytes_per_s: given(1e9), ..Machine::default() },
    );
    assert_eq!((capacity.physics.brokers, capacity.physics.binding), (3, Some(BoundName::Disk)));
    assert!(capacity.physics.unknown_bounds.contains(&BoundName::NicOut));
    let nic = capacity.bounds.iter().find(|bound| bound.name == BoundName::NicOut).unwrap();
    assert_eq!(nic.standing, Standing::Unknown { missing: vec!["--nic".to_owned()] });
    assert!(capacity.advice.iter().any(|advice| advice.contains("lower bounds")));
}

#[test]
fn raising_what_binds_moves_the_capacity_until_the_next_bound() {
    let target = Target { load: load(1e9), ..Target::default() };
    let far = Machine { disk_bytes_per_s: given(300e6), nic_bytes_per_s: given(3e9), ..Machine::default() };
    let flip = one(&target, &far).flip_test.unwrap();
    assert_eq!((flip.bound, flip.separates), (BoundName::Disk, true));
    near(flip.gain_expected, 0.25);
    // Disk and NIC in both see each byte r times: the NIC is 4 % above.
    let close = Machine { nic_bytes_per_s: given(312e6), ..far };
    let flip = one(&target, &close).flip_test.unwrap();
    assert_eq!((flip.bound, flip.separates), (BoundName::Disk, false));
    near(flip.gain_expected, 0.04);
    near(flip.next_above.unwrap(), 0.04);
}

#[test]
fn the_nic_s_two_ways_are_raised_together() {
    let target = Target { load: load(1e9), ..Target::default() };
    let flip =
        one(&target, &Machine { nic_bytes_per_s: given(1e9), ..Machine::default() }).flip_test.unwrap();
    near(flip.gain_expected, 0.25);
    assert_eq!(flip.next, None);
}

#[test]
fn too_few_partitions_or_connections_are_a_finding_that_no_broker_mends() {
    let target =
        Target { load: load(1e9), batch_bytes: Some(16_384.0), connections: Some(10), ..Target::default() };
    let machine = Machine { service_time_s: given(0.002), ..Machine::default() };
    // 16 KiB in 2 ms is 8.19 MB/s of a connection: 123 are needed.
    let capacity = one(&target, &machine);
    assert_eq!(known(&capacity, BoundName::Connection).physics.unwrap().count, 123);
    assert!(capacity.unreachable[0].contains("123 connections"), "{:?}", capacity.unreachable);
    assert!(
        capacity.advice[0].starts_with("More producing connections, larger batches"),
        "{:?}",
        capacity.advice
    );
    let enough = Target { connections: Some(123), ..target };
    assert!(one(&enough, &machine).unreachable.is_empty());
}

#[test]
fn a_follower_s_fetches_bound_pairs_of_brokers_and_partitions() {
    // 10 ms away: 10 MiB a fetch is 1 GiB/s from one broker to another, 1 MiB a partition 100 MiB/s.
    let target =
        Target { load: load(3_000.0 * MIB), replication: 2, partitions: Some(30), ..Target::default() };
    let capacity = one(&target, &Machine { fetch_round_trip_s: given(0.010), ..Machine::default() });
    // N (N - 1) = 3: 2.3 brokers.
    near(known(&capacity, BoundName::FollowerFetch).physics.unwrap().exact, 2.3028);
    near(known(&capacity, BoundName::FollowerFetch).slack.unwrap().at_physics.unwrap(), 2.0);
    near(known(&capacity, BoundName::FollowerFetchPartition).physics.unwrap().exact, 30.0);
    assert!(capacity.unreachable.is_empty());
}

#[test]
fn survivors_of_a_broker_or_a_zone_carry_the_whole_load() {
    let target = Target { load: load(1e9), ..Target::default() };
    // 3 x 10^9 / 10^9 = 3 brokers exactly; four with one down; 3 x 3 / 2 = 4.5 -> 6 in three zones.
    let capacity = one(&target, &Machine { disk_bytes_per_s: given(1e9), ..Machine::default() });
    let counts: Vec<u64> = capacity.failure_modes.iter().map(|mode| mode.physics_brokers).collect();
    assert_eq!(counts, [4, 6]);
    // The plan: 6.5 / .5 = 13 -> 15; ten are left without a zone.
    assert_eq!((capacity.plan.brokers, capacity.failure_modes[1].plan_brokers_left), (15, 10));
    assert!(capacity.failure_modes[1].plan_carries);
}

#[test]
fn cpu_goes_with_copies_and_groups_and_takes_tls_on_top() {
    let target = Target { load: load(1e9), ..Target::default() };
    let cost = CpuCost { s_per_gb: given(4.0).unwrap(), replication: 3, groups: 1.0, tls: false };
    let machine = Machine { cores: given(4.0), cpu: Some(cost), ..Machine::default() };
    // As measured: 4 CPU seconds a second on 4 cores.
    near(known(&one(&target, &machine), BoundName::Cpu).physics.unwrap().exact, 1.0);
    // Two more groups: (.7 + .3 + .45) / (.7 + .3 + .15).
    let more = Target { groups: 3.0, ..target.clone() };
    near(known(&one(&more, &machine), BoundName::Cpu).physics.unwrap().exact, 1.45 / 1.15);
    // TLS to clients, 2 bytes for each at 1 GB/s a core: two cores more.
    let tls = Target { tls: Tls::Clients, ..target };
    let machine = Machine { aes_bytes_per_s_per_core: given(1e9), ..machine };
    near(known(&one(&tls, &machine), BoundName::Cpu).physics.unwrap().exact, 6.0 / 4.0);
}

#[test]
fn a_measured_load_above_a_bound_says_that_a_figure_is_wrong() {
    let target = Target { load: load(1e9), ..Target::default() };
    let machine = Machine {
        disk_bytes_per_s: given(100e6),
        proven_ingress_bytes_per_s: given(200e6),
        proven_replication: Some(3),
        ..Machine::default()
    };
    let capacity = one(&target, &machine);
    assert_eq!((capacity.proven_brokers, capacity.physics.brokers), (Some(5), 30));
    assert!(capacity.unreachable[0].contains("memory absorbed"), "{:?}", capacity.unreachable);
}

#[test]
fn a_small_load_is_bound_by_its_copies_and_no_rate() {
    let capacity = one(&Target { load: load(1e3), ..Target::default() }, &machine("m5.large"));
    assert_eq!((capacity.physics.brokers, capacity.physics.binding), (3, Some(BoundName::Copies)));
    assert!(!capacity.throughput_bound);
}

#[test]
fn a_huge_need_is_rounded_up_to_what_it_is() {
    // 7.2e9 to the byte: 1e9 bytes/s x 3 copies x 2.4 s kept, on brokers of one byte.
    let target = Target {
        load: load(1e9),
        retention_s: Some(2.4),
        zones: 1,
        reserve: Reserve::Broker,
        ..Target::default()
    };
    let capacity = one(&target, &Machine { storage_bytes: given(1.0), ..Machine::default() });
    assert_eq!(capacity.physics.brokers, 7_200_000_000);
    // A third of a broker above a whole number is another broker, however many there are.
    assert_eq!(Need::of(7_200_000_000.3, Growth::Load).count, 7_200_000_001);
    // An error of the arithmetic is not.
    assert_eq!(Need::of(0.1 + 0.2, Growth::Load).count, 1);
    assert_eq!(Need::of(3.0 + 4e-10, Growth::Load).count, 3);
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let year = Target { load: load(1e18), retention_s: Some(1_000.0 * 86_400.0), ..Target::default() };
    let tiny = Machine { storage_bytes: given(1e3), ..Machine::default() };
    let refused = size(&year, &tiny, &Assumptions::default());
    assert!(matches!(refused, Err(CapacityError::OutOfRange { .. })), "{refused:?}");
}

#[test]
fn what_crosses_zones_is_told_for_each_flow() {
    let target = Target { load: load(1e9), groups: 2.0, peak_factor: 1.5, ..Target::default() };
    let cross = one(&target, &Machine::default()).cross_zone.unwrap();
    near(cross.producers_share, 2.0 / 3.0);
    near(cross.replication_share, 2.0);
    near(cross.consumers_share, 4.0 / 3.0);
    assert_eq!(cross.consumers_share_from_closest, 0.0);
    assert_eq!((cross.mean_bytes_per_s, cross.peak_bytes_per_s), (1e9, 1.5e9));
    let two_copies = Target { replication: 2, ..target.clone() };
    // A third of the consumers has no replica in its zone.
    near(one(&two_copies, &Machine::default()).cross_zone.unwrap().consumers_share_from_closest, 2.0 / 3.0);
    let one_zone = Target { zones: 1, reserve: Reserve::Broker, ..target };
    assert_eq!(one(&one_zone, &Machine::default()).cross_zone, None);
}

#[test]
fn what_cannot_be_is_refused() {
    let machine = Machine::default();
    let refused = |target: Target| size(&target, &machine, &Assumptions::default()).unwrap_err();
    assert!(matches!(refused(Target::default()), CapacityError::NoLoad { .. }));
    let rate_alone = Load { messages_per_s: Some(1.0), ..Load::default() };
    assert!(matches!(
        refused(Target { load: rate_alone, ..Target::default() }),
        CapacityError::NoLoad { .. }
    ));
    let of = |change: fn(&mut Target)| {
        let mut target = Target { load: load(1e9), ..Target::default() };
        change(&mut target);
        refused(target)
    };
    assert!(matches!(of(|target| target.peak_factor = 0.5), CapacityError::OutOfRange { .. }));
    let turned_round = of(|target| target.compression_ratio = 0.5).to_string();
    assert!(turned_round.contains("2 for data that shrinks to half"), "{turned_round}");
    let groups = of(|target| target.groups = 1e300).to_string();
    assert_eq!(groups, "the number of consumer groups is 1e300; expected 0 to 1e6");
    assert!(matches!(of(|target| target.replication = 0), CapacityError::OutOfRange { .. }));
    assert!(matches!(of(|target| target.groups = -1.0), CapacityError::OutOfRange { .. }));
    assert!(matches!(
        of(|target| target.load.bytes_per_s = Some(f64::NAN)),
        CapacityError::OutOfRange { .. }
    ));
    assert_eq!(of(|target| target.zones = 1), CapacityError::OneZone);
    let broken = Machine { cores: given(0.0), ..Machine::default() };
    assert!(
        size(&Target { load: load(1e9), ..Target::default() }, &broken, &Assumptions::default()).is_err()
    );
}

#[test]
fn a_plan_in_clusters_has_the_load_dealt_evenly_and_a_reserve_in_each() {
    // 100 GB/s at 100 MB/s for each broker of three copies: 3,000 by physics.
    let machine = Machine { disk_bytes_per_s: given(100.0 * MB), ..Machine::default() };
    let target = Target { load: load(1e11), reserve: Reserve::Nothing, ..Target::default() };
    let whole = one(&target, &machine);
    assert_eq!(whole.clusters, None, "nobody said how many brokers a cluster may have");
    let limit = Target { brokers_per_cluster: Some(60), ..target.clone() };
    let Clusters { clusters, brokers_each, brokers } = one(&limit, &machine).clusters.unwrap();
    assert_eq!(clusters, whole.plan.brokers.div_ceil(60));
    assert!(
        brokers_each <= 60 && brokers_each % 3 == 0 && brokers >= whole.plan.brokers,
        "{brokers_each} {brokers}"
    );
    // 61 are 60 by three zones; one of each cluster is in reserve.
    let reserve = Target { brokers_per_cluster: Some(61), reserve: Reserve::Broker, ..target.clone() };
    let one_more = one(&Target { reserve: Reserve::Broker, ..target.clone() }, &machine).plan.brokers;
    let Clusters { clusters, brokers_each, .. } = one(&reserve, &machine).clusters.unwrap();
    assert_eq!((clusters, brokers_each <= 60), ((one_more - 1).div_ceil(59), true));
    for too_few in [0, 2] {
        let target = Target { brokers_per_cluster: Some(too_few), ..target.clone() };
        assert!(size(&target, &machine, &Assumptions::default()).is_err(), "{too_few}");
    }
}
