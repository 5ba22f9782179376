// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See asks.h. A step of this kind: who asks, whether anew or once more, what, bound to what. Kinds of
// messages are made in the files asks-*.c.
#include "asks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asks-private.h"
#include "author.h"
#include "checks-log.h"
#include "macro.h"
#include "message.h"
#include "request-kind.h"
#include "story.h"
#include "str.h"
#include "test.h"
#include "world-images.h"

Asks asks;
const char *const world_authors[WORLD_AUTHORS] = {"root", "alice", "carol", "stranger", "a token"};

// One row for each kind that a leader answers, or that it passes on to nodes.
#define ROW(kind, load, weight, make) {ARGOSY__REQUEST__WHAT_##kind, LOAD_##load, weight, ask_##make}
const AskKind ask_kinds[] = {
        ROW(CHANGE, units, 8, change),
        ROW(CHANGE, several, 1, change_several),
        ROW(APPLY, apply, 1, apply),
        ROW(UNDO, undo, 4, undo),
        ROW(FORGET, undo, 1, forget),
        ROW(ROLLOUT, rollout, 1, rollout),
        ROW(REBALANCE, rebalance, 1, rebalance),
        ROW(NODE_CHANGE, nodes, 4, node_change),
        ROW(NODE_CHANGE, nodes, 2, node_change_several),
        ROW(LABEL_CHANGE, nodes, 3, label_change),
        ROW(ROLE_CHANGE, roles, 3, role_change),
        ROW(POOL_CHANGE, roles, 2, pool_change),
        ROW(QUEUE_CHANGE, queue, 4, queue_change),
        ROW(JOB_RELEASE, queue, 3, job_release),
        ROW(JOB_CANCEL, queue, 2, job_cancel),
        ROW(ACCESS_CHANGE, access, 6, access_change),
        ROW(TOKEN_CREATE, access, 2, token_create),
        ROW(TOKEN_REVOKE, access, 1, token_revoke),
        ROW(RIGHT_CHECK, access, 1, right_check),
        ROW(SECRET_SET, secrets, 6, secret_set),
        ROW(SECRET_DELETE, secrets, 2, secret_delete),
        ROW(SECRET_ROTATE_KEY, secrets, 1, secret_rotate_key),
        ROW(CLUSTER_REMOVE, members, 2, cluster_remove),
        ROW(CLUSTER_ROLE, members, 3, cluster_role),
        ROW(CLUSTER_VOTERS, members, 2, cluster_voters),
        ROW(CLUSTER_ROTATE_CA, members, 1, cluster_rotate_ca),
        ROW(CLUSTER_SET_TIME, members, 1, cluster_set_time),
        ROW(CLUSTER_TOKEN, members, 1, cluster_token),
        ROW(JOIN, members, 1, join),
        ROW(LIST_UNITS, looks, 2, list_units),
        ROW(LIST_UNIT_FILES, looks, 2, list_unit_files),
        ROW(LIST_NODES, looks, 1, list_nodes),
        ROW(CAT, looks, 1, cat),
        ROW(WHY, looks, 2, why),
        ROW(STATUS, looks, 1, status),
        ROW(JOURNAL, looks, 1, journal),
        ROW(TOP, looks, 1, top),
        ROW(VERIFY, looks, 1, verify),
        ROW(LIST_JOBS, looks, 3, list_jobs),
        ROW(CLUSTER_STATUS, looks, 1, nothing_more),
        ROW(ROLE_LIST, looks, 1, role_list),
        ROW(POOL_LIST, looks, 1, pool_list),
        ROW(QUEUE_LIST, looks, 1, nothing_more),
        ROW(ACCESS_LIST, looks, 1, nothing_more),
        ROW(TOKEN_LIST, looks, 1, nothing_more),
        ROW(SECRET_LIST, looks, 1, secret_list),
        ROW(WAIT, waits, 4, wait),
        ROW(DRAIN_WAIT, waits, 1, drain_wait),
        ROW(ROLLOUT_WAIT, waits, 1, rollout_wait),
        ROW(MANAGER_WAIT, waits, 1, manager_wait),
        ROW(JOB_WAIT, waits, 2, job_wait),
        ROW(EVENTS, watches, 1, events),
        ROW(CHANGE, crowd, 1, change_crowd),
        ROW(ACCESS_CHANGE, rights, 2, right_of_role),
        ROW(TOKEN_CREATE, rights, 1, token_of_role),
        ROW(ACCESS_CHANGE, rights, 2, right_of_group),
};
const size_t n_ask_kinds = ELEMENTSOF(ask_kinds);

static bool is_made(Argosy__Request__WhatCase what) {
        for (size_t i = 0; i < n_ask_kinds; i++)
                if (ask_kinds[i].what == what)
                        return true;
        return false;
}

const char *asks_missing(void) {
        for (unsigned i = 0; i < argosy__request__descriptor.n_fields; i++) {
                Argosy__Request__WhatCase what =
                        (Argosy__Request__WhatCase) argosy__request__descriptor.fields[i].id;
                const RequestKind *kind = request_kind(what);

                if (kind && (kind->by == REQUEST_BY_LEADER || kind->by == REQUEST_BY_NODES) &&
                    !is_made(what))
                        return kind->name;
        }
        return NULL;
}

// -------------------------------------------------------------------------------------- the request before

static size_t follows; // of the request that is being made
static size_t key_of;  // likewise: 1 + the one that had its key first; 0: it has its own

const WorldAsked *asks_go_on(Argosy__Request__WhatCase what, bool (*fits)(const WorldAsked *a)) {
        enum { BACK_MAX = 64 };

        for (size_t i = asks.n_asked; i > 0 && i + BACK_MAX > asks.n_asked; i--) {
                const WorldAsked *a = &asks.asked[i - 1];
                const Argosy__Response *r = asks_last_response(a);

                if (a->request->what_case != what || !r || r->status != 0 || !fits(a))
                        continue;
                follows = i;
                return a;
        }
        return NULL;
}

void asks_note_key_of(size_t first) {
        key_of = first;
}

// ------------------------------------------------------------------------------------------------ who asks

enum { GROUPS_MAX = 200 };

static struct {
        char *groups[GROUPS_MAX];
        size_t n;
} groups_of[WORLD_AUTHORS] = {
        [AUTHOR_ALICE] = {{(char *) "dev"}, 1},
        [AUTHOR_CAROL] = {{(char *) "dev", (char *) "ops"}, 2},
};

// Of carol, between the two that others know.
static void begin_groups(void) {
        static char names[GROUPS_MAX][8];
        size_t n = 1;

        while (n < MIN_OF(asks.swarm.groups, (unsigned) GROUPS_MAX - 2) + 1) {
                snprintf(names[n], sizeof(names[n]), "g%zu", n);
                groups_of[AUTHOR_CAROL].groups[n] = names[n];
                n++;
        }
        groups_of[AUTHOR_CAROL].groups[n++] = (char *) "ops";
        groups_of[AUTHOR_CAROL].n = n;
}

uint32_t world_author_host(WorldAuthor who) {
        return who == AUTHOR_TOKEN ? 1 : 1 + who % asks.swarm.hosts;
}

bool world_author_is_in(WorldAuthor who, const char *group) {
        for (size_t i = 0; i < groups_of[who].n; i++)
                if (streq(groups_of[who].groups[i], group))
                        return true;
        return false;
}

size_t world_author_groups(WorldAuthor who, char ***ret) {
        *ret = groups_of[who].groups;
        return groups_of[who].n;
}

static void draw_author(Draw *d, WorldAsked *a) {
        a->author = AUTHOR_ROOT;
        if (!(asks.swarm.loads[LOAD_access] + asks.swarm.loads[LOAD_rights]) || !draw_one_in(d, 3))
                return;
        a->author = (WorldAuthor) (AUTHOR_ALICE + draw_below(d, WORLD_AUTHORS - 1));
        if (a->author == AUTHOR_TOKEN && asks.port->no_tokens)
                a->author = AUTHOR_ROOT;
        if (a->author == AUTHOR_TOKEN)
                a->token = 1 + draw_below(d, asks.n_tokens + 1);
}

static void ask(WorldAsked *a, Draw *d) {
        a->asked_us = asks.port->now_us();
        a->asked_at = log_truth.n_entries;
        story_message("request", 0, &a->request->base);
        asks.port->send(a, d);
}

static const char *name_of(const Argosy__Request *q) {
        const RequestKind *kind = request_kind(q->what_case);

        return kind ? kind->name : "nothing";
}

// What it is about, for people: the first units of a change, what becomes of a node.
static const char *words_of(const Argosy__Request *q) {
        static char words[96];
        const RequestJob *job = request_job(q);
        size_t len = 0;

        *words = 0;
        if (job && job->verb_of)
                len += (size_t) snprintf(words, sizeof(words), ": %s", job->verb_of(q));
        for (size_t i = 0; i < 3 && request_unit(q, i) && len < sizeof(words); i++)
                len += (size_t) snprintf(words + len, sizeof(words) - len, "%s%s",
                                         i > 0     ? ", "
                                         : len > 0 ? " "
                                                   : ": ",
                                         request_unit(q, i));
        if (q->what_case == ARGOSY__REQUEST__WHAT_CHANGE && q->change->n_names > 3 && len < sizeof(words))
                (void) snprintf(words + len, sizeof(words) - len, " and %zu more", q->change->n_names - 3);
        return words;
}

// -------------------------------------------------------------------------------------------- what is asked

static bool is_drawn(Draw *d, SwarmLoad load) {
        return asks.swarm.loads[load] && draw_below(d, 64) < asks.swarm.loads[load];
}

// Of now, or of some time ago.
static uint64_t draw_seen_revision(Draw *d) {
        uint64_t now = cluster_state_revision(asks.port->state()), ago = draw_log(d, 1, 33) - 1;

        return now - MIN_OF(ago, now);
}

static Argosy__Request__Job *make_job(Draw *d) {
        Argosy__Request__Job *job = ASKS_NEW(Argosy__Request__Job, argosy__request__job__init);

        job->keyed = true; // ask_again() sends it to any host, while the first one may still wait
        job->id = asks_id();
        if (is_drawn(d, LOAD_bound) && draw_one_in(d, 2))
                job->if_revision = draw_seen_revision(d);
        if (is_drawn(d, LOAD_queue)) {
                job->hold = draw_one_in(d, 3);
                job->queue = draw_one_in(d, 4);
        }
        if (is_drawn(d, LOAD_queue) && draw_one_in(d, 3)) {
                job->after = asks_alloc(sizeof(*job->after));
                job->after[0] = asks_job(d);
                job->n_after = 1;
        }
        return job;
}

const AskKind *asks_draw_kind(Draw *d) {
        unsigned weights[_LOADS] = {}, of_load[128] = {};
        size_t load;

        for (size_t i = 0; i < n_ask_kinds; i++)
                weights[ask_kinds[i].load] = asks.swarm.loads[ask_kinds[i].load];
        load = draw_weighted(d, weights, _LOADS);
        assert_true(n_ask_kinds <= ELEMENTSOF(of_load));
        for (size_t i = 0; i < n_ask_kinds; i++)
                of_load[i] = ask_kinds[i].load == (SwarmLoad) load ? ask_kinds[i].weight : 0;
        return &ask_kinds[draw_weighted(d, of_load, n_ask_kinds)];
}

static void *message_of(const ProtobufCFieldDescriptor *field) {
        const ProtobufCMessageDescriptor *type = field->descriptor;
        ProtobufCMessage *m = asks_alloc(type->sizeof_message);

        protobuf_c_message_init(type, m);
        return m;
}

static bool is_left_out(const AskKind *kind) {
        return asks.port->leaves_out && asks.port->leaves_out(kind->what);
}

// Everything comes from the arena, which is empty afterwards.
static void make_and_ask(Draw *d, const AskKind *kind, WorldAsked by) {
        const ProtobufCFieldDescriptor *field =
                protobuf_c_message_descriptor_get_field(&argosy__request__descriptor, kind->what);
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        WorldAsked *a = &asks.asked[asks.n_asked];

        assert_true(asks.n_asked < WORLD_ASKED_MAX);
        *a = by;
        request.what_case = kind->what;
        request.change = message_of(field); // a union: all of them are pointers
        follows = key_of = 0;
        if (kind->make(d, request.change)) {
                if (request_job(&request))
                        request.job = make_job(d);
                a->request = message_copy(&request);
                assert_non_null(a->request);
                a->follows = follows;
                asks.n_asked++;
                story_tell("%s asks %s (%zu)%s", world_authors[a->author], name_of(a->request), asks.n_asked,
                           words_of(a->request));
                a->wrong_of = key_of;
                ask(a, d);
                if (key_of > 0) // others know requests by it
                        memcpy(a->request->change->id.data, asks_id().data, a->request->change->id.len);
        }
        arena_reset(&asks.arena);
}

void asks_make_and_ask(Draw *d, const AskKind *kind, WorldAsked by) {
        if (asks.n_asked < WORLD_ASKED_MAX && !is_left_out(kind))
                make_and_ask(d, kind, by);
}

Argosy__Request *asks_make(Draw *d, Argosy__Request__WhatCase what, bool (*make)(Draw *d, void *message)) {
        Argosy__Request request = ARGOSY__REQUEST__INIT, *copy = NULL;

        request.what_case = what;
        request.change =
                message_of(protobuf_c_message_descriptor_get_field(&argosy__request__descriptor, what));
        if (make(d, request.change)) {
                if (request_job(&request)) {
                        request.job = ASKS_NEW(Argosy__Request__Job, argosy__request__job__init);
                        request.job->keyed = true;
                        request.job->id = asks_id();
                }
                copy = message_copy(&request);
                assert_non_null(copy);
        }
        arena_reset(&asks.arena);
        return copy;
}

Argosy__Request *asks_make_start(const WorldUnit *u, const WorldContent *c) {
        Argosy__Request request = ARGOSY__REQUEST__INIT, *copy;
        Argosy__Request__Change *m = ASKS_NEW(Argosy__Request__Change, argosy__request__change__init);

        request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        request.change = m;
        request.job = ASKS_NEW(Argosy__Request__Job, argosy__request__job__init);
        request.job->keyed = true;
        request.job->id = asks_id();
        m->id = asks_id();
        m->verb = ARGOSY__VERB__VERB_START;
        m->names = asks_alloc(sizeof(*m->names));
        m->names[m->n_names++] = (char *) u->name;
        m->files = asks_alloc(sizeof(*m->files));
        m->files[m->n_files++] = asks_file_of(u, c);
        copy = message_copy(&request);
        assert_non_null(copy);
        arena_reset(&asks.arena);
        return copy;
}

WorldAsked *asks_ask_as_root(Argosy__Request *request) {
        return asks_ask_as(request, AUTHOR_ROOT, 0);
}

WorldAsked *asks_ask_as(Argosy__Request *request, WorldAuthor author, unsigned token) {
        WorldAsked *a = &asks.asked[asks.n_asked];
        Draw d = draw_from(asks.n_asked);

        assert_true(asks.n_asked < WORLD_ASKED_MAX);
        *a = (WorldAsked){.author = author, .token = token, .request = request};
        asks.n_asked++;
        story_tell("%s tries %s (%zu)%s", world_authors[author], name_of(request), asks.n_asked,
                   words_of(request));
        ask(a, &d);
        return a;
}

static void ask_new(Draw *d) {
        const AskKind *kind = asks_draw_kind(d);
        WorldAsked by = {};

        draw_author(d, &by);
        if (!is_left_out(kind))
                make_and_ask(d, kind, by);
}

// --------------------------------------------------------------------------------------- again, and no more

static bool is_waiting(const WorldAsked *a) {
        return !a->called_off && !asks.port->error(a) && !asks.port->is_final(a);
}

static void stop_waiting(WorldAsked *a) {
        asks.port->call_off(a);
        a->called_off = true;
}

static bool has_failed(const WorldAsked *a) {
        const Argosy__Response *r = asks_last_response(a);

        return a->called_off || asks.port->error(a) || !r || r->status != 0;
}

// One of the newest, rather one of which nobody knows what became.
static size_t draw_asked(Draw *d) {
        bool failed = draw_one_in(d, 2);
        size_t of = asks.n_asked - (size_t) draw_log(d, 1, asks.n_asked);

        for (size_t i = asks.n_asked; failed && i > of; i--)
                if (has_failed(&asks.asked[i - 1]))
                        return i - 1;
        return of;
}

// The same request, and for how long the sender has known of it.
static void repeat(const WorldAsked *first, Draw *d) {
        WorldAsked *a = &asks.asked[asks.n_asked];

        if (first->again_of)
                first = &asks.asked[first->again_of - 1];
        if (first->wrong)
                return;
        *a = (WorldAsked){.author = first->author,
                          .token = first->token,
                          .request = message_copy(first->request),
                          .follows = first->follows,
                          .again_of = 1 + (size_t) (first - asks.asked)};
        assert_non_null(a->request);
        if (a->request->job)
                a->request->job->age_ms =
                        MAX_OF((asks.port->now_us() - first->asked_us) / 1000, UINT64_C(1));
        asks.n_asked++;
        story_tell("%s asks %s (%zu) again", world_authors[a->author], name_of(a->request), a->again_of);
        ask(a, d);
}

// The sender whose connection is gone hears no more of the first one.
static void ask_again(Draw *d) {
        WorldAsked *first = &asks.asked[draw_asked(d)];

        assert_true(asks.n_asked < WORLD_ASKED_MAX);
        if (is_waiting(first) && draw_one_in(d, 2))
                stop_waiting(first);
        repeat(first, d);
}

size_t asks_ask_again(size_t of) {
        Draw d = draw_from(of);

        assert_true(asks.n_asked < WORLD_ASKED_MAX);
        repeat(&asks.asked[of], &d);
        return asks.n_asked - 1;
}

static void call_off(Draw *d) {
        size_t from = asks.n_asked - (size_t) draw_log(d, 1, asks.n_asked);

        for (size_t i = asks.n_asked; i > from; i--) {
                WorldAsked *a = &asks.asked[i - 1];

                if (!is_waiting(a))
                        continue;
                story_tell("%s does not wait for %s (%zu)", world_authors[a->author], name_of(a->request),
                           i);
                stop_waiting(a);
                return;
        }
}

static void ask_one(Draw *d) {
        if (asks.n_asked == WORLD_ASKED_MAX)
                return;
        if (asks.n_asked > 0 && is_drawn(d, LOAD_again) && draw_one_in(d, 3))
                ask_again(d);
        else if (asks.n_asked > 0 && is_drawn(d, LOAD_calls_off) && draw_one_in(d, 3))
                call_off(d);
        else
                ask_new(d);
}

// They come in one turn of the leader: what one of them asks for, the next one meets in the same entry.
static void ask_burst(Draw *d) {
        unsigned all = (unsigned) asks.n_units, n = 2 + (unsigned) draw_log(d, 1, 12);
        bool focused = asks.focus_n > 0;

        if (!focused && draw_below(d, 4) > 0) {
                asks.focus_first = draw_below(d, all);
                asks.focus_n = MIN_OF(1 + draw_below(d, 4), all);
        }
        for (unsigned i = 0; i < n; i++)
                ask_one(d);
        if (!focused)
                asks.focus_n = 0;
}

static void ask_of(Draw *d, Argosy__Request__WhatCase what, bool (*make)(Draw *d, void *message)) {
        const AskKind kind = {what, _LOADS, 0, make};
        WorldAsked by = {};

        draw_author(d, &by);
        asks_make_and_ask(d, &kind, by);
}

void asks_look(Draw *d) {
        const AskKind *kind;

        do
                kind = &ask_kinds[draw_below(d, (unsigned) n_ask_kinds)];
        while (kind->load != LOAD_looks && kind->load != LOAD_waits && kind->load != LOAD_watches);
        ask_of(d, kind->what, kind->make);
}

// A rule comes or goes, and whatever it is about comes with it: what waits, what begins and what comes meet
// in one turn.
static void ask_under_rules(Draw *d) {
        bool last = draw_one_in(d, 2);

        if (!last)
                ask_of(d, ARGOSY__REQUEST__WHAT_QUEUE_CHANGE, ask_queue_rule);
        for (unsigned n = 1 + (unsigned) draw_log(d, 1, 12); n > 0; n--)
                switch (draw_below(d, 10)) {
                case 0:
                        ask_of(d, ARGOSY__REQUEST__WHAT_JOB_RELEASE, ask_job_release);
                        break;
                case 1:
                        ask_of(d, ARGOSY__REQUEST__WHAT_JOB_CANCEL, ask_job_cancel);
                        break;
                case 2 ... 3:
                        ask_of(d, ARGOSY__REQUEST__WHAT_CHANGE, ask_change_several);
                        break;
                default:
                        ask_of(d, ARGOSY__REQUEST__WHAT_CHANGE, ask_change);
                }
        if (last)
                ask_of(d, ARGOSY__REQUEST__WHAT_QUEUE_CHANGE, ask_queue_rule);
}

// For a while most of what is asked, and half of the time of what breaks, is about these.
static void draw_focus(Draw *d) {
        asks.focus_n = draw_one_in(d, 3) ? 0 : MIN_OF(1 + draw_below(d, 3), (unsigned) asks.n_units);
        asks.focus_first = draw_below(d, (unsigned) asks.n_units);
        asks.focus_host = draw_one_in(d, 2) ? 1 + draw_below(d, asks.swarm.hosts) : 0;
}

void asks_step(Draw *d) {
        if (asks.swarm.focused && draw_one_in(d, 12))
                draw_focus(d);
        if (is_drawn(d, LOAD_rules) && draw_one_in(d, 3)) {
                ask_under_rules(d);
                return;
        }
        if (is_drawn(d, LOAD_wrong) && draw_one_in(d, 3)) {
                asks_wrong(d);
                return;
        }
        if (is_drawn(d, LOAD_bursts) && draw_one_in(d, 3))
                ask_burst(d);
        else
                ask_one(d);
}

// -------------------------------------------------------------------------------------------- the beginning

static void ask_some(Draw *d, bool (*make)(Draw *d, void *message), unsigned n) {
        for (size_t i = 0; i < n_ask_kinds; i++)
                for (unsigned k = 0; k < n && ask_kinds[i].make == make && !is_left_out(&ask_kinds[i]); k++)
                        make_and_ask(d, &ask_kinds[i], (WorldAsked){});
}

// Root makes what the story's units and authors live by.
void asks_ask_first(Draw *d) {
        if (asks.swarm.loads[LOAD_roles] || asks.swarm.loads[LOAD_options]) {
                ask_some(d, ask_role_change, 3);
                ask_some(d, ask_pool_change, 3);
        }
        if (asks.swarm.loads[LOAD_options])
                ask_some(d, ask_label_change, 2 * asks.swarm.hosts);
        if (asks.swarm.loads[LOAD_secrets] || asks.swarm.loads[LOAD_options])
                ask_some(d, ask_secret_set, 2);
        if (asks.swarm.loads[LOAD_access]) {
                ask_some(d, ask_access_change, 4);
                ask_some(d, ask_token_create, 1);
        }
        if (asks.swarm.loads[LOAD_rights]) {
                ask_some(d, ask_right_of_role, 8);
                ask_some(d, ask_token_of_role, 2);
        }
}

void asks_begin(const AsksPort *port, const Swarm *swarm, Draw *d) {
        asks.port = port;
        asks.swarm = *swarm;
        asks.n_contents = asks.n_units = asks.n_asked = asks.n_tokens = 0;
        asks.n_ids = asks.focus_n = asks.focus_host = 0;
        asks.unpinned = false;
        memset(asks.by_hash, 0, sizeof(asks.by_hash));
        begin_groups();
        world_images_begin();
        world_units_begin(d);
}

void asks_end(void) {
        for (size_t i = 0; i < asks.n_asked; i++)
                message_free(asks.asked[i].request);
        for (size_t i = 0; i < asks.n_contents; i++)
                free(asks.contents[i].text);
        arena_reset(&asks.arena);
}
