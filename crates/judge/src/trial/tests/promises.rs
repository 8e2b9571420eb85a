//! What arms promise, where one of them does not tell all of it.

use super::trials::{result, trial_of};

#[test]
fn what_an_arm_whose_brokers_ended_does_not_tell_is_not_said_to_differ() {
    let mut document = trial_of(&[("low", 1.0)], 12, 1);
    document.steps[1].durability.replication = None;
    assert_eq!(
        result(&document).unequal_guarantees,
        [
            "it is not known whether \"default\" and \"low\" promise the same, as one of them does not tell all of it (replication: 1 / not known)"
        ]
    );
    // Beside what is known to differ it is named.
    document.steps[1].durability.acks = Some("0".to_owned());
    assert_eq!(
        result(&document).unequal_guarantees,
        [
            "\"default\" and \"low\" differ in durability, so in what they promise (acks: 1 / 0; replication: 1 / not known)"
        ]
    );
}
