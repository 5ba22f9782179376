// SPDX-License-Identifier: LGPL-2.1-or-later
//
// By what a host judges who may do what here. A log and a leader's word may both be old; the newer one
// counts.

#include "author.h"
#include "cluster-words.h"
#include "daemon.h"
#include "leader.h"
#include "local-api.h"
#include "message.h"
#include "messages.h"
#include "socket-access.h"
#include "state-writer.h"

#define ADMIN ARGOSY__RIGHT__RIGHT_ADMIN

static struct World {
        Daemon d;
        unsigned n_saved;
} w;

void state_writer_save_peers(Daemon *d) {
        assert_ptr_equal(d, &w.d);
        w.n_saved++;
}

void local_api_recheck(LocalApi *a) {
}

uint64_t leader_wall(const Leader *l) {
        return 700;
}

uint64_t leader_counted(const Leader *l) {
        return 70;
}

FIXTURE(set_up) {
        w = (struct World){};
        w.d.peers = calloc(1, sizeof(*w.d.peers));
        assert_non_null(w.d.peers);
        argosy__peers_file__init(w.d.peers);
}

FIXTURE(tear_down) {
        message_free(w.d.peers);
        cluster_state_free(w.d.state);
}

static bool may_all(const char *group) {
        char *groups[] = {(char *) group};
        Argosy__Author author = AUTHOR_OF(.user = (char *) "ann", .groups = groups, .n_groups = 1);

        return access_has(socket_access_list(&w.d), &author, ADMIN, NULL);
}

// Members of the group have all rights, and nobody else has any.
static void told(const char *group, uint64_t revision) {
        Argosy__GrantRecord grant = GRANT_RECORD_OF(.right = ADMIN, .group = (char *) group),
                            *grants[] = {&grant};
        Argosy__ToHost__Access access =
                MESSAGE_OF(to_host__access, .grants = grants, .n_grants = 1, .revision = revision);

        socket_access_on_message(&w.d, &access);
}

// As the daemon finds it when it is started again.
static void start_again(void) {
        Argosy__PeersFile *read = message_copy(w.d.peers);

        assert_non_null(read);
        message_free(w.d.peers);
        w.d = (Daemon){.peers = read};
}

static void until_somebody_has_said_it_is_a_new_cluster(void **state) {
        assert_true(may_all(ACCESS_GROUP));
        assert_false(may_all("staff"));
}

static void what_a_leader_has_said_outlives_the_process(void **state) {
        told("staff", 5);
        assert_false(may_all(ACCESS_GROUP));
        assert_int_equal(w.n_saved, 1);
        start_again();
        assert_false(may_all(ACCESS_GROUP));
        assert_true(may_all("staff"));
}

static void what_is_known_is_not_written_again(void **state) {
        told("staff", 5);
        told("staff", 5);
        assert_int_equal(w.n_saved, 1);
        told("others", 6);
        assert_int_equal(w.n_saved, 2);
        assert_false(may_all("staff"));
        assert_true(may_all("others"));
}

static void put_cluster(ClusterState *s) {
        static uint8_t id[16] = {1};
        Argosy__ClusterRecord cluster = MESSAGE_OF(
                cluster_record, .cluster_id = (ProtobufCBinaryData){sizeof(id), id}, .generation = 1);
        Batch b = {0};

        batch_op(&b, ARGOSY__LOG_OP__OP_CLUSTER)->cluster = &cluster;
        apply(s, &b);
}

static void grant(ClusterState *s, const char *group) {
        Argosy__GrantRecord record = GRANT_RECORD_OF(.right = ADMIN, .group = (char *) group);
        Batch b = {0};

        batch_op(&b, ARGOSY__LOG_OP__OP_GRANT)->grant = &record;
        apply(s, &b);
}

// By the one time that there is, and not by this host's clock, or the log's.
static void tokens_are_judged_by_the_time_of_the_cluster(void **state) {
        w.d.state = cluster_state_new();
        assert_non_null(w.d.state);
        put_cluster(w.d.state);
        w.d.leader = (Leader *) &w;
        AccessList list = socket_access_list(&w.d);
        w.d.leader = NULL;
        assert_int_equal(list.now.wall_us, 700);
        assert_int_equal(list.now.counted_us, 70);
}

// A voter that was started again has read its log up to some time ago.
static void a_log_that_is_behind_does_not_count(void **state) {
        w.d.state = cluster_state_new();
        assert_non_null(w.d.state);
        put_cluster(w.d.state);
        told("staff", cluster_state_revision(w.d.state) + 1);
        assert_false(may_all(ACCESS_GROUP));
        assert_true(may_all("staff"));
        grant(w.d.state, "others");
        assert_true(may_all("others"));
        assert_false(may_all("staff"));
}

static void an_old_word_does_not_count_beside_the_log(void **state) {
        told("staff", 1);
        w.d.state = cluster_state_new();
        assert_non_null(w.d.state);
        assert_false(may_all(ACCESS_GROUP)); // without the cluster's record it knows of nothing yet
        put_cluster(w.d.state);
        grant(w.d.state, "others");
        assert_false(may_all("staff"));
        assert_true(may_all("others"));
}

RUN_TESTS(
        cmocka_unit_test_setup_teardown(until_somebody_has_said_it_is_a_new_cluster, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_a_leader_has_said_outlives_the_process, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_known_is_not_written_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_log_that_is_behind_does_not_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tokens_are_judged_by_the_time_of_the_cluster, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_old_word_does_not_count_beside_the_log, set_up,
                                        tear_down)
)
