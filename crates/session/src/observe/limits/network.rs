//! The link that uses most of what it has. Loopback and virtual interfaces have no link, and no limit.

use plumb_model::observed::HostWindow;

/// A link.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Link {
    pub(super) interface: String,
    /// In one direction.
    pub(super) bytes_per_s: f64,
}

/// The interface with the largest part of its link in use, in its busier direction; none where no interface with a link had traffic.
pub(super) fn nearest(window: &HostWindow) -> Option<Link> {
    let links = window.counters.interfaces.iter().filter_map(|face| {
        let bytes_per_s = *window.links.get(&face.name)? as f64;
        let moved = face.received_bytes.max(face.sent_bytes).filter(|bytes| *bytes > 0)?;
        Some((moved as f64 / bytes_per_s, Link { interface: face.name.clone(), bytes_per_s }))
    });
    links.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, link)| link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_model::facts::InterfaceDelta;

    fn face(name: &str, received: Option<u64>, sent: Option<u64>) -> InterfaceDelta {
        InterfaceDelta {
            name: name.to_owned(),
            received_bytes: received,
            sent_bytes: sent,
            received_packets: None,
            sent_packets: None,
            received_drops: None,
            sent_drops: None,
        }
    }

    #[test]
    fn the_link_that_is_nearest_to_its_limit_is_taken_and_what_has_no_link_is_not() {
        let mut window = HostWindow::default();
        window.counters.interfaces = vec![
            face("lo", Some(u64::MAX), Some(1)),
            face("fast", Some(900), Some(100)),
            face("slow", Some(10), Some(500)),
            face("idle", Some(0), Some(0)),
            face("anew", None, None),
        ];
        for (name, bytes_per_s) in [("fast", 10_000), ("slow", 1_000), ("idle", 1), ("anew", 1)] {
            window.links.insert(name.to_owned(), bytes_per_s);
        }
        let expected = Link { interface: "slow".to_owned(), bytes_per_s: 1_000.0 };
        assert_eq!(nearest(&window), Some(expected));
        window.links.clear();
        assert_eq!(nearest(&window), None);
    }
}
