//! The progress of a run on standard error: the block under way, and an estimate of the end.
//!
//! On a terminal one line that moves, and under it a table of the settings where there are several; elsewhere a line for each
//! block. It is a watcher of the session like any other and owns nothing.

mod estimate;
mod silence;
pub(crate) mod steps;
mod table;

pub(crate) use estimate::Estimate;

use crate::printer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plumb_judge::settings_search::Course;
use plumb_lab::kafka::Step;
use plumb_load::observation::{Measure, SecondPart};
use plumb_load::patience::Unanswered;
use plumb_load::schedule::Share;
use plumb_model::document::{BlockResult, RunDocument};
use plumb_model::figure::{self, ABSENT, counted, time};
use plumb_model::plan::{Plan, StepPlan};
use plumb_model::settings_search::SettingsSearchResult;
use plumb_model::units::Nanos;
use plumb_session::{Event, Watcher, WayOn};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use steps::Steps;
use table::{Table, figures, rate, value_bytes_planned};

/// Lines of a terminal that the table leaves free, and how many it takes where its height is not known.
const LINES_FREE: usize = 3;
const LINES_USUAL: usize = 20;

/// The watcher of a session that shows its progress to the user.
pub(crate) fn watcher() -> Arc<dyn Watcher> {
    Arc::new(Progress::default())
}

/// The same of a run that is part of something which goes on with it.
pub(crate) fn watcher_of_part(whole: &Arc<Whole>) -> Arc<dyn Watcher> {
    Arc::new(Progress { whole: Some(Arc::clone(whole)), ..Progress::default() })
}

/// What a run is part of: it says itself how it goes on, once it is known that it does not.
#[derive(Debug)]
pub(crate) struct Whole {
    way_on: Mutex<WayOn>,
}

impl Whole {
    /// `command`: the one with which it goes on.
    pub(crate) fn new(command: String) -> Arc<Self> {
        Arc::new(Whole { way_on: Mutex::new(WayOn { command, unreachable: None }) })
    }

    /// A part ended with an error.
    fn part_can_go_on(&self, way: &WayOn) {
        self.way_on().unreachable.clone_from(&way.unreachable);
    }

    pub(crate) fn say_way_on(&self) {
        printer::note(&self.way_on().to_string());
    }

    fn way_on(&self) -> MutexGuard<'_, WayOn> {
        self.way_on.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for a time, shown as progress, or until the user stops it.
pub(crate) fn waiting(what: &str, time: Nanos, stop: &AtomicBool) {
    let steps = Steps::begin(what, time.0 as f64 / 1e9);
    let end = Instant::now() + Duration::from_nanos(time.0);
    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK_EVERY.min(end.saturating_duration_since(Instant::now())));
    }
    drop(steps);
}

/// Between two looks at whether the user wants it to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The progress of a run, from the moment at which it begins.
#[derive(Debug, Default)]
struct Progress {
    view: OnceLock<View>,
    /// Of a probe, which has no blocks.
    steps: Mutex<Option<Steps>>,
    /// What goes on with the run, where that is not the run itself.
    whole: Option<Arc<Whole>>,
}

impl Progress {
    /// Changes the progress of a probe, if one goes on.
    fn of_probe(&self, change: impl FnOnce(&mut Option<Steps>)) {
        if let Ok(mut steps) = self.steps.lock() {
            change(&mut steps);
        }
    }
}

impl Watcher for Progress {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Begins(document) => {
                self.view.get_or_init(|| View::new(document));
            }
            Event::Note(what) => printer::note(what),
            Event::CanGoOn(way) => match &self.whole {
                Some(whole) => whole.part_can_go_on(way),
                None => printer::note(&way.to_string()),
            },
            Event::ProbeBegins { what, estimate_s } => {
                self.of_probe(|steps| *steps = Some(Steps::begin(what, *estimate_s)));
            }
            event => match self.view.get() {
                Some(view) => view.event(event),
                None => self.of_probe(|steps| steps::event(steps, event)),
            },
        }
    }
}

/// The progress that is shown.
#[derive(Debug)]
struct View {
    bar: ProgressBar,
    terminal: bool,
    /// The first line, and the table under it.
    shown: Mutex<(String, Option<Table>)>,
    silence: Mutex<silence::Silences>,
}

impl View {
    fn new(document: &RunDocument) -> Self {
        let plan = &document.plan;
        let terminal = std::io::stderr().is_terminal() && !printer::quiet();
        let blocks = u64::from(plan.blocks) * plan.steps.len() as u64;
        let of_search = document.settings_search.as_ref().map_or(0, |search| search.blocks.len());
        let done = document.steps.iter().map(|step| step.blocks.len()).sum::<usize>() + of_search;
        let left = (blocks.saturating_sub(done as u64)) as f64 / blocks.max(1) as f64;
        let estimate = Estimate::of(plan).times(left);
        let target =
            if printer::quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(estimate.s.ceil() as u64), target);
        let style = ProgressStyle::with_template(match estimate.depends_on_path {
            false => "{spinner} {elapsed}/{len}s {msg}",
            true => "{spinner} {elapsed} {msg}",
        });
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(Duration::from_millis(120));
        let what = match plan.goal {
            None if plan.trial.is_some() => {
                let most = if until_decided(plan) { "at most " } else { "" };
                format!("{most}{} pairs, {blocks} blocks, {estimate}", plan.blocks)
            }
            Some(_) => {
                let time = figure::estimate(estimate.s);
                format!("a search for each of {} settings, at least {time}", plan.steps.len())
            }
            None if plan.settings_search.is_some() => {
                let none = SettingsSearchResult::default();
                let most = Course::of(plan, &none).map_or(blocks, |course| course.blocks_most() as u64);
                format!("{blocks} blocks, {estimate}, or up to {most} where changes are taken back")
            }
            None => format!("{blocks} block{}, {estimate}", if blocks == 1 { "" } else { "s" }),
        };
        let kept = if done > 0 { format!(", {done} of them done") } else { String::new() };
        // On a terminal the line that moves tells the time as well, but a long one is said before it begins.
        if !terminal || plan.steps.len() > 1 {
            printer::remark(&format!("plumb: {} in {what}{kept}", plan.name));
        }
        let table = (plan.steps.len() > 1).then(|| Table::new(plan, &document.steps));
        View { bar, terminal, shown: Mutex::new((String::new(), table)), silence: Mutex::default() }
    }

    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Phase(what) => self.phase(what),
            Event::Lab(step) => self.lab(*step),
            Event::Block { title, step, share } => self.block(title, *step, share),
            Event::Second(part) => self.second(part),
            Event::BlockDone { title, step, plan, block } => self.block_done(title, *step, plan, block),
            Event::Tried { title, outcome } => self.tried(title, outcome),
            Event::Silence(silence) => self.silence(*silence),
            Event::Ends => self.bar.finish_and_clear(),
            Event::Begins(_) | Event::Note(_) | Event::CanGoOn(_) => {}
            Event::ProbeBegins { .. } | Event::Turn { .. } | Event::Rest(_) => {}
        }
    }

    /// Says what happens now.
    fn phase(&self, what: &str) {
        self.change(|line, _| {
            *line = what.to_owned();
            true
        });
    }

    /// Changes what is shown, and shows it when the change says so.
    fn change(&self, change: impl FnOnce(&mut String, &mut Option<Table>) -> bool) {
        let Ok(mut shown) = self.shown.lock() else { return };
        let (line, table) = &mut *shown;
        if !change(line, table) || !self.terminal {
            return;
        }
        let mut text = line.clone();
        if let Some(silence) = self.silence.lock().ok().and_then(|silence| silence.words()) {
            text = format!("{text}: {silence}");
        }
        if let Some(table) = table {
            for row in table.lines(height()) {
                text.push('\n');
                text.push_str(&row);
            }
        }
        self.bar.set_message(text);
    }

    /// Says that the brokers give no answer: in the line that moves, or once for each wait.
    fn silence(&self, silence: Option<Unanswered>) {
        let Ok(mut silences) = self.silence.lock() else { return };
        let news = silences.hear(silence);
        drop(silences);
        self.change(|_, _| true);
        if let Some(news) = news.filter(|_| !self.terminal) {
            printer::remark(&format!("plumb: {news}"));
        }
    }

    /// Says what a lab is about to do.
    fn lab(&self, step: Step) {
        let what = match step {
            Step::Fetching => "fetching Apache Kafka (58 MB, once)",
            Step::Archiving => "preparing its classes (about 8 s, once)",
            Step::Formatting => "formatting storage",
            Step::Starting => "starting Apache Kafka",
            Step::Probing => "waiting until it works",
        };
        self.bar.set_message(what);
        if !self.terminal && matches!(step, Step::Fetching | Step::Archiving) {
            printer::remark(&format!("plumb: {what}"));
        }
    }

    /// A block of a step begins.
    fn block(&self, title: &str, step: usize, share: &Share) {
        let what = match share {
            Share::Count(messages) => counted(*messages, "message"),
            Share::Time(length) => figure::estimate(length.as_secs_f64()),
        };
        self.change(|line, table| {
            *line = format!("{title}  {what}");
            if let Some(table) = table {
                table.begin(step);
            }
            true
        });
    }

    fn second(&self, part: &SecondPart) {
        let median_ns =
            part.response.at_quantile(0.5).filter(|_| part.measure == Measure::EndToEnd && !part.warm_up);
        if let Some(p50_ns) = median_ns {
            self.change(|line, _| {
                let stem = line.split("  now p50").next().unwrap_or_default();
                *line = format!("{stem}  now p50 {}", time(p50_ns as f64));
                true
            });
        }
        let messages = if part.measure == Measure::Acknowledge { part.acked } else { 0 };
        if messages > 0 {
            self.change(|_, table| table.as_mut().is_some_and(|table| table.second(part.second, messages)));
        }
    }

    fn block_done(&self, title: &str, index: usize, step: &StepPlan, block: &BlockResult) {
        self.change(|_, table| {
            if let Some(table) = table {
                table.end(index, block);
            }
            true
        });
        if let Some(lost) = &block.lost_worker {
            printer::remark(&format!("plumb: {title}: ended early, not measured: lost worker {lost}"));
            return;
        }
        if self.terminal {
            return;
        }
        let shown = |ns: Option<f64>| ns.map_or(ABSENT.to_owned(), time);
        let latency = &block.end_to_end;
        let what = match rate(block) {
            Some(rate) if latency.samples == 0 => figures(rate, value_bytes_planned(step)),
            None if latency.samples == 0 => "no message came through".to_owned(),
            _ => {
                format!("mean {}, p50 {}", shown(latency.mean_ns), shown(latency.p50_ns.map(|ns| ns as f64)))
            }
        };
        printer::remark(&format!("plumb: {title}: {what}"));
    }

    /// A rate of a search was tried.
    fn tried(&self, title: &str, what: &str) {
        self.phase(&format!("{title}: {what}"));
        if !self.terminal {
            printer::remark(&format!("plumb: {title}: {what}"));
        }
    }
}

fn until_decided(plan: &Plan) -> bool {
    plan.trial.as_ref().is_some_and(|trial| trial.until_decided)
}

/// Lines that the table may take.
fn height() -> usize {
    let rows = rustix::termios::tcgetwinsize(std::io::stderr()).map(|size| usize::from(size.ws_row));
    rows.ok().filter(|rows| *rows > LINES_FREE).map_or(LINES_USUAL, |rows| rows - LINES_FREE)
}
