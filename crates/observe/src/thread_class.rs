//! What a thread does, by its name: the names that Kafka, its clients, Redpanda and the JVM give.
//!
//! The kernel cuts names at 15 bytes, so that a broker's network threads and request handlers both are `data-plane-kafk`: whoever can, asks
//! the JVM for the whole ones ([`thread_names`]).

use plumb_model::observed::ThreadClass;
use std::collections::BTreeMap;

/// The class of a thread of that name, whole or cut.
pub(crate) fn thread_class(name: &str) -> ThreadClass {
    let has = |part: &str| name.contains(part);
    let begins = |part: &str| name.starts_with(part);
    match () {
        () if has("kafka-producer-network-thread") || begins("rdk:broker") || begins("kafka-producer-") => {
            ThreadClass::ClientSender
        }
        () if has("network-thread") || begins("kafka-network-t") => ThreadClass::Network,
        () if has("request-handler") => ThreadClass::Handler,
        () if begins("ReplicaFetcher") => ThreadClass::ReplicaFetcher,
        () if begins("kafka-log-clean") => ThreadClass::Cleaner,
        () if begins("GC Thread")
            || begins("G1 ")
            || begins("ZWorker")
            || begins("ZDriver")
            || begins("Shenandoah") =>
        {
            ThreadClass::Gc
        }
        () if begins("C1 Compiler") || begins("C2 Compiler") || begins("JVMCI") => ThreadClass::Jit,
        () if begins("reactor-") => ThreadClass::Reactor,
        () => ThreadClass::Other,
    }
}

/// Whole names of a JVM's threads by the kernel's number, out of the answer to `Thread.print`:
/// `"data-plane-kafka-request-handler-0" #54 daemon prio=5 ... nid=0x1a2b runnable`; later versions write the number in decimal.
pub(crate) fn thread_names(print: &str) -> BTreeMap<u32, String> {
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    };
    let of_line = |line: &str| {
        let (name, rest) = line.strip_prefix('"')?.rsplit_once('"')?;
        let nid = rest.split_ascii_whitespace().find_map(|word| word.strip_prefix("nid="))?;
        Some((number(nid)?, name.to_owned()))
    };
    print.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_and_cut_names_have_their_class_where_the_cut_leaves_one() {
        for (name, class) in [
            ("data-plane-kafka-network-thread-1-ListenerName(SSL)-SSL-0", ThreadClass::Network),
            ("data-plane-kafka-request-handler-7", ThreadClass::Handler),
            ("data-plane-kafk", ThreadClass::Other),
            ("ReplicaFetcherThread-0-2", ThreadClass::ReplicaFetcher),
            ("ReplicaFetcherT", ThreadClass::ReplicaFetcher),
            ("C2 CompilerThre", ThreadClass::Jit),
            ("GC Thread#0", ThreadClass::Gc),
            ("rdk:broker1", ThreadClass::ClientSender),
            ("kafka-producer-network-thread | producer-1", ThreadClass::ClientSender),
            ("reactor-3", ThreadClass::Reactor),
            ("main", ThreadClass::Other),
        ] {
            assert_eq!(thread_class(name), class, "{name}");
        }
    }

    #[test]
    fn names_are_read_out_of_a_print_whatever_form_the_number_has() {
        let print = "\"a \"b\" c\" #1 prio=5 nid=0x1f waiting\n\"d\" #2 nid=77 runnable\n   java.lang.Thread.State: RUNNABLE\n";
        let names = thread_names(print);
        assert_eq!(names[&31], "a \"b\" c");
        assert_eq!(names[&77], "d");
    }
}
