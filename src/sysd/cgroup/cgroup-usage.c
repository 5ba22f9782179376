// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The happy path: cgroup_usage_read() -> Reading, in a queue -> a job of the pool reads -> `done`.
//
// At most USAGE_JOBS_MAX of them are in the pool. A reading has its groups' open files and its samples for
// itself until it is back on the loop: nothing is locked.
//
// Which groups stay open: those that come first, up to a limit. A reading goes over its groups in the same
// order each time; throwing out the one that was read longest ago would then throw out each of them just
// before it is needed. So a group has to be without questions for a while before another one gets its place,
// and what finds no place is opened and closed for each reading.
//
// lifetime   born                                       dies
// Group      read for the first time, if there is room  USAGE_HELD_SEC without a question, or with the
//                                                       object
// Reading    cgroup_usage_read()                        after `done`; a cancelled one when it is in no job

#include <errno.h>
#include <sys/resource.h>

#include "cgroup-files.h"
#include "clock.h"
#include "list.h"
#include "map.h"
#include "pool.h"
#include "uvx.h"

enum {
        SWEEP_MS = 5000,     // how often it is looked for groups that nobody asks for
        SWEEP_AGAIN_MS = 10, // and how soon again if there are more than
        SWEEP_GROUPS = 64,   // which are closed in one turn of the loop, about 1 us for each file
};

typedef struct Group {
        ListNode link; // in u->held, the one that was asked for longest ago first
        CgroupFiles files;
        uint64_t used_us;
        bool busy; // a job has its files
        char path[];
} Group;

typedef struct Item {
        const char *path;
        Group *group; // while it is in the pool; NULL: not held
} Item;

typedef struct Reading { // in one piece with what it points to
        ListNode link;   // in u->waiting or u->running
        PoolWork work;
        CgroupUsage *usage;
        uint64_t number;
        CgroupUsageDone done; // NULL: cancelled
        void *userdata;
        size_t n;
        Item *items;
        UnitUsage *samples;
} Reading;

struct CgroupUsage {
        uv_loop_t *loop;
        uv_timer_t sweep;
        Map groups; // path -> Group
        ListNode held;
        size_t max_groups;
        ListNode waiting, running;
        unsigned n_waiting, n_running;
        uint64_t last_number;
        bool closing, timer_closed;
        void (*closed)(void *userdata);
        void *closed_data;
};

static void pump(CgroupUsage *u);

// ---- groups

static void group_free(CgroupUsage *u, Group *g) {
        map_take_str(&u->groups, g->path);
        list_unlink(&g->link);
        cgroup_files_close(&g->files);
        free(g);
}

static bool is_idle(const Group *g, uint64_t now_us) {
        return now_us - g->used_us >= USAGE_HELD_SEC * USEC_PER_SEC;
}

static bool make_room(CgroupUsage *u, uint64_t now_us) {
        Group *oldest;

        if (u->groups.count < u->max_groups)
                return true;
        if (list_is_empty(&u->held))
                return false;
        oldest = CONTAINER_OF(u->held.next, Group, link);
        if (oldest->busy || !is_idle(oldest, now_us))
                return false;
        group_free(u, oldest);
        return true;
}

// The group for one job. NULL: it is not to be held.
static Group *group_take(CgroupUsage *u, const char *path, uint64_t now_us) {
        Group *g = map_find_str(&u->groups, path);

        if (g && g->busy)
                return NULL; // named twice: two jobs may not have the same files
        if (!g && make_room(u, now_us)) {
                g = MAP_NEW_STR(&u->groups, Group, path, path);
                if (!g)
                        return NULL;
                g->files = CGROUP_FILES_CLOSED;
                list_init(&g->link);
        }
        if (!g)
                return NULL;
        g->used_us = now_us;
        g->busy = true;
        list_unlink(&g->link);
        list_append(&u->held, &g->link);
        return g;
}

// A group that does not exist needs no place.
static void group_give_back(CgroupUsage *u, Group *g) {
        g->busy = false;
        if (g->files.dir < 0)
                group_free(u, g);
}

// Does nothing while a reading is under way, as that uses groups.
static void on_sweep(uv_timer_t *timer) {
        CgroupUsage *u = timer->data;
        uint64_t now_us = clock_monotonic_us();
        unsigned n = 0;

        if (u->n_waiting + u->n_running > 0)
                return;
        while (!list_is_empty(&u->held) && n < SWEEP_GROUPS) {
                Group *g = CONTAINER_OF(u->held.next, Group, link);

                if (!is_idle(g, now_us))
                        break;
                group_free(u, g);
                n++;
        }
        if (list_is_empty(&u->held))
                uv_timer_stop(&u->sweep);
        else if (n == SWEEP_GROUPS)
                uv_timer_start(&u->sweep, on_sweep, SWEEP_AGAIN_MS, SWEEP_MS);
}

// ---- readings

static void waiting_free(CgroupUsage *u, Reading *r) {
        list_unlink(&r->link);
        u->n_waiting--;
        free(r);
}

static void maybe_closed(CgroupUsage *u) {
        void (*closed)(void *) = u->closed;
        void *data = u->closed_data;

        if (!u->closing || u->n_running > 0 || !u->timer_closed)
                return;
        while (!list_is_empty(&u->held))
                group_free(u, CONTAINER_OF(u->held.next, Group, link));
        map_done(&u->groups);
        free(u);
        if (closed)
                closed(data);
}

// In the pool.
static void run(PoolWork *work) {
        Reading *r = CONTAINER_OF(work, Reading, work);

        for (size_t i = 0; i < r->n; i++) {
                CgroupFiles once = CGROUP_FILES_CLOSED;

                cgroup_files_read(r->items[i].group ? &r->items[i].group->files : &once, r->items[i].path,
                                  &r->samples[i]);
                cgroup_files_close(&once);
        }
}

static void on_back(PoolWork *work) {
        Reading *r = CONTAINER_OF(work, Reading, work);
        CgroupUsage *u = r->usage;

        for (size_t i = 0; i < r->n; i++)
                if (r->items[i].group)
                        group_give_back(u, TAKE_PTR(r->items[i].group));
        list_unlink(&r->link);
        u->n_running--;
        pump(u); // before `done`, which may close us
        if (r->done)
                r->done(r->samples, r->n, r->userdata);
        else
                maybe_closed(u);
        free(r);
}

static void start(CgroupUsage *u, Reading *r) {
        uint64_t now_us = clock_monotonic_us();

        for (size_t i = 0; i < r->n; i++)
                r->items[i].group = group_take(u, r->items[i].path, now_us);
        list_unlink(&r->link);
        list_append(&u->running, &r->link);
        u->n_waiting--;
        u->n_running++;
        pool_add(u->loop, &r->work, POOL_GUESTS, run, on_back);
}

static void pump(CgroupUsage *u) {
        while (!u->closing && !list_is_empty(&u->waiting) && u->n_running < USAGE_JOBS_MAX)
                start(u, CONTAINER_OF(u->waiting.next, Reading, link));
}

static Reading *reading_new(CgroupUsage *u, const char *const *paths, size_t n) {
        size_t len = 0;
        Reading *r;
        char *text;

        for (size_t i = 0; i < n; i++)
                len += strlen(paths[i]) + 1;
        r = calloc(1, sizeof(*r) + n * (sizeof(Item) + sizeof(UnitUsage)) + len);
        if (!r)
                return NULL;
        r->usage = u;
        r->n = n;
        r->samples = (UnitUsage *) (r + 1);
        r->items = (Item *) (r->samples + n);
        text = (char *) (r->items + n);
        for (size_t i = 0; i < n; i++) {
                r->items[i].path = text;
                text = stpcpy(text, paths[i]) + 1;
        }
        return r;
}

int cgroup_usage_read(CgroupUsage *u, const char *const *paths, size_t n, CgroupUsageDone done,
                      void *userdata, uint64_t *ret_id) {
        Reading *r;

        if (n > USAGE_UNITS_PER_READING)
                return -E2BIG;
        if (u->n_waiting + u->n_running >= USAGE_READS_MAX)
                return -EBUSY;
        r = reading_new(u, paths, n);
        if (!r)
                return -ENOMEM;
        r->number = ++u->last_number;
        r->done = done;
        r->userdata = userdata;
        list_append(&u->waiting, &r->link);
        u->n_waiting++;
        *ret_id = r->number;
        if (!uv_is_active((uv_handle_t *) &u->sweep))
                uv_timer_start(&u->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
        pump(u);
        return 0;
}

void cgroup_usage_cancel(CgroupUsage *u, uint64_t id) {
        list_foreach (n, &u->running) {
                Reading *r = CONTAINER_OF(n, Reading, link);

                if (r->number == id)
                        r->done = NULL;
        }
        list_foreach_safe (n, &u->waiting) {
                Reading *r = CONTAINER_OF(n, Reading, link);

                if (r->number == id)
                        waiting_free(u, r);
        }
}

// ---- life

static size_t groups_allowed(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return 0;
        return (size_t) MIN_OF((uint64_t) limit.rlim_cur / 4 / USAGE_FDS_PER_GROUP,
                               (uint64_t) USAGE_GROUPS_HELD);
}

int cgroup_usage_new(uv_loop_t *loop, size_t max_groups, CgroupUsage **ret) {
        CgroupUsage *u = calloc(1, sizeof(*u));

        if (!u)
                return -ENOMEM;
        *u = (CgroupUsage){.loop = loop, .max_groups = max_groups ?: groups_allowed()};
        list_init(&u->held);
        list_init(&u->waiting);
        list_init(&u->running);
        uv_timer_init(loop, &u->sweep);
        u->sweep.data = u;
        *ret = u;
        return 0;
}

static void on_timer_closed(uv_handle_t *handle) {
        CgroupUsage *u = handle->data;

        u->timer_closed = true;
        maybe_closed(u);
}

void cgroup_usage_close(CgroupUsage *u, void (*closed)(void *userdata), void *userdata) {
        u->closing = true;
        u->closed = closed;
        u->closed_data = userdata;
        list_foreach (n, &u->running)
                CONTAINER_OF(n, Reading, link)->done = NULL;
        while (!list_is_empty(&u->waiting))
                waiting_free(u, CONTAINER_OF(u->waiting.next, Reading, link));
        uv_close((uv_handle_t *) &u->sweep, on_timer_closed);
}

size_t cgroup_usage_n_held(const CgroupUsage *u) {
        return u->groups.count;
}
