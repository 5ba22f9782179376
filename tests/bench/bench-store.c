// SPDX-License-Identifier: LGPL-2.1-or-later

// How long a batch takes until it is committed and applied, with one member and with three over TLS on the
// loopback: one after the other, and with many on their way.

#include "test.h"

#include <time.h>

#include "store-cluster.h"

enum { SEQUENTIAL = 2000, PIPELINED = 20000, IN_FLIGHT = 64, BATCH_BYTES = 200 };

static uint64_t now_us(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t) t.tv_sec * 1000000 + (uint64_t) t.tv_nsec / 1000;
}

static int compare(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return x < y ? -1 : x > y;
}

typedef struct Flight {
        StoreCluster *cluster;
        StoreNode *node;
        char data[BATCH_BYTES];
        unsigned submitted, done, wanted, limit;
        uint64_t sent_us, took_us[SEQUENTIAL];
} Flight;

static void submit(Flight *f);

static void on_done(StoreOutcome outcome, uint64_t index, void *userdata) {
        Flight *f = userdata;

        assert_int_equal(outcome, STORE_COMMITTED);
        if (f->limit == 1)
                f->took_us[f->done] = now_us() - f->sent_us;
        f->done++;
        submit(f);
}

static void submit(Flight *f) {
        while (f->submitted < f->wanted && f->submitted - f->done < f->limit) {
                f->sent_us = now_us();
                assert_int_equal(store_submit(f->node->store, f->data, BATCH_BYTES, on_done, f), 0);
                f->submitted++;
        }
}

static bool all_done(void *userdata) {
        return ((Flight *) userdata)->done == ((Flight *) userdata)->wanted;
}

static void fly(Flight *f, unsigned wanted, unsigned limit) {
        f->submitted = f->done = 0;
        f->wanted = wanted;
        f->limit = limit;
        submit(f);
        store_run_until(&f->cluster->loop, all_done, f, 120000, "batches");
}

static void emit(size_t members, const char *metric, double value, const char *unit) {
        printf("{\"bench\": \"store-%zu\", \"metric\": \"%s\", \"value\": %.1f, \"unit\": \"%s\"}\n",
               members, metric, value, unit);
        fflush(stdout);
}

static void measure(size_t members) {
        StoreCluster *c = store_cluster_of(members);
        Flight f = {.cluster = c, .node = store_cluster_leader(c)};
        uint64_t begin;

        fly(&f, SEQUENTIAL, 1);
        qsort(f.took_us, SEQUENTIAL, sizeof(f.took_us[0]), compare);
        emit(members, "p50", (double) f.took_us[SEQUENTIAL / 2], "us");
        emit(members, "p99", (double) f.took_us[SEQUENTIAL * 99 / 100], "us");
        begin = now_us();
        fly(&f, PIPELINED, IN_FLIGHT);
        emit(members, "pipelined", PIPELINED * 1000.0 / (double) (now_us() - begin), "k/s");
        store_cluster_free(c);
}

static void one_member(void **state) {
        measure(1);
}

static void three_members(void **state) {
        measure(3);
}

int main(void) {
        const struct CMUnitTest tests[] = {cmocka_unit_test(one_member), cmocka_unit_test(three_members)};

        return cmocka_run_group_tests(tests, NULL, NULL);
}
