// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* TCP segments sent again. */
#include "kernel.h"

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} retransmits SEC(".maps");

SEC("raw_tracepoint/tcp_retransmit_skb")
int retransmit(__u64 *args)
{
    __u32 zero = 0;
    __u64 *count = bpf_map_lookup_elem(&retransmits, &zero);

    /* An interrupt may come between reading and writing. */
    if (count)
        __sync_fetch_and_add(count, 1);
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
