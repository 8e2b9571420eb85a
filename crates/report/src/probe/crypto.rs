//! Crypto: what is wrong first, then the processor, then each library's rates, then other hosts beside this one.

mod beside;

use super::{cautions, conditions, or_absent, title};
use crate::findings;
use crate::sheet::{Body, Column, Section, Sheet};
use plumb_model::figure;
use plumb_model::finding::{Finding, Severity};
use plumb_model::observation::Interval;
use plumb_model::probe::crypto::{
    Algorithm, BLOCKS_BYTES, CryptoCpu, CryptoEngine, CryptoProbe, CryptoRow, EngineName, Form, Operation,
    Throughput,
};

/// Headings of the sizes; those of [`BLOCKS_BYTES`].
const SIZES: [Column; 6] = [
    Column::number("16 B"),
    Column::number("64 B"),
    Column::number("256 B"),
    Column::number("1 KiB"),
    Column::number("8 KiB"),
    Column::number("16 KiB"),
];

/// The whole sheet.
pub fn sheet(document: &CryptoProbe) -> Sheet {
    // Notes do not set the exit code.
    let (notes, grave): (Vec<&Finding>, Vec<&Finding>) =
        document.findings.iter().partition(|finding| finding.severity == Severity::Note);
    let findings = grave.into_iter().map(findings::line).collect();
    let mut said: Vec<String> = notes.into_iter().map(findings::line).collect();
    said.extend(cautions(&document.conditions));
    let mut sections = vec![processor(&document.cpu)];
    sections.extend(document.engines.iter().map(|engine| rates(engine, document.plan.cores)));
    sections.extend(operations(document));
    sections.extend(beside::sections(document));
    sections.extend(absent(document));
    let mut last = conditions(&document.conditions);
    if let Body::Sentences(lines) = &mut last.body {
        lines.extend(samples(document));
    }
    sections.push(last);
    let title = title("Crypto", &document.conditions);
    Sheet { title, findings, cautions: said, sections, ..Sheet::default() }
}

/// From how many samples the figures are: a probe that was stopped has fewer than planned.
fn samples(document: &CryptoProbe) -> Option<String> {
    let rows = document.engines.iter().flat_map(|engine| {
        let rows = engine.rows.iter().flat_map(|row| {
            let all = row.all_cores.iter().map(|all| all.samples);
            let other = row.other_form.iter().map(|other| other.one_core.samples);
            std::iter::once(row.one_core.samples).chain(all).chain(other)
        });
        rows.chain(engine.operations.iter().map(|row| row.samples))
    });
    let (least, most) = rows.fold(None, |range: Option<(u32, u32)>, samples| {
        Some(range.map_or((samples, samples), |(least, most)| (least.min(samples), most.max(samples))))
    })?;
    let number = if least == most { most.to_string() } else { format!("{least} to {most}") };
    Some(format!(
        "Each figure is the median of {number} samples of {}, all libraries, algorithms and sizes in random order; with fewer \
         than 20 samples there is none. ± is half of the median's 95 % interval, of a line with several sizes the widest.",
        figure::time(document.plan.sample_ns as f64)
    ))
}

fn processor(cpu: &CryptoCpu) -> Section {
    let list = |flags: &[String]| if flags.is_empty() { "none".to_owned() } else { flags.join(" ") };
    let numbers = match (&cpu.vendor, cpu.family, cpu.model_number) {
        (Some(vendor), Some(family), Some(model)) => format!(" ({vendor} family {family} model {model})"),
        _ => String::new(),
    };
    let hypervisor = match (&cpu.hypervisor, cpu.virtual_machine) {
        (Some(name), _) => name.clone(),
        (None, Some(false)) => "none that shows itself".to_owned(),
        (None, _) => "unknown: this processor does not say".to_owned(),
    };
    let hidden = match &cpu.missing {
        None => format!("unknown: {}", cpu.missing_because),
        Some(missing) => format!("{} ({})", list(missing), cpu.missing_because),
    };
    let mut rows = vec![
        vec!["model".to_owned(), format!("{}{numbers}", cpu.model.as_deref().unwrap_or("not named"))],
        vec!["hypervisor".to_owned(), hypervisor],
        vec!["shows".to_owned(), list(&cpu.flags)],
        vec!["does not show".to_owned(), list(&cpu.absent)],
        vec!["of these, hidden".to_owned(), hidden],
    ];
    rows.extend(cpu.masks.iter().map(|(name, value)| vec![name.clone(), format!("{value} (is set)")]));
    let columns = [Column::text(""), Column::text("")];
    Section::table("Processor", "instructions that matter to encryption and checksums", columns, rows)
}

fn rates(engine: &CryptoEngine, cores: u32) -> Section {
    let heading = match engine.name {
        EngineName::Openssl => engine.version.clone(),
        EngineName::Own => format!("Plumb's own ({})", engine.version),
        EngineName::Jvm => format!("Java: {}", engine.version),
    };
    let file = match (&engine.file, &engine.chosen_because) {
        (Some(file), Some(why)) => format!("; {file}, {why}"),
        (Some(file), None) => format!("; {file}"),
        _ => String::new(),
    };
    let several = engine.rows.iter().any(|row| row.all_cores.is_some());
    let mut columns = vec![Column::text("")];
    columns.extend(SIZES);
    columns.push(Column::number("±"));
    if several {
        columns.push(Column::number(ALL_CORES));
    }
    let mut rows = Vec::new();
    for algorithm in Algorithm::ALL {
        let of_it: Vec<&CryptoRow> = engine.rows.iter().filter(|row| row.algorithm == algorithm).collect();
        let Some(first) = of_it.first() else { continue };
        let name = match first.other_form {
            Some(_) => format!("{}, {}", algorithm.title(), form(first.form)),
            None => algorithm.title().to_owned(),
        };
        let own: Vec<AtSize> =
            of_it.iter().map(|row| AtSize { block_bytes: row.block_bytes, figure: &row.one_core }).collect();
        let mut line = line(name, &own);
        if several {
            let largest = of_it.last().and_then(|row| row.all_cores.as_ref());
            line.push(or_absent(largest.and_then(|all| all.bytes_per_s), megabytes));
        }
        rows.push(line);
        if let Some(other) = &first.other_form {
            let others = of_it.iter().filter_map(|row| {
                let figure = &row.other_form.as_ref()?.one_core;
                Some(AtSize { block_bytes: row.block_bytes, figure })
            });
            rows.push(self::line(format!("  {}", form(other.form)), &others.collect::<Vec<_>>()));
        }
    }
    let all = if several { format!("; last column: {cores} CPUs together at 16 KiB") } else { String::new() };
    Section::table(&heading, &format!("MB/s on one CPU{all}{file}"), columns, rows)
}

/// Heading of the figures of all CPUs; how many is in the section's meaning.
const ALL_CORES: &str = "all CPUs";

/// The measurements with blocks of this size.
struct AtSize<'a> {
    block_bytes: u32,
    figure: &'a Throughput,
}

/// A row: a rate for each size, and the widest of their intervals.
fn line(name: String, figures: &[AtSize<'_>]) -> Vec<String> {
    let at = |block_bytes: u32| figures.iter().find(|at| at.block_bytes == block_bytes).map(|at| at.figure);
    let mut cells = vec![name];
    cells.extend(
        BLOCKS_BYTES.map(|bytes| or_absent(at(bytes).and_then(|figure| figure.bytes_per_s), megabytes)),
    );
    let widths =
        figures.iter().filter_map(|at| half_width(at.figure.bytes_per_s?, at.figure.interval.as_ref()?));
    cells.push(or_absent(widths.max_by(f64::total_cmp), figure::percent));
    cells
}

/// Half of an interval, as a share of the figure.
fn half_width(value: f64, interval: &Interval) -> Option<f64> {
    (value > 0.0).then(|| (interval.high - interval.low) / 2.0 / value)
}

fn megabytes(bytes_per_s: f64) -> String {
    figure::megabytes(bytes_per_s)
}

fn form(form: Form) -> &'static str {
    match form {
        Form::Message => "each block a message",
        Form::Stream => "as one stream",
    }
}

/// Signatures and handshakes, one column a library.
fn operations(document: &CryptoProbe) -> Option<Section> {
    let engines: Vec<&CryptoEngine> =
        document.engines.iter().filter(|engine| !engine.operations.is_empty()).collect();
    if engines.is_empty() {
        return None;
    }
    let mut columns = vec![Column::text("")];
    for engine in &engines {
        columns.push(Column::number(match engine.name {
            EngineName::Openssl => "OpenSSL",
            EngineName::Own => "own",
            EngineName::Jvm => "Java",
        }));
        columns.push(Column::number("±"));
    }
    let rows = Operation::ALL.into_iter().filter_map(|operation| {
        let of =
            |engine: &&CryptoEngine| engine.operations.iter().find(|row| row.operation == operation).cloned();
        let found: Vec<_> = engines.iter().map(of).collect();
        if found.iter().all(Option::is_none) {
            return None;
        }
        let mut cells = vec![operation.title().to_owned()];
        for row in &found {
            let per_s = row.as_ref().and_then(|row| row.per_s);
            let width = row.as_ref().and_then(|row| half_width(row.per_s?, row.interval.as_ref()?));
            cells.push(or_absent(per_s, |per_s| figure::significant(per_s, 3)));
            cells.push(or_absent(width, figure::percent));
        }
        Some(cells)
    });
    let rows = rows.collect();
    let meaning = "per second on one CPU; of a handshake the server's side alone counts";
    Some(Section::table("Signatures and handshakes", meaning, columns, rows))
}

/// The section on figures that are absent, with the reasons.
fn absent(document: &CryptoProbe) -> Option<Section> {
    let engines = document.engines.iter().flat_map(|engine| {
        engine
            .not_measured
            .iter()
            .map(move |missing| format!("{}, {}: {}.", engine.name, missing.what, missing.reason))
    });
    let gone = document.unavailable.iter().map(|engine| format!("{}: {}.", engine.name, engine.reason));
    let off = document.engines.iter().filter_map(|engine| {
        let off: Vec<&str> = engine
            .jvm_flags
            .iter()
            .filter(|(_, value)| *value == "false")
            .map(|(name, _)| name.as_str())
            .collect();
        (!off.is_empty()).then(|| format!("jvm, switched off by itself or by an option: {}.", off.join(" ")))
    });
    let lines: Vec<String> = gone.chain(engines).chain(off).collect();
    (!lines.is_empty()).then(|| Section::sentences("Without a figure", "", lines))
}
