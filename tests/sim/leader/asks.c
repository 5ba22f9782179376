// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See asks.h. A step of this kind: who asks, whether anew or once more, what, bound to what. Kinds of messages are made in the files
// asks-*.c.
#include "asks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asks-private.h"
#include "macro.h"
#include "message.h"
#include "request-kind.h"
#include "str.h"
#include "test.h"

// One row for each kind that a leader answers, or that it passes on to nodes.
const AskKind ask_kinds[] = {
        {ARGOSY__REQUEST__WHAT_CHANGE, LOAD_units, 8, ask_change},
        {ARGOSY__REQUEST__WHAT_CHANGE, LOAD_several, 1, ask_change_several},
        {ARGOSY__REQUEST__WHAT_LIST_UNITS, LOAD_looks, 1, ask_list_units},
        {ARGOSY__REQUEST__WHAT_NODE_CHANGE, LOAD_nodes, 1, ask_node_change},
        {ARGOSY__REQUEST__WHAT_LABEL_CHANGE, LOAD_nodes, 1, ask_label_change},
        {ARGOSY__REQUEST__WHAT_UNDO, LOAD_undo, 1, ask_undo},
};
const size_t n_ask_kinds = ELEMENTSOF(ask_kinds);

// ------------------------------------------------------------------------------------------------ for those who make messages

void *asks_alloc(size_t size) {
        void *p = arena_alloc(&world.arena, size);

        assert_non_null(p);
        return memset(p, 0, size);
}

char *asks_printf(const char *format, ...) {
        char text[1024];
        va_list ap;
        int n;

        va_start(ap, format);
        n = vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        assert_in_range(n, 0, sizeof(text) - 1);
        return memcpy(asks_alloc((size_t) n + 1), text, (size_t) n);
}

ProtobufCBinaryData asks_id(void) {
        uint64_t *id = asks_alloc(2 * sizeof(*id));

        id[0] = ++world.rig.id;
        id[1] = 29;
        return (ProtobufCBinaryData){.data = (uint8_t *) id, .len = 2 * sizeof(*id)};
}

Argosy__NamedFile *asks_file(Draw *d, const WorldUnit *u) {
        Argosy__NamedFile *file = ASKS_NEW(Argosy__NamedFile, argosy__named_file__init);
        const WorldContent *c = world_content_draw(d, u);

        file->name = file->path = (char *) u->file;
        file->content = (ProtobufCBinaryData){strlen(c->text), (uint8_t *) c->text};
        return file;
}

const char *asks_node(Draw *d) {
        return asks_printf("n%u", 1 + draw_below(d, world.swarm.hosts + draw_one_in(d, 16)));
}

uint64_t asks_job(Draw *d) {
        uint64_t last = cluster_state_last_job(world.rig.state);

        return last == 0 ? 1 : last - MIN_OF(draw_log(d, 1, last + 1) - 1, last - 1);
}

// ------------------------------------------------------------------------------------------------ who asks

static const Argosy__Author *author_of(WorldAuthor who) {
        static Argosy__Author authors[WORLD_AUTHORS];
        Argosy__Author *a = &authors[who];

        if (who == AUTHOR_ROOT)
                return NULL;
        argosy__author__init(a);
        a->host = 1;
        a->uid = 1000 + who;
        a->user = (char *) world_authors[who];
        return a;
}

static WorldAuthor draw_author(Draw *d) {
        unsigned one_in = world.swarm.loads[LOAD_access] ? 3 : 0;

        return one_in && draw_one_in(d, one_in) ? (WorldAuthor) (1 + draw_below(d, WORLD_AUTHORS - 1)) : AUTHOR_ROOT;
}

static void ask(WorldAsked *a) {
        a->asked_us = world.rig.now_us;
        world.rig.author = author_of(a->author);
        a->answer = rig_ask(&world.rig, a->request);
        world.rig.author = NULL;
}

static const char *name_of(const Argosy__Request *q) {
        const RequestKind *kind = request_kind(q->what_case);

        return kind ? kind->name : "nothing";
}

// ------------------------------------------------------------------------------------------------ what is asked

static bool is_drawn(Draw *d, SwarmLoad load) {
        return world.swarm.loads[load] && draw_below(d, 64) < world.swarm.loads[load];
}

static Argosy__Request__Job *make_job(Draw *d) {
        Argosy__Request__Job *job = ASKS_NEW(Argosy__Request__Job, argosy__request__job__init);

        job->id = asks_id();
        if (is_drawn(d, LOAD_bound) && draw_one_in(d, 2))
                job->if_revision = cluster_state_revision(world.rig.state) - draw_below(d, 3);
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

static const AskKind *draw_kind(Draw *d) {
        unsigned weights[_LOADS] = {}, of_load[128] = {};
        size_t load;

        for (size_t i = 0; i < n_ask_kinds; i++)
                weights[ask_kinds[i].load] = world.swarm.loads[ask_kinds[i].load];
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

static void ask_new(Draw *d) {
        const AskKind *kind = draw_kind(d);
        const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(&argosy__request__descriptor, kind->what);
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        WorldAsked *a = &world.asked[world.n_asked];

        assert_true(world.n_asked < WORLD_ASKED_MAX);
        *a = (WorldAsked){.author = draw_author(d)};
        request.what_case = kind->what;
        request.change = message_of(field); // a union: all of them are pointers
        if (kind->make(d, request.change)) {
                if (request_job(&request))
                        request.job = make_job(d);
                a->request = message_copy(&request);
                assert_non_null(a->request);
                world.n_asked++;
                story_tell("%s asks %s (%zu)", world_authors[a->author], name_of(a->request), world.n_asked);
                ask(a);
        }
        arena_reset(&world.arena);
}

// Whoever has not heard what became of it, or does not believe it. Waits are asked for by their revision, and cost nobody anything.
static void ask_again(Draw *d) {
        size_t of = world.n_asked - (size_t) draw_log(d, 1, world.n_asked);
        WorldAsked *a = &world.asked[world.n_asked], *first = &world.asked[of];

        assert_true(world.n_asked < WORLD_ASKED_MAX);
        *a = (WorldAsked){.author = first->author, .request = message_copy(first->request), .again_of = 1 + of};
        world.n_asked++;
        story_tell("%s asks %s (%zu) again", world_authors[a->author], name_of(a->request), of + 1);
        ask(a);
}

static void call_off(Draw *d) {
        WorldAsked *a = &world.asked[world.n_asked - (size_t) draw_log(d, 1, world.n_asked)];

        if (a->called_off || !a->answer || a->answer->error || a->answer->final)
                return;
        story_tell("%s does not wait for %s (%zu)", world_authors[a->author], name_of(a->request), (size_t) (a - world.asked) + 1);
        rig_cancel(&world.rig, a->answer);
        a->called_off = true;
}

void asks_step(Draw *d) {
        if (world.n_asked > 0 && is_drawn(d, LOAD_again) && draw_one_in(d, 3))
                ask_again(d);
        else if (world.n_asked > 0 && is_drawn(d, LOAD_calls_off) && draw_one_in(d, 3))
                call_off(d);
        else
                ask_new(d);
}
