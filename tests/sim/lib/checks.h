// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What must be true in each story. One row for each: its name, the rule that it is about, when it is looked
// at, and how often its premise has come true, without which it would say nothing.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"

struct WorldAsked;

typedef struct Check {
        const char *name;
        const char *rule;    // as ARCHITECTURE.md has it
        const char *premise; // what must have happened for it to say anything
        const char *planted; // fault of tools/mutants that trips it; NULL: none is known
        void (*begin)(void); // of a story
        // the leader has decided an entry; what it hears from now on has no part in that
        void (*on_decided)(void);
        // an entry is in the state, and the leader has not heard of it
        void (*on_entry)(const Argosy__LogBatch *batch);
        // A response to what the story asked; what checks ask is not told.
        void (*on_answer)(const struct WorldAsked *asked, const Argosy__Response *response);
        // the leader sends that, and it may be lost
        void (*on_order)(uint32_t host, const Argosy__ToHost *m);
        void (*on_heard)(uint32_t host, const Argosy__ToVoter *m); // the leader is about to hear that
        void (*on_turn_begin)(void); // a leader in its rig: a turn of its loop is about to begin, and
        void (*on_turn)(void);       // that and one of each host are over
        void (*on_look)(void);    // each second of a story of whole hosts
        void (*on_settled)(void); // nothing more happens unless time passes
        void (*on_calm)(void);    // and nothing is broken, for longer than anything may take
        void (*on_end)(void);
        void (*on_finish)(void);  // everything works and is at rest, and nothing else is looked at any more
        void (*end)(void); // frees what it has
} Check;

enum { CHECKS_MAX = 96 };
// The program's own table: leader/checks.c, hosts/hosts-checks.c.
extern const Check checks[];
extern const unsigned n_checks;

// How often each premise came true, in all stories of this process.
extern uint64_t check_premises[CHECKS_MAX];
// From inside a check.
void check_premise(const Check *c);
const Check *check_find(const char *name);

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

// Cuts two texts at the first line that differs, and returns where it begins in each; false: they are equal.
bool check_texts_differ(char *a, char *b, const char **ret_a, const char **ret_b);

void checks_begin(void);
void checks_on_decided(void);
void checks_on_entry(const uint8_t *entry, size_t len);
void checks_on_answer(const struct WorldAsked *asked, const Argosy__Response *response);
void checks_on_order(uint32_t host, const Argosy__ToHost *m);
void checks_on_heard(uint32_t host, const Argosy__ToVoter *m);
void checks_on_turn_begin(void);
void checks_on_turn(void);
void checks_on_look(void);
void checks_on_settled(void);
void checks_on_calm(void);
void checks_on_end(void);
void checks_on_finish(void);
void checks_end(void);
