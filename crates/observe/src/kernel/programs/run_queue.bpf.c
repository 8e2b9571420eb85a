// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Time from being ready to run to running, of the threads of the watched processes. */
#include "kernel.h"
#include "histogram.h"
#include "watched.h"

BEGUN(ready, __u32, 32768); /* by thread */
HISTOGRAM_OF_PROCESS(run_delay);

static __always_inline int is_ready(struct task_struct *task)
{
    __u32 thread = task->pid;
    __u64 now;

    if (!watched(&run_delay, task->tgid))
        return 0;
    now = bpf_ktime_get_ns();
    bpf_map_update_elem(&ready, &thread, &now, BPF_ANY);
    return 0;
}

SEC("tp_btf/sched_wakeup")
int run_queue_wakeup(__u64 *args)
{
    return is_ready((struct task_struct *)args[0]);
}

SEC("tp_btf/sched_wakeup_new")
int run_queue_new(__u64 *args)
{
    return is_ready((struct task_struct *)args[0]);
}

/* Arguments: preempted, the thread that leaves, the one that comes. */
SEC("tp_btf/sched_switch")
int run_queue_switch(__u64 *args)
{
    struct task_struct *leaves = (struct task_struct *)args[1];
    struct task_struct *comes = (struct task_struct *)args[2];
    __u32 thread = comes->pid;
    struct histogram *histogram;
    bool preempted = args[0];

    /* Whoever is preempted stays ready, even on its way to sleep. */
    if (preempted || state_of(leaves) == 0)
        is_ready(leaves);
    histogram = watched(&run_delay, comes->tgid);
    if (histogram)
        ended(&ready, &thread, histogram);
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
