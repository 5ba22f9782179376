// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Whose request is next, where more is asked for than one turn of the loop has time for. An author is a user
// of a host, or a token, wherever it is shown. Authors are served by what they have had so far, the one that
// has had least first; of one author the requests are served as they came. So an author that asks for little
// overtakes the backlog of one that asks for much, and the number of an author's requests does not delay
// others. Pure.
//
//      author_turns_enter()     a request has come
//      author_turn_wait()       it waits for its turn; perhaps several times, if it takes several
//      author_turns_next()      whose turn it is: each request that waits once in a round, until
//      author_turns_end()       the round is over, and those that still wait stand where they stood
//      author_turn_charge()     what that costs, in units: as many as it is about
//      author_turn_leave()      the request is over
//
// A request whose client is gone may go on (author_turn_orphan()). What such requests take is on nobody's
// account any more, so of one author few of them are kept that nothing has come of yet, and those of which
// something has go first.
//
// A request that takes several turns and is answered about all of it at once (author_turn_begins()) keeps
// the answer until the last, and perhaps a list of what it is about. Few of an author have begun at a time.
// What calls off others does not wait for these, and they not for it: it may have to wait until they have
// begun or ended.
//
// What an author has had counts as long as it has a request under way. A new author begins with what the
// author that was served last has had: time without requests is not saved up.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "argosy.pb-c.h"
#include "list.h"
#include "map.h"

enum { AUTHOR_ORPHANS_MAX = 16 };

typedef enum AuthorBegun {
        AUTHOR_HAS_NOT_BEGUN,
        AUTHOR_CHANGES,
        AUTHOR_CALLS_OFF, // others
        _AUTHOR_BEGUN,
} AuthorBegun;

typedef struct AuthorTurns { // author_turns_init()
        Map authors;      // AuthorTurn, by who that is
        ListNode waiting; // AuthorTurn.place, who has had least first
        ListNode over;    // AuthorTurn.place, of those all of whose requests had their turns in this round
        uint64_t served;  // what the one has had who was served last
        unsigned begun_max; // requests of one author and of a kind that have begun
} AuthorTurns;

typedef struct AuthorTurn AuthorTurn; // of one author

void author_turns_init(AuthorTurns *t, unsigned begun_max);
void author_turns_done(AuthorTurns *t); // when nobody has a request any more

// That of the author, with one request more. NULL: out of memory.
AuthorTurn *author_turns_enter(AuthorTurns *t, const Argosy__Author *author) _warn_unused_;
void author_turn_leave(AuthorTurn *a); // with one less, which waits no more; NULL is fine

// Puts the request behind the others of its author. The caller may unlink it at any time.
void author_turn_wait(AuthorTurn *a, ListNode *request);
// before them: it had its turn, and nothing came of it
void author_turn_wait_first(AuthorTurn *a, ListNode *request);
void author_turn_charge(AuthorTurn *a, size_t units);

// The client of a request is gone, of which nothing is in the log. False: its author has left so many behind
// that this one is to be dropped.
bool author_turn_orphan(AuthorTurn *a);
void author_turn_orphan_over(AuthorTurn *a); // before author_turn_leave()

// A request has its first turn of several, and what is said of it is kept until the last.
void author_turn_begins(AuthorTurn *a, AuthorBegun kind);
void author_turn_begun_over(AuthorTurn *a, AuthorBegun kind); // before author_turn_leave()
bool author_turn_may_begin(const AuthorTurn *a, AuthorBegun kind); // one more

// A request waits for what others say, and may take room meanwhile: how many there are of the author. What
// author_turn_asks() returns is to be given to author_turn_asks_no_more(), also if the request has left
// before.
AuthorTurn *author_turn_asks(AuthorTurn *a);
void author_turn_asks_no_more(AuthorTurn *a);               // may be gone afterwards
bool author_turn_may_ask(const AuthorTurn *a, size_t most); // one more, of so many

ListNode *author_turns_next(AuthorTurns *t); // stays in a list; NULL: all had their turns in this round
void author_turns_end(AuthorTurns *t);
bool author_turns_are_empty(const AuthorTurns *t); // no request waits
