// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a test asks the leader of a rig, and looks up in its state. Answers stay until the rig stops.
#include "leader-rig-private.h"

#include "buf.h"
#include "leader-private.h"
#include "message.h"
#include "messages.h"
#include "registry.h"
#include "response.h"
#include "test.h"

static RigAnswer *answers[65536]; // of the running test
static size_t n_answers;

// Whoever looks at it afterwards reads nonsense.
static void give_back(RigAnswer *a) {
        message_free(a->lent);
        a->lent = NULL;
}

// As a client puts it together: the rows of this part stand behind those of the parts before. False: it is
// none, or the first one.
static bool joins(RigAnswer *a, const Argosy__Response *r) {
        Argosy__Response *whole = a->n == 1 && !a->rig->parts_apart ? a->responses[0] : NULL;

        if (!whole || r->status != 0 || r->what_case != ARGOSY__RESPONSE__WHAT_CHANGE ||
            whole->what_case != r->what_case || r->change->first == 0)
                return false;
        assert_int_equal(r->change->first, whole->change->n_units);
        Argosy__Response *part = message_copy(r);
        assert_int_equal(unit_results_move(part->change, whole->change), 0);
        message_free(part);
        whole->final = r->final;
        return true;
}

static void keep(RigAnswer *a, const Argosy__Response *response) {
        a->responses = realloc(a->responses, (a->n + 1) * sizeof(*a->responses));
        a->responses[a->n++] = message_copy(response);
}

static void on_response(const Argosy__Response *response, void *userdata) {
        RigAnswer *a = userdata;

        assert_false(a->final);
        if (*response->awaits) {
                assert_false(response->final);
                snprintf(a->awaits, sizeof(a->awaits), "%s", response->awaits);
                a->n_awaits++;
                return;
        }
        if (!joins(a, response))
                keep(a, response);
        a->final = response->final;
        if (a->rig->on_answer)
                a->rig->on_answer(a->rig, a, response);
        if (a->final)
                give_back(a);
}

void rig_cancel(Rig *g, RigAnswer *a) {
        leader_cancel(g->leader, a->cancel);
        give_back(a);
}

const Argosy__Response__Change *rig_change_answered(const RigAnswer *a) {
        assert_true(a->final);
        assert_int_equal(a->n, 1);
        assert_int_equal(a->responses[0]->status, 0);
        return a->responses[0]->change;
}

RigAnswer *rig_ask(Rig *g, const Argosy__Request *request) {
        RigAnswer *a = calloc(1, sizeof(*a));

        assert_true(n_answers < ELEMENTSOF(answers));
        answers[n_answers++] = a;
        a->rig = g;
        if (request->what_case != ARGOSY__REQUEST__WHAT_WAIT) {
                a->error = leader_request(g->leader, g->author, request, on_response, a, &a->cancel);
                return a;
        }
        a->lent = message_copy(request);
        a->error = leader_request_lent(g->leader, g->author, a->lent, on_response, a, &a->cancel);
        return a;
}

RigAnswer *rig_change_with(Rig *g, Argosy__Verb verb, const char *name, const char *content, bool replace,
                           const uint8_t id[16]) {
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files = &file;
        uint8_t new_id[16] = {};

        g->id++;
        memcpy(new_id, &g->id, sizeof(g->id));
        Argosy__Request__Change change =
                MESSAGE_OF(request__change,
                           .id = (ProtobufCBinaryData){.data = (uint8_t *) (id ? id : new_id), .len = 16},
                           .verb = verb, .names = (char **) &name, .n_names = 1, .replace = replace);
        if (content) {
                file.name = (char *) name;
                file.path = (char *) name;
                file.content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = strlen(content)};
                file.files = g->sent;
                file.n_files = g->n_sent;
                change.files = &files;
                change.n_files = 1;
        }
        request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        request.change = &change;
        return rig_ask(g, &request);
}

const Argosy__Response__UnitResult *rig_change(Rig *g, Argosy__Verb verb, const char *name,
                                               const char *content) {
        RigAnswer *a = rig_change_with(g, verb, name, content, false, NULL);

        rig_settle(g);
        assert_int_equal(a->n, 1);
        assert_true(a->final);
        assert_int_equal(a->responses[0]->status, 0);
        return a->responses[0]->change->units[0];
}

RigAnswer *rig_change_with_and_settle(Rig *g, Argosy__Verb verb, const char *name, const char *content,
                                      bool replace, const uint8_t id[16]) {
        RigAnswer *a = rig_change_with(g, verb, name, content, replace, id);

        rig_settle(g);
        return a;
}

RigAnswer *rig_wait(Rig *g, Argosy__Verb verb, const char *name, uint64_t revision) {
        Argosy__Request__Wait__Item item = MESSAGE_OF(request__wait__item, .name = (char *) name,
                                                      .revision = revision),
                                    *items = &item;
        Argosy__Request__Wait wait = MESSAGE_OF(request__wait, .verb = verb, .items = &items, .n_items = 1);
        Argosy__Request request = REQUEST_OF(WAIT, wait, &wait);
        RigAnswer *a = rig_ask(g, &request);

        rig_settle(g);
        return a;
}

const Argosy__UnitRecord *rig_record(Rig *g, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(g->state, name);

        return e ? e->record : NULL;
}

bool rig_has_content(Rig *g, const char *name, const char *content) {
        const Argosy__UnitRecord *r = rig_record(g, name);
        Hash hash = hash_of(content, strlen(content));

        return r && memcmp(r->spec.data, hash.bytes, HASH_SIZE) == 0;
}

const char *rig_node_name(Rig *g, const char *name) {
        const Argosy__UnitRecord *r = rig_record(g, name);
        const Node *n = r ? node_find(g->leader, r->node) : NULL;

        return n ? n->name : "";
}

uint32_t rig_host_of(Rig *g, const char *name) {
        const Argosy__UnitRecord *r = rig_record(g, name);

        for (uint32_t h = 1; h <= g->n_hosts; h++)
                if (r && rig_host(g, h)->virtual.node == r->node)
                        return h;
        return 0;
}

const char *rig_list_units(Rig *g) {
        return rig_list_units_matching(g, NULL, 0);
}

const char *rig_list_units_matching(Rig *g, const char *const *patterns, size_t n) {
        static char *text;
        _cleanup_buf_ Buf buf = {};
        Argosy__Request__ListUnits list =
                MESSAGE_OF(request__list_units, .patterns = (char **) patterns, .n_patterns = n);
        Argosy__Request request = REQUEST_OF(LIST_UNITS, list_units, &list);
        RigAnswer *a = rig_ask(g, &request);

        if (!a->final) // thousands
                rig_settle(g);
        assert_true(a->final);
        for (size_t i = 0; i < a->responses[0]->units->n_rows; i++) {
                const Argosy__Response__UnitRow *row = a->responses[0]->units->rows[i];

                assert_int_equal(buf_printf(&buf, "%s %s %s %s %s\n", row->unit, row->node, row->load,
                                            row->active, row->sub),
                                 0);
        }
        free(text);
        text = buf.len ? buf_take_string(&buf) : strdup("");
        return text;
}

void rig_free_answers(void) {
        for (size_t i = 0; i < n_answers; i++) {
                for (size_t k = 0; k < answers[i]->n; k++)
                        message_free(answers[i]->responses[k]);
                give_back(answers[i]);
                free(answers[i]->responses);
                free(answers[i]);
        }
        n_answers = 0;
}

bool rig_job_is_own(const Rig *g, uint64_t number) {
        Argosy__JobRecord *job;
        bool own;

        if (cluster_state_read_job(g->state, number, &job) < 0)
                return false;
        own = job->own;
        message_free(job);
        return own;
}

uint64_t rig_last_job(const Rig *g) {
        uint64_t number = cluster_state_last_job(g->state);

        while (number > 0 && rig_job_is_own(g, number))
                number--;
        return number;
}
