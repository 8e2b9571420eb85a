//! What a person sees on standard error while a run goes on: where it is, and how long it will take.
//!
//! On a terminal one line that moves; elsewhere a line for each block. It takes what a block observes like any other
//! sink and owns nothing.

use crate::printer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plumb_lab::kafka::Step;
use plumb_load::observation::{Measure, SecondPart};
use plumb_load::schedule::Share;
use plumb_model::document::BlockResult;
use plumb_model::plan::Plan;
use plumb_model::units::Nanos;
use std::io::IsTerminal;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Clients, groups and readings around each block, measured on two cores with one broker here.
const BLOCK_OVERHEAD_S: f64 = 0.8;
/// Starting a lab whose jars are there.
const LAB_START_S: f64 = 4.0;

/// The progress of a run.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    blocks: u64,
    terminal: bool,
}

/// Seconds that a plan takes.
pub(crate) fn estimate_s(plan: &Plan) -> f64 {
    let blocks = f64::from(plan.blocks);
    let step_s = |step: &plumb_model::plan::StepPlan| {
        let measured = step.load.planned_s().unwrap_or(0.0);
        let twin_s = |rate: f64| 1.0 + (plan.twin as f64 / rate).min(10.0);
        let twin = step.load.rate_per_s.filter(|_| plan.twin > 0).map_or(0.0, twin_s);
        measured + twin + blocks * (step.load.warm_up.as_secs_f64() + BLOCK_OVERHEAD_S)
    };
    let lab = matches!(plan.cluster, plumb_model::plan::ClusterPlan::Lab { .. });
    let before = plan.settle.as_secs_f64() + if lab { LAB_START_S } else { 0.0 };
    before + plan.steps.iter().map(step_s).sum::<f64>()
}

impl Progress {
    pub(crate) fn new(plan: &Plan) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let blocks = u64::from(plan.blocks) * plan.steps.len() as u64;
        let estimate_s = estimate_s(plan);
        let bar = ProgressBar::with_draw_target(Some(estimate_s.ceil() as u64), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}/{len}s").ok();
        bar.set_style(style.unwrap_or_else(ProgressStyle::default_spinner));
        bar.enable_steady_tick(Duration::from_millis(120));
        if !terminal {
            printer::note(&format!(
                "plumb: {} in {blocks} block{}, about {}",
                plan.name,
                if blocks == 1 { "" } else { "s" },
                duration(estimate_s)
            ));
        }
        Progress { bar, blocks, terminal }
    }

    /// Says what happens now.
    pub(crate) fn note(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// Where a lab tells what it is about to do.
    pub(crate) fn lab_steps(&self) -> Sender<Step> {
        let (steps, told) = channel();
        let bar = self.bar.clone();
        let terminal = self.terminal;
        std::thread::spawn(move || {
            for step in told {
                let what = match step {
                    Step::Fetching => "fetching Apache Kafka (58 MB, once)",
                    Step::Archiving => "preparing its classes (about 8 s, once)",
                    Step::Formatting => "formatting storage",
                    Step::Starting => "starting Apache Kafka",
                    Step::Probing => "waiting until it works",
                };
                bar.set_message(what);
                if !terminal && matches!(step, Step::Fetching | Step::Archiving) {
                    printer::note(&format!("plumb: {what}"));
                }
            }
        });
        steps
    }

    pub(crate) fn settle(&self, time: Nanos) {
        self.note(&format!("warming the cluster up for {time}, not measured"));
    }

    pub(crate) fn block(&self, position: u32, step: &str, share: &Share) {
        let what = match share {
            Share::Count(count) => format!("{count} messages"),
            Share::Time(time) => format!("{:.1} s", time.as_secs_f64()),
        };
        self.note(&format!("block {}/{}  {step}  {what}", position + 1, self.blocks));
    }

    pub(crate) fn second(&self, part: &SecondPart) {
        if part.measure == Measure::EndToEnd && part.response.samples() > 0 && !part.warm_up {
            let p50_ms = part.response.histogram.value_at_quantile(0.5) as f64 / 1e6;
            let message = self.bar.message();
            let stem = message.split("  now p50").next().unwrap_or_default().to_owned();
            self.bar.set_message(format!("{stem}  now p50 {p50_ms:.2} ms"));
        }
    }

    pub(crate) fn block_done(&self, position: u32, step: &str, block: &BlockResult) {
        if self.terminal {
            return;
        }
        let ms = |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| format!("{:.2} ms", ns / 1e6));
        let figures = &block.end_to_end;
        printer::note(&format!(
            "plumb: block {}/{}  {step}: mean {}, p50 {}",
            position + 1,
            self.blocks,
            ms(figures.mean_ns),
            ms(figures.p50_ns.map(|ns| ns as f64)),
        ));
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Seconds for people.
pub(crate) fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..=99 => format!("{seconds} s"),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}
