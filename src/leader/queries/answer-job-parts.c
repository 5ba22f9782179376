// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Units of one group had the same content before and have the same one after, so that is compared once.
//
// Cost: each byte of both contents; a job whose units have many contents is told of the first ones.

#include "answer-job-parts.h"

#include <errno.h>

#include "content-difference.h"
#include "message.h"
#include "rollout-content.h"

enum {
        JOB_PARTS_BYTES = 1024 * 1024, // of contents that are compared for one job
};

void job_parts_done(JobParts *p) {
        if (p->parts)
                message_free(p->parts);
        p->parts = NULL;
        p->group = NULL;
}

static int compare(JobParts *p) {
        const SpecEntry *before = rollout_spec(p->leader, &p->group->spec), *after = rollout_spec(p->leader, &p->group->spec_after);

        if (!before || !after || p->n_bytes >= JOB_PARTS_BYTES)
                return 0;
        p->n_bytes += before->len + after->len;
        return content_difference_parts(before->content, before->len, after->content, after->len, &p->parts);
}

int job_parts_fill(JobParts *p, const Argosy__JobUnits *group, Argosy__Response__JobUnitRow *row) {
        int r = 0;

        if (p->group != group) {
                job_parts_done(p);
                p->group = group;
                r = group->gone ? 0 : compare(p);
        }
        if (r < 0 || !p->parts)
                return r;
        row->parts = message_copy(p->parts);
        return row->parts ? 0 : -ENOMEM;
}
