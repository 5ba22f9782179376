// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// An agent with containers: the test is podman's generator, podman, skopeo and the registry, so it answers
// what is asked of them. For one program each.

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

static inline Question take_question(size_t i) {
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
static inline void make_as(const char *unit, const char *beside) {
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

static inline void make_with(const char *beside) {
        make_as(MADE, beside);
}

static inline void make(void) {
        make_with(NULL);
}

// ---- commands, of which the newest may be answered

typedef struct Command {
        char *line;     // its words; NULL: it has ended
        char auth[128]; // the file that shows its registry who asks, as it was then, and its path
        char *auth_path;
        Buf said; // so far; borrowed
        TransientDone *done;
        void (*heard)(void *userdata);
        void *userdata;
} Command;

static Command commands[32];
static size_t n_commands;

typeof(transient_command_start) __wrap_transient_command_start;
typeof(transient_command_cancel) __wrap_transient_command_cancel;
typeof(transient_command_said) __wrap_transient_command_said;

static inline void read_auth(Command *c, const char *word) {
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
        *c = (Command){.line = buf_take_string(&line),
                       .done = done,
                       .heard = config->heard,
                       .userdata = userdata};
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

const Buf *__wrap_transient_command_said(const TransientCommand *command) {
        return &((const Command *) command)->said;
}

// What it has said so far.
static inline void say(Command *c, const char *text) {
        c->said = (Buf){.data = (uint8_t *) text, .len = strlen(text)};
        c->heard(c->userdata);
}

static inline Command *newest(const char *words) {
        Command *c = n_commands > 0 ? &commands[n_commands - 1] : NULL;

        return c && c->line && strstr(c->line, words) ? c : NULL;
}

static inline void end(Command *c, int result, const char *output, const char *said) {
        const Buf out = {.data = (uint8_t *) output, .len = strlen(output)},
                  err = {.data = (uint8_t *) said, .len = strlen(said)};

        free(TAKE_PTR(c->line));
        c->done(result, &out, &err, c->userdata);
}

static char *store; // the list of images

// podman has these: names, with line ends.
static inline void list(const char *names) {
        _cleanup_free_ char *output = str_printf("%s\n%s", store, names);

        loop_until(newest("podman images"));
        end(newest("podman images"), 0, output, "");
}

// It is asked for names of containers, and then for images.
static inline void fail_to_list(void) {
        for (int i = 0; i < 2; i++) {
                loop_until(newest("podman images"));
                end(newest("podman images"), -EIO, "", "Error: no store\n");
        }
}

static inline Command *pulls(const char *image) {
        _cleanup_free_ char *words = str_printf("pull --quiet %s", image);

        loop_until(newest(words));
        return newest(words);
}

static inline int images_up(void **state) {
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

static inline int images_down(void **state) {
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

static inline void order(const char *name, const char *content, uint64_t revision) {
        send_order((Order){.name = name, .content = content, .revision = revision, .start = revision});
}

static inline void start_box(void) {
        order("box.service", BOX_OF(DIGEST_1), 6);
        make();
        list("reg.example/box:1\n" IMAGE_OF(DIGEST_1) "\n");
        loop_until(answered("box.service", 6) && pid1_runs(pid1, "box.service") == 1);
}

// ---- calls of the leader

static const char *registry_auth; // of the next call; NULL: none

static inline void send_call(const char *image, bool pull) {
        Argosy__SecretValue auth = ARGOSY__SECRET_VALUE__INIT;
        Argosy__ToHost__Call c = MESSAGE_OF(to_host__call, .id = 9, .image = (char *) image, .pull = pull);
        Argosy__ToHost m = TO_HOST_OF(CALL, call, &c);

        if (registry_auth) {
                auth.value = (ProtobufCBinaryData){strlen(registry_auth), (uint8_t *) registry_auth};
                c.registry_auth = &auth;
        }
        agent_on_message(w.agent, &m);
}

static inline void call(const char *image) {
        send_call(image, false);
}

static inline void call_to_pull(const char *image) {
        send_call(image, true);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, images_up, images_down)
