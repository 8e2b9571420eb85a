//! Without root: a check and a plan work, and applying says what it lacks and changes nothing.

use super::in_a_namespace;

#[test]
fn a_user_without_rights_sees_and_plans_and_is_told_what_applying_lacks() {
    let script = r#"
        all > before; chmod 777 . ; chmod 644 plan.json
        user() { setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all env PLUMB_STATE_DIR=$PWD/users HOME=$PWD "$@"; }
        user "$1" check --window 100ms --output json > users.json; code=$?; [ $code -le 1 ] || exit 91
        user "$1" tune plan --window 0s --output json > users-plan.json || exit 92
        user "$1" tune apply plan.json; code=$?
        all | cmp - before || exit 95
        exit $code"#;
    let Some(ended) = in_a_namespace(script) else { return };
    assert_eq!(ended.code(), Some(3), "{} {}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("may not be written by this user"), "{}", ended.stderr);
    assert!(ended.stderr.contains("as root"), "{}", ended.stderr);
}

#[test]
fn a_trace_of_the_kernel_by_a_user_without_rights_says_that_it_needs_root() {
    let script = r#"
        chmod 777 .
        setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all env HOME=$PWD "$1" check --kernel --only thp --window 100ms --output json"#;
    let Some(ended) = in_a_namespace(script) else { return };
    let unseen = ended.json()["unseen"].to_string();
    assert!(unseen.contains("the kernel's reasons of drops"), "{unseen}");
    assert!(unseen.contains("needs root"), "{unseen}");
}
