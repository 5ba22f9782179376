// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   plan: verify -> the helper is asked (unit-verifier.h) -> an answer, or none in time -> the verdict -> planned again
//
// A content that says itself that nobody can start the unit is refused without a question. Else only one answer refuses one: that
// this host's systemd would. No helper, no systemd-analyze, no answer: then the unit is
// stopped and started as it always was. The systemd of a container is another one, and is not asked.

#include "agent-verify.h"

#include <errno.h>

#include "agent-core.h"
#include "agent-step.h"
#include "agent-unit.h"
#include "log.h"
#include "manager-name.h"
#include "str.h"
#include "unit-verifier.h"

typedef struct VerifyCall {
        ListNode link; // in AgentNode.verifying
        AgentNode *node;
        uint64_t step, question;
        Hash content; // that is asked about: another one may be wanted when the answer comes
        char name[];
} VerifyCall;

#define REFUSED_TEXT "systemd would refuse the new file, so the unit runs on with the file that it has: "

static void refuse(AgentUnit *u, const UnitFinding *why) {
        u->work->verdict = PLAN_VERDICT_REFUSED;
        agent_step_done(u, NULL);
        if (why->line > 0)
                agent_unit_set_error(u, REFUSED_TEXT "line %u: %s", why->line, why->text);
        else
                agent_unit_set_error(u, REFUSED_TEXT "%s", why->text);
}

// It takes the file, and then nobody's start of the unit.
static bool refuses_start(const AgentUnit *u) {
        const AgentUnitWork *work = agent_unit_doing(u);

        return work->spec && work->spec->refuses_start && hash_equal(&work->spec->hash, &work->wanted.spec) &&
               work->wanted.target == ARGOSY__TARGET__TARGET_LAUNCHED;
}

static void refuse_start(AgentUnit *u) {
        u->work->judged = u->work->wanted.spec;
        u->work->verdict = PLAN_VERDICT_REFUSED;
        agent_step_done(u, NULL);
        agent_unit_set_error(u, "%s", "systemd would not start it with the new file (RefuseManualStart=yes), so the unit runs on with the file that it has");
}

// An answer about a content that is not wanted any more says nothing of the one that is: that one is asked about next.
static void judge(AgentUnit *u, const Hash *content, const UnitFinding *why) {
        u->work->judged = *content;
        if (why && hash_equal(content, &u->work->wanted.spec)) {
                refuse(u, why);
                return;
        }
        u->work->verdict = PLAN_VERDICT_TAKEN;
        agent_step_done(u, NULL);
}

static void on_verified(int error, const char *systemd, const UnitFindings *findings, size_t n, void *userdata) {
        VerifyCall *call = userdata;
        AgentUnit *u = agent_step_find(call->node, call->name, call->step);
        Hash content = call->content;

        list_unlink(&call->link);
        free(call);
        if (error < 0 && u)
                log_unit(LOG_DEBUG, u->name, "%s: what systemd would say of its new file is not known: %s", u->name, strerror(-error));
        if (u)
                judge(u, &content, error == 0 && n == 1 ? unit_findings_refusal(&findings[0]) : NULL);
}

static bool can_ask(const AgentNode *node) {
        return node->agent->verifier && manager_name_kind(node->manager) != MANAGER_CONTAINER;
}

static int ask(AgentUnit *u) {
        AgentNode *node = u->node;
        const UnitAnalysisFile file = {u->name, u->work->spec->content, u->work->spec->len};
        size_t size = strlen(u->name) + 1;
        VerifyCall *call = calloc(1, sizeof(*call) + size);
        int r = call ? 0 : -ENOMEM;

        if (r < 0)
                return r;
        call->node = node;
        call->step = u->work->step_number;
        call->content = u->work->spec->hash;
        memcpy(call->name, u->name, size);
        list_init(&call->link);
        r = unit_verifier_ask(node->agent->verifier, &file, 1, node->agent->user || agent_node_is_users(node), AGENT_VERIFY_MS,
                              on_verified, call, &call->question);
        if (r < 0)
                free(call);
        else
                list_append(&node->verifying, &call->link);
        return r;
}

void agent_verify(AgentUnit *u) {
        if (refuses_start(u))
                refuse_start(u);
        else if (!can_ask(u->node) || ask(u) < 0)
                judge(u, &u->work->wanted.spec, NULL);
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
