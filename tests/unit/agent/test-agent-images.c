// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is pulled before a container starts, or stops for new content.
#include "podman-world.h"

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

// systemd would not find what a unit needs, or what a timer activates, while the image of that is pulled.
static void who_names_a_container_starts_when_its_file_is_there(void **state) {
        static const char needs[] = "[Unit]\nRequires=box.service\n[Service]\nExecStart=/bin/sleep 1\n",
                          after[] = "[Unit]\nAfter=%p.service box.service\n[Service]\nExecStart=/bin/x\n",
                          timer[] = "[Timer]\nOnActiveSec=1h\n", other[] = "[Service]\nExecStart=/bin/y\n";

        order("a.service", needs, 6);
        order("b.service", after, 6);
        order("box.timer", timer, 6);
        order("c.service", other, 6);
        order("box.service", BOX_OF(DIGEST_1), 6);
        make();
        list("");
        (void) pulls(IMAGE_OF(DIGEST_1));
        loop_until(answered("c.service", 6) && report_of("box.service")->pulling);
        assert_int_equal(pid1_runs(pid1, "a.service") + pid1_runs(pid1, "b.service"), 0);
        assert_false(pid1_is_active(pid1, "box.timer"));
        end(pulls(IMAGE_OF(DIGEST_1)), 0, "", "");
        loop_until(answered("a.service", 6) && answered("b.service", 6) && answered("box.timer", 6));
        assert_int_equal(pid1_runs(pid1, "a.service") + pid1_runs(pid1, "b.service"), 2);
        assert_true(pid1_is_active(pid1, "box.timer"));
}

// What cannot come is systemd's to judge.
static void what_cannot_come_is_not_waited_for(void **state) {
        static const char after[] = "[Unit]\nAfter=box.service\n[Service]\nExecStart=/bin/x\n";

        order("box.service", BOX_OF(DIGEST_1), 6);
        make();
        list("");
        (void) pulls(IMAGE_OF(DIGEST_1));
        order("a.service", after, 6);
        loop_until(report_of("box.service") && report_of("box.service")->pulling);
        end(pulls(IMAGE_OF(DIGEST_1)), -EIO, "", "Error: no route to host\n");
        loop_until(answered("a.service", 6));
        assert_int_equal(pid1_runs(pid1, "a.service"), 1);
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
                IMAGE_OF(DIGEST_2) " could not be pulled: "
                                   "initializing source: dial tcp: connection refused");
        assert_false(report_of("box.service")->refused);
        assert_true(pid1_is_active(pid1, "box.service"));
        assert_int_equal(pid1_runs(pid1, "box.service"), 1);
        loop_until(newest("pull")); // it is tried again
}

static void a_pull_is_told_with_its_age_its_attempt_and_what_podman_says(void **state) {
        start_box();
        order("box.service", BOX_OF(DIGEST_2), 7);
        make();
        Command *c = pulls(IMAGE_OF(DIGEST_2));
        loop_until(report_of("box.service")->pull_ms > 0);
        assert_true(report_of("box.service")->pulling);
        assert_string_equal(report_of("box.service")->pull, IMAGE_OF(DIGEST_2));
        say(c,
            "time=\"2026\" level=warning msg=\"Failed, retrying in 1s (1/3). Error: no route to host\"\n");
        loop_until(strstr(report_of("box.service")->pull, "said"));
        assert_string_equal(report_of("box.service")->pull,
                            IMAGE_OF(DIGEST_2) "; podman has said: Failed, retrying in 1s (1/3). Error: no "
                                               "route to host");
        end(c, -EIO, "", "Error: no route to host\n");
        (void) pulls(IMAGE_OF(DIGEST_2)); // again
        loop_until(strstr(report_of("box.service")->pull, IMAGE_OF(DIGEST_2) ", attempt 2"));
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

RUN_TESTS(CASE(what_is_here_is_not_pulled), CASE(what_is_missing_is_pulled_before_the_start),
          CASE(who_names_a_container_starts_when_its_file_is_there),
          CASE(what_cannot_come_is_not_waited_for), CASE(new_content_is_pulled_before_anything_stops),
          CASE(a_pull_that_fails_stops_nothing),
          CASE(a_pull_is_told_with_its_age_its_attempt_and_what_podman_says),
          CASE(what_the_registry_has_lost_is_refused), CASE(two_units_of_an_image_pull_once),
          CASE(a_stop_ends_the_pull), CASE(what_somebody_removed_is_pulled_again),
          CASE(what_podman_cannot_list_is_pulled), CASE(what_is_to_come_is_pulled_while_it_is_down))
