//! A sizing in words, for the terminal.

use crate::args::size::SizeOutput;
use crate::printer;
use anyhow::Result;
use plumb_judge::capacity::{
    Assumptions, Bound, BoundName, Capacity, Clusters, Count, CrossZone, FailureMode, Flush, Input, Known,
    Need, RAISE, Reading, Sizing, Source, Standing, Target, Tls, Unit,
};
use plumb_model::figure::{self, ABSENT};
use plumb_model::figure::{bytes, bytes_per_s, short};
use plumb_report::sheet::{self, Body, Column, Section, Sheet};

/// The whole sizing, the answer apart.
pub(crate) fn sheet(sizing: &Sizing) -> Sheet {
    let several = sizing.readings.len() > 1;
    let mut sections = Vec::new();
    let mut answer = Vec::new();
    for reading in &sizing.readings {
        let of = if several {
            format!("of {}, {}", bytes_per_s(reading.ingress.peak_bytes_per_s), reading.name)
        } else {
            String::new()
        };
        answer.push(counts(&reading.capacity, &of, &sizing.target));
        sections.push(bounds(&reading.capacity, &of));
        sections.push(flows(&reading.capacity));
        sections.extend(reading.capacity.cross_zone.map(cross_zone));
    }
    // What is missing, the same for every reading.
    if let Some(reading) = sizing.readings.first() {
        sections.extend(gaps(&reading.capacity.bounds));
        sections.push(figures(reading));
    }
    if !sizing.assumptions.is_empty() {
        sections.push(Section::new(
            "Assumed",
            "nobody measured it: --assume NAME=VALUE says it better",
            inputs(&sizing.assumptions),
        ));
    }
    let to_know: Vec<String> =
        sizing.cautions.iter().cloned().chain(sizing.readings.iter().filter_map(tiered)).collect();
    if !to_know.is_empty() {
        sections.push(Section::sentences("To know", "", to_know));
    }
    sections.push(flip_tests(sizing));
    sections.extend(advice(sizing));
    let findings = sizing.contradictions.clone();
    Sheet { title: title(sizing), findings, sections, answer, ..Sheet::default() }
}

fn title(sizing: &Sizing) -> String {
    let target = &sizing.target;
    let load = match (target.load.messages_per_s, target.load.message_bytes, target.load.bytes_per_s) {
        (Some(messages), Some(size), _) => format!("{} messages/s × {}", short(messages), bytes(size)),
        (_, _, stated) => bytes_per_s(stated.unwrap_or_default()),
    };
    let mut parts = vec![format!("Brokers for {load}")];
    let usual = |name: &str, text: String| {
        if target.defaulted.iter().any(|field| field == name) { format!("{text} (default)") } else { text }
    };
    if target.compression_ratio != 1.0 {
        parts.push(format!("compressed {} times", short(target.compression_ratio)));
    }
    parts.push(usual("peak_factor", format!("peak ×{} of the mean", short(target.peak_factor))));
    let copies = if target.replication == 1 { "copy" } else { "copies" };
    parts.push(usual("replication", format!("{} {copies}", target.replication)));
    parts.push(usual("groups", plural(target.groups, "consumer group")));
    parts.push(usual("zones", plural(f64::from(target.zones), "zone")));
    parts.push(encryption_and_syncs(target));
    if let Some(retention_s) = target.retention_s {
        parts.push(format!("kept for {} h", short(retention_s / 3_600.0)));
    }
    if let Some(local_s) = target.tiered.and_then(|tiering| tiering.local_retention_s) {
        parts.push(format!("{} h of it at the brokers", short(local_s / 3_600.0)));
    }
    parts.join(", ")
}

fn plural(number: f64, noun: &str) -> String {
    let s = if number == 1.0 { "" } else { "s" };
    format!("{} {noun}{s}", short(number))
}

fn encryption_and_syncs(target: &Target) -> String {
    let tls = match target.tls {
        Tls::Off => "no TLS",
        Tls::Clients => "TLS to clients",
        Tls::All => "TLS everywhere",
    };
    let flush = match target.flush {
        Flush::Os => "synced by the operating system",
        Flush::BeforeAck => "synced before it is acknowledged",
    };
    format!("{tls}, {flush}")
}

fn tiered(reading: &Reading) -> Option<String> {
    let kept = bytes(reading.capacity.tiered_bytes?);
    let sent = bytes_per_s(reading.ingress.mean_bytes_per_s);
    Some(format!(
        "Tiered storage keeps {kept}: one copy of the {sent} that producers send, for all of the retention."
    ))
}

/// The answer.
fn counts(capacity: &Capacity, of: &str, target: &Target) -> Section {
    let zones = target.zones;
    let row = |name: &str, brokers: String, why: String| vec![name.to_owned(), brokers, why];
    let lower_bound = !capacity.physics.unknown_bounds.is_empty();
    let at_least = |brokers: u64| {
        let brokers = figure::count(brokers);
        if lower_bound { format!(">= {brokers}") } else { brokers }
    };
    let mut rows = vec![
        row("physics", at_least(capacity.physics.brokers), physics(capacity)),
        row("plan", at_least(capacity.plan.brokers), plan(capacity, zones)),
    ];
    if let Some(Clusters { clusters, brokers_each, brokers }) = capacity.clusters {
        let s = if clusters == 1 { "" } else { "s" };
        let why =
            format!("{} cluster{s} of {} brokers", figure::count(clusters), figure::count(brokers_each));
        rows.push(row("in clusters", at_least(brokers), why));
    }
    if let Some(proven) = capacity.proven_brokers {
        let why = "each then bears what the run already put on one broker: no bound, but proof".to_owned();
        rows.push(row("proven", figure::count(proven), why));
    }
    if let Some(stated) = &capacity.stated {
        let why = match (stated.fullest, stated.fullest_share) {
            (Some(name), Some(share)) => {
                format!("stated; the fullest rate is {}, {} used", name.words(), share_words(share))
            }
            _ => "stated; no rate is known".to_owned(),
        };
        rows.push(row("stated", figure::count(stated.brokers), why));
    }
    for mode in &capacity.failure_modes {
        let fullest = mode
            .fullest
            .zip(mode.fullest_share)
            .map(|(name, share)| format!(", {} at {}", name.words(), share_words(share)));
        let why = format!(
            "by physics; of the plan's brokers {} are left{}{}",
            figure::count(mode.plan_brokers_left),
            survivors(capacity, mode, target),
            fullest.unwrap_or_default()
        );
        rows.push(row(&format!("{} down", mode.down), at_least(mode.physics_brokers), why));
    }
    let columns = vec![Column::text(""), Column::number("brokers"), Column::text("")];
    Section::table("Brokers", of, columns, rows)
}

/// The end of the sentence about the survivors: if they carry the load. Empty for a load that no number of brokers carries.
fn survivors(capacity: &Capacity, mode: &FailureMode, target: &Target) -> &'static str {
    match (capacity.unreachable.is_empty(), mode.plan_carries) {
        (false, _) => "",
        (true, false) => " and do NOT carry the load",
        (true, true) if target.replication == 1 => {
            " and carry what is written to them; what the others held has no other copy"
        }
        (true, true) => " and carry the load",
    }
}

fn physics(capacity: &Capacity) -> String {
    match capacity.physics.binding {
        Some(name) if capacity.physics.fullest.is_none() => {
            format!("what {} asks for: no rate of a device, network or CPU is known", name.words())
        }
        Some(name) if capacity.throughput_bound => format!("bound by {}", name.words()),
        Some(name) => format!("bound by {}, not by a rate", name.words()),
        None => "nothing is known that bounds it".to_owned(),
    }
}

fn plan(capacity: &Capacity, zones: u32) -> String {
    let zones = if zones > 1 { format!("; a multiple of {zones} zones") } else { String::new() };
    let Some(name) = capacity.plan.binding else { return format!("as physics{zones}") };
    let rule =
        known(&capacity.bounds, name).and_then(|known| known.plan.as_ref()).map(|plan| plan.rule.clone());
    format!("bound by {} ({}){zones}", name.words(), rule.unwrap_or_default())
}

fn known(bounds: &[Bound], name: BoundName) -> Option<&Known> {
    bounds.iter().find(|bound| bound.name == name)?.known()
}

/// Every bound that is known, the one that asks for most first.
fn bounds(capacity: &Capacity, of: &str) -> Section {
    let mut known: Vec<(&Bound, &Known)> =
        capacity.bounds.iter().filter_map(|bound| Some((bound, bound.known()?))).collect();
    let most = |known: &Known| {
        known.physics.or(known.plan.as_ref().map(|plan| plan.need)).map_or(0.0, |need| need.exact)
    };
    known.sort_by(|a, b| most(b.1).total_cmp(&most(a.1)));
    let rows = known.iter().map(|(bound, known)| bound_row(bound, known)).collect();
    let columns = vec![
        Column::text(""),
        Column::number("physics"),
        Column::number("slack"),
        Column::number("plan"),
        Column::number("slack"),
        Column::text("limit of one"),
    ];
    let meaning = "slack: the load that it would carry at that count, by the hard bound, as a multiple";
    let meaning = if of.is_empty() { meaning.to_owned() } else { format!("{of}; {meaning}") };
    Section::table("Bounds", &meaning, columns, rows)
}

fn bound_row(bound: &Bound, known: &Known) -> Vec<String> {
    let times = |slack: Option<f64>| slack.map_or(ABSENT.to_owned(), figure::ratio);
    let things = match known.unit {
        Unit::Brokers => "",
        Unit::Partitions => " partitions",
        Unit::Connections => " connections",
    };
    let need = |need: Option<Need>| need.map_or(ABSENT.to_owned(), |need| short(need.exact));
    let limit = limit(known);
    let limit = match (known.unit, known.have) {
        (Unit::Brokers, _) => limit,
        (_, Some(have)) => format!("{limit}; counts{things}, of which there are {}", short(have)),
        (_, None) => format!("{limit}; counts{things}, of which the target does not say how many there are"),
    };
    vec![
        bound.name.words().to_owned(),
        need(known.physics),
        times(known.slack.and_then(|slack| slack.at_physics)),
        need(known.plan.as_ref().map(|plan| plan.need)),
        times(known.slack.and_then(|slack| slack.at_plan)),
        limit,
    ]
}

fn limit(known: &Known) -> String {
    let limit = &known.limit;
    if let Some(what) = limit.unit.strip_prefix("bytes/s") {
        return format!("{}{what}", bytes_per_s(limit.value));
    }
    match limit.unit.strip_prefix("bytes") {
        Some(what) if what.contains("memory") => format!("{}{what}", figure::binary_bytes(limit.value)),
        Some(what) => format!("{}{what}", bytes(limit.value)),
        None => format!("{} {}", short(limit.value), limit.unit),
    }
}

fn flows(capacity: &Capacity) -> Section {
    let columns = vec![
        Column::text(""),
        Column::number("brokers"),
        Column::number("from producers"),
        Column::number("written"),
        Column::number("sent"),
        Column::number("kept"),
    ];
    let row = |name: &str, count: &Count| {
        let flows = &count.flows;
        vec![
            name.to_owned(),
            figure::count(count.brokers),
            bytes_per_s(flows.ingress_bytes_per_s),
            bytes_per_s(flows.written_bytes_per_s),
            bytes_per_s(flows.sent_bytes_per_s),
            flows.stored_bytes.map_or(ABSENT.to_owned(), bytes),
        ]
    };
    let mut rows = vec![row("physics", &capacity.physics), row("plan", &capacity.plan)];
    rows.extend(capacity.stated.as_ref().map(|stated| row("stated", stated)));
    Section::table("Each broker then", "at the peak, balanced", columns, rows)
}

fn cross_zone(cross: CrossZone) -> Section {
    let columns = vec![
        Column::text(""),
        Column::number("mean"),
        Column::number("peak"),
        Column::text("per byte from producers"),
    ];
    let row = |name: &str, share: f64, why: &str| {
        let moved = |produced: f64| bytes_per_s(produced * share);
        vec![
            name.to_owned(),
            moved(cross.mean_bytes_per_s),
            moved(cross.peak_bytes_per_s),
            format!("{} ({why})", short(share)),
        ]
    };
    let rows = vec![
        row("producers", cross.producers_share, "their leader is in another zone"),
        row("replication", cross.replication_share, "followers in other zones"),
        row("consumers", cross.consumers_share, "they fetch from leaders"),
        row(
            "consumers, closest",
            cross.consumers_share_from_closest,
            "if they fetch from the closest replica instead",
        ),
    ];
    let meaning = "all brokers together; replicas, leaders and clients spread evenly over the zones";
    Section::table("From zone to zone", meaning, columns, rows)
}

fn gaps(bounds: &[Bound]) -> Vec<Section> {
    let row = |bound: &Bound, text: String| vec![bound.name.words().to_owned(), text];
    let unknown: Vec<Vec<String>> = bounds
        .iter()
        .filter_map(|bound| match &bound.standing {
            Standing::Unknown { missing } => Some(row(bound, missing.join(" "))),
            Standing::Known(_) | Standing::NotAsked { .. } => None,
        })
        .collect();
    let not_asked: Vec<Vec<String>> = bounds
        .iter()
        .filter_map(|bound| match &bound.standing {
            Standing::NotAsked { why } => Some(row(bound, why.clone())),
            Standing::Known(_) | Standing::Unknown { .. } => None,
        })
        .collect();
    let table = |rows| Body::Table { columns: vec![Column::text(""), Column::text("")], rows };
    let mut sections = Vec::new();
    if !unknown.is_empty() {
        sections.push(Section::new(
            "Not known",
            "each may ask for more brokers; the flags that would tell",
            table(unknown),
        ));
    }
    if !not_asked.is_empty() {
        sections.push(Section::new("Does not apply", "", table(not_asked)));
    }
    sections
}

/// The figures that the bounds rest on, each once.
fn figures(reading: &Reading) -> Section {
    let mut used: Vec<Input> = Vec::new();
    for input in reading.capacity.bounds.iter().flat_map(Bound::inputs) {
        if !input.is_assumed() && !used.contains(input) {
            used.push(input.clone());
        }
    }
    Section::new("Figures", "", inputs(&used))
}

fn inputs(inputs: &[Input]) -> Body {
    let rows = inputs
        .iter()
        .map(|input| vec![input.shown.clone(), format!("{} [{}]", input.name, source(&input.source))]);
    Body::Table { columns: vec![Column::text(""), Column::text("")], rows: rows.collect() }
}

fn source(source: &Source) -> &str {
    match source {
        Source::Given(detail)
        | Source::Published(detail)
        | Source::Measured(detail)
        | Source::Assumed(detail) => detail,
    }
}

fn flip_tests(sizing: &Sizing) -> Section {
    let mut sentences = Vec::new();
    for reading in &sizing.readings {
        let Some(flip) = &reading.capacity.flip_test else {
            sentences.push("No rate is known to bind: there is nothing to test.".to_owned());
            continue;
        };
        let next = match flip.next.zip(flip.next_above) {
            Some((name, distance)) => {
                format!(" {} comes next, {} above.", name.words(), share_words(distance))
            }
            None => String::new(),
        };
        let confirms = match flip.separates {
            true => format!(
                "a gain of at least {} confirms {}",
                share_words(flip.confirms_from),
                flip.bound.words()
            ),
            false => "that is too little to tell".to_owned(),
        };
        sentences.push(format!(
            "Raise {} by {}: {} brokers should go from {} to {} (+{}); {confirms}. Anything else raised alike must stay \
             below {}.{next}",
            flip.resource.words(),
            share_words(RAISE - 1.0),
            figure::count(reading.capacity.physics.brokers),
            bytes_per_s(flip.capacity_bytes_per_s),
            bytes_per_s(flip.raised_bytes_per_s),
            share_words(flip.gain_expected),
            share_words(flip.others_below),
        ));
    }
    Section::sentences("Flip test", "what would show that the bound is the right one", sentences)
}

fn advice(sizing: &Sizing) -> Option<Section> {
    let mut sentences: Vec<String> = Vec::new();
    for advice in sizing.readings.iter().flat_map(|reading| &reading.capacity.advice) {
        if !sentences.contains(advice) {
            sentences.push(advice.clone());
        }
    }
    (!sentences.is_empty()).then(|| Section::sentences("Advice", "", sentences))
}

/// All that can be assumed.
pub(super) fn assumptions(output: SizeOutput) -> Result<String> {
    if output == SizeOutput::Json {
        let rows: Vec<_> = Assumptions::rows()
            .iter()
            .map(|row| serde_json::json!({"name": row.name, "value": row.value, "meaning": row.meaning, "whose": row.whose}))
            .collect();
        return Ok(format!("{}\n", serde_json::to_string_pretty(&rows)?));
    }
    let columns = vec![Column::text("name"), Column::number("value"), Column::text("what, and whose")];
    let row = |row: &plumb_judge::capacity::assumptions::Row| {
        vec![row.name.to_owned(), short(row.value), format!("{} [{}]", row.meaning, row.whose)]
    };
    let rows = Assumptions::rows().iter().map(row).collect();
    let sheet = Sheet {
        title: "What is assumed unless said better".to_owned(),
        sections: vec![Section::table("Assumptions", "", columns, rows)],
        ..Sheet::default()
    };
    Ok(sheet::text::render(&sheet, printer::style()))
}

fn share_words(share: f64) -> String {
    figure::percent(share)
}
