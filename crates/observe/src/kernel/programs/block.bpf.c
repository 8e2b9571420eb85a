// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Time from issue to completion of block requests, by disk. Needs 5.15: `disk` of a queue, and one argument at issue. */
#include "kernel.h"
#include "histogram.h"

BEGUN(issued, __u64, 65536); /* by request */

/* By device number, as the kernel has it inside: major << 20 | minor. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(max_entries, 64);
    __type(key, __u32);
    __type(value, struct histogram);
} devices SEC(".maps");

/* What a new device begins with; it is too large for a program's stack. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct histogram);
} empty SEC(".maps");

SEC("tp_btf/block_rq_issue")
int block_issue(__u64 *args)
{
    __u64 request = args[0];
    __u64 now = bpf_ktime_get_ns();

    bpf_map_update_elem(&issued, &request, &now, BPF_ANY);
    return 0;
}

/* Arguments: request, error, bytes that are done. */
SEC("tp_btf/block_rq_complete")
int block_complete(__u64 *args)
{
    struct request *request = (struct request *)args[0];
    __u64 key = args[0];
    struct histogram *histogram;
    struct gendisk *disk;
    __u64 *since, time_ns;
    __u32 device, zero = 0;

    since = bpf_map_lookup_elem(&issued, &key);
    if (!since)
        return 0;
    if ((__u32)args[2] < request->__data_len)
        return 0; /* the rest is yet to come */
    time_ns = bpf_ktime_get_ns() - *since;
    bpf_map_delete_elem(&issued, &key);

    disk = request->q->disk;
    if (!disk)
        return 0; /* a command to a device that is no disk */
    device = (__u32)disk->major << 20 | (__u32)disk->first_minor;
    histogram = bpf_map_lookup_elem(&devices, &device);
    if (!histogram) {
        histogram = bpf_map_lookup_elem(&empty, &zero);
        if (!histogram)
            return 0;
        bpf_map_update_elem(&devices, &device, histogram, BPF_NOEXIST);
        histogram = bpf_map_lookup_elem(&devices, &device);
        if (!histogram)
            return 0;
    }
    record(histogram, time_ns);
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
