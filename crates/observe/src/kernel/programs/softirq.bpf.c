// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Time in soft interrupts by CPU and vector. Hard interrupts that come meanwhile are in it. */
#include "kernel.h"

#define VECTORS 16 /* there are 10, include/linux/interrupt.h */

struct vector {
    __u64 since_ns; /* 0: not in it */
    __u64 time_ns;
};

/* A CPU runs one vector at a time, so that no entry is shared. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, VECTORS);
    __type(key, __u32);
    __type(value, struct vector);
} softirqs SEC(".maps");

SEC("raw_tracepoint/softirq_entry")
int softirq_entry(__u64 *args)
{
    __u32 number = args[0];
    struct vector *vector = bpf_map_lookup_elem(&softirqs, &number);

    if (vector)
        vector->since_ns = bpf_ktime_get_ns();
    return 0;
}

SEC("raw_tracepoint/softirq_exit")
int softirq_exit(__u64 *args)
{
    __u32 number = args[0];
    struct vector *vector = bpf_map_lookup_elem(&softirqs, &number);

    if (vector && vector->since_ns) {
        vector->time_ns += bpf_ktime_get_ns() - vector->since_ns;
        vector->since_ns = 0;
    }
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
