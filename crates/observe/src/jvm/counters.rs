//! A JVM's own counters of its collections, which it keeps in a file that is mapped to its memory (`perfMemory.hpp`, `perfdata`
//! version 2): exact, without attaching, and at no cost to it. Not there with `-XX:+PerfDisableSharedMem` or `-XX:-UsePerfData`.

use super::target::Target;
use crate::{MetricSample, Scrape};
use plumb_model::observed::JvmWindow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The file has 32 KiB unless the JVM was told otherwise.
const FILE_BYTES_MAX: u64 = 4 << 20;
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// Bytes before the first entry, and before an entry's name.
const HEAD_BYTES: usize = 32;
const ENTRY_BYTES: usize = 20;

/// Counts and times since a JVM's start.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GcCounters {
    /// Collections and phases of collections that stopped the application.
    pub collections: u64,
    /// The time for which they stopped it.
    pub stopped_ns: u64,
    /// The time in safepoints, which these stops are a part of.
    pub safepoint_ns: Option<u64>,
    /// Share of the old generation in use after the last collection, 0 to 1; of G1 that is of the whole heap. Absent before the first one.
    pub heap_used_share: Option<f64>,
    /// `17.0.15+6-Debian-1deb12u1`.
    pub version: Option<String>,
}

impl GcCounters {
    /// The same out of a page with the beans of `java.lang`, to whole milliseconds, or with an exporter's own metrics of the JVM. None where
    /// it has none, or where a collector counts concurrent work as well.
    pub fn of_beans(scrape: &Scrape) -> Option<Self> {
        let collectors = collectors(scrape);
        // CMS counts its sweep, which runs beside the application.
        if collectors.is_empty() || collectors.contains_key("ConcurrentMarkSweep") {
            return None;
        }
        // ZGC and Shenandoah count whole cycles beside the pauses in them.
        let pauses = || collectors.iter().filter(|(name, _)| !name.ends_with(" Cycles")).map(|(_, one)| one);
        let sum = |figure: fn(&Collector) -> Option<f64>| {
            let sum: f64 = pauses().map(figure).sum::<Option<f64>>()?;
            (0.0..1e18).contains(&sum).then_some(sum as u64)
        };
        Some(GcCounters {
            collections: sum(|one| one.collections)?,
            stopped_ns: sum(|one| one.time_ns)?,
            heap_used_share: heap_of_beans(&collectors),
            ..GcCounters::default()
        })
    }

    /// Growth since an earlier reading. Nothing where a counter went back: that is another JVM.
    pub fn fill(&self, earlier: &GcCounters, window: &mut JvmWindow) {
        let collections = self.collections.checked_sub(earlier.collections);
        let stopped_ns = self.stopped_ns.checked_sub(earlier.stopped_ns);
        let (Some(collections), Some(stopped_ns)) = (collections, stopped_ns) else { return };
        (window.collections, window.collection_ns) = (Some(collections), Some(stopped_ns));
        window.safepoint_ns =
            earlier.safepoint_ns.zip(self.safepoint_ns).and_then(|(before, after)| after.checked_sub(before));
        window.heap_used_share = self.heap_used_share;
    }
}

/// What a page says of one collector.
#[derive(Debug, Clone, Copy, Default)]
struct Collector {
    collections: Option<f64>,
    time_ns: Option<f64>,
    ended_at: Option<f64>,
    old_used: Option<f64>,
    old_max: Option<f64>,
}

/// Collectors by their names. An exporter puts the bean's type into the metric's name and its name into a label, or the other way round;
/// its own metrics are `jvm_gc_collection_seconds`.
fn collectors(scrape: &Scrape) -> BTreeMap<String, Collector> {
    let mut collectors: BTreeMap<String, Collector> = BTreeMap::new();
    for sample in &scrape.page.samples {
        let metric = sample.name.to_ascii_lowercase();
        let (name, attribute) = match metric.strip_prefix("java_lang_") {
            Some(bean) if label(sample, "type") == Some("GarbageCollector") => {
                // `g1_young_generation_collectiontime`
                let at = ["_collectioncount", "_collectiontime"].iter().find_map(|end| bean.find(end));
                let Some(at) = at else { continue };
                (Some(bean[..at].replace('_', " ")), &bean[at + 1..])
            }
            Some(bean) => match bean.strip_prefix("garbagecollector_") {
                Some(attribute) => (label(sample, "name").map(str::to_owned), attribute),
                None => continue,
            },
            None => (label(sample, "gc").map(str::to_owned), metric.as_str()),
        };
        let Some(name) = name else { continue };
        let of_old = || label(sample, "key").is_some_and(is_old);
        let collector = collectors.entry(name).or_default();
        match attribute {
            "collectioncount" | "jvm_gc_collection_seconds_count" => {
                collector.collections = Some(sample.value)
            }
            "collectiontime" => collector.time_ns = Some(sample.value * 1e6),
            // Beans come first: they are the same, and an exporter may have both.
            "jvm_gc_collection_seconds_sum" => {
                collector.time_ns = collector.time_ns.or(Some(sample.value * 1e9))
            }
            "lastgcinfo_endtime" => collector.ended_at = Some(sample.value),
            "lastgcinfo_memoryusageaftergc_used" if of_old() => collector.old_used = Some(sample.value),
            "lastgcinfo_memoryusageaftergc_max" if of_old() => collector.old_max = Some(sample.value),
            _ => {}
        }
    }
    collectors.retain(|_, one| one.collections.is_some() || one.time_ns.is_some());
    collectors
}

fn label<'a>(sample: &'a MetricSample, name: &str) -> Option<&'a str> {
    sample.labels.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// Whether a pool of memory is that of old objects, or the only one.
fn is_old(pool: &str) -> bool {
    ["Old Gen", "Tenured", "ZHeap", "Shenandoah"].iter().any(|old| pool.contains(old))
}

/// Of the pool of old objects, after the collection that ended last.
fn heap_of_beans(collectors: &BTreeMap<String, Collector>) -> Option<f64> {
    let ended = collectors.values().filter_map(|one| Some((one.ended_at?, one)));
    let (_, last) = ended.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let share = last.old_used? / last.old_max.filter(|most| *most > 0.0)?;
    (0.0..=1.0).contains(&share).then_some(share)
}

/// Reads them; none where the JVM shows none, or not to this user.
pub fn gc_counters(pid: u32) -> Option<GcCounters> {
    let target = Target::new(pid).ok()?;
    let bytes = target.as_owner(|| Ok(counters_file(&target))).ok()??;
    parse(&bytes)
}

/// `/tmp/hsperfdata_USER/PID`; whoever calls a directory so must be the process's own user.
fn counters_file(target: &Target) -> Option<Vec<u8>> {
    let is_named = |name: &str| name.starts_with("hsperfdata_");
    fs::read_dir(target.tmp()).ok()?.flatten().find_map(|entry| {
        entry.file_name().to_str().filter(|name| is_named(name))?;
        let of_owner =
            |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.uid() == target.owner.uid);
        let file = entry.path().join(target.inside.to_string());
        (of_owner(&entry.path()) && of_owner(&file)).then(|| read(&file).ok())?
    })
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file =
        fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    let bytes = super::directory::read_at_most(&file, FILE_BYTES_MAX)?;
    bytes.ok_or_else(|| io::ErrorKind::FileTooLarge.into())
}

/// An entry's value.
#[derive(Debug, PartialEq)]
enum Value {
    Number(i64),
    Text(String),
}

fn parse(bytes: &[u8]) -> Option<GcCounters> {
    let entries = entries(bytes)?;
    let number = |name: &str| match entries.get(name)? {
        Value::Number(number) => u64::try_from(*number).ok(),
        Value::Text(_) => None,
    };
    let ticks_per_s = number("sun.os.hrt.frequency").filter(|ticks| *ticks > 0)?;
    let ns = |ticks: u64| u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(ticks_per_s)).ok();
    let mut counters = GcCounters::default();
    let mut any = false;
    for name in entries.keys() {
        let of_collector = name.strip_prefix("sun.gc.collector.").and_then(|rest| rest.split_once('.'));
        if let Some((collector, "invocations")) = of_collector {
            let time = number(&format!("sun.gc.collector.{collector}.time")).and_then(ns)?;
            counters.collections = counters.collections.checked_add(number(name)?)?;
            counters.stopped_ns = counters.stopped_ns.checked_add(time)?;
            any = true;
        }
    }
    counters.safepoint_ns = number("sun.rt.safepointTime").and_then(ns);
    let old = |what: &str| number(&format!("sun.gc.generation.1.{what}"));
    counters.heap_used_share = old("space.0.used")
        .zip(old("maxCapacity").filter(|most| *most > 0))
        .map(|(used, most)| used as f64 / most as f64)
        .filter(|share| counters.collections > 0 && (0.0..=1.0).contains(share));
    counters.version = match entries.get("java.property.java.vm.version") {
        Some(Value::Text(version)) if !version.is_empty() => Some(version.clone()),
        _ => None,
    };
    any.then_some(counters)
}

/// Names and values of a whole file; none where it is no such file, or not yet written.
fn entries(bytes: &[u8]) -> Option<BTreeMap<String, Value>> {
    let head = bytes.get(..HEAD_BYTES)?;
    let little = match head[4] {
        0 => false,
        1 => true,
        _ => return None,
    };
    // Version 2, and "all counters are there".
    if head[..4] != MAGIC || head[5] != 2 || head[7] != 1 {
        return None;
    }
    let number = |at: usize| {
        let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(if little { i32::from_le_bytes(four) } else { i32::from_be_bytes(four) }).ok()
    };
    let mut at = number(24)?;
    let mut entries = BTreeMap::new();
    for _ in 0..number(28)? {
        let length = number(at)?;
        if length < ENTRY_BYTES {
            return None;
        }
        let entry = bytes.get(at..at.checked_add(length)?)?;
        let (name_at, elements, data_at) = (number(at + 4)?, number(at + 8)?, number(at + 16)?);
        let name = entry.get(name_at..)?.split(|byte| *byte == 0).next()?;
        let data = entry.get(data_at..)?;
        let value = match (entry[12], elements) {
            (b'J', 0) => {
                let eight: [u8; 8] = data.get(..8)?.try_into().ok()?;
                Some(Value::Number(if little {
                    i64::from_le_bytes(eight)
                } else {
                    i64::from_be_bytes(eight)
                }))
            }
            (b'B', elements) if elements > 0 => {
                let text = data.get(..elements.min(data.len()))?.split(|byte| *byte == 0).next()?;
                Some(Value::Text(String::from_utf8_lossy(text).into_owned()))
            }
            _ => None,
        };
        if let Some(value) = value {
            entries.insert(String::from_utf8_lossy(name).into_owned(), value);
        }
        at += length;
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file as HotSpot writes it.
    fn file(numbers: &[(&str, i64)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 2, 0, 1]);
        bytes.extend([0; 16]);
        bytes.extend(32_i32.to_le_bytes());
        bytes.extend((numbers.len() as i32).to_le_bytes());
        for (name, number) in numbers {
            let data_at = (ENTRY_BYTES + name.len() + 1).next_multiple_of(8);
            for word in [data_at + 8, ENTRY_BYTES, 0] {
                bytes.extend((word as i32).to_le_bytes());
            }
            bytes.extend([b'J', 0, 3, 2]);
            bytes.extend((data_at as i32).to_le_bytes());
            bytes.extend(name.as_bytes());
            bytes.resize(bytes.len() + data_at - ENTRY_BYTES - name.len(), 0);
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    fn of_g1(young: i64, young_ticks: i64) -> Vec<(&'static str, i64)> {
        vec![
            ("sun.os.hrt.frequency", 1_000_000),
            ("sun.gc.collector.0.invocations", young),
            ("sun.gc.collector.0.time", young_ticks),
            ("sun.gc.collector.1.invocations", 1),
            ("sun.gc.collector.1.time", 50_000),
            ("sun.rt.safepointTime", young_ticks + 60_000),
            ("sun.gc.generation.1.space.0.used", 30),
            ("sun.gc.generation.1.maxCapacity", 40),
        ]
    }

    #[test]
    fn collections_of_all_collectors_are_added_up_and_the_window_is_their_growth() {
        let before = parse(&file(&of_g1(10, 100_000))).unwrap();
        assert_eq!((before.collections, before.stopped_ns), (11, 150_000_000));
        let after = parse(&file(&of_g1(14, 700_000))).unwrap();
        let mut window = JvmWindow::default();
        after.fill(&before, &mut window);
        assert_eq!((window.collections, window.collection_ns), (Some(4), Some(600_000_000)));
        assert_eq!((window.safepoint_ns, window.heap_used_share), (Some(600_000_000), Some(0.75)));
        let mut restarted = JvmWindow::default();
        before.fill(&after, &mut restarted);
        assert_eq!(restarted, JvmWindow::default());
    }

    #[test]
    fn a_jvm_that_never_collected_has_no_heap_after_a_collection() {
        let mut numbers = of_g1(0, 0);
        numbers.retain(|(name, _)| !name.contains("collector.1"));
        let counters = parse(&file(&numbers)).unwrap();
        assert_eq!((counters.collections, counters.heap_used_share), (0, None));
    }

    #[test]
    fn without_collectors_or_before_it_is_written_there_is_nothing() {
        assert_eq!(parse(&file(&[("sun.os.hrt.frequency", 1)])), None);
        let mut young = file(&of_g1(1, 1));
        young[7] = 0;
        assert_eq!(parse(&young), None);
        assert_eq!(parse(b""), None);
    }

    fn beans(lines: &str) -> Option<GcCounters> {
        let page = crate::MetricsPage::parse(lines).unwrap();
        GcCounters::of_beans(&Scrape::at(std::time::Instant::now(), page))
    }

    #[test]
    fn beans_count_pauses_and_no_concurrent_cycles() {
        let zgc = "java_lang_GarbageCollector_CollectionCount{name=\"ZGC Cycles\"} 3\n\
            java_lang_GarbageCollector_CollectionTime{name=\"ZGC Cycles\"} 9000\n\
            java_lang_GarbageCollector_CollectionCount{name=\"ZGC Pauses\"} 9\n\
            java_lang_GarbageCollector_CollectionTime{name=\"ZGC Pauses\"} 2\n";
        let counters = beans(zgc).unwrap();
        assert_eq!((counters.collections, counters.stopped_ns), (9, 2_000_000));
        assert_eq!(
            beans("java_lang_GarbageCollector_CollectionTime{name=\"ConcurrentMarkSweep\"} 1\n"),
            None
        );
        assert_eq!(beans("up 1\n"), None);
    }

    #[test]
    fn the_heap_is_that_after_the_collection_that_ended_last() {
        let after = |collector: &str, end: u64, used: u64| {
            let info = "java_lang_GarbageCollector_LastGcInfo";
            format!(
                "{info}_endTime{{name=\"{collector}\"}} {end}\n\
                 {info}_memoryUsageAfterGc_used{{key=\"G1 Old Gen\",name=\"{collector}\"}} {used}\n\
                 {info}_memoryUsageAfterGc_max{{key=\"G1 Old Gen\",name=\"{collector}\"}} 100\n\
                 {info}_memoryUsageAfterGc_used{{key=\"Metaspace\",name=\"{collector}\"}} 7\n\
                 java_lang_GarbageCollector_CollectionCount{{name=\"{collector}\"}} 1\n\
                 java_lang_GarbageCollector_CollectionTime{{name=\"{collector}\"}} 1\n"
            )
        };
        let page = after("G1 Young Generation", 900, 60) + &after("G1 Old Generation", 500, 90);
        assert_eq!(beans(&page).unwrap().heap_used_share, Some(0.6));
    }

    proptest! {
        #[test]
        fn changed_and_cut_files_never_panic(
            changes in proptest::collection::vec((0_usize..500, any::<u8>()), 0..12),
            cut in 0_usize..500,
        ) {
            let mut bytes = file(&of_g1(3, 4));
            for (at, byte) in changes {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            let _ = parse(&bytes);
            let _ = parse(&bytes[..cut % bytes.len()]);
        }
    }
}
