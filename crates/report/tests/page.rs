//! The page: its structure, that it loads nothing, that nothing breaks out of it, that its colours can be told apart
//! from the ground. How it looks is looked at with `examples/sample.rs` and a browser.

#![allow(missing_docs, clippy::unwrap_used)]

#[allow(dead_code)]
mod sample;

use plumb_model::document::{RunDocument, StepResult};
use plumb_model::finding::Finding;
use plumb_model::plan::Mode;
use plumb_model::units::Bytes;

fn page(document: &RunDocument) -> String {
    plumb_report::html::render(document).unwrap()
}

#[test]
fn the_page_has_every_part_of_a_whole_run() {
    let html = page(&sample::full());
    for part in [
        "<span class=\"word\">suspect</span>",
        "Of the default producer&#39;s mean, 5.1 ms are linger.ms = 5.",
        "<small>±0.61</small>",
        "<small>43.3 to 48.9</small>",
        "id=\"curves\"",
        "id=\"differences\"",
        "id=\"stages\"",
        "id=\"over-time\"",
        "id=\"validity\"",
        "id=\"configuration\"",
        "id=\"environment\"",
        "plumb explain counts-disagree",
        "12 acknowledged and never received",
        "p99 of #4: needs 1,000 samples, has 800",
        "<th scope=\"row\" class=\"setup\">published</th><td class=\"further\">9.09</td><td></td>",
        "<th scope=\"col\">mean<small>95 % interval</small></th>",
        "a cloud vendor&#39;s article, 2021",
        "no /sys/devices/system/cpu/cpu0/cpufreq",
        "prefers-color-scheme:dark",
        "@media print",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert_eq!(html.matches("<polyline class=\"curve ").count(), 8);
    assert_eq!(html.matches("<svg class=\"bar\"").count(), 8);
    assert_eq!(html.matches("<figure class=\"chart small\">").count(), 8);
}

#[test]
fn a_trial_has_its_verdicts_its_pairs_and_what_to_know_before_relying_on_it() {
    let html = page(&sample::trial::one_arm());
    for part in [
        "id=\"trial\"",
        "These do not promise the same.",
        "<li class=\"verdict valid\"><b class=\"word\">better</b> <span class=\"arms\">low / default</span>",
        "class=\"margin-band\"",
        "class=\"interval-band\"",
        "Equal arms may differ by up to ×1.040 here by chance",
        "needs 10000 messages a block",
        "1 of 12 pairs is left out",
        "Pair 5 is left out",
        "p of those that may veto is each one&#39;s own",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("p, adjusted"), "that of a guardrail is not");
    // Eleven pairs in the chart of the arm, eleven in that of the reference against itself.
    assert_eq!(html.matches("class=\"pair-line\"").count(), 22);
}

#[test]
fn records_of_others_stand_beside_counts_that_add_up() {
    let mut document = sample::throughput::modes();
    document.steps[0].accounting.foreign = 77;
    let html = page(&document);
    assert!(html.contains("In every setup intended = sent = acknowledged"), "{html}");
    assert!(html.contains("77 on the topic that this run did not send"), "{html}");
    assert!(!html.contains("The counts do not add up."), "{html}");
}

#[test]
fn a_backlog_that_was_drained_at_a_rate_is_told_beside_the_latencies() {
    let mut document = sample::full();
    document.plan.steps[0].load.mode = Mode::Backlog(Bytes(20 << 20));
    document.steps[0].throughput.drain_s = Some(0.527);
    document.steps[0].throughput.received_per_s = Some(14_560.0);
    let html = page(&document);
    assert!(html.contains("id=\"backlog\"") && html.contains("so they are of draining"), "{html}");
    assert!(html.contains("<td>20MiB</td><td>0.527</td>") && html.contains("<td>14,560</td>"), "{html}");
    assert!(!page(&sample::full()).contains("id=\"backlog\""));
}

#[test]
fn a_valid_run_of_short_blocks_says_what_was_not_looked_for() {
    let note = "Growth and swings within a block were not looked for";
    let mut document = sample::throughput::modes();
    assert!(!page(&document).contains(note));
    document.steps[0].series.retain(|row| row.second < 8);
    assert_eq!(page(&document).matches(note).count(), 1);
    document.validity.verdict = plumb_model::finding::ValidityVerdict::Suspect;
    assert!(!page(&document).contains(note));
}

#[test]
fn a_narrow_screen_leaves_the_ratios_of_a_trial_room_for_the_labels_of_their_axis() {
    let html = page(&sample::trial::one_arm());
    let after_its_own = html.split_once(".trial-forest{min-width").unwrap().1;
    let on_screens = after_its_own.split_once("@media print").unwrap().0;
    assert!(!on_screens.contains("\n.forest{min-width"), "it would make the trial's table too narrow");
}

#[test]
fn the_page_loads_nothing() {
    let html = page(&sample::full());
    for load in ["http://", "https://", "src=", "@import", "url(h", "<link", "fetch("] {
        assert!(!html.contains(load), "{load}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn every_page_is_well_formed() {
    for (name, document) in [
        ("full", sample::full()),
        ("killed", sample::killed()),
        ("hostile", sample::hostile()),
        ("trial", sample::trial::one_arm()),
        ("trial of several arms", sample::trial::several_arms()),
        ("swept", sample::throughput::swept()),
        ("modes", sample::throughput::modes()),
        ("searched", sample::throughput::searched()),
    ] {
        assert_eq!(unbalanced(&page(&document)), None, "{name}");
    }
}

#[test]
fn no_text_from_outside_becomes_markup() {
    let html = page(&sample::hostile());
    assert!(html.contains("&#60;script&#62;alert"), "the text is shown");
    assert!(!html.contains("<script>alert"));
    assert_eq!(html.matches("<script").count(), 1);
}

#[test]
fn every_reference_inside_the_page_leads_somewhere() {
    let html = page(&sample::full());
    for attribute in ["href=\"#", "aria-labelledby=\"", "url(#"] {
        for after in html.split(attribute).skip(1) {
            let end = after.find(['"', ')']).unwrap();
            for id in after[..end].split(' ') {
                assert!(html.contains(&format!("id=\"{id}\"")), "{attribute}{id}");
            }
        }
    }
}

#[test]
fn a_killed_run_has_a_page_that_says_so() {
    let html = page(&sample::killed());
    assert!(html.contains("it still runs, or was killed; 0 of 40 blocks measured."));
    assert!(html.contains("Nothing was measured"));
    assert!(!html.contains("id=\"curves\""));
}

#[test]
fn the_setup_that_beats_each_other_one_is_marked_fastest_and_no_other() {
    let mut document = sample::full();
    assert!(!page(&document).contains("fastest</b>"), "none beats each other one by more than the noise");
    document.winners = vec![sample::winner(&document)];
    let html = page(&document);
    assert_eq!(html.matches("<b class=\"mark\">fastest</b>").count(), 1);
    document.winners[0].beats_all = false;
    assert!(!page(&document).contains("fastest</b>"), "it was not held against each other one");
}

#[test]
fn one_finding_of_many_setups_is_one_card_with_each_setup_s_evidence() {
    let mut document = sample::full();
    let first = document.validity.reasons[0].clone();
    document.validity.reasons = (0..8)
        .map(|setup| Finding { step: Some(document.steps[setup].name.clone()), ..first.clone() })
        .collect();
    let html = page(&document);
    let cards = html.split("<h2 id=\"validity\">").nth(1).unwrap().split("</section>").next().unwrap();
    assert_eq!(cards.matches("<article class=\"card").count(), 1);
    assert!(cards.contains("likewise #2 to #8"), "{cards}");
    assert_eq!(cards.matches("<table class=\"evidence\">").count(), 8);
}

#[test]
fn each_region_of_a_page_has_a_name_of_its_own() {
    for document in [sample::full(), sample::trial::several_arms(), sample::throughput::modes()] {
        let html = page(&document);
        let names: Vec<&str> = html
            .split("role=\"region\" aria-label=\"")
            .skip(1)
            .map(|after| after.split('"').next().unwrap())
            .collect();
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), names.len(), "{names:?}");
    }
}

#[test]
fn a_step_without_any_figure_is_a_row_of_absent_cells() {
    let mut document = sample::killed();
    document.steps =
        vec![StepResult { name: "empty".to_owned(), asked_per_s: Some(100.0), ..Default::default() }];
    let html = page(&document);
    assert_eq!(unbalanced(&html), None);
    assert!(html.contains("min, p50, p75, p95, p99, p99.9, max, mean of #1: nothing was recorded"), "{html}");
    assert!(html.contains("<td title=\"nothing was recorded\">-</td>"));
}

#[test]
fn a_run_without_consumers_shows_its_acknowledge_latency() {
    let html = page(&sample::producers_only());
    assert!(
        html.contains("Acknowledge latency <small>ms, from the intended send time to the delivery report")
    );
    assert!(html.contains("In every setup intended = sent = acknowledged; nobody receives."));
    assert_eq!(html.matches("<polyline class=\"curve ").count(), 1);
    assert_eq!(html.matches("<figure class=\"chart small\">").count(), 1);
}

#[test]
fn a_sweep_is_drawn_with_every_block_and_its_knees() {
    let html = page(&sample::throughput::swept());
    assert_eq!(html.matches("<circle class=\"block\"").count(), 3 * 20 * 5);
    assert_eq!(html.matches("<polyline class=\"curve ").count(), 3);
    for part in [
        "Throughput against producers",
        "messages/s acknowledged, as fast as possible",
        "knee 6 (5 to 8)",
        "falls from 16 (15 to 17)",
        "varies from 9 (8 to 10)",
        "knee 12 (11 or more)",
        "×12.4 (11.9 to 12.9)",
        "as fast as possible: no latency is given; MB are 10^6 bytes of values",
    ] {
        assert!(html.contains(part), "{part}");
    }
    for latency in ["id=\"latency\"", "id=\"others\"", "id=\"curves\"", "id=\"over-time\""] {
        assert!(!html.contains(latency), "{latency}");
    }
}

#[test]
fn a_backlog_is_drawn_over_time_with_the_time_that_it_took_to_drain() {
    let html = page(&sample::throughput::modes());
    assert!(html.contains("Backlog over time") && html.contains("backlog, drained in 4.20 s"));
    assert!(html.contains("a ratio above 1 means that the second setup is faster."));
    assert_eq!(html.matches("<figure class=\"chart small\">").count(), 5);
}

#[test]
fn a_search_is_drawn_with_its_trials_its_goal_and_what_was_found() {
    let html = page(&sample::throughput::searched());
    assert!(html.contains("Highest rate with p99 of the end-to-end latency at most 20.0 ms"));
    assert_eq!(html.matches("<g class=\"tried holds").count(), 10);
    assert_eq!(html.matches("<g class=\"tried fails").count(), 5);
    assert_eq!(html.matches("<rect class=\"found\"").count(), 1);
}

#[test]
fn more_setups_than_colours_still_look_different() {
    let mut document = sample::full();
    let again = document.steps.clone();
    document.steps.extend(again);
    let html = page(&document);
    let mut looks: Vec<&str> = html
        .split("<polyline class=\"curve ")
        .skip(1)
        .map(|after| &after[..after.find('"').unwrap()])
        .collect();
    looks.sort_unstable();
    looks.dedup();
    assert_eq!(looks.len(), 16);
}

#[test]
fn colours_stand_out_from_the_ground_in_light_and_dark() {
    let css = include_str!("../templates/report.css");
    let (light, dark) = css.split_once("prefers-color-scheme:dark").unwrap();
    for (mode, css) in [("light", light), ("dark", dark)] {
        let ground = colour(css, "ground");
        for name in ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"] {
            assert!(contrast(colour(css, name), ground) >= 3.0, "{mode} {name}");
        }
        for name in ["ink", "soft", "link", "good", "warn", "bad"] {
            assert!(contrast(colour(css, name), ground) >= 4.5, "{mode} {name}");
        }
        for (name, on) in
            [("warn", "warn-ground"), ("bad", "bad-ground"), ("good", "good-ground"), ("soft", "panel")]
        {
            assert!(contrast(colour(css, name), colour(css, on)) >= 4.5, "{mode} {name} on {on}");
        }
    }
}

/// Relative luminance of a custom property's colour, `#rgb` or `#rrggbb` (WCAG 2.2).
fn colour(css: &str, name: &str) -> f64 {
    let after = css.split(&format!("--{name}:#")).nth(1).unwrap();
    let hex: String = after.chars().take_while(char::is_ascii_hexdigit).collect();
    let wide: String = if hex.len() == 3 { hex.chars().flat_map(|c| [c, c]).collect() } else { hex };
    let channel = |at: usize| {
        let value = f64::from(u8::from_str_radix(&wide[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
}

/// Contrast ratio of two luminances (WCAG 2.2).
fn contrast(a: f64, b: f64) -> f64 {
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The first tag that closes what was not open, or stays open; None when all tags are balanced.
fn unbalanced(html: &str) -> Option<String> {
    const VOID: [&str; 5] = ["meta", "!doctype", "br", "link", "input"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let tag = &rest[..rest.find('>')?];
        rest = &rest[tag.len() + 1..];
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap_or_default();
        if let Some(closed) = tag.strip_prefix('/') {
            if open.pop() != Some(closed) {
                return Some(format!("</{closed}>"));
            }
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
        if matches!(name, "style" | "script") && !tag.starts_with('/') {
            rest = &rest[rest.find(&format!("</{name}>"))?..];
        }
    }
    open.pop().map(|name| format!("<{name}>"))
}
