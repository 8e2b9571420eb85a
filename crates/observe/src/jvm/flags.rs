//! Flags of a JVM out of the answer to `VM.flags -all`: `     bool UseAES      = true      {product} {default}`.

use std::collections::BTreeMap;

/// Flags that say how it encrypts, how large it is, and how it collects.
const KEPT: [&str; 12] = [
    "UseAES",
    "UseAESIntrinsics",
    "UseAESCTRIntrinsics",
    "UseGHASHIntrinsics",
    "UseSHA",
    "UseCRC32CIntrinsics",
    "MaxHeapSize",
    "UseG1GC",
    "UseZGC",
    "UseParallelGC",
    "UseSerialGC",
    "UseShenandoahGC",
];

/// The flags that matter, as in force.
pub(super) fn parse(text: &str) -> BTreeMap<String, String> {
    let flag = |line: &str| {
        let (head, rest) = line.split_once('=')?;
        let name = head.split_ascii_whitespace().nth(1)?.trim_end_matches(':');
        let value = rest.split_ascii_whitespace().next()?;
        KEPT.contains(&name).then(|| (name.to_owned(), value.to_owned()))
    };
    text.lines().filter_map(flag).collect()
}

/// The collector in use.
pub(super) fn collector(flags: &BTreeMap<String, String>) -> Option<String> {
    let collectors = ["UseG1GC", "UseZGC", "UseParallelGC", "UseSerialGC", "UseShenandoahGC"];
    let used = collectors.into_iter().find(|flag| flags.get(*flag).is_some_and(|value| value == "true"))?;
    Some(used.trim_start_matches("Use").trim_end_matches("GC").to_owned())
}

/// `JDK 17.0.15` out of the answer to `VM.version`.
pub(super) fn version(text: &str) -> Option<String> {
    text.lines().map(str::trim).find(|line| line.starts_with("JDK ")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_as_they_are_in_force() {
        let text = "[Global flags]\n     bool UseAES                  = false         {product} {command line}\n     bool UseG1GC = true {product} {ergonomic}\n   size_t MaxHeapSize = 536870912 {product}\n     bool Unknown = true {product}\n";
        let flags = parse(text);
        assert_eq!(flags["UseAES"], "false");
        assert_eq!(flags["MaxHeapSize"], "536870912");
        assert_eq!(flags.len(), 3);
        assert_eq!(collector(&flags).as_deref(), Some("G1"));
        assert_eq!(
            version("OpenJDK 64-Bit Server VM version 17\nJDK 17.0.15\n").as_deref(),
            Some("JDK 17.0.15")
        );
    }
}
