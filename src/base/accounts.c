// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See accounts.h. One lock, held for a few instructions, since the threads of HTTP have connections of their
// own.
//
// lifetime          born                              dies
// Account           first account_enter() or holding  nobody has entered it, and it has nothing
// AccountHolding    its connection's                  its connection's; out of here at
//                                                     account_holding_close() or evict()
//
// Idle connections stand in two lists in the order in which they became idle: that of all, and that of their
// account; pending ones in two others. So whoever has as many as it may have makes its own oldest leave, and
// otherwise the oldest of all leaves that the rule is about: of strangers, of all but owners, of all. Where
// none is idle it is the longest pending.
//
// Fails only for want of room or memory; then nothing was taken.

#include "accounts.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"
#include "map.h"

enum { MIB = 1024 * 1024 };

const AccountLimits account_limits = {
        [ACCOUNT_CONNECTIONS] = {.each = 64, .strangers = 1024, .others = 1792, .all = 3072, .proxy = 512},
        [ACCOUNT_REQUESTS] = {.each = 256, .strangers = 1024, .others = 3072, .all = 8192},
        [ACCOUNT_BYTES] = {.each = 36 * MIB,
                           .strangers = 33 * MIB,
                           .others = 88 * MIB,
                           .all = 512 * (size_t) MIB},
        [ACCOUNT_FORWARDS] = {.each = 256, .strangers = 256, .others = 16384, .all = 32768},
        [ACCOUNT_COPIES] = {.each = 4, .strangers = 4, .others = 12, .all = 24},
        [ACCOUNT_COPY_BYTES] = {.each = 512 * MIB,
                                .strangers = 512 * MIB,
                                .others = 1024 * MIB,
                                .all = 2048 * (size_t) MIB},
};

typedef struct AccountSum {
        size_t strangers, others, all;
} AccountSum;

struct Accounts {
        pthread_mutex_t lock; // of all that follows, and of all accounts
        const AccountLimits *limits;
        AccountSum held[_ACCOUNT_ROOMS];
        Map by_principal;
        ListNode leavers[_ACCOUNT_LEAVERS]; // AccountHolding.of_all, who has been so for longest first
        ListNode counting; // Account.counting
};

struct Account {
        Accounts *accounts;
        Principal of;
        size_t n_entered;
        size_t held[_ACCOUNT_ROOMS];
        ListNode leavers[_ACCOUNT_LEAVERS]; // AccountHolding.own
        ListNode counting; // somebody was given `counted`
        _Atomic size_t counted;
};

// ----------------------------------------------------------------------------------------------- principals

static_assert(sizeof(Principal) == 16 + HASH_SIZE, "nothing stands between the fields");

static Principal principal(PrincipalKind kind) {
        return (Principal){.kind = (uint8_t) kind};
}

Principal principal_of_user(uint64_t host, uid_t uid, bool owner) {
        Principal p = principal(PRINCIPAL_USER);

        p.host = host;
        p.uid = uid;
        p.owner = owner;
        return p;
}

Principal principal_of_token(uint64_t host, const Hash *proof) {
        Principal p = principal(PRINCIPAL_TOKEN);

        p.host = host;
        memcpy(p.id, proof->bytes, HASH_SIZE);
        return p;
}

Principal principal_of_address(const struct sockaddr *from) {
        Principal p = principal(PRINCIPAL_ADDRESS);

        p.id[0] = (uint8_t) from->sa_family;
        if (from->sa_family == AF_INET)
                memcpy(p.id + 1, &((const struct sockaddr_in *) from)->sin_addr, sizeof(struct in_addr));
        else if (from->sa_family == AF_INET6)
                memcpy(p.id + 1, &((const struct sockaddr_in6 *) from)->sin6_addr,
                       sizeof(struct in6_addr) / 2);
        return p;
}

Principal principal_of_host(uint64_t host) {
        Principal p = principal(PRINCIPAL_HOST);

        p.host = host;
        return p;
}

Principal principal_of_proxy(const struct sockaddr *from) {
        Principal p = principal_of_address(from);

        p.kind = PRINCIPAL_PROXY;
        return p;
}

static bool is_stranger(const Principal *p) {
        return p->kind == PRINCIPAL_ADDRESS;
}

// ------------------------------------------------------------------------------------------------ the rules

// Which of them says no; ACCOUNT_FITS: none does.
typedef enum AccountVerdict {
        ACCOUNT_FITS,
        ACCOUNT_EACH_FULL,
        ACCOUNT_STRANGERS_FULL,
        ACCOUNT_OTHERS_FULL,
        ACCOUNT_ALL_FULL
} AccountVerdict;

static size_t most_of(const AccountLimit *l, const Principal *p) {
        return p->owner ? l->all - l->others : p->kind == PRINCIPAL_PROXY ? l->proxy : l->each;
}

static bool is_above(size_t held, size_t n, size_t limit) {
        return held > limit || n > limit - held;
}

static AccountVerdict judge(const AccountLimit *l, const AccountSum *sum, const Principal *p, size_t held,
                            size_t n, size_t most) {
        if (is_above(held, n, most))
                return ACCOUNT_EACH_FULL;
        if (is_stranger(p) && is_above(sum->strangers, n, l->strangers))
                return ACCOUNT_STRANGERS_FULL;
        if (!p->owner && is_above(sum->others, n, l->others))
                return ACCOUNT_OTHERS_FULL;
        return is_above(sum->all, n, l->all) ? ACCOUNT_ALL_FULL : ACCOUNT_FITS;
}

// Whether that one's place is of use to who was told so. An owner's is nobody else's.
static bool may_give_way(const Principal *idle, AccountVerdict verdict, const Principal *to) {
        if (is_stranger(to) && !is_stranger(idle))
                return false; // a stranger takes no place of a known client
        return !idle->owner || (verdict == ACCOUNT_ALL_FULL && to->owner);
}

// --------------------------------------------------------------------------------------- with the lock held

static void init_leavers(ListNode leavers[_ACCOUNT_LEAVERS]) {
        for (size_t i = 0; i < _ACCOUNT_LEAVERS; i++)
                list_init(&leavers[i]);
}

static void add(Account *u, AccountRoom room, size_t n) {
        AccountSum *sum = &u->accounts->held[room];

        u->held[room] += n;
        sum->all += n;
        sum->others += u->of.owner ? 0 : n;
        sum->strangers += is_stranger(&u->of) ? n : 0;
}

static bool has_anything(const Account *u) {
        for (size_t i = 0; i < _ACCOUNT_ROOMS; i++)
                if (u->held[i] > 0)
                        return true;
        return u->n_entered > 0 || u->counted > 0;
}

static void free_if_empty(Account *u) {
        if (has_anything(u))
                return;
        (void) map_take(&u->accounts->by_principal, &u->of, sizeof(u->of));
        list_unlink(&u->counting);
        free(u);
}

// Nobody says when the last byte that threads count is gone.
static void sweep_counting(Accounts *a) {
        list_foreach_safe (n, &a->counting)
                free_if_empty(CONTAINER_OF(n, Account, counting));
}

static void sub(Account *u, AccountRoom room, size_t n) {
        AccountSum *sum = &u->accounts->held[room];

        assert(n <= u->held[room]);
        u->held[room] -= n;
        sum->all -= n;
        sum->others -= u->of.owner ? 0 : n;
        sum->strangers -= is_stranger(&u->of) ? n : 0;
}

static Account *find_or_make(Accounts *a, const Principal *of) {
        Account *u = map_find(&a->by_principal, of, sizeof(*of));

        if (u)
                return u;
        sweep_counting(a);
        u = calloc(1, sizeof(*u));
        if (!u)
                return NULL;
        u->accounts = a;
        u->of = *of;
        init_leavers(u->leavers);
        list_init(&u->counting);
        if (map_add(&a->by_principal, &u->of, sizeof(u->of), u) < 0) {
                free(u);
                return NULL;
        }
        return u;
}

static AccountVerdict judge_account(const Account *u, AccountRoom room, size_t n, size_t most) {
        const AccountLimit *l = &(*u->accounts->limits)[room];

        return judge(l, &u->accounts->held[room], &u->of, u->held[room], n,
                     MIN_OF(most, most_of(l, &u->of)));
}

static void drop_place(AccountHolding *h) {
        Account *u = h->account;

        list_unlink(&h->of_all);
        list_unlink(&h->own);
        h->account = NULL;
        sub(u, ACCOUNT_CONNECTIONS, 1);
        free_if_empty(u);
}

static AccountHolding *find_leaver(const Account *u, AccountVerdict verdict, AccountEase ease) {
        bool of_its_own = verdict == ACCOUNT_EACH_FULL;

        list_foreach (n, of_its_own ? &u->leavers[ease] : &u->accounts->leavers[ease]) {
                AccountHolding *h = of_its_own ? CONTAINER_OF(n, AccountHolding, own)
                                               : CONTAINER_OF(n, AccountHolding, of_all);

                if (h->account == u ? !h->kept : may_give_way(&h->account->of, verdict, &u->of))
                        return h;
        }
        return NULL;
}

static AccountHolding *find_idlest(const Account *u, AccountVerdict verdict) {
        return find_leaver(u, verdict, ACCOUNT_IDLE) ?: find_leaver(u, verdict, ACCOUNT_PENDING);
}

// One idle connection is enough for each rule, and who leaves by the one may be of use to the next.
static bool make_place(Account *u) {
        for (;;) {
                AccountVerdict verdict = judge_account(u, ACCOUNT_CONNECTIONS, 1, SIZE_MAX);
                AccountHolding *h = verdict == ACCOUNT_FITS ? NULL : find_idlest(u, verdict);

                if (!h)
                        return verdict == ACCOUNT_FITS;
                drop_place(h);
                h->evict(h);
        }
}

static void stand(AccountHolding *h, AccountEase ease) {
        list_unlink(&h->of_all);
        list_unlink(&h->own);
        h->ease = (uint8_t) ease;
        if (ease == ACCOUNT_BUSY)
                return;
        list_append(&h->account->accounts->leavers[ease], &h->of_all);
        list_append(&h->account->leavers[ease], &h->own);
}

// ----------------------------------------------------------------------------------------- what others call

Accounts *accounts_new(const AccountLimits *limits) {
        Accounts *a = calloc(1, sizeof(*a));

        if (!a)
                return NULL;
        pthread_mutex_init(&a->lock, NULL);
        a->limits = limits;
        init_leavers(a->leavers);
        list_init(&a->counting);
        return a;
}

Accounts *accounts_free(Accounts *a) {
        if (!a)
                return NULL;
        sweep_counting(a);
        assert(a->by_principal.count == 0);
        map_done(&a->by_principal);
        pthread_mutex_destroy(&a->lock);
        free(a);
        return NULL;
}

Account *account_enter(Accounts *a, const Principal *of) {
        Account *u;

        pthread_mutex_lock(&a->lock);
        u = find_or_make(a, of);
        if (u)
                u->n_entered++;
        pthread_mutex_unlock(&a->lock);
        return u;
}

Account *account_ref(Account *u) {
        pthread_mutex_lock(&u->accounts->lock);
        u->n_entered++;
        pthread_mutex_unlock(&u->accounts->lock);
        return u;
}

void account_leave(Account *u) {
        Accounts *a = u ? u->accounts : NULL;

        if (!a)
                return;
        pthread_mutex_lock(&a->lock);
        u->n_entered--;
        free_if_empty(u);
        pthread_mutex_unlock(&a->lock);
}

bool account_take_within(Account *u, AccountRoom room, size_t n, size_t most) {
        bool fits;

        pthread_mutex_lock(&u->accounts->lock);
        fits = judge_account(u, room, n, most) == ACCOUNT_FITS;
        if (fits)
                add(u, room, n);
        pthread_mutex_unlock(&u->accounts->lock);
        return fits;
}

bool account_take(Account *u, AccountRoom room, size_t n) {
        return account_take_within(u, room, n, SIZE_MAX);
}

void account_give(Account *u, AccountRoom room, size_t n) {
        Accounts *a = u->accounts;

        pthread_mutex_lock(&a->lock);
        sub(u, room, n);
        free_if_empty(u);
        pthread_mutex_unlock(&a->lock);
}

size_t account_has(const Account *u, AccountRoom room) {
        size_t n;

        pthread_mutex_lock(&u->accounts->lock);
        n = u->held[room];
        pthread_mutex_unlock(&u->accounts->lock);
        return n;
}

size_t account_most(const Account *u, AccountRoom room) {
        return most_of(&(*u->accounts->limits)[room], &u->of);
}

bool account_is_owner(const Account *u) {
        return u->of.owner;
}

size_t accounts_have(Accounts *a, AccountRoom room) {
        size_t n;

        pthread_mutex_lock(&a->lock);
        n = a->held[room].all;
        pthread_mutex_unlock(&a->lock);
        return n;
}

_Atomic size_t *account_counted(Account *u) {
        pthread_mutex_lock(&u->accounts->lock);
        if (!list_is_linked(&u->counting))
                list_append(&u->accounts->counting, &u->counting);
        pthread_mutex_unlock(&u->accounts->lock);
        return &u->counted;
}

// The sums over all accounts, and over those that are not an owner's.
static void sum_counted(const Accounts *a, size_t *ret_all, size_t *ret_others) {
        *ret_all = *ret_others = 0;
        list_foreach (n, &a->counting) {
                const Account *u = CONTAINER_OF(n, const Account, counting);

                *ret_all += u->counted;
                *ret_others += u->of.owner ? 0 : u->counted;
        }
}

size_t accounts_counted(Accounts *a) {
        size_t all, others;

        pthread_mutex_lock(&a->lock);
        sum_counted(a, &all, &others);
        pthread_mutex_unlock(&a->lock);
        return all;
}

bool account_counted_is_full(const Account *u) {
        const AccountLimit *l = &(*u->accounts->limits)[ACCOUNT_COPY_BYTES];
        size_t all, others;

        pthread_mutex_lock(&u->accounts->lock);
        sum_counted(u->accounts, &all, &others);
        pthread_mutex_unlock(&u->accounts->lock);
        return u->counted > most_of(l, &u->of) || all > l->all || (!u->of.owner && others > l->others);
}

bool account_holding_open(Accounts *a, AccountHolding *h, const Principal *of) {
        Account *u;
        bool fits;

        list_init(&h->of_all);
        list_init(&h->own);
        h->account = NULL;
        pthread_mutex_lock(&a->lock);
        u = find_or_make(a, of);
        if (u)
                u->n_entered++; // the one that leaves may be its last
        fits = u && make_place(u);
        if (fits) {
                add(u, ACCOUNT_CONNECTIONS, 1);
                h->account = u;
                stand(h, ACCOUNT_IDLE);
        }
        if (u) {
                u->n_entered--;
                free_if_empty(u);
        }
        pthread_mutex_unlock(&a->lock);
        return fits;
}

// `a`: whose lock is held.
static bool move(Accounts *a, AccountHolding *h, const Principal *to) {
        Account *from = h->account, *u = find_or_make(a, to);
        AccountEase ease = (AccountEase) h->ease;
        bool fits;

        if (!u || u == from)
                return u != NULL;
        u->n_entered++; // the one that gives way may be the last of either
        from->n_entered++;
        stand(h, ACCOUNT_BUSY); // it is not to give way to itself
        sub(from, ACCOUNT_CONNECTIONS, 1);
        fits = make_place(u);
        h->account = fits ? u : from;
        add(h->account, ACCOUNT_CONNECTIONS, 1);
        stand(h, ease);
        u->n_entered--;
        from->n_entered--;
        free_if_empty(u);
        free_if_empty(from);
        return fits;
}

// Whether it has a place may be known no sooner than with the lock, which is found by way of that.
bool account_holding_move(Accounts *a, AccountHolding *h, const Principal *to) {
        bool moved;

        pthread_mutex_lock(&a->lock);
        moved = h->account && move(a, h, to);
        pthread_mutex_unlock(&a->lock);
        return moved;
}

void account_holding_is_known(Accounts *a, AccountHolding *h) {
        pthread_mutex_lock(&a->lock);
        h->kept = false;
        pthread_mutex_unlock(&a->lock);
}

// Nothing, if it has no place.
static void stand_from_now(Accounts *a, AccountHolding *h, AccountEase ease) {
        pthread_mutex_lock(&a->lock);
        if (h->account)
                stand(h, ease);
        pthread_mutex_unlock(&a->lock);
}

void account_holding_busy(Accounts *a, AccountHolding *h) {
        stand_from_now(a, h, ACCOUNT_BUSY);
}

void account_holding_pending(Accounts *a, AccountHolding *h) {
        stand_from_now(a, h, ACCOUNT_PENDING);
}

void account_holding_idle(Accounts *a, AccountHolding *h) {
        stand_from_now(a, h, ACCOUNT_IDLE);
}

void account_holding_close(Accounts *a, AccountHolding *h) {
        pthread_mutex_lock(&a->lock);
        if (h->account)
                drop_place(h);
        pthread_mutex_unlock(&a->lock);
}
