#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| plumb_wire_fuzz::targets::producer_id(data));
