//! Consumer groups on the wire. The protocol itself is in [`crate::sink::group`].

use std::time::{Duration, Instant};

use bytes::Bytes;
use kafka_protocol::{
    ResponseError,
    messages::{
        BrokerId, DeleteGroupsRequest, DeleteGroupsResponse, FindCoordinatorRequest, FindCoordinatorResponse,
        HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
        LeaveGroupResponse, OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest,
        OffsetFetchResponse, SyncGroupRequest, SyncGroupResponse, TopicName,
        delete_groups_response::DeletableGroupResult,
        join_group_response::JoinGroupResponseMember,
        leave_group_response::MemberResponse,
        offset_commit_response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic},
        offset_fetch_response::{OffsetFetchResponsePartition, OffsetFetchResponseTopic},
        sync_group_request::SyncGroupRequestAssignment,
    },
    protocol::StrBytes,
};

use super::{
    super::group::{Assigned, Committed, Group, Join, Joined, MemberAssignment},
    Call, NODE, Reply, RequestError,
    metadata::host,
};

pub(super) fn coordinator(call: &Call, request: FindCoordinatorRequest) -> Result<Reply, RequestError> {
    // 0: groups. There are no transactions to coordinate.
    let outcome = if request.key_type == 0 { Ok(()) } else { Err(ResponseError::CoordinatorNotAvailable) };
    let (host, port) = host(call);
    let mut response = FindCoordinatorResponse::default()
        .with_error_code(call.code(outcome))
        .with_node_id(BrokerId(NODE))
        .with_host(host)
        .with_port(port);
    if call.version >= 1 {
        response = response.with_throttle_time_ms(call.throttle_ms());
    }
    call.reply(&response)
}

pub(super) fn join(call: &Call, request: JoinGroupRequest) -> Result<Reply, RequestError> {
    let newcomer = request.member_id.is_empty();
    let joined = {
        let core = &mut *call.broker.core();
        core.members += u64::from(newcomer);
        let member_id = match newcomer {
            true => format!("{}-{}", &*call.client_id, core.members),
            false => request.member_id.to_string(),
        };
        let join = Join {
            member_id,
            protocol_type: request.protocol_type,
            protocols: request.protocols.into_iter().map(|known| (known.name, known.metadata)).collect(),
            session_timeout: Duration::from_millis(request.session_timeout_ms.max(0) as u64),
            rebalance_timeout: Duration::from_millis(request.rebalance_timeout_ms.max(0) as u64),
        };
        match call.forced {
            Some((error, _)) if call.is_void() => Err(error),
            _ => {
                let group = core.groups.entry(request.group_id.to_string()).or_default();
                group.join(join, newcomer, Instant::now())
            }
        }
    };
    let call = call.clone();
    Ok(Reply::Later(Box::pin(async move {
        let joined = match joined {
            Ok(joined) => Ok(joined.await.map_err(|_| RequestError::Gone)?),
            Err(error) => Err(error),
        };
        call.encode(&join_response(&call, joined))
    })))
}

fn join_response(call: &Call, joined: Result<Joined, ResponseError>) -> JoinGroupResponse {
    let mut response = JoinGroupResponse::default()
        .with_error_code(call.code(joined.as_ref().map(|_| ()).map_err(|error| *error)));
    if call.version >= 2 {
        response = response.with_throttle_time_ms(call.throttle_ms());
    }
    let Ok(joined) = joined else {
        return response.with_generation_id(-1).with_protocol_name(Some(StrBytes::new()));
    };
    let member = |(id, subscription): (String, Bytes)| {
        JoinGroupResponseMember::default()
            .with_member_id(StrBytes::from_string(id))
            .with_metadata(subscription)
    };
    if call.version >= 7 {
        response = response.with_protocol_type(Some(joined.protocol_type));
    }
    response
        .with_generation_id(joined.generation)
        .with_protocol_name(Some(joined.protocol))
        .with_leader(StrBytes::from_string(joined.leader))
        .with_member_id(StrBytes::from_string(joined.member_id))
        .with_members(joined.members.into_iter().map(member).collect())
}

pub(super) fn sync(call: &Call, request: SyncGroupRequest) -> Result<Reply, RequestError> {
    let assigned = |plan: SyncGroupRequestAssignment| MemberAssignment {
        member_id: plan.member_id.to_string(),
        assignment: plan.assignment,
    };
    let plan = request.assignments.into_iter().map(assigned).collect();
    let synced = in_group(call, &request.group_id, |group| {
        group.sync(&request.member_id, request.generation_id, plan, Instant::now())
    });
    let call = call.clone();
    Ok(Reply::Later(Box::pin(async move {
        let assigned = match synced {
            Ok(synced) => synced.await.map_err(|_| RequestError::Gone)?,
            Err(error) => Err(error),
        };
        call.encode(&sync_response(&call, assigned))
    })))
}

fn sync_response(call: &Call, assigned: Result<Assigned, ResponseError>) -> SyncGroupResponse {
    let outcome = assigned.as_ref().map(|_| ()).map_err(|error| *error);
    let mut response = SyncGroupResponse::default().with_error_code(call.code(outcome));
    if call.version >= 1 {
        response = response.with_throttle_time_ms(call.throttle_ms());
    }
    let Ok(assigned) = assigned else { return response };
    if call.version >= 5 {
        response = response
            .with_protocol_type(Some(assigned.protocol_type))
            .with_protocol_name(Some(assigned.protocol));
    }
    response.with_assignment(assigned.assignment)
}

pub(super) fn heartbeat(call: &Call, request: HeartbeatRequest) -> Result<Reply, RequestError> {
    let outcome = in_group(call, &request.group_id, |group| {
        group.heartbeat(&request.member_id, request.generation_id, Instant::now())
    });
    let mut response = HeartbeatResponse::default().with_error_code(call.code(outcome));
    if call.version >= 1 {
        response = response.with_throttle_time_ms(call.throttle_ms());
    }
    call.reply(&response)
}

pub(super) fn leave(call: &Call, request: LeaveGroupRequest) -> Result<Reply, RequestError> {
    let leaving = |member_id: &StrBytes| {
        let outcome = in_group(call, &request.group_id, |group| group.leave(member_id, Instant::now()));
        call.code(outcome)
    };
    let mut response = LeaveGroupResponse::default();
    if call.version >= 1 {
        response = response.with_throttle_time_ms(call.throttle_ms());
    }
    if call.version < 3 {
        return call.reply(&response.with_error_code(leaving(&request.member_id)));
    }
    let members = request.members.iter().map(|member| {
        MemberResponse::default()
            .with_member_id(member.member_id.clone())
            .with_group_instance_id(member.group_instance_id.clone())
            .with_error_code(leaving(&member.member_id))
    });
    let members = members.collect();
    call.reply(&response.with_members(members))
}

pub(super) fn delete(call: &Call, request: DeleteGroupsRequest) -> Result<Reply, RequestError> {
    let results = {
        let core = &mut *call.broker.core();
        let mut results = Vec::with_capacity(request.groups_names.len());
        for name in request.groups_names {
            let outcome = match core.groups.get(&**name) {
                None => Err(ResponseError::GroupIdNotFound),
                Some(group) if !group.is_empty() => Err(ResponseError::NonEmptyGroup),
                Some(_) if call.is_void() => Ok(()),
                Some(_) => Ok(core.groups.remove(&**name)).map(|_| ()),
            };
            let result = DeletableGroupResult::default().with_error_code(call.code(outcome));
            results.push(result.with_group_id(name));
        }
        results
    };
    call.reply(
        &DeleteGroupsResponse::default().with_throttle_time_ms(call.throttle_ms()).with_results(results),
    )
}

pub(super) fn commit(call: &Call, request: OffsetCommitRequest) -> Result<Reply, RequestError> {
    let generation = request.generation_id_or_member_epoch;
    let permission = match call.forced {
        Some((error, _)) if call.is_void() => Err(error),
        _ => {
            // A commit from outside of any group makes the group.
            let core = &mut *call.broker.core();
            let group = core.groups.entry(request.group_id.to_string()).or_default();
            let permission = group.may_commit(&request.member_id, generation, Instant::now());
            if permission.is_ok() {
                group.commit(&request);
            }
            permission
        }
    };
    let code = call.code(permission);
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            OffsetCommitResponsePartition::default()
                .with_partition_index(partition.partition_index)
                .with_error_code(code)
        });
        OffsetCommitResponseTopic::default().with_partitions(partitions.collect()).with_name(topic.name)
    });
    let mut response = OffsetCommitResponse::default().with_topics(topics.collect());
    if call.version >= 3 {
        response = response.with_throttle_time_ms(call.throttle_ms());
    }
    call.reply(&response)
}

pub(super) fn committed(call: &Call, request: OffsetFetchRequest) -> Result<Reply, RequestError> {
    let code = call.code(Ok(()));
    let topics: Vec<OffsetFetchResponseTopic> = {
        let core = call.broker.core();
        let group = core.groups.get(&**request.group_id);
        let asked = match &request.topics {
            Some(topics) => {
                topics.iter().map(|topic| (topic.name.clone(), topic.partition_indexes.clone())).collect()
            }
            None => group.map(Group::committed_topics).unwrap_or_default(),
        };
        let topic = |(name, partitions): (TopicName, Vec<i32>)| {
            let partitions = partitions.into_iter().map(|partition| {
                let committed = group.and_then(|group| group.committed.get(&(name.to_string(), partition)));
                partition_committed(call, partition, committed).with_error_code(code)
            });
            let partitions = partitions.collect();
            OffsetFetchResponseTopic::default().with_name(name).with_partitions(partitions)
        };
        asked.into_iter().map(topic).collect()
    };
    let mut response = OffsetFetchResponse::default().with_topics(topics);
    if call.version >= 2 {
        response = response.with_error_code(code);
    }
    if call.version >= 3 {
        response = response.with_throttle_time_ms(call.throttle_ms());
    }
    call.reply(&response)
}

fn partition_committed(
    call: &Call,
    partition: i32,
    committed: Option<&Committed>,
) -> OffsetFetchResponsePartition {
    let response = OffsetFetchResponsePartition::default().with_partition_index(partition);
    let Some(committed) = committed else {
        return response.with_committed_offset(-1).with_metadata(Some(StrBytes::new()));
    };
    let response = response.with_committed_offset(committed.offset).with_metadata(committed.metadata.clone());
    if call.version >= 5 { response.with_committed_leader_epoch(committed.leader_epoch) } else { response }
}

/// Does something to a group, unless the request is to have no effect; then the injected error comes back.
fn in_group<T>(
    call: &Call,
    group_id: &str,
    act: impl FnOnce(&mut Group) -> Result<T, ResponseError>,
) -> Result<T, ResponseError> {
    match call.forced {
        Some((error, _)) if call.is_void() => Err(error),
        _ => act(call.broker.core().groups.get_mut(group_id).ok_or(ResponseError::UnknownMemberId)?),
    }
}
