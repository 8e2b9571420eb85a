//! The instruction sets of processor families, so that one which a processor does not show can be called hidden.
//!
//! Family and model numbers: Intel's Software Developer's Manual, volume 4, table 2-1, with the names of Linux's
//! `asm/intel-family.h`; AMD's Processor Programming References. Instruction sets of a generation: what the GCC manual lists
//! for `-march=westmere`, `haswell`, `icelake-server`, `znver1` and so on. A number that is not here is unknown, not guessed.
//! Intel's client models are left out: some of one number (Pentium, Celeron, i3) have AES or AVX fused off, and nothing hides it.

use plumb_model::probe::crypto::CryptoCpu;
use std::ops::RangeInclusive;

/// Names that QEMU gives to models that are no real processor.
const INVENTED: [&str; 3] = ["QEMU Virtual CPU", "Common KVM processor", "Common 32-bit KVM processor"];
/// Intel since Westmere (2010), AMD since Bulldozer (2011): every x86 server processor since.
const ANY_SERVER: &[&str] = &["aes", "pclmulqdq"];

const WESTMERE: &[&str] = &["aes", "pclmulqdq", "ssse3", "sse4_2"];
const SANDY_BRIDGE: &[&str] = &["aes", "pclmulqdq", "ssse3", "sse4_2", "avx"];
const HASWELL: &[&str] = &["aes", "pclmulqdq", "ssse3", "sse4_2", "avx", "avx2", "bmi2"];
const BROADWELL: &[&str] = &["aes", "pclmulqdq", "ssse3", "sse4_2", "avx", "avx2", "bmi2", "adx"];
const SKYLAKE_SERVER: &[&str] =
    &["aes", "pclmulqdq", "ssse3", "sse4_2", "avx", "avx2", "bmi2", "adx", "avx512f", "avx512bw", "avx512vl"];
const ICE_LAKE_SERVER: &[&str] = &[
    "aes",
    "pclmulqdq",
    "ssse3",
    "sse4_2",
    "avx",
    "avx2",
    "bmi2",
    "adx",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512ifma",
    "sha_ni",
    "vaes",
    "vpclmulqdq",
];
const SIERRA_FOREST: &[&str] =
    &["aes", "pclmulqdq", "ssse3", "sse4_2", "avx", "avx2", "bmi2", "adx", "sha_ni", "vaes", "vpclmulqdq"];
const ZEN: &[&str] = &["aes", "pclmulqdq", "ssse3", "sse4_2", "avx", "avx2", "bmi2", "adx", "sha_ni"];
const ZEN_3: &[&str] = SIERRA_FOREST;
const ZEN_4: &[&str] = ICE_LAKE_SERVER;
/// Arm leaves the cryptographic instructions to the maker of a chip; the server chips with these cores have them.
const NEOVERSE: &[&str] = &["aes", "pmull", "sha1", "sha2", "crc32", "asimd"];

struct Generation {
    vendor: &'static str,
    family: u32,
    models: RangeInclusive<u32>,
    name: &'static str,
    has: &'static [&'static str],
}

const fn intel(model: u32, name: &'static str, has: &'static [&'static str]) -> Generation {
    Generation { vendor: "GenuineIntel", family: 6, models: model..=model, name, has }
}

const fn amd(
    family: u32,
    models: RangeInclusive<u32>,
    name: &'static str,
    has: &'static [&'static str],
) -> Generation {
    Generation { vendor: "AuthenticAMD", family, models, name, has }
}

/// Arm has no families: implementer and part number.
const fn arm(part: u32, name: &'static str) -> Generation {
    Generation { vendor: "0x41", family: 0, models: part..=part, name, has: NEOVERSE }
}

const GENERATIONS: &[Generation] = &[
    intel(44, "Westmere-EP", WESTMERE),
    intel(47, "Westmere-EX", WESTMERE),
    intel(45, "Sandy Bridge-EP", SANDY_BRIDGE),
    intel(62, "Ivy Bridge-EP", SANDY_BRIDGE),
    intel(63, "Haswell-EP", HASWELL),
    intel(79, "Broadwell-EP", BROADWELL),
    intel(86, "Broadwell-DE", BROADWELL),
    intel(85, "Skylake-SP, Cascade Lake or Cooper Lake", SKYLAKE_SERVER),
    intel(106, "Ice Lake-SP", ICE_LAKE_SERVER),
    intel(108, "Ice Lake-D", ICE_LAKE_SERVER),
    intel(143, "Sapphire Rapids", ICE_LAKE_SERVER),
    intel(207, "Emerald Rapids", ICE_LAKE_SERVER),
    intel(173, "Granite Rapids", ICE_LAKE_SERVER),
    intel(175, "Sierra Forest", SIERRA_FOREST),
    amd(0x15, 0..=0x7f, "Bulldozer to Excavator", SANDY_BRIDGE),
    amd(0x17, 0..=0xff, "Zen, Zen+ or Zen 2", ZEN),
    amd(0x19, 0..=0x0f, "Zen 3", ZEN_3),
    amd(0x19, 0x10..=0x1f, "Zen 4", ZEN_4),
    amd(0x19, 0x20..=0x5f, "Zen 3", ZEN_3),
    amd(0x19, 0x60..=0xaf, "Zen 4", ZEN_4),
    amd(0x1a, 0..=0xff, "Zen 5", ZEN_4),
    arm(0xd0c, "Neoverse N1"),
    arm(0xd40, "Neoverse V1"),
    arm(0xd49, "Neoverse N2"),
    arm(0xd4f, "Neoverse V2"),
];

/// The processor with what it hides filled in: `missing`, `missing_because`, `generation`.
pub fn hidden(cpu: CryptoCpu) -> CryptoCpu {
    let (generation, missing, because) = match expectation(&cpu) {
        Ok((generation, has, because)) => {
            let missing = has.iter().filter(|flag| cpu.absent.iter().any(|absent| absent == *flag));
            (generation, Some(missing.map(|flag| (*flag).to_owned()).collect()), because)
        }
        Err(reason) => (None, None, reason),
    };
    CryptoCpu { generation, missing, missing_because: because, ..cpu }
}

type Expectation = (Option<String>, &'static [&'static str], String);

fn expectation(cpu: &CryptoCpu) -> Result<Expectation, String> {
    if cpu.flags.is_empty() && cpu.absent.is_empty() {
        return Err("this host does not say which instructions its processor has".to_owned());
    }
    if let Some(model) =
        cpu.model.as_deref().filter(|model| INVENTED.iter().any(|name| model.starts_with(name)))
    {
        let because = format!(
            "{model:?} is no processor but a name that QEMU gives its guests; every x86 server processor since 2011 has these"
        );
        return Ok((None, ANY_SERVER, because));
    }
    let (Some(vendor), Some(model)) = (cpu.vendor.as_deref(), cpu.model_number) else {
        return Err("this host does not say of which family its processor is".to_owned());
    };
    let family = cpu.family.unwrap_or(0);
    let is_it = |generation: &&Generation| {
        generation.vendor == vendor && generation.family == family && generation.models.contains(&model)
    };
    let Some(generation) = GENERATIONS.iter().find(is_it) else {
        return Err(format!("{vendor} family {family} model {model} is not in Plumb's table"));
    };
    let number = if vendor.starts_with("0x") {
        format!("implementer {vendor} part {model:#x}")
    } else {
        format!("{vendor} family {family} model {model}")
    };
    let because = format!("{number} is {}, which has them", generation.name);
    Ok((Some(generation.name.to_owned()), generation.has, because))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(model: &str, vendor: &str, numbers: (u32, u32), absent: &[&str]) -> CryptoCpu {
        hidden(CryptoCpu {
            model: Some(model.to_owned()),
            vendor: Some(vendor.to_owned()),
            family: Some(numbers.0),
            model_number: Some(numbers.1),
            flags: vec!["ssse3".to_owned()],
            absent: absent.iter().map(|flag| (*flag).to_owned()).collect(),
            ..CryptoCpu::default()
        })
    }

    #[test]
    fn a_family_that_has_them_and_a_host_that_does_not_show_them() {
        let masked = cpu("Intel Xeon", "GenuineIntel", (6, 106), &["aes", "pclmulqdq", "sha_ni", "avx512bw"]);
        let missing = masked.missing.unwrap();
        assert_eq!(missing, ["aes", "pclmulqdq", "avx512bw", "sha_ni"]);
        assert_eq!(masked.generation.as_deref(), Some("Ice Lake-SP"));
    }

    #[test]
    fn what_a_family_never_had_is_not_hidden() {
        let haswell = cpu("Intel Xeon E5 v3", "GenuineIntel", (6, 63), &["sha_ni", "vaes", "avx512f", "adx"]);
        assert_eq!(haswell.missing, Some(Vec::new()));
        let rome = cpu("AMD EPYC 7742", "AuthenticAMD", (0x17, 49), &["vaes", "vpclmulqdq", "avx512f"]);
        assert_eq!(rome.missing, Some(Vec::new()));
    }

    #[test]
    fn a_model_that_qemu_made_up_has_at_least_what_every_server_has() {
        for name in ["Common KVM processor", "QEMU Virtual CPU version 2.5+"] {
            let guest = cpu(name, "GenuineIntel", (15, 6), &["aes", "pclmulqdq", "sha_ni", "avx2"]);
            assert_eq!(guest.missing.as_deref(), Some(&["aes".to_owned(), "pclmulqdq".to_owned()][..]));
            assert_eq!(guest.generation, None);
        }
    }

    #[test]
    fn an_unknown_family_is_unknown_and_its_number_is_named() {
        let unknown = cpu("A new one", "GenuineIntel", (6, 250), &["aes"]);
        assert_eq!(unknown.missing, None);
        assert_eq!(unknown.missing_because, "GenuineIntel family 6 model 250 is not in Plumb's table");
        assert_eq!(hidden(CryptoCpu::default()).missing, None);
    }

    #[test]
    fn a_client_model_of_which_some_never_had_aes_is_unknown() {
        for model in [42, 58, 60, 61] {
            let pentium = cpu("Intel Pentium G3220", "GenuineIntel", (6, model), &["aes", "avx", "avx2"]);
            assert_eq!(pentium.missing, None, "model {model}");
        }
    }

    #[test]
    fn no_number_belongs_to_two_generations() {
        for (index, one) in GENERATIONS.iter().enumerate() {
            for other in &GENERATIONS[index + 1..] {
                let apart = one.vendor != other.vendor
                    || one.family != other.family
                    || one.models.end() < other.models.start()
                    || other.models.end() < one.models.start();
                assert!(apart, "{} and {}", one.name, other.name);
            }
        }
    }
}
