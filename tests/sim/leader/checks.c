// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of checks.h, and when they are looked at. Checks themselves are in checks-*.c.
#include "checks.h"

#include "checks-private.h"
#include "macro.h"
#include "str.h"

const Check checks[] = {
        {"voters-are-equal", "All voters' states are equal at an equal index.", "an entry was applied",
                .begin = voters_begin, .on_entry = voters_on_entry, .on_calm = voters_on_calm, .end = voters_end},
        {"acknowledged-is-kept", "What was acknowledged is in the log, once.", "a change was acknowledged",
                .on_settled = acknowledged_on_settled},
        {"one-place", "A unit runs on the node that the log names, and nowhere else.", "a unit was to run", .on_calm = one_place_on_calm},
};
const unsigned n_checks = ELEMENTSOF(checks);

uint64_t check_premises[CHECKS_MAX];

void check_premise(const Check *c) {
        check_premises[c - checks]++;
}

const Check *check_find(const char *name) {
        for (unsigned i = 0; i < n_checks; i++)
                if (streq(checks[i].name, name))
                        return &checks[i];
        return NULL;
}

#define EACH_CHECK(moment)                           \
        do {                                         \
                for (unsigned i = 0; i < n_checks; i++) \
                        if (checks[i].moment)        \
                                checks[i].moment();  \
        } while (0)

void checks_begin(void) {
        EACH_CHECK(begin);
}

void checks_on_entry(void) {
        EACH_CHECK(on_entry);
}

void checks_on_settled(void) {
        EACH_CHECK(on_settled);
}

void checks_on_calm(void) {
        EACH_CHECK(on_calm);
}

void checks_on_end(void) {
        EACH_CHECK(on_end);
}

void checks_end(void) {
        EACH_CHECK(end);
}
