// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Who asks, and what is held for it: one account for each principal, whichever way it connects (local
// socket, HTTP on sockets and TCP, fleet's API, the page, requests that other hosts forward).
//
//      connects    -> account_holding_open()    a place among the connections, perhaps of the one that has
//                                               been idle for longest
//      asks        -> account_holding_busy()    a client with an open request keeps its place
//                     account_holding_pending() but not before it is known who that is: where nobody is
//                     idle, it makes room
//      is answered -> account_holding_idle()
//      shows who   -> account_holding_move()    its place is that principal's from now on
//      is gone     -> account_holding_close()
//
//      anything that its requests take: account_take() before it is there, account_give() when it is gone
//
// The rules are the same for all rooms (AccountLimits), and each is refused, or makes an idle one leave, by
// the first that it meets:
//
//      each        one principal; proxies, which speak for many, have their own
//      strangers   all addresses together: nobody knows who that is
//      others      all but owners together, strangers among them
//      all         everybody
//
// Owners are root, and whom this process runs as: they look after the cluster, so what the others leave is
// theirs (all - others), and that is also as much as one of them may have. What members say for themselves
// (beats, the log, reports) has no account.
//
// All functions may be called by any thread.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hash.h"
#include "list.h"

struct sockaddr;

typedef enum PrincipalKind {
        PRINCIPAL_USER,
        PRINCIPAL_TOKEN,
        PRINCIPAL_ADDRESS,
        PRINCIPAL_HOST,
        PRINCIPAL_PROXY
} PrincipalKind;

// Compared byte by byte, so nothing stands between the fields.
typedef struct Principal {
        uint8_t kind;  // PrincipalKind
        uint8_t owner;
        uint16_t zero;
        uid_t uid;
        uint64_t host; // of a user or token: who says so; 0: this host
        uint8_t id[HASH_SIZE]; // the proof of a token; an address
} Principal;

Principal principal_of_user(uint64_t host, uid_t uid, bool owner);
Principal principal_of_token(uint64_t host, const Hash *proof);
// An IPv4 address, or the first half of an IPv6 address: of that one client may have all.
Principal principal_of_address(const struct sockaddr *from);
// The connections of a proxy that we trust. What it asks is put down to those for whom it asks.
Principal principal_of_proxy(const struct sockaddr *from);
// The principal of a host of which nothing is known but that it has forwarded something.
Principal principal_of_host(uint64_t host);

typedef enum AccountRoom {
        ACCOUNT_CONNECTIONS,
        ACCOUNT_REQUESTS, // that were not answered to the end
        ACCOUNT_BYTES,    // of memory, for requests and answers
        ACCOUNT_FORWARDS, // at the leader: requests of other hosts' users
        ACCOUNT_COPIES,   // of the cluster's state, and their bytes (account_counted())
        ACCOUNT_COPY_BYTES,
        _ACCOUNT_ROOMS,
} AccountRoom;

typedef struct AccountLimit {
        size_t each, strangers, others, all, proxy;
} AccountLimit;

typedef AccountLimit AccountLimits[_ACCOUNT_ROOMS];
extern const AccountLimits account_limits; // of a daemon

typedef struct Accounts Accounts;
typedef struct Account Account; // as long as somebody has entered it or has something of it

// In what order connections make room.
typedef enum AccountEase {
        ACCOUNT_IDLE,
        ACCOUNT_PENDING,
        _ACCOUNT_LEAVERS,
        ACCOUNT_BUSY = _ACCOUNT_LEAVERS
} AccountEase;

// One connection.
typedef struct AccountHolding AccountHolding;
struct AccountHolding {
        Account *account; // NULL: it has no place
        ListNode of_all, own; // while it may have to make room: of all, and of its account
        uint8_t ease;         // AccountEase
        // It has to go, and counts no more. By whichever thread wants its place, with the lock held: it
        // notes that, or ends its socket, and calls nothing of this file.
        void (*evict)(AccountHolding *h);
        bool kept; // from others of the same principal, though it is idle: it is not known yet who it is
};

// `limits` are borrowed. NULL: out of memory.
Accounts *accounts_new(const AccountLimits *limits);
// When nobody has anything any more.
Accounts *accounts_free(Accounts *a);

// The account of a principal, until account_leave(). NULL: out of memory.
Account *account_enter(Accounts *a, const Principal *of);
Account *account_ref(Account *u);
void account_leave(Account *u); // NULL is fine

// False: there is no room, and nothing was taken.
bool account_take(Account *u, AccountRoom room, size_t n);
// The same, if the principal then has `most` at most.
bool account_take_within(Account *u, AccountRoom room, size_t n, size_t most);
void account_give(Account *u, AccountRoom room, size_t n);
size_t account_has(const Account *u, AccountRoom room);
// How much it would have if nobody else had any.
size_t account_most(const Account *u, AccountRoom room);
bool account_is_owner(const Account *u);
// What all have.
size_t accounts_have(Accounts *a, AccountRoom room);

// Bytes of copies, which threads add and take away by themselves, as they make and free them; the account is
// there until they are gone. They are not refused, but looked at: whether the account, or all of them, have
// more than they may.
_Atomic size_t *account_counted(Account *u);
bool account_counted_is_full(const Account *u);
size_t accounts_counted(Accounts *a);

// A new connection, which is idle. False: there is no place, or no memory. `h` is zero but for `evict`.
bool account_holding_open(Accounts *a, AccountHolding *h, const Principal *of);
// false: the same, and it stays where it was
bool account_holding_move(Accounts *a, AccountHolding *h, const Principal *to);
// From then on others of the same principal may have its place, too.
void account_holding_is_known(Accounts *a, AccountHolding *h);
void account_holding_busy(Accounts *a, AccountHolding *h);
// It asks, and is not authenticated yet: a new connection gets its place if none is idle, the longest
// pending first.
void account_holding_pending(Accounts *a, AccountHolding *h);
void account_holding_idle(Accounts *a, AccountHolding *h); // since now
// Nothing happens if it has no place (any more).
void account_holding_close(Accounts *a, AccountHolding *h);
