// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The functions of the table in checks.c.

#include "checks.h"
#include "checks-log.h"
#include "world.h"

// A check that is not true ends the story.
#define check_fail(name, ...)                                     \
        do {                                                      \
                char why_[512];                                   \
                snprintf(why_, sizeof(why_), __VA_ARGS__);        \
                fail_msg("check %s: %s", name, why_);             \
        } while (0)
// The row of the check that says so, found once.
#define check_says(name)                               \
        do {                                           \
                static const Check *row_;              \
                if (!row_)                             \
                        row_ = check_find(name);       \
                check_premise(row_);                   \
        } while (0)

// checks-log.c
void log_begin(void);
void log_on_entry(const Argosy__LogBatch *batch);
void log_end(void);

// checks-state.c
void voters_begin(void);
void voters_on_entry(const Argosy__LogBatch *batch);
void voters_on_calm(void);
void voters_end(void);
void counters_on_entry(const Argosy__LogBatch *batch);
void limits_on_entry(const Argosy__LogBatch *batch);

// checks-answers.c
void acknowledged_on_answer(const WorldAsked *a, const Argosy__Response *r);
void once_on_answer(const WorldAsked *a, const Argosy__Response *r);
void refused_on_answer(const WorldAsked *a, const Argosy__Response *r);
void refused_on_entry(const Argosy__LogBatch *batch);
void author_on_answer(const WorldAsked *a, const Argosy__Response *r);

// checks-units.c
void one_place_on_calm(void);
