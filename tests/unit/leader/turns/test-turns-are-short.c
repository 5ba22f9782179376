// SPDX-License-Identifier: LGPL-2.1-or-later
//
// No turn of a leader takes more than 10 ms of CPU, however large the cluster is. Whatever can be asked of a
// leader, whatever a host can tell it, and whatever is lost, happens once, each in a process of its own that
// begins with the same cluster. A kind of request or message without a case fails.
//
//      test-leader-turns-are-short [CASE...]
//
// ARGOSY_LONG: of 300,000 instances on 10,000 hosts, which takes minutes; else of a third of them on a
// quarter. ARGOSY_TURN_HOSTS and ARGOSY_TURN_UNITS: of as many.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "large-cluster.h"
#include "leader-private.h"
#include "log.h"
#include "request-kind.h"
#include "test.h"
#include "turn-cases.h"
#include "turn-meter.h"

enum {
        HOSTS = 2500,
        UNITS = 100000,
        LONG_HOSTS = 10000,
        LONG_UNITS = 300000,
        TRIES = 3,
        TOO_LONG = 5, // times what is allowed: what follows need not be measured
        WORKERS = 2,      // processes that each measure their share of the cases; one with ARGOSY_LONG
        CHECK_MARGIN = 3, // in each check: turns wait for memory, which other guests of a machine take, and
                          // the loop that tells the milliseconds does not; ARGOSY_LONG allows what is said
};
static const double limit_ms = 10;

static bool is_long;

static unsigned n_failed;

static void failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void failed(const char *format, ...) {
        va_list args;

        va_start(args, format);
        printf("FAILED: ");
        vprintf(format, args);
        printf("\n");
        va_end(args);
        n_failed++;
}

// ---- every kind has its case

static bool has_case(const TurnCase *cases, size_t n, unsigned kind) {
        for (size_t i = 0; i < n; i++)
                if ((unsigned) cases[i].kind == kind)
                        return true;
        return false;
}

static void look_for_kinds_without_a_case(void) {
        for (unsigned i = 0; i < argosy__request__descriptor.n_fields; i++) {
                const ProtobufCFieldDescriptor *field = &argosy__request__descriptor.fields[i];
                const RequestKind *kind = request_kind((Argosy__Request__WhatCase) field->id);

                if (kind && (kind->by == REQUEST_BY_LEADER || kind->by == REQUEST_BY_NODES) &&
                    !has_case(unit_cases, n_unit_cases, field->id) &&
                    !has_case(request_cases, n_request_cases, field->id))
                        failed("no case is about the request %s", kind->name);
        }
        for (unsigned i = 0; i < argosy__to_voter__descriptor.n_fields; i++) {
                const ProtobufCFieldDescriptor *field = &argosy__to_voter__descriptor.fields[i];

                if (!has_case(message_cases, n_message_cases, field->id))
                        failed("no case is about the message %s of a host", field->name);
        }
}

// ---- one case

static int result; // where the figure of this process goes

static void tell(const TurnMeter *m) {
        assert_int_equal(write(result, m, sizeof(*m)), sizeof(*m));
        _exit(0);
}

// Takes copies of all pages that this process shares with the one that made the cluster. A leader shares
// none with anybody, and the first write to a shared page costs several times what the first one to a new
// page does: half of some turns.
static void take_copies_of_pages(void) {
        FILE *maps = fopen("/proc/self/maps", "re");
        unsigned long begin, end;
        char line[512], access[5];

        assert_true(maps);
        while (fgets(line, sizeof(line), maps))
                if (sscanf(line, "%lx-%lx %4s", &begin, &end, access) == 3 && strcmp(access, "rw-p") == 0)
                        // before Linux 5.14: they are copied one by one
                        (void) madvise((void *) begin, end - begin, MADV_POPULATE_WRITE);
        fclose(maps);
}

static void happen(const TurnCase *c, double too_long_ms, bool copies) {
        log_set_level(LOG_ERR);
        if (copies)
                take_copies_of_pages();
        assert_int_equal(uv_loop_fork(&large.rig.loop), 0);
        turn_meter_begin(too_long_ms, tell);
        c->happen();
        TurnMeter meter = turn_meter_end();
        tell(&meter);
}

// False: it could not be measured, and has said why.
static bool measure_once(const TurnCase *c, double too_long_ms, bool copies, TurnMeter *ret) {
        int ends[2], status;

        fflush(stdout);
        assert_int_equal(pipe(ends), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                result = ends[1];
                happen(c, too_long_ms, copies);
        }
        close(ends[1]);
        bool measured = read(ends[0], ret, sizeof(*ret)) == sizeof(*ret);
        close(ends[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return measured && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static double now_sec(void) {
        struct timespec t;

        (void) clock_gettime(CLOCK_MONOTONIC, &t);
        return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

// What others do on the machine only ever makes it longer. Copies of all pages are taken only for a case
// that is too long without: they take longer than most cases.
static void measure(const TurnCase *c) {
        double most_ms = limit_ms * (is_long ? 1 : CHECK_MARGIN), began = now_sec();
        TurnMeter least = {.longest_ms = 1e9};

        for (unsigned i = 0; i < TRIES && least.longest_ms > most_ms; i++) {
                TurnMeter m;

                if (!measure_once(c, TOO_LONG * most_ms, i > 0, &m)) {
                        failed("%s: it did not come to its end", c->name);
                        return;
                }
                if (m.longest_ms < least.longest_ms)
                        least = m;
        }
        printf("%8.1f ms  %-40s %s, %u turns, %.1f s\n", least.longest_ms, c->name, least.where, least.n,
               now_sec() - began);
        if (least.longest_ms > most_ms)
                failed("%s: a turn took %.1f ms", c->name, least.longest_ms);
}

static bool is_chosen(const char *name, char **names) {
        if (!*names)
                return true;
        for (; *names; names++)
                if (strstr(name, *names))
                        return true;
        return false;
}

static void measure_share(const TurnCase *cases, size_t n, char **chosen, unsigned share,
                          unsigned n_shares) {
        for (size_t i = 0; i < n; i++)
                if (i % n_shares == share && is_chosen(cases[i].name, chosen))
                        measure(&cases[i]);
}

static void measure_all(char **chosen, unsigned share, unsigned n_shares) {
        measure_share(unit_cases, n_unit_cases, chosen, share, n_shares);
        measure_share(request_cases, n_request_cases, chosen, share, n_shares);
        measure_share(message_cases, n_message_cases, chosen, share, n_shares);
        measure_share(loss_cases, n_loss_cases, chosen, share, n_shares);
}

// What is measured is CPU time, so two may be at it at once: what they take of each other, the scale by
// which they measure loses, too.
static void measure_with_workers(char **chosen) {
        pid_t workers[WORKERS];

        fflush(stdout);
        for (unsigned i = 0; i < WORKERS; i++) {
                workers[i] = fork();
                assert_true(workers[i] >= 0);
                if (workers[i] == 0) {
                        n_failed = 0;
                        measure_all(chosen, i, WORKERS);
                        fflush(stdout);
                        _exit(n_failed > 0);
                }
        }
        for (unsigned i = 0; i < WORKERS; i++) {
                int status;

                assert_int_equal(waitpid(workers[i], &status, 0), workers[i]);
                if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                        failed("worker %u found cases that failed, or did not come to its end", i);
        }
}

static unsigned size_of(const char *variable, unsigned otherwise) {
        const char *text = getenv(variable);

        return text ? (unsigned) atoi(text) : otherwise;
}

int main(int argc, char **argv) {
        double began = now_sec();

        is_long = getenv("ARGOSY_LONG") != NULL;
        setvbuf(stdout, NULL, _IOLBF, 0);
        look_for_kinds_without_a_case();
        turn_meter_begin(0, NULL); // makes what it measures by
        (void) turn_meter_end();
        log_set_level(LOG_WARNING);
        large_cluster_make(size_of("ARGOSY_TURN_HOSTS", is_long ? LONG_HOSTS : HOSTS),
                           size_of("ARGOSY_TURN_UNITS", is_long ? LONG_UNITS : UNITS));
        printf("%u units on %u hosts, made in %.1f s; 10 ms are %.1f here\n", large.n_units, large.n_hosts,
               now_sec() - began, (double) turn_scale_10ms_ns() / 1e6);
        if (is_long)
                measure_all(argv + 1, 0, 1);
        else
                measure_with_workers(argv + 1);
        printf("%.0f s\n", now_sec() - began);
        return n_failed > 0;
}
