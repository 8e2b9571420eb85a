//! The streams of a path.

use super::way::bytes;
use super::{between, megabytes};
use crate::probe::or_absent;
use crate::sheet::{Column, Section};
use plumb_model::figure;
use plumb_model::probe::storage::{PageCache, SequentialResult, StorageTarget, StreamDirection};

/// The section on streams; none where nothing was streamed.
pub(super) fn streams(target: &StorageTarget) -> Option<Section> {
    let measured: Vec<_> =
        target.sequential.iter().filter(|stream| stream.bytes_per_s.is_some()).map(row).collect();
    let columns = [
        Column::text("stream"),
        Column::number("MB/s"),
        Column::number("95 %"),
        Column::number("MB"),
        Column::number("s"),
        Column::text(""),
    ];
    let block = bytes(target.sequential.first()?.case.block_bytes);
    let meaning = format!(
        "in calls of {block}, one at a time; buffered: through the page cache, direct: around it (O_DIRECT); a write's time \
         is that of the calls and of the sync after them"
    );
    (!measured.is_empty()).then(|| Section::table("Streams", &meaning, columns, measured))
}

fn row(stream: &SequentialResult) -> Vec<String> {
    let moved: u64 = stream.blocks.iter().map(|block| block.bytes).sum();
    let took_ns: u64 = stream.blocks.iter().map(|block| block.transfer_ns + block.sync_ns).sum();
    vec![
        words(stream).to_owned(),
        or_absent(stream.bytes_per_s, megabytes),
        or_absent(stream.bytes_interval, |interval| between(&interval, megabytes)),
        megabytes(moved as f64),
        figure::significant(took_ns as f64 / 1e9, 3),
        or_absent(stream.accepted_bytes_per_s, |rate| {
            format!("page cache took {}", figure::bytes_per_s(rate))
        }),
    ]
}

/// `buffered write, synced`
pub(super) fn words(stream: &SequentialResult) -> &'static str {
    match (stream.case.direction, stream.case.page_cache) {
        (StreamDirection::Write, PageCache::Buffered) => "buffered write, synced",
        (StreamDirection::Write, PageCache::Direct) => "direct write, synced",
        (StreamDirection::Read, PageCache::Buffered) => "buffered read",
        (StreamDirection::Read, PageCache::Direct) => "direct read",
    }
}
