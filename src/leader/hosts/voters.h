// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Carries out membership.h's steps.

#include "batch-builder.h"
#include "leader-core.h"

// Where the steps are (Leader.voters). NULL: out of memory.
Voters *voters_new(void);
Voters *voters_free(Voters *v); // or NULL
void voters_retire(Leader *l);  // it leads no more
// What the next step waits for, for people; "": nothing.
const char *voters_notice(const Leader *l);
// No step is taken before then.
void voters_pause(Leader *l, uint64_t until_us);
void voters_on_time(Leader *l);

// Whether the log can go on while this host stops being a voter, by what was heard of the voters since then.
typedef enum VotersJudgement {
        VOTERS_SAFE,
        VOTERS_UNANSWERED, // they had no time to answer: to be asked again, for which the clock is set
        VOTERS_UNSAFE,     // ret_why: for people; `verb` is what they asked for
} VotersJudgement;

int voters_judge(Leader *l, uint32_t host, uint64_t since_us, const char *verb, char *ret_why, size_t size);
// The same for so many voters.
int voters_judge_wanted(Leader *l, unsigned wanted, uint64_t since_us, char *ret_why, size_t size);
// Raft id of the voter that leadership is best handed to. 0: none can take it.
uint32_t voters_successor(const Leader *l);
// Not while a step is under way, or for a while after one that failed; to be asked again in a later turn,
// for which the clock is set.
bool voters_may_hand_over(const Leader *l);
void voters_hand_over(Leader *l, uint32_t raft_id); // hands leadership to that one
void voters_step(Leader *l, BatchBuilder *b); // b NULL: only the steps that need no log entry
void voters_on_opened(Leader *l, Host *h, const Argosy__ToVoter__StoreOpened *opened);
void voters_on_attach(Leader *l, Host *h);
