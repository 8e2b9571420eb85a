// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Packets freed as lost, by reason. Needs 5.17: since then the trace point has the reason as its third argument. */
#include "kernel.h"

/* By the number of the reason; those of a subsystem have its number in the upper 16 bits. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(max_entries, 1024);
    __type(key, __u32);
    __type(value, __u64);
} drops SEC(".maps");

/* Arguments: packet, place in the code, reason. A kernel with two arguments refuses the program. */
SEC("tp_btf/kfree_skb")
int drop(__u64 *args)
{
    __u32 reason = args[2];
    __u64 *count = bpf_map_lookup_elem(&drops, &reason);
    __u64 one = 1;

    if (count)
        __sync_fetch_and_add(count, 1);
    else
        bpf_map_update_elem(&drops, &reason, &one, BPF_NOEXIST);
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
