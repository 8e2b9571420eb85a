// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Time from being ready to run to running, of the threads of one process. */
#include "kernel.h"
#include "histogram.h"

const volatile __u32 target = 0; /* the process, as the first process-id namespace numbers it */

BEGUN(ready, __u32, 32768); /* by thread */
HISTOGRAM(run_delay);

static __always_inline int is_ready(struct task_struct *task)
{
    __u32 thread = task->pid;
    __u64 now;

    if (task->tgid != target)
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
    bool preempted = args[0];
    __u32 thread;

    /* Whoever is preempted stays ready, even on its way to sleep. */
    if (leaves->tgid == target && (preempted || state_of(leaves) == 0))
        is_ready(leaves);
    if (comes->tgid == target) {
        thread = comes->pid;
        ended(&ready, &thread, &run_delay);
    }
    return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
