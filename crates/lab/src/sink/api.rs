//! From a request's bytes to its answer: header, checks, counts, injected refusals, and the parts that every answer has. The
//! requests are listed in [`table`]; their effects are in the files beside it.

mod admin;
mod fetch;
mod groups;
mod metadata;
mod offsets;
mod produce;
mod table;

use std::{
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::{
    ResponseError,
    messages::{ApiKey, RequestHeader, ResponseHeader, TopicName},
    protocol::{Decodable, Encodable, HeaderVersion, StrBytes},
};
use thiserror::Error;
use uuid::Uuid;

use super::{
    faults::{Effect, Refusal},
    frame::LENGTH_BYTES,
    shape::ShapeError,
    state::{Broker, Core},
    witness::Answered,
};

/// The one node.
const NODE: i32 = 1;
const CLUSTER: StrBytes = StrBytes::from_static_str("plumb-sink-is-no-kafka");
/// The reason why a connection is closed instead of answered.
#[derive(Debug, Error)]
pub(super) enum RequestError {
    #[error("request header: not readable")]
    Header,
    #[error("request: API key {api} version {version} is not one of those announced")]
    Unknown { api: i16, version: i16 },
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error("request body: not readable")]
    Body,
    /// A producer that wants no answer cannot be told of an error otherwise; Kafka does the same.
    #[error("produce without acknowledgement failed: {0}")]
    Unacknowledged(ResponseError),
    /// A mistake of the sink's own.
    #[error("response: cannot be encoded")]
    Response,
    /// The group or the broker went away.
    #[error("response: nobody left to give it")]
    Gone,
}

impl RequestError {
    /// The same for statistics, which are plain values.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Header => "an unreadable request header",
            Self::Unknown { .. } => "an API or a version that was not announced",
            Self::Shape(_) => "a length in a request that its frame cannot hold",
            Self::Body => "an unreadable request body",
            Self::Unacknowledged(_) => "an error for a producer that wants no answer",
            Self::Response => "a response that the sink could not encode",
            Self::Gone => "a response that nobody is left to give",
        }
    }
}

/// The bytes that a connection has to send, and when.
pub(super) struct Answer {
    pub(super) api: ApiKey,
    pub(super) arrived: Instant,
    pub(super) delay: Duration,
    pub(super) reply: Reply,
    /// To be told when it is sent, where somebody wants to know.
    pub(super) answered: Option<Answered>,
}

pub(super) enum Reply {
    Now(Bytes),
    /// An answer that is ready when something else has happened.
    Later(Pin<Box<dyn Future<Output = Result<Bytes, RequestError>> + Send>>),
    Nothing,
    Close,
}

/// One request, without its body.
#[derive(Clone)]
pub(super) struct Call {
    broker: Arc<Broker>,
    api: ApiKey,
    version: i16,
    correlation_id: i32,
    client_id: StrBytes,
    arrived: Instant,
    throttle: Duration,
    forced: Option<(ResponseError, Effect)>,
    answered: Option<Answered>,
}

/// Reads a request, gives it its effect and returns the answer or the promise of one.
pub(super) fn answer(
    broker: &Arc<Broker>,
    mut frame: Bytes,
    arrived: Instant,
) -> Result<Answer, RequestError> {
    let bytes = frame.len() as u64;
    let (key, version) = (i16::from_be_bytes([frame[0], frame[1]]), i16::from_be_bytes([frame[2], frame[3]]));
    let row = table::row(key).ok_or(RequestError::Unknown { api: key, version })?;
    let api = row.api;
    let known = (row.versions.0..=row.versions.1).contains(&version);
    // A client newer than the sink asks for the versions in words that may be unknown; Kafka answers in version 0.
    let header_version = api.request_header_version(if known { version } else { 0 });
    let header = RequestHeader::decode(&mut frame, header_version).map_err(|_| RequestError::Header)?;
    if known {
        row.shape.check(&frame, version)?;
    } else if api != ApiKey::ApiVersions {
        return Err(RequestError::Unknown { api: key, version });
    }

    let client_id = header.client_id.unwrap_or_default();
    let mut core = broker.core();
    let requests = core.stats.requests.entry(api).or_default();
    requests.count += 1;
    requests.bytes += bytes;
    if !core.stats.client_ids.contains(&*client_id) {
        core.stats.client_ids.insert(client_id.to_string());
    }
    let refusal = core.faults.refuse(api);
    let delay = core.faults.answer_delay(api);
    let throttle = core.faults.throttle(api);
    let answered = (!core.witnessed.is_empty()).then(Answered::default);
    let refusals = &mut core.stats.refusals;
    match refusal {
        Some(Refusal::Error(..)) => refusals.errors += 1,
        Some(Refusal::Silence(_)) => refusals.silences += 1,
        Some(Refusal::Close(_)) => refusals.closes += 1,
        None => {}
    }
    drop(core);

    let mut call = Call {
        broker: Arc::clone(broker),
        api,
        version,
        correlation_id: header.correlation_id,
        client_id,
        arrived,
        throttle,
        forced: None,
        answered: answered.clone(),
    };
    let reply = match refusal {
        _ if !known => table::unsupported_version(&call)?,
        None => (row.answer)(&call, frame)?,
        Some(Refusal::Error(error, effect)) => {
            call.forced = Some((error, effect));
            (row.answer)(&call, frame)?
        }
        Some(Refusal::Silence(effect) | Refusal::Close(effect)) => {
            if effect == Effect::Applied {
                (row.answer)(&call, frame)?;
            }
            if matches!(refusal, Some(Refusal::Close(_))) { Reply::Close } else { Reply::Nothing }
        }
    };
    Ok(Answer { api, arrived, delay, reply, answered })
}

impl Call {
    fn decode<R: Decodable>(&self, mut body: Bytes) -> Result<R, RequestError> {
        R::decode(&mut body, self.version).map_err(|_| RequestError::Body)
    }

    fn reply<R: Encodable + HeaderVersion>(&self, response: &R) -> Result<Reply, RequestError> {
        self.encode(response).map(Reply::Now)
    }

    fn encode<R: Encodable + HeaderVersion>(&self, response: &R) -> Result<Bytes, RequestError> {
        self.encode_as(response, self.version)
    }

    fn encode_as<R: Encodable + HeaderVersion>(
        &self,
        response: &R,
        version: i16,
    ) -> Result<Bytes, RequestError> {
        let wrong = |_| RequestError::Response;
        let header = ResponseHeader::default().with_correlation_id(self.correlation_id);
        let size = response.compute_size(version).map_err(wrong)?;
        let mut bytes = BytesMut::with_capacity(size + 16);
        bytes.put_i32(0);
        header.encode(&mut bytes, R::header_version(version)).map_err(wrong)?;
        response.encode(&mut bytes, version).map_err(wrong)?;
        let length = i32::try_from(bytes.len() - LENGTH_BYTES).map_err(|_| RequestError::Response)?;
        bytes[..LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
        Ok(bytes.freeze())
    }

    fn throttle_ms(&self) -> i32 {
        i32::try_from(self.throttle.as_millis()).unwrap_or(i32::MAX)
    }

    /// True if the request is to have no effect.
    fn is_void(&self) -> bool {
        matches!(self.forced, Some((_, Effect::Skipped)))
    }

    /// The error code to answer, given what really happened.
    fn code(&self, outcome: Result<(), ResponseError>) -> i16 {
        match (self.forced, outcome) {
            (Some((error, _)), _) | (None, Err(error)) => error.code(),
            (None, Ok(())) => 0,
        }
    }

    /// An injected error for this partition, be it for the request or for the partition alone.
    fn partition_error(&self, core: &mut Core, topic: &str, partition: i32) -> Option<ResponseError> {
        let error = core.faults.partition_error(self.api, topic, partition);
        core.stats.refusals.errors += u64::from(error.is_some());
        error.or(self.forced.map(|(error, _)| error))
    }
}

/// The topic that a request means, by name or by id.
fn topic_name(core: &Core, name: &TopicName, id: Uuid) -> Result<String, ResponseError> {
    if id.is_nil() {
        return Ok(name.to_string());
    }
    core.topics.name_of(id).map(str::to_owned).ok_or(ResponseError::UnknownTopicId)
}
