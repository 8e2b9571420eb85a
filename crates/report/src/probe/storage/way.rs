//! The names of ways to commit, in tables and in sentences.

use plumb_model::probe::storage::{CommitCase, CommitMethod, Placement};

/// `fsync x 16, 4 KiB append`
pub(super) fn way(case: &CommitCase) -> String {
    let place = match case.placement {
        Placement::Append => "append",
        Placement::Overwrite => "overwrite",
    };
    format!("{}, {} {place}", load(case), bytes(case.block_bytes))
}

/// The method, and how much is under way at once where that is more than one: `fsync`, `fsync x 16`, `io_uring x 4, depth 8`.
pub(super) fn load(case: &CommitCase) -> String {
    let mut words = case.method.name().to_owned();
    if case.committers > 1 {
        words += &format!(" x {}", case.committers);
    }
    if case.method == CommitMethod::IoUring && case.queue_depth > 1 {
        words += &format!(", depth {}", case.queue_depth);
    }
    words
}

/// A block's size in the largest unit that leaves it whole.
pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_names_threads_and_depth_only_where_there_is_more_than_one() {
        let case = |method, committers, queue_depth, placement, block_bytes| {
            way(&CommitCase { method, committers, queue_depth, placement, block_bytes })
        };
        let (append, overwrite) = (Placement::Append, Placement::Overwrite);
        assert_eq!(case(CommitMethod::Fsync, 1, 1, append, 4096), "fsync, 4 KiB append");
        assert_eq!(case(CommitMethod::Fsync, 16, 1, append, 1000), "fsync x 16, 1000 B append");
        assert_eq!(
            case(CommitMethod::IoUring, 4, 8, overwrite, 1 << 20),
            "io_uring x 4, depth 8, 1 MiB overwrite"
        );
    }
}
