// SPDX-License-Identifier: LGPL-2.1-or-later

// What keeping jobs costs a voter: memory for each of 100,000 jobs of one unit, with all that is kept of it
// (record, ring, key), and what applying takes longer for it; and what looking for a key takes when a
// million are remembered.

#include <malloc.h>
#include <time.h>

#include "batch.h"
#include "cluster-state.h"
#include "feature-level.h"

enum { JOBS = 100000, UNITS = 1000, EACH = 100, KEYS = 1100000, LOOKS = 200000 };

#define CONTENT "[Service]\nExecStart=/bin/sleep 1000\n"

static uint64_t now_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

static size_t bytes_used(void) {
        struct mallinfo2 info = mallinfo2();

        return info.uordblks + info.hblkhd;
}

static void apply(ClusterState *s, Batch *b) {
        if (cluster_state_apply(s, &b->log) < 0)
                abort();
}

static void make_id(uint8_t ret[16], uint64_t number) {
        Hash hash = hash_of(&number, sizeof number);

        memcpy(ret, hash.bytes, 16);
}

static void begin(ClusterState *s) {
        Batch b = {};
        char name[32];

        batch_cluster(&b, 1);
        b.log.ops[0]->cluster->feature_level = FEATURE_LEVEL;
        for (unsigned i = 0; i < UNITS; i++) {
                snprintf(name, sizeof name, "worker@%u.service", i);
                batch_unit(&b, name, CONTENT, (UnitPut){.target = LAUNCHED, .node = 1});
        }
        apply(s, &b);
        cluster_state_drop_dirty(s);
        batch_done(&b);
}

// Restarts of one unit each, as many in an entry as under load. How long applying them took.
static uint64_t restart(ClusterState *s, bool jobs) {
        static char *targets[1];
        Hash spec = hash_of(CONTENT, strlen(CONTENT));
        uint64_t took_ns = 0;
        char name[32];
        uint8_t id[16];

        targets[0] = name;
        for (uint64_t i = 0; i < JOBS; i += EACH) {
                Batch b = {};

                for (uint64_t k = 0; k < EACH; k++) {
                        Argosy__JobRecord *record;

                        snprintf(name, sizeof name, "worker@%u.service", (unsigned) ((i + k) % UNITS));
                        batch_unit_only(&b, name, &spec,
                                        (UnitPut){.target = LAUNCHED, .node = 1, .restart = true});
                        if (!jobs)
                                continue;
                        make_id(id, i + k);
                        record = batch_job(&b,
                                           (JobPut){.n_ops = 1, .verb = "restart", .id = id, .content = i});
                        record->host = 3;
                        record->host_name = (char *) "node3";
                        record->user = (char *) "deployer";
                        record->uid = 1000;
                        record->uid_known = true;
                        record->targets = targets;
                        record->n_targets = 1;
                }
                b.log.at_us = UINT64_C(1700000000000000) + i;
                took_ns -= now_ns();
                apply(s, &b);
                took_ns += now_ns();
                cluster_state_drop_dirty(s);
                batch_done(&b);
        }
        return took_ns;
}

static void print(const char *bench, const char *metric, double value, const char *unit) {
        printf("{\"bench\": \"%s\", \"metric\": \"%s\", \"value\": %.3f, \"unit\": \"%s\"}\n", bench, metric,
               value, unit);
}

static void measure_jobs(void) {
        _cleanup_(cluster_state_freep) ClusterState *without = cluster_state_new(),
                                                    *with = cluster_state_new();
        uint64_t plain_ns, jobs_ns;
        size_t before;

        begin(without);
        begin(with);
        plain_ns = restart(without, false);
        before = bytes_used();
        jobs_ns = restart(with, true);
        print("jobs-memory", "bytes", (double) (bytes_used() - before) / JOBS, "B/job");
        print("jobs-memory", "packed", (double) cluster_state_jobs_bytes(with) / JOBS, "B/job");
        print("jobs-apply", "more", (double) (jobs_ns - plain_ns) / 1000 / JOBS, "us/job");
}

static void measure_keys(void) {
        _cleanup_(cluster_state_freep) ClusterState *s = cluster_state_new();
        uint64_t took_ns, found = 0;
        RequestKey key;
        uint8_t id[16];

        for (uint64_t i = 0; i < KEYS; i += EACH) {
                Batch b = {};

                for (uint64_t k = 0; k < EACH; k++) {
                        make_id(id, i + k);
                        batch_job(&b, (JobPut){.id = id});
                }
                apply(s, &b);
                batch_done(&b);
        }
        took_ns = now_ns();
        for (uint64_t i = 0; i < LOOKS; i++) { // half of them are not there
                uint64_t number = i * 7919 % KEYS + (i % 2) * KEYS;

                make_id(id, number);
                found += cluster_state_find_key(s, id, &key);
        }
        took_ns = now_ns() - took_ns;
        if (found < LOOKS / 2 - LOOKS / 10)
                abort();
        print("jobs-keys", "look", (double) took_ns / 1000 / LOOKS, "us");
}

int main(void) {
        measure_jobs();
        measure_keys();
        return 0;
}
