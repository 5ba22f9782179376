// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A network that containers share is made anew: who goes down with it, who comes back, what is not touched.
#include "podman-world.h"

#define NETWORK "front-network.service"
#define BOX_IN(subnet) \
        "[Container]\nImage=localhost/box\nNetwork=front.network\n\n# front.network\n[Network]\nSubnet=" \
        subnet "\n"
#define USERS "systemd-box box.service\nsystemd-side side.service\n"

static char *network_label(const char *subnet) {
        _cleanup_free_ char *text = str_printf("[Network]\nSubnet=%s", subnet);
        Hash hash = hash_of(text, strlen(text));
        char hex[HASH_HEX_SIZE];

        hash_hex(&hash, HASH_SIZE, hex);
        return strdup(hex);
}

static void make_in(const char *subnet) {
        static const char unit[] = "[Unit]\nRequires=" NETWORK "\n" MADE,
                          network[] = "[Service]\nExecStart="
                                      "/usr/bin/podman network create --ignore systemd-front\n";
        _cleanup_free_ char *text = str_printf("[Network]\nSubnet=%s", subnet);
        Hash of = hash_of(text, strlen(text));
        _cleanup_buf_ Buf made = {}, composed = {};
        UnitFindings findings = {};
        Question q;

        loop_until(generator.n > 0);
        q = take_question(0);
        assert_int_equal(quadlet_made_compose(&q.content, "5.4", unit, strlen(unit), &made), 0);
        assert_int_equal(quadlet_made_compose(&of, "5.4", network, strlen(network), &composed), 0);
        assert_int_equal(quadlet_made_add(&made, NETWORK, composed.data, composed.len), 0);
        q.done(0, &(UnitVerdict){.podman = "5.4", .findings = &findings, .made = &made, .n = 1}, q.userdata);
}

// The oldest one that has not ended.
static Command *find_command(const char *words) {
        for (size_t i = 0; i < n_commands; i++)
                if (commands[i].line && strstr(commands[i].line, words))
                        return &commands[i];
        return NULL;
}

static size_t count_commands(const char *words) {
        size_t n = 0;

        for (size_t i = 0; i < n_commands; i++)
                n += commands[i].line && strstr(commands[i].line, words);
        return n;
}

// podman tells that the network is there, of that subnet, and who has it; "": it is not there.
static void look_at_network(const char *subnet, const char *users) {
        _cleanup_free_ char *label = network_label(subnet),
                            *text = str_printf("= systemd-front\n%s\n%s", label, users);

        loop_until(find_command("network inspect"));
        end(find_command("network inspect"), 0, *subnet ? text : "", "");
}

static void remove_network(void) {
        loop_until(find_command("network rm"));
        assert_non_null(strstr(find_command("network rm")->line, " systemd-front"));
        end(find_command("network rm"), 0, "systemd-front\n", "");
}

static bool network_is_of(const char *subnet) {
        _cleanup_free_ char *path = str_printf("%s/" NETWORK, w.unit_dir), *label = network_label(subnet);
        _cleanup_buf_ Buf text = {};

        assert_int_equal(file_read(AT_FDCWD, path, 4096, &text), 0);
        return memmem(text.data, text.len, label, strlen(label));
}

static void start_sharers(void) {
        order("box.service", BOX_IN("1"), 6);
        make_in("1");
        list("");
        look_at_network("", "");
        loop_until(answered("box.service", 6) && pid1_runs(pid1, "box.service") == 1);
        order("side.service", BOX_IN("1"), 7);
        make_in("1");
        look_at_network("1", "systemd-box box.service\n");
        loop_until(answered("side.service", 7) && pid1_runs(pid1, "side.service") == 1);
        assert_null(find_command("network rm"));
}

static void who_shares_a_network_goes_down_once_with_it_and_comes_back(void **state) {
        start_sharers();
        order("box.service", BOX_IN("2"), 8);
        make_in("2");
        loop_until(find_command("network inspect"));
        assert_true(pid1_is_active(pid1, "box.service"));
        look_at_network("1", USERS);
        look_at_network("1", USERS); // right before it goes
        loop_until(find_command("network rm"));
        assert_false(pid1_is_active(pid1, "box.service") || pid1_is_active(pid1, "side.service"));
        assert_true(network_is_of("1"));
        remove_network();
        loop_until(answered("box.service", 8) && pid1_is_active(pid1, "side.service"));
        assert_true(network_is_of("2"));
        assert_int_equal(pid1_runs(pid1, "box.service"), 2);
        assert_int_equal(pid1_runs(pid1, "side.service"), 2);
}

// It is gone, or new, and nobody removes it.
static bool serve_looks(void) {
        if (find_command("network inspect"))
                look_at_network("", "");
        assert_null(find_command("network rm"));
        return true;
}

static void two_that_change_it_at_once_make_it_once(void **state) {
        start_sharers();
        order("box.service", BOX_IN("2"), 8);
        order("side.service", BOX_IN("2"), 8);
        make_in("2");
        make_in("2");
        loop_until(count_commands("network inspect") == 2);
        look_at_network("1", USERS);
        look_at_network("1", USERS);
        loop_until(count_commands("network inspect") == 1); // of the one that has its turn
        look_at_network("1", "");
        remove_network();
        loop_until(serve_looks() && answered("box.service", 8) && answered("side.service", 8));
        assert_true(network_is_of("2"));
        loop_until(pid1_is_active(pid1, "box.service") && pid1_is_active(pid1, "side.service"));
}

static void a_network_that_others_have_refuses_the_change(void **state) {
        start_sharers();
        order("box.service", BOX_IN("2"), 8);
        make_in("2");
        look_at_network("1", USERS "byhand \n");
        loop_until(*report_of("box.service")->error);
        assert_string_equal(report_of("box.service")->error,
                            "its network is not changed, so the unit runs on with the file that it has: the "
                            "network systemd-front would have to be made anew for front.network, and the "
                            "container byhand on this host, which has it, is not argosy's");
        assert_true(pid1_is_active(pid1, "box.service") && pid1_is_active(pid1, "side.service"));
        assert_int_equal(pid1_runs(pid1, "box.service"), 1);
        order("new.service", BOX_IN("2"), 9);
        make_in("2");
        look_at_network("1", USERS "systemd-x x.service\n");
        loop_until(report_of("new.service") && report_of("new.service")->refused);
        assert_non_null(strstr(report_of("new.service")->error, "is of a unit without that file"));
}

// The power was cut between the making of a container and its start: podman has it still, and no unit runs.
static void a_container_that_was_left_without_a_run_holds_no_network(void **state) {
        order("box.service", BOX_IN("2"), 6);
        make_in("2");
        list("");
        look_at_network("1", "systemd-box box.service created\n");
        look_at_network("1", "systemd-box box.service created\n");
        loop_until(find_command("network rm"));
        assert_non_null(strstr(find_command("network rm")->line, "podman rm"));
        remove_network();
        loop_until(answered("box.service", 6) && pid1_runs(pid1, "box.service") == 1);
        assert_true(network_is_of("2"));
}

static void one_that_runs_without_its_unit_holds_it(void **state) {
        order("box.service", BOX_IN("2"), 6);
        make_in("2");
        list("");
        look_at_network("1", "systemd-box box.service running\nsystemd-x x.service created\n");
        loop_until(report_of("box.service") && report_of("box.service")->refused);
        assert_non_null(strstr(report_of("box.service")->error, "systemd-box"));
        order("new.service", BOX_IN("2"), 9);
        make_in("2");
        look_at_network("1", "systemd-x x.service created\n"); // of a unit that is not argosy's
        loop_until(report_of("new.service") && report_of("new.service")->refused);
        assert_non_null(strstr(report_of("new.service")->error, "systemd-x"));
}

// Answers whatever is asked: the network is not there any more.
static bool serve_as(const char *subnet) {
        if (generator.n > 0)
                make_in(subnet);
        if (find_command("network inspect"))
                look_at_network("", "");
        if (find_command("network rm"))
                remove_network();
        if (newest("podman images"))
                list("");
        return true;
}

static bool serve(void) {
        return serve_as("2");
}

static void meet_again(void) {
        meet_leader(
                (Order[]){{.name = "box.service", .content = BOX_IN("2"), .revision = 8, .start = 6},
                          {.name = "side.service", .content = BOX_IN("2"), .revision = 8, .start = 7}},
                2);
        make_in("2");
        make_in("2");
}

static void a_crash_between_two_steps_leaves_the_change_due(void **state) {
        start_sharers();
        order("box.service", BOX_IN("2"), 8);
        make_in("2");
        look_at_network("1", USERS);
        look_at_network("1", USERS);
        loop_until(find_command("network rm"));
        agent_down();
        agent_up();
        meet_again();
        look_at_network("1", "");
        look_at_network("1", "");
        look_at_network("1", "");
        remove_network();
        agent_down(); // before the file is there
        agent_up();
        meet_again();
        loop_until(serve() && answered("box.service", 8) && answered("side.service", 8));
        assert_true(network_is_of("2"));
        loop_until(serve() && pid1_is_active(pid1, "box.service") && pid1_is_active(pid1, "side.service"));
}

static void a_network_that_podman_keeps_is_tried_again(void **state) {
        start_sharers();
        order("box.service", BOX_IN("2"), 8);
        make_in("2");
        look_at_network("1", USERS);
        look_at_network("1", USERS);
        loop_until(find_command("network rm"));
        end(find_command("network rm"), -EIO, "", "Error: \"systemd-front\" has associated containers\n");
        loop_until(*report_of("box.service")->error);
        assert_string_equal(report_of("box.service")->error,
                            "its network is not removed, to be made anew: \"systemd-front\" has associated "
                            "containers");
        assert_true(network_is_of("1"));
        look_at_network("1", "");
        remove_network();
        loop_until(answered("box.service", 8) && pid1_is_active(pid1, "side.service"));
        assert_true(network_is_of("2"));
}

static void an_agent_ends_while_networks_are_looked_at(void **state) {
        start_sharers();
        order("box.service", BOX_IN("2"), 8);
        make_in("2");
        look_at_network("1", USERS);
        loop_until(find_command("network inspect"));
}

// Its order has been taken back before its turn came: it has what it had, and the network has not.
static void who_keeps_its_file_does_not_start_with_the_network_of_another(void **state) {
        start_sharers();
        order("box.service", BOX_IN("2"), 8);
        order("side.service", BOX_IN("2"), 8);
        make_in("2");
        make_in("2");
        loop_until(count_commands("network inspect") == 2);
        look_at_network("1", USERS);
        look_at_network("1", USERS);
        loop_until(count_commands("network inspect") == 1);
        look_at_network("1", "");
        loop_until(find_command("network rm"));
        order("side.service", BOX_IN("1"), 9);
        remove_network();
        loop_until(serve_as("1") && answered("side.service", 9));
        assert_true(network_is_of("1"));
        loop_until(serve_as("1") && pid1_is_active(pid1, "box.service") &&
                   pid1_is_active(pid1, "side.service"));
        assert_true(network_is_of("1")); // the older order runs with it
}

// It has written none of them, and cannot read them back.
static void an_agent_that_is_new_knows_whose_the_containers_are(void **state) {
        start_sharers();
        agent_down();
        agent_up();
        meet_again();
        look_at_network("1", USERS);
        look_at_network("1", USERS);
        loop_until(count_commands("network inspect") == 1); // of the one that has its turn
        look_at_network("1", USERS);
        loop_until(find_command("network rm"));
        remove_network();
        loop_until(serve() && answered("box.service", 8) && answered("side.service", 8));
        assert_true(network_is_of("2"));
}

RUN_TESTS(
        CASE(who_keeps_its_file_does_not_start_with_the_network_of_another),
        CASE(an_agent_that_is_new_knows_whose_the_containers_are),
        CASE(who_shares_a_network_goes_down_once_with_it_and_comes_back),
        CASE(two_that_change_it_at_once_make_it_once),
        CASE(a_network_that_others_have_refuses_the_change),
        CASE(a_container_that_was_left_without_a_run_holds_no_network),
        CASE(one_that_runs_without_its_unit_holds_it),
        CASE(a_crash_between_two_steps_leaves_the_change_due),
        CASE(a_network_that_podman_keeps_is_tried_again),
        CASE(an_agent_ends_while_networks_are_looked_at)
)
