// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Resource use of this host's units, for as long as somebody looks: a Look is one `argosyctl top`, here or
// elsewhere.
//
//   timer -> names of the active units that match -> their control groups -> one reading in the pool ->
//   rows to whoever asked, AGENT_USAGE_ROWS in a message, the last one marked
//
// A reading that takes longer than the interval makes the next one come later; there is never more than one
// per Look. Rates are made by whoever shows them: counters can be read by many.
//
// Where a unit's control group is follows from its slice and its name. Units that are somewhere else (a
// Slice= in a file or a drop-in of somebody) are found out the first time that they are missed, by one
// question to systemd per run of the unit, and then remembered.

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>

#include "agent-private.h"
#include "cgroup-path.h"
#include "clock.h"
#include "journal.h"
#include "unit-name.h"

enum {
        AGENT_USAGE_ROWS = 512,        // per message, about 60 bytes each
        AGENT_USAGE_NAMES_MAX = 20000, // whole names in one Look
        AGENT_USAGE_GLOBS_MAX = 64,    // and patterns: each unit is compared with each of them
        AGENT_USAGE_INTERVAL_MIN_MS = 100,
        AGENT_USAGE_ASKS_MAX = 16, // questions to systemd for control groups at a time
};

typedef struct Look {
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
        uint64_t began_us; // of the reading
        uint64_t reading;  // under way; 0: none
        char **names;      // of its units
        size_t n_names;
} Look;

typedef struct ToldGroup {
        uint8_t invocation_id[16]; // of the run that was asked for
        char *path;                // NULL: no answer yet, or it has none
        char name[];
} ToldGroup;

typedef struct Question { // userdata of what cannot be cancelled
        AgentNode *node;
        char name[];
} Question;

// ---- where a unit's control group is

static const char *node_root(AgentNode *node) {
        char root[CGROUP_PATH_MAX];
        int pid;

        if (node->cgroup_root && node->cgroup_pid == 0)
                return node->cgroup_root;
        pid = node->systemd ? systemd_manager_pid(node->systemd) : -ENOTCONN;
        if (pid < 0 || pid == node->cgroup_pid)
                return node->cgroup_root;
        free(TAKE_PTR(node->cgroup_root));
        node->cgroup_pid = pid; // also if it has none: that does not change while it runs
        if (cgroup_manager_root(pid, root, sizeof(root)) == 0)
                node->cgroup_root = strdup(root);
        return node->cgroup_root;
}

static void told_free(void *value) {
        ToldGroup *t = value;

        free(t->path);
        free(t);
}

// What was told about the present run.
static ToldGroup *told_find(const AgentUnit *u) {
        const UnitRuntime *rt = agent_unit_runtime(u);
        ToldGroup *t = map_find_str(&u->node->told, u->name);

        return t && rt && memcmp(t->invocation_id, rt->invocation_id, 16) == 0 ? t : NULL;
}

void agent_usage_forget(AgentUnit *u) {
        ToldGroup *t = map_take_str(&u->node->told, u->name);

        if (t)
                told_free(t);
}

void agent_usage_done(AgentNode *node) {
        map_done_with(&node->told, told_free);
        free(TAKE_PTR(node->cgroup_root));
}

char *agent_told_cgroup(AgentNode *node, const char *control_group) {
        const char *root = node_root(node);
        char path[CGROUP_PATH_MAX];

        if (!root || cgroup_told_path(root, control_group, path, sizeof(path)) < 0)
                return NULL;
        return strdup(path);
}

// Where the unit's control group is, if it has one. NULL: the manager's root is not known, or out of memory.
static char *unit_cgroup(const AgentUnit *u, const char *root) {
        const char *slice = u->held.slice;
        const ToldGroup *told = told_find(u);
        char by_default[UNIT_NAME_MAX * 4], path[CGROUP_PATH_MAX];

        if (told && told->path)
                return strdup(told->path);
        if (!root)
                return NULL;
        if (!*slice) {
                if (cgroup_default_slice(u->name, u->node->uid != JOURNAL_SYSTEM, by_default,
                                         sizeof(by_default)) < 0)
                        return NULL;
                slice = by_default;
        }
        return cgroup_unit_path(root, slice, u->name, path, sizeof(path)) < 0 ? NULL : strdup(path);
}

static void on_told(int error, const char *control_group, void *userdata) {
        _cleanup_free_ Question *q = userdata;
        ToldGroup *t = map_find_str(&q->node->told, q->name);

        q->node->n_asking--;
        if (!t)
                return;
        if (error < 0) { // asked again at the next miss
                map_take_str(&q->node->told, q->name);
                told_free(t);
                return;
        }
        free(t->path);
        t->path = *control_group ? agent_told_cgroup(q->node, control_group) : NULL;
}

static ToldGroup *told_new(AgentUnit *u, const UnitRuntime *rt) {
        size_t len = strlen(u->name) + 1;
        ToldGroup *t;

        agent_usage_forget(u);
        t = calloc(1, sizeof(*t) + len);
        if (!t)
                return NULL;
        memcpy(t->invocation_id, rt->invocation_id, 16);
        memcpy(t->name, u->name, len);
        if (map_add_str(&u->node->told, t->name, t) < 0) {
                free(t);
                return NULL;
        }
        return t;
}

// An active unit that has no control group where it should be: one question for each run.
static void miss(AgentUnit *u) {
        const UnitRuntime *rt = agent_unit_runtime(u);
        size_t len = strlen(u->name) + 1;
        Question *q;

        if (!rt || streq(rt->sub, "exited") || told_find(u) || u->node->n_asking >= AGENT_USAGE_ASKS_MAX)
                return;
        q = malloc(sizeof(*q) + len);
        if (!q || !told_new(u, rt)) {
                free(q);
                return;
        }
        q->node = u->node;
        memcpy(q->name, u->name, len);
        if (systemd_manager_control_group(u->node->systemd, q->name, on_told, q) < 0) {
                free(q);
                agent_usage_forget(u);
                return;
        }
        u->node->n_asking++;
}

// ---- rows

void agent_fill_usage(const UnitUsage *s, const char *unit, Argosy__Response__UsageRow *row) {
        enum { CPU = 1, TASKS = 2, MEMORY = 4, IO = 8 };

        argosy__response__usage_row__init(row);
        row->unit = (char *) unit;
        row->run = s->run;
        row->at_us = s->at_us;
        if (s->cpu_us != USAGE_NONE) {
                row->known |= CPU;
                row->cpu_us = s->cpu_us;
        }
        if (s->tasks != USAGE_NONE) {
                row->known |= TASKS;
                row->tasks = s->tasks;
        }
        if (s->memory != USAGE_NONE) {
                row->known |= MEMORY;
                row->memory = s->memory;
        }
        if (s->io_read != USAGE_NONE) {
                row->known |= IO;
                row->io_read = s->io_read;
                row->io_write = s->io_write;
        }
}

static Look *look_find(Agent *a, uint64_t number) {
        list_foreach (n, &a->looks) {
                Look *k = CONTAINER_OF(n, Look, link);

                if (k->number == number)
                        return k;
        }
        return NULL;
}

static void names_free(char **names, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(names[i]);
        free(names);
}

static void on_look_closed(uv_handle_t *handle) {
        Look *k = CONTAINER_OF((uv_timer_t *) handle, Look, timer);
        Agent *a = k->agent;

        map_done(&k->wanted);
        names_free(k->patterns, k->n_patterns);
        free(k->node_name);
        free(k);
        agent_close_step(a);
}

static void look_free(Look *k) {
        Agent *a = k->agent;

        list_unlink(&k->link);
        a->n_calls--;
        if (k->reading)
                cgroup_usage_cancel(a->usage, k->reading);
        names_free(TAKE_PTR(k->names), k->n_names);
        uv_close((uv_handle_t *) &k->timer, on_look_closed);
}

// The last word of a Look that cannot go on.
static void look_end(Look *k, int status, const char *why) {
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        AgentReply reply = k->reply;
        void *userdata = k->userdata;

        look_free(k);
        response.final = true;
        response.status = status;
        response.message = (char *) why;
        reply(&response, userdata);
}

typedef struct Page { // one message
        Argosy__Response response;
        Argosy__Response__Usage usage;
        Argosy__Response__UsageRow rows[AGENT_USAGE_ROWS], *pointers[AGENT_USAGE_ROWS];
} Page;

static void page_begin(Page *p) {
        p->response = (Argosy__Response) ARGOSY__RESPONSE__INIT;
        p->usage = (Argosy__Response__Usage) ARGOSY__RESPONSE__USAGE__INIT;
        p->response.what_case = ARGOSY__RESPONSE__WHAT_USAGE;
        p->response.usage = &p->usage;
        p->usage.rows = p->pointers;
}

// False: nobody listens any more. After the last page of a Look that wanted one reading it is gone too.
static bool page_send(Page *p, Agent *a, uint64_t number) {
        Look *k = look_find(a, number);
        AgentReply reply;
        void *userdata;

        if (!k)
                return false;
        reply = k->reply;
        userdata = k->userdata;
        p->usage.node = k->node_name; // lives as long as the timer's handle
        if (p->usage.last) {
                p->usage.took_us =
                        (uint32_t) MIN_OF(clock_monotonic_us() - k->began_us, (uint64_t) UINT32_MAX);
                p->response.final = k->interval_ms == 0;
                if (p->response.final)
                        look_free(k);
        }
        reply(&p->response, userdata);
        page_begin(p);
        return look_find(a, number) != NULL;
}

// `names` and `samples` of one reading. Whoever gets a page may cancel: the Look is looked up each time.
static void say_rows(Agent *a, uint64_t number, char **names, const UnitUsage *samples, size_t n) {
        _cleanup_free_ Page *p = malloc(sizeof(*p));

        if (!p) {
                Look *k = look_find(a, number);

                if (k && k->interval_ms == 0)
                        look_end(k, ENOMEM, "out of memory");
                return; // the next reading may do better
        }
        page_begin(p);
        for (size_t i = 0; i < n; i++) {
                size_t at = p->usage.n_rows;

                if (!samples[i].exists)
                        continue;
                if (at == AGENT_USAGE_ROWS) {
                        if (!page_send(p, a, number))
                                return;
                        at = 0;
                }
                agent_fill_usage(&samples[i], names[i], &p->rows[at]);
                p->pointers[at] = &p->rows[at];
                p->usage.n_rows = at + 1;
        }
        p->usage.last = true;
        (void) page_send(p, a, number);
}

// ---- readings

static void on_samples(const UnitUsage *samples, size_t n, void *userdata) {
        Look *k = userdata;
        char **names = TAKE_PTR(k->names);

        k->reading = 0;
        k->n_names = 0;
        for (size_t i = 0; i < n; i++) {
                AgentUnit *u = samples[i].exists ? NULL : agent_unit_find(k->node, names[i]);

                if (u)
                        miss(u);
        }
        say_rows(k->agent, k->number, names, samples, n);
        names_free(names, n);
}

static bool is_asked_for(const Look *k, const char *name) {
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

// Names go to the Look, paths to the caller.
static int collect(Look *k, char ***ret_paths) {
        size_t max = k->node->units.count;
        char **paths = calloc(max ?: 1, sizeof(*paths));
        const char *root = node_root(k->node);

        k->n_names = 0;
        k->names = calloc(max ?: 1, sizeof(*k->names));
        *ret_paths = paths;
        if (!paths || !k->names)
                return -ENOMEM;
        map_foreach (slot, &k->node->units) {
                const AgentUnit *u = slot->value;

                if (!may_have_group(u) || !is_asked_for(k, u->name))
                        continue;
                paths[k->n_names] = unit_cgroup(u, root);
                if (!paths[k->n_names])
                        continue;
                k->names[k->n_names] = strdup(u->name);
                if (!k->names[k->n_names++])
                        return -ENOMEM;
        }
        return 0;
}

static int read_now(Look *k) {
        char **paths, **names;
        size_t n;
        int r;

        k->began_us = clock_monotonic_us();
        r = collect(k, &paths);
        n = k->n_names;
        if (r == 0 && n > 0)
                r = cgroup_usage_read(k->agent->usage, (const char *const *) paths, n, on_samples, k,
                                      &k->reading);
        for (size_t i = 0; paths && i < n; i++)
                free(paths[i]);
        free(paths);
        if (r == 0 && n > 0)
                return 0;
        names = TAKE_PTR(k->names);
        k->n_names = 0;
        names_free(names, names ? n : 0);
        if (r == 0)
                say_rows(k->agent, k->number, NULL, NULL, 0);
        return r;
}

static void on_look_timer(uv_timer_t *timer) {
        Look *k = timer->data;

        if (!k->reading)
                (void) read_now(k); // what fails now may do better next time
}

// ---- calls

static int copy_words(Look *k, char **patterns, size_t n) {
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

int agent_look_start(Agent *a, AgentNode *node, const Argosy__Request__Top *q, AgentReply reply,
                     void *userdata, uint64_t *ret) {
        Look *k;
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
        *k = (Look){
                .agent = a, .node = node, .reply = reply, .userdata = userdata, .number = ++a->last_call};
        if (q->interval_ms)
                k->interval_ms = MAX_OF(q->interval_ms, (uint32_t) AGENT_USAGE_INTERVAL_MIN_MS);
        uv_timer_init(a->loop, &k->timer);
        k->timer.data = k;
        a->n_open++;
        a->n_calls++;
        list_append(&a->looks, &k->link);
        r = copy_words(k, q->patterns, q->n_patterns);
        if (r == 0) {
                *ret = k->number;
                if (k->interval_ms)
                        uv_timer_start(&k->timer, on_look_timer, k->interval_ms, k->interval_ms);
                r = read_now(k);
        }
        if (r < 0)
                look_free(k);
        else if (!look_find(a, *ret))
                *ret = 0;
        return r;
}

bool agent_look_cancel(Agent *a, uint64_t number) {
        Look *k = look_find(a, number);

        if (k)
                look_free(k);
        return k != NULL;
}

void agent_looks_drop_node(AgentNode *node) {
        Agent *a = node->agent;

        for (;;) {
                Look *k = NULL;

                list_foreach (n, &a->looks)
                        if (CONTAINER_OF(n, Look, link)->node == node)
                                k = CONTAINER_OF(n, Look, link);
                if (!k)
                        return;
                look_end(k, ECONNRESET, "the manager was detached"); // whoever is told may cancel others
        }
}

void agent_looks_drop(Agent *a) {
        while (!list_is_empty(&a->looks))
                look_free(CONTAINER_OF(a->looks.next, Look, link));
}
