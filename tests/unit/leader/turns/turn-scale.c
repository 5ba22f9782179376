// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a millisecond is worth on this machine: objects that lie anywhere in 8 MiB are followed by pointers,
// and their names are hashed. That is what a leader does with its units, and it is built as the leader is.
#include "turn-meter.h"

#include <stdlib.h>
#include <time.h>

enum { OBJECTS = 128 * 1024, STEPS = 65000, TIMES = 3 };

typedef struct Object {
        struct Object *next;
        uint8_t name[48];
} Object;

static Object *make(void) {
        Object *all = calloc(OBJECTS, sizeof(*all));
        uint32_t *order = calloc(OBJECTS, sizeof(*order)), random = 1;

        if (!all || !order)
                abort();
        for (uint32_t i = 0; i < OBJECTS; i++)
                order[i] = i;
        for (uint32_t i = OBJECTS - 1; i > 0; i--) {
                uint32_t k, kept = order[i];

                random = random * 1664525 + 1013904223;
                k = (random >> 8) % (i + 1);
                order[i] = order[k];
                order[k] = kept;
        }
        for (uint32_t i = 0; i < OBJECTS; i++)
                all[order[i]].next = &all[order[(i + 1) % OBJECTS]];
        free(order);
        return all;
}

static uint64_t cpu_ns(void) {
        struct timespec t;

        (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

static uint64_t follow(Object *at) {
        uint64_t hash = 0;

        for (unsigned i = 0; i < STEPS; i++, at = at->next)
                for (unsigned k = 0; k < sizeof(at->name); k++)
                        hash = (hash ^ at->name[k]) * UINT64_C(1099511628211);
        return hash;
}

uint64_t turn_scale_10ms_ns(void) {
        static Object *all;
        uint64_t least = UINT64_MAX;

        if (!all)
                all = make();
        for (unsigned i = 0; i < TIMES; i++) {
                uint64_t began = cpu_ns(), took, hash = follow(all);

                took = cpu_ns() - began;
                __asm__ volatile("" ::"r"(hash)); // it counts
                least = took < least ? took : least;
        }
#ifndef __OPTIMIZE__
        least *= 2; // by so much more a leader loses by that than this loop
#endif
        return least;
}
