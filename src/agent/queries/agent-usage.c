// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Resource use of this host's units, for as long as somebody looks: a query is one `argosyctl top`, here or
// elsewhere.
//
//   timer -> the names of all units, copied -> pieces of them: those that match and are active, their
//   control groups -> the pool reads -> their rows to the asker -> the next piece ... -> a message
//   marked as last
//
// A piece is what one turn of the loop has to do with it: it is short however many units there are, and
// nobody waits for more of it. QUERY_PIECES of them are under way at a time, so that the pool has something
// to read while rows are made. A reading that takes longer than the interval makes the next one come later;
// there is never more than one per query. The client makes rates of the counters, so that many clients can
// share them.

#include <errno.h>
#include <fnmatch.h>

#include "agent-cgroups.h"
#include "agent-core.h"
#include "agent-unit.h"
#include "agent-usage.h"
#include "buf.h"
#include "cgroup-path.h"
#include "clock.h"
#include "row-json.h"

enum {
        AGENT_USAGE_NAMES_MAX = 20000, // whole names in one query
        AGENT_USAGE_GLOBS_MAX = 64,    // and patterns: each unit is compared with each of them
        AGENT_USAGE_INTERVAL_MIN_MS = 100,
        QUERY_PIECES = USAGE_JOBS_MAX,
        QUERY_NAMES_PER_PIECE = 2 * USAGE_UNITS_PER_READING, // looked at, also if they do not match
};

typedef struct Piece {
        struct UsageQuery *query;
        uint64_t reading;                        // of the pool; 0: it rests
        uint32_t names[USAGE_UNITS_PER_READING]; // where they are in the query's
} Piece;

typedef struct UsageQuery {
        ListNode link; // in a->looks
        uint64_t number;
        Agent *agent;
        AgentNode *node;
        AgentReply reply;
        void *userdata;
        char *node_name;
        char **patterns; // as asked for
        size_t n_patterns;
        Map wanted;                               // those that are whole names, by themselves
        const char *globs[AGENT_USAGE_GLOBS_MAX]; // and the others
        size_t n_globs;
        uint32_t interval_ms; // 0: once
        uv_timer_t timer;
        bool reading;      // one is under way
        uint64_t began_us; // of it
        Buf names;         // of it, each with its NUL
        size_t at;         // the first name that was in no piece yet
        Piece pieces[QUERY_PIECES];
} UsageQuery;

// ---- rows

void agent_fill_usage(const UnitUsage *s, const char *unit, Argosy__Response__UsageRow *row) {
        argosy__response__usage_row__init(row);
        row->unit = (char *) unit;
        row->run = s->run;
        row->at_us = s->at_us;
        if (s->cpu_us != USAGE_NONE) {
                row->known |= KNOWS_CPU;
                row->cpu_us = s->cpu_us;
        }
        if (s->tasks != USAGE_NONE) {
                row->known |= KNOWS_TASKS;
                row->tasks = s->tasks;
        }
        if (s->memory != USAGE_NONE) {
                row->known |= KNOWS_MEMORY;
                row->memory = s->memory;
        }
        if (s->io_read != USAGE_NONE) {
                row->known |= KNOWS_IO;
                row->io_read = s->io_read;
                row->io_write = s->io_write;
        }
}

static UsageQuery *query_find(Agent *a, uint64_t number) {
        list_foreach (n, &a->usage_queries) {
                UsageQuery *k = CONTAINER_OF(n, UsageQuery, link);

                if (k->number == number)
                        return k;
        }
        return NULL;
}

static void on_query_closed(uv_handle_t *handle) {
        UsageQuery *k = CONTAINER_OF((uv_timer_t *) handle, UsageQuery, timer);
        Agent *a = k->agent;

        map_done(&k->wanted);
        for (size_t i = 0; i < k->n_patterns; i++)
                free(k->patterns[i]);
        free(k->patterns);
        buf_done(&k->names);
        free(k->node_name);
        free(k);
        agent_close_step(a);
}

// Its names stay until its timer is closed: a message that is on its way points to them.
static void query_free(UsageQuery *k) {
        Agent *a = k->agent;

        list_unlink(&k->link);
        a->n_calls--;
        for (size_t i = 0; i < QUERY_PIECES; i++)
                if (k->pieces[i].reading)
                        cgroup_usage_cancel(a->usage, k->pieces[i].reading);
        uv_close((uv_handle_t *) &k->timer, on_query_closed);
}

// The last word of a query that cannot go on.
static void query_end(UsageQuery *k, int status, const char *why) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        AgentReply reply = k->reply;
        void *userdata = k->userdata;

        query_free(k);
        response.final = true;
        response.status = status;
        response.message = (char *) why;
        reply(&response, userdata);
}

typedef struct Page { // one message
        Argosy__Response response;
        Argosy__Response__Usage usage;
        Argosy__Response__UsageRow rows[USAGE_UNITS_PER_READING], *pointers[USAGE_UNITS_PER_READING];
} Page;

static void page_fill(Page *page, const Piece *p, const UnitUsage *samples, size_t n) {
        const char *names = (const char *) p->query->names.data;
        Argosy__Response__Usage *usage = &page->usage;

        page->response = (Argosy__Response) ARGOSY__RESPONSE__INIT;
        *usage = (Argosy__Response__Usage) ARGOSY__RESPONSE__USAGE__INIT;
        page->response.what_case = ARGOSY__RESPONSE__WHAT_USAGE;
        page->response.usage = usage;
        usage->rows = page->pointers;
        usage->node = p->query->node_name;
        for (size_t i = 0; i < n; i++) {
                if (!samples[i].exists)
                        continue;
                agent_fill_usage(&samples[i], names + p->names[i], &page->rows[usage->n_rows]);
                page->pointers[usage->n_rows] = &page->rows[usage->n_rows];
                usage->n_rows++;
        }
}

static bool is_last_piece(const UsageQuery *k) {
        for (size_t i = 0; i < QUERY_PIECES; i++)
                if (k->pieces[i].reading)
                        return false;
        return k->at >= k->names.len;
}

// The reply may cancel the query, so it is looked up by its number afterwards. After the last page of a
// query that wanted one reading it is gone, too.
static void page_send(Page *page, UsageQuery *k) {
        AgentReply reply = k->reply;
        void *userdata = k->userdata;

        if (is_last_piece(k)) {
                page->usage.last = true;
                page->usage.took_us =
                        (uint32_t) MIN_OF(clock_monotonic_us() - k->began_us, (uint64_t) UINT32_MAX);
                k->reading = false;
                page->response.final = k->interval_ms == 0;
                if (page->response.final)
                        query_free(k);
        }
        if (page->usage.n_rows > 0 || page->usage.last)
                reply(&page->response, userdata);
}

// ---- readings

static int go_on(UsageQuery *k);

static void on_samples(const UnitUsage *samples, size_t n, void *userdata) {
        Piece *p = userdata;
        UsageQuery *k = p->query;
        Agent *a = k->agent;
        uint64_t number = k->number;
        Page page;
        int r;

        p->reading = 0;
        for (size_t i = 0; i < n; i++) {
                AgentUnit *u =
                        samples[i].exists
                                ? NULL
                                : agent_unit_find(k->node, (const char *) k->names.data + p->names[i]);

                if (u)
                        agent_cgroup_missed(u);
        }
        page_fill(&page, p, samples, n);
        page_send(&page, k);
        k = query_find(a, number);
        r = k && k->reading ? go_on(k) : 0;
        if (r < 0)
                query_end(k, -r, strerror(-r));
}

static bool is_asked_for(const UsageQuery *k, const char *name) {
        if (k->n_patterns == 0 || map_find_str(&k->wanted, name))
                return true;
        for (size_t i = 0; i < k->n_globs; i++)
                if (fnmatch(k->globs[i], name, FNM_NOESCAPE) == 0)
                        return true;
        return false;
}

static bool may_have_group(const AgentUnit *u) {
        const UnitRuntime *rt = agent_unit_runtime(u);

        return u->has_held && rt && rt->loaded && rt->active != ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE &&
               rt->active != ARGOSY__ACTIVE_STATE__ACTIVE_FAILED && cgroup_is_for(u->name);
}

// 0: added to `paths` and to the piece; -EAGAIN: this one is not to be read.
static int piece_add(Piece *p, size_t at, const char *root, size_t n, Buf *paths) {
        const char *name = (const char *) p->query->names.data + at;
        const AgentUnit *u = is_asked_for(p->query, name) ? agent_unit_find(p->query->node, name) : NULL;
        char path[CGROUP_PATH_MAX];

        if (!u || !may_have_group(u) || agent_unit_cgroup(u, root, path, sizeof(path)) < 0)
                return -EAGAIN;
        p->names[n] = (uint32_t) at;
        return buf_append(paths, path, strlen(path) + 1);
}

static int piece_start(Piece *p, const Buf *paths, size_t n) {
        const char *list[USAGE_UNITS_PER_READING], *path = (const char *) paths->data;

        for (size_t i = 0; i < n; i++, path += strlen(path) + 1)
                list[i] = path;
        return cgroup_usage_read(p->query->agent->usage, list, n, on_samples, p, &p->reading);
}

// The next names of the query. If none of them is to be read, the pool has nothing to do, and the piece
// comes back all the same, in another turn.
static int piece_fill(Piece *p, const char *root) {
        UsageQuery *k = p->query;
        _cleanup_buf_ Buf paths = {};
        size_t n = 0;

        for (size_t checked = 0;
             checked < QUERY_NAMES_PER_PIECE && n < USAGE_UNITS_PER_READING && k->at < k->names.len;
             checked++) {
                int r = piece_add(p, k->at, root, n, &paths);

                if (r < 0 && r != -EAGAIN)
                        return r;
                n += r == 0;
                k->at += strlen((const char *) k->names.data + k->at) + 1;
        }
        return piece_start(p, &paths, n);
}

// Every reading has one piece at least, whose message is the last.
static int go_on(UsageQuery *k) {
        const char *root = agent_cgroup_root(k->node);
        int r = 0;

        for (size_t i = 0; i < QUERY_PIECES && r == 0; i++)
                if (!k->pieces[i].reading && (k->at < k->names.len || (i == 0 && is_last_piece(k))))
                        r = piece_fill(&k->pieces[i], root);
        return r;
}

static int add_name(UsageQuery *k, const char *name) {
        size_t len = strlen(name) + 1;

        return k->names.len + len > UINT32_MAX ? -E2BIG : buf_append(&k->names, name, len);
}

// Units come and go while a reading is under way, and so do their places in the map: hence the copy.
static int copy_names(UsageQuery *k) {
        int r = 0;

        k->names.len = k->at = 0;
        if (k->n_patterns > 0 && k->n_globs == 0) {
                map_foreach (slot, &k->wanted)
                        if (r == 0)
                                r = add_name(k, slot->key);
        } else {
                agent_foreach_unit(u, k->node)
                        if (r == 0)
                                r = add_name(k, u->name);
        }
        return r;
}

static int read_now(UsageQuery *k) {
        int r;

        k->began_us = clock_monotonic_us();
        r = copy_names(k);
        if (r < 0)
                return r;
        k->reading = true;
        return go_on(k);
}

static void on_query_timer(uv_timer_t *timer) {
        UsageQuery *k = timer->data;
        int r = k->reading ? 0 : read_now(k);

        if (r < 0)
                query_end(k, -r, strerror(-r));
}

// ---- calls

static int copy_words(UsageQuery *k, char **patterns, size_t n) {
        k->node_name = agent_node_name(k->node);
        k->patterns = calloc(n ?: 1, sizeof(*k->patterns));
        if (!k->node_name || !k->patterns)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                char *word = strdup(patterns[i]);

                if (!word)
                        return -ENOMEM;
                k->patterns[k->n_patterns++] = word;
                if (!strpbrk(word, "*?[")) {
                        if (map_add_str(&k->wanted, word, word) == -ENOMEM)
                                return -ENOMEM;
                        continue;
                }
                if (k->n_globs == AGENT_USAGE_GLOBS_MAX)
                        return -E2BIG;
                k->globs[k->n_globs++] = word;
        }
        return 0;
}

int agent_usage_start(Agent *a, AgentNode *node, const Argosy__Request__Top *q, AgentReply reply,
                      void *userdata, uint64_t *ret) {
        UsageQuery *k;
        int r;

        if (a->n_calls >= AGENT_CALLS_MAX)
                return -EBUSY;
        if (q->n_patterns > AGENT_USAGE_NAMES_MAX)
                return -E2BIG;
        if (!a->usage)
                return -ESHUTDOWN;
        k = calloc(1, sizeof(*k));
        if (!k)
                return -ENOMEM;
        *k = (UsageQuery){
                .agent = a, .node = node, .reply = reply, .userdata = userdata, .number = ++a->last_call};
        if (q->interval_ms)
                k->interval_ms = MAX_OF(q->interval_ms, (uint32_t) AGENT_USAGE_INTERVAL_MIN_MS);
        uv_timer_init(a->loop, &k->timer);
        k->timer.data = k;
        for (size_t i = 0; i < QUERY_PIECES; i++)
                k->pieces[i].query = k;
        a->n_open++;
        a->n_calls++;
        list_append(&a->usage_queries, &k->link);
        r = copy_words(k, q->patterns, q->n_patterns);
        if (r == 0) {
                *ret = k->number;
                if (k->interval_ms)
                        uv_timer_start(&k->timer, on_query_timer, k->interval_ms, k->interval_ms);
                r = read_now(k);
        }
        if (r < 0)
                query_free(k);
        return r;
}

bool agent_usage_cancel(Agent *a, uint64_t number) {
        UsageQuery *k = query_find(a, number);

        if (k)
                query_free(k);
        return k != NULL;
}

void agent_usage_drop_node(AgentNode *node) {
        Agent *a = node->agent;

        for (;;) {
                UsageQuery *k = NULL;

                list_foreach (n, &a->usage_queries)
                        if (CONTAINER_OF(n, UsageQuery, link)->node == node)
                                k = CONTAINER_OF(n, UsageQuery, link);
                if (!k)
                        return;
                query_end(k, ECONNRESET, "the manager was detached"); // the reply may cancel others
        }
}

void agent_usage_drop(Agent *a) {
        while (!list_is_empty(&a->usage_queries))
                query_free(CONTAINER_OF(a->usage_queries.next, UsageQuery, link));
}
