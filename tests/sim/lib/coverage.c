// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See coverage.h.
#include "coverage.h"

#include <inttypes.h>
#include <string.h>

#include "asks.h"
#include "macro.h"
#include "request-kind.h"

enum { CALLED_OFF = -1, UNANSWERED = -2, NOT_TAKEN = -3 };

static Coverage *coverage;
static bool together[SWARM_FAULTS_MAX];

void coverage_begin(Coverage *c) {
        coverage = c;
        memset(together, 0, sizeof(together));
}

void coverage_note_fault(unsigned fault) {
        if (!coverage)
                return;
        coverage->faults[fault]++;
        for (unsigned i = 0; i < swarm_n_faults; i++)
                if (together[i] && !together[fault] && i != fault)
                        coverage->pairs[i < fault ? i : fault][i < fault ? fault : i]++;
        together[fault] = true;
}

void coverage_note_calm(void) {
        memset(together, 0, sizeof(together));
}

static int status_of(const Argosy__Response *r) {
        for (size_t i = 0;
             r->status == 0 && r->what_case == ARGOSY__RESPONSE__WHAT_CHANGE && i < r->change->n_units; i++)
                if (r->change->units[i]->status != 0)
                        return r->change->units[i]->status;
        return r->status;
}

static int end_of(const WorldAsked *a) {
        if (asks.port->error(a))
                return NOT_TAKEN;
        if (a->called_off)
                return CALLED_OFF;
        return asks.port->is_final(a) ? status_of(asks_last_response(a)) : UNANSWERED;
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
        for (size_t i = 0; coverage && i < asks.n_asked; i++)
                note(asks.asked[i].request->what_case, end_of(&asks.asked[i]));
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

static uint64_t count_of(const Coverage *c, uint32_t what, int status) {
        for (uint32_t i = 0; i < c->n_cells; i++)
                if (c->cells[i].what == what && c->cells[i].status == status)
                        return c->cells[i].n;
        return 0;
}

static int column_width(int status) {
        return (int) MAX_OF(strlen(end_name(status)), (size_t) 6);
}

static void show_row(const Coverage *c, const RequestKind *kind, uint32_t what, const int *columns,
                     size_t n) {
        printf("%-18s", kind->name);
        for (size_t i = 0; i < n; i++) {
                uint64_t count = count_of(c, what, columns[i]);

                if (count > 0)
                        printf(" %*" PRIu64, column_width(columns[i]), count);
                else
                        printf(" %*s", column_width(columns[i]), ".");
        }
        putchar('\n');
}

void coverage_show(const Coverage *c) {
        int columns[64];
        size_t n = 0;

        for (int status = NOT_TAKEN; status < 256; status++)
                for (uint32_t i = 0; n < ELEMENTSOF(columns) && i < c->n_cells; i++)
                        if (c->cells[i].status == status) {
                                columns[n++] = status;
                                break;
                        }
        printf("%-18s", "");
        for (size_t i = 0; i < n; i++)
                printf(" %*s", column_width(columns[i]), end_name(columns[i]));
        putchar('\n');
        for (unsigned i = 0; i < argosy__request__descriptor.n_fields; i++) {
                uint32_t what = argosy__request__descriptor.fields[i].id;
                const RequestKind *kind = request_kind((Argosy__Request__WhatCase) what);

                if (kind && (kind->by == REQUEST_BY_LEADER || kind->by == REQUEST_BY_NODES))
                        show_row(c, kind, what, columns, n);
        }
}

void coverage_write(const Coverage *c, FILE *f) {
        for (uint32_t i = 0; i < c->n_cells; i++) {
                const RequestKind *kind = request_kind(c->cells[i].what);

                fprintf(f, "cell %s %s %" PRIu64 "\n", kind ? kind->name : "?", end_name(c->cells[i].status),
                        c->cells[i].n);
        }
        for (unsigned i = 0; i < swarm_n_faults; i++) {
                fprintf(f, "fault %s %" PRIu64 "\n", swarm_fault_names[i], c->faults[i]);
                for (unsigned k = i + 1; k < swarm_n_faults; k++)
                        fprintf(f, "pair %s %s %" PRIu64 "\n", swarm_fault_names[i], swarm_fault_names[k],
                                c->pairs[i][k]);
        }
}
