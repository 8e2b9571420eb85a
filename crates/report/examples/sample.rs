//! Writes the sample report, for a look at it while working on the renderers:
//! `cargo run -p plumb-report --example sample -- DIR`.

#![allow(dead_code)]

#[path = "../tests/sample/mod.rs"]
mod sample;

use plumb_model::observed::ObservedPath;
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
    for (name, watched) in [
        ("path-rich", sample::path::rich()),
        ("path-poor", sample::path::poor()),
        ("path-hostile", sample::path::hostile()),
        ("path-empty", sample::path::empty()),
    ] {
        write_path(Path::new(&dir), name, &watched)?;
    }
    // A real document, for a look at what it makes.
    if let Some(file) = std::env::args().nth(2) {
        let watched: ObservedPath = serde_json::from_str(&std::fs::read_to_string(file)?)?;
        write_path(Path::new(&dir), "path-given", &watched)?;
    }
    Ok(())
}

fn write_path(dir: &Path, name: &str, watched: &ObservedPath) -> Result<(), Box<dyn std::error::Error>> {
    use plumb_report::path;
    std::fs::write(dir.join(format!("{name}.html")), path::page::render(watched)?)?;
    let text = |width| path::text::render(watched, TextStyle { color: false, width });
    std::fs::write(dir.join(format!("{name}.txt")), text(100))?;
    std::fs::write(dir.join(format!("{name}.80.txt")), text(80))?;
    for process in &watched.processes {
        if let Some(flame) = path::flame::file(process)? {
            std::fs::write(dir.join(format!("{name}-{}.svg", process.pid)), flame)?;
        }
    }
    Ok(())
}
