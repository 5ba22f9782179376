// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A disk that gets full: which images go.
#include "podman-world.h"

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
        assert_int_equal(w.agent->images.record.pulled.count, 0);
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

RUN_TESTS(
        CASE(while_there_is_room_all_images_stay),
        CASE(the_oldest_goes_and_what_runs_and_what_it_was_before_stay),
        CASE(what_argosy_has_not_pulled_stays),
        CASE(what_podman_could_not_list_is_not_argosys),
        CASE(what_podman_keeps_is_left_until_the_next_look),
        CASE(what_is_being_removed_is_pulled_again_afterwards),
        CASE(the_record_outlives_argosyd),
        CASE(by_a_damaged_record_nothing_is_removed),
        CASE(what_a_leader_has_asked_for_waits_for_its_orders)
)
