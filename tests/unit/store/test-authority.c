// SPDX-License-Identifier: LGPL-2.1-or-later

// The rule as a table; then a cluster of models. A model is what libraft 0.22 does with its timers and
// votes, with the guards of raft-authority.c, and nothing else: it freezes with its messages waiting, starts
// anew and forgets, is cut off, hands over, and has a clock that runs too fast or too slow. At every moment,
// also in the first one after a freeze, nobody who believes in his authority has a successor.

#include "test.h"

#include <errno.h>

#include "authority.h"
#include "marks.h"
#include "random-numbers.h"

// ---- the rule

enum { SELF = 1, TERM = 7, PROMISE = 1000 };

static const AuthorityVoter three[] = {{SELF, 50}, {2, 50}, {3, 40}};
static const AuthorityVoter five[] = {{SELF, 50}, {2, 50}, {3, 40}, {4, 30}, {5, 50}};
static const AuthorityView of_three = {SELF, TERM, three, 3}, of_five = {SELF, TERM, five, 5};

static void who_votes_alone_needs_nobody(void **state) {
        Authority a = {};

        assert_true(authority_until(&a, &(AuthorityView){SELF, TERM, three, 1}) == AUTHORITY_ALWAYS);
}

static void a_majority_counts_from_when_it_was_asked(void **state) {
        Authority a = {};

        assert_int_equal(authority_until(&a, &of_three), 0);
        authority_on_answer(&a, 2, TERM, 5000, PROMISE);
        assert_int_equal(authority_until(&a, &of_three), 5900);
        authority_on_answer(&a, 3, TERM, 5300, PROMISE);
        assert_int_equal(authority_until(&a, &of_three), 6200);
        authority_on_answer(&a, 3, TERM, 4000, PROMISE); // it was late
        assert_int_equal(authority_until(&a, &of_three), 6200);
}

static void of_five_two_others_are_needed(void **state) {
        Authority a = {};

        authority_on_answer(&a, 2, TERM, 5000, PROMISE);
        assert_int_equal(authority_until(&a, &of_five), 0);
        authority_on_answer(&a, 4, TERM, 5200, PROMISE);
        assert_int_equal(authority_until(&a, &of_five), 5900);
        authority_on_answer(&a, 5, TERM, 5100, PROMISE);
        assert_int_equal(authority_until(&a, &of_five), 6000);
}

static void two_voters_need_each_other(void **state) {
        Authority a = {};
        AuthorityView two = {SELF, TERM, three, 2};

        assert_int_equal(authority_until(&a, &two), 0);
        authority_on_answer(&a, 2, TERM, 5000, PROMISE);
        assert_int_equal(authority_until(&a, &two), 5900);
}

static void a_leader_that_is_being_removed_does_not_count_itself(void **state) {
        Authority a = {};
        AuthorityView without_us = {SELF, TERM, three + 1, 2};

        authority_on_answer(&a, 2, TERM, 5000, PROMISE);
        assert_int_equal(authority_until(&a, &without_us), 0);
        authority_on_answer(&a, 3, TERM, 5100, PROMISE);
        assert_int_equal(authority_until(&a, &without_us), 5900);
}

static void answers_of_another_term_and_of_others_prove_nothing(void **state) {
        Authority a = {};

        authority_on_answer(&a, 2, TERM - 1, 5000, PROMISE);
        assert_int_equal(authority_until(&a, &of_three), 0);
        authority_on_answer(&a, 9, TERM, 5000, PROMISE); // no voter
        assert_int_equal(authority_until(&a, &of_three), 0);
        authority_on_answer(&a, 2, TERM + 1, 6000, PROMISE); // has gone on
        authority_on_answer(&a, 2, TERM, 6500, PROMISE);
        assert_int_equal(authority_until(&a, &of_three), 0);
}

static void who_told_another_to_take_over_is_believed_again_when_that_cannot_happen_any_more(void **state) {
        Authority a = {};
        AuthorityVoter voters[] = {{SELF, 51}, {2, 50}, {3, 51}};
        AuthorityView view = {SELF, TERM, voters, 3};

        authority_on_answer(&a, 2, TERM, 5000, PROMISE);
        authority_on_answer(&a, 3, TERM, 5000, PROMISE);
        authority_on_timeout_now(&a, 2, TERM, 50);
        assert_true(authority_is_given_away(&a, &view));
        authority_on_answer(&a, 3, TERM, 5500, PROMISE);
        assert_int_equal(authority_until(&a, &view), 0);
        assert_int_equal(authority_other_heir(&a, &view, 5600), 3);
        assert_int_equal(authority_other_heir(&a, &view, 7000), 0); // silent, too
        voters[1].match_index = 51;
        assert_false(authority_is_given_away(&a, &view));
        assert_int_equal(authority_until(&a, &view), 6400);
        view.term = TERM + 1; // and of no importance in another term
        voters[1].match_index = 50;
        assert_false(authority_is_given_away(&a, &view));
}

static void members_that_are_gone_make_room(void **state) {
        Authority a = {};

        for (uint32_t id = 100; id < 100 + 3 * STORE_MEMBERS_MAX; id++)
                authority_on_answer(&a, id, TERM - 1, 1000, PROMISE);
        authority_on_answer(&a, 2, TERM, 5000, PROMISE);
        authority_on_answer(&a, 3, TERM, 5000, PROMISE);
        assert_int_equal(authority_until(&a, &of_three), 5900);
}

static void marks_arrive_as_they_were_sent(void **state) {
        const Marks sent = {0x1122334455667788, 9, 0x8877665544332211, 600};
        uint8_t frame[MARKS_SIZE + 2] = {[MARKS_SIZE] = 'x', 'y'};
        const uint8_t *data;
        Marks got;
        size_t len;

        marks_encode(&sent, frame);
        assert_int_equal(marks_decode(frame, sizeof(frame), &got, &data, &len), 0);
        assert_memory_equal(&got.mark_us, &sent.mark_us, sizeof(got.mark_us));
        assert_int_equal(got.term, sent.term);
        assert_true(got.seen_us == sent.seen_us);
        assert_int_equal(got.promise_ms, sent.promise_ms);
        assert_int_equal(len, 2);
        assert_memory_equal(data, "xy", 2);
        for (size_t n = 0; n < MARKS_SIZE; n++)
                assert_int_equal(marks_decode(frame, n, &got, &data, &len), -EBADMSG);
}

// ---- the models

enum { ELECTION = 600, HEARTBEAT = 200, SERVERS_MAX = 5, QUEUE_MAX = 4096, DELAY_MAX = 40 };
enum { SEEDS = 80, RUN_MS = 60 * 1000 };

typedef enum Kind { APPEND, APPENDED, VOTE, VOTED, TAKE_OVER } Kind;

typedef struct Message {
        Kind kind;
        unsigned from, to, arrives_ms, epoch; // epoch: of the connection
        uint64_t term, mark_us, seen_term, seen_us, index;
        bool pre, disturb, granted;
} Message;

typedef struct Server {
        enum { FOLLOWER, CANDIDATE, LEADER } state;
        uint64_t term, voted_term, index, committed_told;
        unsigned voted_for, leader; // 0: nobody
        bool pre, disturb, frozen;
        unsigned votes; // a bit for each
        double rate;    // of its clock
        uint64_t timer_us, timeout_us, started_us, beat_us;
        uint64_t timeout_now_term;
        uint64_t seen_term[SERVERS_MAX + 1], seen_us[SERVERS_MAX + 1];
        uint64_t match[SERVERS_MAX + 1];
        Authority authority;
} Server;

typedef struct World {
        unsigned n, now_ms;
        uint64_t random;
        Server servers[SERVERS_MAX + 1]; // from 1 on
        bool cut[SERVERS_MAX + 1][SERVERS_MAX + 1];
        unsigned epochs[SERVERS_MAX + 1][SERVERS_MAX + 1];
        Message queue[QUEUE_MAX];
        unsigned n_queue;
        unsigned sure, successions;
        uint64_t newest_term;
} World;

static World world;

static unsigned pick(World *w, unsigned n) {
        return (unsigned) (xorshift64(&w->random) % n);
}

static uint64_t clock_of(const World *w, const Server *s) {
        return (uint64_t) (w->now_ms * 1000.0 * s->rate) + 1;
}

static void post(World *w, Message m) {
        if (w->cut[m.from][m.to] || w->n_queue == QUEUE_MAX)
                return;
        m.arrives_ms = w->now_ms + pick(w, DELAY_MAX);
        for (unsigned i = 0; i < w->n_queue; i++) // one connection keeps the order
                if (w->queue[i].from == m.from && w->queue[i].to == m.to)
                        m.arrives_ms = MAX_OF(m.arrives_ms, w->queue[i].arrives_ms);
        m.epoch = w->epochs[m.from][m.to];
        w->queue[w->n_queue++] = m;
}

static void restart_timer(World *w, Server *s) {
        s->timer_us = clock_of(w, s);
        s->timeout_us = (ELECTION + pick(w, ELECTION)) * 1000;
}

static unsigned id_of(const World *w, const Server *s) {
        return (unsigned) (s - w->servers);
}

static bool is_majority(const World *w, unsigned votes) {
        return (unsigned) __builtin_popcount(votes) > w->n / 2;
}

static void send_appends(World *w, Server *s) {
        s->beat_us = clock_of(w, s);
        for (unsigned i = 1; i <= w->n; i++)
                if (i != id_of(w, s))
                        post(w, (Message){.kind = APPEND,
                                          .from = id_of(w, s),
                                          .to = i,
                                          .term = s->term,
                                          .mark_us = clock_of(w, s),
                                          .index = s->index});
}

static void follow(World *w, Server *s, uint64_t term) {
        if (term > s->term) {
                s->term = term;
                s->voted_for = 0;
        }
        if (s->state != FOLLOWER) {
                s->leader = 0;
                restart_timer(w, s);
        }
        s->state = FOLLOWER;
}

static void win(World *w, Server *s) {
        s->state = LEADER;
        s->leader = id_of(w, s);
        s->timer_us = clock_of(w, s);
        memset(s->match, 0, sizeof(s->match));
        s->index++;
        w->successions++;
        w->newest_term = MAX_OF(w->newest_term, s->term);
        send_appends(w, s);
}

static void run_for_election(World *w, Server *s) {
        s->state = CANDIDATE;
        s->leader = 0;
        if (!s->pre) {
                s->term++;
                s->voted_for = id_of(w, s);
        }
        s->votes = 1U << id_of(w, s);
        restart_timer(w, s);
        for (unsigned i = 1; i <= w->n; i++)
                if (i != id_of(w, s))
                        post(w, (Message){.kind = VOTE,
                                          .from = id_of(w, s),
                                          .to = i,
                                          .term = s->term + s->pre,
                                          .pre = s->pre,
                                          .disturb = s->disturb && s->term == s->timeout_now_term + 1});
}

static void on_append(World *w, Server *s, const Message *m) {
        Message answer = {.kind = APPENDED, .from = m->to, .to = m->from};

        if (m->term >= s->term) {
                follow(w, s, m->term);
                s->leader = m->from;
                s->timer_us = clock_of(w, s);
                s->index = m->index;
                s->seen_term[m->from] = m->term;
                s->seen_us[m->from] = m->mark_us;
        }
        answer.term = s->term;
        answer.index = s->index;
        answer.seen_term = s->seen_term[m->from];
        answer.seen_us = s->seen_us[m->from];
        post(w, answer);
}

static void on_appended(World *w, Server *s, const Message *m) {
        if (m->seen_us > 0)
                authority_on_answer(&s->authority, m->from, m->seen_term, m->seen_us, ELECTION * 1000);
        if (m->term > s->term)
                follow(w, s, m->term);
        else if (s->state == LEADER && m->term == s->term) {
                s->match[m->from] = MAX_OF(s->match[m->from], m->index);
                s->votes |= 1U << m->from;
        }
}

static void on_vote(World *w, Server *s, const Message *m) {
        Message answer = {.kind = VOTED, .from = m->to, .to = m->from, .term = m->term, .pre = m->pre};

        if (!m->disturb && clock_of(w, s) < s->started_us + ELECTION * 1000)
                return;
        if (s->leader == 0 || m->disturb) {
                if (!m->pre && m->term > s->term)
                        follow(w, s, m->term);
                answer.granted =
                        m->term >= s->term && (m->pre || s->voted_for == 0 || s->voted_for == m->from);
                if (answer.granted && !m->pre) {
                        s->voted_for = m->from;
                        s->timer_us = clock_of(w, s);
                }
        }
        post(w, answer);
}

static void on_voted(World *w, Server *s, const Message *m) {
        if (s->state != CANDIDATE || !m->granted || m->pre != s->pre || m->term != s->term + s->pre)
                return;
        s->votes |= 1U << m->from;
        if (!is_majority(w, s->votes))
                return;
        if (s->pre) {
                s->pre = false;
                run_for_election(w, s);
        } else
                win(w, s);
}

static void on_take_over(World *w, Server *s, const Message *m) {
        s->timeout_now_term = m->term;
        if (s->state != FOLLOWER || s->leader != m->from || m->term != s->term || m->index != s->index)
                return;
        s->pre = false;
        s->disturb = true;
        run_for_election(w, s);
}

static void take(World *w, const Message *m) {
        Server *s = &w->servers[m->to];

        switch (m->kind) {
        case APPEND:
                on_append(w, s, m);
                break;
        case APPENDED:
                on_appended(w, s, m);
                break;
        case VOTE:
                on_vote(w, s, m);
                break;
        case VOTED:
                on_voted(w, s, m);
                break;
        case TAKE_OVER:
                on_take_over(w, s, m);
                break;
        }
}

static void deliver(World *w) {
        for (unsigned i = 0; i < w->n_queue;) {
                Message m = w->queue[i];

                if (m.epoch == w->epochs[m.from][m.to] &&
                    (m.arrives_ms > w->now_ms || w->servers[m.to].frozen)) {
                        i++;
                        continue;
                }
                memmove(&w->queue[i], &w->queue[i + 1], (w->n_queue - i - 1) * sizeof(m));
                w->n_queue--;
                if (m.epoch == w->epochs[m.from][m.to])
                        take(w, &m);
        }
}

static void run_timers(World *w, Server *s) {
        uint64_t now = clock_of(w, s);

        if (s->state == LEADER) {
                if (now >= s->beat_us + HEARTBEAT * 1000) {
                        if (is_majority(w, s->votes | 1U << id_of(w, s))) {
                                s->timer_us = now;
                                s->votes = 0;
                        }
                        send_appends(w, s);
                }
                if (now >= s->timer_us + ELECTION * 1000)
                        follow(w, s, s->term);
        } else if (now >= s->timer_us + s->timeout_us) {
                if (s->state == FOLLOWER) {
                        s->pre = true;
                        s->disturb = false;
                }
                run_for_election(w, s);
        }
}

static AuthorityView view_of(const World *w, const Server *s, AuthorityVoter voters[static SERVERS_MAX]) {
        for (unsigned i = 1; i <= w->n; i++)
                voters[i - 1] = (AuthorityVoter){i, i == id_of(w, s) ? s->index : s->match[i]};
        return (AuthorityView){id_of(w, s), s->term, voters, w->n};
}

static bool is_sure(const World *w, const Server *s) {
        AuthorityVoter voters[SERVERS_MAX];
        AuthorityView view = view_of(w, s, voters);

        return s->state == LEADER && authority_until(&s->authority, &view) > clock_of(w, s);
}

static void hand_over(World *w, Server *s, unsigned to) {
        if (s->match[to] != s->index || to == id_of(w, s))
                return;
        authority_on_timeout_now(&s->authority, to, s->term, s->index);
        post(w,
             (Message){
                     .kind = TAKE_OVER, .from = id_of(w, s), .to = to, .term = s->term, .index = s->index});
}

static void start_anew(World *w, Server *s) {
        uint64_t term = s->term, index = s->index;
        unsigned voted_for = s->voted_for, id = id_of(w, s);
        double rate = s->rate;

        *s = (Server){.term = term, .index = index, .voted_for = voted_for, .rate = rate};
        s->started_us = clock_of(w, s);
        restart_timer(w, s);
        for (unsigned i = 1; i <= w->n; i++) { // its connections are new ones
                w->epochs[i][id]++;
                w->epochs[id][i]++;
        }
}

static void have_an_accident(World *w, Server *s) {
        unsigned other = 1 + pick(w, w->n);

        switch (pick(w, 10)) {
        case 0:
        case 1:
                s->frozen = !s->frozen;
                break;
        case 2:
                if (!s->frozen)
                        start_anew(w, s);
                break;
        case 3: // one way or both
                w->cut[id_of(w, s)][other] = true;
                w->cut[other][id_of(w, s)] |= pick(w, 2);
                break;
        case 4:
        case 5:
        case 6:
                memset(w->cut, 0, sizeof(w->cut));
                break;
        case 7:
                if (s->state == LEADER && !s->frozen)
                        hand_over(w, s, other);
                break;
        case 8:
                if (s->state == LEADER) // something is written
                        s->index++;
                break;
        default:
                s->frozen = false;
        }
}

static void nobody_who_is_sure_has_a_successor(World *w, unsigned long seed) {
        for (unsigned i = 1; i <= w->n; i++) {
                const Server *s = &w->servers[i];

                if (s->frozen || !is_sure(w, s))
                        continue;
                w->sure++;
                if (s->term < w->newest_term)
                        fail_msg("seed %lu, %u ms: server %u is sure of term %llu, %llu has a leader", seed,
                                 w->now_ms, i, (unsigned long long) s->term,
                                 (unsigned long long) w->newest_term);
        }
}

static void run_world(unsigned n, unsigned long seed, unsigned accident_every_ms) {
        World *w = &world;

        *w = (World){.n = n, .random = seed * 0x9E3779B97F4A7C15 + 1};
        for (unsigned i = 1; i <= n; i++) {
                w->servers[i] = (Server){.rate = 0.96 + pick(w, 80) / 1000.0};
                restart_timer(w, &w->servers[i]);
        }
        for (; w->now_ms < RUN_MS; w->now_ms++) {
                if (accident_every_ms && pick(w, accident_every_ms) == 0)
                        have_an_accident(w, &w->servers[1 + pick(w, n)]);
                nobody_who_is_sure_has_a_successor(w, seed); // also before a thawed one has read anything
                if (pick(w, 2))
                        deliver(w);
                for (unsigned i = 1; i <= n; i++)
                        if (!w->servers[i].frozen)
                                run_timers(w, &w->servers[i]);
                deliver(w);
                nobody_who_is_sure_has_a_successor(w, seed);
        }
}

static void a_leader_that_nothing_happens_to_is_always_sure(void **state) {
        for (unsigned long seed = 1; seed <= 3; seed++) {
                run_world(3, seed, 0);
                assert_int_equal(world.successions, 1);
                assert_true(world.sure / 2 > RUN_MS - 3 * ELECTION);
        }
}

static void in_accidents_nobody_is_sure_who_has_a_successor(void **state) {
        unsigned successions = 0, sure = 0;

        for (unsigned long seed = 1; seed <= SEEDS; seed++) {
                run_world(seed % 3 ? 3 : 5, seed, 20 + 100 * (seed % 5));
                successions += world.successions;
                sure += world.sure / 2;
        }
        assert_true(successions > SEEDS * 5); // or it would prove nothing
        assert_true(sure > SEEDS * RUN_MS / 10);
}

RUN_TESTS(
        cmocka_unit_test(who_votes_alone_needs_nobody),
        cmocka_unit_test(a_majority_counts_from_when_it_was_asked),
        cmocka_unit_test(of_five_two_others_are_needed),
        cmocka_unit_test(two_voters_need_each_other),
        cmocka_unit_test(a_leader_that_is_being_removed_does_not_count_itself),
        cmocka_unit_test(answers_of_another_term_and_of_others_prove_nothing),
        cmocka_unit_test(
                who_told_another_to_take_over_is_believed_again_when_that_cannot_happen_any_more),
        cmocka_unit_test(members_that_are_gone_make_room),
        cmocka_unit_test(marks_arrive_as_they_were_sent),
        cmocka_unit_test(a_leader_that_nothing_happens_to_is_always_sure),
        cmocka_unit_test(in_accidents_nobody_is_sure_who_has_a_successor)
)
