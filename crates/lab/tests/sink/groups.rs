//! Consumer groups: who gets what, and what survives.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};

use super::client::{LIMIT, Sender, TOPIC, config, next, sink};
use plumb_lab::sink::SinkBroker;

fn member(broker: &SinkBroker, id: &str) -> BaseConsumer {
    let properties = [
        ("group.id", "team"),
        ("client.id", id),
        ("auto.offset.reset", "earliest"),
        ("enable.auto.commit", "false"),
        ("heartbeat.interval.ms", "50"),
        ("fetch.wait.max.ms", "50"),
    ];
    let consumer: BaseConsumer = config(broker, &properties).create().unwrap();
    consumer.subscribe(&[TOPIC]).unwrap();
    consumer
}

/// Polls everybody until the condition holds.
fn poll_until(members: &[&BaseConsumer], mut met: impl FnMut(&[Vec<String>]) -> bool) {
    let (start, mut read) = (Instant::now(), vec![Vec::new(); members.len()]);
    while !met(&read) {
        assert!(start.elapsed() < LIMIT, "{read:?}");
        for (member, read) in members.iter().zip(&mut read) {
            if let Some(Ok(message)) = member.poll(Duration::from_millis(10)) {
                read.push(String::from_utf8(rdkafka::Message::payload(&message).unwrap().to_vec()).unwrap());
            }
        }
    }
}

fn assigned(member: &BaseConsumer) -> BTreeSet<i32> {
    member.assignment().unwrap().elements().iter().map(|element| element.partition()).collect()
}

#[test]
fn two_members_share_the_partitions_and_read_every_record_once() {
    let (broker, control) = sink(4);
    let (first, second) = (member(&broker, "first"), member(&broker, "second"));
    poll_until(&[&first, &second], |_| assigned(&first).len() == 2 && assigned(&second).len() == 2);
    assert!(assigned(&first).is_disjoint(&assigned(&second)));

    let sender = Sender::new(&broker, &[]);
    (0..40).for_each(|number| sender.send(&format!("{number}"), number % 4));
    sender.reports();
    let mut all = Vec::new();
    poll_until(&[&first, &second], |read| {
        all = read.concat();
        read.iter().all(|read| read.len() >= 20)
    });
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (40, 40));
    assert_eq!(control.stats().groups["team"].members.len(), 2);
}

#[test]
fn a_member_that_leaves_gives_its_partitions_to_the_other_in_a_new_generation() {
    let (broker, control) = sink(2);
    let (first, second) = (member(&broker, "first"), member(&broker, "second"));
    poll_until(&[&first, &second], |_| assigned(&first).len() == 1 && assigned(&second).len() == 1);
    let before = control.stats().groups["team"].generation;
    drop(second);
    poll_until(&[&first], |_| assigned(&first).len() == 2);
    let group =
        control.wait_until(LIMIT, |stats| stats.groups["team"].stable).unwrap().groups["team"].clone();
    assert!(group.generation > before);
    assert_eq!(group.members.len(), 1);
}

#[test]
fn a_group_goes_on_where_it_committed() {
    let (broker, control) = sink(1);
    Sender::new(&broker, &[]).send_each(&["a", "b", "c"]);
    let first = member(&broker, "first");
    assert_eq!(next(&first).payload, "a");
    assert_eq!(next(&first).payload, "b");
    let mut position = rdkafka::TopicPartitionList::new();
    position.add_partition_offset(TOPIC, 0, rdkafka::Offset::Offset(2)).unwrap();
    first.commit(&position, CommitMode::Sync).unwrap();
    drop(first);
    assert_eq!(control.stats().groups["team"].committed[&(TOPIC.to_owned(), 0)], 2);
    assert_eq!(next(&member(&broker, "second")).payload, "c");
}
