//! What is said of the groups' loads.

use super::*;

#[test]
fn loads_that_are_surely_but_hardly_apart_are_not_called_chance() {
    let slightly = |test: bool, day: usize| if test && day >= BEFORE { 1.03 } else { 1.0 };
    let result = of(&Fleet { load: slightly, ..USUAL });
    let found = check(&result, "interference");
    assert!(found.p.unwrap() < 0.01, "{found:?}");
    assert_eq!(found.outcome, CheckOutcome::Passed);
    assert!(
        found.statement.contains(": more apart than chance makes it (p = 0.001), but only by "),
        "{found:?}"
    );
    assert!(found.statement.ends_with(", below the 5.0 % from which it matters."), "{found:?}");
    let alike = of(&USUAL);
    assert!(check(&alike, "interference").statement.contains("; chance alone makes as much in "));
}
