//! The speed of encryption, hashes and checksums on this host: the document of `plumb probe crypto`.
//!
//! `engines[].{name, version, rows[].{algorithm, block_bytes, bytes_per_s}}` and `cpu.{flags, missing, hypervisor}` are the
//! contract for programs. Absent is `null`, never 0.

mod work;

pub use work::{Algorithm, BLOCKS_BYTES, EngineName, Form, Operation};

use crate::finding::Finding;
use crate::observation::Interval;
use crate::probe::Conditions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of `plumb probe crypto`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CryptoProbe {
    /// The time, version and host, and the other users of it meanwhile. The document begins with it.
    #[serde(flatten)]
    pub conditions: Conditions,
    /// The plan of the measurement.
    pub plan: CryptoPlan,
    /// The processor, as far as it matters here.
    pub cpu: CryptoCpu,
    /// The measurements, one for each library.
    pub engines: Vec<CryptoEngine>,
    /// Libraries that are not here, or could not be measured.
    pub unavailable: Vec<UnavailableEngine>,
    /// Other hosts beside this one: what `--compare` named, and published ones.
    pub peers: Vec<CryptoPeer>,
    /// The findings.
    pub findings: Vec<Finding>,
}

/// The plan of a crypto probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CryptoPlan {
    /// Rounds. In each, every figure gets one sample; all engines, algorithms and sizes take turns in random order.
    pub rounds: u32,
    /// Time of one sample.
    pub sample_ns: u64,
    /// The seed of the random order.
    pub seed: u64,
    /// Threads of the figures of all cores: the processors that this process may use.
    pub cores: u32,
}

/// The processor.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CryptoCpu {
    /// Its name; of a guest, the name of the model that the hypervisor shows.
    pub model: Option<String>,
    /// `GenuineIntel`, `AuthenticAMD` ...; on Arm the implementer's number.
    pub vendor: Option<String>,
    /// CPU family (x86).
    pub family: Option<u32>,
    /// Model number (x86), part number (Arm).
    pub model_number: Option<u32>,
    /// Instruction sets that matter to encryption and checksums and that every processor shows, by the kernel's name.
    pub flags: Vec<String>,
    /// Those that it does not show.
    pub absent: Vec<String>,
    /// Those of the absent that processors of this family have: somebody hides them. Empty when none is; `null` when
    /// it is not known what the family has.
    pub missing: Option<Vec<String>>,
    /// The basis of `missing`, or the reason why it is not known.
    pub missing_because: String,
    /// The generation that family and model number belong to, where it is known.
    pub generation: Option<String>,
    /// The hypervisor or cloud; absent without one, or where nothing shows one.
    pub hypervisor: Option<String>,
    /// True if a hypervisor is below; absent where the processor cannot say.
    pub virtual_machine: Option<bool>,
    /// Settings of the surroundings that hide instructions from a library (`OPENSSL_ia32cap`), by name.
    pub masks: BTreeMap<String, String>,
}

/// One library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CryptoEngine {
    /// The library.
    pub name: EngineName,
    /// As it calls itself.
    pub version: String,
    /// The file that was measured: a shared library, a Java launcher. Absent for what is part of this program.
    pub file: Option<String>,
    /// The reason for this file.
    pub chosen_because: Option<String>,
    /// Figures by algorithm and size.
    pub rows: Vec<CryptoRow>,
    /// Signatures and handshakes.
    pub operations: Vec<OperationRow>,
    /// The work that this engine has no figure for, and why.
    pub not_measured: Vec<NotMeasured>,
    /// A Java virtual machine's own settings about instructions, as `-XX:+PrintFlagsFinal` shows them; empty otherwise.
    pub jvm_flags: BTreeMap<String, String>,
    /// Options of the running broker's command line that were used for the measurement too.
    pub jvm_options: Vec<String>,
}

/// An algorithm at a size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CryptoRow {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Bytes of each operation.
    pub block_bytes: u32,
    /// The form of an operation. For OpenSSL: what `openssl speed -evp` of this version does.
    pub form: Form,
    /// On one core.
    #[serde(flatten)]
    pub one_core: Throughput,
    /// On all cores at once, added up; absent when not measured.
    pub all_cores: Option<Throughput>,
    /// On one core in the other form, so that hosts with different versions of `openssl speed` can be compared.
    pub other_form: Option<OtherForm>,
}

/// A figure in the form that is not the row's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherForm {
    /// The form.
    pub form: Form,
    /// The figure.
    #[serde(flatten)]
    pub one_core: Throughput,
}

/// Bytes per second: the median of the samples.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Median; absent with fewer than 20 samples.
    pub bytes_per_s: Option<f64>,
    /// Interval of the median, from the order of the samples.
    pub interval: Option<Interval>,
    /// Samples.
    pub samples: u32,
    /// Slowest sample.
    pub min_bytes_per_s: Option<f64>,
    /// Fastest sample.
    pub max_bytes_per_s: Option<f64>,
    /// Share of the samples' time in which the measuring threads had a processor, 0..1; absent where it is not read.
    pub on_cpu_share: Option<f64>,
}

/// Signatures or handshakes per second on one core: the median of the samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationRow {
    /// The operation. Of a handshake only the server's side counts: what one core of a broker can take.
    pub operation: Operation,
    /// Median; absent with fewer than 20 samples.
    pub per_s: Option<f64>,
    /// Interval of the median, from the order of the samples.
    pub interval: Option<Interval>,
    /// Samples.
    pub samples: u32,
}

/// Work that an engine has no figure for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotMeasured {
    /// An algorithm, an operation, or `everything`.
    pub what: String,
    /// The reason.
    pub reason: String,
}

/// A library that is not here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnavailableEngine {
    /// The library.
    pub name: EngineName,
    /// The reason.
    pub reason: String,
}

/// Another host beside this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CryptoPeer {
    /// Its name: the file, or what its publisher called it.
    pub name: String,
    /// The source of its figures.
    pub source: String,
    /// True for figures that ship with Plumb.
    pub published: bool,
    /// The publisher's words about its processor, or its document.
    pub processor: Option<String>,
    /// Version of each library there, by the engine's name; empty where its publisher does not say.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// The figures that both have.
    pub ratios: Vec<PeerRatio>,
}

/// One figure of two hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PeerRatio {
    /// The library.
    pub engine: EngineName,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Bytes of each operation.
    pub block_bytes: u32,
    /// The form of an operation, on both.
    pub form: Form,
    /// Here, one core.
    pub here_bytes_per_s: f64,
    /// There, one core.
    pub there_bytes_per_s: f64,
    /// Here / there.
    pub ratio: f64,
    /// Smallest ratio that both intervals allow; absent when a side has none.
    pub ratio_low: Option<f64>,
    /// Greatest ratio that both intervals allow.
    pub ratio_high: Option<f64>,
}
