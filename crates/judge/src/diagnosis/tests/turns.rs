//! Whose turn is waited for: truths of which a mean alone says another thing.

use super::build::*;
use super::{diagnose, injected, supported};
use plumb_model::diagnosis::Diagnosis;
use plumb_model::observed::{ObservedPath, ReceivingConnection, ThreadClass};

fn of(change: impl FnOnce(&mut ObservedPath)) -> Diagnosis {
    let mut path = healthy_path();
    change(&mut path);
    diagnose(&path)
}

fn fetch_ns(diagnosis: &Diagnosis) -> Option<f64> {
    diagnosis.stages.iter().find(|stage| stage.name == "fetch")?.mean_ns
}

#[test]
fn requests_of_bursts_wait_for_each_other_and_that_wait_is_the_appends() {
    // Four in flight of 42 ms each, one after another, and one alone is answered in 2 ms: the connection is idle most of the window.
    let bursts = |shortest_ns: f64| {
        of(|path| {
            path.clients.truncate(1);
            producers(path, |client| {
                (client.in_flight_max, client.messages_per_s) = (Some(4.0), Some(12_000.0));
                (client.batch_messages_mean, client.batch_bytes_mean) = (Some(870.0), Some(880_000.0));
                client.bytes_per_s = Some(12e6);
            });
            threads(path, ThreadClass::Handler).waits.insert("balance_dirty_pages".into(), 0.03);
            idle(path, 0.95, 0.93);
            wait(path, |waits| (waits.client_queue, waits.local, waits.unexplained) = (100.0, 40.0, 130.0));
            producers(path, |client| client.rtt_min_ns = Some(shortest_ns));
        })
    };
    assert_eq!(supported(&bursts(2e6)), ["dirty-page-throttling"]);
    // On a long way the same round trip is the way's.
    assert_eq!(supported(&bursts(120e6)), Vec::<&str>::new());
}

#[test]
fn small_batches_beside_many_other_requests_are_not_what_the_threads_do() {
    let busy = |per_s: f64| {
        of(|path| {
            producers(path, |client| {
                (client.batch_messages_mean, client.batch_bytes_mean) = (Some(1.0), Some(570.0));
            });
            brokers(path, |broker| {
                let mut other = broker.requests["Produce"].clone();
                other.per_s = Some(1_500.0);
                broker.requests.insert("Metadata".to_owned(), other);
                broker.requests.get_mut("Produce").unwrap().per_s = Some(per_s);
            });
            idle(path, 0.05, 0.5);
            wait(path, |waits| waits.unexplained = 700.0);
        })
    };
    assert!(!supported(&busy(95.0)).contains(&"batches-too-small"));
    assert!(supported(&busy(4_000.0)).contains(&"batches-too-small"));
}

#[test]
fn a_short_queue_is_full_where_network_threads_wait_for_neither_sockets_nor_processors() {
    let path = |runs: f64| {
        of(|path| {
            broker_setting(path, "queued.max.requests", "1");
            brokers(path, |broker| broker.request_queue_size = Some(0.0));
            idle(path, 0.01, 0.5);
            states(path, ThreadClass::Network, [runs, 0.0, 0.0, 0.3]);
            threads(path, ThreadClass::Network).busiest_share = Some(runs);
            wait(path, |waits| waits.unexplained = 700.0);
        })
    };
    assert_eq!(supported(&path(0.1)).first(), Some(&"request-queue-full"));
    assert!(!supported(&path(0.95)).contains(&"request-queue-full"), "a thread that runs waits for no place");
}

#[test]
fn throttle_times_that_fill_the_window_are_the_wait_behind_them_and_name_their_client() {
    let throttled = |times: u64| {
        of(|path| {
            path.brokers.truncate(1);
            path.clients.truncate(1);
            producers(path, |client| {
                (client.name, client.window_ns) = ("orders".to_owned(), 11_000_000_000);
                (client.throttled, client.throttle_mean_ns) = (Some(times), Some(26.2e6));
            });
            wait(path, |waits| waits.unexplained = 5_800.0);
        })
    };
    let full = throttled(400);
    assert_eq!(supported(&full), ["quota-throttling"]);
    // 400 times 26.2 ms of 11 s.
    assert!(full.findings[0].finding.claim.contains("holds \"orders\" back for 95.3 %"), "{}", full.summary);
    assert_eq!(supported(&throttled(20)), Vec::<&str>::new());
}

#[test]
fn what_brokers_refuse_for_now_is_sent_again_though_the_client_does_not_count_it() {
    let refused = |code: &str| {
        of(|path| {
            producers(path, |client| client.retries_per_s = Some(0.0));
            brokers(path, |broker| {
                broker.requests.get_mut("Produce").unwrap().per_s = Some(40.0);
                broker.errors_per_s.insert(code.to_owned(), 1.3);
            });
            wait(path, |waits| waits.client_queue = 63.0);
        })
    };
    assert_eq!(supported(&refused("REQUEST_TIMED_OUT")), ["retries"]);
    assert_eq!(supported(&refused("NOT_LEADER_OR_FOLLOWER")), Vec::<&str>::new(), "fetches have it as well");
}

#[test]
fn the_wait_for_bytes_is_told_by_settings_and_rate_where_no_broker_is_seen() {
    let alone = |rate: f64| {
        of(|path| {
            path.brokers.clear();
            path.settings.brokers.clear();
            path.clients.iter_mut().for_each(|client| client.end_to_end_mean_ns = None);
            consumers(path, |client| {
                client.bytes_per_s = Some(rate);
                client.settings.insert("fetch.min.bytes".into(), "200000".into());
                client.settings.insert("fetch.max.wait.ms".into(), "3000".into());
            });
        })
    };
    // 20 s until so many bytes have come, and 3 s are the most: half of that for a message at any moment.
    assert_eq!(fetch_ns(&alone(10_000.0)), Some(1.5e9));
    assert_eq!(supported(&alone(10_000.0)), ["fetch-wait"]);
    // A fifth of a second.
    assert_eq!(fetch_ns(&alone(1_000_000.0)), Some(0.1e9));
    assert_eq!(fetch_ns(&alone(1e9)), None, "bytes come at once");
}

#[test]
fn without_a_brokers_times_the_whole_round_trip_is_unexplained_and_none_of_it_is_left_out() {
    let alone = of(|path| path.brokers.clear());
    let stage = |name: &str| alone.stages.iter().find(|stage| stage.name == name).unwrap().mean_ns;
    let rtt_ns = healthy_path().clients.iter().find_map(|client| client.rtt_mean_ns);
    assert_eq!((stage("unexplained"), stage("local")), (rtt_ns, None));
}

#[test]
fn a_stopped_follower_is_the_root_and_the_followers_that_are_waited_for_the_consequence() {
    let stopped = of(|path| {
        for group in &mut process(path).groups {
            group.waits = [("do_signal_stop".to_owned(), 0.4)].into();
        }
        path.brokers[1].under_replicated = Some(3.0);
        wait(path, |waits| waits.remote = 100.0);
    });
    assert_eq!(supported(&stopped)[..2], ["process-stopped", "slow-follower"]);
    assert_eq!(supported(&injected("slow-follower")), ["slow-follower"]);
}

#[test]
fn senders_that_wait_for_their_own_buffer_are_told_by_what_the_kernel_counted() {
    let limited = |share: Option<f64>, lost: u64| {
        of(|path| {
            let tcp = &mut host(path).tcp;
            tcp.send_buffer_limited_share = share;
            (tcp.sent_segments, tcp.retransmitted) = (Some(100_000), Some(lost));
            wait(path, |waits| (waits.unexplained, waits.client_send) = (70.0, 30.0));
        })
    };
    assert!(supported(&limited(Some(0.6), 0)).contains(&"socket-buffers-small"));
    assert!(!supported(&limited(Some(0.05), 0)).contains(&"socket-buffers-small"));
    assert!(!supported(&limited(None, 0)).contains(&"socket-buffers-small"));
    // Lost packets make a buffer full, too.
    assert!(!supported(&limited(Some(0.6), 5_000)).contains(&"socket-buffers-small"));
}

#[test]
fn a_disk_that_holds_few_appends_for_long_is_named_though_their_mean_is_short() {
    // One handler of eight is in the journal for half of the window, and the mean over all appends is 9 ms.
    let held = |in_disk: f64, rtt_least_ns: f64| {
        of(|path| {
            path.clients.truncate(1);
            states(path, ThreadClass::Handler, [0.01, 0.005, in_disk, 0.93]);
            threads(path, ThreadClass::Handler).waits.insert("jbd2_log_wait_for_space".into(), in_disk);
            wait(path, |waits| (waits.client_queue, waits.local, waits.unexplained) = (900.0, 9.0, 4_000.0));
            producers(path, |client| {
                client.rtt_min_ns = Some(rtt_least_ns);
                (client.messages_per_s, client.bytes_per_s) = (Some(1_000.0), Some(1e6));
            });
        })
    };
    assert_eq!(supported(&held(0.06, 2e6)).first(), Some(&"journal-commits"));
    // Hardly ever there, or where a request alone takes as long, it explains nothing.
    assert!(!supported(&held(0.005, 2e6)).contains(&"journal-commits"));
    assert!(!supported(&held(0.06, 3_500e6)).contains(&"journal-commits"));
}

#[test]
fn a_receive_buffer_that_is_smaller_than_what_is_on_the_way_is_told_by_the_kernels_round_trip() {
    // A request of 500 KB takes twelve round trips of 50 ms through a buffer of 16 KB: its own round trip says nothing of the way.
    let received = |bytes_per_s: f64, round_trip_ns: f64| {
        of(|path| {
            path.clients.truncate(1);
            producers(path, |client| (client.rtt_min_ns, client.bytes_per_s) = (Some(618e6), Some(317e3)));
            broker_setting(path, "socket.receive.buffer.bytes", "16384");
            host(path).tcp.longest_receiver = Some(ReceivingConnection { bytes_per_s, round_trip_ns });
            wait(path, |waits| (waits.client_queue, waits.unexplained) = (7_190.0, 650.0));
        })
    };
    assert_eq!(supported(&received(317e3, 50e6)), ["socket-buffers-small"]);
    // Half of the buffer is on the way, or the way is short.
    assert!(!supported(&received(160e3, 50e6)).contains(&"socket-buffers-small"));
    assert!(!supported(&received(317e3, 1e6)).contains(&"socket-buffers-small"));
}

#[test]
fn reports_that_the_application_takes_late_are_told_by_messages_that_are_in_no_other_queue() {
    // One entry of the queue carries the reports of a whole batch: its length says nothing.
    let waiting = |messages: f64| {
        of(|path| {
            producers(path, |client| {
                (client.messages_per_s, client.reply_queue) = (Some(454.0), Some(1.0));
                (client.reply_queue_grows, client.reports_waiting) = (Some(false), Some(messages));
            });
        })
    };
    assert_eq!(supported(&waiting(250.0)), ["callbacks-slow"]);
    assert_eq!(supported(&waiting(12.0)), Vec::<&str>::new());
    // One message a second, whose report the application takes with the next one.
    let idle = of(|path| {
        producers(path, |client| {
            (client.messages_per_s, client.reports_waiting) = (Some(1.0), Some(0.8));
        });
    });
    assert!(!supported(&idle).contains(&"callbacks-slow"));
}

#[test]
fn handlers_that_are_ready_for_a_processor_are_at_work_and_a_controllers_idle_ones_are_not_counted() {
    // One handler of the broker and one of its controller: both are of one class, and the controller's has nothing to do.
    let handlers = |executing: f64, runnable: f64| {
        of(|path| {
            broker_setting(path, "num.io.threads", "4");
            states(path, ThreadClass::Handler, [executing, runnable, 0.0, 0.5]);
            idle(path, 0.8, 0.15);
            wait(path, |waits| waits.request_queue = 25.0);
        })
    };
    assert_eq!(supported(&handlers(0.22, 0.24)), ["handlers-saturated"]);
    assert_eq!(supported(&handlers(0.10, 0.01)), ["handlers-blocked"]);
}

#[test]
fn requests_of_groups_count_by_their_number_where_their_times_are_not_told() {
    let commits = |per_s: f64| {
        of(|path| {
            brokers(path, |broker| {
                let commits = broker.requests.get_mut("OffsetCommit").unwrap();
                (commits.per_s, commits.stages.local) = (Some(per_s), None);
            });
            idle(path, 0.8, 0.1);
            states(path, ThreadClass::Handler, [0.8, 0.1, 0.0, 0.1]);
            wait(path, |waits| waits.request_queue = 25.0);
        })
    };
    assert_eq!(supported(&commits(7_000.0))[0], "coordinator-load");
    assert!(!supported(&commits(1.0)).contains(&"coordinator-load"));
}

#[test]
fn a_record_from_the_future_proves_that_clocks_disagree() {
    let ahead = |ahead_ns: i64| {
        of(|path| {
            let topic = path.settings.topics.get_mut("orders").unwrap();
            topic.newest_record_ahead_ns = Some(ahead_ns);
        })
    };
    let found = ahead(2_000_000_000);
    assert_eq!(supported(&found), ["clock-offset"]);
    assert!(found.findings[0].finding.claim.contains("2.00 s ahead"), "{}", found.findings[0].finding.claim);
    // One that is as old as its way was long, one within the rounding, and one that an application dated.
    for ahead_ns in [-900_000_000, 3_000_000, 86_400_000_000_000] {
        assert_eq!(supported(&ahead(ahead_ns)), Vec::<&str>::new());
    }
}
