//! The answer of a search for settings, for people: what to change, what that is proven to gain, and what led there.

pub mod side_by_side;

use crate::html::scale::time_tick;
use crate::sheet::scatter::{Axis, Point, PointKind};
use crate::sheet::{Column, Scatter, Section, Sheet};
use crate::trials;
use plumb_model::best::RefusalGrounds;
use plumb_model::figure::{ABSENT, counted, percent, quantile, ratio, significant, time};
use plumb_model::plan::Properties;
use plumb_model::search_report::{
    GuardFigure, HighestRate, PartVerdict, ProposedChange, RefusedSettings, Restarted, SearchOutcome,
    SearchProof, SearchReport, TrialStage,
};
use plumb_model::setting_name::{ClusterName, ClusterPart};
use plumb_model::settings_search::{Objective, SearchBlock, of_owner};
use plumb_model::tunable::Owner;
use plumb_model::verdict::Verdict;

/// Settings of which the importance is shown: beyond them nobody reads.
const IMPORTANT_MOST: usize = 8;

/// The whole sheet.
pub fn sheet(report: &SearchReport) -> Sheet {
    let goal = report
        .goal
        .map(|goal| format!(" under {} of at most {}", quantile(goal.quantile), time(goal.limit.0 as f64)));
    let wanted = match report.objective {
        Objective::Latency => "the least latency",
        Objective::Cpu => "the least CPU time per message",
        Objective::Rate => "the highest rate",
    };
    let mut sections = Vec::new();
    sections.extend(spent(report));
    sections.extend(refused(report));
    sections.extend(front(report));
    sections.extend(importance(report));
    sections.extend(left_out(report));
    sections.extend(other_promises(report));
    sections.push(envelope(report));
    let mut answer = Vec::new();
    answer.extend(report.proof.as_ref().map(proof));
    answer.extend(highest_rates(report));
    answer.extend(other_rates(report));
    answer.extend(restart(report));
    answer.extend(changes(report));
    answer.extend(lines(report));
    answer.push(Section::sentences("In short", "", report.summary.clone()));
    Sheet {
        title: format!(
            "{}: {wanted}{}{}, on {}",
            report.name,
            goal.unwrap_or_default(),
            match report.objective {
                Objective::Latency => format!(" ({})", trials::metric(&report.metric)),
                Objective::Cpu | Objective::Rate => String::new(),
            },
            report.started_at.replace('T', " ").replace('Z', " UTC")
        ),
        cautions: cautions(report),
        sections,
        scatter: Some(scatter(report)),
        answer,
        ..Sheet::default()
    }
}

fn cautions(report: &SearchReport) -> Vec<String> {
    let guards = report.proof.iter().flat_map(|proof| &proof.guards);
    let worse: Vec<&GuardFigure> = guards.filter(|guard| guard.verdict == Verdict::Worse).collect();
    let by = |guard: &GuardFigure| {
        let by = guard.estimate_ratio.map(ratio).unwrap_or_default();
        format!("{} {by}", trials::metric(&guard.metric))
    };
    // The parts of the whole are no cautions of their own.
    let (cpu, others): (Vec<&GuardFigure>, Vec<&GuardFigure>) =
        worse.into_iter().partition(|guard| guard.metric.starts_with("cpu."));
    let cpu = (!cpu.is_empty()).then(|| cpu.into_iter().rev().map(by).collect::<Vec<_>>().join(", "));
    let worse = others.into_iter().map(by).chain(cpu);
    let worse = worse.map(|what| format!("Worse with what is proposed: {what}."));
    let harmful = report.proposed.iter().filter(|change| change.verdict == PartVerdict::Harmful);
    let harmful = harmful
        .map(|change| format!("{} makes the rest worse: leave it out, and prove the rest.", change.setting));
    worse.chain(harmful).collect()
}

fn spent(report: &SearchReport) -> Option<Section> {
    if report.blocks.is_empty() {
        return None;
    }
    let mut sentences = vec![format!(
        "{}: {} given up early, {} of no use.",
        counted(report.blocks.len(), "block"),
        report.aborted,
        report.failed
    )];
    let is_unfit = |block: &&SearchBlock| block.failed.is_some() && block.refused.is_none();
    if let Some(failed) = report.blocks.iter().find(is_unfit) {
        let reason = failed.failed.clone().unwrap_or_default();
        sentences.push(format!("Not used: {}: {reason}.", settings(&failed.settings)));
    }
    if !report.ruled_out.is_empty() {
        sentences.push(format!(
            "Ruled out without a block, by the load and by what the first block showed: {}.",
            report.ruled_out.join(", ")
        ));
    }
    if let Some(spread) = report.spread_log {
        let own = |block: &&SearchBlock| block.settings.is_empty() && block.failed.is_none();
        let values = report.blocks.iter().filter(own).filter_map(|block| block.objective);
        let (least, most) =
            values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
        sentences.push(format!(
            "The {} of your own settings typically differ by {} (outliers apart; the highest is {} of the lowest).",
            counted(report.blocks.iter().filter(own).count(), "block"),
            percent(spread.exp() - 1.0),
            ratio(most / least)
        ));
    }
    Some(Section::sentences("The search", "it chose, and proves nothing", sentences))
}

/// What was refused, in whose words, and what was not tried again for it.
fn refused(report: &SearchReport) -> Option<Section> {
    let row = |refused: &RefusedSettings| {
        let beyond = if refused.beyond { " and beyond" } else { "" };
        let grounds = match refused.grounds {
            RefusalGrounds::Only => "",
            RefusalGrounds::Repeated => "by guess: it was among the changes of two refusals that name none",
            RefusalGrounds::Together => "together: which of them is not known",
        };
        vec![
            format!("{}{beyond}", settings(&refused.settings)),
            refused.by.words().to_owned(),
            refused.words.clone(),
            refused.blocks.to_string(),
            grounds.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = report.refused.iter().map(row).collect();
    let columns = [
        Column::text("settings"),
        Column::text("by"),
        Column::text("in these words"),
        Column::number("blocks"),
        Column::text(""),
    ];
    let meaning =
        "not tried again, nor together with other changes; beyond: what lies farther from your value";
    (!rows.is_empty()).then(|| Section::table("Refused", meaning, columns, rows))
}

/// The blocks that no other is better than in everything.
fn front(report: &SearchReport) -> Option<Section> {
    let row = |at: &usize| {
        let block = &report.blocks[*at];
        vec![
            settings(&block.settings),
            known(latency_of(report, block), time),
            known(block.cpu_per_message_us, |us| time(us * 1e3)),
            known(block.achieved_per_s, |rate| significant(rate, 4)),
            match () {
                () if is_proven(report, block) => "proven",
                () if block.settings.is_empty() => "what you have",
                () => "",
            }
            .to_owned(),
            blocks_of(report, block).to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = report.front.iter().map(row).collect();
    let columns = [
        Column::text("settings"),
        Column::number(quantile_shown(report)),
        Column::number("CPU / message"),
        Column::number("messages/s"),
        Column::text(""),
        Column::number("blocks"),
    ];
    let meaning = "settings than which none are better in latency, CPU time and rate together, by the middle one of their blocks; no result";
    (rows.len() > 1).then(|| Section::table("The front", meaning, columns, rows))
}

/// The whole blocks of the same settings.
fn blocks_of(report: &SearchReport, of: &SearchBlock) -> usize {
    let is_alike =
        |block: &&SearchBlock| block.settings == of.settings && !block.aborted && block.failed.is_none();
    report.blocks.iter().filter(is_alike).count()
}

/// Latency against CPU time of every whole block, and of what is proven.
fn scatter(report: &SearchReport) -> Scatter {
    let point = |(at, block): (usize, &SearchBlock)| {
        let kind = if report.front.contains(&at) { PointKind::Front } else { PointKind::Other };
        let y = latency_of(report, block)?;
        Some(Point { x: block.cpu_per_message_us?, y, words: settings(&block.settings), kind })
    };
    let whole =
        report.blocks.iter().enumerate().filter(|(_, block)| !block.aborted && block.failed.is_none());
    Scatter {
        heading: "Latency and CPU time".to_owned(),
        meaning: "every whole block of the search".to_owned(),
        x: Axis { name: "CPU time per message".to_owned(), written: |us| time_tick(us * 1e3) },
        y: Axis { name: quantile_shown(report).to_owned(), written: time_tick },
        points: whole.filter_map(point).chain(proven_point(report)).collect(),
    }
}

/// What is proven, where the blocks of its proof came to. No block of the search need have had just these settings.
fn proven_point(report: &SearchReport) -> Option<Point> {
    let figures = report.proof.as_ref()?.figures.filter(|_| report.outcome == SearchOutcome::Better)?;
    let y = if quantile_shown(report) == "p99" { figures.p99_ns } else { figures.p50_ns };
    let words = format!("proven, the median of its blocks: {}", settings(&proposed(report)));
    Some(Point { x: figures.cpu_per_message_us?, y: y?, words, kind: PointKind::Proven })
}

/// The latency of a block that the front is about: p99 where every whole block has it, else p50.
fn latency_of(report: &SearchReport, block: &SearchBlock) -> Option<f64> {
    if quantile_shown(report) == "p99" { block.p99_ns } else { block.p50_ns }
}

fn quantile_shown(report: &SearchReport) -> &'static str {
    let mut whole = report.blocks.iter().filter(|block| !block.aborted && block.failed.is_none());
    if whole.all(|block| block.p99_ns.is_some()) { "p99" } else { "p50" }
}

fn is_proven(report: &SearchReport, block: &SearchBlock) -> bool {
    report.outcome == SearchOutcome::Better && block.settings == proposed(report)
}

fn proposed(report: &SearchReport) -> Properties {
    report.proposed.iter().map(|change| (change.setting.clone(), change.to.clone())).collect()
}

fn importance(report: &SearchReport) -> Option<Section> {
    let cell = |text: &str| text.to_owned();
    let told = report.importance.iter().filter(|row| row.is_told).map(|row| {
        let band = format!("{} to {}", percent(row.importance.low), percent(row.importance.high));
        vec![row.setting.clone(), percent(row.importance.share), band, String::new()]
    });
    let together = report.importance.iter().filter_map(|row| {
        let reason = row.together.as_ref()?.sentence();
        Some(vec![row.setting.clone(), cell("cannot be told"), String::new(), reason])
    });
    let mut rows: Vec<Vec<String>> = told.chain(together).take(IMPORTANT_MOST).collect();
    let untold = report.importance.iter().filter(|row| !row.is_told).count();
    let shown = rows.iter().filter(|row| row[1] == "cannot be told").count();
    if untold > shown && !rows.is_empty() {
        let more = format!("{} more", counted(untold - shown, "setting"));
        rows.push(vec![more, cell("cannot be told"), String::new(), String::new()]);
    }
    let columns =
        [Column::text("setting"), Column::number("share"), Column::number("80 % band"), Column::text("")];
    let meaning = "the share of what differed between the search's blocks that goes with each setting; shares of settings that act \
                   together overlap";
    (!rows.is_empty()).then(|| Section::table("What matters", meaning, columns, rows))
}

fn left_out(report: &SearchReport) -> Option<Section> {
    let rows: Vec<Vec<String>> =
        report.left_out.iter().map(|left| vec![left.what.clone(), left.reason.clone()]).collect();
    let columns = [Column::text(""), Column::text("")];
    let meaning = "beside what changes a promise of the path (acks, replication, flushes, retries, security), which no search changes";
    (!rows.is_empty()).then(|| Section::table("Not searched", meaning, columns, rows))
}

/// The answers for setups of another promise; none is better or worse than another.
fn other_promises(report: &SearchReport) -> Option<Section> {
    let row = |(at, other): (usize, &SearchReport)| {
        vec![other.promise.clone(), format!("promise-{}", at + 2), other.summary.join(" ")]
    };
    let rows: Vec<Vec<String>> = report.other_promises.iter().enumerate().map(row).collect();
    let columns = [Column::text("promise"), Column::text("directory"), Column::text("answer")];
    let meaning =
        format!("setups that promise something else than {}; none is held against another", report.promise);
    (!rows.is_empty()).then(|| Section::table("Other promises", &meaning, columns, rows))
}

fn envelope(report: &SearchReport) -> Section {
    let rows = report.envelope.iter().map(|fact| vec![fact.what.clone(), fact.value.clone()]).collect();
    Section::table(
        "Holds for",
        "another load, host or version is another question",
        [Column::text(""), Column::text("")],
        rows,
    )
}

fn proof(proof: &SearchProof) -> Section {
    let mut rows = vec![vec![
        "proposed / as it is".to_owned(),
        known(proof.estimate_ratio, ratio),
        interval(proof.interval_low, proof.interval_high),
        verdict(proof.verdict).to_owned(),
    ]];
    rows.extend(proof.guards.iter().filter(|guard| guard.estimate_ratio.is_some()).map(|guard| {
        vec![
            trials::metric(&guard.metric),
            known(guard.estimate_ratio, ratio),
            interval(guard.interval_low, guard.interval_high),
            verdict(guard.verdict).to_owned(),
        ]
    }));
    let columns = [Column::text(""), Column::number("ratio"), Column::number("interval"), Column::text("")];
    let promises = proof.guarantees.iter().map(|(name, value)| format!("{name}={value}"));
    let promises: Vec<String> = promises.collect();
    let read_back = match (promises.is_empty(), proof.unequal_guarantees.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!("; read back equal on both sides: {}", promises.join(", ")),
        (false, false) => format!("; {}", proof.unequal_guarantees.join("; ")),
    };
    let meaning = format!(
        "{} of blocks that chose nothing, on {} of the brokers, intervals of {}{read_back}",
        counted(proof.pairs as usize, "pair"),
        counted(proof.starts as usize, "start"),
        percent(proof.level)
    );
    Section::table("The proof", &meaning, columns, rows)
}

fn highest_rates(report: &SearchReport) -> Option<Section> {
    let per_s = |rate: Option<f64>| known(rate, |rate| significant(rate, 4));
    let row =
        |rate: &HighestRate| vec![rate.arm.clone(), per_s(rate.rate_low_per_s), per_s(rate.rate_high_per_s)];
    let rows: Vec<Vec<String>> = report.highest_rates.iter().map(row).collect();
    let columns = [Column::text(""), Column::number("holds, messages/s"), Column::number("does not hold")];
    let meaning =
        "the highest rate that holds the goal, each confirmed by full-length runs with clients of their own";
    (!rows.is_empty()).then(|| Section::table("The highest rate", meaning, columns, rows))
}

fn other_rates(report: &SearchReport) -> Option<Section> {
    let row = |check: &plumb_model::search_report::RateCheck| {
        let ratios: Vec<String> = check.ratios.iter().map(|of| ratio(*of)).collect();
        let in_words = if check.better_in_each { "better in each pair" } else { "not better in each pair" };
        vec![
            format!("{} messages/s", significant(check.rate_per_s, 4)),
            ratios.join(", "),
            in_words.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = report.other_rates.iter().map(row).collect();
    let columns = [Column::text("rate"), Column::text("ratio of each pair"), Column::text("")];
    (!rows.is_empty())
        .then(|| Section::table("At other rates", "a look: too few pairs for a verdict", columns, rows))
}

/// Starts of the brokers with other settings.
fn restart(report: &SearchReport) -> Option<Section> {
    let row = |start: &Restarted| {
        vec![
            start.change.setting.clone(),
            start.change.from.clone(),
            start.change.to.clone(),
            known(start.estimate_ratio, ratio),
            interval(start.interval_low, start.interval_high),
            verdict(start.verdict).to_owned(),
            start.reasons.join("; "),
        ]
    };
    let rows: Vec<Vec<String>> = report.restart.iter().map(row).collect();
    let first = report.restart.first()?;
    let columns = [
        Column::text("setting"),
        Column::text("from"),
        Column::text("to"),
        Column::number("ratio"),
        Column::number("interval"),
        Column::text(""),
        Column::text(""),
    ];
    let meaning = format!(
        "each on brokers of its own against {}, in {} on {} of the brokers; no part of what is proposed above",
        if first.against == "proposed" { "what is proposed" } else { "what you have" },
        counted(first.pairs as usize, "pair"),
        counted(first.starts as usize, "start")
    );
    Some(Section::table("With a restart of the brokers", &meaning, columns, rows))
}

fn changes(report: &SearchReport) -> Option<Section> {
    let row = |change: &ProposedChange| {
        let from = match change.from_is_written {
            true => change.from.clone(),
            false => format!("{} (default)", change.from),
        };
        let part = match change.verdict {
            PartVerdict::Matters => "matters",
            PartVerdict::Idle => "idle",
            PartVerdict::Harmful => "harmful",
            PartVerdict::NotShown => "not shown",
            PartVerdict::Whole => "the only change",
            PartVerdict::NotMeasured => "not measured",
        };
        vec![
            change.setting.clone(),
            from,
            change.to.clone(),
            known(change.effect, ratio),
            interval(change.interval_low, change.interval_high),
            part.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = report.proposed.iter().chain(&report.candidates).map(row).collect();
    let columns = [
        Column::text("setting"),
        Column::text("from"),
        Column::text("to"),
        Column::number("its part"),
        Column::number("interval"),
        Column::text(""),
    ];
    let (heading, meaning) = match report.outcome {
        SearchOutcome::Better => {
            ("To change", "its part: the metric with all changes over the metric without this one")
        }
        _ => ("Candidates", "not proven"),
    };
    (!rows.is_empty()).then(|| Section::table(heading, meaning, columns, rows))
}

/// What to write where, by the names of each client.
fn lines(report: &SearchReport) -> Option<Section> {
    if report.outcome != SearchOutcome::Better {
        return None;
    }
    let settings: Properties =
        report.proposed.iter().map(|change| (change.setting.clone(), change.to.clone())).collect();
    let mut lines = Vec::new();
    for owner in [Owner::Producer, Owner::Consumer] {
        let own = of_owner(&settings, owner);
        lines.extend(own.iter().map(|(name, value)| format!("{}: {name}={value}", owner.name())));
    }
    let configs: Vec<String> =
        of_owner(&settings, Owner::Topic).iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !configs.is_empty() {
        lines.push(format!(
            "kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type topics --entity-name TOPIC --add-config {}",
            configs.join(",")
        ));
    }
    let host = of_owner(&settings, Owner::Host);
    lines.extend(host.iter().map(|(name, value)| host_line(name, value)));
    let is_of_all = report.refused_trials.iter().any(|trial| trial.stage == TrialStage::Proof);
    let proof = if is_of_all { "proof-of-all" } else { "proof" };
    let meaning = format!(
        "for librdkafka; the files in {proof}/install have what the Java client takes, and the way back"
    );
    Some(Section::sentences("To write", &meaning, lines))
}

/// The command that sets a setting of this host or of a broker.
fn host_line(name: &str, value: &str) -> String {
    match ClusterName::new(name) {
        Some(ClusterName { of: ClusterPart::Broker(id), key }) => format!(
            "kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type brokers --entity-name {id} --add-config {key}={value}"
        ),
        _ if name.starts_with('/') => format!("echo {value} > {name}"),
        _ => format!("sysctl -w {name}={value}"),
    }
}

fn settings(settings: &Properties) -> String {
    if settings.is_empty() {
        return "as it is".to_owned();
    }
    settings.iter().map(|(setting, value)| format!("{setting} {value}")).collect::<Vec<_>>().join(", ")
}

fn known(of: Option<f64>, shown: impl Fn(f64) -> String) -> String {
    of.map_or_else(|| ABSENT.to_owned(), shown)
}

fn interval(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{} to {}", ratio(low), ratio(high)),
        _ => ABSENT.to_owned(),
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "no different",
        Verdict::Undecided => "undecided",
    }
}
