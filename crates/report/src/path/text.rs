//! A watched path for the terminal, about two screens of it: the paragraph first, then causes by rank, where the time goes, how near the
//! limits are, threads, processor time, and what was not seen. The page has the rest.

use super::words;
use crate::findings;
use crate::paint::{Paint, Tone, printable, wrapped};
use crate::sheet::Column;
use crate::sheet::table::Table;
use crate::sheet::text::hanging;
use crate::text::{NARROWEST, TextStyle};
use plumb_model::diagnosis::{Cause, Confirmation, Diagnosis, DiagnosisVerdict, PathBound, PathStageTime};
use plumb_model::facts::WindowMean;
use plumb_model::figure::{
    ABSENT, bytes_per_s, count, interval, milliseconds, percent, rate, ratio, rough_share, short, time,
};
use plumb_model::finding::{Confidence, Evidence};
use plumb_model::observed::{
    BrokerWindow, ClientWindow, CpuClass, DeviceTimes, LogHistogram, ObservedPath, ProcessWindow, Profile,
    ThreadGroup,
};
use std::collections::BTreeMap;

/// Width of a bar of a whole, in characters.
const BAR: f64 = 24.0;
/// The same where words stand behind it.
const SHORT_BAR: f64 = 12.0;
/// Causes that are told in full; of the others the claim alone.
const FULL: usize = 3;
/// Suspected causes that are named.
const SUSPECTED: usize = 6;
/// Observations of a cause that are shown.
const EVIDENCE: usize = 5;
/// Classes of processor time that are shown: what is less than this has a row of its own on the page (ours).
const CPU_LEAST: f64 = 0.005;
/// Clients that have a row.
const CLIENTS: usize = 8;
/// Stacks off the processor of each process that have a row.
const OFF_CPU: usize = 3;
/// Things that were not seen which are told one by one.
const UNSEEN: usize = 8;

/// The whole text.
pub fn render(path: &ObservedPath, style: TextStyle) -> String {
    let width = style.width.max(NARROWEST);
    let mut text = Text { lines: Vec::new(), paint: Paint(style.color), width };
    text.head(path);
    if let Some(diagnosis) = &path.diagnosis {
        text.causes(diagnosis);
        text.stages(&diagnosis.stages);
        text.limits(&diagnosis.bounds);
    }
    // Where nobody looked for causes, the brokers' own figures are the answer.
    for broker in path.brokers.iter().filter(|_| path.diagnosis.is_none()) {
        text.broker(broker);
    }
    text.clients(&path.clients);
    for process in &path.processes {
        text.threads(process);
        if let Some(profile) = &process.profile {
            text.processor_time(process, profile);
        }
    }
    text.kernel(path);
    text.unseen(path);
    text.cost(path);
    text.lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

struct Text {
    lines: Vec<String>,
    paint: Paint,
    width: usize,
}

impl Text {
    fn heading(&mut self, heading: &str, meaning: &str) {
        let (heading, meaning) = (printable(heading), printable(meaning));
        self.lines.push(String::new());
        let fits = heading.chars().count() + 2 + meaning.chars().count() <= self.width;
        let strong = self.paint.tone(&heading, Tone::Strong);
        if fits {
            self.lines.push(format!("{strong}  {}", self.paint.tone(&meaning, Tone::Dim)));
            return;
        }
        self.lines.push(strong);
        let dim = wrapped(&meaning, self.width).into_iter().map(|line| self.paint.tone(&line, Tone::Dim));
        self.lines.extend(dim);
    }

    fn hanging(&mut self, lead: &str, words: &str) {
        self.lines.extend(hanging(lead, words, self.width));
    }

    fn table(&mut self, columns: &[Column], rows: &[Vec<String>]) {
        if let Some(table) = Table::from_rows(columns, rows) {
            self.lines.extend(table.lines(self.width, self.paint));
        }
    }

    /// Writes the title, the verdict and the paragraph.
    fn head(&mut self, path: &ObservedPath) {
        self.lines.push(self.paint.tone(&super::title(path), Tone::Dim));
        let Some(diagnosis) = &path.diagnosis else {
            let words = "Observations without a search for causes: `plumb judge` does that, on any machine.";
            self.lines.extend(wrapped(words, self.width));
            return;
        };
        let (word, tone) = match diagnosis.verdict {
            DiagnosisVerdict::Bound => ("BOUND", Tone::Warning),
            DiagnosisVerdict::Healthy => ("HEALTHY", Tone::Good),
            DiagnosisVerdict::NotEnoughEvidence => ("NOT ENOUGH EVIDENCE", Tone::Strong),
        };
        self.lines.push(String::new());
        let meaning = words::verdict_meaning(diagnosis.verdict);
        self.lines.push(format!("{}  {meaning}", self.paint.tone(word, tone)));
        self.lines.extend(wrapped(&printable(&diagnosis.summary), self.width));
        if !diagnosis.collect.is_empty() {
            self.lines.push("To know more, collect".to_owned());
        }
        for what in &diagnosis.collect {
            self.hanging("- ", what);
        }
    }

    fn causes(&mut self, diagnosis: &Diagnosis) {
        let is_sure = |cause: &&Cause| cause.finding.confidence >= Some(Confidence::Supported);
        let sure: Vec<&Cause> = diagnosis.findings.iter().filter(is_sure).collect();
        let suspected: Vec<&Cause> = diagnosis.findings.iter().filter(|cause| !is_sure(cause)).collect();
        if !sure.is_empty() {
            self.heading(
                "Causes",
                "most of the wait first; shares overlap where several explain the same wait",
            );
        }
        for (index, cause) in sure.iter().enumerate() {
            self.cause(index, cause);
        }
        if suspected.is_empty() {
            return;
        }
        self.heading("Suspected", "a symptom is there; it may well have another cause");
        for cause in suspected.iter().take(SUSPECTED) {
            let tried = cause.confirmation.as_ref().map(|it| format!(" Tried: {}.", tried(it)));
            let tried = tried.unwrap_or_default();
            self.hanging(
                "- ",
                &format!(
                    "{id}: {}{tried} (plumb explain {id})",
                    cause.finding.claim,
                    id = printable(&cause.finding.id)
                ),
            );
        }
        if let Some(more) = suspected.len().checked_sub(SUSPECTED).filter(|more| *more > 0) {
            self.lines.push(format!("  and {} more, on the page", count(more as u64)));
        }
    }

    fn cause(&mut self, index: usize, cause: &Cause) {
        let finding = &cause.finding;
        let lead = format!("{}. ", index + 1);
        let confidence = finding.confidence.map_or("suspected", findings::confidence);
        let share = cause.share_of_gap.map(|share| format!(", {} of the wait", percent(share)));
        let place = finding.stage.map(|stage| format!(", {}", words::place(stage))).unwrap_or_default();
        let head = format!("{}  {confidence}{}{place}", printable(&finding.id), share.unwrap_or_default());
        self.lines.push(self.paint.tone(&format!("{lead}{head}"), Tone::Warning));
        let indent = " ".repeat(lead.chars().count());
        self.hanging(&indent, &finding.claim);
        if !cause.consequence_of.is_empty() {
            self.hanging(&indent, &format!("A consequence of {}.", cause.consequence_of.join(", ")));
        }
        if index >= FULL {
            return;
        }
        if !finding.evidence.is_empty() {
            self.hanging(&format!("{indent}seen:  "), &evidence(&finding.evidence));
        }
        for advice in finding.advice.iter().take(2) {
            self.hanging(&format!("{indent}do:    "), advice);
        }
        match (&cause.confirmation, &finding.flip) {
            (Some(confirmation), _) => self.hanging(&format!("{indent}tried: "), &tried(confirmation)),
            (None, Some(flip)) => {
                let proof = findings::proof(flip);
                let order = proof.strip_prefix("To prove it, ").unwrap_or(&proof);
                self.hanging(&format!("{indent}prove: "), order);
            }
            (None, None) => {}
        }
        self.lines.push(
            self.paint.tone(&format!("{indent}more:  plumb explain {}", printable(&finding.id)), Tone::Dim),
        );
    }

    fn stages(&mut self, stages: &[PathStageTime]) {
        let known: Vec<&PathStageTime> = stages.iter().filter(|stage| stage.mean_ns.is_some()).collect();
        let mut unknown: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for stage in stages.iter().filter(|stage| stage.mean_ns.is_none()) {
            unknown.entry(&stage.source).or_default().push(words::plain(&stage.name));
        }
        if stages.is_empty() {
            return;
        }
        self.heading("Stages", "what a message waits for on average, in the order of the path");
        let row = |stage: &&PathStageTime| {
            vec![
                words::plain(&stage.name),
                stage.mean_ns.map_or(ABSENT.to_owned(), words::stage_mean),
                stage.share.filter(|share| *share > 0.0).map_or(String::new(), rough_share),
                match stage.mean_ns {
                    Some(mean_ns) if mean_ns < 0.0 => words::BEFORE_ACKNOWLEDGEMENT.to_owned(),
                    _ => bar(stage.share.unwrap_or(0.0), BAR),
                },
            ]
        };
        let columns = [Column::text(""), Column::number("mean"), Column::number("share"), Column::text("")];
        if !known.is_empty() {
            self.table(&columns, &known.iter().map(row).collect::<Vec<_>>());
        }
        for (why, names) in unknown {
            let why = why.trim_start_matches("absent: ");
            self.hanging("not known: ", &format!("{} ({why})", names.join(", ")));
        }
    }

    fn limits(&mut self, bounds: &[PathBound]) {
        let row = |bound: &PathBound| {
            let share = bound.measured / bound.limit;
            vec![
                words::bound(&bound.name),
                rough_share(share),
                bar(share, SHORT_BAR),
                format!(
                    "{}, {}",
                    words::measured_of_limit(bound.measured, bound.limit, &bound.unit),
                    bound.source
                ),
            ]
        };
        let rows: Vec<_> = bounds.iter().filter(|bound| bound.limit > 0.0).map(row).collect();
        if rows.is_empty() {
            return;
        }
        self.heading("Limits", "how near each is, the nearest first");
        let columns = [
            Column::text(""),
            Column::number("used"),
            Column::text(""),
            Column::text("measured, of the limit"),
        ];
        self.table(&columns, &rows);
    }

    fn broker(&mut self, broker: &BrokerWindow) {
        let mean =
            |mean: Option<WindowMean>| mean.map_or(ABSENT.to_owned(), |mean| milliseconds(mean.mean_ns));
        let row = |kind: &str| {
            let requests = broker.requests.get(kind).filter(|requests| requests.stages.total.is_some())?;
            let stages = &requests.stages;
            Some(vec![
                kind.to_owned(),
                requests.per_s.map_or(ABSENT.to_owned(), rate),
                mean(stages.request_queue),
                mean(stages.local),
                mean(stages.remote),
                mean(stages.response_queue),
                mean(stages.response_send),
                mean(stages.total),
            ])
        };
        let rows: Vec<_> =
            ["Produce", "FetchConsumer", "FetchFollower"].into_iter().filter_map(row).collect();
        let bytes = |bytes: Option<f64>| bytes.map_or(ABSENT.to_owned(), bytes_per_s);
        let meaning = format!(
            "in {}, out {}; mean times in ms",
            bytes(broker.bytes_in_per_s),
            bytes(broker.bytes_out_per_s)
        );
        self.heading(&format!("Broker {}", broker.source), &meaning);
        if rows.is_empty() {
            self.lines.push("It took no request of producers, consumers or followers.".to_owned());
            return;
        }
        let columns = [
            Column::text("requests"),
            Column::number("per s"),
            Column::number("queue"),
            Column::number("local"),
            Column::number("remote"),
            Column::number("resp. queue"),
            Column::number("send"),
            Column::number("total"),
        ];
        self.table(&columns, &rows);
    }

    fn clients(&mut self, clients: &[ClientWindow]) {
        if clients.is_empty() {
            return;
        }
        let known = |figure: Option<f64>, words: fn(f64) -> String| figure.map_or(ABSENT.to_owned(), words);
        let row = |client: &ClientWindow| {
            vec![
                printable(&client.name),
                if client.is_producer { "producer" } else { "consumer" }.to_owned(),
                known(client.passed_on_per_s(), rate),
                known(client.queue_mean_ns, time),
                known(client.rtt_mean_ns, time),
                known(client.batch_bytes_mean, short),
                known(client.lag, short),
                known(client.lag_growth_per_s, short),
            ]
        };
        self.heading("Clients", "by their own statistics: means, and the lag at the end");
        let columns = [
            Column::text(""),
            Column::text(""),
            Column::number("messages/s"),
            Column::number("queue"),
            Column::number("round trip"),
            Column::number("batch bytes"),
            Column::number("lag"),
            Column::number("growth/s"),
        ];
        self.table(&columns, &clients.iter().take(CLIENTS).map(row).collect::<Vec<_>>());
        if let Some(more) = clients.len().checked_sub(CLIENTS).filter(|more| *more > 0) {
            self.lines.push(format!("  and {} more, on the page", count(more as u64)));
        }
    }

    fn threads(&mut self, process: &ProcessWindow) {
        let elapsed_ns = process.usage.elapsed_ns as f64;
        let row = |group: &ThreadGroup| {
            let whole = elapsed_ns * f64::from(group.threads);
            let share =
                |ns: Option<u64>| ns.map_or(ABSENT.to_owned(), |ns| rough_share(ns as f64 / whole.max(1.0)));
            let states = &group.states;
            vec![
                words::threads(group.class).to_owned(),
                count(u64::from(group.threads)),
                share(states.executing_ns),
                share(states.runnable_ns),
                share(states.disk_ns),
                share(states.lock_ns),
                share(states.sleeping_ns),
                group.busiest_share.map_or(ABSENT.to_owned(), rough_share),
            ]
        };
        let rows: Vec<_> = process.groups.iter().map(row).collect();
        if rows.is_empty() {
            return;
        }
        let heading = format!("Threads of process {} ({})", process.pid, process.command);
        self.heading(&heading, "where their time went; idle threads of a pool wait in a lock");
        let columns = [
            Column::text(""),
            Column::number("threads"),
            Column::number("on CPU"),
            Column::number("ready"),
            Column::number("disk"),
            Column::number("lock"),
            Column::number("asleep"),
            Column::number("busiest on CPU"),
        ];
        self.table(&columns, &rows);
    }

    fn processor_time(&mut self, process: &ProcessWindow, profile: &Profile) {
        let is_work = |class: CpuClass| !matches!(class, CpuClass::Gc | CpuClass::Jit);
        let whole = profile.shares.iter().filter(|share| share.threads.is_none() && is_work(share.class));
        let shown = whole.filter(|share| share.share >= CPU_LEAST);
        let row = |share: &plumb_model::observed::ProfileShare| {
            vec![words::cpu(share.class).to_owned(), percent(share.share), bar(share.share, BAR)]
        };
        let rows: Vec<_> = shown.map(row).collect();
        self.heading(&format!("CPU of process {}", process.pid), &super::profiled(profile));
        self.table(&[Column::text(""), Column::number("share"), Column::text("")], &rows);
    }

    fn kernel(&mut self, path: &ObservedPath) {
        let mut rows: Vec<Vec<String>> = path.processes.iter().flat_map(waits).collect();
        if let Some(kernel) = &path.kernel {
            rows.extend(
                kernel.journal_commit.iter().map(|times| times_row("journal commit".to_owned(), times)),
            );
            let device = |device: &DeviceTimes| times_row(format!("I/O of {}", device.device), &device.times);
            rows.extend(kernel.devices.iter().map(device));
        }
        let missing = path.kernel.as_ref().map(|kernel| kernel.missing.join("; ")).unwrap_or_default();
        if rows.is_empty() && missing.is_empty() {
            return;
        }
        self.heading("Kernel", "by its trace points");
        let columns =
            [Column::text(""), Column::number("times"), Column::number("mean"), Column::number("longest")];
        if !rows.is_empty() {
            self.table(&columns, &rows);
        }
        if !missing.is_empty() {
            self.hanging("not to be had: ", &missing);
        }
    }

    fn unseen(&mut self, path: &ObservedPath) {
        if path.unseen.is_empty() {
            return;
        }
        self.heading("Not seen", "");
        for unseen in path.unseen.iter().take(UNSEEN) {
            let hint = unseen.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            self.hanging("- ", &format!("{}: {}{hint}", unseen.what, unseen.reason));
        }
        if let Some(more) = path.unseen.len().checked_sub(UNSEEN).filter(|more| *more > 0) {
            self.lines.push(format!("  and {} more, on the page", count(more as u64)));
        }
    }

    fn cost(&mut self, path: &ObservedPath) {
        let words = printable(&(costs(path).join("; ") + "."));
        self.lines.push(String::new());
        let lines = wrapped(&words, self.width).into_iter().map(|line| self.paint.tone(&line, Tone::Dim));
        self.lines.extend(lines);
    }
}

/// What watching cost, a clause for each part of it that there was.
fn costs(path: &ObservedPath) -> Vec<String> {
    let cost = &path.cost;
    let share = |ns: u64| percent(ns as f64 / path.elapsed_ns.max(1) as f64);
    let mut clauses = vec![match cost.own_cpu_ns {
        Some(ns) => format!("Watching cost {} of one processor", share(ns)),
        None => "What watching cost is not known".to_owned(),
    }];
    if path.processes.iter().any(|process| process.profile.is_some()) {
        clauses.push(match cost.profiler_cpu_ns {
            Some(ns) => format!("the CPU profile about {} ({})", share(ns), super::profilers_cost(path)),
            None => "what the CPU profile took is not known".to_owned(),
        });
    }
    if path.kernel.is_some() {
        clauses.push(match cost.kernel_programs_cpu_ns {
            Some(ns) => format!("programs in the kernel {}", share(ns)),
            None => "what programs in the kernel took is not known".to_owned(),
        });
    }
    clauses
}

/// What the kernel's trace points tell of one process, a row for each kind of wait.
fn waits(process: &ProcessWindow) -> Vec<Vec<String>> {
    let Some(waits) = &process.kernel else { return Vec::new() };
    let of_process = |what: &str| format!("process {}: {what}", process.pid);
    let named = [("ready, until on a processor", &waits.run_delay), ("fsync", &waits.fsync)];
    let times =
        |(what, times): (&str, &Option<LogHistogram>)| Some(times_row(of_process(what), times.as_ref()?));
    let mut rows: Vec<Vec<String>> = named.into_iter().filter_map(times).collect();
    rows.extend(waits.off_cpu.iter().take(OFF_CPU).map(|stack| {
        let place = words::off_cpu(stack).unwrap_or("a place that is not known");
        let mean = time(stack.time_ns as f64 / stack.count.max(1) as f64);
        let what = of_process(&printable(&format!("{} off CPU in {place}", stack.thread)));
        vec![what, count(stack.count), mean, ABSENT.to_owned()]
    }));
    rows
}

fn times_row(name: String, times: &LogHistogram) -> Vec<String> {
    let mean = times.mean_ns().map_or(ABSENT.to_owned(), time);
    // Without values there is no longest, either.
    let longest = times.mean_ns().map_or(ABSENT.to_owned(), |_| time(times.max_ns as f64));
    vec![name, count(times.count), mean, longest]
}

/// The first observations, each with what it was held against.
fn evidence(all: &[Evidence]) -> String {
    let seen = all.iter().take(EVIDENCE).map(|seen| match &seen.expected {
        Some(expected) => format!("{} {} (expected {expected})", seen.what, seen.value),
        None => format!("{} {}", seen.what, seen.value),
    });
    seen.collect::<Vec<_>>().join("; ")
}

/// `it holds: with producer.linger.ms: 0 acknowledge.mean was 4.00 ms and not 104 ms, ×0.0350 to ×0.0420`.
fn tried(confirmation: &Confirmation) -> String {
    format!(
        "{}: with {} {} was {} and not {}, {}",
        words::outcome(confirmation.outcome),
        confirmation.change,
        confirmation.metric,
        time(confirmation.after_ns),
        time(confirmation.before_ns),
        interval(confirmation.ratio_low, confirmation.ratio_high, ratio),
    )
}

/// A bar of a share, of so many characters at most.
fn bar(share: f64, whole: f64) -> String {
    "█".repeat((share.clamp(0.0, 1.0) * whole).round() as usize)
}
