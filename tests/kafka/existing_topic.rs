//! A topic that the user names is used as it is and left as it was.

use super::{assert_nothing_missing, document, lab, steps};
use crate::drivers::{Driver, on_both_drivers};
use crate::kafka::Broker;
use crate::program::Program;
use plumb_lab::kafka::PlainClient;
use std::time::Duration;

on_both_drivers!(a_named_topic_keeps_its_settings_and_its_records,);

fn a_named_topic_keeps_its_settings_and_its_records(driver: Driver) {
    let bootstrap = lab().plaintext_bootstrap();
    let broker = Broker::at(&bootstrap);
    let topic = &format!("orders-{driver}");
    broker.create_topic(topic, 2, &[("retention.ms", "777000000")]);
    let configs = broker.topic_configs(topic);
    let mut client = PlainClient::connect(lab().plaintext_addresses()[0], Duration::from_secs(10)).unwrap();
    for number in 0..20 {
        client.produce(topic, number % 2, format!("order {number}").as_bytes()).unwrap();
    }
    let before = broker.records(topic, 2);
    assert_eq!(before.len(), 20);

    let arguments = ["latency", "--rate", "500", "--count", "300", "--warm-up", "0s", "--output", "json"];
    let ended =
        Program::new(arguments).args(["--driver", driver, "--topic", topic, "--bootstrap", &bootstrap]).run();
    let document = document(&ended);
    let step = &steps(&document)[0];
    assert_nothing_missing(step);
    assert_eq!(step["accounting"]["foreign"], 0, "the run begins behind what was there");
    assert_eq!(step["effective"]["topic"]["retention.ms"], "777000000");

    assert_eq!(broker.topic_configs(topic), configs);
    let after = broker.records(topic, 2);
    for partition in 0..2 {
        let of = |records: &[super::broker::Record]| -> Vec<_> {
            records.iter().filter(|record| record.partition == partition).cloned().collect()
        };
        assert_eq!(of(&after)[..10], of(&before));
    }
    assert_eq!(after.len() as u64, 20 + step["accounting"]["offset_delta"].as_u64().unwrap());
    assert_eq!(broker.left_of_run(document["run"]["id"].as_str().unwrap()), Vec::<String>::new());
}
