// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Time of journal commits of all file systems with jbd2. Raw trace points, because jbd2 may be a module, whose BTF is not that
 * of the kernel.
 */
#include "kernel.h"
#include "histogram.h"

BEGUN(begun, __u64, 1024); /* by journal */
HISTOGRAM(journal_commit);

/* Arguments of both: journal, transaction. A journal commits one transaction at a time, in its own thread. */
SEC("raw_tracepoint/jbd2_start_commit")
int journal_start(__u64 *args)
{
    __u64 journal = args[0];
    __u64 now = bpf_ktime_get_ns();

    bpf_map_update_elem(&begun, &journal, &now, BPF_ANY);
    return 0;
}

SEC("raw_tracepoint/jbd2_end_commit")
int journal_end(__u64 *args)
{
    __u64 journal = args[0];
    __u32 zero = 0;
    struct histogram *histogram = bpf_map_lookup_elem(&journal_commit, &zero);

    if (histogram)
        ended(&begun, &journal, histogram);
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
