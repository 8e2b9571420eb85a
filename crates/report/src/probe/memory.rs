//! Memory: bandwidth first, then what is worth setting against each other, then the time of a load by working set.

use super::{cautions, conditions, median, or_absent, range, span, title};
use crate::sheet::{Column, Section, Sheet};
use plumb_model::facts::Fact;
use plumb_model::figure;
use plumb_model::probe::{
    Bandwidth, Cache, Figure, Knee, LatencyCurve, MemoryKernel, MemoryProbe, MemoryRatio, Pages, Stores,
};

/// A rise over more than this factor is not said to be where a cache ends (ours).
const BROAD: u64 = 4;

/// The whole sheet.
pub fn sheet(document: &MemoryProbe) -> Sheet {
    let mut sections = vec![bandwidth(document), ratios(document)];
    sections.extend(latency(document));
    sections.extend(matrix(document));
    let knees: Vec<String> =
        document.latency.iter().filter(|curve| curve.points.len() > 1).flat_map(knees).collect();
    if !knees.is_empty() {
        sections.push(Section::sentences("Where it rises", "", knees));
    }
    sections.push(Section::sentences("Caches that the kernel states", "", vec![caches(&document.caches)]));
    if !document.notes.is_empty() {
        sections.push(Section::sentences("Not done", "", document.notes.clone()));
    }
    sections.push(conditions(&document.conditions));
    let mut cautions = cautions(&document.conditions);
    if document.beyond_caches == Some(false) {
        cautions.push(
            "The arrays are smaller than four times the last-level caches: part of the bandwidth is the caches'."
                .to_owned(),
        );
    }
    let what = match document.nodes.len() {
        1 => "Memory, one node (no memory is remote)".to_owned(),
        n => format!("Memory, {n} nodes"),
    };
    let title = title(&what, &document.conditions);
    Sheet { title, findings: Vec::new(), cautions, sections, ..Sheet::default() }
}

/// The distance between the processors and the memory of a row, in words.
fn place(document: &MemoryProbe, cpu_node: u32, memory_node: u32) -> String {
    match (document.nodes.len(), cpu_node == memory_node) {
        (1, _) => String::new(),
        (_, true) => format!("node {cpu_node}, local"),
        (_, false) => format!("node {cpu_node}, memory of {memory_node}"),
    }
}

fn bandwidth(document: &MemoryProbe) -> Section {
    let mut columns = vec![Column::text("CPUs"), Column::text("stores")];
    columns.extend(["copy", "scale", "add", "triad"].map(Column::number));
    columns.push(Column::number("triad's interval"));
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut done: Vec<(u32, u32, u32, Stores)> = Vec::new();
    for row in &document.bandwidth {
        let key = (row.cpu_node, row.memory_node, row.threads, row.stores);
        if done.contains(&key) {
            continue;
        }
        done.push(key);
        let of = |kernel: MemoryKernel| {
            let same = |other: &&Bandwidth| {
                (other.cpu_node, other.memory_node, other.threads, other.stores) == key
                    && other.kernel == kernel
            };
            document.bandwidth.iter().find(same).and_then(|row| row.bytes_per_s.as_ref())
        };
        let threads = figure::counted(row.threads as usize, "CPU");
        let place = place(document, row.cpu_node, row.memory_node);
        let cpus = if place.is_empty() { threads } else { format!("{threads}, {place}") };
        let mut cells = vec![cpus, row.stores.name().to_owned()];
        cells.extend(MemoryKernel::ALL.map(|kernel| median(of(kernel), gigabytes)));
        cells.push(span(of(MemoryKernel::Triad), gigabytes));
        rows.push(cells);
    }
    let huge = or_absent(document.array_huge_share, figure::percent);
    let meaning = format!(
        "GB/s, bytes counted as STREAM does; three arrays of {}, {huge} of them on huge pages",
        size(document.array_bytes)
    );
    Section::table("Bandwidth", &meaning, columns, rows)
}

fn gigabytes(bytes_per_s: f64) -> String {
    figure::significant(bytes_per_s / 1e9, 3)
}

fn ratios(document: &MemoryProbe) -> Section {
    let columns = [Column::number("ratio"), Column::number("interval"), Column::text("what over what")];
    let row = |row: &MemoryRatio| {
        let ratio = row.ratio.as_ref();
        vec![median(ratio, figure::ratio), span(ratio, figure::ratio), row.what.clone()]
    };
    Section::table("Ratios", "", columns, document.ratios.iter().map(row).collect())
}

/// A curve of base pages and one of huge pages beside each other.
fn latency(document: &MemoryProbe) -> Option<Section> {
    let local = |pages: Pages| {
        document.latency.iter().find(move |curve| {
            curve.pages == pages && curve.cpu_node == curve.memory_node && curve.points.len() > 1
        })
    };
    let (base, huge) = (local(Pages::Base), local(Pages::Huge));
    let curve = base.or(huge)?;
    let columns = [
        Column::number("working set"),
        Column::number("base pages"),
        Column::number("blocks"),
        Column::number("huge pages"),
        Column::number("blocks"),
        Column::text("each # half as much again"),
    ];
    let figure = |curve: Option<&LatencyCurve>, bytes: u64| -> Option<Figure> {
        curve?.points.iter().find(|point| point.working_set_bytes == bytes)?.load_ns
    };
    let caches = document.caches.value().map_or(&[][..], Vec::as_slice);
    let sizes: Vec<u64> = curve.points.iter().map(|point| point.working_set_bytes).collect();
    let rows = sizes.iter().enumerate().map(|(index, bytes)| {
        let (base, huge) = (figure(base, *bytes), figure(huge, *bytes));
        let ends = caches.iter().filter(|cache| {
            let next = sizes.get(index + 1).copied().unwrap_or(u64::MAX);
            (*bytes..next).contains(&cache.bytes)
        });
        let ends: String = ends.map(|cache| format!(" <- {} {}", cache.name, size(cache.bytes))).collect();
        vec![
            size(*bytes),
            median(base.as_ref(), nanoseconds),
            range(base.as_ref(), nanoseconds),
            median(huge.as_ref(), nanoseconds),
            range(huge.as_ref(), nanoseconds),
            format!("{}{ends}", bar(base.or(huge))),
        ]
    });
    let meaning = "time of a load that needs the one before, in random order; blocks: fastest and slowest, one after the \
                   other; <- the size of a stated cache";
    Some(Section::table("Latency by working set", meaning, columns, rows.collect()))
}

/// As long as the time's logarithm: 1 ns is one character, and each half more is another.
fn bar(figure: Option<Figure>) -> String {
    let length = figure.map_or(0.0, |figure| figure.median.max(1.0).ln() / 1.5f64.ln() + 1.0);
    "#".repeat(length.round() as usize)
}

fn nanoseconds(ns: f64) -> String {
    figure::time(ns)
}

/// The largest working set from each node to each other.
fn matrix(document: &MemoryProbe) -> Option<Section> {
    if document.nodes.len() < 2 {
        return None;
    }
    let columns = [
        Column::text("CPUs and memory"),
        Column::number("working set"),
        Column::number("a load"),
        Column::number("blocks"),
    ];
    let rows = document.latency.iter().filter_map(|curve| {
        let point = curve.points.last()?;
        let pages = if curve.pages == Pages::Huge { "huge pages" } else { "base pages" };
        Some(vec![
            format!("{}, {pages}", place(document, curve.cpu_node, curve.memory_node)),
            size(point.working_set_bytes),
            median(point.load_ns.as_ref(), nanoseconds),
            range(point.load_ns.as_ref(), nanoseconds),
        ])
    });
    Some(Section::table("Latency between nodes", "", columns, rows.collect()))
}

fn knees(curve: &LatencyCurve) -> Vec<String> {
    let pages = if curve.pages == Pages::Huge { "huge pages" } else { "base pages" };
    let knee = |knee: &Knee| {
        let cache = match &knee.cache {
            Some(cache) if knee.over_bytes > BROAD * knee.until_bytes => {
                format!("the end of {cache} lies in it, and page tables may be part of it")
            }
            Some(cache) => format!("about where {cache} ends"),
            None => "no stated cache ends there: page tables, or a cache that is shared or stated wrongly"
                .to_owned(),
        };
        format!(
            "With {pages}, beyond {}: from {} to {} at {} ({cache}).",
            size(knee.until_bytes),
            nanoseconds(knee.from_ns),
            nanoseconds(knee.to_ns),
            size(knee.over_bytes)
        )
    };
    curve.knees.iter().map(knee).collect()
}

fn caches(caches: &Fact<Vec<Cache>>) -> String {
    match caches {
        Fact::Known { value, source } => {
            let each = |cache: &Cache| {
                let shared = match cache.cpus_each {
                    1 => "one CPU each".to_owned(),
                    n => format!("{n} CPUs each"),
                };
                format!("{} {} x {} ({shared})", cache.name, cache.instances, size(cache.bytes))
            };
            format!("{} ({source}).", value.iter().map(each).collect::<Vec<_>>().join(", "))
        }
        Fact::Unknown { reason } => format!("Unknown ({reason})."),
    }
}

/// `32 KiB`, `1.5 MiB`.
fn size(bytes: u64) -> String {
    figure::binary_bytes(bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{figure, plain, quiet};
    use super::*;
    use plumb_model::probe::{LatencyPoint, ProbeKind, ProbedNode};

    fn row(cpu_node: u32, memory_node: u32, kernel: MemoryKernel, bytes_per_s: f64) -> Bandwidth {
        let stores = Stores::Ordinary;
        Bandwidth {
            cpu_node,
            memory_node,
            threads: 2,
            kernel,
            stores,
            bytes_per_s: Some(figure(bytes_per_s)),
        }
    }

    fn two_nodes() -> MemoryProbe {
        let node = |node| ProbedNode { node, cpus: vec![2 * node, 2 * node + 1] };
        let point = |working_set_bytes, ns| LatencyPoint { working_set_bytes, load_ns: Some(figure(ns)) };
        let curve = |memory_node, points| LatencyCurve {
            cpu_node: 0,
            memory_node,
            pages: Pages::Huge,
            huge_share: Some(1.0),
            points,
            knees: vec![],
        };
        let knee = Knee {
            until_bytes: 32 << 10,
            over_bytes: 48 << 10,
            from_ns: 1.0,
            to_ns: 4.0,
            cache: Some("L1d".to_owned()),
        };
        let local =
            LatencyCurve { knees: vec![knee], ..curve(0, vec![point(32 << 10, 1.0), point(48 << 10, 4.0)]) };
        let cache = Cache { name: "L1d".to_owned(), bytes: 32 << 10, instances: 4, cpus_each: 1 };
        MemoryProbe {
            conditions: quiet(ProbeKind::Memory),
            nodes: vec![node(0), node(1)],
            caches: Fact::known(vec![cache], "sysfs"),
            array_bytes: 128 << 20,
            beyond_caches: Some(true),
            array_huge_share: None,
            bandwidth: vec![
                row(0, 0, MemoryKernel::Copy, 20e9),
                row(0, 0, MemoryKernel::Triad, 18e9),
                row(0, 1, MemoryKernel::Triad, 9e9),
            ],
            ratios: vec![MemoryRatio { what: "remote over local".to_owned(), ratio: Some(figure(0.5)) }],
            latency: vec![local, curve(1, vec![point(48 << 10, 9.0)])],
            notes: vec![],
        }
    }

    #[test]
    fn kernels_stand_beside_each_other_and_remote_memory_under_local() {
        let text = plain(&sheet(&two_nodes()));
        // Columns are as wide as their widest cell: one blank between words is what is looked for.
        let lines: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        let of = |part: &str| {
            lines.iter().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}: {text}"))
        };
        assert!(of("node 0, local ordinary").contains("20.0"), "{text}");
        assert!(of("memory of 1 ordinary").contains("9.00"), "{text}");
        assert!(of("remote over local").contains("×0.500"), "{text}");
        assert!(of("memory of 1, huge pages").contains("9.00 ns"), "{text}");
    }

    #[test]
    fn the_size_of_a_cache_is_marked_in_the_curve_and_named_at_the_knee() {
        let text = plain(&sheet(&two_nodes()));
        assert!(text.contains("<- L1d 32 KiB"), "{text}");
        assert!(
            text.contains("beyond 32 KiB: from 1.00 ns to 4.00 ns at 48 KiB (about where L1d ends)"),
            "{text}"
        );
        let mut broad = two_nodes();
        broad.latency[0].knees[0].over_bytes = 256 << 10;
        let text = plain(&sheet(&broad));
        assert!(text.contains("at 256 KiB (the end of L1d lies in it, and page tables"), "{text}");
    }
}
