// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is pulled before a container starts, or stops for new content; and what the leader is told of a tag.
// The test is podman's generator, podman, skopeo and the registry.
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent-private.h"
#include "agent-world.h"
#include "disk-room.h"

#include "fileio.h"
#include "messages.h"
#include "quadlet.h"
#include "str.h"
#include "transient-command.h"
#include "unit-verifier.h"

#define DIGEST_1 "sha256:1111111111111111111111111111111111111111111111111111111111111111"
#define DIGEST_2 "sha256:2222222222222222222222222222222222222222222222222222222222222222"
#define DIGEST_3 "sha256:3333333333333333333333333333333333333333333333333333333333333333"
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

typedef struct Question {
        UnitVerified *done;
        void *userdata;
        Hash content;
        uint64_t number;
} Question;

static struct {
        Question questions[4]; // the oldest is answered first
        size_t n;
        uint64_t number; // of the newest ever
} generator;

int __wrap_unit_verifier_new(uv_loop_t *loop, const char *const *command, UnitVerifier **ret) {
        *ret = (UnitVerifier *) &generator;
        return 0;
}

int __wrap_unit_verifier_ask(UnitVerifier *v, const UnitAnalysisFile *files, size_t n, bool user,
                             unsigned patience_ms, UnitVerified *done, void *userdata, uint64_t *ret) {
        assert_true(generator.n < ELEMENTSOF(generator.questions));
        *ret = ++generator.number;
        generator.questions[generator.n++] = (Question){.done = done,
                                                        .userdata = userdata,
                                                        .content = hash_of(files[0].content, files[0].len),
                                                        .number = *ret};
        return 0;
}

int __wrap_unit_verifier_ask_podman(UnitVerifier *v, unsigned patience_ms, UnitVerified *done,
                                    void *userdata, uint64_t *ret) {
        return -EALREADY;
}

static Question take_question(size_t i) {
        Question q = generator.questions[i];

        generator.n--;
        memmove(&generator.questions[i], &generator.questions[i + 1], (generator.n - i) * sizeof(q));
        return q;
}

void *__wrap_unit_verifier_cancel(UnitVerifier *v, uint64_t number) {
        size_t i = 0;

        while (i < generator.n && generator.questions[i].number != number)
                i++;
        assert_true(i < generator.n);
        return take_question(i).userdata;
}

void __wrap_unit_verifier_close(UnitVerifier *v, void (*closed)(void *userdata), void *userdata) {
        closed(userdata);
}

#define MADE "[Service]\nExecStart=/bin/box\n"

// `beside`: the text of data-volume.service, which it needs; NULL: none.
static void make_as(const char *unit, const char *beside) {
        UnitFindings findings = {};
        Buf made = {};
        Question q;

        loop_until(generator.n > 0);
        q = take_question(0);
        assert_int_equal(quadlet_made_compose(&q.content, "5.4", unit, strlen(unit), &made), 0);
        if (beside) {
                _cleanup_buf_ Buf composed = {};

                assert_int_equal(
                        quadlet_made_compose(&q.content, "5.4", beside, strlen(beside), &composed),
                        0);
                assert_int_equal(quadlet_made_add(&made, "data-volume.service", composed.data, composed.len),
                                 0);
        }
        q.done(0,
               &(UnitVerdict){.systemd = "systemd 257",
                              .podman = "5.4",
                              .findings = &findings,
                              .made = &made,
                              .n = 1},
               q.userdata);
        buf_done(&made);
}

static void make_with(const char *beside) {
        make_as(MADE, beside);
}

static void make(void) {
        make_with(NULL);
}

// ---- commands, of which the newest may be answered

typedef struct Command {
        char *line;     // its words; NULL: it has ended
        char auth[128]; // the file that shows its registry who asks, as it was then, and its path
        char *auth_path;
        TransientDone *done;
        void *userdata;
} Command;

static Command commands[16];
static size_t n_commands;

typeof(transient_command_start) __wrap_transient_command_start;
typeof(transient_command_cancel) __wrap_transient_command_cancel;

static void read_auth(Command *c, const char *word) {
        _cleanup_buf_ Buf text = {};
        struct stat st;

        if (!str_has_prefix(word, "REGISTRY_AUTH_FILE="))
                return;
        c->auth_path = strdup(strchr(word, '=') + 1);
        assert_int_equal(stat(c->auth_path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(file_read(AT_FDCWD, c->auth_path, sizeof(c->auth) - 1, &text), 0);
        memcpy(c->auth, text.data, text.len);
}

int __wrap_transient_command_start(const TransientConfig *config, TransientDone *done, void *userdata,
                                   TransientCommand **ret) {
        Command *c = &commands[n_commands++];
        _cleanup_buf_ Buf line = {};

        assert_true(n_commands < ELEMENTSOF(commands));
        for (size_t i = 0; config->args[i]; i++)
                assert_int_equal(buf_printf(&line, "%s%s", i ? " " : "", config->args[i]), 0);
        *c = (Command){.line = buf_take_string(&line), .done = done, .userdata = userdata};
        for (size_t i = 0; config->environment && config->environment[i]; i++)
                read_auth(c, config->environment[i]);
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

// It is asked for names of containers, and then for images.
static void fail_to_list(void) {
        for (int i = 0; i < 2; i++) {
                loop_until(newest("podman images"));
                end(newest("podman images"), -EIO, "", "Error: no store\n");
        }
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
        w.secrets_dir = str_printf("%s/secrets", w.dir);
        assert_int_equal(mkdir(w.secrets_dir, 0755), 0);
        store = str_printf("%s/images.json", w.dir);
        assert_int_equal(file_replace(AT_FDCWD, store, "[]", 2, 0644, 0), 0);
        pid1 = pid1_new(w.unit_dir);
        agent_up();
        meet_leader(NULL, 0);
        return 0;
}

static int images_down(void **state) {
        disk_room_free = 1000000;
        int r = world_down(state);

        free(TAKE_PTR(store));
        free((char *) w.secrets_dir);
        w.secrets_dir = NULL;
        for (size_t i = 0; i < n_commands; i++) {
                free(commands[i].line);
                free(commands[i].auth_path);
        }
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
        fail_to_list();
        end(pulls(IMAGE_OF(DIGEST_1)), 0, "", "");
        loop_until(answered("box.service", 6) && pid1_runs(pid1, "box.service") == 1);
}

static void what_is_to_come_is_pulled_while_it_is_down(void **state) {
        send_order((Order){
                .name = "box.service", .content = BOX_OF(DIGEST_1), .loaded_only = true, .stay = true});
        make();
        list("");
        end(pulls(IMAGE_OF(DIGEST_1)), 0, "", "");
        loop_until(report_of("box.service") && report_of("box.service")->stays &&
                   report_of("box.service")->spec.len > 0);
        assert_int_equal(pid1_runs(pid1, "box.service"), 0);
        order("box.service", BOX_OF(DIGEST_1), 7);
        loop_until(answered("box.service", 7) && pid1_runs(pid1, "box.service") == 1);
        assert_int_equal(n_commands, 2); // it is known to be here
}

// ---- volumes

#define BOX_WITH_DATA \
        "[Container]\nImage=localhost/box\nVolume=data.volume:/data\n\n# data.volume\n[Volume]\n"
#define MAKES_DATA                                                                      \
        "[Service]\nExecStart=/usr/bin/podman volume create --ignore --opt type=tmpfs " \
        "systemd-data\n"

static Command *inspects(void) {
        loop_until(newest("podman volume inspect"));
        assert_non_null(newest(" systemd-data"));
        return newest("podman volume inspect");
}

static void begin_with_data(void) {
        order("box.service", BOX_WITH_DATA, 6);
        make_with(MAKES_DATA);
        list(""); // for names of containers
}

static void a_volume_that_is_alike_or_not_there_is_taken(void **state) {
        static const char *const seen[] = {"= systemd-data\n", "= systemd-data\nlocal\ntype=tmpfs\n"};

        begin_with_data();
        end(inspects(), 0, seen[0], "");
        loop_until(answered("box.service", 6) && pid1_runs(pid1, "box.service") == 1);
        order("other.service", BOX_WITH_DATA, 7);
        make_with(MAKES_DATA);
        end(inspects(), 0, seen[1], "");
        loop_until(answered("other.service", 7) && pid1_runs(pid1, "other.service") == 1);
}

static void a_volume_of_other_options_refuses_the_unit(void **state) {
        begin_with_data();
        end(inspects(), 0, "= systemd-data\nlocal\n\n", "");
        loop_until(report_of("box.service") && report_of("box.service")->refused);
        assert_string_equal(report_of("box.service")->error,
                            "the volume systemd-data that is there is not that of data.volume: it has "
                            "driver local, and the file says driver local, type=tmpfs");
        assert_int_equal(pid1_runs(pid1, "box.service"), 0);
}

static void a_podman_that_says_nothing_of_volumes_stops_nobody(void **state) {
        begin_with_data();
        end(inspects(), -ETIMEDOUT, "", "");
        loop_until(answered("box.service", 6) && pid1_runs(pid1, "box.service") == 1);
}

static void an_agent_ends_while_volumes_are_looked_at(void **state) {
        begin_with_data();
        (void) inspects();
}

// ---- questions

static const char *registry_auth; // of the next call; NULL: none

static void send_call(const char *image, bool pull) {
        Argosy__SecretValue auth = ARGOSY__SECRET_VALUE__INIT;
        Argosy__ToHost__Call c = MESSAGE_OF(to_host__call, .id = 9, .image = (char *) image, .pull = pull);
        Argosy__ToHost m = TO_HOST_OF(CALL, call, &c);

        if (registry_auth) {
                auth.value = (ProtobufCBinaryData){strlen(registry_auth), (uint8_t *) registry_auth};
                c.registry_auth = &auth;
        }
        agent_on_message(w.agent, &m);
}

static void call(const char *image) {
        send_call(image, false);
}

static void call_to_pull(const char *image) {
        send_call(image, true);
}

// ---- registries that want to know who asks

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

// ---- containers of others under the same name

// podman has a container of that name, in that of its lists.
static void have_container(const char *list_name, const char *container) {
        _cleanup_free_ char *path = str_printf("%s/overlay-containers/%s", w.dir, list_name),
                            *text = str_printf("[{\"id\":\"1\",\"names\":[\"%s\"]}]", container);

        assert_int_equal(file_replace(AT_FDCWD, path, text, strlen(text), 0600, 0), 0);
}

static void make_folder(const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s", w.dir, name);

        assert_int_equal(mkdir(path, 0700), 0);
}

// The lists are where podman has them.
static void move_store(void) {
        free(store);
        store = str_printf("%s/overlay-images/images.json", w.dir);
        make_folder("overlay-images");
        make_folder("overlay-containers");
        assert_int_equal(file_replace(AT_FDCWD, store, "[]", 2, 0644, 0), 0);
        start_box();
}

static void a_container_of_somebody_else_refuses_the_unit(void **state) {
        move_store();
        have_container("containers.json", "systemd-other");
        order("other.service", BOX_OF(DIGEST_1), 7);
        make();
        loop_until(newest("container inspect"));
        assert_non_null(strstr(newest("inspect")->line, " systemd-other"));
        end(newest("inspect"), 0, "<no value>\n", "");
        loop_until(report_of("other.service") && report_of("other.service")->refused);
        assert_string_equal(report_of("other.service")->error,
                            "there is a container systemd-other on this host that is not argosy's (it is "
                            "nobody's unit): podman would replace it");
        assert_int_equal(pid1_runs(pid1, "other.service"), 0);
}

static void what_is_left_of_a_run_of_its_own_is_replaced(void **state) {
        move_store();
        have_container("volatile-containers.json", "systemd-other");
        order("other.service", BOX_OF(DIGEST_1), 7);
        make();
        loop_until(newest("container inspect"));
        end(newest("inspect"), 0, "other.service\n", "");
        loop_until(answered("other.service", 7) && pid1_runs(pid1, "other.service") == 1);
}

static void a_name_that_nobody_has_is_not_asked_about(void **state) {
        move_store();
        have_container("containers.json", "systemd-another");
        order("other.service", BOX_OF(DIGEST_1), 7);
        make();
        loop_until(answered("other.service", 7));
        assert_null(newest("inspect"));
}

static void a_container_that_came_meanwhile_is_not_replaced_by_a_start(void **state) {
        move_store();
        send_order((Order){.name = "box.service",
                           .content = BOX_OF(DIGEST_1),
                           .revision = 7,
                           .start = 6,
                           .stop = 7,
                           .loaded_only = true});
        loop_until(!pid1_is_active(pid1, "box.service"));
        have_container("containers.json", "systemd-box");
        order("box.service", BOX_OF(DIGEST_1), 8);
        loop_until(newest("container inspect"));
        end(newest("inspect"), 0, "web.service\n", "");
        loop_until(*report_of("box.service")->error);
        assert_non_null(strstr(report_of("box.service")->error, "(it is web.service)"));
        assert_int_equal(pid1_runs(pid1, "box.service"), 1);
}

// What the node has looked at is known until the start, though the unit is ordered nothing.
static void what_was_stopped_with_another_is_looked_at_once_and_started(void **state) {
        start_box();
        order("side.service", BOX_OF(DIGEST_1), 7);
        make_as("[Unit]\nRequires=box.service\n" MADE, NULL);
        loop_until(answered("side.service", 7) && pid1_runs(pid1, "side.service") == 1);
        assert_null(agent_unit_find(w.agent->system, "side.service")->work);
        order("box.service", BOX_OF(DIGEST_1) "# another\n", 8);
        make();
        loop_until(answered("box.service", 8));
        assert_true(pid1_is_active(pid1, "box.service") && pid1_is_active(pid1, "side.service"));
        assert_int_equal(pid1_runs(pid1, "side.service"), 2);
        loop_until(!agent_unit_find(w.agent->system, "side.service")->work);
}

static void remove_file(const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s", w.unit_dir, name);

        assert_int_equal(unlink(path), 0);
}

static bool has_made(const char *name) {
        _cleanup_free_ char *path = str_printf("%s/%s", w.unit_dir, name);
        _cleanup_buf_ Buf text = {};

        if (file_read(AT_FDCWD, path, 4096, &text) < 0)
                return false;
        assert_null(memmem(text.data, text.len, "[Container]", strlen("[Container]")));
        return memmem(text.data, text.len, MADE, strlen(MADE));
}

// What was made of the second is known until it is written, though its image is seen to be here at once.
static void files_that_were_removed_are_made_again(void **state) {
        start_box();
        order("other.service", BOX_OF(DIGEST_1), 7);
        make();
        loop_until(answered("other.service", 7));
        agent_down();
        remove_file("box.service");
        remove_file("other.service");
        agent_up();
        meet_leader(
                (Order[]){
                        {.name = "box.service", .content = BOX_OF(DIGEST_1), .revision = 6, .start = 6},
                        {.name = "other.service", .content = BOX_OF(DIGEST_1), .revision = 7, .start = 7}},
                2);
        make();
        list("reg.example/box:1\n" IMAGE_OF(DIGEST_1) "\n");
        make();
        loop_until(has_made("box.service") && has_made("other.service"));
}

// ---- a disk that gets full

#define RM(digest) " sh " IMAGE_OF(digest)

static void take_room(void) {
        disk_room_free = 249999; // of a million
}

// podman has another list now.
static void store_changes(void) {
        static char text[8];
        static unsigned n;

        snprintf(text, sizeof(text), "[%u]", ++n);
        assert_int_equal(file_replace(AT_FDCWD, store, text, strlen(text), 0644, 0), 0);
}

static void update_to(const char *content, const char *image, uint64_t revision) {
        Command *pull;

        order("box.service", content, revision);
        make();
        pull = pulls(image);
        store_changes();
        end(pull, 0, "", "");
        loop_until(answered("box.service", revision));
}

static void pull_three(void) {
        Command *pull;

        order("box.service", BOX_OF(DIGEST_1), 6);
        make();
        list("");
        pull = pulls(IMAGE_OF(DIGEST_1));
        store_changes();
        end(pull, 0, "", "");
        loop_until(answered("box.service", 6));
        update_to(BOX_OF(DIGEST_2), IMAGE_OF(DIGEST_2), 7);
        update_to(BOX_OF(DIGEST_3), IMAGE_OF(DIGEST_3), 8);
}

static void turn_some(void) {
        for (int i = 0; i < 5; i++) {
                drain_mark(&w.agent->drain);
                uv_run(&test_loop, UV_RUN_NOWAIT);
        }
}

static void remove_box(uint64_t revision) {
        send_order((Order){.name = "box.service", .remove = true, .revision = revision});
        loop_until(report_of("box.service")->gone);
        turn_some();
}

static void while_there_is_room_all_images_stay(void **state) {
        pull_three();
        turn_some();
        assert_null(newest("podman image rm"));
}

static void the_oldest_goes_and_what_runs_and_what_it_was_before_stay(void **state) {
        size_t n;

        take_room();
        pull_three();
        loop_until(newest("podman image rm"));
        assert_non_null(strstr(newest("podman image rm")->line, RM(DIGEST_1)));
        n = n_commands;
        end(newest("podman image rm"), 0, "removed\n", "");
        turn_some();
        assert_int_equal(n_commands, n);
        remove_box(9); // and then nothing needs them
        assert_non_null(strstr(newest("podman image rm")->line, RM(DIGEST_2)));
        end(newest("podman image rm"), 0, "gone\n", "");
        loop_until(newest(RM(DIGEST_3)));
        end(newest("podman image rm"), 0, "tagged\n", "");
        turn_some();
        assert_int_equal(n_commands, n + 2);
}

static void what_argosy_has_not_pulled_stays(void **state) {
        take_room();
        start_box(); // podman had it
        remove_box(7);
        assert_int_equal(n_commands, 1);
}

static void what_podman_could_not_list_is_not_argosys(void **state) {
        take_room();
        order("box.service", BOX_OF(DIGEST_1), 6);
        make();
        fail_to_list();
        end(pulls(IMAGE_OF(DIGEST_1)), 0, "", "");
        loop_until(answered("box.service", 6));
        remove_box(7);
        assert_null(newest("podman image rm"));
}

static void what_podman_keeps_is_left_until_the_next_look(void **state) {
        size_t n;

        take_room();
        pull_three();
        loop_until(newest(RM(DIGEST_1)));
        end(newest("podman image rm"), -EIO, "", "Error: image used by 123: it is in use by a container\n");
        n = n_commands;
        turn_some();
        assert_int_equal(n_commands, n);
        remove_box(9);
        assert_non_null(newest(RM(DIGEST_1)));
}

static void what_is_being_removed_is_pulled_again_afterwards(void **state) {
        Command *removal;

        take_room();
        pull_three();
        loop_until(newest(RM(DIGEST_1)));
        removal = newest("podman image rm");
        order("box.service", BOX_OF(DIGEST_1), 9);
        make();
        turn_some();
        assert_ptr_equal(newest("podman"), removal);
        end(removal, 0, "removed\n", "");
        end(pulls(IMAGE_OF(DIGEST_1)), 0, "", "");
        loop_until(answered("box.service", 9));
}

static void restart_agent(void) {
        agent_down();
        agent_up();
        w.term++;
        meet_leader(NULL, 0); // and so nothing is to be here
        loop_until(report_of("box.service")->gone);
        turn_some();
}

static void the_record_outlives_argosyd(void **state) {
        pull_three();
        take_room();
        restart_agent();
        assert_non_null(newest(RM(DIGEST_1)));
        end(newest("podman image rm"), 0, "removed\n", "");
}

static void by_a_damaged_record_nothing_is_removed(void **state) {
        _cleanup_free_ char *path = NULL;

        pull_three();
        take_room();
        path = str_printf("%s/images", w.dir);
        assert_int_equal(file_replace(AT_FDCWD, path, "argosy images 1\npulled", 22, 0644, 0), 0);
        restart_agent();
        assert_null(newest("podman image rm"));
}

static void what_a_leader_has_asked_for_waits_for_its_orders(void **state) {
        take_room();
        start_box();
        call_to_pull(IMAGE_OF(DIGEST_2));
        end(pulls(IMAGE_OF(DIGEST_2)), 0, "", "");
        turn_some();
        assert_null(newest("podman image rm"));
}

// ---- tags

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

static void a_question_shows_the_registry_what_came_with_it(void **state) {
        registry_auth = "me:pass";
        call("reg.example/box:1");
        registry_auth = NULL;
        assert_string_equal(newest("skopeo")->auth, SHOWN("bWU6cGFzcw=="));
        assert_null(strstr(newest("skopeo")->line, "pass"));
        end(newest("skopeo"), -EIO, "", "level=fatal msg=\"unauthorized: authentication required\"\n");
        assert_file_is_gone(&commands[0]);
        assert_string_equal(w.call_reply->call_reply->image->error, "unauthorized: authentication required");
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

static void a_question_that_is_over_ends_its_command(void **state) {
        Argosy__ToHost__CallCancel c = ARGOSY__TO_HOST__CALL_CANCEL__INIT;
        Argosy__ToHost m = TO_HOST_OF(CALL_CANCEL, call_cancel, &c);

        call("reg.example/box:1");
        c.id = 9;
        agent_on_message(w.agent, &m);
        assert_null(commands[0].line);
        assert_null(w.call_reply);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, images_up, images_down)

RUN_TESTS(
        CASE(what_is_here_is_not_pulled),
        CASE(what_is_missing_is_pulled_before_the_start),
        CASE(new_content_is_pulled_before_anything_stops),
        CASE(a_pull_that_fails_stops_nothing),
        CASE(what_the_registry_has_lost_is_refused),
        CASE(two_units_of_an_image_pull_once),
        CASE(a_stop_ends_the_pull),
        CASE(what_somebody_removed_is_pulled_again),
        CASE(what_podman_cannot_list_is_pulled),
        CASE(what_is_to_come_is_pulled_while_it_is_down),
        CASE(a_volume_that_is_alike_or_not_there_is_taken),
        CASE(a_volume_of_other_options_refuses_the_unit),
        CASE(a_podman_that_says_nothing_of_volumes_stops_nobody),
        CASE(an_agent_ends_while_volumes_are_looked_at),
        CASE(a_pull_shows_its_registry_the_secret_and_leaves_no_file),
        CASE(the_next_pull_shows_the_newest),
        CASE(who_shows_something_else_pulls_by_itself),
        CASE(without_a_value_nothing_is_asked),
        CASE(what_is_no_user_and_password_asks_nobody),
        CASE(a_question_shows_the_registry_what_came_with_it),
        CASE(a_bad_secret_is_told_and_no_other_host_asks),
        CASE(a_container_of_somebody_else_refuses_the_unit),
        CASE(what_is_left_of_a_run_of_its_own_is_replaced),
        CASE(a_name_that_nobody_has_is_not_asked_about),
        CASE(a_container_that_came_meanwhile_is_not_replaced_by_a_start),
        CASE(what_was_stopped_with_another_is_looked_at_once_and_started),
        CASE(files_that_were_removed_are_made_again),
        CASE(while_there_is_room_all_images_stay),
        CASE(the_oldest_goes_and_what_runs_and_what_it_was_before_stay),
        CASE(what_argosy_has_not_pulled_stays),
        CASE(what_podman_could_not_list_is_not_argosys),
        CASE(what_podman_keeps_is_left_until_the_next_look),
        CASE(what_is_being_removed_is_pulled_again_afterwards),
        CASE(the_record_outlives_argosyd),
        CASE(by_a_damaged_record_nothing_is_removed),
        CASE(what_a_leader_has_asked_for_waits_for_its_orders),
        CASE(a_tag_has_the_digest_of_what_the_registry_sends),
        CASE(what_is_no_manifest_has_none),
        CASE(a_registry_that_refuses_is_quoted),
        CASE(a_registry_that_is_not_reached_may_be_by_another_host),
        CASE(a_registry_that_hangs_is_named_so),
        CASE(a_question_that_is_over_ends_its_command)
)
