// SPDX-License-Identifier: LGPL-2.1-or-later
//
// contents -> of containers the units that podman's generator makes, in its sandbox -> systemd-analyze in
// another -> findings, in one reply.
//
// What takes longer than ANSWER_MS is ended and said (-ETIMEDOUT): so this process answers in time and goes
// on, and leaves no directory behind. The version of systemd is asked once in its life. Where there is no
// systemd-analyze, containers are made all the same.

#include "helper-verify.h"

#include <errno.h>

#include "file-analysis.h"
#include "helper-frame.h"
#include "message-of.h"
#include "quadlet-generator.h"

enum { ANSWER_MS = 4000 };

_Static_assert((int) UNIT_FINDING_REFUSED == ARGOSY__FINDING_KIND__FINDING_REFUSED &&
                       (int) UNIT_FINDING_MISSING == ARGOSY__FINDING_KIND__FINDING_MISSING,
               "the same on the wire");

void helper_verified_done(HelperVerified *v) {
        for (size_t i = 0; i < v->n; i++)
                unit_findings_done(&v->findings[i]);
        for (size_t i = 0; v->made && i < v->n; i++)
                buf_done(&v->made[i]);
        free(v->made);
        free(v->findings);
        free(v->list);
        free(v->pointers);
        *v = (HelperVerified){};
}

static int look(const Argosy__HelperVerify *q, HelperVerified *v) {
        UnitAnalysisFile files[HELPER_VERIFY_FILES];

        for (size_t i = 0; i < q->n_files; i++)
                files[i] = (UnitAnalysisFile){q->files[i]->name, q->files[i]->content.data,
                                              q->files[i]->content.len};
        return file_analysis(files, q->n_files, q->user, ANSWER_MS, v->findings, v->made);
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
                        Argosy__HelperFinding *m = v->pointers[reply->n_findings] =
                                &v->list[reply->n_findings];

                        *m = (Argosy__HelperFinding) MESSAGE_OF(
                                helper_finding, .file = (uint32_t) i, .line = f->line,
                                .kind = (Argosy__FindingKind) f->kind, .text = f->text);
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
        v->made = calloc(q->verify->n_files + 1, sizeof(*v->made));
        if (!v->findings || !v->made)
                return -ENOMEM;
        v->n = q->verify->n_files;
        reply->error = look(q->verify, v);
        if (reply->error < 0)
                return reply->error == -ENOMEM ? -ENOMEM : 0;
        reply->systemd = v->n > 0 ? systemd_version() : (char *) "";
        if (quadlet_generator_version(v->podman))
                reply->podman = v->podman;
        if (v->n == 1) { // a question about several files wants their findings
                v->unit = (ProtobufCBinaryData){v->made[0].len, v->made[0].data};
                reply->made = &v->unit;
                reply->n_made = 1;
        }
        return fill_in(v, reply);
}
