// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which chunks of a unit's file (drop-ins, carried files) a job changed, for its rows. job_chunks_fill() per
// row -> compared once per group, as its units had the same content before and have the same after. Cost:
// each byte of both contents. Rows of contents above JOB_CHUNK_BYTES in one job have no chunks. Failure:
// -ENOMEM.

#include "answer-job-chunks.h"

#include <errno.h>

#include "content-difference.h"
#include "message.h"
#include "rollout-content.h"

enum {
        JOB_CHUNK_BYTES = 1024 * 1024, // bytes of contents that are compared for one job
};

void job_chunks_done(JobChunks *p) {
        if (p->parts)
                message_free(p->parts);
        p->parts = NULL;
        p->group = NULL;
}

static int compare(JobChunks *p) {
        const SpecEntry *before = rollout_spec(p->leader, &p->group->spec),
                        *after = rollout_spec(p->leader, &p->group->spec_after);

        if (!before || !after || p->n_bytes >= JOB_CHUNK_BYTES)
                return 0;
        p->n_bytes += before->len + after->len;
        return content_difference_parts(before->content, before->len, after->content, after->len, &p->parts);
}

int job_chunks_fill(JobChunks *p, const Argosy__JobUnits *group, Argosy__Response__JobUnitRow *row) {
        int r = 0;

        if (p->group != group) {
                job_chunks_done(p);
                p->group = group;
                r = group->gone ? 0 : compare(p);
        }
        if (r < 0 || !p->parts)
                return r;
        row->parts = message_copy(p->parts);
        return row->parts ? 0 : -ENOMEM;
}
