// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The agent and what the files of units are bound over: whether it is there, on file systems that answer and
// on others. A unit that is refused for it may come when it is there.
#include "carried-words.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "agent-barred.h"
#include "agent-places.h"
#include "disk-room.h"
#include "printed.h"

// The place that it is bound over, of a host whose argosyd is no more than another user there.
#define PLACE "/srv/argosy-test/place"
#define DEAD "/dead/"       // no path below it is answered before the test lets it be
#define ALIVE "/alive/place"
static int place_error;
static unsigned n_place_asks;
static _Atomic unsigned n_stuck, n_let_be; // looks that a dead file system has, and had
static uv_sem_t let_be;
static _Atomic bool is_alive_again;
static _Atomic bool is_root_dead; // the root of the mount is not answered either
static bool one_mount_for_each; // path below DEAD, with a device of its own
static unsigned n_tables; // how often the table of mounts was read
#define LINK_TO_DEAD "/alive/link-to-dead" // what hangs is only known to lie behind it
#define LINK_SEEN "/link-seen"       // which is seen to lead to the device of DEAD
enum { ROOT_MINOR = 50, ALIVE_MINOR, DEAD_MINOR, MOUNTED_ANEW_MINOR, FIRST_MINOR };
static _Atomic unsigned dead_minor = DEAD_MINOR;

int __wrap_mount_table_read(Buf *ret);
int __wrap_mount_table_read(Buf *ret) {
        n_tables++;
        assert_int_equal(buf_printf(ret, "1 0 0:%u / / rw\n2 1 0:%u / /alive rw\n3 1 0:%u / /dead rw\n",
                                    (unsigned) ROOT_MINOR, (unsigned) ALIVE_MINOR, dead_minor),
                         0);
        for (unsigned i = 0; one_mount_for_each && i < 3; i++)
                assert_int_equal(buf_printf(ret, "%u 1 0:%u / " DEAD "%u rw\n", 4 + i, FIRST_MINOR + i, i),
                                 0);
        return buf_append(ret, "", 1);
}

static void hang(void) {
        n_stuck++;
        uv_sem_wait(&let_be);
        n_stuck--;
        n_let_be++;
}

#define OF_A_SERVER "/etc/argosy-test/place"
static bool is_local_now;

int __real_statfs64(const char *path, struct statfs *ret);
int __wrap_statfs64(const char *path, struct statfs *ret);
int __wrap_statfs64(const char *path, struct statfs *ret) {
        if (!streq(path, OF_A_SERVER))
                return __real_statfs64(path, ret);
        *ret = (struct statfs){.f_type = is_local_now ? TMPFS_MAGIC : NFS_SUPER_MAGIC};
        return 0;
}

#define LINK_TO_USR "/srv/argosy-test/link-to-usr"
#define LINK_TO_OWN "/srv/argosy-test/link-to-own"

char *__wrap_realpath(const char *path, char *ret);
char *__wrap_realpath(const char *path, char *ret) {
        assert_null(ret);
        return strdup(streq(path, LINK_TO_USR)   ? "/usr"
                      : streq(path, LINK_TO_OWN) ? "/usr/local/own"
                                                 : path);
}

int __real_statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret) {
        bool is_link = streq(path, LINK_TO_DEAD) || streq(path, LINK_SEEN),
             follows = !(flags & AT_SYMLINK_NOFOLLOW);

        if ((str_has_prefix(path, DEAD) || (streq(path, "/dead") && is_root_dead) ||
             (streq(path, LINK_TO_DEAD) && follows)) &&
            !is_alive_again)
                hang();
        if (streq(path, "/etc/argosy-test"))
                return __real_statx(dir, "/etc", flags, mask, ret);
        if (streq(path, "/dead") || streq(path, "/alive") || streq(path, "/srv/argosy-test") || is_link) {
                *ret = (struct statx){.stx_mode = is_link && !follows ? S_IFLNK : S_IFDIR};
                ret->stx_dev_minor = streq(path, "/dead") || (streq(path, LINK_SEEN) && follows) ? dead_minor
                                     : str_has_prefix(path, "/alive") ? (unsigned) ALIVE_MINOR
                                                                      : (unsigned) ROOT_MINOR;
                return 0;
        }
        if (str_has_prefix(path, DEAD) || streq(path, ALIVE) || streq(path, OF_A_SERVER) ||
            str_has_prefix(path, LINK_TO_DEAD) || str_has_prefix(path, LINK_SEEN)) {
                *ret = (struct statx){.stx_mode = S_IFREG};
                ret->stx_dev_minor = streq(path, ALIVE) ? ALIVE_MINOR : ROOT_MINOR;
                return 0;
        }
        if (streq(path, LINK_TO_USR) || streq(path, LINK_TO_OWN)) {
                *ret = (struct statx){.stx_mode = follows ? S_IFREG : S_IFLNK, .stx_dev_minor = ROOT_MINOR};
                return 0;
        }
        if (!streq(path, PLACE))
                return __real_statx(dir, path, flags, mask, ret);
        n_place_asks++;
        // no file server is asked, nor anything mounted
        assert_int_equal(flags, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW);
        *ret = (struct statx){.stx_mode = S_IFREG};
        errno = place_error;
        return place_error ? -1 : 0;
}

static void a_place_that_cannot_be_seen_is_none(void **state) {
        _cleanup_(carried_done) Carried c = carried_beside(
                "web.service", "[Service]\nExecStart=/bin/sleep 3\n[X-Argosy]\nFile=data:" PLACE "\n", small,
                sizeof(small) - 1);

        meet_leader(NULL, 0);
        order_and_wait((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        place_error = EACCES;
        order(&c, 6);
        await_failure("web.service", 1,
                      PLACE ", where File=data is to be, lies in a folder that is closed to others, so that "
                            "argosyd cannot see it on this node");
        assert_int_equal(w.n_file_asks, 0);
        place_error = 0;
        n_place_asks = 0;
        try_again_now("web.service");
        await_ask(1);
        answer_all(&c, 6);
        assert_true(n_place_asks > 0 && pid1_is_active(pid1, "web.service"));
}

static Carried bound_over(const char *unit, const char *place) {
        _cleanup_free_ char *text =
                str_printf("[Service]\nExecStart=/bin/sleep 3\n[X-Argosy]\nFile=data:%s\n", place);

        return carried_beside(unit, text, small, sizeof(small) - 1);
}

#define NO_ANSWER(place) \
        place ", where File=data is to be, lies on a file system that does not answer on this node"

// As if the time had passed.
static void await_no_longer(void) {
        const AgentNode *node = CONTAINER_OF(w.agent->nodes.next, AgentNode, in_agent);

        assert_true(node->agent->places.looking && n_stuck > 0);
        agent_places_wake(w.agent, clock_boot_us() + AGENT_PLACES_MS * USEC_PER_MSEC);
        assert_non_null(node->agent->places.looking); // the answer may have come while the loop stood still
        agent_places_wake(w.agent, clock_boot_us() + 2 * AGENT_PLACES_MS * USEC_PER_MSEC);
        assert_null(node->agent->places.looking);
        drain_mark(&w.agent->drain);
}

static void let_dead_be(void) {
        is_alive_again = true;
        for (unsigned n = n_stuck; n > 0; n--)
                uv_sem_post(&let_be);
        loop_until(n_stuck == 0 && list_is_empty(&w.agent->places.late) && !w.agent->places.looking);
}

static void loop_until_stuck_and_let_be(void) {
        unsigned n = n_let_be;

        loop_until(n_stuck == 1);
        uv_sem_post(&let_be);
        loop_until(n_let_be > n);
}

// The look at it is lost; neither the loop nor another unit is.
static void a_dead_file_system_is_no_place_and_holds_up_nobody_else(void **state) {
        _cleanup_(carried_done) Carried a = bound_over("a.service", DEAD "a"),
                                        b = bound_over("b.service", ALIVE),
                                        c = bound_over("c.service", DEAD "c");

        is_root_dead = true; // the next look would hang there, too
        meet_leader(NULL, 0);
        order(&a, 5);
        loop_until(n_stuck == 1);
        order(&b, 6);
        order(&c, 7);
        await_no_longer();
        await_failure("a.service", 1, NO_ANSWER(DEAD "a"));
        assert_true(report_of("a.service")->refused);
        await_ask(1);
        answer_all(&b, 6);
        assert_true(pid1_is_active(pid1, "b.service"));
        await_failure("c.service", 1, NO_ANSWER(DEAD "c"));
        assert_int_equal(n_stuck, 1); // nobody has looked there again
        let_dead_be();
        for (unsigned i = 0; i < 2; i++)
                try_again_now((const char *[]){"a.service", "c.service"}[i]);
        loop_until(pid1_is_active(pid1, "a.service") && pid1_is_active(pid1, "c.service"));
        is_alive_again = is_root_dead = false;
}

// What the link leads to is not known, and nothing else is blamed for it.
static void what_hangs_behind_a_link_bars_what_lies_beneath_the_link(void **state) {
        _cleanup_(carried_done) Carried a = bound_over("a.service", LINK_TO_DEAD "/a"),
                                        b = bound_over("b.service", ALIVE),
                                        c = bound_over("c.service", LINK_TO_DEAD "/c");

        meet_leader(NULL, 0);
        order(&a, 5);
        loop_until(n_stuck == 1);
        await_no_longer();
        await_failure("a.service", 1, NO_ANSWER(LINK_TO_DEAD "/a"));
        order(&b, 6);
        await_ask(1);
        answer_all(&b, 6);
        assert_true(pid1_is_active(pid1, "b.service"));
        order(&c, 7);
        await_failure("c.service", 1, NO_ANSWER(LINK_TO_DEAD "/c"));
        assert_int_equal(n_stuck, 1);
        let_dead_be();
        is_alive_again = false;
}

// A path may lead there by a link, and the place may have been given to another file system.
static void a_dead_file_system_is_known_by_its_device(void **state) {
        _cleanup_(carried_done) Carried a = bound_over("a.service", DEAD "a"),
                                        b = bound_over("b.service", LINK_SEEN "/b"),
                                        c = bound_over("c.service", DEAD "c");

        meet_leader(NULL, 0);
        order(&a, 5);
        loop_until(n_stuck == 1);
        await_no_longer();
        await_failure("a.service", 1, NO_ANSWER(DEAD "a"));
        order(&b, 6);
        await_failure("b.service", 1, NO_ANSWER(LINK_SEEN "/b"));
        assert_int_equal(n_stuck, 1);
        dead_minor = MOUNTED_ANEW_MINOR;
        is_alive_again = true;
        order(&c, 7);
        await_ask(1);
        answer_all(&c, 7);
        assert_true(pid1_is_active(pid1, "c.service"));
        assert_int_equal(n_stuck, 1);
        let_dead_be();
        is_alive_again = false;
        dead_minor = DEAD_MINOR;
}

// Whose link it is, and that what it hides is so for the unit alone, does not help: no program starts there.
static void a_link_that_leads_to_the_system_is_no_place(void **state) {
        _cleanup_(carried_done) Carried a = bound_over("a.service", LINK_TO_USR),
                                        b = bound_over("b.service", LINK_TO_OWN);

        meet_leader(NULL, 0);
        order(&a, 5);
        await_failure("a.service", 1,
                      LINK_TO_USR
                      ", where File=data is to be, leads by a link to what no unit may hide on this node");
        order(&b, 6);
        await_ask(1);
        answer_all(&b, 6);
        assert_true(pid1_is_active(pid1, "b.service"));
}

// It looks at places in /etc at any start, whoever makes it.
static void what_systemd_would_hang_with_is_no_place(void **state) {
        _cleanup_(carried_done) Carried a = bound_over("a.service", OF_A_SERVER);

        meet_leader(NULL, 0);
        order(&a, 5);
        await_failure("a.service", 1,
                      OF_A_SERVER ", where File=data is to be, is in /etc, where systemd itself looks, and "
                                  "lies on a file system of a server or "
                                  "of a program on this node");
        is_local_now = true;
        try_again_now("a.service");
        await_ask(1);
        answer_all(&a, 5);
        loop_until(pid1_is_active(pid1, "a.service"));
        is_local_now = false;
}

static void count_answer(const char *why, void *userdata) {
        assert_string_equal(why, NO_ANSWER(DEAD "more"));
        ++*(unsigned *) userdata;
}

static void those_who_wait_are_answered_some_in_each_turn(void **state) {
        enum { MANY = 40 };
        _cleanup_(carried_done) Carried a = bound_over("a.service", DEAD "a");
        unsigned n = 0, read;

        meet_leader(NULL, 0);
        order(&a, 5);
        loop_until(n_stuck == 1);
        await_no_longer();
        await_failure("a.service", 1, NO_ANSWER(DEAD "a"));
        for (unsigned i = 0; i < MANY; i++) {
                AgentPlaces places = {.list = calloc(1, sizeof(*places.list)), .n = 1};

                assert_non_null(places.list);
                places.list[0] = (struct AgentPlace){
                        .path = strdup(DEAD "more"), .source = strdup("data"), .is_file = true};
                assert_int_equal(agent_places_look(w.agent, &places, count_answer, &n), 0);
        }
        read = n_tables;
        agent_places_turn(w.agent);
        assert_true(n > 0 && n < MANY);
        assert_int_equal(n_tables, read + 1);
        loop_until(n == MANY);
        let_dead_be();
        is_alive_again = false;
}

// No thread is left for any other.
static void with_too_many_dead_ones_nothing_is_looked_at(void **state) {
        static const char *const units[] = {"a.service", "b.service", "c.service"};
        Carried many[3], alive = bound_over("d.service", ALIVE);

        meet_leader(NULL, 0);
        for (unsigned i = 0; i < 3; i++) {
                many[i] = bound_over(units[i], printed(DEAD "%u", i));
                one_mount_for_each = true;
                order(&many[i], 5 + i);
                loop_until(n_stuck == i + 1);
                await_no_longer();
        }
        order(&alive, 9);
        await_failure("d.service", 1,
                      ALIVE ", where File=data is to be, cannot be looked at, since 3 looks at other places "
                            "of this node get no answer, as that at " DEAD "2");
        let_dead_be();
        one_mount_for_each = false;
        try_again_now("d.service");
        await_ask(1);
        answer_all(&alive, 9);
        loop_until(pid1_is_active(pid1, "d.service"));
        is_alive_again = false;
        for (unsigned i = 0; i < 3; i++)
                buf_done(&many[i].content);
        buf_done(&alive.content);
}

// What runs is not touched for a start that cannot be, and a stop does not wait for the look.
static void a_stop_overtakes_a_look_and_so_does_the_end(void **state) {
        _cleanup_(carried_done) Carried a = bound_over("a.service", DEAD "a");

        meet_leader(NULL, 0);
        order(&a, 5);
        loop_until_stuck_and_let_be();
        await_ask(1);
        answer(&a);
        loop_until_stuck_and_let_be();
        loop_until(pid1_is_active(pid1, "a.service") && answered("a.service", 5));
        send_order((Order){.name = a.unit,
                           .content = (const char *) a.content.data,
                           .revision = 6,
                           .start = 5,
                           .restart = 6});
        loop_until(n_stuck == 1);
        assert_true(pid1_is_active(pid1, "a.service"));
        send_order((Order){.name = a.unit,
                           .content = (const char *) a.content.data,
                           .loaded_only = true,
                           .revision = 7,
                           .start = 5,
                           .restart = 6,
                           .stop = 7});
        loop_until(answered("a.service", 7));
        assert_false(pid1_is_active(pid1, "a.service"));
        assert_int_equal(pid1_runs(pid1, "a.service"), 1);
        assert_int_equal(n_stuck, 1);
        agent_down(); // which does not wait for it either
        assert_int_equal(n_stuck, 1);
        uv_sem_post(&let_be);
        agent_up();
}

// Before a restart, while what is to be restarted still runs.
static void what_is_bound_to_a_unit_that_is_looked_at_does_not_go_along_with_it(void **state) {
        _cleanup_(carried_done) Carried a = bound_over("a.service", DEAD "a");

        meet_leader(NULL, 0);
        is_alive_again = true;
        order(&a, 5);
        await_ask(1);
        answer_all(&a, 5);
        order_and_wait((Order){.name = "b.service",
                           .content = "[Unit]\nBindsTo=a.service\n[Service]\nExecStart=/bin/sleep 3\n",
                           .revision = 6,
                           .start = 6});
        is_alive_again = false;
        send_order((Order){.name = a.unit,
                           .content = (const char *) a.content.data,
                           .revision = 7,
                           .start = 5,
                           .restart = 7});
        loop_until(n_stuck == 1);
        pid1_stop(pid1, "b.service"); // by hand
        loop_until(report_of("b.service")->down != ARGOSY__DOWN_CAUSE__DOWN_NOT);
        Argosy__DownCause cause = report_of("b.service")->down;
        let_dead_be();
        assert_int_equal(cause, ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        loop_until(answered("a.service", 7));
        is_alive_again = false;
}

// -------------------------------------------------------------------------------- refused for what may pass

static void refused(const Carried *c, uint64_t revision, const char *why) {
        order(c, revision);
        await_failure(c->unit, 1, why);
        assert_true(report_of(c->unit)->refused);
        send_order((Order){.name = c->unit, .remove = true, .revision = revision + 1});
        loop_until(is_gone(c->unit));
        assert_true(w.agent->barred.due_us > clock_boot_us());
}

// As if the time had passed.
static void look_at_what_is_barred(void) {
        w.agent->barred.due_us = 1;
        drain_mark(&w.agent->drain);
        loop_until(w.agent->barred.due_us != 1);
}

static void the_leader_hears_when_a_place_has_come(void **state) {
        _cleanup_(carried_done) Carried c = bound_over("web.service", PLACE),
                                        other = bound_over("other.service", PLACE);

        meet_leader(NULL, 0);
        place_error = ENOENT;
        refused(&c, 5, PLACE ", where File=data is to be, does not exist on this node");
        refused(&other, 7, PLACE ", where File=data is to be, does not exist on this node");
        look_at_what_is_barred();
        assert_int_equal(w.n_admits, 0);
        place_error = 0;
        w.cut = true; // what cannot be said is said after the next look
        look_at_what_is_barred();
        w.cut = false;
        assert_int_equal(w.agent->barred.names.count, 2);
        look_at_what_is_barred();
        assert_int_equal(w.n_admits, 1);
        assert_int_equal(w.admits->admits->n_units, 2);
        assert_string_equal(w.admits->admits->units[0], "web.service");
        assert_int_equal(w.admits->admits->node, w.agent->system->number);
        assert_int_equal(w.agent->barred.names.count, 0); // and nothing is looked at any more
        assert_int_equal(w.agent->barred.due_us, 0);
}

// The leader remembers one reason of a node, and that is the name by then.
static void what_is_refused_for_its_name_by_then_is_not_waited_for(void **state) {
        _cleanup_(carried_done) Carried c = bound_over("web.service", PLACE);

        meet_leader(NULL, 0);
        place_error = ENOENT;
        refused(&c, 5, PLACE ", where File=data is to be, does not exist on this node");
        assert_int_equal(w.agent->barred.names.count, 1);
        place_error = 0;
        write_foreign("web.service");
        order(&c, 7);
        await_ask(1);
        answer_all(&c, 7);
        assert_true(report_of("web.service")->refused);
        assert_non_null(strstr(error_of("web.service"), "the name belongs to somebody else on this node"));
        assert_int_equal(w.agent->barred.names.count, 0);
        look_at_what_is_barred();
        assert_int_equal(w.n_admits, 0);
}

static void the_leader_hears_when_a_dead_file_system_answers_again(void **state) {
        _cleanup_(carried_done) Carried a = bound_over("a.service", DEAD "a");

        meet_leader(NULL, 0);
        order(&a, 5);
        loop_until(n_stuck == 1);
        await_no_longer();
        await_failure("a.service", 1, NO_ANSWER(DEAD "a"));
        look_at_what_is_barred(); // no other thread goes there
        assert_int_equal(n_stuck, 1);
        assert_int_equal(w.n_admits, 0);
        let_dead_be();
        look_at_what_is_barred();
        assert_int_equal(w.n_admits, 1);
        is_alive_again = false;
}

static void the_leader_hears_when_there_is_room(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", small, sizeof(small) - 1);

        meet_leader(NULL, 0);
        disk_room_free = 250000;
        refused(&c, 5, "its files: a quarter of the memory of /run has to stay free on this node");
        look_at_what_is_barred();
        assert_int_equal(w.n_admits, 0);
        disk_room_free++;
        look_at_what_is_barred();
        assert_int_equal(w.n_admits, 1);
}

// Whatever there is room for: it is told to nobody that the next look of the agent would refuse.
static void a_users_argosyd_never_says_that_it_takes_files(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", small, sizeof(small) - 1);

        meet_leader(NULL, 0);
        w.agent->user = true;
        order(&c, 5);
        await_failure("web.service", 1,
                      "a unit with files of its own (File=) runs under a host's system manager only");
        assert_true(report_of("web.service")->refused);
        assert_int_equal(w.agent->barred.names.count, 0);
        w.agent->user = false;
}

// Of units that are gone nobody says so.
static void those_that_were_refused_last_are_remembered(void **state) {
        _cleanup_(carried_done) Carried c = carried("web.service", small, sizeof(small) - 1);
        AgentCarried none = {};
        AgentSpec spec = {.carried = &none};
        AgentUnitWork work = {.spec = &spec};
        _cleanup_free_ AgentUnit *gone = calloc(1, sizeof(*gone) + UNIT_NAME_MAX + 1);

        assert_non_null(gone);
        meet_leader(NULL, 0);
        disk_room_free = 0;
        gone->node = w.agent->system;
        gone->work = &work;
        for (unsigned i = 0; i < AGENT_BARRED_MAX; i++) {
                str_fit(gone->name, UNIT_NAME_MAX + 1, "gone-%u.service", i);
                agent_barred_note(gone);
        }
        assert_int_equal(w.agent->barred.names.count, AGENT_BARRED_MAX);
        refused(&c, 5, "its files: a quarter of the memory of /run has to stay free on this node");
        assert_int_equal(w.agent->barred.names.count, AGENT_BARRED_MAX);
        assert_non_null(map_find_str(&w.agent->barred.names, "web.service"));
        assert_null(map_find_str(&w.agent->barred.names, "gone-0.service"));
        assert_non_null(map_find_str(&w.agent->barred.names, "gone-1.service"));
        disk_room_free = 1000000;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORLD_TEST(a_place_that_cannot_be_seen_is_none),
                WORLD_TEST(a_dead_file_system_is_no_place_and_holds_up_nobody_else),
                WORLD_TEST(what_hangs_behind_a_link_bars_what_lies_beneath_the_link),
                WORLD_TEST(a_dead_file_system_is_known_by_its_device),
                WORLD_TEST(a_link_that_leads_to_the_system_is_no_place),
                WORLD_TEST(what_systemd_would_hang_with_is_no_place),
                WORLD_TEST(those_who_wait_are_answered_some_in_each_turn),
                WORLD_TEST(with_too_many_dead_ones_nothing_is_looked_at),
                WORLD_TEST(a_stop_overtakes_a_look_and_so_does_the_end),
                WORLD_TEST(what_is_bound_to_a_unit_that_is_looked_at_does_not_go_along_with_it),
                WORLD_TEST(the_leader_hears_when_a_place_has_come),
                WORLD_TEST(what_is_refused_for_its_name_by_then_is_not_waited_for),
                WORLD_TEST(the_leader_hears_when_a_dead_file_system_answers_again),
                WORLD_TEST(the_leader_hears_when_there_is_room),
                WORLD_TEST(a_users_argosyd_never_says_that_it_takes_files),
                WORLD_TEST(those_that_were_refused_last_are_remembered),
        };

        assert_int_equal(uv_sem_init(&let_be, 0), 0);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
