"""Sums a fleet's samples by server and day with Polars, streaming, on as many threads as there are processors."""

import sys

import polars

day = polars.col("time").dt.truncate("1d").alias("day")
sums = (
    polars.scan_parquet(sys.argv[1])
    .group_by("server", day)
    .agg(polars.col("drops").sum(), polars.col("sent").sum(), polars.col("group").first(), polars.len())
    .select(polars.len(), polars.col("drops").sum(), polars.col("sent").sum())
    .collect(engine="streaming")
)
days, drops, sent = sums.row(0)
print(f"{days} server-days, {drops:.0f} drops, {sent:.0f} sent")
