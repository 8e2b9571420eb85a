//! The addresses of brokers, checked before any client sees them.
//!
//! A client may read a port in 16 bits of a larger number: 99999 becomes 34463, and a load goes to a service that nobody
//! named. So a port that is none is refused here, for every driver alike.

use super::ResolveError;

/// Refuses a list of addresses (`host:port`, comma separated) of which one has no usable port.
pub(super) fn check(addresses: &str, place: &str) -> Result<(), ResolveError> {
    let refused = |got: String, expected: &str, reason| {
        Err(ResolveError::OutOfBounds {
            place: place.to_owned(),
            path: "cluster.bootstrap".to_owned(),
            got,
            expected: expected.to_owned(),
            reason,
        })
    };
    let parts: Vec<&str> = addresses.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return refused(
            format!("{addresses:?}"),
            "host:port, comma separated",
            "a run has to begin somewhere",
        );
    }
    if parts.iter().any(|part| part.contains('@')) {
        let reason = "an address with a login in it would be kept in the run's document; a login belongs in the client properties \
                      file (cluster.config or --config)";
        return Err(ResolveError::Reserved {
            place: place.to_owned(),
            path: "cluster.bootstrap".to_owned(),
            reason,
        });
    }
    for part in parts {
        if part.split_once("://").is_some_and(|(scheme, _)| !is_protocol(scheme)) {
            return refused(
                format!("{part:?}"),
                "host:port without a scheme in front, such as localhost:9092",
                "Kafka is spoken to by its own protocol",
            );
        }
        if let Some(port) = port(part)
            && !port.parse::<u16>().is_ok_and(|number| number > 0 && port.bytes().all(|c| c.is_ascii_digit()))
        {
            return refused(
                format!("{part:?}"),
                "host:port with a port from 1 to 65535",
                "another number would be taken for some other port",
            );
        }
    }
    Ok(())
}

/// True for a name of a broker's listener that clients take in front of an address.
fn is_protocol(scheme: &str) -> bool {
    ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"].iter().any(|known| known.eq_ignore_ascii_case(scheme))
}

/// The port of `host:port`, `[::1]:port`, `PLAINTEXT://host:port`; none where only a host is named.
fn port(address: &str) -> Option<&str> {
    let address = address.rsplit("://").next().unwrap_or(address);
    let after_host = match address.rsplit_once(']') {
        Some((_, rest)) => rest,
        // More colons than one without brackets: an IPv6 address alone.
        None if address.matches(':').count() > 1 => return None,
        None => address,
    };
    after_host.split_once(':').map(|(_, port)| port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_would_wrap_around_to_another_is_refused() {
        for wrong in [
            "localhost:99999",
            "a:9092,b:65536",
            "[::1]:70000",
            "a:0",
            "a:-1",
            "a:+9092",
            "a:",
            "a:9092x",
            "SSL://a:99999",
            "",
            " , ",
        ] {
            let error = check(wrong, "--bootstrap: ").unwrap_err().to_string();
            assert!(error.contains("cluster.bootstrap"), "{wrong}: {error}");
        }
        let error = check("localhost:99999", "--bootstrap: ").unwrap_err().to_string();
        assert!(error.contains("\"localhost:99999\"") && error.contains("1 to 65535"), "{error}");
    }

    #[test]
    fn a_web_address_is_told_how_a_broker_is_named_and_a_login_is_refused_without_repeating_it() {
        for wrong in ["http://127.0.0.1:9092", "a:9092,https://b", "kafka://a:1"] {
            let error = check(wrong, "").unwrap_err().to_string();
            assert!(error.contains("without a scheme") && error.contains("://"), "{wrong}: {error}");
        }
        for login in ["user:S3CR@127.0.0.1:9092", "a:1,SASL_SSL://S3CR@b:1"] {
            let error = check(login, "--bootstrap: ").unwrap_err().to_string();
            assert!(error.starts_with("--bootstrap: ") && !error.contains("S3CR"), "{error}");
            assert!(error.contains("--config"), "{error}");
        }
    }

    #[test]
    fn addresses_that_clients_take_are_taken() {
        for right in [
            "localhost:9092",
            "a",
            "a:1, b:65535",
            "[::1]:9092",
            "::1",
            "PLAINTEXT://a:9092",
            "10.0.0.1:9092,",
        ] {
            assert_eq!(check(right, ""), Ok(()), "{right}");
        }
    }
}
