/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Whom a part watches: the entries of a map, by the numbers of the first process-id namespace. The loader enters the processes and
 * says between which numbers they are, so that most others need no look into the map.
 */
#pragma once

const volatile __u32 lowest = 0;
const volatile __u32 highest = 0xffffffff;

/* The entry of a process in a part's map; none if it is not watched. */
static __always_inline void *watched(void *map, __u32 process)
{
    if (process < lowest || process > highest)
        return 0;
    return bpf_map_lookup_elem(map, &process);
}
