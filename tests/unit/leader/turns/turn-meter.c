// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See turn-meter.h.
#include "turn-meter.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "leader.h"
#include "test.h"

enum { TOTAL_MS_MAX = 4000 }; // what has taken so long by then goes on as it was

static TurnMeter meter;
static bool counts;
static unsigned depth;
static double fault_ns, too_long_ms, ms_per_ns, total_ms;
static void (*tell)(const TurnMeter *m);

static uint64_t cpu_ns(void) {
        struct timespec t;

        (void) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

static long faults(void) {
        struct rusage usage;

        (void) getrusage(RUSAGE_THREAD, &usage);
        return usage.ru_minflt;
}

// ---- what is measured

typedef struct Turn {
        uint64_t began_ns;
        long faults;
} Turn;

static Turn turn_begin(void) {
        if (!counts || depth++ > 0)
                return (Turn){};
        return (Turn){.faults = faults(), .began_ns = cpu_ns()};
}

static void turn_end(const Turn *t, const char *what, int detail) {
        if (!counts || --depth > 0)
                return;
        double ms =
                ms_per_ns * ((double) (cpu_ns() - t->began_ns) - fault_ns * (double) (faults() - t->faults));
        meter.n++;
        total_ms += ms;
        if (ms > meter.longest_ms) {
                meter.longest_ms = ms;
                snprintf(meter.where, sizeof(meter.where), "%s %d", what, detail);
        }
        if (meter.longest_ms > too_long_ms || total_ms > TOTAL_MS_MAX)
                tell(&meter);
}

#define WRAP(type, name, parameters, arguments, detail) \
        type __real_##name parameters;                  \
        type __wrap_##name parameters;                  \
        type __wrap_##name parameters {                 \
                int of = (int) (detail);                \
                Turn t = turn_begin();                  \
                type result = __real_##name arguments;  \
                                                        \
                turn_end(&t, #name, of);                \
                return result;                          \
        }
#define WRAP_VOID(name, parameters, arguments, detail) \
        void __real_##name parameters;                 \
        void __wrap_##name parameters;                 \
        void __wrap_##name parameters {                \
                int of = (int) (detail);               \
                Turn t = turn_begin();                 \
                                                       \
                __real_##name arguments;               \
                turn_end(&t, #name, of);               \
        }

WRAP(int, uv_run, (uv_loop_t * loop, uv_run_mode mode), (loop, mode), (int) meter.n)
WRAP(int, leader_request,
     (Leader * l, const Argosy__Author *author, const Argosy__Request *q, LeaderRespond respond, void *data,
      uint64_t *ret),
     (l, author, q, respond, data, ret), q->what_case)
WRAP(int, leader_request_lent,
     (Leader * l, const Argosy__Author *author, const Argosy__Request *q, LeaderRespond respond, void *data,
      uint64_t *ret),
     (l, author, q, respond, data, ret), q->what_case)
WRAP(bool, leader_set_leading, (Leader * l, bool leading, uint64_t term), (l, leading, term), leading)
WRAP_VOID(leader_on_message, (Leader * l, uint32_t host, Argosy__ToVoter *m), (l, host, m), m->msg_case)
WRAP_VOID(leader_on_host_link, (Leader * l, uint32_t host, const Argosy__ToVoter__Hello *hello),
          (l, host, hello), host)
WRAP_VOID(leader_on_host_drained, (Leader * l, uint32_t host), (l, host), 0)
WRAP_VOID(leader_on_time, (Leader * l), (l), 0)
WRAP_VOID(leader_cancel, (Leader * l, uint64_t cancel), (l, cancel), 0)

// ---- what it is measured by

enum { PAGE = 4096, PAGES = 2048 };

// The price of the first touch of a page that another process has, too.
static double price_of_a_fault(void) {
        static volatile char *pages;

        if (!pages) {
                pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                assert_true(pages != MAP_FAILED);
                for (unsigned i = 0; i < PAGES; i++)
                        pages[i * PAGE] = 1;
                return 0;
        }
        uint64_t began = cpu_ns();
        for (unsigned i = 0; i < PAGES; i++)
                pages[i * PAGE] = 2;
        double touched = (double) (cpu_ns() - began);
        began = cpu_ns();
        for (unsigned i = 0; i < PAGES; i++)
                pages[i * PAGE] = 3;
        double untouched = (double) (cpu_ns() - began);
        return touched > untouched ? (touched - untouched) / PAGES : 0;
}

void turn_meter_begin(double too_long, void (*tell_too_long)(const TurnMeter *m)) {
        too_long_ms = too_long;
        tell = tell_too_long;
        fault_ns = price_of_a_fault();
        ms_per_ns = 10 / (double) turn_scale_10ms_ns();
        meter = (TurnMeter){};
        total_ms = 0;
        depth = 0;
        counts = true;
}

TurnMeter turn_meter_end(void) {
        counts = false;
        return meter;
}
