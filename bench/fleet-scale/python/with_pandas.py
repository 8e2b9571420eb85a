"""Sums a fleet's samples by server and day with pandas. Names stay dictionaries, as otherwise they would not fit."""

import sys

import pyarrow.parquet

names = ["server", "group"]
frame = pyarrow.parquet.read_table(sys.argv[1], read_dictionary=names).to_pandas()
day = frame["time"].dt.floor("D")
sums = frame.groupby(["server", day], observed=True, sort=False)[["drops", "sent"]].sum()
drops, sent = sums["drops"].sum(), sums["sent"].sum()
print(f"{len(sums)} server-days, {drops:.0f} drops, {sent:.0f} sent")
