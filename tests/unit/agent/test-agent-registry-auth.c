// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Registries that want to know who asks.
#include "podman-world.h"

#define BOX_WITH_AUTH BOX_OF(DIGEST_1) "RegistryAuth=reg\n"
#define SHOWN(base64) "{\"auths\":{\"reg.example\":{\"auth\":\"" base64 "\"}}}\n"

static void order_with_auth(const char *name, const char *value, uint64_t version, uint64_t revision) {
        Argosy__OrderSecret secret = ARGOSY__ORDER_SECRET__INIT, *secrets[] = {&secret};
        Argosy__SecretValue v = ARGOSY__SECRET_VALUE__INIT, *values[] = {&v};

        secret.name = v.name = (char *) "reg";
        secret.version = v.version = version;
        v.value = (ProtobufCBinaryData){strlen(value), (uint8_t *) value};
        w.secret_values = values;
        w.n_secret_values = *value ? 1 : 0;
        send_order((Order){.name = name,
                           .content = BOX_WITH_AUTH,
                           .revision = revision,
                           .start = revision,
                           .secrets = secrets,
                           .n_secrets = 1});
        w.n_secret_values = 0;
}

static void assert_file_is_gone(const Command *c) {
        assert_non_null(c->auth_path);
        assert_int_equal(access(c->auth_path, F_OK), -1);
}

static void a_pull_shows_its_registry_the_secret_and_leaves_no_file(void **state) {
        Command *pull;

        order_with_auth("box.service", "me:pass", 1, 6);
        make();
        list("");
        pull = pulls(IMAGE_OF(DIGEST_1));
        assert_string_equal(pull->auth, SHOWN("bWU6cGFzcw=="));
        assert_null(strstr(pull->line, "pass"));
        end(pull, 0, "", "");
        loop_until(answered("box.service", 6) && pid1_runs(pid1, "box.service") == 1);
        assert_file_is_gone(pull);
}

static void the_next_pull_shows_the_newest(void **state) {
        Command *pull;

        order_with_auth("box.service", "me:pass", 1, 6);
        make();
        list("");
        pull = pulls(IMAGE_OF(DIGEST_1));
        end(pull, -EIO, "", "Error: unauthorized: authentication required\n");
        loop_until(report_of("box.service") && report_of("box.service")->refused);
        assert_file_is_gone(pull);
        order_with_auth("box.service", "me:right", 2, 7);
        assert_string_equal(pulls(IMAGE_OF(DIGEST_1))->auth, SHOWN("bWU6cmlnaHQ="));
}

static void who_shows_something_else_pulls_by_itself(void **state) {
        order_with_auth("box.service", "me:pass", 1, 6);
        make();
        list("");
        (void) pulls(IMAGE_OF(DIGEST_1));
        order_with_auth("other.service", "me:right", 2, 7);
        make();
        loop_until(n_commands == 3);
        assert_string_equal(commands[2].auth, SHOWN("bWU6cmlnaHQ="));
        order_with_auth("third.service", "me:right", 2, 8);
        make();
        uv_run(&test_loop, UV_RUN_NOWAIT);
        assert_int_equal(n_commands, 3);
}

static void without_a_value_nothing_is_asked(void **state) {
        order_with_auth("box.service", "", 1, 6);
        make();
        list("");
        loop_until(report_of("box.service") && *report_of("box.service")->error);
        assert_string_equal(report_of("box.service")->error,
                            "it waits for its secret reg (version 1), which no leader has sent");
        assert_int_equal(n_commands, 1);
}

static void what_is_no_user_and_password_asks_nobody(void **state) {
        order_with_auth("box.service", "token", 1, 6);
        make();
        list("");
        loop_until(report_of("box.service") && *report_of("box.service")->error);
        assert_string_equal(report_of("box.service")->error,
                            "the secret of its RegistryAuth= is not USER:PASSWORD in one line");
        assert_int_equal(n_commands, 1);
}

static void a_question_shows_the_registry_what_came_with_it(void **state) {
        registry_auth = "me:pass";
        call("reg.example/box:1");
        registry_auth = NULL;
        assert_string_equal(newest("skopeo")->auth, SHOWN("bWU6cGFzcw=="));
        assert_null(strstr(newest("skopeo")->line, "pass"));
        end(newest("skopeo"), -EIO, "", "level=fatal msg=\"unauthorized: authentication required\"\n");
        assert_file_is_gone(&commands[0]);
        assert_string_equal(w.call_reply->call_reply->image->error,
                            "unauthorized: authentication required; it was shown the secret that "
                            "RegistryAuth= names");
        assert_false(w.call_reply->call_reply->image->here);
}

static void a_bad_secret_is_told_and_no_other_host_asks(void **state) {
        registry_auth = "token";
        call("reg.example/box:1");
        registry_auth = NULL;
        assert_int_equal(n_commands, 0);
        assert_string_equal(w.call_reply->call_reply->image->error,
                            "the secret of its RegistryAuth= is not USER:PASSWORD in one line");
        assert_false(w.call_reply->call_reply->image->here);
}

RUN_TESTS(
        CASE(a_pull_shows_its_registry_the_secret_and_leaves_no_file),
        CASE(the_next_pull_shows_the_newest),
        CASE(who_shows_something_else_pulls_by_itself),
        CASE(without_a_value_nothing_is_asked),
        CASE(what_is_no_user_and_password_asks_nobody),
        CASE(a_question_shows_the_registry_what_came_with_it),
        CASE(a_bad_secret_is_told_and_no_other_host_asks)
)
