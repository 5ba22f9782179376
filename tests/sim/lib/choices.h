// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Where everything that is left to chance in a story comes from. A story is a list of steps, and each step
// has a word of 64 bits, from which it draws all that it needs. So a step that is taken out changes nothing
// about what the other ones draw: that is what makes a story shrink, and a list that somebody wrote by hand
// is a story, too.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A stream of numbers that a word determines.
typedef struct Draw {
        uint64_t state;
} Draw;

Draw draw_from(uint64_t word);
uint64_t draw_word(Draw *d);
unsigned draw_below(Draw *d, unsigned n); // n > 0
bool draw_one_in(Draw *d, unsigned n);
// From lo to hi, every order of magnitude as often as another one. lo > 0.
uint64_t draw_log(Draw *d, uint64_t lo, uint64_t hi);
// An index, each as often as its weight says among all; at least one weight is not 0.
size_t draw_weighted(Draw *d, const unsigned *weights, size_t n);

#define DRAW_PICK(d, array) ((array)[draw_below(d, (unsigned) (sizeof(array) / sizeof(*(array))))])

typedef enum StepKind {
        STEP_ASK,    // somebody asks the cluster for something
        STEP_FAULT,  // something breaks, or works again
        STEP_TIME,   // time passes
        STEP_SETTLE, // everything happens that happens without time passing
        STEP_CALM,   // what is broken works again, and what has been asked is looked at
        STEP_MEMBER, // hosts come or go, or vote (whole hosts only)
        STEP_RECOVER, // most voters are lost for ever, and one of them is made the cluster (likewise)
        STEP_AT,      // somebody at a host does something to its argosyd (likewise)
        _STEP_KINDS,
} StepKind;

extern const char *const step_kind_names[_STEP_KINDS];

typedef struct Step {
        StepKind kind;
        uint64_t word;
} Step;
