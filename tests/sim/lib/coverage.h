// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// How much of what may happen has happened, in our own terms: which kind of request came to which end, and
// which classes of faults came together. Added up over stories; it lies in memory that processes share.

#include <stdint.h>
#include <stdio.h>

#include "swarm.h"

enum { COVERAGE_CELLS_MAX = 1024 };

typedef struct Coverage {
        struct CoverageCell {
                uint32_t what; // Argosy__Request__WhatCase
                // of its last response, or of the first unit that was refused by one that was taken; see
                // end_name()
                int status;
                uint64_t n;
        } cells[COVERAGE_CELLS_MAX];
        uint32_t n_cells;
        // pairs: in one story, without a calm between them
        uint64_t faults[SWARM_FAULTS_MAX], pairs[SWARM_FAULTS_MAX][SWARM_FAULTS_MAX];
} Coverage;

// NULL: nobody counts.
void coverage_begin(Coverage *c);
void coverage_note_fault(unsigned fault);
void coverage_note_calm(void);
void coverage_note_asked(void); // all that was asked in the story, at its end
// For people: a row for each kind, a column for each outcome that there was, and a point where there was
// none.
void coverage_show(const Coverage *c);
// For programs: "cell KIND OUTCOME N", "fault NAME N", "pair A B N".
void coverage_write(const Coverage *c, FILE *f);
