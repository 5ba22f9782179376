// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What membership.h looks at, with what it points to; for voters.c.

#include "leader-core.h"
#include "membership.h"

typedef struct VotersView {
        MembershipView view;
        MembershipHost *hosts;
        MembershipMember members[STORE_MEMBERS_MAX];
        StoreStats stats;
} VotersView;

VotersView voters_view_of_log(const Leader *l);            // all but the hosts
int voters_view_add_hosts(const Leader *l, VotersView *v); // 0 or -ENOMEM; it stays where it is from now on
void voters_view_done(VotersView *v);
// It runs a raft server on our order that its record does not name yet; what is found counts until that
// names another. 0: it does not.
void voters_view_note_opened(Host *h, uint32_t raft_id);
uint32_t host_opened_id(const Host *h);
// Only what was heard since then counts: a host that lost its power a moment ago has answered the last
// heartbeat, too. `hopeful`: voters that may still answer before long count as well.
void voters_view_set_live(const Leader *l, VotersView *v, uint64_t since_us, bool hopeful);
uint32_t voters_view_host_of(const VotersView *v, uint32_t raft_id); // 0: no record has it
// The voters that do not answer.
void voters_view_name_silent(const Leader *l, const VotersView *v, char *ret, size_t size);
// The i-th of n names: "n2", "n2 and n5", "n2, n4 and n5".
void voters_add_name(char *text, size_t size, const char *name, size_t i, size_t n);
const char *voters_name_of(const Leader *l, uint32_t host);
bool voters_host_is_leaving(const Leader *l, uint32_t host);
