// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What becomes of requests and rules, said a second time and without any of the leader's tables: each
// question is answered by looking at everything. It knows what was asked, and hears of each entry of the log
// (Rig.on_entry); that what the leader has decided in it is right follows from what was so before the entry,
// since there is one on its way at a time.
//
//      a request comes       refused by a rule, or since a job that it waits for is not done; held; or it
//                            begins
//      a held job            begins only when nothing holds it, and has begun by the time everything has
//                            settled
//      a job ends            as its units can have ended
//      a unit changes        only by a job that begins, goes on, or is called off in that entry
//
// Never more jobs of a limit than it says, and of two that wait for it the older one first. A job that
// nobody asked for, or a request that is two, fails the test; so does what was acknowledged and is not
// there.

#include "leader-rig.h"

#define MODEL_SERVICE "[Service]\nExecStart=/bin/sleep 1000\n"
#define MODEL_BAD "[Service]\nExecStart=/bin/false\n"

enum {
        MODEL_ASKS_MAX = 256,
        MODEL_RULES_MAX = 64,
        MODEL_UNITS = 10,
        MODEL_MANY = 600, // more than are one entry
};

typedef enum ModelUnitKind { UNIT_GOOD, UNIT_BAD, UNIT_NOWHERE, UNIT_PINNED, UNIT_MANY } ModelUnitKind;

typedef struct ModelUnit {
        const char *name, *role;
        ModelUnitKind kind;
} ModelUnit;

extern const ModelUnit model_units[MODEL_UNITS]; // the last one stands for MODEL_MANY instances

typedef enum ModelKind {
        ASK_CHANGE,
        ASK_LABEL,
        ASK_ACCESS, // what alice may
        ASK_UPDATE,
        ASK_RULE_ADD, // from here on never held
        ASK_RULE_DELETE,
        ASK_CLOSE,
        ASK_OPEN,
        ASK_RELEASE,
        ASK_CANCEL,
} ModelKind;

typedef enum ModelAuthor { ROOT, ALICE, CAROL, MODEL_AUTHORS } ModelAuthor;

typedef struct ModelRule {
        uint32_t number, limit;
        Argosy__QueueAction action;
        const char *author, *verb, *unit, *role, *reason, *text;
} ModelRule;

typedef enum ModelVerdict {
        GOES,
        BY_HAND,
        AFTER,
        CLOSED,
        BY_RULE,
        AT_LIMIT,
        BEHIND,
        REFUSED,
        OVER,
} ModelVerdict;

typedef struct ModelAsk {
        ModelKind kind;
        Argosy__Verb verb;
        size_t units[2], n_units;
        ModelAuthor author;
        const char *reason;
        bool hold, queue;
        uint64_t after[2], if_revision, retries;
        size_t n_after;
        uint64_t id[2];
        RigAnswer *answer;
        bool noted;      // its answer is
        bool revokes;    // of ACCESS
        uint64_t target; // of RELEASE and CANCEL
        ModelRule rule;  // of RULE_ADD
        uint32_t number; // of RULE_DELETE, and the one before which RULE_ADD puts its own
        // Nothing else went on when it was asked: how it is answered is known.
        bool foretold;
        ModelVerdict expected;
        int32_t expected_status; // -1: whatever
        const char *expected_text; // of the rule that refuses it
        // The job.
        uint64_t job; // 0: the log has none
        Argosy__JobState state;
        bool was_held, by_hand, awaits, past_rules; // awaits: what it is to come after still counts
        uint32_t limited_by;
        bool stands_behind; // an update, and was not asked for the rules since
        bool waited;    // for a limit, at the last settled point
        bool taken[2];  // by a later job
        bool refused[2], same[2], unsure[2]; // same: it was so already; unsure: another one of that entry is
                                             // about it, too
        bool called_off, broken; // broken: its leader was lost while there was more to come
        // What was so at some moment since the last settled point.
        bool could_go, was_stale, was_forbidden, was_beside, was_over, was_refused;
} ModelAsk;

typedef struct ModelSeen {
        bool exists;
        Argosy__Target target;
        uint64_t revision, start_rev, restart_rev, stop_rev;
} ModelSeen;

typedef struct Model {
        Rig *rig;
        unsigned seed;
        ModelAsk asks[MODEL_ASKS_MAX];
        size_t n_asks;
        ModelRule rules[MODEL_RULES_MAX];
        size_t n_rules;
        uint32_t last_rule;
        bool closed, is_updating, alice_may, has_lost_hosts;
        uint64_t last_job, access_revision;
        ModelSeen seen[MODEL_UNITS];
        // What has happened in all lives.
        unsigned n_held, n_went, n_limited, n_over, n_refused, n_cancelled, n_broken, n_ended[8];
} Model;

void model_begin(Model *m, Rig *g, unsigned seed);
void model_on_entry(Model *m);
// Asks the leader for it, also once more.
void model_send(Model *m, ModelAsk *a);
// What is said of a request that comes now, while nothing else goes on.
void model_foretell(const Model *m, ModelAsk *a);
// The leader is gone, or there is another one.
void model_on_leader(Model *m);
// Nothing more happens unless time passes.
void model_on_settled(Model *m);
// And time has passed.
void model_on_calm(Model *m);
