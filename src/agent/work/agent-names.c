// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether units of some names would be taken on a node: asked by a leader that plans, and changes nothing.
//
// Happy path: a question waits until no batch of files is with the pool, which alone uses the node's UnitDir
// meanwhile. Then the pool looks whose the names are, by unit_dir_foreign_or_alias(), as it does before a
// file is written. For those that are somebody else's systemd says whether they are up, since then that is
// the reason that a start would give; what files of the others would be bound over is looked at
// (agent-places.h), and whether somebody's container has a container's name (agent-container-names.h). The
// answer goes out when the last of them is known. Names that argosy has there already would be taken.
//
// The directories of users and containers are seen by the node's helper alone (agent-writer.c), which looks
// in the place of the pool, and is believed as with what it writes.
//
// Limits: a node has NAME_CHECKS_MAX questions, those that its systemd is asked about included. What is up
// without any file, which is no service, is not found.
//
// Failures: too many questions, a node that is not there or closes, a manager that cannot be used at
// present, a helper that does not answer, and -ENOMEM are answered with an error.
#include "agent-carried.h"
#include "agent-container-names.h"
#include "agent-names.h"

#include <errno.h>

#include "agent-files.h"
#include "agent-unit.h"
#include "agent-writer.h"
#include "message-of.h"
#include "message.h"
#include "pool.h"
#include "str.h"
#include "unit-name.h"

enum { NAME_CHECKS_MAX = 64 };

typedef struct NameCheck {
        ListNode link;     // in AgentNode.name_checks while it waits
        ListNode in_agent; // in Agent.name_checks as long as its leader may hear the answer
        PoolWork work;
        Agent *agent;
        AgentNode *node;
        Argosy__ToHost__Call *call;
        char **refusals; // one for each name; NULL: it would be taken
        AgentPlaces *places; // of each, what its files would be bound over
        size_t n_asked;  // questions to systemd and about places under way
} NameCheck;

typedef struct NameRef { // of a question to systemd, or about places
        NameCheck *check;
        size_t at;
} NameRef;

static void check_free(NameCheck *c) {
        c->node->n_name_checks--;
        list_unlink(&c->link);
        list_unlink(&c->in_agent);
        for (size_t i = 0; i < c->call->names->n_units; i++) {
                free(c->refusals[i]);
                agent_places_done(&c->places[i]);
        }
        free(c->refusals);
        free(c->places);
        message_free(c->call);
        free(c);
}

static void reply(Agent *a, Argosy__ToVoter__CallReply *reply) {
        Argosy__ToVoter message = TO_VOTER_OF(CALL_REPLY, call_reply, reply);

        (void) a->ops.send(&message, a->userdata); // no link: the leader has forgotten the call
}

static void fail(Agent *a, uint64_t id, int error) {
        Argosy__Response response = RESPONSE_WITH(.final = true, .status = -error);
        Argosy__ToVoter__CallReply m = MESSAGE_OF(to_voter__call_reply, .id = id, .response = &response);

        response.message = strerror(-error);
        reply(a, &m);
}

static void answer(NameCheck *c) {
        Argosy__ToVoter__NameAnswer names = ARGOSY__TO_VOTER__NAME_ANSWER__INIT;
        size_t n = c->call->names->n_units;
        _cleanup_free_ char **refusals = calloc(n ?: 1, sizeof(*refusals));

        if (!list_is_linked(&c->in_agent)) // its leader hears nothing any more
                return;
        if (!refusals) {
                fail(c->agent, c->call->id, -ENOMEM);
                return;
        }
        for (size_t i = 0; i < n; i++)
                refusals[i] = c->refusals[i] ?: (char *) "";
        names.refusals = refusals;
        names.n_refusals = n;
        Argosy__ToVoter__CallReply m = MESSAGE_OF(to_voter__call_reply, .id = c->call->id, .names = &names);
        reply(c->agent, &m);
}

static void step_done(NameCheck *c) {
        AgentNode *node = c->node;

        if (--c->n_asked > 0)
                return;
        answer(c);
        check_free(c);
        agent_node_close_step(node);
}

// ---- in the pool

static ProtobufCBinaryData content_of(const Argosy__ToHost__NameCheck *m,
                                      const Argosy__ToHost__NameCheck__Unit *u) {
        return u->content > 0 && u->content <= m->n_contents ? m->contents[u->content - 1]
                                                             : (ProtobufCBinaryData){};
}

static char *refuse_files(const AgentNode *node, const char *name, const ProtobufCBinaryData *content,
                          AgentPlaces *ret_places) {
        char why[AGENT_ERROR_MAX];

        return content->len > 0 && agent_carried_bars_content(node, name, content->data, content->len, why,
                                                              ret_places)
                       ? strdup(why)
                       : NULL;
}

static void run(PoolWork *work) {
        NameCheck *c = CONTAINER_OF(work, NameCheck, work);
        const Argosy__ToHost__NameCheck *m = c->call->names;

        if (m->n_units >= UNIT_DIR_SURVEY_FROM)
                unit_dir_survey_begin(c->node->dir);
        for (size_t i = 0; i < m->n_units; i++) {
                ProtobufCBinaryData content = content_of(m, m->units[i]);
                _cleanup_free_ char *path = unit_dir_foreign_or_alias(c->node->dir, m->units[i]->name,
                                                                      content.data, content.len);

                c->refusals[i] = path ? agent_file_foreign_text(path)
                                      : refuse_files(c->node, m->units[i]->name, &content, &c->places[i]);
        }
        unit_dir_survey_end(c->node->dir);
}

// ---- back in the loop

static const char *property(Argosy__Response__Property *const *properties, size_t n, const char *key) {
        for (size_t i = 0; i < n; i++)
                if (streq(properties[i]->key, key))
                        return properties[i]->value;
        return "";
}

// Whether a unit of that name runs. If it is down, its file is the reason of the refusal.
static bool is_up(const char *active) {
        return *active && !streq(active, "inactive") && !streq(active, "failed");
}

static void on_inspected(int error, Argosy__Response__Property *const *properties, size_t n,
                         void *userdata) {
        _cleanup_free_ NameRef *ref = userdata;
        NameCheck *c = ref->check;
        char *text = error >= 0 && is_up(property(properties, n, "ActiveState")) ? strdup(AGENT_ACTIVE_TEXT)
                                                                                 : NULL;

        if (text) {
                free(c->refusals[ref->at]);
                c->refusals[ref->at] = text;
        }
        step_done(c);
}

// Asks about a name; the answer takes `ref`. False: nothing was asked.
typedef bool NameQuestion(NameRef *ref);

static void ask(NameCheck *c, size_t i, NameQuestion *question) {
        NameRef *ref = malloc(sizeof(*ref));

        if (!ref)
                return;
        *ref = (NameRef){c, i};
        c->n_asked++;
        if (!question(ref)) {
                c->n_asked--; // never the last one: the check itself counts
                free(ref);
        }
}

static const char *name_of(const NameRef *ref) {
        return ref->check->call->names->units[ref->at]->name;
}

static bool ask_systemd(NameRef *ref) {
        return systemd_manager_inspect(ref->check->node->systemd, name_of(ref), on_inspected, ref) >= 0;
}

// What argosy has there would be taken, whatever has become of its file: it is not refused, but fails.
static void keep_ours(NameCheck *c, size_t i) {
        const AgentUnit *u = agent_unit_find(c->node, c->call->names->units[i]->name);

        if (u && u->has_held)
                free(TAKE_PTR(c->refusals[i]));
}

// From whoever was asked; the first reason is said.
static void on_answer(const char *why, void *userdata) {
        _cleanup_free_ NameRef *ref = userdata;
        NameCheck *c = ref->check;

        if (why && !c->refusals[ref->at])
                c->refusals[ref->at] = strdup(why);
        step_done(c);
}

static bool look_at_places(NameRef *ref) {
        NameCheck *c = ref->check;
        const AgentUnit *u = agent_unit_find(c->node, name_of(ref));

        return !(u && u->has_held) && agent_places_look(c->agent, &c->places[ref->at], on_answer, ref) >= 0;
}

// Of one that is here, too, if it is down: then its start looks as well.
static bool look_at_container(NameRef *ref) {
        const Argosy__ToHost__NameCheck *m = ref->check->call->names;
        const AgentUnit *u = agent_unit_find(ref->check->node, name_of(ref));
        ProtobufCBinaryData content = content_of(m, m->units[ref->at]);

        return !(u && !agent_unit_is_down(u)) &&
               agent_container_names_ask(ref->check->agent, name_of(ref), content.data, content.len,
                                         on_answer, ref) > 0;
}

static void on_looked(NameCheck *c) {
        AgentNode *node = c->node;

        node->writing = false;
        c->n_asked = 1;
        for (size_t i = 0; i < c->call->names->n_units && !node->closing; i++) {
                keep_ours(c, i);
                if (c->refusals[i]) {
                        ask(c, i, ask_systemd);
                        continue;
                }
                if (c->places[i].n > 0)
                        ask(c, i, look_at_places);
                if (node == c->agent->system)
                        ask(c, i, look_at_container);
        }
        drain_mark(&c->agent->drain);
        step_done(c);
}

static void on_work_done(PoolWork *work) {
        on_looked(CONTAINER_OF(work, NameCheck, work));
}

// ---- by a helper

// Its leader hears the error instead of an answer.
static void give_up(NameCheck *c, int error) {
        if (list_is_linked(&c->in_agent))
                fail(c->agent, c->call->id, error);
        list_unlink(&c->in_agent);
}

static int take_reply(NameCheck *c, const Argosy__HelperReply *reply) {
        if (reply->n_results != c->call->names->n_units)
                return -EBADMSG;
        for (size_t i = 0; i < reply->n_results; i++) {
                _cleanup_free_ char *path = NULL;

                if (!*reply->results[i]->foreign)
                        continue;
                path = str_printable(reply->results[i]->foreign, AGENT_ERROR_MAX);
                c->refusals[i] = path ? agent_file_foreign_text(path) : NULL;
                if (!c->refusals[i])
                        return -ENOMEM;
        }
        return 0;
}

static void on_helper_looked(int error, const Argosy__HelperReply *reply, void *userdata) {
        NameCheck *c = userdata;
        int r = error < 0 ? error : take_reply(c, reply);

        if (r < 0)
                give_up(c, r);
        on_looked(c);
}

static void ask_helper(NameCheck *c) {
        int r = systemd_manager_is_synced(c->node->systemd)
                        ? agent_writer_look(c->node, c->call->names, on_helper_looked, c)
                        : -EHOSTUNREACH;

        if (r < 0)
                on_helper_looked(r, NULL, c);
}

// ---- questions

void agent_names_start(AgentNode *node) {
        NameCheck *c;

        if (node->writing || node->closing || list_is_empty(&node->name_checks))
                return;
        c = CONTAINER_OF(node->name_checks.next, NameCheck, link);
        list_unlink(&c->link);
        agent_node_begin_writing(node);
        if (!node->dir)
                ask_helper(c);
        else
                pool_add(node->agent->loop, &c->work, POOL_CLUSTER, run, on_work_done);
}

static bool names_are_good(const Argosy__ToHost__NameCheck *m) {
        for (size_t i = 0; i < m->n_units; i++)
                if (unit_name_kind(m->units[i]->name, NULL) == UNIT_NAME_INVALID)
                        return false;
        return true;
}

static int check_new(AgentNode *node, const Argosy__ToHost__Call *call, NameCheck **ret) {
        NameCheck *c = calloc(1, sizeof(*c));

        if (!c)
                return -ENOMEM;
        list_init(&c->link);
        list_init(&c->in_agent);
        c->agent = node->agent;
        c->node = node;
        c->call = message_copy(call);
        c->refusals = calloc(call->names->n_units ?: 1, sizeof(*c->refusals));
        c->places = calloc(call->names->n_units ?: 1, sizeof(*c->places));
        if (!c->call || !c->refusals || !c->places) {
                free(c->refusals);
                free(c->places);
                message_free(c->call);
                free(c);
                return -ENOMEM;
        }
        list_append(&node->agent->name_checks, &c->in_agent);
        *ret = c;
        return 0;
}

void agent_names_on_call(Agent *a, const Argosy__ToHost__Call *call) {
        AgentNode *node = call->node ? agent_node_find(a, call->node) : a->system;
        NameCheck *c;
        int r = -ENXIO;

        if (node)
                r = names_are_good(call->names) ? 0 : -EINVAL;
        if (r >= 0)
                r = node->n_name_checks < NAME_CHECKS_MAX ? check_new(node, call, &c) : -EBUSY;
        if (r < 0) {
                fail(a, call->id, r);
        } else {
                list_append(&node->name_checks, &c->link);
                node->n_name_checks++;
                drain_mark(&a->drain);
        }
}

void agent_names_drop(Agent *a) {
        list_foreach_safe (i, &a->name_checks) {
                NameCheck *c = CONTAINER_OF(i, NameCheck, in_agent);

                list_unlink(i);
                if (list_is_linked(&c->link))
                        check_free(c);
        }
}

void agent_names_drop_node(AgentNode *node) {
        while (!list_is_empty(&node->name_checks)) {
                NameCheck *c = CONTAINER_OF(node->name_checks.next, NameCheck, link);

                if (list_is_linked(&c->in_agent))
                        fail(c->agent, c->call->id, -ECONNRESET);
                check_free(c);
        }
}
