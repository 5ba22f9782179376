// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   plan: verify -> the helper is asked (unit-verifier.h) -> an answer, or none in time -> the verdict ->
//   planned again
//
// A content that says itself that nobody can start the unit is refused without a question. Else only one
// answer refuses one: that this host's systemd would. No helper, no systemd-analyze, no answer: then the
// unit is stopped and started as it always was. The systemd of a container is another one, and is not asked.
//
//   plan: fetch, of a container's content -> the same helper makes the unit of it, and asks systemd about
// that -> kept until it is written
//
// Without a unit nothing can be written. So the answer is waited for, however many containers come to this
// host at once, each of which takes podman a moment; no answer is an error, which is tried again. What the
// generator refuses another node's may take; it is looked at again with the next request, and when this host
// has another podman, since that is an Attach (agent-podman.h).

#include "agent-verify.h"

#include <errno.h>

#include "agent-barred.h"
#include "agent-core.h"
#include "agent-step.h"
#include "agent-unit.h"
#include "log.h"
#include "manager-name.h"
#include "str.h"
#include "unit-name.h"
#include "unit-verifier.h"

typedef struct VerifyCall {
        ListNode link; // in AgentNode.verifying
        AgentNode *node;
        uint64_t step, question;
        bool makes, for_template;
        Hash content; // that is asked about: another one may be wanted when the answer comes
        char name[];
} VerifyCall;

#define RUNS_ON_TEXT "so the unit runs on with the file that it has: "
#define REFUSED_TEXT "systemd would refuse the new file, " RUNS_ON_TEXT

static void refuse(AgentUnit *u, const UnitFinding *why) {
        u->work->verdict = PLAN_VERDICT_REFUSED;
        agent_step_done(u, NULL);
        if (why->line > 0)
                agent_unit_set_error(u, REFUSED_TEXT "line %u: %s", why->line, why->text);
        else
                agent_unit_set_error(u, REFUSED_TEXT "%s", why->text);
}

void agent_verify_run_on(AgentUnit *u, const char *what, const char *why) {
        u->work->judged = u->work->wanted.spec;
        u->work->verdict = PLAN_VERDICT_REFUSED;
        agent_step_done(u, NULL);
        agent_unit_set_error(u, "%s, " RUNS_ON_TEXT "%s", what, why);
}

// It takes the file, and then nobody's start of the unit.
static bool refuses_start(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        return work->spec && work->spec->refuses_start &&
               hash_equal(&work->spec->hash, &work->wanted.spec) &&
               work->wanted.target == ARGOSY__TARGET__TARGET_LAUNCHED;
}

static void refuse_start(AgentUnit *u) {
        u->work->judged = u->work->wanted.spec;
        u->work->verdict = PLAN_VERDICT_REFUSED;
        agent_step_done(u, NULL);
        agent_unit_set_error(u, "%s",
                             "systemd would not start it with the new file (RefuseManualStart=yes), so the "
                             "unit runs on with the file that it has");
}

// An answer about a content that is not wanted any more says nothing of the one that is: that one is asked
// about next.
static void judge(AgentUnit *u, const Hash *content, const UnitFinding *why) {
        u->work->judged = *content;
        if (why && hash_equal(content, &u->work->wanted.spec)) {
                refuse(u, why);
                return;
        }
        u->work->verdict = PLAN_VERDICT_TAKEN;
        agent_step_done(u, NULL);
}

// ------------------------------------------------------------------------------------------------
// containers

#define NO_QUADLET_TEXT "no Quadlet here: that takes podman 5.0 or newer, and a host's own manager"

bool agent_verify_is_to_write(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);
        bool runs_on = work->verdict == PLAN_VERDICT_REFUSED &&
                       hash_equal(&work->judged, &work->wanted.spec) && !agent_unit_is_down(u);

        return work->spec && work->spec->container && !agent_unit_is_written(u) && !runs_on;
}

bool agent_verify_makes(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        if (!agent_verify_is_to_write(u))
                return false;
        return !work->made || !hash_equal(&work->made->of, &work->spec->hash) ||
               work->made->for_template != work->from_template;
}

// What runs goes on with what it has. What is not ours yet does not become ours.
static void refuse_to_make(AgentUnit *u, const char *why) {
        if (u->has_held && !agent_unit_is_down(u)) {
                agent_verify_run_on(u, "of the new file no unit can be made here", why);
                return;
        }
        if (!u->has_held)
                agent_barred_refuse(u);
        agent_step_done(u, why);
}

static void take_made(AgentUnit *u, const VerifyCall *call, const Buf *made, const UnitFinding *why) {
        AgentMade *m = calloc(1, sizeof(*m));

        if (!m || buf_append(&m->text, made->data, made->len) < 0) {
                agent_made_free(m);
                agent_step_done(u, strerror(ENOMEM));
                return;
        }
        m->of = call->content;
        m->for_template = call->for_template;
        agent_made_free(u->work->made);
        u->work->made = m;
        judge(u, &call->content, agent_unit_is_down(u) ? NULL : why);
}

static void on_made(AgentUnit *u, const VerifyCall *call, int error, const UnitVerdict *verdict) {
        const UnitFinding *why =
                error == 0 && verdict->n == 1 ? unit_findings_refusal(&verdict->findings[0]) : NULL;
        char text[AGENT_ERROR_MAX];

        if (!hash_equal(&call->content, &u->work->wanted.spec)) {
                agent_step_done(u, NULL); // planned again
        } else if (error == 0 && verdict->n == 1 && verdict->made[0].len > 0) {
                take_made(u, call, &verdict->made[0], why);
        } else if (error == 0) {
                refuse_to_make(u, why ? why->text : NO_QUADLET_TEXT);
        } else {
                str_fit(text, sizeof(text), "podman's generator: %s",
                        error == -ETIMEDOUT ? "no answer in time" : strerror(-error));
                agent_step_done(u, text);
        }
}

// ------------------------------------------------------------------------------------------------ questions

static void on_verified(int error, const UnitVerdict *verdict, void *userdata) {
        _cleanup_free_ VerifyCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->step);

        list_unlink(&call->link);
        if (error < 0 && u)
                log_unit(LOG_DEBUG, u->name, "%s: what systemd would say of its new file is not known: %s",
                         u->name, strerror(-error));
        if (u && call->makes)
                on_made(u, call, error, verdict);
        else if (u)
                judge(u, &call->content,
                      error == 0 && verdict->n == 1 ? unit_findings_refusal(&verdict->findings[0]) : NULL);
}

static bool can_ask(const AgentNode *node) {
        return node->agent->verifier && manager_name_kind(node->manager) != MANAGER_CONTAINER;
}

static int ask(AgentUnit *u, bool makes) {
        AgentNode *node = u->node;
        bool for_template = makes && u->work->from_template;
        _cleanup_free_ char *name = for_template ? unit_name_template(u->name) : strdup(u->name);
        const UnitAnalysisFile file = {name, u->work->spec->content, u->work->spec->len};
        VerifyCall *call = name ? NEW_WITH_TEXT(VerifyCall, name, u->name) : NULL;
        int r = call ? 0 : -ENOMEM;

        if (r < 0)
                return r;
        call->makes = makes;
        call->for_template = for_template;
        call->node = node;
        call->step = u->work->step_number;
        call->content = u->work->spec->hash;
        list_init(&call->link);
        r = unit_verifier_ask(node->agent->verifier, &file, 1,
                              node->agent->user || agent_node_is_users(node),
                              makes ? UNIT_VERIFIER_NO_LIMIT : AGENT_VERIFY_MS, on_verified, call,
                              &call->question);
        if (r < 0)
                free(call);
        else
                list_append(&node->verifying, &call->link);
        return r;
}

void agent_verify(AgentUnit *u) {
        if (refuses_start(u))
                refuse_start(u);
        else if (!can_ask(u->node) || u->work->spec->container ||
                 ask(u, false) < 0) // a container's has been judged when it was made
                judge(u, &u->work->wanted.spec, NULL);
}

void agent_verify_make(AgentUnit *u) {
        const Agent *a = u->node->agent;
        int r;

        if (u->node != a->system || a->user || !a->verifier) {
                refuse_to_make(u, NO_QUADLET_TEXT);
                return;
        }
        r = ask(u, true);
        if (r < 0)
                agent_step_done(u, strerror(-r));
}

PlanVerdict agent_verdict(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        if (!can_ask(u->node) && !refuses_start(u))
                return PLAN_VERDICT_TAKEN;
        return hash_equal(&work->judged, &work->wanted.spec) ? work->verdict : PLAN_VERDICT_NONE;
}

void agent_verify_drop(AgentNode *node) {
        list_foreach_safe (i, &node->verifying) {
                VerifyCall *call = CONTAINER_OF(i, VerifyCall, link);

                (void) unit_verifier_cancel(node->agent->verifier, call->question); // `call` itself
                list_unlink(&call->link);
                free(call);
        }
}
