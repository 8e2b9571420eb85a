// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Time off the processor by kernel stack, of the threads of the watched processes: waiting, and ready without a processor. */
#include "kernel.h"
#include "watched.h"

#define TASK_DEAD 0x80 /* include/linux/sched.h; that thread does not come back */
#define STACK_DEPTH 64

struct place {
    __u64 process;
    __s64 stack; /* below 0: there was none, or no room for it */
    char thread[16];
};

struct left {
    __u64 since_ns;
    struct place place;
};

struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(max_entries, 4096);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, STACK_DEPTH * sizeof(__u64));
} stacks SEC(".maps");

/* By thread. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 32768);
    __type(key, __u32);
    __type(value, struct left);
} off SEC(".maps");

struct total {
    __u64 time_ns;
    __u64 count;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(max_entries, 8192);
    __type(key, struct place);
    __type(value, struct total);
} off_cpu SEC(".maps");

/*
 * Times for which there was no room, by watched process. The loader enters the processes, and makes room for as many; whoever
 * is not in it is not watched.
 */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} lost SEC(".maps");

static __always_inline void came_back(__u32 thread, __u64 *losses)
{
    struct left *left = bpf_map_lookup_elem(&off, &thread);
    struct total first = { .count = 1 };
    struct total *total;

    if (!left)
        return;
    first.time_ns = bpf_ktime_get_ns() - left->since_ns;
    total = bpf_map_lookup_elem(&off_cpu, &left->place);
    if (total) {
        total->time_ns += first.time_ns;
        total->count += 1;
    } else if (bpf_map_update_elem(&off_cpu, &left->place, &first, BPF_NOEXIST)) {
        *losses += 1;
    }
    bpf_map_delete_elem(&off, &thread);
}

SEC("tp_btf/sched_switch")
int off_cpu_switch(__u64 *args)
{
    struct task_struct *leaves = (struct task_struct *)args[1];
    struct task_struct *comes = (struct task_struct *)args[2];
    __u32 thread = leaves->pid;
    __u64 *losses = watched(&lost, leaves->tgid);

    if (losses && !(state_of(leaves) & TASK_DEAD)) {
        struct left left = {};

        left.since_ns = bpf_ktime_get_ns();
        left.place.process = leaves->tgid;
        left.place.stack = bpf_get_stackid(args, &stacks, 0);
        bpf_probe_read_kernel(left.place.thread, sizeof(left.place.thread), &leaves->comm);
        if (bpf_map_update_elem(&off, &thread, &left, BPF_ANY))
            *losses += 1;
    }
    losses = watched(&lost, comes->tgid);
    if (losses)
        came_back(comes->pid, losses);
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
