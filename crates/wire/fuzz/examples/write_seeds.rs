//! Writes the valid messages that each target begins from into `corpus/TARGET`.

use plumb_wire_fuzz::{seeds, targets};
use std::fs;
use std::path::Path;

fn main() -> std::io::Result<()> {
    for (name, _) in targets::ALL {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        fs::create_dir_all(&directory)?;
        for (index, seed) in seeds::of(name).iter().enumerate() {
            fs::write(directory.join(format!("seed-{index}")), seed)?;
        }
    }
    Ok(())
}
