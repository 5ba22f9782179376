// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What systemd would refuse does not take the unit down that it was to replace; and an answer that is late,
// or does not come, changes nothing about how units are replaced. The test is who knows what systemd would
// say.
#include <errno.h>

#include "messages.h"
#include "agent-world.h"

#include <fcntl.h>

#include "fileio.h"
#include "quadlet.h"
#include "str.h"
#include "unit-verifier.h"

#define OLD "[Service]\nExecStart=/bin/old\n"
#define NEW "[Service]\nExecStart=/bin/new\n"
#define NEWER "[Service]\nExecStart=/bin/newer\n"

typedef struct Asked {
        uint64_t number; // 0: nobody asks
        unsigned patience_ms;
        char name[64];
        char content[256];
        UnitVerified *done;
        void *userdata;
        Buf made; // goes with the next answer
} Asked;

static Asked asked;
static uint64_t n_asked;

typeof(unit_verifier_new) __wrap_unit_verifier_new; // the compiler compares them
typeof(unit_verifier_ask) __wrap_unit_verifier_ask;
typeof(unit_verifier_ask_podman) __wrap_unit_verifier_ask_podman;
typeof(unit_verifier_cancel) __wrap_unit_verifier_cancel;
typeof(unit_verifier_close) __wrap_unit_verifier_close;

int __wrap_unit_verifier_new(uv_loop_t *loop, const char *const *command, UnitVerifier **ret) {
        *ret = (UnitVerifier *) &asked;
        return 0;
}

int __wrap_unit_verifier_ask(UnitVerifier *v, const UnitAnalysisFile *files, size_t n, bool user,
                             unsigned patience_ms, UnitVerified *done, void *userdata, uint64_t *ret) {
        assert_int_equal(n, 1);
        assert_false(user);
        asked = (Asked){.number = ++n_asked, .patience_ms = patience_ms, .done = done, .userdata = userdata};
        snprintf(asked.name, sizeof(asked.name), "%s", files[0].name);
        snprintf(asked.content, sizeof(asked.content), "%.*s", (int) files[0].len,
                 (const char *) files[0].content);
        *ret = asked.number;
        return 0;
}

static struct {
        bool there;         // a generator
        UnitVerified *done; // NULL: nobody asks
        void *userdata;
} podman;

int __wrap_unit_verifier_ask_podman(UnitVerifier *v, unsigned patience_ms, UnitVerified *done,
                                    void *userdata, uint64_t *ret) {
        if (!podman.there || podman.done)
                return podman.there ? -EALREADY : -ENOENT;
        podman.done = done;
        podman.userdata = userdata;
        return 0;
}

void *__wrap_unit_verifier_cancel(UnitVerifier *v, uint64_t number) {
        if (asked.number != number)
                return NULL;
        asked.number = 0;
        return asked.userdata;
}

void __wrap_unit_verifier_close(UnitVerifier *v, void (*closed)(void *userdata), void *userdata) {
        assert_int_equal(asked.number, 0); // nobody waits for an answer that does not come any more
        closed(userdata);
}

static void answer(int error, UnitFindingKind kind) {
        UnitFinding finding = {.line = 2, .kind = kind, .text = (char *) "it is bad"};
        UnitFindings findings = {.list = &finding, .n = 1, .refused = kind == UNIT_FINDING_REFUSED};

        assert_true(asked.number > 0);
        asked.number = 0;
        asked.done(error,
                   &(UnitVerdict){.systemd = "systemd 252",
                                  .podman = "5.4",
                                  .findings = &findings,
                                  .made = &asked.made,
                                  .n = error < 0 ? 0 : 1},
                   asked.userdata);
        buf_done(&asked.made);
}

FIXTURE(verify_up) {
        asked = (Asked){};
        n_asked = 0;
        memset(&podman, 0, sizeof(podman));
        rig_up();
        w.verifies = true;
        pid1 = pid1_new(w.unit_dir);
        agent_up();
        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = OLD, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5) && pid1_is_active(pid1, "web.service"));
        assert_int_equal(n_asked, 0); // nothing runs that could be lost
}

static void order_new(uint64_t revision) {
        send_order((Order){.name = "web.service",
                           .content = NEW,
                           .revision = revision,
                           .start = 5,
                           .restart = revision});
}

static void expect_old_to_run(uint64_t revision) {
        loop_until(answered("web.service", revision) && *report_of("web.service")->error);
        assert_non_null(strstr(report_of("web.service")->error, "systemd would refuse the new file"));
        assert_non_null(strstr(report_of("web.service")->error, "line 2: it is bad"));
        assert_false(report_of("web.service")->file_stale); // a restart would not take it up
        assert_true(pid1_is_active(pid1, "web.service"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
}

static void what_systemd_would_refuse_takes_nothing_down(void **state) {
        order_new(6);
        loop_until(asked.number > 0);
        assert_int_equal(asked.patience_ms, 5000);
        assert_string_equal(asked.name, "web.service");
        assert_string_equal(asked.content, NEW);
        assert_true(pid1_is_active(pid1, "web.service"));
        answer(0, UNIT_FINDING_REFUSED);
        expect_old_to_run(6);
}

// A drop-in may have mended it meanwhile.
static void another_request_asks_again(void **state) {
        order_new(6);
        loop_until(asked.number > 0);
        answer(0, UNIT_FINDING_REFUSED);
        expect_old_to_run(6);
        order_new(7);
        loop_until(asked.number > 0);
        answer(0, UNIT_FINDING_REFUSED);
        expect_old_to_run(7);
        order_new(8);
        loop_until(asked.number > 0);
        answer(0, UNIT_FINDING_WARNING);
        loop_until(answered("web.service", 8) && pid1_runs(pid1, "web.service") == 2);
        assert_string_equal(report_of("web.service")->error, "");
}

static void without_an_answer_it_is_replaced_as_ever(void **state) {
        order_new(6);
        loop_until(asked.number > 0);
        answer(-ETIMEDOUT, UNIT_FINDING_REFUSED);
        loop_until(answered("web.service", 6) && pid1_runs(pid1, "web.service") == 2);
        assert_string_equal(report_of("web.service")->error, "");
}

static void going_back_needs_no_stop(void **state) {
        order_new(6);
        loop_until(asked.number > 0);
        answer(0, UNIT_FINDING_REFUSED);
        expect_old_to_run(6);
        // The restart of 6 has failed: it is not made up for now.
        send_order((Order){.name = "web.service", .content = OLD, .revision = 7, .start = 5, .restart = 6});
        loop_until(answered("web.service", 7) && !*report_of("web.service")->error);
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        assert_int_equal(n_asked, 1);
}

static void a_stop_overtakes_the_question(void **state) {
        order_new(6);
        loop_until(asked.number > 0);
        send_order((Order){.name = "web.service",
                           .content = NEW,
                           .loaded_only = true,
                           .revision = 7,
                           .start = 5,
                           .stop = 7});
        loop_until(!pid1_is_active(pid1, "web.service"));
        answer(0, UNIT_FINDING_REFUSED); // too late
        loop_until(answered("web.service", 7));
        assert_string_equal(report_of("web.service")->error, "");
}

// While the question is under way another content is wanted.
static void order_newer_meanwhile(void) {
        order_new(6);
        loop_until(asked.number > 0);
        send_orders(
                (Order[]){{.name = "web.service", .content = NEWER, .revision = 7, .start = 5, .restart = 7},
                          {.name = "other.service", .content = OLD, .revision = 7, .start = 7}},
                2);
        loop_until(answered("other.service", 7)); // the other order has come, too
}

static void an_answer_takes_no_other_content(void **state) {
        order_newer_meanwhile();
        answer(0, UNIT_FINDING_WARNING);
        loop_until(asked.number > 0);
        assert_string_equal(asked.content, NEWER);
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        answer(0, UNIT_FINDING_REFUSED);
        expect_old_to_run(7);
}

static void an_answer_refuses_no_other_content(void **state) {
        order_newer_meanwhile();
        answer(0, UNIT_FINDING_REFUSED);
        loop_until(asked.number > 0);
        assert_string_equal(asked.content, NEWER);
        answer(0, UNIT_FINDING_WARNING);
        loop_until(answered("web.service", 7) && pid1_runs(pid1, "web.service") == 2);
        assert_string_equal(report_of("web.service")->error, "");
}

static void one_question_holds_up_no_other_unit(void **state) {
        order_new(6);
        loop_until(asked.number > 0);
        send_order((Order){.name = "other.service", .content = OLD, .revision = 7, .start = 7});
        loop_until(answered("other.service", 7) && pid1_is_active(pid1, "other.service"));
        assert_true(asked.number > 0);
}

// ------------------------------------------------------------------------------------------------
// containers

#define BOX "[Container]\nImage=localhost/box:1\n"
#define BOX_2 "[Container]\nImage=localhost/box:2\n"

static void order_box(const char *content, uint64_t revision) {
        send_order((Order){.name = "box.service",
                           .content = content,
                           .revision = revision,
                           .start = 6,
                           .restart = revision});
}

static void answer_made(const char *content, const char *exec) {
        _cleanup_free_ char *unit = str_printf("[Service]\nExecStart=%s\n", exec);
        Hash hash = hash_of(content, strlen(content));

        assert_string_equal(asked.content, content);
        assert_int_equal(quadlet_made_compose(&hash, "5.4", unit, strlen(unit), &asked.made), 0);
        answer(0, UNIT_FINDING_WARNING);
}

static void assert_installed(const char *exec) {
        _cleanup_free_ char *path = str_printf("%s/box.service", w.unit_dir);
        _cleanup_buf_ Buf text = {};

        assert_int_equal(file_read(AT_FDCWD, path, 4096, &text), 0);
        assert_non_null(memmem(text.data, text.len, exec, strlen(exec)));
        assert_null(memmem(text.data, text.len, "[Container]", strlen("[Container]")));
}

static void box_up(void) {
        order_box(BOX, 6);
        loop_until(asked.number > 0);
        assert_string_equal(asked.name, "box.service");
        assert_int_equal(asked.patience_ms, UNIT_VERIFIER_NO_LIMIT); // others may have to be made before it
        answer_made(BOX, "/bin/box-1");
        loop_until(answered("box.service", 6) && pid1_is_active(pid1, "box.service"));
        assert_installed("/bin/box-1");
}

static void of_a_container_the_unit_is_made_and_written(void **state) {
        box_up();
        order_box(BOX_2, 7);
        loop_until(asked.number > 0);
        assert_int_equal(pid1_runs(pid1, "box.service"), 1); // it goes on meanwhile
        answer_made(BOX_2, "/bin/box-2");
        loop_until(answered("box.service", 7) && pid1_runs(pid1, "box.service") == 2);
        assert_installed("/bin/box-2");
        assert_int_equal(n_asked, 2); // what systemd would say was part of these answers
}

static void what_the_generator_refuses_is_not_taken(void **state) {
        order_box(BOX, 6);
        loop_until(asked.number > 0);
        answer(0, UNIT_FINDING_REFUSED);
        loop_until(answered("box.service", 6));
        assert_true(report_of("box.service")->refused);
        assert_non_null(strstr(report_of("box.service")->error, "it is bad"));
}

static void what_the_generator_refuses_takes_nothing_down(void **state) {
        box_up();
        order_box(BOX_2, 7);
        loop_until(asked.number > 0);
        answer(0, UNIT_FINDING_REFUSED);
        loop_until(answered("box.service", 7) && *report_of("box.service")->error);
        assert_non_null(strstr(report_of("box.service")->error, "runs on"));
        assert_int_equal(pid1_runs(pid1, "box.service"), 1);
        assert_installed("/bin/box-1");
}

static void a_host_without_a_generator_takes_no_container(void **state) {
        order_box(BOX, 6);
        loop_until(asked.number > 0);
        answer(0, UNIT_FINDING_MISSING);
        loop_until(answered("box.service", 6));
        assert_true(report_of("box.service")->refused);
        assert_non_null(strstr(report_of("box.service")->error, "no Quadlet here"));
}

static void without_an_answer_a_container_is_tried_again(void **state) {
        order_box(BOX, 6);
        loop_until(asked.number > 0);
        answer(-ETIMEDOUT, UNIT_FINDING_WARNING);
        loop_until(asked.number > 0);
        answer_made(BOX, "/bin/box-1");
        loop_until(pid1_is_active(pid1, "box.service"));
        assert_false(report_of("box.service")->refused);
}

// `argosyctl verify`: whose time it was that is over.
static const char *told_of_timeout(const char *content) {
        Argosy__NamedFile file = MESSAGE_OF(named_file, .name = (char *) "box.service",
                                            .path = (char *) "box.container",
                                            .content = {strlen(content), (uint8_t *) content}),
                          *files[] = {&file};
        Argosy__Request__Verify verify = MESSAGE_OF(request__verify, .files = files, .n_files = 1);
        Argosy__Request request = REQUEST_OF(VERIFY, verify, &verify);
        Argosy__ToHost__Call call = CALL_OF(.id = 72, .request = &request);
        Argosy__ToHost m = MESSAGE_OF(to_host, .msg_case = ARGOSY__TO_HOST__MSG_CALL, .call = &call);
        unsigned before = w.n_call_replies;

        agent_on_message(w.agent, &m);
        loop_until(asked.number > 0);
        answer(-ETIMEDOUT, UNIT_FINDING_WARNING);
        loop_until(w.n_call_replies > before);
        return w.call_reply->call_reply->response->message;
}

static void a_question_that_takes_too_long_names_who_was_asked(void **state) {
        assert_string_equal(told_of_timeout(OLD), "systemd-analyze did not end in time");
        assert_string_equal(told_of_timeout(BOX),
                            "podman's generator and systemd-analyze did not end in time");
}

// The file says of what it was made: no generator is asked for what is in place.
static void a_container_that_is_in_place_is_adopted(void **state) {
        box_up();
        agent_restart();
        meet_leader(NULL, 0);
        order_box(BOX, 6);
        loop_until(answered("box.service", 6));
        assert_int_equal(n_asked, 1);
        assert_int_equal(pid1_runs(pid1, "box.service"), 1);
}

static void answer_podman(const char *version) {
        UnitVerified *done = TAKE_PTR(podman.done);

        done(0, &(UnitVerdict){.systemd = "", .podman = version}, podman.userdata);
}

static const char *told_podman(void) {
        for (size_t i = 0; i < w.attach->attach->n_labels; i++)
                if (streq(w.attach->attach->labels[i]->key, "podman"))
                        return w.attach->attach->labels[i]->value;
        return "";
}

static void attach_anew(void) {
        agent_down();
        podman.done = NULL;
        w.n_attaches = 0;
        agent_up();
        meet_leader(NULL, 0);
}

// A leader that heard of a host without it would end the host's global containers.
static void a_host_tells_its_podman_from_the_first_attach_on(void **state) {
        podman.there = true;
        attach_anew();
        assert_string_equal(told_podman(), ""); // nobody has ever asked
        unsigned attaches = w.n_attaches;
        answer_podman("5.4");
        loop_until(w.n_attaches > attaches);
        assert_string_equal(told_podman(), "5.4");
        attach_anew();
        assert_string_equal(told_podman(), "5.4"); // before anybody answers
        attaches = w.n_attaches;
        answer_podman("5.4");
        assert_int_equal(w.n_attaches, attaches);
        podman.there = false;
        attach_anew();
        assert_string_equal(told_podman(), "");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, verify_up, world_down)

RUN_TESTS(
        CASE(what_systemd_would_refuse_takes_nothing_down),
        CASE(another_request_asks_again),
        CASE(without_an_answer_it_is_replaced_as_ever),
        CASE(going_back_needs_no_stop),
        CASE(a_stop_overtakes_the_question),
        CASE(an_answer_takes_no_other_content),
        CASE(an_answer_refuses_no_other_content),
        CASE(one_question_holds_up_no_other_unit),
        CASE(of_a_container_the_unit_is_made_and_written),
        CASE(what_the_generator_refuses_is_not_taken),
        CASE(what_the_generator_refuses_takes_nothing_down),
        CASE(a_host_without_a_generator_takes_no_container),
        CASE(a_question_that_takes_too_long_names_who_was_asked),
        CASE(without_an_answer_a_container_is_tried_again),
        CASE(a_container_that_is_in_place_is_adopted),
        CASE(a_host_tells_its_podman_from_the_first_attach_on)
)
