// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Containers of others under the same name, and what is made beside a container.
#include "podman-world.h"
#include "printed.h"

// podman has a container of that name, in that of its lists.
static void have_container(const char *list_name, const char *container) {
        _cleanup_free_ char *path = str_printf("%s/overlay-containers/%s", w.dir, list_name),
                            *text = str_printf("[{\"id\":\"1\",\"names\":[\"%s\"]}]", container);

        assert_int_equal(file_replace(AT_FDCWD, path, text, strlen(text), 0600, 0), 0);
}

static void make_folder(const char *name) {
        assert_int_equal(mkdir(printed("%s/%s", w.dir, name), 0700), 0);
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
        assert_true(report_of("box.service")->refused); // another node may take it
        assert_int_equal(pid1_runs(pid1, "box.service"), 1);
}

// Its first start was lost with the connection; the next one is not made by an order.
static void a_container_that_came_since_the_last_start_is_not_replaced_by_the_next(void **state) {
        move_store();
        pid1_hold_jobs(pid1, true);
        order("other.service", BOX_OF(DIGEST_1), 7);
        make();
        loop_until(pid1_n_held(pid1) == 1);
        have_container("containers.json", "systemd-other");
        pid1_disconnect(pid1);
        pid1_hold_jobs(pid1, false);
        pid1_reconnect(pid1);
        loop_until(newest("container inspect"));
        end(newest("inspect"), 0, "web.service\n", "");
        loop_until(*report_of("other.service")->error);
        assert_non_null(strstr(report_of("other.service")->error, "(it is web.service)"));
        assert_int_equal(pid1_runs(pid1, "other.service"), 0);
}

// A plan: would the unit be taken?
static void ask_name(const char *name) {
        Argosy__ToHost__NameCheck__Unit unit = MESSAGE_OF(to_host__name_check__unit, .name = (char *) name,
                                                          .content = 1),
                                        *units[] = {&unit};
        ProtobufCBinaryData content = {strlen(BOX_OF(DIGEST_1)), (uint8_t *) BOX_OF(DIGEST_1)};
        Argosy__ToHost__NameCheck check =
                MESSAGE_OF(to_host__name_check, .units = units, .n_units = 1, .contents = &content,
                           .n_contents = 1);
        Argosy__ToHost__Call call = CALL_OF(.id = 71, .names = &check);
        Argosy__ToHost m = MESSAGE_OF(to_host, .msg_case = ARGOSY__TO_HOST__MSG_CALL, .call = &call);

        agent_on_message(w.agent, &m);
}

static const char *answer_about(const char *name, const char *label) {
        unsigned before = w.n_call_replies;

        ask_name(name);
        if (label) {
                loop_until(newest("container inspect"));
                end(newest("inspect"), 0, label, "");
        }
        loop_until(w.n_call_replies == before + 1);
        return w.call_reply->call_reply->names->refusals[0];
}

static void a_plan_hears_of_it_too(void **state) {
        move_store();
        have_container("containers.json", "systemd-other");
        assert_string_equal(answer_about("other.service", "<no value>\n"),
                            "there is a container systemd-other on this host that is not argosy's (it is "
                            "nobody's unit): podman would replace it");
        assert_string_equal(answer_about("other.service", "other.service\n"), "");
        assert_string_equal(answer_about("free.service", NULL), "");
        have_container("containers.json", "systemd-box");
        assert_string_equal(answer_about("box.service", NULL), ""); // it runs
}

// No unit was here yet, and podman was never asked where it has its lists.
static void before_the_first_unit_podman_is_asked_at_once(void **state) {
        assert_non_null(strstr(answer_about("other.service", "web.service\n"), "(it is web.service)"));
}

static void a_plan_that_waits_for_podman_does_not_hold_up_the_end(void **state) {
        move_store();
        have_container("containers.json", "systemd-other");
        ask_name("other.service");
        loop_until(newest("container inspect"));
        agent_down();
        agent_up();
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
        assert_int_equal(unlink(printed("%s/%s", w.unit_dir, name)), 0);
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

RUN_TESTS(
        CASE(a_container_of_somebody_else_refuses_the_unit),
        CASE(what_is_left_of_a_run_of_its_own_is_replaced),
        CASE(a_name_that_nobody_has_is_not_asked_about),
        CASE(a_container_that_came_meanwhile_is_not_replaced_by_a_start),
        CASE(a_container_that_came_since_the_last_start_is_not_replaced_by_the_next),
        CASE(a_plan_hears_of_it_too),
        CASE(before_the_first_unit_podman_is_asked_at_once),
        CASE(a_plan_that_waits_for_podman_does_not_hold_up_the_end),
        CASE(what_was_stopped_with_another_is_looked_at_once_and_started),
        CASE(files_that_were_removed_are_made_again)
)
