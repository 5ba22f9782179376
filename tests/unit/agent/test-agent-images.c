// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is pulled before a container starts, or stops for new content; and what the leader is told of a tag.
// The test is podman's generator, podman, skopeo and the registry.
#include <errno.h>

#include "agent-world.h"

#include "fileio.h"
#include "quadlet.h"
#include "str.h"
#include "transient-command.h"
#include "unit-verifier.h"

#define DIGEST_1 "sha256:1111111111111111111111111111111111111111111111111111111111111111"
#define DIGEST_2 "sha256:2222222222222222222222222222222222222222222222222222222222222222"
#define BOX_OF(digest)                               \
        "[Container]\nImage=reg.example/box:1\n\n# " \
        "box.container.d/~0-image.conf\n[X-Argosy]\nImagePin=reg.example/box:1@" digest "\n"
#define IMAGE_OF(digest) "reg.example/box@" digest

// ---- the generator makes of each container what starts /bin/box

typeof(unit_verifier_new) __wrap_unit_verifier_new; // the compiler compares them
typeof(unit_verifier_ask) __wrap_unit_verifier_ask;
typeof(unit_verifier_ask_podman) __wrap_unit_verifier_ask_podman;
typeof(unit_verifier_cancel) __wrap_unit_verifier_cancel;
typeof(unit_verifier_close) __wrap_unit_verifier_close;

static struct {
        UnitVerified *done;
        void *userdata;
        Hash content;
        uint64_t number;
} generator;

int __wrap_unit_verifier_new(uv_loop_t *loop, const char *const *command, UnitVerifier **ret) {
        *ret = (UnitVerifier *) &generator;
        return 0;
}

int __wrap_unit_verifier_ask(UnitVerifier *v, const UnitAnalysisFile *files, size_t n, bool user,
                             unsigned patience_ms, UnitVerified *done, void *userdata, uint64_t *ret) {
        generator.done = done;
        generator.userdata = userdata;
        generator.content = hash_of(files[0].content, files[0].len);
        *ret = ++generator.number;
        return 0;
}

int __wrap_unit_verifier_ask_podman(UnitVerifier *v, unsigned patience_ms, UnitVerified *done,
                                    void *userdata, uint64_t *ret) {
        return -EALREADY;
}

void *__wrap_unit_verifier_cancel(UnitVerifier *v, uint64_t number) {
        generator.done = NULL;
        return generator.userdata;
}

void __wrap_unit_verifier_close(UnitVerifier *v, void (*closed)(void *userdata), void *userdata) {
        closed(userdata);
}

static void make(void) {
        static const char unit[] = "[Service]\nExecStart=/bin/box\n";
        UnitFindings findings = {};
        Buf made = {};
        UnitVerified *done;

        loop_until(generator.done);
        done = generator.done;
        generator.done = NULL;
        assert_int_equal(quadlet_made_compose(&generator.content, "5.4", unit, strlen(unit), &made), 0);
        done(0,
             &(UnitVerdict){.systemd = "systemd 257",
                            .podman = "5.4",
                            .findings = &findings,
                            .made = &made,
                            .n = 1},
             generator.userdata);
        buf_done(&made);
}

// ---- commands, of which the newest may be answered

typedef struct Command {
        char *line; // its words; NULL: it has ended
        TransientDone *done;
        void *userdata;
} Command;

static Command commands[16];
static size_t n_commands;

typeof(transient_command_start) __wrap_transient_command_start;
typeof(transient_command_cancel) __wrap_transient_command_cancel;

int __wrap_transient_command_start(const TransientConfig *config, TransientDone *done, void *userdata,
                                   TransientCommand **ret) {
        Command *c = &commands[n_commands++];
        _cleanup_buf_ Buf line = {};

        assert_true(n_commands < ELEMENTSOF(commands));
        for (size_t i = 0; config->args[i]; i++)
                assert_int_equal(buf_printf(&line, "%s%s", i ? " " : "", config->args[i]), 0);
        *c = (Command){.line = buf_take_string(&line), .done = done, .userdata = userdata};
        *ret = (TransientCommand *) c;
        return 0;
}

void __wrap_transient_command_cancel(TransientCommand *command, void (*closed)(void *userdata),
                                     void *userdata) {
        Command *c = (Command *) command;

        free(TAKE_PTR(c->line));
        closed(userdata);
}

static Command *newest(const char *words) {
        Command *c = n_commands > 0 ? &commands[n_commands - 1] : NULL;

        return c && c->line && strstr(c->line, words) ? c : NULL;
}

static void end(Command *c, int result, const char *output, const char *said) {
        const Buf out = {.data = (uint8_t *) output, .len = strlen(output)},
                  err = {.data = (uint8_t *) said, .len = strlen(said)};

        free(TAKE_PTR(c->line));
        c->done(result, &out, &err, c->userdata);
}

static char *store; // the list of images

// podman has these: names, with line ends.
static void list(const char *names) {
        _cleanup_free_ char *output = str_printf("%s\n%s", store, names);

        loop_until(newest("podman images"));
        end(newest("podman images"), 0, output, "");
}

static Command *pulls(const char *image) {
        _cleanup_free_ char *words = str_printf("pull --quiet %s", image);

        loop_until(newest(words));
        return newest(words);
}

// ---- the tests

static int images_up(void **state) {
        memset(&generator, 0, sizeof(generator));
        memset(commands, 0, sizeof(commands));
        n_commands = 0;
        rig_up();
        w.verifies = true;
        store = str_printf("%s/images.json", w.dir);
        assert_int_equal(file_replace(AT_FDCWD, store, "[]", 2, 0644, 0), 0);
        pid1 = pid1_new(w.unit_dir);
        agent_up();
        meet_leader(NULL, 0);
        return 0;
}

static int images_down(void **state) {
        int r = world_down(state);

        free(TAKE_PTR(store));
        for (size_t i = 0; i < n_commands; i++)
                free(commands[i].line);
        return r;
}

static void order(const char *name, const char *content, uint64_t revision) {
        send_order((Order){.name = name, .content = content, .revision = revision, .start = revision});
}

static void start_box(void) {
        order("box.service", BOX_OF(DIGEST_1), 6);
        make();
        list("reg.example/box:1\n" IMAGE_OF(DIGEST_1) "\n");
        loop_until(answered("box.service", 6) && pid1_runs(pid1, "box.service") == 1);
}

static void what_is_here_is_not_pulled(void **state) {
        start_box();
        assert_int_equal(n_commands, 1);
}

static void what_is_missing_is_pulled_before_the_start(void **state) {
        order("box.service", BOX_OF(DIGEST_1), 6);
        make();
        list("");
        (void) pulls(IMAGE_OF(DIGEST_1));
        loop_until(report_of("box.service") && report_of("box.service")->pulling);
        assert_int_equal(pid1_runs(pid1, "box.service"), 0);
        end(pulls(IMAGE_OF(DIGEST_1)), 0, "", "");
        loop_until(answered("box.service", 6) && pid1_runs(pid1, "box.service") == 1);
        assert_string_equal(report_of("box.service")->error, "");
        assert_false(report_of("box.service")->pulling);
        assert_int_equal(n_commands, 2);
}

static void new_content_is_pulled_before_anything_stops(void **state) {
        start_box();
        order("box.service", BOX_OF(DIGEST_2), 7);
        make();
        (void) pulls(IMAGE_OF(DIGEST_2)); // the store is as it was: nobody lists it again
        assert_true(pid1_is_active(pid1, "box.service"));
        assert_int_equal(pid1_runs(pid1, "box.service"), 1);
        end(pulls(IMAGE_OF(DIGEST_2)), 0, "", "");
        loop_until(answered("box.service", 7) && pid1_runs(pid1, "box.service") == 2);
}

static void a_pull_that_fails_stops_nothing(void **state) {
        start_box();
        order("box.service", BOX_OF(DIGEST_2), 7);
        make();
        end(pulls(IMAGE_OF(DIGEST_2)), -EIO, "",
            "Trying to pull\nError: initializing source: dial tcp: connection refused\n");
        loop_until(*report_of("box.service")->error);
        assert_string_equal(
                report_of("box.service")->error,
                "pulling " IMAGE_OF(DIGEST_2) ": initializing source: dial tcp: connection refused");
        assert_false(report_of("box.service")->refused);
        assert_true(pid1_is_active(pid1, "box.service"));
        assert_int_equal(pid1_runs(pid1, "box.service"), 1);
        loop_until(newest("pull")); // it is tried again
}

static void what_the_registry_has_lost_is_refused(void **state) {
        order("box.service", BOX_OF(DIGEST_1), 6);
        make();
        list("");
        end(pulls(IMAGE_OF(DIGEST_1)), -EIO, "",
            "Error: reading manifest " DIGEST_1 " in reg.example/box: manifest unknown\n");
        loop_until(report_of("box.service") && report_of("box.service")->refused);
        assert_non_null(strstr(report_of("box.service")->error, "manifest unknown"));
}

static void two_units_of_an_image_pull_once(void **state) {
        order("box.service", BOX_OF(DIGEST_1), 6);
        make();
        list("");
        (void) pulls(IMAGE_OF(DIGEST_1));
        order("other.service", BOX_OF(DIGEST_1), 7);
        make();
        uv_run(&test_loop, UV_RUN_NOWAIT);
        end(pulls(IMAGE_OF(DIGEST_1)), 0, "", "");
        loop_until(answered("box.service", 6) && answered("other.service", 7));
        assert_int_equal(n_commands, 2);
}

static void a_stop_ends_the_pull(void **state) {
        Command *pull;

        order("box.service", BOX_OF(DIGEST_1), 6);
        make();
        list("");
        pull = pulls(IMAGE_OF(DIGEST_1));
        send_order((Order){.name = "box.service", .remove = true, .revision = 7});
        loop_until(!pull->line);
        assert_int_equal(pid1_runs(pid1, "box.service"), 0);
}

static void what_somebody_removed_is_pulled_again(void **state) {
        start_box();
        assert_int_equal(file_replace(AT_FDCWD, store, "[1]", 3, 0644, 0), 0);
        send_order((Order){.name = "box.service",
                           .content = BOX_OF(DIGEST_1),
                           .revision = 7,
                           .start = 6,
                           .restart = 7});
        list("");
        end(pulls(IMAGE_OF(DIGEST_1)), 0, "", "");
        loop_until(answered("box.service", 7) && pid1_runs(pid1, "box.service") == 2);
}

static void what_podman_cannot_list_is_pulled(void **state) {
        order("box.service", BOX_OF(DIGEST_1), 6);
        make();
        loop_until(newest("podman images"));
        end(newest("podman images"), -EIO, "", "Error: no store\n");
        end(pulls(IMAGE_OF(DIGEST_1)), 0, "", "");
        loop_until(answered("box.service", 6) && pid1_runs(pid1, "box.service") == 1);
}

// ---- tags

static void call(const char *image) {
        Argosy__ToHost__Call c = ARGOSY__TO_HOST__CALL__INIT;
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;

        c.id = 9;
        c.image = (char *) image;
        m.msg_case = ARGOSY__TO_HOST__MSG_CALL;
        m.call = &c;
        agent_on_message(w.agent, &m);
}

static const Argosy__ToVoter__ImageAnswer *answer_of(int result, const char *output, const char *said) {
        call("reg.example/box:1");
        assert_string_equal(newest("skopeo")->line,
                            "/usr/bin/skopeo inspect --raw docker://reg.example/box:1");
        end(newest("skopeo"), result, output, said);
        assert_non_null(w.call_reply);
        assert_int_equal(w.call_reply->call_reply->id, 9);
        return w.call_reply->call_reply->image;
}

static void a_tag_has_the_digest_of_what_the_registry_sends(void **state) {
        static const char index[] = "{\"schemaVersion\":2,\"manifests\":[]}";
        char digest[7 + HASH_HEX_SIZE] = "sha256:";
        Hash hash = hash_of(index, strlen(index));

        hash_hex(&hash, HASH_SIZE, digest + 7);
        assert_string_equal(answer_of(0, index, "")->digest, digest);
}

static void what_is_no_manifest_has_none(void **state) {
        const Argosy__ToVoter__ImageAnswer *a = answer_of(0, "<html>", "");

        assert_string_equal(a->digest, "");
        assert_string_equal(a->error, "what the registry sent is no manifest");
        assert_false(a->here);
}

static void a_registry_that_refuses_is_quoted(void **state) {
        const Argosy__ToVoter__ImageAnswer *a =
                answer_of(-EIO, "",
                          "time=\"2026-01-02\" level=fatal msg=\"Error parsing image name "
                          "\\\"docker://x\\\": unauthorized\"\n");

        assert_string_equal(a->error, "parsing image name \"docker://x\": unauthorized");
        assert_false(a->here);
}

static void a_registry_that_is_not_reached_may_be_by_another_host(void **state) {
        const Argosy__ToVoter__ImageAnswer *a =
                answer_of(-EIO, "", "level=fatal msg=\"dial tcp: connection refused\"\n");

        assert_string_equal(a->error, "dial tcp: connection refused");
        assert_true(a->here);
}

static void a_registry_that_hangs_is_named_so(void **state) {
        assert_string_equal(answer_of(-ETIMEDOUT, "", "")->error, "the registry does not answer");
        assert_string_equal(answer_of(-EFBIG, "", "")->error,
                            "the manifest that the registry sent is longer than 1 MiB");
}

static void a_question_that_is_over_ends_its_command(void **state) {
        Argosy__ToHost__CallCancel c = ARGOSY__TO_HOST__CALL_CANCEL__INIT;
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;

        call("reg.example/box:1");
        c.id = 9;
        m.msg_case = ARGOSY__TO_HOST__MSG_CALL_CANCEL;
        m.call_cancel = &c;
        agent_on_message(w.agent, &m);
        assert_null(commands[0].line);
        assert_null(w.call_reply);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, images_up, images_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                CASE(what_is_here_is_not_pulled),
                CASE(what_is_missing_is_pulled_before_the_start),
                CASE(new_content_is_pulled_before_anything_stops),
                CASE(a_pull_that_fails_stops_nothing),
                CASE(what_the_registry_has_lost_is_refused),
                CASE(two_units_of_an_image_pull_once),
                CASE(a_stop_ends_the_pull),
                CASE(what_somebody_removed_is_pulled_again),
                CASE(what_podman_cannot_list_is_pulled),
                CASE(a_tag_has_the_digest_of_what_the_registry_sends),
                CASE(what_is_no_manifest_has_none),
                CASE(a_registry_that_refuses_is_quoted),
                CASE(a_registry_that_is_not_reached_may_be_by_another_host),
                CASE(a_registry_that_hangs_is_named_so),
                CASE(a_question_that_is_over_ends_its_command),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
