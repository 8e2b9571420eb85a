//! Emissions with known truths in them.

use super::*;
use plumb_model::observed::ClientKind;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Emissions of one client, as a line each.
fn seen(emissions: &[Value]) -> ClientsSeen {
    let mut readings = ClientReadings::new("statistics.log");
    for emission in emissions {
        readings.take(format!("{emission}\n").as_bytes());
    }
    readings.close()
}

fn one(emissions: &[Value]) -> ClientWindow {
    let mut seen = seen(emissions);
    assert_eq!((seen.clients.len(), &seen.unseen[..]), (1, &[][..]));
    seen.clients.remove(0)
}

fn window(sum: u64, cnt: u64, min: u64, max: u64) -> Value {
    let avg = sum.checked_div(cnt).unwrap_or(0);
    json!({"min": min, "max": max, "avg": avg, "sum": sum, "cnt": cnt, "outofrange": 0, "p99": 77})
}

/// A producer's emission at that second of its life, after so many messages of 100 bytes in batches of ten.
fn producer(second: u64, messages: u64) -> Value {
    json!({
        "name": "orders#producer-1", "client_id": "orders", "type": "producer",
        "ts": 90_000_000 + second * 1_000_000, "age": second * 1_000_000,
        "replyq": 0, "msg_cnt": 10, "msg_size": 1_000, "msg_max": 100, "msg_size_max": 100_000,
        "txmsgs": messages, "txmsg_bytes": messages * 100,
        "brokers": {
            "a:9092/1": {"nodeid": 1, "waitresp_cnt": 2, "txerrs": 0, "rxerrs": 0, "txretries": 0, "req_timeouts": 0,
                "connects": 1, "rx": 2 + messages / 10, "req": {"Produce": messages / 10, "Metadata": 1, "ApiVersion": 1},
                "int_latency": window(0, 0, 0, 0), "outbuf_latency": window(0, 0, 0, 0), "rtt": window(0, 0, 0, 0),
                "throttle": window(0, 0, 0, 0)},
            "a:9092/bootstrap": {"nodeid": -1, "connects": 1000 * second, "rx": 3, "waitresp_cnt": 9, "req": {"ApiVersion": 3}}
        },
        "topics": {"orders": {
            "batchcnt": window(messages, messages / 10, 10, 10), "batchsize": window(messages * 50, messages / 10, 500, 500),
            "partitions": {
                "0": {"partition": 0, "txmsgs": messages / 2}, "1": {"partition": 1, "txmsgs": messages / 2},
                "-1": {"partition": -1, "txmsgs": 5}
            }
        }}
    })
}

#[test]
fn rates_are_differences_of_counters_between_the_first_and_the_last_emission() {
    let mut last = producer(13, 5_000);
    let broker = &mut last["brokers"]["a:9092/1"];
    (broker["txretries"], broker["req_timeouts"], broker["txerrs"]) = (json!(20), json!(30), json!(40));
    broker["connects"] = json!(6);
    let client = one(&[producer(3, 1_000), producer(8, 3_000), last]);
    assert_eq!(
        (client.name.as_str(), client.kind, client.is_producer),
        ("orders#producer-1", ClientKind::Librdkafka, true)
    );
    assert_eq!(client.window_ns, 10_000_000_000);
    assert_eq!(client.messages_per_s, Some(400.0));
    assert_eq!(client.record_bytes_mean, Some(100.0));
    assert_eq!(
        (client.retries_per_s, client.timeouts_per_s, client.errors_per_s),
        (Some(2.0), Some(3.0), Some(4.0))
    );
    assert_eq!(client.connects_per_s, Some(0.5), "entries of bootstrap.servers are left out");
    assert_eq!((client.batch_messages_mean, client.batch_bytes_mean), (Some(10.0), Some(500.0)));
    assert_eq!(client.bytes_per_s, Some(400.0 * 50.0), "as they were sent");
    assert_eq!((client.in_flight_max, client.queue_share_max), (Some(2.0), Some(0.1)));
    assert_eq!(client.partition_skew, Some(1.0));
    assert_eq!((client.throttled, client.throttle_mean_ns, client.out_of_range), (Some(0), None, Some(0)));
    assert!(client.settings.is_empty());
}

#[test]
fn windows_are_put_together_by_their_counts_and_the_first_began_before() {
    let mut emissions = [producer(0, 0), producer(5, 1_000), producer(10, 2_000)];
    let windows = [
        window(9_000_000, 1, 9_000_000, 9_000_000),
        window(1_000, 1, 1_000, 1_000),
        window(99 * 3_000, 99, 10, 9_000),
    ];
    for (emission, window) in emissions.iter_mut().zip(windows) {
        for name in ["int_latency", "outbuf_latency", "rtt"] {
            emission["brokers"]["a:9092/1"][name] = window.clone();
        }
        emission["brokers"]["a:9092/1"]["rtt"]["outofrange"] = json!(3);
    }
    let client = one(&emissions);
    let mean_ns = Some((1_000.0 + 99.0 * 3_000.0) / 100.0 * 1e3);
    assert_eq!(
        (client.queue_mean_ns, client.outbuf_mean_ns, client.rtt_mean_ns),
        (mean_ns, mean_ns, mean_ns)
    );
    assert_eq!((client.rtt_min_ns, client.rtt_max_ns), (Some(10e3), Some(9e6)));
    assert_eq!(client.out_of_range, Some(6));
    for emission in &mut emissions {
        emission["brokers"]["a:9092/1"]["rtt"].as_object_mut().unwrap().remove("sum");
    }
    assert_eq!(one(&emissions).rtt_mean_ns, mean_ns, "average by count");
}

#[test]
fn throttle_times_are_milliseconds_and_where_zeros_were_counted_nobody_knows_how_many_were_held_back() {
    let throttled = |min: u64| {
        let mut last = producer(5, 1_000);
        last["brokers"]["a:9092/1"]["throttle"] = window(600, 6, min, 300);
        one(&[producer(0, 0), last])
    };
    assert_eq!((throttled(50).throttle_mean_ns, throttled(50).throttled), (Some(100e6), Some(6)));
    assert_eq!((throttled(0).throttle_mean_ns, throttled(0).throttled), (Some(100e6), None));
}

#[test]
fn round_trips_of_other_requests_are_not_those_of_produce_requests() {
    let with = |produce: u64, answers: u64| {
        let mut last = producer(5, 1_000);
        let broker = &mut last["brokers"]["a:9092/1"];
        broker["rtt"] = window(5_000, 10, 400, 900);
        broker["req"]["Produce"] = json!(produce);
        broker["rx"] = json!(2 + answers);
        broker["req"]["Metadata"] = json!(11);
        seen(&[producer(0, 0), last])
    };
    assert_eq!(with(990, 1_000).clients[0].rtt_mean_ns, Some(500e3));
    // acks=0: the ten answers are those to the requests for metadata.
    let unanswered = with(1_000, 10);
    assert_eq!((unanswered.clients[0].rtt_mean_ns, unanswered.clients[0].rtt_min_ns), (None, Some(400e3)));
    assert!(unanswered.unseen[0].reason.contains("10 of 10 answers"), "{:?}", unanswered.unseen);
    assert_eq!(with(0, 10).unseen, [], "nothing was sent");
}

#[test]
fn a_reply_queue_grows_where_it_grew_with_each_of_four_emissions_or_more() {
    let grows = |queues: &[u64]| {
        let emissions: Vec<Value> = queues
            .iter()
            .enumerate()
            .map(|(index, queue)| {
                let mut emission = producer(index as u64, index as u64);
                emission["replyq"] = json!(queue);
                emission
            })
            .collect();
        let client = one(&emissions);
        assert_eq!(client.reply_queue, queues.last().map(|queue| *queue as f64));
        client.reply_queue_grows
    };
    assert_eq!(grows(&[1, 2, 3, 4]), Some(true));
    assert_eq!(grows(&[1, 2, 3]), None);
    assert_eq!(grows(&[1, 2, 2, 4]), Some(false));
    assert_eq!(grows(&[2, 1]), Some(false));
}

#[test]
fn of_messages_in_no_queue_and_not_in_flight_those_wait_for_the_application_that_the_sender_cannot_hold() {
    let with = |counts: [u64; 3], sent: [u64; 3], longest_wait_us: u64| {
        let emissions = (0..3).map(|at| {
            let mut emission = producer(at as u64, sent[at]);
            emission["msg_cnt"] = json!(counts[at]);
            emission["brokers"]["a:9092/1"]["int_latency"] = window(100, 1, 100, longest_wait_us);
            for partition in emission["topics"]["orders"]["partitions"].as_object_mut().unwrap().values_mut()
            {
                (partition["msgq_cnt"], partition["msgs_inflight"]) = (json!(3), json!(7));
            }
            emission
        });
        one(&emissions.collect::<Vec<Value>>()).reports_waiting
    };
    // 30 of three partitions are elsewhere; at 500 messages a second a sender holds 25 at most of which none waited longer than 50 ms. The last
    // reading tells nothing: what it counts may go out later.
    assert_eq!(with([230, 330, 430], [0, 500, 1_000], 50_000), Some(225.0));
    // A queue of the sender: what waits there waited long.
    assert_eq!(with([230, 330, 430], [0, 500, 1_000], 4_000_000), Some(0.0));
    // Hardly anything went out since: who knows what the sender holds.
    assert_eq!(with([230, 330, 430], [0, 100, 200], 50_000), None);
    // A version that does not count what is in flight.
    assert_eq!(one(&[producer(0, 0), producer(1, 100)]).reports_waiting, None);
}

#[test]
fn one_hot_partition_shows_where_there_are_batches_enough_to_tell() {
    let skew = |messages: u64| {
        let mut last = producer(5, messages);
        let partitions = &mut last["topics"]["orders"]["partitions"];
        (partitions["0"]["txmsgs"], partitions["1"]["txmsgs"]) =
            (json!(messages * 9 / 10), json!(messages / 10));
        one(&[producer(0, 0), last]).partition_skew
    };
    assert_eq!(skew(1_000), Some(1.8));
    assert_eq!(skew(190), None);
}

/// A consumer's emission of two partitions.
fn consumer(second: u64, lags: [i64; 2], rebalances: u64) -> Value {
    let partition = |index: usize| {
        json!({"partition": index, "fetch_state": "active", "fetchq_cnt": 70, "consumer_lag": 999, "consumer_lag_stored": lags[index],
            "hi_offset": 500, "ls_offset": 480, "rxmsgs": 300 * second})
    };
    json!({
        "name": "app#consumer-1", "client_id": "app", "type": "consumer", "ts": second * 1_000_000, "age": second * 1_000_000,
        "replyq": 70, "rxmsgs": 600 * second, "rxmsg_bytes": 6_000 * second,
        "brokers": {
            "a:9092/1": {"nodeid": 1, "rtt": window(500_000, 1, 500_000, 500_000), "req": {"Fetch": second}, "rx": second},
            "GroupCoordinator": {"nodeid": 1, "req": {"OffsetCommit": 3 * second, "Heartbeat": 5}, "rx": 1}
        },
        "topics": {"orders": {"batchcnt": window(100, 2, 1, 60), "partitions": {
            "0": partition(0), "1": partition(1),
            "2": {"partition": 2, "fetch_state": "none", "consumer_lag_stored": -1, "rxmsgs": 0, "fetchq_cnt": 0}}}},
        "cgrp": {"rebalance_cnt": rebalances}
    })
}

#[test]
fn the_lag_of_partitions_that_came_within_the_window_grows_from_when_they_came() {
    let mut without = consumer(10, [-1, -1], 1);
    for partition in without["topics"]["orders"]["partitions"].as_object_mut().unwrap().values_mut() {
        (partition["fetch_state"], partition["fetchq_cnt"]) = (json!("none"), json!(0));
        partition["consumer_lag"] = json!(-1);
    }
    let client = one(&[without.clone(), consumer(15, [100, 0], 2), consumer(20, [350, 50], 2)]);
    assert_eq!((client.lag, client.lag_growth_per_s), (Some(400.0), Some(60.0)));
    // Of 6,000 messages that came 70 wait.
    assert_eq!(client.taken_per_s, Some(593.0));
    assert_eq!(one(&[without, consumer(20, [350, 50], 2)]).lag_growth_per_s, None);
}

#[test]
fn a_consumer_has_its_lag_its_commits_and_its_rebalances_and_no_round_trip() {
    let client = one(&[consumer(10, [100, 50], 1), consumer(20, [300, 50], 5)]);
    assert!(!client.is_producer);
    assert_eq!((client.messages_per_s, client.bytes_per_s), (Some(600.0), Some(6_000.0)));
    assert_eq!((client.lag, client.lag_growth_per_s), (Some(350.0), Some(20.0)));
    assert_eq!((client.commits_per_s, client.rebalances), (Some(3.0), Some(2)));
    assert_eq!((client.rtt_mean_ns, client.rtt_min_ns, client.queue_mean_ns), (None, None, None));
    assert_eq!(client.fetch_queue, Some(70.0), "both partitions tell of one queue");
    assert_eq!(client.stable_offset_lag, Some(40.0));
    assert_eq!(client.reply_queue, None);
}

#[test]
fn lag_that_came_with_a_partition_did_not_grow() {
    let mut before = consumer(10, [100, 50], 1);
    before["topics"]["orders"]["partitions"]["1"]["fetch_state"] = json!("none");
    let client = one(&[before, consumer(20, [130, 9_000], 3)]);
    assert_eq!((client.lag, client.lag_growth_per_s), (Some(9_130.0), Some(3.0)));
}

#[test]
fn clients_of_one_name_are_told_apart_by_when_they_were_made() {
    let other = |second: u64, messages: u64| {
        let mut emission = producer(second, messages);
        emission["ts"] = json!(7_000_000 + second * 1_000_000);
        emission
    };
    let both = seen(&[producer(0, 0), other(0, 0), producer(10, 1_000), other(10, 9_000)]);
    let rates: Vec<_> =
        both.clients.iter().map(|client| (client.name.as_str(), client.messages_per_s)).collect();
    assert_eq!(rates, [("orders#producer-1", Some(100.0)), ("orders#producer-1 (2)", Some(900.0))]);
    assert_eq!(both.unseen, []);

    let anew = seen(&[producer(0, 0), producer(10, 1_000), other(0, 0), other(10, 9_000)]);
    assert_eq!((anew.clients.len(), anew.clients[0].messages_per_s), (1, Some(900.0)));
    assert!(anew.unseen[0].reason.contains("started anew"), "{:?}", anew.unseen);
}

#[test]
fn counters_that_went_back_give_no_rates_and_no_means() {
    let without_age = |second: u64, messages: u64| {
        let mut emission = producer(second, messages);
        emission.as_object_mut().unwrap().remove("age");
        emission
    };
    for anew in [
        [without_age(10, 9_000), without_age(15, 9_500), without_age(1, 10)],
        [without_age(10, 9_000), without_age(12, 10), without_age(15, 9_500)],
    ] {
        let seen = seen(&anew);
        assert_eq!((seen.clients[0].messages_per_s, seen.clients[0].batch_bytes_mean), (None, None));
        assert!(seen.unseen[0].reason.contains("went back"), "{:?}", seen.unseen);
    }
}

#[test]
fn an_emission_that_is_read_twice_counts_once_and_a_single_one_gives_gauges_alone() {
    let seen = seen(&[producer(5, 1_000), producer(5, 1_000)]);
    let client = &seen.clients[0];
    assert_eq!((client.messages_per_s, client.rtt_mean_ns, client.window_ns), (None, None, 0));
    assert_eq!(client.queue_share_max, Some(0.1));
    assert!(seen.unseen[0].reason.contains("one emission"), "{:?}", seen.unseen);
}

#[test]
fn a_client_whose_id_makes_its_statistics_no_json_is_named_beside_those_that_are_read() {
    // As librdkafka writes it, in its order and with its spaces.
    let written = concat!(
        r##"{ "name": "my "orders"#producer-1", "client_id": "my "orders"", "type": "producer", "ts":5, "brokers":{ } }"##,
        "\n"
    );
    let mut readings = ClientReadings::new("statistics.log");
    readings.take(written.as_bytes());
    readings.take(written.as_bytes());
    let alone = readings.close();
    assert!(alone.clients.is_empty());
    assert_eq!(alone.unseen.len(), 1, "{:?}", alone.unseen);
    assert!(alone.unseen[0].is_client_statistics());
    let reason = &alone.unseen[0].reason;
    assert!(reason.contains(r#"client.id "my \"orders\"" has a quotation mark"#), "{reason}");

    let mut readings = ClientReadings::new("statistics.log");
    for emission in [producer(1, 0), producer(5, 400)] {
        readings.take(format!("{emission}\n{written}").as_bytes());
    }
    let both = readings.close();
    assert_eq!((both.clients.len(), both.unseen.len()), (1, 1), "{:?}", both.unseen);
}

#[test]
fn a_source_without_statistics_says_what_came_instead() {
    let reason = |text: &str| {
        let mut readings = ClientReadings::new("x");
        readings.take(text.as_bytes());
        readings.close().unseen[0].reason.clone()
    };
    assert_eq!(reason(""), "no line came within the window");
    assert_eq!(reason("{\"name\": "), "within the window came a part of a line, and not its end");
    assert!(
        reason("{\"a\": 1}\nb\n")
            .contains("2 lines came within the window, none of them with librdkafka's statistics")
    );
    let mut readings = ClientReadings::new("x");
    for _ in 0..40 {
        readings.take(&vec![b'x'; 1 << 20]);
    }
    readings.take(b"\n");
    readings.take(format!("{}\n{}\n", producer(0, 0), producer(5, 10)).as_bytes());
    let seen = readings.close();
    assert_eq!(seen.clients.len(), 1);
    assert!(seen.unseen[0].reason.contains("longer than 32 MB"), "{:?}", seen.unseen);
}

#[test]
fn an_answer_may_be_one_object_over_many_lines_or_an_array_of_several_clients() {
    let mut readings = ClientReadings::new("x");
    for second in [0, 5] {
        readings.begin_of_answer();
        let text =
            serde_json::to_string_pretty(&json!([producer(second, second), consumer(second, [1, 1], 1)]))
                .unwrap();
        text.as_bytes().chunks(100).for_each(|piece| readings.take(piece));
        readings.end_of_answer();
    }
    let seen = readings.close();
    assert_eq!((seen.clients.len(), seen.unseen.len()), (2, 0), "{:?}", seen.unseen);
    assert_eq!(seen.clients[1].messages_per_s, Some(1.0));
}

#[test]
fn names_without_end_and_clients_without_number_are_cut() {
    let mut readings = ClientReadings::new("x");
    for index in 0..1_100 {
        let mut emission = producer(0, 0);
        emission["name"] = json!(format!("{index}\u{1b}[31m{}", "n".repeat(300)));
        readings.take(format!("{emission}\n").as_bytes());
    }
    let seen = readings.close();
    assert_eq!(seen.clients.len(), CLIENTS_MOST);
    assert!(seen.clients.iter().all(|client| client.name.chars().count() <= 200));
    assert!(seen.unseen.iter().any(|unseen| unseen.what.contains("further clients")));
}

proptest! {
    #[test]
    fn any_numbers_give_figures_from_zero_up(numbers in proptest::collection::vec(-1e12..1e12_f64, 12)) {
        let emission = |ts: f64, numbers: &[f64]| json!({
            "name": "n", "type": "producer", "ts": ts, "replyq": numbers[0], "msg_cnt": numbers[1], "msg_max": numbers[2],
            "txmsgs": numbers[3], "txmsg_bytes": numbers[4],
            "brokers": {"b": {"nodeid": 1, "rx": numbers[0], "req": {"Produce": numbers[1]},
                "int_latency": {"sum": numbers[2], "cnt": numbers[3], "min": 1, "max": 2}, "throttle": {"avg": numbers[4], "cnt": numbers[5]}}},
            "topics": {"t": {"batchcnt": {"sum": numbers[0], "cnt": 1}, "partitions": {"0": {"partition": 0, "txmsgs": numbers[5]}}}}
        });
        let seen = seen(&[emission(0.0, &numbers[..6]), emission(1e6, &numbers[6..])]);
        for client in seen.clients {
            for figure in [client.messages_per_s, client.bytes_per_s, client.queue_mean_ns, client.batch_messages_mean, client.throttle_mean_ns,
                client.queue_share_max, client.partition_skew] {
                prop_assert!(figure.is_none_or(|figure| figure >= 0.0 && figure.is_finite()));
            }
        }
    }
}

#[test]
fn round_trips_near_40_ms_are_those_between_two_percentiles_that_are() {
    let with_rtt = |second: u64, rtt: Value| {
        let mut emission = producer(second, second * 100);
        emission["brokers"]["a:9092/1"]["rtt"] = rtt;
        emission
    };
    let rtt = |outofrange: u64| {
        json!({"min": 900, "max": 48_000, "avg": 20_000, "sum": 200_000, "cnt": 10, "outofrange": outofrange,
            "p50": 1_100, "p75": 40_500, "p90": 41_000, "p95": 42_000, "p99": 48_000})
    };
    let first = || with_rtt(0, window(0, 0, 0, 0));
    let share = one(&[first(), with_rtt(1, rtt(0)), with_rtt(2, rtt(0))]).rtt_near_40_ms_share.unwrap();
    assert!((share - 0.25).abs() < 1e-9, "from p75 on: {share}");
    assert_eq!(
        one(&[first(), with_rtt(1, rtt(3))]).rtt_near_40_ms_share,
        None,
        "percentiles that are cut off"
    );
    assert_eq!(one(&[first(), with_rtt(1, window(10, 5, 1, 3))]).rtt_near_40_ms_share, None, "none told");
}

#[test]
fn what_the_application_took_is_what_came_less_what_has_come_to_wait_for_it() {
    let waits = |second: u64, queue: u64| {
        let mut emission = consumer(second, [0, 0], 1);
        emission["replyq"] = json!(queue);
        for partition in emission["topics"]["orders"]["partitions"].as_object_mut().unwrap().values_mut() {
            partition["fetchq_cnt"] = json!(queue);
        }
        emission
    };
    let client = one(&[waits(0, 0), waits(10, 3_000)]);
    assert_eq!(client.taken_per_s, Some(300.0), "{client:#?}");
}
