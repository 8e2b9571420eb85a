//! The error codes of the protocol: their names, and what a client does about them.
//!
//! The table is Kafka's own (its protocol guide, "Error Codes", up to 4.1). A code that is not in it has a number only, and is not
//! retried.

use std::fmt;

/// An error code as a broker sent it. 0 is success.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ErrorCode(pub i16);

impl ErrorCode {
    /// Success.
    pub const NONE: Self = Self(0);
    /// Something that the broker has no code for.
    pub const UNKNOWN_SERVER_ERROR: Self = Self(-1);
    /// The sequence number is not the one after the last.
    pub const OUT_OF_ORDER_SEQUENCE_NUMBER: Self = Self(45);
    /// The batch was appended before; its offset may be unknown by now.
    pub const DUPLICATE_SEQUENCE_NUMBER: Self = Self(46);
    /// The broker, or this listener of it, does not know the mechanism.
    pub(crate) const UNSUPPORTED_SASL_MECHANISM: Self = Self(33);
    /// Authentication where there is none, or twice.
    pub(crate) const ILLEGAL_SASL_STATE: Self = Self(34);

    /// True if it is success.
    #[inline]
    #[must_use]
    pub fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// Kafka's name for it; `None` where there is none that we know.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self.0 {
            -1 => Some("UNKNOWN_SERVER_ERROR"),
            code => NAMES.get(usize::try_from(code).ok()?).copied(),
        }
    }

    /// True if the same request may succeed later, as Kafka classes it.
    #[must_use]
    pub fn is_retriable(self) -> bool {
        matches!(
            self.0,
            2 | 3
                | 5
                | 6
                | 7
                | 9
                | 13
                | 14
                | 15
                | 16
                | 19
                | 20
                | 41
                | 56
                | 70
                | 71
                | 72
                | 74
                | 75
                | 78
                | 80
                | 83
                | 84
                | 88
                | 89
                | 100
                | 103
                | 106
                | 122
                | 123
                | 133
        )
    }

    /// True if the cluster's metadata is out of date: ask for it before trying again. These are the errors that Kafka's clients
    /// class as invalid metadata, and the two by which a broker says that it knows another leader epoch.
    #[must_use]
    pub fn asks_for_metadata(self) -> bool {
        matches!(self.0, 3 | 5 | 6 | 9 | 13 | 56 | 72 | 74 | 75 | 100 | 103)
    }

    /// `Ok` for success, else itself.
    ///
    /// # Errors
    /// Every code but 0.
    #[inline]
    pub fn ok(self) -> Result<(), Self> {
        if self.is_ok() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "error code {}", self.0),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The names by code, from 0 on.
const NAMES: &[&str] = &[
    "NONE",
    "OFFSET_OUT_OF_RANGE",
    "CORRUPT_MESSAGE",
    "UNKNOWN_TOPIC_OR_PARTITION",
    "INVALID_FETCH_SIZE",
    "LEADER_NOT_AVAILABLE",
    "NOT_LEADER_OR_FOLLOWER",
    "REQUEST_TIMED_OUT",
    "BROKER_NOT_AVAILABLE",
    "REPLICA_NOT_AVAILABLE",
    "MESSAGE_TOO_LARGE",
    "STALE_CONTROLLER_EPOCH",
    "OFFSET_METADATA_TOO_LARGE",
    "NETWORK_EXCEPTION",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "INVALID_TOPIC_EXCEPTION",
    "RECORD_LIST_TOO_LARGE",
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "INVALID_REQUIRED_ACKS",
    "ILLEGAL_GENERATION",
    "INCONSISTENT_GROUP_PROTOCOL",
    "INVALID_GROUP_ID",
    "UNKNOWN_MEMBER_ID",
    "INVALID_SESSION_TIMEOUT",
    "REBALANCE_IN_PROGRESS",
    "INVALID_COMMIT_OFFSET_SIZE",
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "INVALID_TIMESTAMP",
    "UNSUPPORTED_SASL_MECHANISM",
    "ILLEGAL_SASL_STATE",
    "UNSUPPORTED_VERSION",
    "TOPIC_ALREADY_EXISTS",
    "INVALID_PARTITIONS",
    "INVALID_REPLICATION_FACTOR",
    "INVALID_REPLICA_ASSIGNMENT",
    "INVALID_CONFIG",
    "NOT_CONTROLLER",
    "INVALID_REQUEST",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    "POLICY_VIOLATION",
    "OUT_OF_ORDER_SEQUENCE_NUMBER",
    "DUPLICATE_SEQUENCE_NUMBER",
    "INVALID_PRODUCER_EPOCH",
    "INVALID_TXN_STATE",
    "INVALID_PRODUCER_ID_MAPPING",
    "INVALID_TRANSACTION_TIMEOUT",
    "CONCURRENT_TRANSACTIONS",
    "TRANSACTION_COORDINATOR_FENCED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "SECURITY_DISABLED",
    "OPERATION_NOT_ATTEMPTED",
    "KAFKA_STORAGE_ERROR",
    "LOG_DIR_NOT_FOUND",
    "SASL_AUTHENTICATION_FAILED",
    "UNKNOWN_PRODUCER_ID",
    "REASSIGNMENT_IN_PROGRESS",
    "DELEGATION_TOKEN_AUTH_DISABLED",
    "DELEGATION_TOKEN_NOT_FOUND",
    "DELEGATION_TOKEN_OWNER_MISMATCH",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
    "DELEGATION_TOKEN_EXPIRED",
    "INVALID_PRINCIPAL_TYPE",
    "NON_EMPTY_GROUP",
    "GROUP_ID_NOT_FOUND",
    "FETCH_SESSION_ID_NOT_FOUND",
    "INVALID_FETCH_SESSION_EPOCH",
    "LISTENER_NOT_FOUND",
    "TOPIC_DELETION_DISABLED",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "UNSUPPORTED_COMPRESSION_TYPE",
    "STALE_BROKER_EPOCH",
    "OFFSET_NOT_AVAILABLE",
    "MEMBER_ID_REQUIRED",
    "PREFERRED_LEADER_NOT_AVAILABLE",
    "GROUP_MAX_SIZE_REACHED",
    "FENCED_INSTANCE_ID",
    "ELIGIBLE_LEADERS_NOT_AVAILABLE",
    "ELECTION_NOT_NEEDED",
    "NO_REASSIGNMENT_IN_PROGRESS",
    "GROUP_SUBSCRIBED_TO_TOPIC",
    "INVALID_RECORD",
    "UNSTABLE_OFFSET_COMMIT",
    "THROTTLING_QUOTA_EXCEEDED",
    "PRODUCER_FENCED",
    "RESOURCE_NOT_FOUND",
    "DUPLICATE_RESOURCE",
    "UNACCEPTABLE_CREDENTIAL",
    "INCONSISTENT_VOTER_SET",
    "INVALID_UPDATE_VERSION",
    "FEATURE_UPDATE_FAILED",
    "PRINCIPAL_DESERIALIZATION_FAILURE",
    "SNAPSHOT_NOT_FOUND",
    "POSITION_OUT_OF_RANGE",
    "UNKNOWN_TOPIC_ID",
    "DUPLICATE_BROKER_REGISTRATION",
    "BROKER_ID_NOT_REGISTERED",
    "INCONSISTENT_TOPIC_ID",
    "INCONSISTENT_CLUSTER_ID",
    "TRANSACTIONAL_ID_NOT_FOUND",
    "FETCH_SESSION_TOPIC_ID_ERROR",
    "INELIGIBLE_REPLICA",
    "NEW_LEADER_ELECTED",
    "OFFSET_MOVED_TO_TIERED_STORAGE",
    "FENCED_MEMBER_EPOCH",
    "UNRELEASED_INSTANCE_ID",
    "UNSUPPORTED_ASSIGNOR",
    "STALE_MEMBER_EPOCH",
    "MISMATCHED_ENDPOINT_TYPE",
    "UNSUPPORTED_ENDPOINT_TYPE",
    "UNKNOWN_CONTROLLER_ID",
    "UNKNOWN_SUBSCRIPTION_ID",
    "TELEMETRY_TOO_LARGE",
    "INVALID_REGISTRATION",
    "TRANSACTION_ABORTABLE",
    "INVALID_RECORD_STATE",
    "SHARE_SESSION_NOT_FOUND",
    "INVALID_SHARE_SESSION_EPOCH",
    "FENCED_STATE_EPOCH",
    "INVALID_VOTER_KEY",
    "DUPLICATE_VOTER",
    "VOTER_NOT_FOUND",
    "INVALID_REGULAR_EXPRESSION",
    "REBOOTSTRAP_REQUIRED",
    "STREAMS_INVALID_TOPOLOGY",
    "STREAMS_INVALID_TOPOLOGY_EPOCH",
    "STREAMS_TOPOLOGY_FENCED",
    "SHARE_SESSION_LIMIT_REACHED",
];

#[cfg(test)]
mod tests {
    use kafka_protocol::ResponseError;

    use super::*;

    #[test]
    fn every_code_has_the_name_and_the_class_that_the_protocol_crate_gives_it() {
        for code in (-1..200).filter(|code| *code != 0) {
            let theirs = ResponseError::try_from_code(code).unwrap();
            let known = !matches!(theirs, ResponseError::Unknown(_));
            let ours = ErrorCode(code);
            assert_eq!(ours.name().is_some(), known, "{code}");
            if let Some(name) = ours.name() {
                assert_eq!(name.replace('_', ""), theirs.to_string().to_uppercase());
            }
            assert_eq!(ours.is_retriable(), theirs.is_retriable(), "{ours}");
        }
    }

    #[test]
    fn a_moved_leader_asks_for_metadata_and_a_message_that_is_too_large_does_not() {
        assert!(ErrorCode(6).asks_for_metadata() && ErrorCode(6).is_retriable());
        assert!(!ErrorCode(10).asks_for_metadata() && !ErrorCode(10).is_retriable());
        assert_eq!(ErrorCode(6).to_string(), "NOT_LEADER_OR_FOLLOWER (6)");
        assert_eq!(ErrorCode(999).to_string(), "error code 999");
        assert_eq!(ErrorCode(-2).name(), None);
    }
}
