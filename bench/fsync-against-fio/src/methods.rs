//! The flags of the others for each method of ours.

/// A method with the one who does the same.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair {
    /// As `plumb probe storage --method` names it.
    pub(crate) method: &'static str,
    /// True if a preallocated file is overwritten.
    pub(crate) overwrite: bool,
    pub(crate) block_bytes: u64,
    pub(crate) rival: Rival,
}

/// The program that does the same.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rival {
    /// fio with these flags.
    Fio(&'static [&'static str]),
    /// The line of pg_test_fsync that begins so.
    PgTestFsync(&'static str),
}

const PAGE: u64 = 4096;
/// The size that pg_test_fsync writes.
const PG_PAGE: u64 = 8192;

/// All pairs. fio's engine for mapped files is none: it syncs the whole mapping each time, which it has read in pieces of up to
/// megabytes, and a store makes all of its piece dirty. What pg_test_fsync calls open_datasync goes around the page cache too.
pub(crate) fn pairs() -> Vec<Pair> {
    let fio =
        |method, overwrite, flags| Pair { method, overwrite, block_bytes: PAGE, rival: Rival::Fio(flags) };
    let pg = |method, name| Pair {
        method,
        overwrite: true,
        block_bytes: PG_PAGE,
        rival: Rival::PgTestFsync(name),
    };
    vec![
        fio("fsync", false, &["--ioengine=psync", "--fsync=1"]),
        fio("fdatasync", false, &["--ioengine=psync", "--fdatasync=1"]),
        fio("direct", false, &["--ioengine=psync", "--direct=1", "--fsync=1"]),
        fio("dsync", false, &["--ioengine=psync", "--sync=dsync"]),
        fio("direct_dsync", false, &["--ioengine=psync", "--direct=1", "--sync=dsync"]),
        fio(
            "sync_file_range",
            false,
            &["--ioengine=psync", "--sync_file_range=wait_before,write,wait_after:1"],
        ),
        fio("io_uring", false, &["--ioengine=io_uring", "--iodepth=1", "--fsync=1"]),
        fio("fsync", true, &["--ioengine=psync", "--fsync=1"]),
        fio("fdatasync", true, &["--ioengine=psync", "--fdatasync=1"]),
        fio("direct_dsync", true, &["--ioengine=psync", "--direct=1", "--sync=dsync"]),
        pg("fsync", "fsync "),
        pg("fdatasync", "fdatasync "),
        pg("direct_dsync", "open_datasync "),
    ]
}
