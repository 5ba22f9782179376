// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whether an author may have its request done, and what it may see of the answer: the rights of the log
// (access.h)
// and what is needed (request-kind.h), with the roles of the units that a request is about. Nothing is kept:
// each question is judged by the records as they are.

#include "leader-core.h"

enum {
        AUTHORIZATION_WHY_SIZE = 768,
        // units that an author with a right for some roles only may name at once: the file of each is looked
        // at
        AUTHORIZATION_UNITS_MAX = 1000,
};

// The rights as they are, with tokens as of now: by the leader's clock, or the log's own time if that is
// later, so that a clock that is set back lets nobody in again.
AccessList authorization_list(const Leader *l);
// The same for what this one may: only a token has a time, and most requests show none.
AccessList authorization_list_for(const Leader *l, const Argosy__Author *author);
// The error for an author without the right: EACCES, or what is wrong with its token.
int authorization_error(const Leader *l, const Argosy__Author *author);
// USER@HOST, as jobs name who asked.
void authorization_author_at(const Leader *l, const Argosy__Author *author, char *ret, size_t size);
// True: the author may not, with the reason for people. What a host answers alone never comes here.
bool authorization_refuses(const Leader *l, const Argosy__Author *author, const Argosy__Request *q,
                           char why[AUTHORIZATION_WHY_SIZE]);
// He may see all units; else only those for which authorization_may_view() says so.
bool authorization_views_all(const Leader *l, const Argosy__Author *author);
bool authorization_may_view(const Leader *l, const Argosy__Author *author, const char *unit);
// True: the author may not, and the reason.
bool authorization_refuses_view(const Leader *l, const Argosy__Author *author, const char *unit,
                                char why[AUTHORIZATION_WHY_SIZE]);
// The same of whatever is of that role.
bool authorization_may_view_role(const Leader *l, const Argosy__Author *author, const char *role);
// A number for what the author may see, the same on every host: another one when that changes. 0:
// everything.
uint32_t authorization_scope(const Leader *l, const Argosy__Author *author);
// Takes out of an answer what the author may not see.
void authorization_filter(const Leader *l, const Argosy__Author *author, Argosy__Response *r);
// Drops the files that came with a Change if the author may not bring content, and none that the leader has
// put there since. Whether there were any.
bool authorization_drop_files(const Leader *l, PendingRequest *t);
// Tells a host in session who may do what, which knows it from nobody else unless it has a log.
void authorization_send(Leader *l, Host *h);
// The rights have changed: all hosts are told; who only listens, and would not be allowed to any more, hears
// no more. What is meant for the log is judged again when its turn comes.
void authorization_on_applied(Leader *l);
void authorization_tell_some(Leader *l); // once per turn: hosts that are yet to hear of it
// Called when this host begins to lead.
void authorization_begin(Leader *l);
// The same of who listens with a token that has expired, if that is due.
void authorization_on_time(Leader *l);
void authorization_on_wall(Leader *l); // leader_wall() is another one
// Another number when somebody may be allowed something else than before.
uint64_t authorization_revision(const Leader *l);
