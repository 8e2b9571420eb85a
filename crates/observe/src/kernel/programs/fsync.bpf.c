// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Time of fsync and fdatasync calls of the watched processes. The trace points of the two calls cost other calls nothing, but they are
 * found through tracefs; without it, those of all calls are used.
 */
#include "kernel.h"
#include "histogram.h"
#include "watched.h"

const volatile __u64 number_fsync = 0; /* numbers of the calls on this architecture */
const volatile __u64 number_fdatasync = 0;

BEGUN(called, __u32, 32768); /* by thread */
HISTOGRAM_OF_PROCESS(fsync);

static __always_inline int enter(void)
{
    __u64 process_thread = bpf_get_current_pid_tgid();
    __u32 thread = process_thread;
    __u64 now;

    if (!watched(&fsync, process_thread >> 32))
        return 0;
    now = bpf_ktime_get_ns();
    bpf_map_update_elem(&called, &thread, &now, BPF_ANY);
    return 0;
}

static __always_inline int leave(void)
{
    __u64 process_thread = bpf_get_current_pid_tgid();
    __u32 thread = process_thread;
    struct histogram *histogram = watched(&fsync, process_thread >> 32);

    if (histogram)
        ended(&called, &thread, histogram);
    return 0;
}

SEC("tracepoint/syscalls/sys_enter_fsync")
int fsync_enter(void *args)
{
    return enter();
}

SEC("tracepoint/syscalls/sys_enter_fdatasync")
int fdatasync_enter(void *args)
{
    return enter();
}

SEC("tracepoint/syscalls/sys_exit_fsync")
int fsync_exit(void *args)
{
    return leave();
}

SEC("tracepoint/syscalls/sys_exit_fdatasync")
int fdatasync_exit(void *args)
{
    return leave();
}

/* Arguments: registers, number. */
SEC("raw_tracepoint/sys_enter")
int any_call_enter(__u64 *args)
{
    if (args[1] != number_fsync && args[1] != number_fdatasync)
        return 0;
    return enter();
}

SEC("raw_tracepoint/sys_exit")
int any_call_exit(__u64 *args)
{
    return leave();
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
