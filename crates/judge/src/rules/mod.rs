//! The rules, one file each. Adding one is adding a file, a row here and a page under `docs/findings`.

mod acknowledged_too_soon;
mod broker_unreachable;
mod burst_credits;
mod client_bound;
mod client_programs;
mod client_queue;
mod cold_start;
mod commit_storm;
mod compression;
mod consumers_behind;
mod counts_do_not_add_up;
mod counts_not_checked;
mod deleted_meanwhile;
mod duplicates_or_reorder;
mod durability;
mod far_broker;
mod foreign_records;
mod histogram_overflow;
mod host_changed;
mod identical_steps_differ;
mod instrument_coarse;
mod knee;
mod linger_bound;
mod linger_explains_difference;
pub(crate) mod memory_absorbed;
mod messages_failed;
mod messages_lost;
mod negative_latency;
mod noise_floor;
mod noisy_host;
mod not_steady;
mod open_transaction;
mod queue_unclear;
mod rebalance_in_window;
mod reconnect_in_window;
mod removed_before_read;
mod replication_behind;
mod same_device;
mod same_host;
mod saturated;
mod schedule_wait;
mod search_unsettled;
mod send_times_differ;
mod throttled;
mod throughput_bound;
mod too_few_blocks;
mod too_few_samples;
mod unconfirmed;
mod unencrypted;
mod unequal_durability;
mod unequal_records;
mod uneven_leaders;
mod uneven_partitions;
mod unfinished_run;
mod variability_onset;
mod worker_behind;
mod worker_clocks;
mod workers_share_host;

use crate::rule::Rule;

/// Every rule, the most telling first among equally grave ones.
pub(crate) const REGISTRY: &[Rule] = &[
    unfinished_run::RULE,
    counts_do_not_add_up::RULE,
    messages_lost::RULE,
    replication_behind::RULE,
    open_transaction::RULE,
    removed_before_read::RULE,
    broker_unreachable::RULE,
    messages_failed::RULE,
    saturated::RULE,
    queue_unclear::RULE,
    search_unsettled::RULE,
    client_bound::RULE,
    worker_behind::RULE,
    client_queue::RULE,
    worker_clocks::RULE,
    negative_latency::RULE,
    send_times_differ::RULE,
    acknowledged_too_soon::RULE,
    histogram_overflow::RULE,
    too_few_samples::RULE,
    rebalance_in_window::RULE,
    reconnect_in_window::RULE,
    throttled::RULE,
    cold_start::RULE,
    not_steady::RULE,
    burst_credits::RULE,
    noisy_host::RULE,
    host_changed::RULE,
    memory_absorbed::RULE,
    same_device::RULE,
    uneven_leaders::RULE,
    uneven_partitions::RULE,
    commit_storm::RULE,
    duplicates_or_reorder::RULE,
    foreign_records::RULE,
    instrument_coarse::RULE,
    identical_steps_differ::RULE,
    unequal_durability::RULE,
    unequal_records::RULE,
    unconfirmed::RULE,
    compression::RULE,
    schedule_wait::RULE,
    too_few_blocks::RULE,
    deleted_meanwhile::RULE,
    far_broker::RULE,
    same_host::RULE,
    workers_share_host::RULE,
    client_programs::RULE,
    unencrypted::RULE,
    durability::RULE,
    counts_not_checked::RULE,
    throughput_bound::RULE,
    consumers_behind::RULE,
    knee::RULE,
    variability_onset::RULE,
    linger_bound::RULE,
    linger_explains_difference::RULE,
    noise_floor::RULE,
];
