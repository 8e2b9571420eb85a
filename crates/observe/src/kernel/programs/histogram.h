/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Times in classes of powers of two. The reader is histogram.rs, which takes it as 67 numbers of 64 bits. */
#pragma once

#define CLASSES 64

struct histogram {
    __u64 count;
    __u64 sum_ns;
    __u64 max_ns;
    __u64 classes[CLASSES]; /* class i: from 2^i up to and without 2^(i+1) ns; 0 ns is in class 0 */
};

/* Position of the highest bit that is set; 0 for 0. */
static __always_inline __u32 highest_bit(__u64 value)
{
    __u32 bit = 0;

    if (value >> 32) { bit += 32; value >>= 32; }
    if (value >> 16) { bit += 16; value >>= 16; }
    if (value >> 8) { bit += 8; value >>= 8; }
    if (value >> 4) { bit += 4; value >>= 4; }
    if (value >> 2) { bit += 2; value >>= 2; }
    if (value >> 1) { bit += 1; }
    return bit;
}

static __always_inline void record(struct histogram *histogram, __u64 time_ns)
{
    __u32 class = highest_bit(time_ns) & (CLASSES - 1);

    histogram->count += 1;
    histogram->sum_ns += time_ns;
    if (time_ns > histogram->max_ns)
        histogram->max_ns = time_ns;
    histogram->classes[class] += 1;
}

/* A map of one histogram for each CPU. */
#define HISTOGRAM(name)                           \
    struct {                                      \
        __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);  \
        __uint(max_entries, 1);                   \
        __type(key, __u32);                       \
        __type(value, struct histogram);          \
    } name SEC(".maps")

/* A map of the time at which something began. */
#define BEGUN(name, key_type, entries)            \
    struct {                                      \
        __uint(type, BPF_MAP_TYPE_HASH);          \
        __uint(max_entries, entries);             \
        __type(key, key_type);                    \
        __type(value, __u64);                     \
    } name SEC(".maps")

/*
 * A map of one histogram for each CPU and watched process. The loader enters the processes, and makes room for as many; whoever
 * is not in it is not watched.
 */
#define HISTOGRAM_OF_PROCESS(name)                \
    struct {                                      \
        __uint(type, BPF_MAP_TYPE_PERCPU_HASH);   \
        __uint(max_entries, 1);                   \
        __type(key, __u32);                       \
        __type(value, struct histogram);          \
    } name SEC(".maps")

/* Records the time since `key` began and forgets it; nothing if it is not known when it began. */
static __always_inline void ended(void *begun, const void *key, struct histogram *histogram)
{
    __u64 *since = bpf_map_lookup_elem(begun, key);
    __u64 time_ns;

    if (!since)
        return;
    time_ns = bpf_ktime_get_ns() - *since;
    bpf_map_delete_elem(begun, key);
    record(histogram, time_ns);
}
