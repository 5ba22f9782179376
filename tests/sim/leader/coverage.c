// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See coverage.h.
#include "coverage.h"

#include <inttypes.h>
#include <string.h>

#include "request-kind.h"
#include "world.h"

enum { CALLED_OFF = -1, UNANSWERED = -2, NOT_TAKEN = -3 };

static Coverage *coverage;
static bool together[_FAULTS];

void coverage_begin(Coverage *c) {
        coverage = c;
        memset(together, 0, sizeof(together));
}

void coverage_note_fault(SwarmFault fault) {
        if (!coverage)
                return;
        coverage->faults[fault]++;
        for (unsigned i = 0; i < _FAULTS; i++)
                if (together[i] && !together[fault] && i != (unsigned) fault)
                        coverage->pairs[i < (unsigned) fault ? i : fault][i < (unsigned) fault ? fault : i]++;
        together[fault] = true;
}

void coverage_note_calm(void) {
        memset(together, 0, sizeof(together));
}

static int end_of(const WorldAsked *a) {
        const RigAnswer *answer = a->answer;

        if (!answer || answer->error)
                return NOT_TAKEN;
        if (a->called_off)
                return CALLED_OFF;
        return answer->final ? answer->responses[answer->n - 1]->status : UNANSWERED;
}

static void note(uint32_t what, int status) {
        for (uint32_t i = 0; i < coverage->n_cells; i++)
                if (coverage->cells[i].what == what && coverage->cells[i].status == status) {
                        coverage->cells[i].n++;
                        return;
                }
        if (coverage->n_cells < COVERAGE_CELLS_MAX)
                coverage->cells[coverage->n_cells++] = (struct CoverageCell){what, status, 1};
}

void coverage_note_asked(void) {
        for (size_t i = 0; coverage && i < world.n_asked; i++)
                note(world.asked[i].request->what_case, end_of(&world.asked[i]));
}

static const char *end_name(int status) {
        switch (status) {
        case 0:
                return "done";
        case CALLED_OFF:
                return "called-off";
        case UNANSWERED:
                return "unanswered";
        case NOT_TAKEN:
                return "not-taken";
        default:
                return strerrorname_np(status) ?: "other";
        }
}

void coverage_write(const Coverage *c, FILE *f) {
        for (uint32_t i = 0; i < c->n_cells; i++) {
                const RequestKind *kind = request_kind(c->cells[i].what);

                fprintf(f, "cell %s %s %" PRIu64 "\n", kind ? kind->name : "?", end_name(c->cells[i].status), c->cells[i].n);
        }
        for (unsigned i = 0; i < _FAULTS; i++) {
                fprintf(f, "fault %s %" PRIu64 "\n", swarm_fault_names[i], c->faults[i]);
                for (unsigned k = i + 1; k < _FAULTS; k++)
                        fprintf(f, "pair %s %s %" PRIu64 "\n", swarm_fault_names[i], swarm_fault_names[k], c->pairs[i][k]);
        }
}
