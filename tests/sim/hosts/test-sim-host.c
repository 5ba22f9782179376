// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whole hosts in a world: they find a leader, do what a client asks one of them, and come back.
#include "test.h"

#include "clock.h"
#include "daemon.h"
#include "fake-pid1.h"
#include "sim-client.h"
#include "sim-host.h"
#include "sim-store.h"
#include "story.h"

static uint32_t leader(void) {
        uint32_t ret = 0;

        for (uint32_t i = 1; i <= sim_cluster_size(); i++) {
                const Daemon *d = sim_machine(i)->daemon;

                if (!d || !sim_machine(i)->in_cluster)
                        continue;
                if (!d->attached || d->known_leader == 0 || (ret > 0 && d->known_leader != ret))
                        return 0;
                ret = d->known_leader;
        }
        return ret;
}

static bool all_attached(void *data) {
        return leader() > 0;
}

static void begin_with(uint64_t word, size_t n_members, size_t n_fresh) {
        sim_cluster_begin(word, n_members, n_members, n_fresh, NULL);
        story_begin((StoryOutput){}, sim_clock());
        sim_client_begin();
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                sim_machine_start(sim_machine(i));
        assert_true(sim_run_until(all_attached, NULL, 30 * USEC_PER_SEC));
}

static void begin(uint64_t word) {
        begin_with(word, 3, 0);
}

static void end(void) {
        assert_null(sim_store_broken());
        sim_client_end();
        sim_cluster_end();
}

static unsigned count_active(const char *name) {
        unsigned n = 0;

        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                n += sim_machine(i)->powered && pid1_is_active(sim_machine(i)->pid1, name);
        return n;
}

static uint32_t place_of(const char *name) {
        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (sim_machine(i)->powered && pid1_is_active(sim_machine(i)->pid1, name))
                        return i;
        return 0;
}

static bool is_final(void *data) {
        return ((const SimAsk *) data)->final;
}

static void start_unit(uint32_t at, const char *name) {
        SimAsk *ask =
                sim_client_change(at, ARGOSY__VERB__VERB_START, name, "[Service]\nExecStart=/bin/true\n");

        assert_true(sim_run_until(is_final, ask, 30 * USEC_PER_SEC));
        assert_int_equal(ask->error, 0);
        assert_non_null(sim_client_result(ask));
        assert_int_equal(sim_client_result(ask)->status, 0);
        assert_true(sim_client_result(ask)->revision > 0);
}

static bool runs_once(void *name) {
        return count_active(name) == 1;
}

static void three_hosts_find_a_leader(void **state) {
        begin(1);
        end();
}

static uint64_t play(uint64_t word) {
        char name[32];
        uint64_t digest;

        begin(word);
        for (unsigned i = 0; i < 6; i++) {
                snprintf(name, sizeof(name), "unit%u.service", i);
                start_unit(i % 3 + 1, name);
                assert_true(sim_run_until(runs_once, name, 30 * USEC_PER_SEC));
        }
        for (uint64_t i = 1; i <= sim_store_committed(); i++)
                if (sim_store_entry(i)->data)
                        story_digest("entry", sim_store_entry(i)->data, sim_store_entry(i)->len);
        digest = story_digest_value();
        end();
        return digest;
}

static void the_same_word_is_the_same_story(void **state) {
        assert_int_equal(play(1), play(1));
        assert_int_not_equal(play(1), play(2));
}

static void who_is_killed_comes_back_and_its_units_run_on(void **state) {
        uint32_t place;

        begin(3);
        start_unit(1, "a.service");
        assert_true(sim_run_until(runs_once, (void *) "a.service", 30 * USEC_PER_SEC));
        place = place_of("a.service");
        sim_machine_kill(sim_machine(place));
        sim_run_for(2 * USEC_PER_SEC);
        sim_machine_start(sim_machine(place));
        assert_true(sim_run_until(all_attached, NULL, 30 * USEC_PER_SEC));
        sim_run_for(20 * USEC_PER_SEC);
        assert_int_equal(place_of("a.service"), place);
        assert_int_equal(pid1_runs(sim_machine(place)->pid1, "a.service"), 1);
        end();
}

static bool is_down(void *data) {
        return !((const SimMachine *) data)->daemon;
}

static void a_leader_that_ends_in_good_order_hands_over(void **state) {
        uint32_t old;

        begin(6);
        start_unit(1, "a.service");
        assert_true(sim_run_until(runs_once, (void *) "a.service", 30 * USEC_PER_SEC));
        old = leader();
        sim_machine_stop(sim_machine(old));
        assert_true(sim_run_until(is_down, sim_machine(old), 5 * USEC_PER_SEC));
        assert_true(sim_store_leader() > 0); // before anybody missed one
        assert_int_not_equal(sim_store_leader(), old);
        sim_machine_start(sim_machine(old));
        assert_true(sim_run_until(all_attached, NULL, 30 * USEC_PER_SEC));
        assert_int_equal(pid1_runs(sim_machine(place_of("a.service"))->pid1, "a.service"), 1);
        end();
}

static void what_ran_on_a_host_without_power_runs_elsewhere(void **state) {
        uint32_t place;

        begin(4);
        start_unit(1, "a.service");
        assert_true(sim_run_until(runs_once, (void *) "a.service", 30 * USEC_PER_SEC));
        place = place_of("a.service");
        sim_machine_power_off(sim_machine(place));
        assert_int_equal(count_active("a.service"), 0);
        assert_true(sim_run_until(runs_once, (void *) "a.service", 60 * USEC_PER_SEC));
        sim_machine_start(sim_machine(place));
        assert_true(sim_run_until(all_attached, NULL, 30 * USEC_PER_SEC));
        sim_run_for(20 * USEC_PER_SEC);
        assert_int_equal(count_active("a.service"), 1);
        end();
}

static bool others_have_a_leader(void *data) {
        uint32_t old = *(uint32_t *) data;

        for (uint32_t i = 1; i <= sim_cluster_size(); i++)
                if (i != old &&
                    (!sim_machine(i)->daemon->attached || sim_machine(i)->daemon->known_leader == old))
                        return false;
        return true;
}

static void a_leader_that_is_cut_off_has_a_successor(void **state) {
        uint32_t old;
        SimAsk *ask;

        begin(5);
        old = leader();
        for (uint32_t i = 1; i <= 3; i++) {
                SimWay way = sim_net_way(sim_machine(old)->host, sim_machine(i)->host);

                way.cut = i != old;
                sim_net_set_way(sim_machine(old)->host, sim_machine(i)->host, way);
                sim_net_set_way(sim_machine(i)->host, sim_machine(old)->host, way);
        }
        ask = sim_client_change(old, ARGOSY__VERB__VERB_START, "b.service",
                                "[Service]\nExecStart=/bin/true\n");
        assert_true(sim_run_until(others_have_a_leader, &old, 60 * USEC_PER_SEC));
        // nobody can have taken it
        assert_false(sim_client_result(ask) && sim_client_result(ask)->status == 0);
        start_unit(old % 3 + 1, "a.service");
        for (uint32_t i = 1; i <= 3; i++) {
                SimWay way = sim_net_way(sim_machine(old)->host, sim_machine(i)->host);

                way.cut = false;
                sim_net_set_way(sim_machine(old)->host, sim_machine(i)->host, way);
                sim_net_set_way(sim_machine(i)->host, sim_machine(old)->host, way);
        }
        assert_true(sim_run_until(all_attached, NULL, 60 * USEC_PER_SEC));
        end();
}

// ----------------------------------------------------------------------------------- hosts that come and go

static SimAsk *answered(SimAsk *ask) {
        assert_true(sim_run_until(is_final, ask, 60 * USEC_PER_SEC));
        assert_int_equal(ask->error, 0);
        if (ask->last->status != 0)
                fail_msg("%s", ask->last->message);
        return ask;
}

static const char *make_token(uint32_t at) {
        Argosy__Request__ClusterToken token = ARGOSY__REQUEST__CLUSTER_TOKEN__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_TOKEN;
        request.cluster_token = &token;
        return answered(sim_client_send(at, NULL, &request))->last->token->token;
}

static SimAsk *join(uint32_t number, uint32_t at, const char *token) {
        Argosy__Request__ClusterJoin join = ARGOSY__REQUEST__CLUSTER_JOIN__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        join.address = (char *) sim_machine_address(sim_machine(at));
        join.token = (char *) token;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_JOIN;
        request.cluster_join = &join;
        return sim_client_send(number, NULL, &request);
}

static bool is_member(void *data) {
        const SimMachine *m = data;

        return m->in_cluster && m->daemon && m->daemon->attached;
}

static bool is_alone(void *data) {
        const SimMachine *m = data;

        return !m->in_cluster && m->daemon && m->daemon->attached;
}

static void a_fresh_host_joins_and_leaves(void **state) {
        Argosy__Request__ClusterLeave leave = ARGOSY__REQUEST__CLUSTER_LEAVE__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        SimMachine *m;

        begin_with(7, 3, 1);
        m = sim_machine(4);
        assert_true(sim_run_until(is_alone, m, 30 * USEC_PER_SEC));
        answered(join(4, 2, make_token(1)));
        assert_true(sim_run_until(is_member, m, 30 * USEC_PER_SEC));
        assert_int_equal(m->daemon->peers->host, 4);
        start_unit(4, "a.service");
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_LEAVE;
        request.cluster_leave = &leave;
        answered(sim_client_send(4, NULL, &request));
        assert_true(sim_run_until(is_alone, m, 30 * USEC_PER_SEC));
        assert_true(sim_run_until(runs_once, (void *) "a.service", 60 * USEC_PER_SEC));
        assert_int_not_equal(place_of("a.service"), 4);
        end();
}

static SimAsk *voters(uint32_t at, unsigned n) {
        Argosy__Request__ClusterVoters voters = ARGOSY__REQUEST__CLUSTER_VOTERS__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;

        voters.wanted = n;
        request.what_case = ARGOSY__REQUEST__WHAT_CLUSTER_VOTERS;
        request.cluster_voters = &voters;
        return sim_client_send(at, NULL, &request);
}

// By the log itself: a record says so before, and a spare has a number there, too.
static bool are_voters(void *data) {
        StoreStats status = {};
        size_t n = 0;

        if (sim_store_leader() != 1)
                return false;
        store_stats(sim_machine(1)->daemon->store, &status);
        for (size_t i = 0; i < status.n_members; i++)
                n += status.members[i].voter;
        for (uint32_t i = 1; i <= 3; i++)
                if (sim_store_applied(i) < sim_store_committed())
                        return false;
        return n == 3;
}

static void those_who_join_vote_when_there_are_three(void **state) {
        uint32_t old = 1;

        begin_with(8, 1, 2);
        for (uint32_t i = 2; i <= 3; i++) {
                assert_true(sim_run_until(is_alone, sim_machine(i), 30 * USEC_PER_SEC));
                answered(join(i, 1, make_token(1)));
                assert_true(sim_run_until(is_member, sim_machine(i), 30 * USEC_PER_SEC));
        }
        answered(voters(1, 3));
        assert_true(sim_run_until(are_voters, NULL, 60 * USEC_PER_SEC));
        sim_machine_power_off(sim_machine(old));
        // what is on its way to the old one is not answered well
        assert_true(sim_run_until(others_have_a_leader, &old, 60 * USEC_PER_SEC));
        start_unit(2, "a.service");
        end();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(three_hosts_find_a_leader),
                cmocka_unit_test(the_same_word_is_the_same_story),
                cmocka_unit_test(who_is_killed_comes_back_and_its_units_run_on),
                cmocka_unit_test(a_leader_that_ends_in_good_order_hands_over),
                cmocka_unit_test(what_ran_on_a_host_without_power_runs_elsewhere),
                cmocka_unit_test(a_leader_that_is_cut_off_has_a_successor),
                cmocka_unit_test(a_fresh_host_joins_and_leaves),
                cmocka_unit_test(those_who_join_vote_when_there_are_three),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
