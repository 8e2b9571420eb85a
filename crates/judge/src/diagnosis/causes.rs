//! The causes, one file each, in the order of the path. Adding one is adding a file, a row here and a page under `docs/findings`.

mod aes_not_accelerated;
mod batches_too_small;
mod broker_recompression;
mod buffer_exhausted;
mod callbacks_slow;
mod cleaner_io;
mod client_compression_cpu;
mod client_cpu_bound;
mod clock_offset;
mod cold_reads;
mod commits_frequent;
mod connection_storm;
mod consumer_slow;
mod coordinator_load;
mod cpu_quota;
mod cpu_stolen;
mod device_saturated;
mod device_throttled;
mod dirty_page_throttling;
mod fetch_wait;
mod few_partitions;
mod few_replica_fetchers;
mod flush_forced;
mod format_conversion;
mod gc_pauses;
mod group_rebalances;
mod handlers_blocked;
mod handlers_saturated;
mod hot_partition;
mod in_flight_limit;
mod in_sync_replicas_short;
mod journal_commits;
mod large_messages;
mod leader_skew;
mod linger_too_long;
mod log_directories_uneven;
mod many_partitions;
mod nagle_delayed_ack;
mod network_saturated;
mod network_threads_saturated;
mod nic_drops;
mod noisy_neighbour;
mod open_transactions;
mod packet_loss;
mod partition_lock;
mod process_stopped;
mod processors_saturated;
mod quota_throttling;
mod receive_backlog_drops;
mod remote_memory;
mod replication_throttle_left;
mod request_queue_full;
mod retries;
mod serial_connection;
mod slow_follower;
mod socket_buffers_small;
mod tls_cpu;

use super::cause::CauseRow;

/// Every cause that Plumb can name.
pub(crate) static REGISTRY: [CauseRow; 57] = [
    batches_too_small::CAUSE,
    linger_too_long::CAUSE,
    buffer_exhausted::CAUSE,
    in_flight_limit::CAUSE,
    serial_connection::CAUSE,
    client_cpu_bound::CAUSE,
    callbacks_slow::CAUSE,
    retries::CAUSE,
    client_compression_cpu::CAUSE,
    broker_recompression::CAUSE,
    format_conversion::CAUSE,
    aes_not_accelerated::CAUSE,
    connection_storm::CAUSE,
    tls_cpu::CAUSE,
    nagle_delayed_ack::CAUSE,
    socket_buffers_small::CAUSE,
    network_saturated::CAUSE,
    packet_loss::CAUSE,
    receive_backlog_drops::CAUSE,
    nic_drops::CAUSE,
    network_threads_saturated::CAUSE,
    handlers_saturated::CAUSE,
    handlers_blocked::CAUSE,
    request_queue_full::CAUSE,
    partition_lock::CAUSE,
    gc_pauses::CAUSE,
    coordinator_load::CAUSE,
    dirty_page_throttling::CAUSE,
    journal_commits::CAUSE,
    flush_forced::CAUSE,
    device_throttled::CAUSE,
    device_saturated::CAUSE,
    log_directories_uneven::CAUSE,
    cold_reads::CAUSE,
    cleaner_io::CAUSE,
    slow_follower::CAUSE,
    few_replica_fetchers::CAUSE,
    replication_throttle_left::CAUSE,
    in_sync_replicas_short::CAUSE,
    quota_throttling::CAUSE,
    leader_skew::CAUSE,
    hot_partition::CAUSE,
    few_partitions::CAUSE,
    many_partitions::CAUSE,
    large_messages::CAUSE,
    fetch_wait::CAUSE,
    consumer_slow::CAUSE,
    group_rebalances::CAUSE,
    commits_frequent::CAUSE,
    open_transactions::CAUSE,
    clock_offset::CAUSE,
    cpu_stolen::CAUSE,
    cpu_quota::CAUSE,
    process_stopped::CAUSE,
    noisy_neighbour::CAUSE,
    processors_saturated::CAUSE,
    remote_memory::CAUSE,
];

/// A path that has a cause, by its id.
#[cfg(test)]
pub(super) type Injection = (&'static str, fn(&mut plumb_model::observed::ObservedPath));

/// A path for each cause.
#[cfg(test)]
pub(super) const INJECTIONS: [Injection; 57] = [
    ("batches-too-small", batches_too_small::inject),
    ("linger-too-long", linger_too_long::inject),
    ("buffer-exhausted", buffer_exhausted::inject),
    ("in-flight-limit", in_flight_limit::inject),
    ("serial-connection", serial_connection::inject),
    ("client-cpu-bound", client_cpu_bound::inject),
    ("callbacks-slow", callbacks_slow::inject),
    ("retries", retries::inject),
    ("client-compression-cpu", client_compression_cpu::inject),
    ("broker-recompression", broker_recompression::inject),
    ("format-conversion", format_conversion::inject),
    ("aes-not-accelerated", aes_not_accelerated::inject),
    ("connection-storm", connection_storm::inject),
    ("tls-cpu", tls_cpu::inject),
    ("nagle-delayed-ack", nagle_delayed_ack::inject),
    ("socket-buffers-small", socket_buffers_small::inject),
    ("network-saturated", network_saturated::inject),
    ("packet-loss", packet_loss::inject),
    ("receive-backlog-drops", receive_backlog_drops::inject),
    ("nic-drops", nic_drops::inject),
    ("network-threads-saturated", network_threads_saturated::inject),
    ("handlers-saturated", handlers_saturated::inject),
    ("handlers-blocked", handlers_blocked::inject),
    ("request-queue-full", request_queue_full::inject),
    ("partition-lock", partition_lock::inject),
    ("gc-pauses", gc_pauses::inject),
    ("coordinator-load", coordinator_load::inject),
    ("dirty-page-throttling", dirty_page_throttling::inject),
    ("journal-commits", journal_commits::inject),
    ("flush-forced", flush_forced::inject),
    ("device-throttled", device_throttled::inject),
    ("device-saturated", device_saturated::inject),
    ("log-directories-uneven", log_directories_uneven::inject),
    ("cold-reads", cold_reads::inject),
    ("cleaner-io", cleaner_io::inject),
    ("slow-follower", slow_follower::inject),
    ("few-replica-fetchers", few_replica_fetchers::inject),
    ("replication-throttle-left", replication_throttle_left::inject),
    ("in-sync-replicas-short", in_sync_replicas_short::inject),
    ("quota-throttling", quota_throttling::inject),
    ("leader-skew", leader_skew::inject),
    ("hot-partition", hot_partition::inject),
    ("few-partitions", few_partitions::inject),
    ("many-partitions", many_partitions::inject),
    ("large-messages", large_messages::inject),
    ("fetch-wait", fetch_wait::inject),
    ("consumer-slow", consumer_slow::inject),
    ("group-rebalances", group_rebalances::inject),
    ("commits-frequent", commits_frequent::inject),
    ("open-transactions", open_transactions::inject),
    ("clock-offset", clock_offset::inject),
    ("cpu-stolen", cpu_stolen::inject),
    ("cpu-quota", cpu_quota::inject),
    ("process-stopped", process_stopped::inject),
    ("noisy-neighbour", noisy_neighbour::inject),
    ("processors-saturated", processors_saturated::inject),
    ("remote-memory", remote_memory::inject),
];
