// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See pool.h. add -> [line] -> run() by a thread -> done() on the loop -> the next of some line.
//
// There is no handle to close: a loop runs until the pool has nothing of it any more, and neither have the
// lines, since each piece that comes back begins the next.

#include "pool.h"

#include <stdlib.h>

#include "macro.h"
#include "oom.h"
#include "process-end.h"

static const unsigned most[_POOL_SHARES] = {
        [POOL_CLUSTER] = POOL_OURS,      [POOL_GUESTS] = POOL_GUESTS_MAX, [POOL_LATER] = POOL_LATER_MAX,
        [POOL_USERS] = POOL_USERS_MAX,   [POOL_HOSTS] = POOL_HOSTS_MAX,   [POOL_PLACES] = POOL_PLACES_MAX,
};

// Each loop has lines of its own, and its own share of the threads.
typedef struct LoopLines {
        uv_loop_t *loop;
        struct LoopLines *next;
        ListNode lines[_POOL_SHARES];
        ListNode running; // PoolWork.link
        unsigned n_running[_POOL_SHARES], n_ours;
} LoopLines;

static _Thread_local LoopLines *all_lines; // of loops that this thread runs: argosyd has one

static LoopLines *lines_of(uv_loop_t *loop) {
        LoopLines *l = all_lines;

        while (l && l->loop != loop)
                l = l->next;
        if (l)
                return l;
        l = oom_checked(calloc(1, sizeof(*l)));
        l->loop = loop;
        list_init(&l->running);
        for (unsigned i = 0; i < _POOL_SHARES; i++)
                list_init(&l->lines[i]);
        l->next = all_lines;
        all_lines = l;
        return l;
}

static bool is_running_for(const LoopLines *l, const void *of) {
        list_foreach (n, &l->running)
                if (CONTAINER_OF(n, PoolWork, link)->of == of)
                        return true;
        return false;
}

// The first whose principal has nothing under way, or the first that need not be alone.
static PoolWork *next_of(const LoopLines *l, const ListNode *line) {
        PoolWork *second = NULL;

        list_foreach (n, line) {
                PoolWork *w = CONTAINER_OF(n, PoolWork, link);

                if (!w->of || !is_running_for(l, w->of))
                        return w;
                if (!second && !w->alone)
                        second = w;
        }
        return second;
}

// What may hang has threads of its own.
static bool is_ours(PoolShare share) {
        return share != POOL_USERS && share != POOL_HOSTS && share != POOL_PLACES;
}

static PoolWork *next(const LoopLines *l) {
        for (unsigned i = 0; i < _POOL_SHARES; i++) {
                bool may = l->n_running[i] < most[i] && (!is_ours(i) || l->n_ours < POOL_OURS);
                PoolWork *w = may ? next_of(l, &l->lines[i]) : NULL;

                if (w)
                        return w;
        }
        return NULL;
}

static void on_work(uv_work_t *work) {
        PoolWork *w = CONTAINER_OF(work, PoolWork, work);

        w->run(w);
}

static void on_worked(uv_work_t *work, int status);

static void go_on(LoopLines *l) {
        PoolWork *w;

        while ((w = next(l))) {
                list_unlink(&w->link);
                list_append(&l->running, &w->link);
                l->n_running[w->share]++;
                l->n_ours += is_ours(w->share);
                if (uv_queue_work(w->loop, &w->work, on_work, on_worked) < 0)
                        process_abort("the pool takes no work"); // only for a NULL callback
        }
}

static void on_worked(uv_work_t *work, int status) {
        PoolWork *w = CONTAINER_OF(work, PoolWork, work);
        LoopLines *l = lines_of(w->loop);

        list_unlink(&w->link);
        l->n_running[w->share]--;
        l->n_ours -= is_ours(w->share);
        go_on(l); // before `done`, which may take its time
        w->done(w);
}

void pool_add(uv_loop_t *loop, PoolWork *w, PoolShare share, void (*run)(PoolWork *w),
              void (*done)(PoolWork *w)) {
        LoopLines *l = lines_of(loop);

        w->loop = loop;
        w->share = share;
        w->run = run;
        w->done = done;
        list_init(&w->link);
        list_append(&l->lines[share], &w->link);
        go_on(l);
}

// ---- memory

typedef struct Released {
        PoolWork work;
        void *what;
        void (*release)(void *what);
} Released;

static void run_release(PoolWork *w) {
        Released *r = CONTAINER_OF(w, Released, work);

        r->release(r->what);
}

static void on_released(PoolWork *w) {
        free(CONTAINER_OF(w, Released, work));
}

static void run_nothing(PoolWork *w) {
}

// There is one thread for them, so nothing overtakes.
void pool_after_releases(uv_loop_t *loop, PoolWork *w, void (*done)(PoolWork *w)) {
        _Static_assert(POOL_LATER_MAX == 1, "one after the other");

        pool_add(loop, w, POOL_LATER, run_nothing, done);
}

void pool_release(uv_loop_t *loop, void *what, void (*release)(void *what)) {
        Released *r = calloc(1, sizeof(*r));

        if (!r) {
                release(what);
                return;
        }
        r->what = what;
        r->release = release;
        pool_add(loop, &r->work, POOL_LATER, run_release, on_released);
}
