// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Volumes of a container that are on the host already.
#include "podman-world.h"

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

RUN_TESTS(
        CASE(a_volume_that_is_alike_or_not_there_is_taken),
        CASE(a_volume_of_other_options_refuses_the_unit),
        CASE(a_podman_that_says_nothing_of_volumes_stops_nobody),
        CASE(an_agent_ends_while_volumes_are_looked_at)
)
