// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What this host's systemd says of unit files (`argosyctl verify`).
//
//      call_start_verify() -> unit_verifier_ask() -> on_verified() -> a Response with the findings
//          -> the call is freed
//
// Limits: UNIT_VERIFIER_FILES_MAX files, VERIFY_MS. Failures: -EOPNOTSUPP for a container's node (another
// systemd, which is not asked) and without systemd-analyze, -E2BIG, -ETIMEDOUT, -ENOMEM; a call that was
// cancelled ignores its answer.

#include <errno.h>
#include <stdlib.h>

#include "agent-calls-verify.h"
#include "manager-name.h"
#include "message-of.h"
#include "quadlet.h"
#include "unit-verifier.h"

enum { VERIFY_MS = 20000 };

typedef struct Answer { // the memory that the Response points to
        Argosy__Response__FileFindings *files, **file_pointers;
        Argosy__Response__Finding *findings, **finding_pointers;
} Answer;

static void answer_done(Answer *a) {
        free(a->files);
        free(a->file_pointers);
        free(a->findings);
        free(a->finding_pointers);
}

static int fill_in(Answer *a, char *const *names, const UnitFindings *findings, size_t n) {
        size_t n_all = 0, at = 0;

        for (size_t i = 0; i < n; i++)
                n_all += findings[i].n;
        a->files = calloc(n + 1, sizeof(*a->files));
        a->file_pointers = calloc(n + 1, sizeof(*a->file_pointers));
        a->findings = calloc(n_all + 1, sizeof(*a->findings));
        a->finding_pointers = calloc(n_all + 1, sizeof(*a->finding_pointers));
        if (!a->files || !a->file_pointers || !a->findings || !a->finding_pointers)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                a->file_pointers[i] = &a->files[i];
                a->files[i] = (Argosy__Response__FileFindings) MESSAGE_OF(
                        response__file_findings, .unit = names[i], .findings = a->finding_pointers + at,
                        .n_findings = findings[i].n);
                for (size_t k = 0; k < findings[i].n; k++, at++) {
                        Argosy__Response__Finding *f = a->finding_pointers[at] = &a->findings[at];

                        *f = (Argosy__Response__Finding) MESSAGE_OF(
                                response__finding, .line = findings[i].list[k].line,
                                .kind = (Argosy__FindingKind) findings[i].list[k].kind,
                                .text = findings[i].list[k].text);
                }
        }
        return 0;
}

static void answer(Call *c, const char *systemd, const UnitFindings *findings, size_t n) {
        _cleanup_(answer_done) Answer a = {};
        Argosy__Response__Verify verify = ARGOSY__RESPONSE__VERIFY__INIT;
        Argosy__Response response = RESPONSE_OF(VERIFY, verify, &verify);
        AgentReply reply = c->reply;
        void *userdata = c->userdata;

        if (fill_in(&a, c->names, findings, n) < 0) {
                call_end(c, -ENOMEM, NULL);
                return;
        }
        verify.node = c->node->name;
        verify.systemd = (char *) systemd;
        verify.files = a.file_pointers;
        verify.n_files = n;
        verify.nodes = 1;
        response.final = true;
        reply(&response, userdata);
        call_free(c);
}

static void on_verified(int error, const UnitVerdict *verdict, void *userdata) {
        _cleanup_free_ CallRef *ref = userdata;
        Call *c = call_find(ref->agent, ref->number);

        if (!c)
                return;
        c->verifying = 0;
        if (error == 0)
                answer(c, verdict->systemd, verdict->findings, verdict->n);
        else if (error == -ENOENT)
                call_end(c, -EOPNOTSUPP, "there is no systemd-analyze");
        else
                call_end(c, error,
                         error != -ETIMEDOUT ? NULL
                         : c->asks_podman    ? "podman's generator and systemd-analyze did not end in time"
                                             : "systemd-analyze did not end in time");
}

static int ask(Call *c, const Argosy__Request__Verify *q) {
        Agent *a = c->agent;
        UnitAnalysisFile files[UNIT_VERIFIER_FILES_MAX];
        unsigned within_ms = q->within_ms > 0 ? MIN_OF(q->within_ms, (uint32_t) VERIFY_MS) : VERIFY_MS;
        CallRef *ref = call_ref(c, 0);
        int r = ref ? 0 : -ENOMEM;

        for (size_t i = 0; i < q->n_files; i++) {
                files[i] = (UnitAnalysisFile){q->files[i]->name, q->files[i]->content.data,
                                              q->files[i]->content.len};
                c->asks_podman |= quadlet_is(files[i].content, files[i].len);
        }
        if (r == 0)
                r = unit_verifier_ask(a->verifier, files, q->n_files,
                                      a->user || agent_node_is_users(c->node), within_ms, on_verified, ref,
                                      &c->verifying);
        if (r < 0)
                free(ref);
        return r;
}

static void release(Call *c) {
        if (c->verifying)
                free(unit_verifier_cancel(c->agent->verifier, c->verifying)); // a CallRef
}

int call_start_verify(Agent *a, AgentNode *node, const Argosy__Request__Verify *q, AgentReply reply,
                      void *userdata, uint64_t *ret) {
        char *names[UNIT_VERIFIER_FILES_MAX];
        Call *c;
        int r;

        if (!a->verifier || manager_name_kind(node->manager) == MANAGER_CONTAINER)
                return -EOPNOTSUPP;
        if (q->n_files > UNIT_VERIFIER_FILES_MAX)
                return -E2BIG;
        for (size_t i = 0; i < q->n_files; i++)
                names[i] = q->files[i]->name;
        r = call_new(a, node, names, q->n_files, release, reply, userdata, &c);
        if (r < 0)
                return r;
        r = ask(c, q);
        if (r < 0) {
                call_free(c);
                return r;
        }
        *ret = c->number;
        return 0;
}
