//! Names of the kernel's functions from `/proc/kallsyms`.

/// Functions by address.
pub(super) struct Symbols {
    /// Sorted by address, one for each.
    functions: Vec<(u64, String)>,
}

impl Symbols {
    /// The functions in the text of `/proc/kallsyms` (`address type name [module]`). None where it shows no addresses, as to
    /// whom `kernel.kptr_restrict` keeps them from. Lines of another form are passed over.
    pub(super) fn parse(text: &str) -> Option<Symbols> {
        let mut functions: Vec<(u64, String)> = text.lines().filter_map(function).collect();
        // Stable: of several names for an address the kernel's first one stays.
        functions.sort_by_key(|(address, _)| *address);
        functions.dedup_by_key(|(address, _)| *address);
        (!functions.is_empty()).then_some(Symbols { functions })
    }

    /// The function that an address is in, or the address where there is none below it.
    pub(super) fn name(&self, address: u64) -> String {
        let after = self.functions.partition_point(|(start, _)| *start <= address);
        match after.checked_sub(1).and_then(|at| self.functions.get(at)) {
            Some((_, name)) => name.clone(),
            None => unnamed(address),
        }
    }
}

/// A frame without a name.
pub(super) fn unnamed(address: u64) -> String {
    format!("{address:#x}")
}

fn function(line: &str) -> Option<(u64, String)> {
    let mut fields = line.split_ascii_whitespace();
    let address = u64::from_str_radix(fields.next()?, 16).ok()?;
    let is_function = matches!(fields.next()?, "t" | "T" | "w" | "W");
    let name = fields.next()?;
    (is_function && address > 0).then(|| (address, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_is_in_the_function_that_starts_at_or_before_it() {
        let text = "ffff20 t io_schedule\nffff10 T schedule\nffff18 d some_data\nffff10 T schedule_alias\n\
                    ffff40 t commit\t[jbd2]\n";
        let symbols = Symbols::parse(text).unwrap();
        let names: Vec<String> =
            [0xffff0f, 0xffff10, 0xffff1f, 0xffff20, 0xffffff].map(|at| symbols.name(at)).into();
        assert_eq!(names, ["0xffff0f", "schedule", "schedule", "io_schedule", "commit"]);
    }

    #[test]
    fn hidden_addresses_are_no_symbols() {
        assert!(Symbols::parse("0000000000000000 T schedule\n0000000000000000 t commit\n").is_none());
        assert!(Symbols::parse("").is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_fault(text in "[0-9a-fTtw \\n\\PC]{0,400}", at: u64) {
            if let Some(symbols) = Symbols::parse(&text) {
                symbols.name(at);
            }
        }
    }
}
