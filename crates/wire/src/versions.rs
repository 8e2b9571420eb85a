//! The versions of requests that both sides speak.
//!
//! A broker lists its own in answer to ApiVersions, which is asked in version 0: every broker knows it, and the answer has all
//! that is needed.

use std::ops::RangeInclusive;

use crate::read::{Reader, Result};

/// The requests that this crate makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i16)]
#[allow(missing_docs, reason = "the protocol's own names")]
pub enum ApiKey {
    Produce = 0,
    Fetch = 1,
    ListOffsets = 2,
    Metadata = 3,
    SaslHandshake = 17,
    ApiVersions = 18,
    InitProducerId = 22,
    SaslAuthenticate = 36,
    DescribeClientQuotas = 48,
}

/// The versions that a broker speaks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApiVersions {
    ranges: Vec<(i16, RangeInclusive<i16>)>,
}

impl ApiVersions {
    /// Reads the body of an ApiVersions v0 response: its error code, and the versions that it lists.
    ///
    /// # Errors
    /// When the bytes are not that.
    pub fn read(body: &[u8]) -> Result<(i16, Self)> {
        let mut reader = Reader::new(body);
        let error_code = reader.i16("error_code")?;
        let count = reader.array_length(6, "api_keys")?;
        let mut ranges = Vec::with_capacity(count);
        for _ in 0..count {
            let key = reader.i16("api_key")?;
            let least = reader.i16("min_version")?;
            ranges.push((key, least..=reader.i16("max_version")?));
        }
        Ok((error_code, Self { ranges }))
    }

    /// The versions of an API that the broker speaks; `None` when it does not know it.
    #[must_use]
    pub(crate) fn range(&self, api: ApiKey) -> Option<RangeInclusive<i16>> {
        self.ranges.iter().find(|(key, _)| *key == api as i16).map(|(_, range)| range.clone())
    }

    /// The highest version that the broker and we speak.
    #[must_use]
    pub(crate) fn highest_common(&self, api: ApiKey, ours: &RangeInclusive<i16>) -> Option<i16> {
        let theirs = self.range(api)?;
        let highest = *theirs.end().min(ours.end());
        (highest >= *theirs.start().max(ours.start())).then_some(highest)
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use kafka_protocol::messages::ApiVersionsResponse;
    use kafka_protocol::messages::api_versions_response::ApiVersion;
    use kafka_protocol::protocol::Encodable;

    use super::*;

    #[test]
    fn the_list_is_read_as_the_protocol_crate_writes_it_and_every_shortened_one_is_an_error() {
        let listed = ApiVersion::default().with_api_key(1).with_min_version(4).with_max_version(17);
        let mut body = BytesMut::new();
        ApiVersionsResponse::default()
            .with_error_code(35)
            .with_api_keys(vec![listed])
            .encode(&mut body, 0)
            .unwrap();
        let (error_code, versions) = ApiVersions::read(&body).unwrap();
        assert_eq!((error_code, versions.range(ApiKey::Fetch)), (35, Some(4..=17)));
        assert!((0..body.len()).all(|length| ApiVersions::read(&body[..length]).is_err()));
    }

    fn broker(least: i16, most: i16) -> ApiVersions {
        ApiVersions { ranges: vec![(3, least..=most)] }
    }

    #[test]
    fn the_highest_version_that_both_speak_is_taken() {
        for (least, most, expected) in
            [(0, 12, Some(8)), (0, 5, Some(5)), (8, 8, Some(8)), (9, 12, None), (0, 0, None), (5, 2, None)]
        {
            assert_eq!(
                broker(least, most).highest_common(ApiKey::Metadata, &(1..=8)),
                expected,
                "{least}..={most}"
            );
        }
        assert_eq!(broker(0, 12).highest_common(ApiKey::Fetch, &(4..=11)), None);
    }

    #[test]
    fn a_list_that_claims_more_than_it_has_is_an_error() {
        let mut body = vec![0, 0];
        body.extend_from_slice(&i32::MAX.to_be_bytes());
        body.extend_from_slice(&[0; 60]);
        assert!(ApiVersions::read(&body).is_err());
    }
}
