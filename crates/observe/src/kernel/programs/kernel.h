/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The part of the kernel's types that the programs read. Offsets are those of the kernel that a program is loaded on: the
 * loader relocates every access to a field of these structures by that kernel's BTF.
 */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

/* enum bpf_map_type, include/uapi/linux/bpf.h */
#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_PERCPU_HASH 5
#define BPF_MAP_TYPE_PERCPU_ARRAY 6
#define BPF_MAP_TYPE_STACK_TRACE 7

#define BPF_ANY 0
#define BPF_NOEXIST 1

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define RELOCATED __attribute__((preserve_access_index))

struct task_struct {
    unsigned int __state; /* since 5.14 */
    int pid;
    int tgid;
    char comm[16];
} RELOCATED;

/* Before 5.14. */
struct task_struct___old {
    long state;
} RELOCATED;

struct gendisk {
    int major;
    int first_minor;
} RELOCATED;

struct request_queue {
    struct gendisk *disk; /* since 5.15 */
} RELOCATED;

struct request {
    struct request_queue *q;
    unsigned int __data_len;
} RELOCATED;

/* What a thread waits for; 0 if it is ready or runs. */
static __always_inline __u64 state_of(struct task_struct *task)
{
    if (bpf_core_field_exists(task->__state))
        return task->__state;
    return BPF_CORE_READ((struct task_struct___old *)task, state);
}
