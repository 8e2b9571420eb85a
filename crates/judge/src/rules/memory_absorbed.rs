//! Bytes of the log that stayed in the page cache while they were measured, instead of reaching the device: the figure is then
//! the speed of memory. The same of bytes that were read.

use crate::row::{Family, FlipRow, Row, SettingRow};
use crate::rule::{About, Case, Check, Complete, Rule, about_step};
use plumb_model::document::{BlockResult, StepResult};
use plumb_model::facts::{HostDelta, LogDirectory, Storage, UntilDeviceEnd};
use plumb_model::figure::{bytes, percent, percents, time};
use plumb_model::finding::{Confidence, Expect, Finding, PathStage, Severity};
use plumb_model::plan::{ClusterPlan, LoadPlan, Mode};
use plumb_model::prose::{list, quoted};

pub(crate) const RULE: Rule = Rule {
    row: Row {
        id: "memory-absorbed",
        summary: "The page cache took or gave what the log's device would have had to: the figure is memory's.",
        page: include_str!("../../../../docs/findings/memory-absorbed.md"),
        family: Family::Run,
        severity: Severity::Suspect,
        confidence: Confidence::Supported,
        because: "bytes that reached the device are counted by the kernel, those that went into the log by the brokers; others' writes are in the first",
        stage: Some(PathStage::Log),
        flip: Some(FlipRow {
            change: "load until the device is the limit",
            setting: Some(SettingRow { path: "load.until_device", value: "true" }),
            observe: "the share of the bytes that reached the device",
            expect: Expect::Rises,
        }),
    },
    about: About::Run,
    check: Check::Run(check),
};

/// Share of the bytes that has to reach or leave the device for it to be what is measured (ours: counters agree within
/// a few percent on a load that is longer than the kernel's rounds of writing).
const SHARE_MIN: f64 = 0.8;

/// Below so many bytes nobody expects to have measured a device (ours).
const BYTES_MIN: u64 = 64_000_000;

fn check(case: &Case) -> Vec<Finding> {
    let document = case.document;
    let named = match &document.plan.cluster {
        ClusterPlan::Lab { log_dirs, .. } => !log_dirs.is_empty(),
        ClusterPlan::Brokers { .. } => false,
    };
    let mut findings = Vec::new();
    for step in &document.steps {
        let plan = document.plan.steps.iter().find(|plan| plan.name == step.name);
        let Some(load) = plan.map(|plan| &plan.load) else { continue };
        let log = Log::of(step, &document.environment.log_directories, named);
        findings.extend(not_reached(step, &log));
        // A load with a rate of its own asks how long a message takes, not how much the device does.
        if load.saturating() && load.mode != Mode::Consume {
            findings.extend(in_memory(step, &log).or_else(|| absorbed(step, &log)));
        }
        if matches!(load.mode, Mode::Consume | Mode::Backlog(_)) {
            findings.extend(read(step, load, &log));
        }
    }
    findings
}

/// The directories that hold a step's log.
struct Log<'a> {
    directories: Vec<&'a LogDirectory>,
    /// The user named devices, so their speed is what the run is about.
    named: bool,
}

impl<'a> Log<'a> {
    fn of(step: &StepResult, all: &'a [LogDirectory], named: bool) -> Self {
        let held = |directory: &&LogDirectory| step.effective.log_dirs.contains_key(&directory.name);
        Log { directories: all.iter().filter(held).collect(), named }
    }

    fn storages(&self) -> Vec<&'a Storage> {
        self.directories.iter().map(|directory| &directory.storage).collect()
    }

    fn severity(&self) -> Severity {
        if self.named { Severity::Suspect } else { Severity::Note }
    }

    /// The name of the device: the user's word, or the kernel's.
    fn device(&self) -> String {
        if self.named {
            return list(
                &self.directories.iter().map(|directory| directory.name.clone()).collect::<Vec<_>>(),
            );
        }
        let hardware = self.directories.iter().flat_map(|directory| directory.storage.hardware());
        let names: Vec<String> = hardware.map(str::to_owned).collect();
        if names.is_empty() { "the device".to_owned() } else { list(&names) }
    }

    /// Written bytes that no counter sees: memory, persistent memory, another host.
    fn is_uncounted(&self) -> bool {
        self.directories.is_empty()
            || self.storages().iter().any(|storage| storage.is_memory() || storage.is_dax())
    }
}

/// A load that was to go on until the device is the limit, and did not get there.
fn not_reached(step: &StepResult, log: &Log) -> Option<Finding> {
    let (block, until) = step.blocks.iter().find_map(|block| {
        let until = block.until_device.as_ref()?;
        let missed = !matches!(
            until.end,
            UntilDeviceEnd::Reached | UntilDeviceEnd::Stopped | UntilDeviceEnd::NoDevice
        );
        missed.then_some((block, until))
    })?;
    let seconds = until.elapsed_ns as f64 / 1e9;
    let why = match until.end {
        UntilDeviceEnd::SpaceLimit => {
            format!("the directory would have been full after {}", time(seconds * 1e9))
        }
        UntilDeviceEnd::NotCounted => "no counter here tells what reaches the device".to_owned(),
        _ => format!("it was not within {}", time(seconds * 1e9)),
    };
    let claim = format!(
        "The load before block {} was to go on until {} is the limit, and {why}",
        block.block + 1,
        log.device()
    );
    let mut finding = about_step(RULE.row.id, Severity::Suspect, &step.name, claim);
    if let (Some(log_bytes), Some(device_bytes)) = (until.log_bytes, until.device_bytes) {
        finding = finding.seen(
            "load before it",
            format!("{} into the log, {} to the device", bytes(log_bytes as f64), bytes(device_bytes as f64)),
        );
    }
    if let Some(share) = until.device_share {
        let [seen, limit] = percents(share, SHARE_MIN);
        finding = finding.seen_against("reaching the device at its end", seen, format!("at least {limit}"));
    }
    Some(finding.advise(match until.end {
        UntilDeviceEnd::SpaceLimit => "Use a larger file system, or let the kernel keep less in memory (vm.dirty_bytes).",
        UntilDeviceEnd::NotCounted => "Use a longer duration than memory can take, and see what the file system's server says.",
        _ => "The load may be less than the device takes: then it never is the limit. Send faster, with more producers.",
    }))
}

/// The log is in memory: there is no device to be fast or slow.
fn in_memory(step: &StepResult, log: &Log) -> Option<Finding> {
    let directory = log.directories.iter().find(|directory| directory.storage.is_memory())?;
    let kind = directory.storage.file_system().map_or("memory", |file_system| &file_system.fs_type);
    let claim = format!(
        "The log of {} lies in memory: no device is in the figure, and no reboot is survived",
        quoted(&directory.name)
    );
    Some(
        about_step(RULE.row.id, Severity::Note, &step.name, claim)
            .seen("file system", kind)
            .advise("Take it as what is left when the device costs nothing."),
    )
}

fn absorbed(step: &StepResult, log: &Log) -> Option<Finding> {
    if log.is_uncounted() {
        return None;
    }
    let storages = log.storages();
    let of_block = |block: &BlockResult| {
        let host = block.host.as_ref()?;
        Some(Sums {
            all: log_bytes(step, block)?,
            device: Storage::written_bytes_of(&storages, host)?,
            elapsed_ns: host.elapsed_ns,
        })
    };
    let sums = sums(step, of_block)?;
    let share = sums.device as f64 / sums.all as f64;
    if sums.all < BYTES_MIN || share >= SHARE_MIN {
        return None;
    }
    let device = log.device();
    let claim = format!(
        "{} went into the log and {} reached {device} in the measured part: the page cache took the rest, so this is \
         the speed of memory, not of {device}",
        bytes(sums.all as f64),
        bytes(sums.device as f64),
    );
    let [seen, limit] = percents(share, SHARE_MIN);
    let mut finding = about_step(RULE.row.id, log.severity(), &step.name, claim).seen_against(
        "reached the device",
        seen,
        format!("at least {limit}"),
    );
    if let Some(host) = step.blocks.iter().filter_map(|block| block.host.as_ref()).next_back() {
        finding = memory_seen(finding, host);
    }
    finding = finding.advise(if step.blocks.iter().any(|block| block.until_device.is_some()) {
        "The device went on writing while the block's clients connected: a longer warm-up fills memory again."
    } else {
        "--until-device loads, unmeasured, until the device is the limit, before each block."
    });
    let own_limit = storages.iter().any(|storage| {
        storage.file_system().is_some_and(|file_system| file_system.own_dirty_limit == Some(true))
    });
    let longer = match seconds_to_fill(step, &sums).filter(|_| !own_limit) {
        Some(seconds) => format!(
            "Or measure for longer: at this rate writers begin to wait after about {}, and what counts comes after.",
            time(seconds * 1e9)
        ),
        None => "Or measure for longer, or more messages than memory can take.".to_owned(),
    };
    Some(finding.advise(longer))
}

fn memory_seen(finding: Finding, host: &HostDelta) -> Finding {
    let dirty = host
        .dirty_before_bytes
        .zip(host.writeback_before_bytes)
        .zip(host.dirty_bytes.zip(host.writeback_bytes));
    let Some(((before, writing_before), (after, writing))) = dirty else { return finding };
    let levels =
        format!("{} to {}", bytes((before + writing_before) as f64), bytes((after + writing) as f64));
    match host.dirty_threshold_bytes {
        Some(limit) => finding.seen_against(
            "waiting to be written in the last block",
            levels,
            format!("writers wait at {}", bytes(limit as f64)),
        ),
        None => finding.seen("waiting to be written in the last block", levels),
    }
}

/// Seconds in which a load like this fills the memory that the kernel lets be dirty.
fn seconds_to_fill(step: &StepResult, sums: &Sums) -> Option<f64> {
    let limit =
        step.blocks.iter().filter_map(|block| block.host.as_ref()?.dirty_threshold_bytes).next_back()?;
    let per_s = (sums.all - sums.device) as f64 * 1e9 / sums.elapsed_ns as f64;
    (per_s > 0.0).then(|| limit as f64 / per_s)
}

/// The finding about the source of the bytes that were consumed.
fn read(step: &StepResult, load: &LoadPlan, log: &Log) -> Option<Finding> {
    if log.is_uncounted() {
        return None;
    }
    let storages = log.storages();
    let of_block = |block: &BlockResult| {
        let host = block.host.as_ref()?;
        let consumed = (block.counts.received as f64 * step.value_bytes_mean) as u64;
        // Where nothing else is read, what the brokers read is what was asked of the log, compressed as it lies there.
        let asked =
            block.broker_io.and_then(|io| io.called_read_bytes).filter(|_| load.mode == Mode::Consume);
        let brokers = block.broker_io.and_then(|io| io.device_read_bytes);
        let devices = Storage::read_bytes_of(&storages, host);
        let from_device = [brokers, devices].into_iter().flatten().min()?;
        Some(Sums {
            all: asked.map_or(consumed, |asked| asked.min(consumed)),
            device: from_device,
            elapsed_ns: host.elapsed_ns,
        })
    };
    let sums = sums(step, of_block)?;
    let (share, device) = ((sums.device as f64 / sums.all as f64).min(1.0), log.device());
    let of = format!(
        "Of {} that were consumed, {} were read from {device}",
        bytes(sums.all as f64),
        bytes(sums.device as f64)
    );
    let (severity, meaning) = match share {
        share if share >= SHARE_MIN => (Severity::Note, format!("this is the speed of {device}")),
        share if share <= 1.0 - SHARE_MIN => (
            log.severity(),
            format!("the page cache gave the rest, so this is the speed of memory, not of {device}"),
        ),
        _ => (
            log.severity(),
            format!(
                "the page cache gave the rest, so this is neither the speed of memory nor that of {device}"
            ),
        ),
    };
    let finding = about_step(RULE.row.id, severity, &step.name, format!("{of}: {meaning}"))
        .seen("read from the device", percent(share));
    if share >= SHARE_MIN {
        return Some(finding);
    }
    Some(finding.advise("For the device's speed, fill the topic with more than memory holds, or drop the page cache before (vm.drop_caches)."))
}

/// Bytes of one block or of several, with the time that they took.
struct Sums {
    /// All that were written to the log, or read from it.
    all: u64,
    /// Those of them that reached the device, or came from it.
    device: u64,
    elapsed_ns: u64,
}

/// The sums over the whole blocks that tell theirs; none where nothing was moved.
fn sums(step: &StepResult, of_block: impl Fn(&BlockResult) -> Option<Sums>) -> Option<Sums> {
    let blocks = step.blocks.iter().filter(|block| !block.cut_short).filter_map(of_block);
    let add = |sum: Sums, block: Sums| Sums {
        all: sum.all + block.all,
        device: sum.device + block.device,
        elapsed_ns: sum.elapsed_ns + block.elapsed_ns,
    };
    let sum = blocks.fold(Sums { all: 0, device: 0, elapsed_ns: 0 }, add);
    (sum.all > 0 && sum.elapsed_ns > 0).then_some(sum)
}

/// Bytes that a block put into the logs: as the kernel counted them for the brokers, else values and their replicas.
fn log_bytes(step: &StepResult, block: &BlockResult) -> Option<u64> {
    let counted = block
        .broker_io
        .and_then(|io| Some(io.dirtied_bytes?.saturating_sub(io.cancelled_bytes.unwrap_or(0))));
    let replicas = f64::from(step.effective.replication?);
    let values = block.counts.acked as f64 * step.value_bytes_mean * replicas;
    counted.or(Some(values as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::healthy::{LOW, found, healthy};
    use plumb_model::document::RunDocument;
    use plumb_model::facts::{
        Device, DiskDelta, FileSystem, Layer, Medium, ProcessIo, StorageLayer, UntilDevice,
    };
    use plumb_model::plan::{LogDirPlan, Schedule};

    fn layers(fs_type: &str, medium: Medium, device: Option<&str>) -> Storage {
        let file_system = FileSystem { fs_type: fs_type.into(), medium, ..FileSystem::default() };
        let device = device.map(|name| Layer::Device(Device { name: name.into(), ..Device::default() }));
        let layers = std::iter::once(Layer::FileSystem(file_system)).chain(device).zip(0..);
        Storage {
            layers: layers.map(|(layer, depth)| StorageLayer { depth, layer }).collect(),
            missing: Vec::new(),
        }
    }

    /// The first setup as fast as possible on a directory called nvme, with so many MB into the log and onto the device
    /// in each of its five blocks.
    fn on_device(log_mb: u64, device_mb: u64) -> RunDocument {
        let mut document = healthy();
        let directory = LogDirectory {
            name: "nvme".into(),
            path: Some("/mnt/nvme".into()),
            brokers: vec![1],
            storage: layers("ext4", Medium::Device, Some("nvme0n1")),
        };
        document.environment.log_directories = vec![directory];
        if let ClusterPlan::Lab { log_dirs, .. } = &mut document.plan.cluster {
            log_dirs.push(LogDirPlan { name: "nvme".into(), path: "/mnt/nvme".into() });
        }
        document.plan.steps[0].load.schedule = Schedule::Saturating;
        document.plan.steps[0].load.rate_per_s = None;
        let step = &mut document.steps[0];
        step.effective.replication = Some(1);
        step.effective.log_dirs.insert("nvme".into(), 1);
        for block in &mut step.blocks {
            let disk = DiskDelta {
                name: "nvme0n1".into(),
                written_bytes: Some(device_mb * 1_000_000),
                read_bytes: Some(device_mb * 1_000_000),
                ..DiskDelta::default()
            };
            block.host = Some(HostDelta {
                elapsed_ns: 10_000_000_000,
                dirty_threshold_bytes: Some(4_800_000_000),
                disks: vec![disk],
                ..HostDelta::default()
            });
            block.broker_io = Some(ProcessIo {
                dirtied_bytes: Some(log_mb * 1_000_000),
                called_read_bytes: Some(log_mb * 1_000_000),
                device_read_bytes: Some(device_mb * 1_000_000),
                cancelled_bytes: Some(0),
            });
        }
        document
    }

    fn only(document: &RunDocument) -> Finding {
        let found = found(document, RULE.row.id);
        assert_eq!(found.len(), 1, "{found:#?}");
        found.into_iter().next().unwrap()
    }

    #[test]
    fn a_log_of_which_a_tenth_reached_the_device_is_the_speed_of_memory() {
        let finding = only(&on_device(1_000, 100));
        assert_eq!((finding.severity, finding.step.as_deref()), (Severity::Suspect, Some(LOW)));
        assert_eq!(
            finding.claim,
            "5 GB went into the log and 500 MB reached nvme in the measured part: the page cache took the rest, so \
             this is the speed of memory, not of nvme."
        );
        // 90 MB/s more than the device takes fill 4.8 GB in 53 s.
        assert!(finding.advice[1].contains("about 53.3 s"), "{:?}", finding.advice);
    }

    #[test]
    fn a_device_that_took_nearly_all_is_what_was_measured() {
        assert_eq!(found(&on_device(1_000, 850), RULE.row.id), []);
    }

    #[test]
    fn where_no_device_was_named_it_is_a_note() {
        let mut document = on_device(1_000, 100);
        document.plan.cluster = healthy().plan.cluster;
        let finding = only(&document);
        assert_eq!(finding.severity, Severity::Note);
        assert!(finding.claim.contains("not of nvme0n1"), "{}", finding.claim);
    }

    #[test]
    fn a_load_with_a_rate_is_not_about_the_device() {
        let mut document = on_device(1_000, 100);
        document.plan.steps[0].load.schedule = Schedule::Constant;
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn without_the_brokers_own_count_the_values_count_with_their_replicas() {
        let mut document = on_device(0, 1);
        document.steps[0].value_bytes_mean = 100_000.0;
        document.steps[0].effective.replication = Some(3);
        for block in &mut document.steps[0].blocks {
            block.broker_io = None;
            block.counts.acked = 1_000;
        }
        assert!(only(&document).claim.starts_with("1.5 GB went into the log and 5 MB"));
    }

    #[test]
    fn what_goes_straight_to_persistent_memory_is_seen_by_no_counter_and_not_doubted() {
        let mut document = on_device(1_000, 0);
        if let Layer::FileSystem(file_system) =
            &mut document.environment.log_directories[0].storage.layers[0].layer
        {
            file_system.dax = true;
        }
        assert_eq!(found(&document, RULE.row.id), []);
    }

    #[test]
    fn a_log_in_memory_is_called_so() {
        let mut document = on_device(1_000, 0);
        document.environment.log_directories[0].storage = layers("tmpfs", Medium::Memory, None);
        let finding = only(&document);
        assert_eq!(finding.severity, Severity::Note);
        assert!(finding.claim.contains("lies in memory"), "{}", finding.claim);
    }

    #[test]
    fn consumed_bytes_are_told_by_where_they_came_from() {
        let consume = |device_mb| {
            let mut document = on_device(1_000, device_mb);
            document.plan.steps[0].load.mode = Mode::Consume;
            document.steps[0].value_bytes_mean = 1e6;
            document.steps[0].blocks.iter_mut().for_each(|block| block.counts.received = 1_000);
            only(&document)
        };
        let cached = consume(10);
        assert_eq!(cached.severity, Severity::Suspect);
        assert!(
            cached.claim.starts_with("Of 5 GB that were consumed, 50 MB were read from nvme: the page cache")
        );
        let device = consume(950);
        assert_eq!(device.severity, Severity::Note);
        assert!(device.claim.ends_with("this is the speed of nvme."), "{}", device.claim);
        assert!(consume(500).claim.contains("neither"));
    }

    #[test]
    fn a_load_that_was_to_reach_the_device_and_did_not_is_said() {
        let mut document = on_device(1_000, 900);
        document.steps[0].blocks[2].until_device = Some(UntilDevice {
            end: UntilDeviceEnd::TimeLimit,
            elapsed_ns: 600_000_000_000,
            log_bytes: Some(60_000_000_000),
            device_bytes: Some(20_000_000_000),
            device_share: Some(0.3),
            dirty_bytes: Some(4_000_000_000),
        });
        let finding = only(&document);
        assert_eq!(
            finding.claim,
            "The load before block 3 was to go on until nvme is the limit, and it was not within 10m 00s."
        );
    }
}
