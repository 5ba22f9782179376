// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "accounts.h"
#include "macro.h"

enum { EACH = 4, STRANGERS = 8, OTHERS = 12, ALL = 20, RESERVE = ALL - OTHERS, PROXY = 6, HOLDINGS = 64 };

static const AccountLimits limits = {
        [ACCOUNT_CONNECTIONS] = {EACH, STRANGERS, OTHERS, ALL, PROXY},
        [ACCOUNT_REQUESTS] = {EACH, STRANGERS, OTHERS, ALL},
        [ACCOUNT_BYTES] = {EACH, STRANGERS, OTHERS, ALL},
        [ACCOUNT_FORWARDS] = {EACH, STRANGERS, OTHERS, ALL},
};

static Accounts *accounts;
static AccountHolding holdings[HOLDINGS];
static bool evicted[HOLDINGS];

static void on_evicted(AccountHolding *h) {
        evicted[h - holdings] = true;
}

static int setup(void **state) {
        accounts = accounts_new(&limits);
        memset(holdings, 0, sizeof(holdings));
        memset(evicted, 0, sizeof(evicted));
        for (size_t i = 0; i < HOLDINGS; i++)
                holdings[i].evict = on_evicted;
        return accounts ? 0 : -1;
}

static int teardown(void **state) {
        for (size_t i = 0; i < HOLDINGS; i++)
                if (holdings[i].account)
                        account_holding_close(accounts, &holdings[i]);
        accounts_free(accounts); // which sees that nobody has anything
        return 0;
}

static Principal root(void) {
        return principal_of_user(0, 0, true);
}

static Principal user(unsigned n) {
        return principal_of_user(0, 1000 + n, false);
}

static Principal token(unsigned n) {
        Hash proof = hash_of(&n, sizeof(n));

        return principal_of_token(0, &proof);
}

static Principal four(unsigned n) {
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(0x0a000000 + n),
                                 .sin_port = htons((uint16_t) (n + 7))};

        return principal_of_address((struct sockaddr *) &at);
}

static Principal six(const char *text) {
        struct sockaddr_in6 at = {.sin6_family = AF_INET6};

        assert_int_equal(inet_pton(AF_INET6, text, &at.sin6_addr), 1);
        return principal_of_address((struct sockaddr *) &at);
}

static bool open_as(size_t i, Principal of) {
        return account_holding_open(accounts, &holdings[i], &of);
}

static Account *enter(Principal of) {
        Account *u = account_enter(accounts, &of);

        assert_non_null(u);
        return u;
}

static size_t fill(Account *u) {
        size_t n = 0;

        while (account_take(u, ACCOUNT_BYTES, 1))
                n++;
        return n;
}

static void empty(Account *u, size_t n) {
        account_give(u, ACCOUNT_BYTES, n);
        account_leave(u);
}

// ---- who somebody is

static bool is_same(Principal a, Principal b) {
        return memcmp(&a, &b, sizeof(a)) == 0;
}

static void a_principal_is_who_asks_and_who_says_so(void **state) {
        Hash proof = hash_of("x", 1);

        assert_true(is_same(user(1), user(1)));
        assert_false(is_same(user(1), user(2)));
        assert_false(is_same(user(1), principal_of_user(7, 1001, false)));
        assert_false(is_same(token(1), token(2)));
        assert_true(is_same(principal_of_token(0, &proof), principal_of_token(0, &proof)));
        assert_true(is_same(four(1), four(1)));
        assert_false(is_same(four(1), four(2)));
        assert_false(is_same(principal_of_host(1), principal_of_host(2)));
}

static void who_has_many_addresses_is_one(void **state) {
        assert_true(is_same(six("2001:db8:1:2::1"), six("2001:db8:1:2:ffff::")));
        assert_false(is_same(six("2001:db8:1:2::1"), six("2001:db8:1:3::1")));
}

// ---- amounts

static void one_of_the_others_has_a_share(void **state) {
        Account *a = enter(user(1)), *again = enter(user(1)), *b = enter(token(1)), *c = enter(user(2)),
                *d = enter(user(3));

        assert_ptr_equal(a, again);
        assert_int_equal(fill(a), EACH);
        assert_int_equal(fill(again), 0);
        assert_int_equal(fill(b), EACH);
        assert_int_equal(fill(c), EACH);
        assert_int_equal(fill(d), 0); // all of them together
        empty(a, EACH);
        assert_int_equal(fill(d), EACH);
        account_leave(again);
        empty(b, EACH);
        empty(c, EACH);
        empty(d, EACH);
}

static void owners_have_what_the_others_leave(void **state) {
        Account *others[] = {enter(user(1)), enter(user(2)), enter(token(1)), enter(token(2))},
                *owner = enter(root());
        size_t n[ELEMENTSOF(others)];

        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                n[i] = fill(others[i]);
        assert_int_equal(account_most(owner, ACCOUNT_BYTES), RESERVE);
        assert_int_equal(fill(owner), RESERVE);
        empty(owner, RESERVE);
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                empty(others[i], n[i]);
        owner = enter(root());
        assert_int_equal(fill(owner), RESERVE); // and leave the rest to them
        empty(owner, RESERVE);
}

static void strangers_leave_room_for_those_who_are_known(void **state) {
        Account *strangers[] = {enter(four(1)), enter(four(2)), enter(four(3))}, *known = enter(token(1));

        assert_int_equal(fill(strangers[0]), EACH);
        assert_int_equal(fill(strangers[1]), EACH);
        assert_int_equal(fill(strangers[2]), 0);
        assert_int_equal(fill(known), EACH);
        empty(known, EACH);
        empty(strangers[2], 0);
        empty(strangers[1], EACH);
        empty(strangers[0], EACH);
}

static void what_is_refused_takes_nothing(void **state) {
        Account *a = enter(user(1));

        assert_false(account_take(a, ACCOUNT_BYTES, EACH + 1));
        assert_false(account_take(a, ACCOUNT_BYTES, SIZE_MAX));
        assert_true(account_take(a, ACCOUNT_BYTES, 1));
        assert_false(account_take(a, ACCOUNT_BYTES, SIZE_MAX));
        assert_false(account_take_within(a, ACCOUNT_BYTES, 2, 2));
        assert_true(account_take_within(a, ACCOUNT_BYTES, 1, 2));
        assert_int_equal(account_has(a, ACCOUNT_BYTES), 2);
        assert_true(account_take(a, ACCOUNT_REQUESTS, EACH)); // another room
        account_give(a, ACCOUNT_REQUESTS, EACH);
        empty(a, 2);
}

// ---- places

static void the_longest_idle_of_a_principal_goes_for_its_next(void **state) {
        for (size_t i = 0; i < EACH; i++)
                assert_true(open_as(i, user(1)));
        account_holding_busy(accounts, &holdings[0]);
        account_holding_idle(accounts, &holdings[0]); // no longer the longest idle one
        assert_true(open_as(EACH, user(1)));
        assert_true(evicted[1]);
        assert_null(holdings[1].account);
        account_holding_close(accounts, &holdings[1]); // it hears of it later
        assert_false(evicted[0] || evicted[2] || evicted[3]);
}

static void who_is_waited_for_keeps_its_place(void **state) {
        for (size_t i = 0; i < EACH; i++) {
                assert_true(open_as(i, user(1)));
                account_holding_busy(accounts, &holdings[i]);
        }
        assert_false(open_as(EACH, user(1)));
        assert_true(open_as(EACH, user(2)));
        account_holding_idle(accounts, &holdings[2]);
        assert_true(open_as(EACH + 1, user(1)));
        assert_true(evicted[2]);
}

static void who_is_kept_gives_way_to_others_alone(void **state) {
        for (size_t i = 0; i < EACH; i++) {
                holdings[i].kept = true;
                assert_true(open_as(i, user(1)));
        }
        assert_false(open_as(EACH, user(1)));
        for (size_t i = EACH; i < OTHERS; i++)
                assert_true(open_as(i, user((unsigned) (1 + i / EACH))));
        assert_true(open_as(OTHERS, user(9)));
        assert_true(evicted[0]);
}

static void an_owner_always_finds_a_place(void **state) {
        for (size_t i = 0; i < OTHERS; i++) {
                assert_true(open_as(i, user((unsigned) (1 + i / EACH))));
                account_holding_busy(accounts, &holdings[i]);
        }
        assert_false(open_as(HOLDINGS - 1, user(9)));
        for (size_t i = 0; i < RESERVE; i++)
                assert_true(open_as(OTHERS + i, root()));
        assert_true(open_as(ALL, root())); // for its own longest idle one
        assert_true(evicted[OTHERS]);
        assert_false(open_as(HOLDINGS - 1, user(9))); // an owner's idle ones are nobody else's
}

static void idle_strangers_keep_nobody_out(void **state) {
        for (size_t i = 0; i < STRANGERS; i++)
                assert_true(open_as(i, four((unsigned) i)));
        for (size_t i = STRANGERS; i < OTHERS; i++)
                assert_true(open_as(i, token((unsigned) i)));
        assert_true(open_as(OTHERS, token(100)));
        assert_true(evicted[0]);
        assert_true(open_as(OTHERS + 1, four(100))); // the place of one of their own
        assert_true(evicted[1]);
        for (size_t i = 2; i <= OTHERS + 1; i++) // from now on those with tokens have been so for longest
                if (i < STRANGERS || i > OTHERS)
                        account_holding_idle(accounts, &holdings[i]);
        assert_true(open_as(OTHERS + 2, four(101)));
        assert_true(evicted[2]);
        for (size_t i = STRANGERS; i <= OTHERS; i++)
                assert_false(evicted[i]);
}

// Nobody has said yet that they may ask: slow bodies with tokens that are none, say.
static void who_asks_and_is_not_known_makes_room_where_nobody_is_idle(void **state) {
        for (size_t i = 0; i < EACH; i++) {
                assert_true(open_as(i, four(1)));
                if (i != 2)
                        account_holding_pending(accounts, &holdings[i]);
        }
        assert_true(open_as(EACH, four(1)));
        assert_true(evicted[2]); // who is idle first,
        account_holding_pending(accounts, &holdings[EACH]);
        assert_true(open_as(EACH + 1, four(1)));
        assert_true(evicted[0] && !evicted[1]); // and then who has been so for longest
        account_holding_busy(accounts, &holdings[1]);
        account_holding_pending(accounts, &holdings[EACH + 1]);
        for (size_t i = EACH + 2; i < 3 * EACH; i++) {
                assert_true(open_as(i, four(1)));
                account_holding_pending(accounts, &holdings[i]);
        }
        assert_false(evicted[1]);
}

// Whose places are those of many; who asks through it has its own account.
static void a_proxy_has_places_of_its_own(void **state) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001)};
        Principal proxy = principal_of_proxy((struct sockaddr *) &at);

        assert_false(is_same(proxy, four(1)));
        for (size_t i = 0; i < PROXY; i++) {
                assert_true(open_as(i, proxy));
                account_holding_busy(accounts, &holdings[i]);
        }
        assert_false(open_as(PROXY, proxy));
        for (size_t i = 0; i < EACH; i++) // and none of its address' share
                assert_true(open_as(PROXY + i, four(1)));
}

static void who_shows_a_token_is_no_stranger_any_more(void **state) {
        Principal t = token(1);

        for (size_t i = 0; i < EACH; i++)
                assert_true(open_as(i, four(1)));
        for (size_t i = 0; i < EACH; i++)
                assert_true(account_holding_move(accounts, &holdings[i], &t));
        assert_true(account_holding_move(accounts, &holdings[0], &t));
        for (size_t i = EACH; i < 2 * EACH; i++)
                assert_true(open_as(i, four(1)));
        account_holding_busy(accounts, &holdings[1]);
        assert_true(account_holding_move(accounts, &holdings[EACH], &t));
        assert_true(evicted[0]);
        for (size_t i = 1; i < EACH; i++)
                account_holding_busy(accounts, &holdings[i]);
        account_holding_busy(accounts, &holdings[EACH]);
        assert_false(account_holding_move(accounts, &holdings[EACH + 1], &t));
        assert_non_null(holdings[EACH + 1].account); // where it was
}

// ---- whatever happens

static Principal any(unsigned n) {
        switch (n % 4) {
        case 0:
                return root();
        case 1:
                return user(n % 16);
        case 2:
                return token(n % 16);
        default:
                return four(n % 16);
        }
}

static void count(size_t n[3]) {
        n[0] = n[1] = n[2] = 0;
        for (size_t i = 0; i < HOLDINGS; i++) {
                size_t mine =
                        holdings[i].account ? account_has(holdings[i].account, ACCOUNT_CONNECTIONS) : 0;

                n[0] += mine > 0;
                n[1] += mine > 0 && !account_is_owner(holdings[i].account);
                assert_true(mine <= (mine && account_is_owner(holdings[i].account) ? RESERVE : EACH));
        }
}

static void the_limits_hold_whatever_happens(void **state) {
        for (unsigned seed = 1; seed <= 50; seed++) {
                unsigned r = seed * 7919;

                for (unsigned step = 0; step < 2000; step++) {
                        AccountHolding *h = &holdings[(r = r * 1103515245 + 12345) >> 16 & (HOLDINGS - 1)];
                        Principal of = any((r = r * 1103515245 + 12345) >> 16);
                        size_t n[3];

                        if (!h->account)
                                (void) account_holding_open(accounts, h, &of);
                        else if (r >> 20 & 1)
                                account_holding_busy(accounts, h);
                        else if (r >> 21 & 1)
                                account_holding_idle(accounts, h);
                        else if (r >> 22 & 1)
                                (void) account_holding_move(accounts, h, &of);
                        else
                                account_holding_close(accounts, h);
                        count(n);
                        assert_true(n[0] <= ALL && n[1] <= OTHERS);
                }
                for (size_t i = 0; i < HOLDINGS; i++)
                        account_holding_close(accounts, &holdings[i]);
        }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

RUN_TESTS(
        CASE(a_principal_is_who_asks_and_who_says_so),
        CASE(who_has_many_addresses_is_one),
        CASE(one_of_the_others_has_a_share),
        CASE(owners_have_what_the_others_leave),
        CASE(strangers_leave_room_for_those_who_are_known),
        CASE(what_is_refused_takes_nothing),
        CASE(the_longest_idle_of_a_principal_goes_for_its_next),
        CASE(who_is_waited_for_keeps_its_place),
        CASE(who_is_kept_gives_way_to_others_alone),
        CASE(an_owner_always_finds_a_place),
        CASE(idle_strangers_keep_nobody_out),
        CASE(who_asks_and_is_not_known_makes_room_where_nobody_is_idle),
        CASE(a_proxy_has_places_of_its_own),
        CASE(who_shows_a_token_is_no_stranger_any_more),
        CASE(the_limits_hold_whatever_happens)
)
