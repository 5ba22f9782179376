// SPDX-License-Identifier: LGPL-2.1-or-later
//
// contents -> systemd-analyze in its sandbox -> findings, in one reply.
//
// What takes longer than ANSWER_MS is ended and said (-ETIMEDOUT): so this process answers in time and goes on, and leaves no
// directory behind. The version of systemd is asked once in its life.

#include "helper-verify.h"

#include <errno.h>

#include "helper-frame.h"
#include "unit-analysis.h"

enum { ANSWER_MS = 4000 };

_Static_assert((int) UNIT_FINDING_REFUSED == ARGOSY__FINDING_KIND__FINDING_REFUSED &&
                       (int) UNIT_FINDING_MISSING == ARGOSY__FINDING_KIND__FINDING_MISSING,
               "the same on the wire");

void helper_verified_done(HelperVerified *v) {
        for (size_t i = 0; i < v->n; i++)
                unit_findings_done(&v->findings[i]);
        free(v->findings);
        free(v->list);
        free(v->pointers);
        *v = (HelperVerified){};
}

static int analyze(const Argosy__HelperVerify *q, UnitFindings *ret) {
        _cleanup_(unit_analysis_freep) UnitAnalysis *analysis = NULL;
        UnitAnalysisFile files[HELPER_VERIFY_FILES];
        int r;

        for (size_t i = 0; i < q->n_files; i++)
                files[i] = (UnitAnalysisFile){q->files[i]->name, q->files[i]->content.data, q->files[i]->content.len};
        r = unit_analysis_start(files, q->n_files, q->user, &analysis);
        return r < 0 ? r : unit_analysis_wait(analysis, ANSWER_MS, ret);
}

static int fill_in(HelperVerified *v, Argosy__HelperReply *reply) {
        size_t n = 0;

        for (size_t i = 0; i < v->n; i++)
                n += v->findings[i].n;
        v->list = calloc(n + 1, sizeof(*v->list));
        v->pointers = calloc(n + 1, sizeof(*v->pointers));
        if (!v->list || !v->pointers)
                return -ENOMEM;
        for (size_t i = 0; i < v->n; i++)
                for (size_t k = 0; k < v->findings[i].n; k++) {
                        const UnitFinding *f = &v->findings[i].list[k];
                        Argosy__HelperFinding *m = v->pointers[reply->n_findings] = &v->list[reply->n_findings];

                        argosy__helper_finding__init(m);
                        m->file = (uint32_t) i;
                        m->line = f->line;
                        m->kind = (Argosy__FindingKind) f->kind;
                        m->text = f->text;
                        reply->n_findings++;
                }
        reply->findings = v->pointers;
        return 0;
}

static char *systemd_version(void) {
        static char *version;

        if (!version && unit_analysis_version(&version) < 0)
                return (char *) "systemd";
        return version;
}

int helper_verify_answer(const Argosy__HelperRequest *q, HelperVerified *v, Argosy__HelperReply *reply) {
        if (!q->verify || q->verify->n_files > HELPER_VERIFY_FILES)
                return -EBADMSG;
        v->findings = calloc(q->verify->n_files + 1, sizeof(*v->findings));
        if (!v->findings)
                return -ENOMEM;
        v->n = q->verify->n_files;
        reply->error = analyze(q->verify, v->findings);
        if (reply->error < 0)
                return reply->error == -ENOMEM ? -ENOMEM : 0;
        reply->systemd = systemd_version();
        return fill_in(v, reply);
}
