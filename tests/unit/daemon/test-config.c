// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tmpdir.h"

#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "log.h"
#include "str.h"

static void put(const char *root, const char *path, const char *text) {
        _cleanup_free_ char *full = str_printf("%s%s", root, path);

        for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
                *p = 0;
                (void) mkdir(full, 0755);
                *p = '/';
        }
        assert_int_equal(file_replace(AT_FDCWD, full, text, strlen(text), 0644, 0), 0);
}

static int load(const char *root, const char *user_name, Config *ret) {
        _cleanup_free_ char *etc = str_printf("%s/etc/argosy", root),
                            *run = str_printf("%s/run/argosy", root),
                            *usr = str_printf("%s/usr/lib/argosy", root);
        char *dirs[] = {usr, run, etc, NULL};

        return config_load(&(ConfigSource){dirs, user_name}, ret);
}

static const char *label(const Config *c, const char *key) {
        for (size_t i = 0; i < c->n_labels; i++)
                if (streq(c->labels[i]->key, key))
                        return c->labels[i]->value;
        return NULL;
}

static void without_any_file_everything_has_its_default(void **state) {
        _cleanup_(config_done) Config c;

        assert_int_equal(load(*state, NULL, &c), 0);
        assert_int_equal(c.port, ARGOSY_PORT);
        assert_int_equal(c.lease_us, 5000000);
        assert_int_equal(c.check_us, 600000000);
        assert_int_equal(c.election_us, 600000);
        assert_int_equal(c.voters, 3);
        assert_int_equal(c.n_labels, 0);
        assert_true(c.http);
        assert_true(*c.name);
}

static void drop_ins_come_later_in_the_order_of_their_names(void **state) {
        _cleanup_(config_done) Config c;

        put(*state, "/etc/argosy/argosy.conf", "[Node]\nName=a\nPort=1\n");
        put(*state, "/usr/lib/argosy/argosy.conf.d/50-x.conf", "[Node]\nName=b\nPort=2\n");
        put(*state, "/etc/argosy/argosy.conf.d/40-y.conf",
            "[Node]\nName=c\nPort=3\n[Cluster]\nLeaseSec=2500ms\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_string_equal(c.name, "b");
        assert_int_equal(c.port, 2);
        assert_int_equal(c.lease_us, 2500000);
}

static void the_same_name_in_etc_hides_usr_and_dev_null_masks(void **state) {
        _cleanup_free_ char *mask = NULL;
        _cleanup_(config_done) Config c;

        put(*state, "/usr/lib/argosy/argosy.conf.d/a.conf", "[Node]\nPort=2\n");
        put(*state, "/etc/argosy/argosy.conf.d/a.conf", "[Node]\nName=etc\n");
        put(*state, "/usr/lib/argosy/argosy.conf.d/b.conf", "[Node]\nPort=9\n");
        mask = str_printf("%s/etc/argosy/argosy.conf.d/b.conf", (char *) *state);
        assert_int_equal(symlink("/dev/null", mask), 0);
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_string_equal(c.name, "etc");
        assert_int_equal(c.port, ARGOSY_PORT);
}

static void of_several_main_files_the_last_directory_s_counts_unless_masked(void **state) {
        _cleanup_free_ char *mask = str_printf("%s/etc/argosy/argosy.conf", (char *) *state);
        Config c;

        put(*state, "/usr/lib/argosy/argosy.conf", "[Node]\nName=usr\nPort=2\n");
        put(*state, "/etc/argosy/argosy.conf", "[Node]\nName=etc\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_string_equal(c.name, "etc");
        assert_int_equal(c.port, ARGOSY_PORT);
        config_done(&c);
        assert_int_equal(unlink(mask), 0);
        assert_int_equal(symlink("/dev/null", mask), 0);
        put(*state, "/etc/argosy/argosy.conf.d/a.conf", "[Node]\nPort=3\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_string_not_equal(c.name, "usr");
        assert_int_equal(c.port, 3);
        config_done(&c);
}

static void a_name_has_small_letters(void **state) {
        _cleanup_(config_done) Config c;

        put(*state, "/etc/argosy/argosy.conf", "[Node]\nName=Web-1.Example\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_string_equal(c.name, "web-1.example");
}

static void a_user_s_daemon_has_its_name_and_no_fixed_port(void **state) {
        char host[256] = "", expected[300];
        Config c;

        assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
        str_lower(host);
        assert_int_equal(load(*state, "ann", &c), 0);
        snprintf(expected, sizeof(expected), "%s-ann", host);
        assert_string_equal(c.name, expected);
        assert_int_equal(c.port, 0);
        config_done(&c);
        assert_int_equal(load(*state, "DOMAIN\\ann", &c), 0);
        snprintf(expected, sizeof(expected), "%s-%u", host, (unsigned) getuid());
        assert_string_equal(c.name, expected);
        config_done(&c);
        assert_int_equal(load(*state, "a-name-of-thirty-one-characters", &c), 0);
        assert_true(strlen(c.name) <= 63); // longer names cannot join
        assert_non_null(strstr(c.name, "-a-name-of-thirty-one-characters"));
        config_done(&c);
        assert_int_equal(load(*state, "a-name-of-more-than-thirty-one-characters", &c), 0);
        assert_string_equal(c.name, expected);
        config_done(&c);
        put(*state, "/etc/argosy/argosy.conf", "[Node]\nName=x\nPort=77\nPort=\n");
        assert_int_equal(load(*state, "ann", &c), 0);
        assert_string_equal(c.name, "x");
        assert_int_equal(c.port, 0);
        config_done(&c);
}

static void labels_accumulate_replace_and_reset(void **state) {
        _cleanup_(config_done) Config c;

        put(*state, "/etc/argosy/argosy.conf",
            "[Node]\nLabels=old=1\nLabels=\nLabels=rack=a zone=x \\\n   disk=ssd\nLabels=rack=b\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_int_equal(c.n_labels, 3);
        assert_string_equal(label(&c, "rack"), "b");
        assert_string_equal(label(&c, "disk"), "ssd");
        assert_null(label(&c, "old"));
}

static void whether_somebody_said_how_many_vote_is_known(void **state) {
        Config c;

        put(*state, "/etc/argosy/argosy.conf", "[Cluster]\nVoters=3\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_true(c.voters_given);
        config_done(&c);
        put(*state, "/etc/argosy/argosy.conf.d/a.conf", "[Cluster]\nVoters=\n"); // the default again
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_false(c.voters_given);
        config_done(&c);
}

static void what_cannot_be_is_skipped_and_the_rest_taken(void **state) {
        _cleanup_(config_done) Config c;

        put(*state, "/etc/argosy/argosy.conf",
            "Port=5\n[Node]\nPort=-1\nPort=65536\nPort=x\nAddress=fe80::1\nLabels=ok=1 no!=2 "
            "plain\nColour=red\nnonsense\n[Cluster]\nVoters=2\n"
            "ElectionTimeoutSec=1ms\nLeaseSec=3\nHeartbeatSec=2\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_int_equal(c.port, ARGOSY_PORT);
        assert_string_equal(c.address, "");
        assert_int_equal(c.n_labels, 1);
        assert_int_equal(c.voters, 3);
        assert_false(c.voters_given);
        assert_int_equal(c.election_us, 600000);
        assert_int_equal(c.heartbeat_us, 750000); // at most half of the lease
}

static void http_is_answered_on_its_socket_or_nowhere(void **state) {
        Config c;

        put(*state, "/etc/argosy/argosy.conf", "[Http]\nListen=none\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_false(c.http);
        config_done(&c);
        // is no value, and left out
        put(*state, "/etc/argosy/argosy.conf.d/a.conf", "[Http]\nListen=localhost:80\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_false(c.http);
        assert_int_equal(c.http_listen.n, 0);
        config_done(&c);
        put(*state, "/etc/argosy/argosy.conf.d/a.conf", "[Http]\nListen=\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_true(c.http);
        config_done(&c);
}

static void the_api_of_fleet_is_where_somebody_said(void **state) {
        Config c;

        assert_int_equal(load(*state, NULL, &c), 0);
        assert_string_equal(c.fleet, "");
        config_done(&c);
        put(*state, "/etc/argosy/argosy.conf", "[Fleet]\nListen=/run/argosy/fleet.sock\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_string_equal(c.fleet, "/run/argosy/fleet.sock");
        assert_int_equal(c.fleet_listen.n, 0);
        config_done(&c);
        put(*state, "/etc/argosy/argosy.conf",
            "[Fleet]\nListen=/a 10.0.0.1:80 /b\nListen=10.0.0.1:80 nothing [::1]:80\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_string_equal(c.fleet, "/b");
        assert_int_equal(c.fleet_listen.n, 2);
        assert_string_equal(c.fleet_listen.list[1].text, "[::1]:80");
        config_done(&c);
        put(*state, "/etc/argosy/argosy.conf.d/a.conf", "[Fleet]\nListen=\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_string_equal(c.fleet, "");
        assert_int_equal(c.fleet_listen.n, 0);
        config_done(&c);
}

static void fleet_s_directory_has_no_slash_at_its_end(void **state) {
        Config c;

        put(*state, "/etc/argosy/argosy.conf",
            "[Fleet]\nTakeOver=/run/fleet/units//\nTakeOver=run\nTakeOver=/\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_string_equal(c.fleet_take_over, "/run/fleet/units");
        config_done(&c);
        put(*state, "/etc/argosy/argosy.conf.d/a.conf", "[Fleet]\nTakeOver=\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_string_equal(c.fleet_take_over, "");
        config_done(&c);
}

static void http_over_tcp_is_what_was_asked_for(void **state) {
        Config c;

        assert_int_equal(load(*state, NULL, &c), 0);
        assert_int_equal(c.http_listen.n, 0);
        assert_true(c.http_tls);
        assert_null(c.http_names);
        assert_null(c.http_proxies);
        config_done(&c);
        put(*state, "/etc/argosy/argosy.conf",
            "[Http]\nListen=127.0.0.1:80 127.0.0.1:80 bad\nListen=[::1]:0080\nNames=A.example "
            "x/y\nNames=[::1]\n"
            "Certificate=/a\nKey=b\nTrustedProxy=127.0.0.1 0.0.0.0/0 "
            "proxy.example\nTrustedProxy=10.0.0.0/8\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_true(c.http);
        assert_int_equal(c.http_listen.n, 2);
        assert_string_equal(c.http_listen.list[0].text, "127.0.0.1:80");
        assert_string_equal(c.http_listen.list[1].text, "[::1]:80");
        assert_int_equal(c.http_names->n, 2);
        assert_string_equal(c.http_names->names[0].text, "::1");
        assert_string_equal(c.http_names->names[1].text, "a.example");
        assert_int_equal(c.http_proxies->n, 2);
        assert_int_equal(c.http_proxies->list[1].bits, 8);
        assert_string_equal(c.http_certificate, "/a");
        assert_string_equal(c.http_key, "");
        config_done(&c);
        put(*state, "/etc/argosy/argosy.conf.d/a.conf",
            "[Http]\nListen=none\nListen=10.0.0.1:80\nNames=\nTrustedProxy=\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        assert_false(c.http);
        assert_int_equal(c.http_listen.n, 1);
        assert_null(c.http_names);
        assert_null(c.http_proxies);
        config_done(&c);
}

static void clear_text_stays_on_loopback(void **state) {
        Config c;

        put(*state, "/etc/argosy/argosy.conf",
            "[Http]\nListen=127.0.0.1:80 [::1]:80 10.0.0.1:80 0.0.0.0:81 [::]:82\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        for (size_t i = 0; i < 5; i++)
                assert_true(config_http_has_tls(&c, &c.http_listen.list[i]));
        config_done(&c);
        put(*state, "/etc/argosy/argosy.conf.d/a.conf", "[Http]\nTls=no\n");
        assert_int_equal(load(*state, NULL, &c), 0);
        for (size_t i = 0; i < 5; i++)
                assert_int_equal(config_http_has_tls(&c, &c.http_listen.list[i]), i >= 2);
        config_done(&c);
}

// One line for each key: another value than its default, and whether argosyd goes on with what it was.
static const struct {
        const char *section, *key, *value;
        bool from_restart;
} changes[] = {
        {"Node", "Name", "other", true},
        {"Node", "Address", "192.0.2.9", false},
        {"Node", "Port", "4711", true},
        {"Node", "Labels", "rack=b", false},
        {"Node", "Managers", "user@1000", false},
        {"Node", "CheckSec", "5min", true},
        {"Node", "StopWhenRemoved", "no", false},
        {"Node", "KeepCPUPercent", "1", false},
        {"Node", "KeepMemoryPercent", "1", false},
        {"Node", "OvercommitCPUPercent", "200", false},
        {"Node", "OvercommitMemoryPercent", "200", false},
        {"Cluster", "LeaseSec", "7", true},
        {"Cluster", "HeartbeatSec", "2", true},
        {"Cluster", "ElectionTimeoutSec", "1", true},
        {"Cluster", "Voters", "5", false},
        {"Cluster", "MassLossPercent", "60", true},
        {"Cluster", "EventsMiB", "17", true},
        {"Http", "Listen", "127.0.0.1:80", true},
        {"Http", "Names", "b.example.org", false},
        {"Http", "TrustedProxy", "127.0.0.1", false},
        {"Http", "Tls", "no", true},
        {"Http", "Certificate", "/etc/c", false},
        {"Http", "Key", "/etc/k", false},
        {"Fleet", "Listen", "/run/argosy/fleet.sock", true},
        {"Fleet", "TakeOver", "/run/fleet/units", false},
        {"Log", "Level", "7", false},
};

// Each line of the description but those of sections and of help is a key's.
static size_t n_keys(void) {
        _cleanup_free_ char *text = config_describe(false);
        size_t n = 0;

        for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
             line = strtok_r(NULL, "\n", &save))
                n += strncmp(line, "    ", 4) == 0 && line[4] != ' ';
        return n;
}

static void each_key_is_taken_over_or_named(void **state) {
        Config running, next;

        assert_int_equal(n_keys(), ELEMENTSOF(changes));
        assert_int_equal(load(*state, NULL, &running), 0);
        for (size_t i = 0; i < ELEMENTSOF(changes); i++) {
                _cleanup_free_ char *text = str_printf("[%s]\n%s=%s\n", changes[i].section, changes[i].key,
                                                       changes[i].value),
                                    *named = str_printf("%s= in [%s]", changes[i].key, changes[i].section),
                                    *said = NULL, *again = NULL;

                put(*state, "/etc/argosy/argosy.conf", text);
                assert_int_equal(load(*state, NULL, &next), 0);
                said = config_keep_running(&next, &running);
                assert_string_equal(said, changes[i].from_restart ? named : "");
                if (!changes[i].from_restart) {
                        config_done(&next);
                        continue;
                }
                // `next` goes on as it was, and what was to come is in the other one: exchanged once more
                again = config_keep_running(&running, &next);
                assert_string_equal(again, named);
                config_done(&next);
        }
        config_done(&running);
}

static void what_argosyd_was_started_with_goes_on(void **state) {
        _cleanup_free_ char *said = NULL;
        _cleanup_(config_done) Config running, next;

        put(*state, "/etc/argosy/argosy.conf",
            "[Cluster]\nLeaseSec=4\n[Http]\nListen=127.0.0.1:80\nNames=a\n");
        assert_int_equal(load(*state, NULL, &running), 0);
        put(*state, "/etc/argosy/argosy.conf",
            "[Cluster]\nLeaseSec=9\n[Http]\nListen=none 127.0.0.1:81\nNames=b\n[Log]\nLevel=7\n");
        assert_int_equal(load(*state, NULL, &next), 0);
        said = config_keep_running(&next, &running);
        assert_string_equal(said, "LeaseSec= in [Cluster], Listen= in [Http]");
        assert_int_equal(next.lease_us, 4000000);
        assert_true(next.http);
        assert_string_equal(next.http_listen.list[0].text, "127.0.0.1:80");
        assert_int_equal(next.log_level, 7);
}

static void help_names_every_key(void **state) {
        static const char *const keys[] = {"Name=",
                                           "Address=",
                                           "Port=7867",
                                           "Labels=",
                                           "LeaseSec=5",
                                           "HeartbeatSec=1",
                                           "ElectionTimeoutSec=0.6",
                                           "Voters=3"};
        _cleanup_free_ char *text = config_describe(false);

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                assert_non_null(strstr(text, keys[i]));
}

int main(void) {
#define IN_DIR(f) cmocka_unit_test_setup_teardown(f, tmpdir_make, tmpdir_drop)
        const struct CMUnitTest tests[] = {
                IN_DIR(without_any_file_everything_has_its_default),
                IN_DIR(drop_ins_come_later_in_the_order_of_their_names),
                IN_DIR(the_same_name_in_etc_hides_usr_and_dev_null_masks),
                IN_DIR(of_several_main_files_the_last_directory_s_counts_unless_masked),
                IN_DIR(a_name_has_small_letters),
                IN_DIR(a_user_s_daemon_has_its_name_and_no_fixed_port),
                IN_DIR(labels_accumulate_replace_and_reset),
                IN_DIR(whether_somebody_said_how_many_vote_is_known),
                IN_DIR(what_cannot_be_is_skipped_and_the_rest_taken),
                IN_DIR(http_is_answered_on_its_socket_or_nowhere),
                IN_DIR(the_api_of_fleet_is_where_somebody_said),
                IN_DIR(fleet_s_directory_has_no_slash_at_its_end),
                IN_DIR(http_over_tcp_is_what_was_asked_for),
                IN_DIR(clear_text_stays_on_loopback),
                IN_DIR(each_key_is_taken_over_or_named),
                IN_DIR(what_argosyd_was_started_with_goes_on),
                cmocka_unit_test(help_names_every_key),
        };

        log_set_level(-1);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
