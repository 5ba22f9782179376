// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See hosts-checks.h. The truth is what the machines' PIDs 1 run, what the log has, and what clients were told.
#include "hosts-checks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "buf.h"
#include "clock.h"
#include "cluster-state.h"
#include "daemon.h"
#include "fake-pid1.h"
#include "hash.h"
#include "hosts-plan.h"
#include "mesh.h"
#include "sim-client.h"
#include "sim-host.h"
#include "sim-store.h"
#include "story.h"
#include "str.h"

#define ORDER_US (30 * USEC_PER_SEC)  // a host without a fault for so long is in order
#define CALM_US (180 * USEC_PER_SEC)  // by then what must come true has
enum { STATES_EVERY = 8, STATES_MAX = 100000 };

const char *const hosts_check_names[_HOSTS_CHECKS] = {
#define HOSTS_CHECK_NAME(name) [HOSTS_CHECK_##name] = #name,
        HOSTS_CHECKS(HOSTS_CHECK_NAME)
#undef HOSTS_CHECK_NAME
};

static struct {
        unsigned n_units;
        uint64_t said[_HOSTS_CHECKS];
        Hash *states; // by index / STATES_EVERY
        bool *known;
        uint64_t in_order_us; // since when the hosts that are in order have been so without a change
} checks;

void hosts_check_fail(HostsCheck check, const char *format, ...) {
        va_list ap;

        story_show_end();
        fprintf(stderr, "check %s: ", hosts_check_names[check]);
        va_start(ap, format);
        vfprintf(stderr, format, ap);
        va_end(ap);
        fprintf(stderr, " (at %" PRIu64 " ms)\n", sim_now_us() / USEC_PER_MSEC);
        fflush(NULL);
        _exit(1);
}

uint64_t hosts_checks_said(HostsCheck check) {
        return checks.said[check];
}

void hosts_checks_count(HostsCheck check) {
        checks.said[check]++;
}

void hosts_checks_unit_name(unsigned unit, char ret[static 64]) {
        snprintf(ret, 64, "unit%u.service", unit);
}

// ------------------------------------------------------------------------------------------------ states

static void compare_state(uint32_t raft_id, uint64_t index) {
        _cleanup_buf_ Buf image = {};
        uint64_t at = index / STATES_EVERY;
        Hash hash;

        if (at >= STATES_MAX)
                return;
        if (cluster_state_encode(sim_machine(raft_id)->daemon->state, &image) < 0)
                abort();
        hash = hash_of(image.data, image.len);
        if (!checks.known[at]) {
                checks.known[at] = true;
                checks.states[at] = hash;
                return;
        }
        checks.said[HOSTS_CHECK_voters_are_equal]++;
        if (!hash_equal(&checks.states[at], &hash))
                hosts_check_fail(HOSTS_CHECK_voters_are_equal, "the state of host%u at entry %" PRIu64 " is another one", raft_id, index);
}

static void on_applied(uint32_t raft_id, uint64_t index) {
        checks.said[HOSTS_CHECK_log_is_one]++;
        story_event("applied", raft_id, index, "%s", "");
        if (index % STATES_EVERY == 0)
                compare_state(raft_id, index);
        if (sim_store_broken())
                hosts_check_fail(HOSTS_CHECK_log_is_one, "%s", sim_store_broken());
}

void hosts_checks_begin(unsigned n_units) {
        memset(&checks, 0, sizeof(checks));
        checks.n_units = n_units;
        checks.states = calloc(STATES_MAX, sizeof(*checks.states));
        checks.known = calloc(STATES_MAX, sizeof(*checks.known));
        sim_store_on_applied(on_applied);
        hosts_checks_disk_begin();
}

void hosts_checks_end(void) {
        free(checks.states);
        free(checks.known);
        hosts_checks_disk_end();
}

// ------------------------------------------------------------------------------------------------ places

static bool runs_on(const SimMachine *m, const char *name) {
        return m->powered && pid1_is_active(m->pid1, name);
}

static bool is_in_order(const SimMachine *m) {
        uint64_t last_us = hosts_faults_last_us(m->number);

        return m->daemon && m->daemon->attached && sim_now_us() >= last_us + ORDER_US;
}

static void look_at_places(const char *name) {
        uint32_t first = 0;
        unsigned n = 0;

        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                if (!runs_on(sim_machine(i), name))
                        continue;
                n++;
                if (!is_in_order(sim_machine(i)))
                        continue;
                checks.said[HOSTS_CHECK_one_place]++;
                if (first)
                        hosts_check_fail(HOSTS_CHECK_one_place, "%s runs on host%u and on host%u, which are in order", name, first, i);
                first = i;
        }
}

void hosts_checks_look(void) {
        char name[64];

        for (unsigned i = 0; i < checks.n_units; i++) {
                hosts_checks_unit_name(i, name);
                look_at_places(name);
        }
        hosts_checks_disk_look();
}

// ------------------------------------------------------------------------------------------------ in the end

static const Daemon *any(void) {
        return sim_machine(1)->daemon;
}

static bool have_leader(void *data) {
        uint32_t leader = any()->known_leader;

        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const Daemon *d = sim_machine(i)->daemon;

                if (!d->attached || d->known_leader == 0 || d->known_leader != leader || sim_store_applied(i) < sim_store_committed())
                        return false;
        }
        return sim_store_leader() == leader;
}

static bool all_answered(void *data) {
        for (size_t i = 0; i < sim_client_n_asks(); i++)
                if (!sim_client_ask(i)->final)
                        return false;
        return true;
}

static unsigned count_places(const char *name) {
        unsigned n = 0;

        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                n += runs_on(sim_machine(i), name);
        return n;
}

static const Argosy__UnitRecord *record_of(const char *name) {
        const UnitEntry *e = cluster_state_find_unit(any()->state, name);

        return e ? e->record : NULL;
}

// The unit that is not as it is to be; NULL: all are.
static const char *not_in_place(unsigned *ret_places) {
        static char name[64];

        for (unsigned i = 0; i < checks.n_units; i++) {
                const Argosy__UnitRecord *r;
                unsigned wanted;

                hosts_checks_unit_name(i, name);
                r = record_of(name);
                wanted = r && r->target == ARGOSY__TARGET__TARGET_LAUNCHED;
                *ret_places = count_places(name);
                if (*ret_places != wanted)
                        return name;
        }
        return NULL;
}

static bool all_in_place(void *data) {
        unsigned places;

        return !not_in_place(&places);
}

// Whether a destroy of it may have been taken that nobody was told of, or was told to be behind `revision`.
static bool may_be_destroyed(const char *name, uint64_t revision) {
        for (size_t i = 0; i < sim_client_n_asks(); i++) {
                const SimAsk *a = sim_client_ask(i);

                if (streq(a->name, name) && a->verb == ARGOSY__VERB__VERB_DESTROY && (a->error || a->status || a->revision >= revision))
                        return true;
        }
        return false;
}

static void look_for_acknowledged(const SimAsk *a) {
        const Argosy__UnitRecord *r = record_of(a->name);

        if (!a->final || a->error || a->status || a->revision == 0)
                return;
        checks.said[HOSTS_CHECK_acknowledged_is_kept]++;
        if (a->verb == ARGOSY__VERB__VERB_DESTROY) {
                if (r && r->revision < a->revision)
                        hosts_check_fail(HOSTS_CHECK_acknowledged_is_kept, "%s is there as of revision %" PRIu64 ", and was destroyed as of %" PRIu64,
                                         a->name, r->revision, a->revision);
                return;
        }
        if (r ? r->revision < a->revision : !may_be_destroyed(a->name, a->revision))
                hosts_check_fail(HOSTS_CHECK_acknowledged_is_kept, "%s was changed as of revision %" PRIu64 ", and is %s", a->name, a->revision,
                                 r ? "older" : "not there");
        if (r && r->revision == a->revision && a->verb == ARGOSY__VERB__VERB_START && r->target != ARGOSY__TARGET__TARGET_LAUNCHED)
                hosts_check_fail(HOSTS_CHECK_acknowledged_is_kept, "%s was started as of revision %" PRIu64 ", which does not want it to run", a->name,
                                 a->revision);
}

typedef struct Id {
        uint8_t bytes[16];
        uint64_t index;
} Id;

static int compare_ids(const void *a, const void *b) {
        return memcmp(a, b, sizeof(((Id *) NULL)->bytes));
}

// Of the jobs that begin in that entry, of requests that have one.
static size_t take_ids(uint64_t index, Id *ret, size_t max) {
        const SimEntry *e = sim_store_entry(index);
        Argosy__LogBatch *batch = e->data ? argosy__log_batch__unpack(NULL, e->len, e->data) : NULL;
        size_t n = 0;

        for (size_t i = 0; batch && i < batch->n_ops; i++) {
                const Argosy__LogOp *op = batch->ops[i];

                if (op->op_case != ARGOSY__LOG_OP__OP_JOB || op->job->number > 0 || op->job->id.len != sizeof(ret->bytes) || n == max)
                        continue;
                memcpy(ret[n].bytes, op->job->id.data, sizeof(ret->bytes));
                ret[n++].index = index;
        }
        if (batch)
                argosy__log_batch__free_unpacked(batch, NULL);
        return n;
}

static void look_for_twice(void) {
        size_t room = sim_client_n_asks() * 2 + 64, n = 0;
        Id *ids = calloc(room, sizeof(*ids));

        if (!ids)
                abort();
        for (uint64_t i = 1; i <= sim_store_committed(); i++)
                n += take_ids(i, ids + n, room - n);
        qsort(ids, n, sizeof(*ids), compare_ids);
        for (size_t i = 1; i < n; i++) {
                checks.said[HOSTS_CHECK_once]++;
                if (compare_ids(&ids[i - 1], &ids[i]) == 0)
                        hosts_check_fail(HOSTS_CHECK_once, "entries %" PRIu64 " and %" PRIu64 " begin a job of one request", ids[i - 1].index, ids[i].index);
        }
        free(ids);
}

// How the links of a host are that finds no leader, as more lines of the story.
static void tell_links(uint32_t number) {
        MeshLinkInfo links[SIM_CLUSTER_MAX];
        size_t n = mesh_links(sim_machine(number)->daemon->mesh, links, SIM_CLUSTER_MAX);

        for (size_t i = 0; i < n; i++)
                story_tell("host%u to host%u: %s %s", number, links[i].host, links[i].up ? "up" : "down", links[i].why);
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                story_tell("host%u: leads %i, attached %i, knows host%u as the leader of term %" PRIu64, i, sim_machine(i)->daemon->leading,
                           sim_machine(i)->daemon->attached, sim_machine(i)->daemon->known_leader, sim_machine(i)->daemon->leader_term);
}

typedef struct Past { // of a unit, as of a revision
        uint64_t revision;
        Argosy__Target target;
        unsigned unit;
} Past;

static void note_past(const ClusterState *state, Past **past, size_t *n, size_t *room, uint64_t *last) {
        char name[64];

        for (unsigned i = 0; i < checks.n_units; i++) {
                const UnitEntry *e;

                hosts_checks_unit_name(i, name);
                e = cluster_state_find_unit(state, name);
                if (!e || e->record->revision == last[i])
                        continue;
                last[i] = e->record->revision;
                if (ARRAY_GROW(*past, *room, *n + 1) < 0)
                        abort();
                (*past)[(*n)++] = (Past){e->record->revision, e->record->target, i};
        }
}

static bool is_wanted(Argosy__Verb verb, Argosy__Target target) {
        switch (verb) {
        case ARGOSY__VERB__VERB_START:
                return target == ARGOSY__TARGET__TARGET_LAUNCHED;
        case ARGOSY__VERB__VERB_STOP:
                return target != ARGOSY__TARGET__TARGET_LAUNCHED;
        case ARGOSY__VERB__VERB_UNLOAD:
                return target == ARGOSY__TARGET__TARGET_INACTIVE;
        default:
                return true; // what follows from the others depends on what was
        }
}

// Two changes in one entry leave the first one's revision out: of that nothing is said. Nor of what is gone, which has no revision of its own.
static void compare_answer(const SimAsk *a, const Past *past, size_t n) {
        char name[64];

        if (!a->final || a->error || a->status || a->revision == 0 || a->verb == ARGOSY__VERB__VERB_DESTROY)
                return;
        for (size_t i = 0; i < n; i++) {
                if (past[i].revision != a->revision)
                        continue;
                hosts_checks_unit_name(past[i].unit, name);
                checks.said[HOSTS_CHECK_answered_as_it_is]++;
                if (!streq(name, a->name) || !is_wanted(a->verb, past[i].target))
                        hosts_check_fail(HOSTS_CHECK_answered_as_it_is, "request %i about %s at host%u, of %" PRIu64 " ms, was answered as of revision %" PRIu64
                                                                        ", where the target of %s is %i",
                                         (int) a->verb, a->name, a->at, a->asked_us / USEC_PER_MSEC, a->revision, name, (int) past[i].target);
        }
}

// The log once more, from its beginning.
static void look_into_the_past(void) {
        ClusterState *state = cluster_state_new();
        uint64_t *last = calloc(checks.n_units + 1, sizeof(*last));
        size_t n = 0, room = 0;
        Past *past = NULL;

        for (uint64_t i = 1; i <= sim_store_committed(); i++) {
                const SimEntry *e = sim_store_entry(i);
                Argosy__LogBatch *batch = e->data ? argosy__log_batch__unpack(NULL, e->len, e->data) : NULL;

                if (!batch)
                        continue;
                if (cluster_state_apply(state, batch) < 0)
                        abort();
                argosy__log_batch__free_unpacked(batch, NULL);
                note_past(state, &past, &n, &room, last);
        }
        for (size_t i = 0; i < sim_client_n_asks(); i++)
                compare_answer(sim_client_ask(i), past, n);
        free(past);
        free(last);
        cluster_state_free(state);
}

void hosts_checks_calm(void) {
        const char *name;
        unsigned places;

        if (!sim_run_until(have_leader, NULL, CALM_US))
                for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                        const Daemon *d = sim_machine(i)->daemon;

                        if (i < sim_cluster_size() && d->attached && d->known_leader > 0 && d->known_leader == sim_store_leader())
                                continue;
                        tell_links(i);
                        hosts_check_fail(HOSTS_CHECK_all_find_the_leader,
                                         "host%u: attached %i, leader %u; the log's is %u; applied %" PRIu64 " of %" PRIu64, i, d->attached,
                                         d->known_leader, sim_store_leader(), sim_store_applied(i), sim_store_committed());
                }
        checks.said[HOSTS_CHECK_all_find_the_leader]++;
        if (!sim_run_until(all_answered, NULL, CALM_US))
                for (size_t i = 0; i < sim_client_n_asks(); i++)
                        if (!sim_client_ask(i)->final)
                                hosts_check_fail(HOSTS_CHECK_all_is_answered, "a request about %s at host%u, of %" PRIu64 " ms, has no answer",
                                                 sim_client_ask(i)->name, sim_client_ask(i)->at, sim_client_ask(i)->asked_us / USEC_PER_MSEC);
        checks.said[HOSTS_CHECK_all_is_answered]++;
        if (!sim_run_until(all_in_place, NULL, CALM_US)) {
                name = not_in_place(&places);
                hosts_check_fail(HOSTS_CHECK_one_place, "in the end %s runs at %u places", name, places);
        }
        sim_run_for(5 * USEC_PER_SEC);
        name = not_in_place(&places); // and it stays so
        if (name)
                hosts_check_fail(HOSTS_CHECK_one_place, "%s was in place, and runs at %u places", name, places);
        if (!sim_run_until(have_leader, NULL, CALM_US))
                hosts_check_fail(HOSTS_CHECK_all_find_the_leader, "nothing is broken, and the leader was lost");
        for (size_t i = 0; i < sim_client_n_asks(); i++)
                look_for_acknowledged(sim_client_ask(i));
        look_for_twice();
        look_into_the_past();
        checks.said[HOSTS_CHECK_nobody_ends]++;
}
