//! The quotas of clients that are set in a cluster (KIP-546). Any broker tells them to who may describe the cluster's configs.

use crate::connection::Connection;
use crate::error::{ErrorCode, WireError};
use crate::read::{Reader, Result};
use crate::versions::ApiKey;
use crate::write;
use std::ops::RangeInclusive;
use std::time::Instant;

/// The versions of DescribeClientQuotas that we speak.
const VERSIONS: RangeInclusive<i16> = 0..=0;

/// The quotas of one kind of client.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientQuota {
    /// The clients that they are for: all parts together.
    pub of: Vec<QuotaEntity>,
    /// The quotas.
    pub values: Vec<QuotaValue>,
}

/// A part of whom a quota is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaEntity {
    /// `user`, `client-id` or `ip`.
    pub kind: String,
    /// The name; none of all that have no quota of their own.
    pub name: Option<String>,
}

/// One quota.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaValue {
    /// `producer_byte_rate`, `consumer_byte_rate`, `request_percentage` ...
    pub key: String,
    /// Its value.
    pub value: f64,
}

/// Asks for all quotas.
///
/// # Errors
/// [`WireError::Refused`] and those of [`Connection::exchange`].
pub fn client_quotas(connection: &mut Connection, deadline: Instant) -> Result<Vec<ClientQuota>, WireError> {
    const API: ApiKey = ApiKey::DescribeClientQuotas;
    let version = connection.version(API, VERSIONS)?;
    let body = connection.exchange(API, version, write_request, deadline)?.body;
    let (error, quotas) = read_quotas(body).map_err(|source| connection.undecodable(API, source))?;
    error.ok().map_err(|code| connection.refused(API, "the quotas of clients", code))?;
    Ok(quotas)
}

/// No filter: quotas of all kinds of clients.
fn write_request(out: &mut Vec<u8>) {
    write::array_length(out, 0);
    let strict = 0;
    out.push(strict);
}

/// The error code and the quotas of a DescribeClientQuotas response of version 0.
///
/// # Errors
/// When the bytes are not that.
fn read_quotas(body: &[u8]) -> Result<(ErrorCode, Vec<ClientQuota>)> {
    let mut reader = Reader::new(body);
    reader.i32("throttle_time_ms")?;
    let error = ErrorCode(reader.i16("error_code")?);
    reader.nullable_string("error_message")?;
    let mut quotas = Vec::new();
    for _ in 0..reader.nullable_array_length(8, "entries")?.unwrap_or(0) {
        let mut quota = ClientQuota { of: Vec::new(), values: Vec::new() };
        for _ in 0..reader.array_length(4, "entity")? {
            let kind = reader.string("entity_type")?.to_owned();
            let name = reader.nullable_string("entity_name")?.map(str::to_owned);
            quota.of.push(QuotaEntity { kind, name });
        }
        for _ in 0..reader.array_length(10, "values")? {
            let key = reader.string("key")?.to_owned();
            let value = f64::from_be_bytes(reader.array("value")?);
            quota.values.push(QuotaValue { key, value });
        }
        quotas.push(quota);
    }
    reader.end("DescribeClientQuotas")?;
    Ok((error, quotas))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::{Bytes, BytesMut};
    use kafka_protocol::messages::describe_client_quotas_response::{EntityData, EntryData, ValueData};
    use kafka_protocol::messages::{DescribeClientQuotasRequest, DescribeClientQuotasResponse};
    use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
    use proptest::prelude::*;

    fn text(text: &str) -> StrBytes {
        StrBytes::from_string(text.to_owned())
    }

    fn response() -> Vec<u8> {
        let entity = |kind, name| EntityData::default().with_entity_type(text(kind)).with_entity_name(name);
        let value = |key, value| ValueData::default().with_key(text(key)).with_value(value);
        let entry = EntryData::default()
            .with_entity(vec![entity("user", Some(text("alice"))), entity("client-id", None)])
            .with_values(vec![value("producer_byte_rate", 1e6), value("request_percentage", 12.5)]);
        let response =
            DescribeClientQuotasResponse::default().with_error_code(7).with_entries(Some(vec![entry]));
        let mut bytes = BytesMut::new();
        response.encode(&mut bytes, 0).unwrap();
        bytes.to_vec()
    }

    #[test]
    fn quotas_are_read_as_the_protocol_crate_writes_them() {
        let (error, quotas) = read_quotas(&response()).unwrap();
        let entity = |kind: &str, name: Option<&str>| QuotaEntity {
            kind: kind.to_owned(),
            name: name.map(str::to_owned),
        };
        let value = |key: &str, value| QuotaValue { key: key.to_owned(), value };
        let expected = ClientQuota {
            of: vec![entity("user", Some("alice")), entity("client-id", None)],
            values: vec![value("producer_byte_rate", 1e6), value("request_percentage", 12.5)],
        };
        assert_eq!((error, quotas), (ErrorCode(7), vec![expected]));
    }

    #[test]
    fn the_request_asks_for_all_as_the_protocol_crate_reads_it() {
        let mut bytes = Vec::new();
        write_request(&mut bytes);
        let request = DescribeClientQuotasRequest::decode(&mut Bytes::from(bytes), 0).unwrap();
        assert_eq!((request.components.len(), request.strict), (0, false));
    }

    #[test]
    fn every_shortened_response_is_an_error() {
        let whole = response();
        (0..whole.len()).for_each(|length| assert!(read_quotas(&whole[..length]).is_err(), "{length}"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_quotas_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = read_quotas(&bytes);
        }
    }
}
