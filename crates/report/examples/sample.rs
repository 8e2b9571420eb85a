//! Writes the sample report, for a look at it while working on the renderers:
//! `cargo run -p plumb-report --example sample -- DIR`.

#![allow(dead_code)]

#[path = "../tests/sample/mod.rs"]
mod sample;

use plumb_report::text::{Figures, TextStyle};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("expected a directory to write to")?;
    for (name, document) in [
        ("full", sample::full()),
        ("killed", sample::killed()),
        ("hostile", sample::hostile()),
        ("swept", sample::throughput::swept()),
        ("modes", sample::throughput::modes()),
        ("searched", sample::throughput::searched()),
        ("trial", sample::trial::one_arm()),
        ("trial-arms", sample::trial::several_arms()),
    ] {
        let write =
            |ending: &str, text: &str| std::fs::write(Path::new(&dir).join(format!("{name}.{ending}")), text);
        write(
            "txt",
            &plumb_report::text::render(&document, TextStyle { color: false, width: 110 }, Figures::Headline),
        )?;
        write(
            "80.txt",
            &plumb_report::text::render(&document, TextStyle { color: false, width: 80 }, Figures::Headline),
        )?;
        write(
            "plan.txt",
            &plumb_report::plan_text::render(&document.plan, TextStyle { color: false, width: 110 }),
        )?;
        write("csv", &plumb_report::csv::render(&document))?;
        write("json", &plumb_report::json::render(&document)?)?;
        write("html", &plumb_report::html::render(&document)?)?;
    }
    Ok(())
}
