// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What must be true in each story. One row for each: its name, the rule that it is about, when it is looked at, and how often
// its premise has come true, without which it would say nothing.

#include <stdint.h>

typedef struct Check {
        const char *name;
        const char *rule;    // as ARCHITECTURE.md has it
        const char *premise; // what must have happened for it to say anything
        void (*begin)(void); // of a story
        void (*on_entry)(void); // an entry is in the state, and the leader has not heard of it
        void (*on_settled)(void); // nothing more happens unless time passes
        void (*on_calm)(void);    // and nothing is broken, for longer than anything may take
        void (*on_end)(void);
        void (*end)(void); // frees what it has
} Check;

enum { CHECKS_MAX = 64 };
extern const Check checks[];
extern const unsigned n_checks;

// How often each premise came true, in all stories of this process.
extern uint64_t check_premises[CHECKS_MAX];
// From inside a check.
void check_premise(const Check *c);
const Check *check_find(const char *name);

void checks_begin(void);
void checks_on_entry(void);
void checks_on_settled(void);
void checks_on_calm(void);
void checks_on_end(void);
void checks_end(void);
