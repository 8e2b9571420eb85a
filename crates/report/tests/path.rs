//! A watched path as text and page: what stands first, that unknown is never drawn as zero, that nothing breaks out or is fetched, that
//! the page stays small. How it looks is looked at with `examples/sample.rs` and a browser.

#![allow(missing_docs, clippy::unwrap_used)]

#[allow(dead_code)]
mod sample;

use plumb_model::observed::ObservedPath;
use plumb_report::path;
use plumb_report::text::TextStyle;

fn page(document: &ObservedPath) -> String {
    path::page::render(document).unwrap()
}

fn text(document: &ObservedPath) -> String {
    path::text::render(document, TextStyle { color: false, width: 100 })
}

fn flame(document: &ObservedPath) -> String {
    path::flame::file(&document.processes[0]).unwrap().unwrap()
}

/// The places of these parts, in this order.
fn assert_in_order(text: &str, parts: &[&str]) {
    let mut from = 0;
    for part in parts {
        let at =
            text[from..].find(part).unwrap_or_else(|| panic!("{part} is not there, or too early: {text}"));
        from += at + part.len();
    }
}

#[test]
fn the_page_has_the_paragraph_first_and_then_every_part() {
    let parts = [
        "<span class=\"word\">bound</span>",
        "A message waits 25.9 ms on average",
        "id=\"stages\"",
        "id=\"limits\"",
        "id=\"causes\"",
        "aes-not-accelerated",
        "<span class=\"tag invalid\">tried: it holds</span>",
        "changed over as it is: 0.771 to 0.824",
        "id=\"suspected\"",
        "What threads did",
        "Where processor time went",
        "Flame graph",
        "id=\"clients\"",
        "FetchConsumer",
        "id=\"kernel\"",
        "<h3>process 1234 (java)</h3>",
        "fsync and fdatasync",
        "<h3>the host</h3>",
        "journal commits",
        "id=\"counters\"",
        "id=\"unseen\"",
        "id=\"cost\"",
    ];
    assert_in_order(&page(&sample::path::rich()), &parts);
}

#[test]
fn a_card_says_how_sure_why_what_to_do_what_would_prove_it_and_what_it_is_mistaken_for() {
    let page = page(&sample::path::rich());
    let (_, card) = page.split_once("id=\"cause-aes-not-accelerated\"").unwrap();
    let (card, _) = card.split_once("</article>").unwrap();
    let parts = [
        "supported",
        "network and encryption",
        "TLS encrypts in software",
        "40.6 % of the wait",
        "JVM flag UseAES",
        "Start the JVM without",
        "To prove it, start the broker",
        "<code>tls-cpu</code> (supported here, too)",
        "<code>network-threads-saturated</code> (not found here)",
        "plumb explain aes-not-accelerated",
    ];
    assert_in_order(card, &parts);
}

#[test]
fn a_stage_that_is_not_known_is_told_as_such_and_takes_no_time() {
    let page = page(&sample::path::rich());
    let (_, stages) = page.split_once("id=\"stages\"").unwrap();
    let (bar, rows) = stages.split_once("<table").unwrap();
    assert_eq!(bar.matches("class=\"part s-unknown\"").count(), 1, "{bar}");
    assert!(bar.contains("remote: not known"), "{bar}");
    let (_, remote) = rows.split_once("remote<small>").unwrap();
    let (remote, _) = remote.split_once("</tr>").unwrap();
    assert!(remote.contains("not known</td>") && !remote.contains('0'), "{remote}");

    let nothing = crate::page(&sample::path::poor());
    assert_eq!(nothing.matches("not known</td>").count(), 9);
    assert!(!nothing.contains("aria-label=\"mean of a request"), "without a known stage there is no bar");
}

#[test]
fn states_of_threads_that_were_not_read_are_no_sleep() {
    let page = page(&sample::path::rich());
    let (_, collections) = page.split_once("aria-label=\"garbage collection ×4: ").unwrap();
    let (bar, _) = collections.split_once("</svg>").unwrap();
    assert_eq!(bar.matches("<rect class=\"part ").count(), 2, "{bar}");
    assert!(bar.contains("not known, or not there yet: 99.25 %"), "{bar}");
}

#[test]
fn two_thousand_stacks_stay_under_a_megabyte_and_nothing_is_fetched() {
    let document = sample::path::rich();
    assert_eq!(document.processes[0].profile.as_ref().unwrap().stacks.len(), 2_000);
    let page = page(&document);
    assert!(page.len() < 1_000_000 && flame(&document).len() < 1_000_000, "{}", page.len());
    for load in ["src=", "@import", "url(h", "<link", "fetch(", "href=\"h", "w3.org"] {
        assert!(!page.contains(load), "{load}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn nothing_of_a_hostile_path_breaks_out_of_the_page_the_picture_or_the_terminal() {
    let document = sample::path::hostile();
    let page = page(&document);
    assert!(page.len() < 1_500_000, "{}", page.len());
    let flame = flame(&document);
    for (what, text) in [("page", &page), ("flame", &flame)] {
        assert!(!text.contains("<script>alert"), "{what}");
        assert!(!text.contains("</script></metadata>"), "{what}");
        let controls: Vec<char> = text.chars().filter(|c| c.is_control() && !matches!(c, '\n')).collect();
        assert!(controls.is_empty(), "{what}: {controls:?}");
    }
    assert_eq!(page.matches("<script>").count(), 1, "its own");
    assert_eq!(flame.matches("]]>").count(), 1, "its own");
    for width in [60, 100, 200] {
        let text = path::text::render(&document, TextStyle { color: false, width });
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }
}

#[test]
fn what_is_not_there_leaves_no_part_and_no_zero() {
    let page = page(&sample::path::empty());
    assert!(page.contains("Observations without a search for causes."), "{page}");
    for part in [
        "id=\"stages\"",
        "id=\"limits\"",
        "What threads did",
        "id=\"kernel\"",
        "id=\"counters\"",
        "class=\"flame\"",
    ] {
        assert!(!page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<dd>not measured</dd>").count(), 4, "{page}");
}

#[test]
fn each_traced_process_has_its_own_waits_in_text_and_page() {
    let path = sample::path::two_brokers();
    let parts = [
        "process 1234: ready, until on a processor",
        "process 1234: fsync",
        "process 1234: data-plane-kafk off CPU in ep_poll",
        "process 5678: ready, until on a processor",
        "process 5678: fsync",
        "process 5678: data-plane-kafk off CPU in jbd2_log_wait_commit",
        "journal commit",
    ];
    assert_in_order(&text(&path), &parts);
    let page = page(&path);
    let (_, kernel) = page.split_once("id=\"kernel\"").unwrap();
    let parts = [
        "<h3>process 1234 (java)</h3>",
        "373 times",
        "ep_poll",
        "<h3>process 5678 (java)</h3>",
        "7 times",
        "jbd2_log_wait_commit",
        "<h3>the host</h3>",
        "journal commits",
    ];
    assert_in_order(kernel, &parts);
}

#[test]
fn what_the_kernel_does_not_tell_is_said_in_the_text_too() {
    let mut path = sample::path::empty();
    let missing = vec!["fsync: cannot attach to sys_enter".to_owned()];
    path.kernel = Some(plumb_model::observed::KernelWindow { missing, ..Default::default() });
    assert!(text(&path).contains("not to be had: fsync: cannot attach to sys_enter"), "{}", text(&path));
}

#[test]
fn stages_of_no_time_and_of_less_are_told_in_words() {
    let mut path = sample::path::rich();
    let stages = &mut path.diagnosis.as_mut().unwrap().stages;
    for stage in stages.iter_mut() {
        match stage.name.as_str() {
            "unexplained" => (stage.mean_ns, stage.share) = (Some(0.0), Some(0.0)),
            "fetch" => (stage.mean_ns, stage.share) = (Some(-5e6), None),
            _ => {}
        }
    }
    let text = text(&path);
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(row("unexplained").contains("within the error") && !row("unexplained").contains('%'), "{text}");
    assert!(row("fetch").contains("-5.00 ms"), "{text}");
    assert!(row("fetch").contains("consumers were served before the acknowledgement"), "{text}");
    let page = page(&path);
    assert!(page.contains("unexplained: within the error"), "{page}");
    assert!(!page.contains(">0 ns<") && !page.contains(": 0 ns"), "{page}");
}

#[test]
fn the_picture_is_xml_with_the_frames_in_it() {
    let flame = flame(&sample::path::rich());
    assert!(flame.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{}", &flame[..80]);
    for part in
        ["Processor.poll", "class=\"frame k-aes\"", "<![CDATA[", "AES and GHASH", "process 1234 (java)"]
    {
        assert!(flame.contains(part), "{part}");
    }
    assert!(!flame.contains("&nbsp;"), "no entity that XML does not know");
}

#[test]
fn the_text_is_read_from_the_top_and_is_two_screens_long() {
    let text = text(&sample::path::rich());
    let parts = [
        "BOUND",
        "A message waits 25.9 ms on average",
        "1. aes-not-accelerated  supported, 40.6 % of the wait",
        "2. tls-cpu",
        "A consequence of aes-not-accelerated.",
        "3. linger-too-long  confirmed",
        "tried: it holds: with producer.linger.ms: 0",
        "Suspected",
        "Stages",
        "not known: remote (no Produce request",
        "Limits",
        "Threads of process 1234",
        "CPU of process 1234",
        "Not seen",
    ];
    assert_in_order(&text, &parts);
    assert!(text.lines().count() <= 100, "{}: {text}", text.lines().count());
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn texts_of_a_known_and_of_an_unknown_path_read_as_they_did() {
    insta::assert_snapshot!("path_rich", text(&sample::path::rich()));
    insta::assert_snapshot!("path_poor", text(&sample::path::poor()));
    insta::assert_snapshot!("path_empty", text(&sample::path::empty()));
}

mod compared {
    use super::{assert_in_order, sample};
    use plumb_model::compare::paths::{
        ComparedPath, FigureUnit, PATH_COMPARE_SCHEMA_VERSION, PathCompareKind, PathCompareResult,
        PathFigure, PathFinding, PathPart, PathSetting,
    };
    use plumb_model::diagnosis::DiagnosisVerdict;
    use plumb_model::finding::Confidence;
    use plumb_report::path::{page, side_by_side};
    use plumb_report::text::TextStyle;

    const HOSTILE: &str = "x<script>alert(1)</script>\u{1b}[2J";

    fn result() -> PathCompareResult {
        let rich = sample::path::rich().diagnosis.unwrap();
        let path = |label: &str, verdict| ComparedPath {
            label: label.to_owned(),
            started_at: "2026-11-20T15:04:05Z".to_owned(),
            elapsed_ns: 30_000_000_000,
            complete: true,
            plumb_version: "0.1.0".to_owned(),
            verdict,
            summary: rich.summary.clone(),
        };
        let figure = |part, name: &str, unit, a: Option<f64>, b: Option<f64>, differs| PathFigure {
            part,
            name: name.to_owned(),
            unit,
            a_figure: a,
            b_figure: b,
            ratio: a.zip(b).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a),
            differs,
        };
        let setting = |of: &str, key: &str, a: Option<&str>, b: Option<&str>| PathSetting {
            of: of.to_owned(),
            key: key.to_owned(),
            a: a.map(str::to_owned),
            b: b.map(str::to_owned),
        };
        PathCompareResult {
            schema_version: PATH_COMPARE_SCHEMA_VERSION,
            kind: PathCompareKind::Paths,
            a: path("runs/before", DiagnosisVerdict::Bound),
            b: path(HOSTILE, DiagnosisVerdict::Healthy),
            apart_s: Some(600),
            conditions: vec![setting("host", "kernel", Some("6.1.0"), Some("6.8.0"))],
            figures: vec![
                figure(PathPart::Cpu, "AES and GHASH", FigureUnit::Share, Some(0.597), Some(0.051), true),
                figure(PathPart::Stages, "unexplained", FigureUnit::Ns, Some(10.5e6), Some(1.2e6), true),
                figure(PathPart::Stages, "local", FigureUnit::Ns, Some(2.74e6), Some(2.70e6), false),
                figure(PathPart::Stages, "remote", FigureUnit::Ns, None, Some(1.1e6), false),
                figure(PathPart::Load, "bytes in", FigureUnit::BytesPerS, Some(4.8e6), Some(4.79e6), false),
            ],
            settings: vec![
                setting("JVM", "UseAES", Some("false"), Some("true")),
                setting("broker 1", HOSTILE, None, Some("16")),
            ],
            findings: vec![PathFinding {
                id: "aes-not-accelerated".to_owned(),
                a: Some(Confidence::Supported),
                b: None,
                claim: "TLS encrypts in software.".to_owned(),
            }],
            alone: vec!["topic orders: only the first has it".to_owned()],
            cannot_show: vec!["Better or worse: each is one window.".to_owned()],
        }
    }

    #[test]
    fn figures_that_differ_stand_first_and_that_nothing_is_better_is_said() {
        let text = side_by_side::text(&result(), TextStyle { color: false, width: 110 });
        let parts = [
            "10m 00s apart",
            "runs/before",
            "Figures that differ",
            "CPU: AES and GHASH",
            "59.7 %",
            "5.1 %",
            "×0.0854",
            "JVM: UseAES",
            "aes-not-accelerated",
            "Other figures",
            "Known of one alone",
            "Not compared",
            "What this cannot show",
            "Better or worse: each is one window.",
        ];
        assert_in_order(&text, &parts);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    }

    #[test]
    fn the_page_has_both_bars_on_one_scale_and_nothing_breaks_out_of_it() {
        let page = page::side_by_side::render(&result()).unwrap();
        assert!(!page.contains("<script") && !page.contains('\u{1b}'), "{page}");
        // 10.5 of 13.24 ms, and 1.2 of the same.
        assert!(page.contains("width=\"79.31%\"") && page.contains("width=\"9.06%\""), "{page}");
        assert!(page.contains("13.2 ms and 1 not known"), "{page}");
        assert_in_order(&page, &["id=\"stages\"", "Better or worse", "Figures that differ"]);
    }

    #[test]
    fn two_paths_without_stages_have_a_page_without_bars() {
        let mut result = result();
        result.figures.clear();
        assert!(!page::side_by_side::render(&result).unwrap().contains("id=\"stages\""));
    }
}
