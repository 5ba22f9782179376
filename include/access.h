// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Access control: rights that were granted to users and groups (GrantRecord), or that a token has
// (access-token.h), and whether an author has a right. Pure: it knows no units and no log. Which right a
// request needs is in request-kind.h, and for which units in leader/hosts/authorization.h.
//
//      view        see units, their files, logs and history
//      operate     and start, stop and restart what there is
//      deploy      and bring new content: this is root on every node
//      admin       and nodes, members, roles, pools, tokens and rights
//
// Rights add up, and each has what those above it have. Root on a member, and the user that runs its
// argosyd, have all of them, whatever the log says, since they could take them.

#include <stdbool.h>
#include <stddef.h>

#include "argosy.pb-c.h"

// A token is over by whichever of the two is later: what time it is, and how long leaders have counted,
// which no clock that is set wrongly changes (cluster_state_counted_us()).
typedef struct AccessTime {
        uint64_t wall_us, counted_us;
} AccessTime;

// Borrowed: those who have rights, in the order of grant_compare(); and tokens by their ids, which are
// judged as of that time.
typedef struct AccessList {
        Argosy__GrantRecord *const *grants;
        size_t n;
        Argosy__AccessTokenRecord *const *tokens;
        size_t n_tokens;
        AccessTime now;
} AccessList;

// What counts as long as nobody has changed it: members of ACCESS_GROUP (author.h) may do everything.
AccessList access_of_new_cluster(void);

// Nothing but the token counts for such an author, and it may be over: only this needs AccessList.now.
bool access_shows_token(const Argosy__Author *author);
// Whether the author has the right, or one that has it: of units of that role, NULL: of all units.
bool access_has(AccessList list, const Argosy__Author *author, Argosy__Right right, const char *role);
// The same of units of some role at least.
bool access_has_some(AccessList list, const Argosy__Author *author, Argosy__Right right);
// The author's groups to which something was granted, each once, at most `max` of them; borrowed from the
// list. Returns how many; 0 for root of a member and for an author with a token, which need no groups.
size_t access_groups(AccessList list, const Argosy__Author *author, const char **ret, size_t max);
// Whether the record is about the author.
bool grant_is_of(const Argosy__GrantRecord *grant, const Argosy__Author *author);
// Somebody who is not root on a member, nor in ACCESS_GROUP, may do something.
bool access_is_open(AccessList list);

int grant_compare(const Argosy__GrantRecord *a, const Argosy__GrantRecord *b);

// "view" ... "admin"; "unknown" for others.
const char *right_to_string(Argosy__Right right);
// False (and *ret untouched): the word is none of the four.
bool right_from_string(const char *word, Argosy__Right *ret);

// "user:NAME", "user:NAME@HOST", "group:NAME". Of a user whose name has an @ the last one counts, so
// "user:NAME@" is that one at any host. Cuts the word and points into it; false: it is none of these.
typedef struct AccessSubject {
        const char *user, *group, *host; // "": none
} AccessSubject;
bool access_subject_parse(char *word, AccessSubject *ret);
