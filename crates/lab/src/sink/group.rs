//! Consumer groups by the classic protocol: join, sync, heartbeat, leave, and committed offsets.
//!
//! Simpler than Kafka: a member gets its id with the first join, every join begins a new generation, a group waits for
//! nobody who has not joined yet, static membership is not looked at.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use bytes::Bytes;
use kafka_protocol::{
    ResponseError,
    messages::{OffsetCommitRequest, TopicName},
    protocol::StrBytes,
};
use tokio::sync::oneshot;

use super::stats::GroupStats;

#[derive(Debug, Default)]
pub(super) struct Group {
    generation: i32,
    phase: Phase,
    members: BTreeMap<String, Member>,
    leader: String,
    protocol_type: StrBytes,
    protocol: StrBytes,
    /// The time at which a rebalance stops to wait for members that have not joined again.
    join_deadline: Option<Instant>,
    pub(super) committed: BTreeMap<(String, i32), Committed>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Empty,
    Joining,
    Syncing,
    Stable,
}

#[derive(Debug)]
struct Member {
    protocols: Vec<(StrBytes, Bytes)>,
    session_timeout: Duration,
    rebalance_timeout: Duration,
    last_seen: Instant,
    assignment: Bytes,
    joining: Option<oneshot::Sender<Joined>>,
    syncing: Option<oneshot::Sender<Synced>>,
}

#[derive(Debug, Clone)]
pub(super) struct Committed {
    pub(super) offset: i64,
    pub(super) leader_epoch: i32,
    pub(super) metadata: Option<StrBytes>,
}

/// A request to join.
#[derive(Debug)]
pub(super) struct Join {
    pub(super) member_id: String,
    pub(super) protocol_type: StrBytes,
    pub(super) protocols: Vec<(StrBytes, Bytes)>,
    pub(super) session_timeout: Duration,
    pub(super) rebalance_timeout: Duration,
}

/// The answer to a join, when all have joined.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) generation: i32,
    pub(super) protocol_type: StrBytes,
    pub(super) protocol: StrBytes,
    pub(super) leader: String,
    pub(super) member_id: String,
    /// Everyone's subscription, for the leader only.
    pub(super) members: Vec<(String, Bytes)>,
}

/// The answer to a sync.
pub(super) type Synced = Result<Assigned, ResponseError>;

/// The leader's assignment for one member.
#[derive(Debug, Clone)]
pub(super) struct MemberAssignment {
    pub(super) member_id: String,
    pub(super) assignment: Bytes,
}

#[derive(Debug)]
pub(super) struct Assigned {
    pub(super) protocol_type: StrBytes,
    pub(super) protocol: StrBytes,
    pub(super) assignment: Bytes,
}

impl Group {
    /// Joins under `join.member_id`, which the caller has made up for a newcomer.
    pub(super) fn join(
        &mut self,
        join: Join,
        newcomer: bool,
        now: Instant,
    ) -> Result<oneshot::Receiver<Joined>, ResponseError> {
        if !newcomer && !self.members.contains_key(&join.member_id) {
            return Err(ResponseError::UnknownMemberId);
        }
        if join.protocols.is_empty() || (!self.members.is_empty() && self.protocol_type != join.protocol_type)
        {
            return Err(ResponseError::InconsistentGroupProtocol);
        }
        self.protocol_type = join.protocol_type;
        let (joining, joined) = oneshot::channel();
        let member = Member {
            protocols: join.protocols,
            session_timeout: join.session_timeout,
            rebalance_timeout: join.rebalance_timeout,
            last_seen: now,
            assignment: Bytes::new(),
            joining: Some(joining),
            syncing: None,
        };
        self.members.insert(join.member_id, member);
        self.rebalance(now);
        Ok(joined)
    }

    /// Waits for the leader's plan, or takes it when it is there.
    pub(super) fn sync(
        &mut self,
        member_id: &str,
        generation: i32,
        assignments: Vec<MemberAssignment>,
        now: Instant,
    ) -> Result<oneshot::Receiver<Synced>, ResponseError> {
        self.seen(member_id, generation, now)?;
        if self.phase == Phase::Joining {
            return Err(ResponseError::RebalanceInProgress);
        }
        let (syncing, synced) = oneshot::channel();
        if let Some(member) = self.members.get_mut(member_id) {
            member.syncing = Some(syncing);
        }
        if self.phase == Phase::Syncing && self.leader == member_id {
            for MemberAssignment { member_id, assignment } in assignments {
                if let Some(member) = self.members.get_mut(&member_id) {
                    member.assignment = assignment;
                }
            }
            self.phase = Phase::Stable;
        }
        if self.phase == Phase::Stable {
            for member in self.members.values_mut() {
                let assigned = Assigned {
                    protocol_type: self.protocol_type.clone(),
                    protocol: self.protocol.clone(),
                    assignment: member.assignment.clone(),
                };
                answer(&mut member.syncing, Ok(assigned));
            }
        }
        Ok(synced)
    }

    pub(super) fn heartbeat(
        &mut self,
        member_id: &str,
        generation: i32,
        now: Instant,
    ) -> Result<(), ResponseError> {
        self.seen(member_id, generation, now)?;
        if self.phase == Phase::Joining { Err(ResponseError::RebalanceInProgress) } else { Ok(()) }
    }

    pub(super) fn leave(&mut self, member_id: &str, now: Instant) -> Result<(), ResponseError> {
        self.members.remove(member_id).ok_or(ResponseError::UnknownMemberId)?;
        self.rebalance(now);
        Ok(())
    }

    /// True if offsets may be committed: by a member of this generation, or from outside of an empty group.
    pub(super) fn may_commit(
        &mut self,
        member_id: &str,
        generation: i32,
        now: Instant,
    ) -> Result<(), ResponseError> {
        if generation < 0 && self.members.is_empty() { Ok(()) } else { self.seen(member_id, generation, now) }
    }

    pub(super) fn commit(&mut self, request: &OffsetCommitRequest) {
        for topic in &request.topics {
            for partition in &topic.partitions {
                let committed = Committed {
                    offset: partition.committed_offset,
                    leader_epoch: partition.committed_leader_epoch,
                    metadata: partition.committed_metadata.clone(),
                };
                self.committed.insert((topic.name.to_string(), partition.partition_index), committed);
            }
        }
    }

    /// The partitions that have a committed offset, by topic.
    pub(super) fn committed_topics(&self) -> Vec<(TopicName, Vec<i32>)> {
        let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
        for (topic, partition) in self.committed.keys() {
            topics.entry(topic).or_default().push(*partition);
        }
        let named =
            |(name, partitions): (&str, _)| (TopicName(StrBytes::from_string(name.into())), partitions);
        topics.into_iter().map(named).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Drops members that have gone silent and ends a rebalance that waited long enough. True: something changed.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let before = self.members.len();
        self.members.retain(|_, member| match &member.joining {
            Some(joining) => !joining.is_closed(),
            None => now.saturating_duration_since(member.last_seen) <= member.session_timeout,
        });
        let overdue =
            self.phase == Phase::Joining && self.join_deadline.is_some_and(|deadline| deadline <= now);
        if overdue {
            self.members.retain(|_, member| member.joining.is_some());
        }
        let changed = self.members.len() != before;
        if changed || overdue {
            self.rebalance(now);
        }
        changed
    }

    pub(super) fn stats(&self) -> GroupStats {
        GroupStats {
            generation: self.generation,
            stable: self.phase == Phase::Stable,
            members: self.members.keys().cloned().collect(),
            committed: self
                .committed
                .iter()
                .map(|(place, committed)| (place.clone(), committed.offset))
                .collect(),
        }
    }

    fn seen(&mut self, member_id: &str, generation: i32, now: Instant) -> Result<(), ResponseError> {
        let member = self.members.get_mut(member_id).ok_or(ResponseError::UnknownMemberId)?;
        member.last_seen = now;
        if generation == self.generation { Ok(()) } else { Err(ResponseError::IllegalGeneration) }
    }

    /// Begins a rebalance, or goes on with the one under way, and ends it when everybody has joined.
    fn rebalance(&mut self, now: Instant) {
        if self.members.is_empty() {
            self.phase = Phase::Empty;
            return;
        }
        if self.phase != Phase::Joining {
            self.phase = Phase::Joining;
            let patience =
                self.members.values().map(|member| member.rebalance_timeout).max().unwrap_or_default();
            self.join_deadline = now.checked_add(patience);
            for member in self.members.values_mut() {
                answer(&mut member.syncing, Err(ResponseError::RebalanceInProgress));
            }
        }
        if self.members.values().all(|member| member.joining.is_some()) {
            self.complete(now);
        }
    }

    fn complete(&mut self, now: Instant) {
        self.generation += 1;
        self.phase = Phase::Syncing;
        if !self.members.contains_key(&self.leader) {
            self.leader = self.members.keys().next().cloned().unwrap_or_default();
        }
        self.protocol = self.common_protocol();
        let subscriptions: Vec<(String, Bytes)> = self
            .members
            .iter()
            .map(|(id, member)| (id.clone(), member.subscription(&self.protocol)))
            .collect();
        for (id, member) in &mut self.members {
            member.last_seen = now;
            let joined = Joined {
                generation: self.generation,
                protocol_type: self.protocol_type.clone(),
                protocol: self.protocol.clone(),
                leader: self.leader.clone(),
                member_id: id.clone(),
                members: if *id == self.leader { subscriptions.clone() } else { Vec::new() },
            };
            answer(&mut member.joining, joined);
        }
    }

    /// The leader's first choice that all members speak, or just its first.
    fn common_protocol(&self) -> StrBytes {
        let Some(leader) = self.members.get(&self.leader) else { return StrBytes::new() };
        let speaks =
            |member: &Member, name: &StrBytes| member.protocols.iter().any(|(known, _)| known == name);
        let mut names = leader.protocols.iter().map(|(name, _)| name);
        let common = names.find(|name| self.members.values().all(|member| speaks(member, name)));
        common.or(leader.protocols.first().map(|(name, _)| name)).cloned().unwrap_or_default()
    }
}

impl Member {
    fn subscription(&self, protocol: &StrBytes) -> Bytes {
        let found = self.protocols.iter().find(|(name, _)| name == protocol);
        found.map(|(_, subscription)| subscription.clone()).unwrap_or_default()
    }
}

fn answer<T>(waiting: &mut Option<oneshot::Sender<T>>, answer: T) {
    if let Some(waiting) = waiting.take() {
        // A member whose connection is gone is found by its session timeout.
        let _ = waiting.send(answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: Duration = Duration::from_secs(6);

    fn join(member_id: &str) -> Join {
        Join {
            member_id: member_id.into(),
            protocol_type: "consumer".into(),
            protocols: vec![("range".into(), Bytes::from_static(b"subscription"))],
            session_timeout: SESSION,
            rebalance_timeout: 2 * SESSION,
        }
    }

    fn group_of_two(now: Instant) -> Group {
        let mut group = Group::default();
        group.join(join("a"), true, now).unwrap();
        let _waiting = group.join(join("b"), true, now).unwrap();
        let mut again = group.join(join("a"), false, now).unwrap();
        assert_eq!(again.try_recv().unwrap().members.len(), 2);
        group
    }

    #[test]
    fn a_second_member_begins_a_generation_that_waits_for_the_first_to_join_again() {
        let now = Instant::now();
        let mut group = Group::default();
        let first = group.join(join("a"), true, now).unwrap().try_recv().unwrap();
        assert_eq!((first.generation, first.leader.as_str()), (1, "a"));
        let mut second = group.join(join("b"), true, now).unwrap();
        assert!(second.try_recv().is_err());
        assert_eq!(group.heartbeat("a", 1, now), Err(ResponseError::RebalanceInProgress));
        group.join(join("a"), false, now).unwrap();
        assert_eq!(second.try_recv().unwrap().generation, 2);
    }

    #[test]
    fn followers_get_what_the_leader_assigned() {
        let now = Instant::now();
        let mut group = group_of_two(now);
        let mut follower = group.sync("b", 2, Vec::new(), now).unwrap();
        assert!(follower.try_recv().is_err());
        let assign = |member: &str, assignment: &'static [u8]| MemberAssignment {
            member_id: member.into(),
            assignment: Bytes::from_static(assignment),
        };
        let plan = vec![assign("a", b"0"), assign("b", b"1")];
        group.sync("a", 2, plan, now).unwrap();
        assert_eq!(follower.try_recv().unwrap().unwrap().assignment, "1");
        assert!(group.stats().stable);
    }

    #[test]
    fn a_silent_member_is_dropped_after_its_session_timeout() {
        let now = Instant::now();
        let mut group = group_of_two(now);
        assert!(!group.expire(now + SESSION));
        group.heartbeat("b", 2, now + SESSION).unwrap();
        assert!(group.expire(now + SESSION + Duration::from_millis(1)));
        assert_eq!(group.stats().members, ["b"]);
    }

    #[test]
    fn old_generations_and_strangers_are_told() {
        let now = Instant::now();
        let mut group = group_of_two(now);
        assert_eq!(group.heartbeat("a", 1, now), Err(ResponseError::IllegalGeneration));
        assert_eq!(group.heartbeat("c", 2, now), Err(ResponseError::UnknownMemberId));
        assert_eq!(group.leave("c", now), Err(ResponseError::UnknownMemberId));
    }
}
