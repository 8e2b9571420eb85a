//! What people read in a terminal, as snapshots.

#![allow(missing_docs)]

#[allow(dead_code)]
mod sample;

use plumb_report::text::{TextStyle, render};

const PLAIN: TextStyle = TextStyle { color: false, width: 140 };

#[test]
fn a_wide_terminal_shows_each_setup_on_one_line() {
    insta::assert_snapshot!(render(&sample::full(), PLAIN));
}

#[test]
fn a_terminal_of_80_columns_gives_each_name_a_line_and_nothing_runs_over() {
    let text = render(&sample::full(), TextStyle { width: 80, ..PLAIN });
    let over: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert_eq!(over, Vec::<&str>::new());
    insta::assert_snapshot!(text);
}

#[test]
fn a_killed_run_says_that_nothing_was_measured() {
    insta::assert_snapshot!(render(&sample::killed(), PLAIN));
}

#[test]
fn unequal_durability_is_said_before_any_difference() {
    let mut document = sample::full();
    document.comparisons[3].durability_differences = vec!["acks 0 and all".to_owned()];
    let text = render(&document, PLAIN);
    let said = text.find("!! #3 / #1 differ in durability").expect("said");
    let first_row = text.find("#2 / #1").expect("the comparisons");
    assert!(said < first_row, "{text}");
}

#[test]
fn what_does_not_add_up_is_marked_whatever_the_verdict() {
    let text = render(&sample::full(), PLAIN);
    assert!(text.contains("!! #6: 12 acknowledged and never received"), "{text}");
}

#[test]
fn colour_changes_no_letter() {
    let coloured = render(&sample::full(), TextStyle { color: true, ..PLAIN });
    assert_ne!(coloured, render(&sample::full(), PLAIN));
    assert_eq!(without_escapes(&coloured), render(&sample::full(), PLAIN));
}

#[test]
fn names_and_messages_cannot_steer_the_terminal() {
    let text = render(&sample::hostile(), PLAIN);
    assert!(text.contains("<script>alert('x')</script>"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_run_without_consumers_shows_its_acknowledge_latency_and_claims_no_reception() {
    let text = render(&sample::producers_only(), PLAIN);
    assert!(
        text.contains("Acknowledge latency in ms  from the intended send time to the delivery report"),
        "{text}"
    );
    assert!(text.contains("10,000 intended = sent = acknowledged; nobody receives;"), "{text}");
    assert!(!text.contains("published"), "{text}");
}

fn without_escapes(text: &str) -> String {
    let mut out = String::new();
    for (index, piece) in text.split('\u{1b}').enumerate() {
        out += if index == 0 { piece } else { &piece[piece.find('m').expect("the end of a colour") + 1..] };
    }
    out
}
