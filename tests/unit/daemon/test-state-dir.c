// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tmpdir.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "ca.h"
#include "messages.h"
#include "state-dir.h"
#include "str.h"

static char *in(const char *dir, const char *name) {
        char *path = str_printf("%s/%s", dir, name);

        assert_non_null(path);
        return path;
}

static void create(const char *dir) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(state_dir_create(dir, "n1", "10.0.0.1", 7867, &why), 0);
}

static int load(const char *dir, uint32_t *ret_host) {
        Argosy__PeersFile *peers = NULL;
        _cleanup_free_ char *why = NULL;
        Identity identity = {};
        int r = state_dir_load(dir, &identity, &peers, &why);

        if (r == 0)
                *ret_host = peers->host;
        if (r == -EBADMSG)
                assert_non_null(why);
        identity_done(&identity);
        if (peers)
                argosy__peers_file__free_unpacked(peers, NULL);
        return r;
}

// Prepares a replacement by host number 7 of another cluster.
static void replace(const char *dir, bool by_nothing) {
        uint8_t cluster_id[16] = {9};
        _cleanup_(ca_done) Ca ca = {};
        _cleanup_(identity_done) Identity identity = {};

        assert_int_equal(ca_create(&ca), 0);
        assert_int_equal(identity_create("n7", &ca, &identity), 0);
        Argosy__PeersFile peers =
                MESSAGE_OF(peers_file, .host = 7, .cluster_id = (ProtobufCBinaryData){16, cluster_id});
        assert_int_equal(state_dir_replace(dir, by_nothing ? NULL : &identity, by_nothing ? NULL : &peers),
                         0);
}

static void a_fresh_host_becomes_the_first_of_a_cluster(void **state) {
        uint32_t host = 0;

        assert_int_equal(load(*state, &host), -ENOENT);
        create(*state);
        assert_int_equal(load(*state, &host), 0);
        assert_int_equal(host, 1);
}

// A log that is missing later has acknowledged something, however few vote: that is how a host looks that
// was recovered, or has always been alone.
static void only_the_first_host_of_a_new_cluster_begins_a_log(void **state) {
        _cleanup_free_ char *why = NULL;
        Argosy__PeersFile *peers = NULL;
        Identity identity = {};

        create(*state);
        assert_int_equal(state_dir_load(*state, &identity, &peers, &why), 0);
        identity_done(&identity);
        assert_true(state_dir_may_begin_log(peers));
        peers->feature_level = 1; // its log has said so
        assert_false(state_dir_may_begin_log(peers));
        peers->feature_level = 0;
        peers->generation = 2;
        assert_false(state_dir_may_begin_log(peers));
        peers->generation = 1;
        peers->raft_id = 2;
        assert_false(state_dir_may_begin_log(peers));
        argosy__peers_file__free_unpacked(peers, NULL);
}

static void the_only_voter_without_its_log_is_not_sent_to_others(void **state) {
        Argosy__Voter a = ARGOSY__VOTER__INIT, b = ARGOSY__VOTER__INIT, *voters[] = {&a, &b};
        Argosy__PeersFile peers = ARGOSY__PEERS_FILE__INIT;

        peers.voters = voters;
        peers.n_voters = 2;
        _cleanup_free_ char *one_of_two = state_dir_lost_log("/dir", "/dir/log", "n1", &peers);
        assert_non_null(strstr(one_of_two, "argosyctl cluster remove n1"));
        peers.n_voters = 1;
        _cleanup_free_ char *alone = state_dir_lost_log("/dir", "/dir/log", "n1", &peers);
        assert_null(strstr(alone, "cluster remove"));
        a.host = 2; // the only one is another host
        _cleanup_free_ char *not_yet = state_dir_lost_log("/dir", "/dir/log", "n1", &peers);
        assert_non_null(strstr(not_yet, "argosyctl cluster remove n1"));
        assert_non_null(strstr(alone, "The log under /dir/log is missing"));
}

static void damage_is_named_and_never_overwritten(void **state) {
        _cleanup_free_ char *peers = in(*state, "peers"), *key = in(*state, "identity.pem"),
                            *log = in(*state, "log"), *meta = in(*state, "log/metadata1");
        _cleanup_buf_ Buf text = {};
        uint32_t host = 0;

        create(*state);
        assert_int_equal(file_read(AT_FDCWD, peers, 1 << 20, &text), 0);
        text.data[text.len - 1] ^= 1;
        assert_int_equal(file_replace(AT_FDCWD, peers, text.data, text.len, 0600, 0), 0);
        assert_int_equal(load(*state, &host), -EBADMSG);
        text.data[text.len - 1] ^= 1;
        assert_int_equal(file_replace(AT_FDCWD, peers, text.data, text.len, 0600, 0), 0);
        assert_int_equal(load(*state, &host), 0);
        assert_int_equal(unlink(key), 0);
        assert_int_equal(load(*state, &host), -EBADMSG); // a member without a key is not a fresh host
        assert_int_equal(unlink(peers), 0);
        assert_int_equal(mkdir(log, 0700), 0);
        assert_int_equal(file_replace(AT_FDCWD, meta, "x", 1, 0600, 0), 0);
        assert_int_equal(load(*state, &host), -EBADMSG); // nor is one with a log
}

static void a_replacement_takes_effect_only_when_settled(void **state) {
        _cleanup_free_ char *fence = in(*state, "fence"), *why = NULL;
        uint32_t host = 0;

        create(*state);
        assert_int_equal(file_replace(AT_FDCWD, fence, "x", 1, 0600, 0), 0);
        replace(*state, false);
        assert_int_equal(load(*state, &host), 0);
        assert_int_equal(host, 1);
        assert_int_equal(state_dir_settle(*state, &why), 0);
        assert_int_equal(load(*state, &host), 0);
        assert_int_equal(host, 7);
        assert_int_equal(access(fence, F_OK), -1);
        assert_int_equal(state_dir_settle(*state, &why), 0);
        assert_int_equal(load(*state, &host), 0);
        replace(*state, true);
        assert_int_equal(state_dir_settle(*state, &why), 0);
        assert_int_equal(load(*state, &host), -ENOENT);
}

// ---- the copy beside a voter's log

// As this host is: by that number of its log, with so many voters.
static void save(const char *dir, uint32_t raft_id, size_t n_voters) {
        Argosy__Voter voter = ARGOSY__VOTER__INIT, *voters[] = {&voter, &voter, &voter};
        _cleanup_free_ char *why = NULL;
        Argosy__PeersFile *peers = NULL, next;
        _cleanup_(identity_done) Identity identity = {};

        assert_int_equal(state_dir_load(dir, &identity, &peers, &why), 0);
        next = *peers;
        voter.host = next.host;
        next.raft_id = raft_id;
        next.voters = voters;
        next.n_voters = n_voters;
        assert_int_equal(state_dir_save_peers(dir, &next), 0);
        argosy__peers_file__free_unpacked(peers, NULL);
}

static void make_log(const char *dir) {
        _cleanup_free_ char *log = in(dir, "log"), *meta = in(dir, "log/metadata1");

        assert_int_equal(mkdir(log, 0700), 0);
        assert_int_equal(file_replace(AT_FDCWD, meta, "x", 1, 0600, 0), 0);
}

static void copy_file(const char *dir, const char *from, const char *to) {
        _cleanup_free_ char *a = in(dir, from), *b = in(dir, to);
        _cleanup_buf_ Buf text = {};

        assert_int_equal(file_read(AT_FDCWD, a, 1 << 20, &text), 0);
        assert_int_equal(file_replace(AT_FDCWD, b, text.data, text.len, 0600, 0), 0);
}

static uint32_t loaded_raft_id(const char *dir, size_t *ret_n_voters) {
        _cleanup_free_ char *why = NULL;
        Argosy__PeersFile *peers = NULL;
        Identity identity = {};
        uint32_t raft_id;

        assert_int_equal(state_dir_load(dir, &identity, &peers, &why), 0);
        raft_id = peers->raft_id;
        *ret_n_voters = peers->n_voters;
        argosy__peers_file__free_unpacked(peers, NULL);
        identity_done(&identity);
        return raft_id;
}

// It is from before this host voted, and from before others did.
static void a_peers_file_from_a_backup_counts_less_than_the_log(void **state) {
        size_t n_voters;

        create(*state);
        save(*state, 0, 1);
        copy_file(*state, "peers", "backup");
        make_log(*state);
        save(*state, 4, 2);
        copy_file(*state, "peers", "backup2");
        save(*state, 4, 3);
        copy_file(*state, "backup", "peers");
        assert_int_equal(loaded_raft_id(*state, &n_voters), 4);
        assert_int_equal(n_voters, 3);
        copy_file(*state, "backup2", "peers");
        assert_int_equal(loaded_raft_id(*state, &n_voters), 4);
        assert_int_equal(n_voters, 3);
}

static void who_votes_no_more_has_nothing_that_says_so(void **state) {
        size_t n_voters;

        create(*state);
        make_log(*state);
        save(*state, 4, 2);
        save(*state, 0, 1);
        assert_int_equal(loaded_raft_id(*state, &n_voters), 0);
        assert_int_equal(n_voters, 1);
}

static void a_log_of_another_time_or_host_is_refused(void **state) {
        _cleanup_free_ char *copy = in(*state, "log/peers");
        uint32_t host;

        create(*state);
        make_log(*state);
        save(*state, 4, 2);
        copy_file(*state, "log/peers", "old-copy");
        save(*state, 5, 2);
        copy_file(*state, "old-copy", "log/peers"); // the log alone is from a backup
        assert_int_equal(load(*state, &host), -EBADMSG);
        assert_int_equal(unlink(copy), 0);
        replace(*state, false);
        copy_file(*state, "commit/peers", "log/peers");
        assert_int_equal(load(*state, &host), -EBADMSG);
        assert_int_equal(file_replace(AT_FDCWD, copy, "x", 1, 0600, 0), 0);
        assert_int_equal(load(*state, &host), -EBADMSG);
}

static bool says_to_ask_another_host(const char *dir) {
        _cleanup_free_ char *why = NULL;
        Argosy__PeersFile *peers = NULL;
        Identity identity = {};

        assert_int_equal(state_dir_load(dir, &identity, &peers, &why), -EBADMSG);
        identity_done(&identity);
        argosy__peers_file__free_unpacked(peers, NULL);
        return strstr(why, "on another one");
}

static void the_only_voter_with_a_damaged_copy_is_not_sent_to_others(void **state) {
        _cleanup_free_ char *copy = in(*state, "log/peers");

        create(*state);
        make_log(*state);
        save(*state, 4, 2);
        assert_int_equal(file_replace(AT_FDCWD, copy, "x", 1, 0600, 0), 0);
        assert_true(says_to_ask_another_host(*state));
        assert_int_equal(unlink(copy), 0);
        save(*state, 4, 1);
        assert_int_equal(file_replace(AT_FDCWD, copy, "x", 1, 0600, 0), 0);
        assert_false(says_to_ask_another_host(*state));
}

// Ends a child at its n-th system call that changes the directory, by a limit that the child sets itself:
// every step of settling is a rename or an unlink, so stopping after each of them in turn visits every
// moment at which power can fail.
extern int renames_left;
int renames_left = -1;

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to) {
        if (renames_left >= 0 && renames_left-- == 0)
                _exit(42);
        return __real_rename(from, to);
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path) {
        if (renames_left >= 0 && renames_left-- == 0)
                _exit(42);
        return __real_unlink(path);
}

static bool settle_in_child(const char *dir, int steps) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                char *why = NULL;

                renames_left = steps;
                _exit(state_dir_settle(dir, &why) < 0 ? 1 : 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 42));
        return WEXITSTATUS(status) == 0;
}

static void settling_survives_an_end_at_any_step(void **state) {
        bool finished = false;

        for (int steps = 0; !finished; steps++) {
                _cleanup_free_ char *why = NULL;
                uint32_t host = 0;

                assert_true(steps < 50);
                assert_int_equal(dir_empty(AT_FDCWD, *state), 0);
                create(*state);
                replace(*state, false);
                finished = settle_in_child(*state, steps);
                (void) settle_in_child(*state, steps); // a second power cut, later
                assert_int_equal(state_dir_settle(*state, &why), 0);
                assert_int_equal(load(*state, &host), 0);
                assert_int_equal(host, 7);
        }
}

#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, tmpdir_make, tmpdir_drop)

RUN_TESTS(
        IN_DIR(a_fresh_host_becomes_the_first_of_a_cluster),
        IN_DIR(only_the_first_host_of_a_new_cluster_begins_a_log),
        IN_DIR(the_only_voter_without_its_log_is_not_sent_to_others),
        IN_DIR(damage_is_named_and_never_overwritten),
        IN_DIR(a_peers_file_from_a_backup_counts_less_than_the_log),
        IN_DIR(who_votes_no_more_has_nothing_that_says_so),
        IN_DIR(a_log_of_another_time_or_host_is_refused),
        IN_DIR(the_only_voter_with_a_damaged_copy_is_not_sent_to_others),
        IN_DIR(a_replacement_takes_effect_only_when_settled),
        IN_DIR(settling_survives_an_end_at_any_step)
)
