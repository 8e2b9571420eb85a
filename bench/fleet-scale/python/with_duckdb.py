"""Sums a fleet's samples by server and day with DuckDB, on as many threads as there are processors."""

import os
import sys

import duckdb

connection = duckdb.connect()
connection.execute(f"SET threads = {len(os.sched_getaffinity(0))}")
connection.execute("SET TimeZone = 'UTC'")
days, drops, sent = connection.execute(
    """
    SELECT count(*), sum(drops), sum(sent) FROM (
        SELECT server, any_value("group"), time_bucket(INTERVAL 1 DAY, time) AS day,
               sum(drops) AS drops, sum(sent) AS sent, count(*) AS samples
        FROM read_parquet(?) GROUP BY server, day)
    """,
    [sys.argv[1]],
).fetchone()
print(f"{days} server-days, {drops:.0f} drops, {sent:.0f} sent")
