// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The agent and the files that come with units: asked of the leader piece by piece, of another leader from where the first one stopped, and
// nothing that runs is touched before all of them are here.
#include "agent-world.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "agent-jobs.h"
#include "agent-places.h"
#include "agent-private.h"
#include "buf.h"
#include "carried-files.h"
#include "clock.h"
#include "disk-room.h"
#include "plan.h"

enum { PIECE = 64 * 1024, LARGE = 2 * PIECE + 1000 };

static uint8_t large[LARGE], small[] = "COLOUR=red\n";

// What the test answers with, and its file with the manifest of one file: fake PID 1 runs it as any other.
typedef struct Carried {
        const char *unit;
        const uint8_t *bytes;
        size_t len;
        Hash hash;
        Buf content; // with a zero behind it
} Carried;

static Carried carried_beside(const char *unit, const char *text, const uint8_t *bytes, size_t len) {
        _cleanup_carried_files_ CarriedFiles files = {};
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        _cleanup_free_ char *why = NULL;
        Carried c = {.unit = unit, .bytes = bytes, .len = len, .hash = hash_of(bytes, len)};

        assert_int_equal(unit_file_parse(unit, text, strlen(text), &file, &why), 0);
        assert_int_equal(carried_files_add(&files, "data", false, len, &c.hash), 0);
        assert_int_equal(buf_append(&c.content, text, strlen(text)), 0);
        assert_int_equal(carried_files_compose(unit, file, &files, &c.content, &why), 0);
        assert_int_equal(buf_append(&c.content, "", 1), 0);
        return c;
}

static Carried carried(const char *unit, const uint8_t *bytes, size_t len) {
        return carried_beside(unit, "[Service]\nExecStart=/bin/sleep 3\n[X-Argosy]\nFile=data\n", bytes, len);
}

static void order(const Carried *c, uint64_t revision) {
        send_order((Order){.name = c->unit, .content = (const char *) c->content.data, .revision = revision, .start = revision});
}

static void meet(const Carried *c, uint64_t revision) {
        const Order o = {.name = c->unit, .content = (const char *) c->content.data, .revision = revision, .start = revision};

        w.term++;
        meet_leader(&o, 1);
}

// ------------------------------------------------------------------------------------------------ the leader's side

static void send_piece(const Hash *hash, uint64_t from, uint64_t size, const uint8_t *bytes, size_t len, bool there) {
        Argosy__ToHost__FilePiece piece = ARGOSY__TO_HOST__FILE_PIECE__INIT;
        Argosy__ToHost m = ARGOSY__TO_HOST__INIT;

        piece.hash = (ProtobufCBinaryData){HASH_SIZE, (uint8_t *) hash->bytes};
        piece.from = from;
        piece.size = size;
        piece.piece = (ProtobufCBinaryData){len, (uint8_t *) bytes};
        piece.there = there;
        m.msg_case = ARGOSY__TO_HOST__MSG_FILE_PIECE;
        m.file_piece = &piece;
        agent_on_message(w.agent, &m);
}

// As the leader does it.
static void answer(const Carried *c) {
        uint64_t from = w.file_asked_from;

        assert_true(hash_equal(&w.file_asked, &c->hash));
        send_piece(&c->hash, from, c->len, c->bytes + from, MIN_OF(c->len - from, (size_t) PIECE), true);
}

static void await_ask(unsigned number) {
        loop_until(w.n_file_asks >= number);
        assert_int_equal(w.n_file_asks, number);
}

// ------------------------------------------------------------------------------------------------ on the disk

static bool is_there(const char *path) {
        _cleanup_free_ char *full = str_printf("%s/%s", w.dir, path);

        return access(full, F_OK) == 0;
}

static bool store_has(const Carried *c) {
        char hex[HASH_HEX_SIZE];
        _cleanup_free_ char *path = NULL;

        hash_hex(&c->hash, HASH_SIZE, hex);
        path = str_printf("files/%s", hex);
        return is_there(path);
}

static void answer_all(const Carried *c, uint64_t revision) {
        for (unsigned n = w.n_file_asks; !store_has(c); n++) {
                answer(c);
                loop_until(store_has(c) || w.n_file_asks > n);
        }
        loop_until(answered(c->unit, revision));
}

static const char *error_of(const char *unit) {
        const Argosy__UnitReport *r = report_of(unit);

        return r && r->error ? r->error : "";
}

static AgentUnit *find(const char *unit) {
        return agent_unit_find(CONTAINER_OF(w.agent->nodes.next, AgentNode, in_agent), unit);
}

// The same word is reported once.
static void await_failure(const char *unit, unsigned number, const char *why) {
        loop_until(find(unit) && find(unit)->work && find(unit)->work->failures == number);
        loop_until(*error_of(unit));
        assert_string_equal(error_of(unit), why);
}

static void try_again_now(const char *unit) {
        AgentUnit *u = find(unit);

        assert_non_null(u->work);
        assert_true(u->work->retry_us > 0);
        u->work->retry_us = clock_boot_us();
        agent_unit_mark(u);
}

// ------------------------------------------------------------------------------------------------ tests

static void a_file_comes_piece_by_piece_and_the_unit_starts_behind_the_last(void **state) {
        Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&c, 5);
        for (unsigned i = 0; i < 3; i++) {
                await_ask(i + 1);
                assert_int_equal(w.file_asked_from, i * PIECE);
                assert_string_equal(w.file_asked_for, "web.service");
                assert_false(has_file("web.service"));
                assert_int_equal(pid1_runs(pid1, "web.service"), 0);
                answer(&c);
        }
        loop_until(answered("web.service", 5));
        assert_int_equal(w.n_file_asks, 3);
        assert_true(is_there("units/web.service/data") && store_has(&c));
        assert_true(pid1_is_active(pid1, "web.service"));
        buf_done(&c.content);
}

static void another_leader_is_asked_for_the_rest(void **state) {
        Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&c, 5);
        await_ask(1);
        answer(&c);
        await_ask(2); // which nobody answers any more
        w.cut = true;
        agent_on_leader(w.agent, 0, 0);
        w.cut = false;
        meet(&c, 5);
        await_ask(3);
        assert_int_equal(w.file_asked_from, PIECE);
        answer_all(&c, 5);
        assert_true(pid1_is_active(pid1, "web.service"));
        buf_done(&c.content);
}

// An answer that was on its way when the next leader was attached to.
static void what_the_former_leader_says_late_is_passed_over(void **state) {
        Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&c, 5);
        await_ask(1);
        answer(&c);
        await_ask(2);
        agent_on_leader(w.agent, 1, ++w.term);
        loop_until(w.n_attaches == 2);
        answer(&c);
        send_welcome((Order[]){{.name = "web.service", .content = (const char *) c.content.data, .revision = 5, .start = 5}}, 1, 60000);
        await_ask(3);
        assert_int_equal(w.file_asked_from, PIECE);
        answer_all(&c, 5);
        assert_true(is_there("units/web.service/data"));
        buf_done(&c.content);
}

static void what_nobody_asked_for_is_passed_over(void **state) {
        Carried c = carried("web.service", large, LARGE);
        Hash other = hash_of("x", 1);

        meet_leader(NULL, 0);
        send_piece(&c.hash, 0, c.len, large, PIECE, true); // of no order
        order(&c, 5);
        await_ask(1);
        send_piece(&other, 0, 1, (const uint8_t *) "x", 1, true);
        send_piece(&c.hash, PIECE, c.len, large + PIECE, PIECE, true);
        send_piece(&(Hash){}, 0, 0, NULL, 0, false);
        assert_int_equal(w.n_file_asks, 1);
        answer(&c);
        await_ask(2);
        assert_int_equal(w.file_asked_from, PIECE);
        answer_all(&c, 5);
        buf_done(&c.content);
}

// The unit runs on with what it has, says why, and gets its file when the right one comes.
static void a_file_with_another_hash_stops_nothing(void **state) {
        Carried c = carried("web.service", large, LARGE);
        static uint8_t wrong[LARGE];

        memcpy(wrong, large, LARGE);
        wrong[LARGE - 1] ^= 1;
        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        order(&c, 6);
        for (unsigned i = 1; i <= 3; i++) {
                await_ask(i);
                send_piece(&c.hash, w.file_asked_from, LARGE, wrong + w.file_asked_from, MIN_OF(LARGE - w.file_asked_from, (size_t) PIECE), true);
        }
        await_failure("web.service", 1, "its file data: what came is not what it is to be");
        assert_false(store_has(&c) || is_there("units/web.service"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        assert_string_equal(pid1_content(pid1, "web.service"), web);
        try_again_now("web.service");
        await_ask(4);
        assert_int_equal(w.file_asked_from, 0);
        answer_all(&c, 6);
        loop_until(pid1_runs(pid1, "web.service") == 2 && !*error_of("web.service"));
        assert_true(pid1_is_active(pid1, "web.service"));
        buf_done(&c.content);
}

static void a_file_of_another_size_is_not_taken(void **state) {
        static const struct {
                uint64_t size, len;
        } wrong[] = {{LARGE + 1, PIECE}, {PIECE, PIECE}, {LARGE, 0}, {LARGE, LARGE + 1}};
        static uint8_t longer[LARGE + 1];
        Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&c, 5);
        for (unsigned i = 0; i < ELEMENTSOF(wrong); i++) {
                if (i > 0)
                        try_again_now("web.service");
                await_ask(i + 1);
                send_piece(&c.hash, 0, wrong[i].size, longer, wrong[i].len, true);
                await_failure("web.service", i + 1, "its file data: what came is not what it is to be");
        }
        assert_false(has_file("web.service"));
        buf_done(&c.content);
}

static void what_the_cluster_does_not_have_any_more_is_said(void **state) {
        Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&c, 5);
        await_ask(1);
        send_piece(&c.hash, 0, 0, NULL, 0, false);
        await_failure("web.service", 1, "its file data: the unit does not have it any more");
        buf_done(&c.content);
}

// PID 1 needs room in /run. What runs there runs on, and there is no part of the file.
static void a_host_without_room_says_so_and_goes_on_when_there_is_some(void **state) {
        Carried c = carried("web.service", large, LARGE);

        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        disk_room_free = 250000 + LARGE / 4096; // one block less than it needs
        order(&c, 6);
        await_failure("web.service", 1, "its files: a quarter of the memory of /run has to stay free on this node");
        assert_int_equal(w.n_file_asks, 0);
        disk_room_free++;
        try_again_now("web.service");
        for (unsigned i = 1; i <= 3; i++) {
                await_ask(i);
                disk_room_free -= i == 3; // somebody else has taken it meanwhile
                answer(&c);
        }
        loop_until(find("web.service")->work->failures == 2);
        loop_until(streq(error_of("web.service"), "its file data: a quarter of the memory of /run has to stay free on this node"));
        assert_true(pid1_is_active(pid1, "web.service") && pid1_runs(pid1, "web.service") == 1);
        assert_false(store_has(&c) || is_there("units/web.service"));
        disk_room_free++;
        try_again_now("web.service");
        await_ask(4);
        answer_all(&c, 6);
        loop_until(pid1_runs(pid1, "web.service") == 2 && !*error_of("web.service"));
        buf_done(&c.content);
}

// The unit that waits for it can be stopped and removed, and holds up no other one.
static void a_piece_that_never_comes_holds_up_nothing_else(void **state) {
        Carried c = carried("web.service", large, LARGE), other = carried("other.service", small, sizeof(small) - 1);

        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        order(&c, 6);
        await_ask(1);
        send_order((Order){.name = "plain.service", .content = web2, .revision = 7, .start = 7});
        loop_until(answered("plain.service", 7));
        assert_true(pid1_is_active(pid1, "web.service"));
        send_order((Order){.name = "web.service", .content = web, .loaded_only = true, .revision = 8, .stop = 8});
        loop_until(answered("web.service", 8));
        assert_false(pid1_is_active(pid1, "web.service"));
        order(&c, 9);
        send_order((Order){.name = "web.service", .remove = true, .revision = 10});
        loop_until(is_gone("web.service"));
        // It comes after all, for nobody: the rest is not asked for, and what others wait for is.
        order(&other, 11);
        assert_int_equal(w.n_file_asks, 1);
        answer(&c);
        await_ask(2);
        assert_string_equal(w.file_asked_for, "other.service");
        answer_all(&other, 11);
        assert_false(store_has(&c) || is_there("units/web.service"));
        assert_true(store_has(&other));
        buf_done(&c.content);
        buf_done(&other.content);
}

static void a_content_is_fetched_once_for_all_who_wait_for_it(void **state) {
        Carried a = carried("a.service", large, LARGE), b = carried("b.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&a, 5);
        order(&b, 6);
        await_ask(1);
        answer_all(&a, 5);
        loop_until(answered("b.service", 6));
        assert_int_equal(w.n_file_asks, 3); // the pieces of one
        send_order((Order){.name = "a.service", .remove = true, .revision = 7});
        loop_until(is_gone("a.service"));
        assert_true(store_has(&a) && is_there("units/b.service/data"));
        send_order((Order){.name = "b.service", .remove = true, .revision = 8});
        loop_until(is_gone("b.service"));
        assert_false(store_has(&b));
        buf_done(&a.content);
        buf_done(&b.content);
}

static bool waits_for_files(const char *unit) {
        const AgentUnit *u = find(unit);

        return u && u->work && list_is_linked(&u->work->files_wanted);
}

// The leader answers for the unit in whose name the piece was asked for. The others go on with what has come.
static void a_refusal_for_one_unit_is_none_for_another_that_waits(void **state) {
        Carried a = carried("a.service", large, LARGE), b = carried("b.service", large, LARGE), c = carried("c.service", large, LARGE);

        meet_leader(NULL, 0);
        order(&a, 5);
        await_ask(1);
        order(&b, 6);
        loop_until(waits_for_files("b.service"));
        order(&c, 7);
        loop_until(waits_for_files("c.service"));
        answer(&a);
        await_ask(2);
        assert_string_equal(w.file_asked_for, "a.service");
        send_piece(&a.hash, PIECE, 0, NULL, 0, false);
        await_ask(3);
        await_failure("a.service", 1, "its file data: the unit does not have it any more");
        assert_string_equal(w.file_asked_for, "b.service");
        assert_int_equal(w.file_asked_from, PIECE);
        send_order((Order){.name = "b.service", .remove = true, .revision = 8});
        loop_until(is_gone("b.service"));
        send_piece(&b.hash, PIECE, 0, NULL, 0, false);
        await_ask(4);
        assert_string_equal(w.file_asked_for, "c.service");
        answer_all(&c, 7);
        assert_string_equal(error_of("c.service"), "");
        buf_done(&a.content);
        buf_done(&b.content);
        buf_done(&c.content);
}

// What the last unit leaves and the next one is about to get stays.
static void a_file_that_one_leaves_and_another_gets_stays(void **state) {
        Carried a = carried("a.service", large, LARGE), b = carried("b.service", large, LARGE);
        unsigned n;

        meet_leader(NULL, 0);
        order(&a, 5);
        await_ask(1);
        answer_all(&a, 5);
        n = w.n_file_asks;
        for (uint64_t revision = 6; revision < 26; revision += 4) { // the pool may be faster or slower
                order(&b, revision);
                send_order((Order){.name = "a.service", .remove = true, .revision = revision + 1});
                loop_until(answered("b.service", revision) && is_gone("a.service"));
                order(&a, revision + 2);
                send_order((Order){.name = "b.service", .remove = true, .revision = revision + 3});
                loop_until(answered("a.service", revision + 2) && is_gone("b.service"));
                assert_string_equal(error_of("a.service"), "");
                forget_reports();
        }
        assert_int_equal(w.n_file_asks, n);
        buf_done(&a.content);
        buf_done(&b.content);
}

static void a_new_run_of_argosyd_asks_from_the_beginning_and_keeps_what_is_whole(void **state) {
        Carried a = carried("a.service", small, sizeof(small) - 1), b = carried("b.service", large, LARGE);
        const Order both[] = {{.name = "a.service", .content = (const char *) a.content.data, .revision = 5, .start = 5},
                              {.name = "b.service", .content = (const char *) b.content.data, .revision = 6, .start = 6}};

        meet_leader(NULL, 0);
        order(&a, 5);
        await_ask(1);
        answer_all(&a, 5);
        order(&b, 6);
        await_ask(2);
        answer(&b);
        await_ask(3);
        agent_down();
        agent_up();
        w.term++;
        meet_leader(both, 2);
        await_ask(4);
        assert_int_equal(w.file_asked_from, 0);
        answer_all(&b, 6);
        assert_int_equal(pid1_runs(pid1, "a.service"), 1);
        assert_true(is_there("units/a.service/data") && is_there("units/b.service/data"));
        buf_done(&a.content);
        buf_done(&b.content);
}

// As an earlier run leaves it that has removed the unit and not lived to record that. The unit is not touched.
static void a_folder_that_has_gone_while_argosyd_was_down_is_made_again(void **state) {
        Carried a = carried("a.service", small, sizeof(small) - 1);
        _cleanup_free_ char *data = str_printf("%s/units/a.service/data", w.dir), *folder = str_printf("%s/units/a.service", w.dir);

        meet_leader(NULL, 0);
        order(&a, 5);
        await_ask(1);
        answer_all(&a, 5);
        agent_down();
        assert_int_equal(unlink(data), 0);
        assert_int_equal(rmdir(folder), 0);
        agent_up();
        meet(&a, 5);
        await_ask(2);
        answer_all(&a, 5);
        loop_until(is_there("units/a.service/data"));
        assert_int_equal(pid1_runs(pid1, "a.service"), 1);
        buf_done(&a.content);
}

#define CHANGES(line, change) "[Service]\nExecStart=/bin/sleep 3\n" line "[X-Argosy]\nFile=data\nFileChange=" change "\n"

// As one that finds no more room in /run.
static void files_that_could_not_be_put_in_place_go_back_without_a_stop(void **state) {
        Carried a = carried_beside("web.service", CHANGES("", "none"), small, sizeof(small) - 1), b = carried_beside("web.service", CHANGES("", "none"), large, LARGE);
        _cleanup_free_ char *in_the_way = str_printf("%s/units/web.service/..next", w.dir);

        meet_leader(NULL, 0);
        order(&a, 5);
        await_ask(1);
        answer_all(&a, 5);
        assert_int_equal(mkdir(in_the_way, 0755), 0);
        order(&b, 6);
        for (unsigned i = 2; i <= 4; i++) {
                await_ask(i);
                answer(&b);
        }
        loop_until(find("web.service")->work && find("web.service")->work->failures == 1 && str_has_suffix(error_of("web.service"), ": Is a directory"));
        assert_int_equal(rmdir(in_the_way), 0);
        order(&a, 7);
        loop_until(answered("web.service", 7) && !*error_of("web.service"));
        assert_true(pid1_is_active(pid1, "web.service"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 1);
        assert_true(is_there("units/web.service/data"));
        buf_done(&a.content);
        buf_done(&b.content);
}

// The place that it is bound over, of a host whose argosyd is no more than another user there.
#define PLACE "/srv/argosy-test/place"
#define DEAD "/dead/"       // no path below it is answered before the test lets it be
#define ALIVE "/alive/place"
static int place_error;
static unsigned n_place_asks;
static _Atomic unsigned n_stuck, n_let_be; // looks that a dead file system has, and had
static uv_sem_t let_be;
static _Atomic bool is_alive_again;
static bool one_mount_for_each; // path below DEAD, with a device of its own
static unsigned n_tables; // how often the table of mounts was read
#define LINK_TO_DEAD "/alive/link-to-dead" // what hangs is only known to lie behind it
#define LINK_SEEN "/link-seen"       // which is seen to lead to the device of DEAD
enum { ROOT_MINOR = 50, ALIVE_MINOR, DEAD_MINOR, MOUNTED_ANEW_MINOR, FIRST_MINOR };
static _Atomic unsigned dead_minor = DEAD_MINOR;

int __wrap_mount_table_read(Buf *ret);
int __wrap_mount_table_read(Buf *ret) {
        n_tables++;
        assert_int_equal(buf_printf(ret, "1 0 0:%u / / rw\n2 1 0:%u / /alive rw\n3 1 0:%u / /dead rw\n", (unsigned) ROOT_MINOR,
                                    (unsigned) ALIVE_MINOR, dead_minor), 0);
        for (unsigned i = 0; one_mount_for_each && i < 3; i++)
                assert_int_equal(buf_printf(ret, "%u 1 0:%u / " DEAD "%u rw\n", 4 + i, FIRST_MINOR + i, i), 0);
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

int __real_statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret);
int __wrap_statx(int dir, const char *path, int flags, unsigned mask, struct statx *ret) {
        bool is_link = streq(path, LINK_TO_DEAD) || streq(path, LINK_SEEN), follows = !(flags & AT_SYMLINK_NOFOLLOW);

        if ((str_has_prefix(path, DEAD) || (streq(path, LINK_TO_DEAD) && follows)) && !is_alive_again)
                hang();
        if (streq(path, "/etc/argosy-test"))
                return __real_statx(dir, "/etc", flags, mask, ret);
        if (streq(path, "/dead") || streq(path, "/alive") || streq(path, "/srv/argosy-test") || is_link) {
                *ret = (struct statx){.stx_mode = is_link && !follows ? S_IFLNK : S_IFDIR};
                ret->stx_dev_minor = streq(path, "/dead") || (streq(path, LINK_SEEN) && follows) ? dead_minor
                                     : str_has_prefix(path, "/alive")                                    ? (unsigned) ALIVE_MINOR
                                                                                                         : (unsigned) ROOT_MINOR;
                return 0;
        }
        if (str_has_prefix(path, DEAD) || streq(path, ALIVE) || streq(path, OF_A_SERVER) || str_has_prefix(path, LINK_TO_DEAD) || str_has_prefix(path, LINK_SEEN)) {
                *ret = (struct statx){.stx_mode = S_IFREG};
                ret->stx_dev_minor = streq(path, ALIVE) ? ALIVE_MINOR : ROOT_MINOR;
                return 0;
        }
        if (!streq(path, PLACE))
                return __real_statx(dir, path, flags, mask, ret);
        n_place_asks++;
        assert_int_equal(flags, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW); // no file server is asked, nor anything mounted
        *ret = (struct statx){.stx_mode = S_IFREG};
        errno = place_error;
        return place_error ? -1 : 0;
}

static void a_place_that_cannot_be_seen_is_none(void **state) {
        Carried c = carried_beside("web.service", "[Service]\nExecStart=/bin/sleep 3\n[X-Argosy]\nFile=data:" PLACE "\n", small, sizeof(small) - 1);

        meet_leader(NULL, 0);
        send_order((Order){.name = "web.service", .content = web, .revision = 5, .start = 5});
        loop_until(answered("web.service", 5));
        place_error = EACCES;
        order(&c, 6);
        await_failure("web.service", 1, PLACE ", where File=data is to be, lies in a folder that is closed to others, so that argosyd cannot see it on this node");
        assert_int_equal(w.n_file_asks, 0);
        place_error = 0;
        n_place_asks = 0;
        try_again_now("web.service");
        await_ask(1);
        answer_all(&c, 6);
        assert_true(n_place_asks > 0 && pid1_is_active(pid1, "web.service"));
        buf_done(&c.content);
}

static Carried bound_over(const char *unit, const char *place) {
        _cleanup_free_ char *text = str_printf("[Service]\nExecStart=/bin/sleep 3\n[X-Argosy]\nFile=data:%s\n", place);

        return carried_beside(unit, text, small, sizeof(small) - 1);
}

#define NO_ANSWER(place) place ", where File=data is to be, lies on a file system that does not answer on this node"

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
        Carried a = bound_over("a.service", DEAD "a"), b = bound_over("b.service", ALIVE), c = bound_over("c.service", DEAD "c");

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
        is_alive_again = false;
        buf_done(&a.content);
        buf_done(&b.content);
        buf_done(&c.content);
}

// What the link leads to is not known, and nothing else is blamed for it.
static void what_hangs_behind_a_link_bars_what_lies_beneath_the_link(void **state) {
        Carried a = bound_over("a.service", LINK_TO_DEAD "/a"), b = bound_over("b.service", ALIVE), c = bound_over("c.service", LINK_TO_DEAD "/c");

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
        buf_done(&a.content);
        buf_done(&b.content);
        buf_done(&c.content);
}

// A path may lead there by a link, and the place may have been given to another file system.
static void a_dead_file_system_is_known_by_its_device(void **state) {
        Carried a = bound_over("a.service", DEAD "a"), b = bound_over("b.service", LINK_SEEN "/b"), c = bound_over("c.service", DEAD "c");

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
        buf_done(&a.content);
        buf_done(&b.content);
        buf_done(&c.content);
}

// It looks at places in /etc at any start, whoever makes it.
static void what_systemd_would_hang_with_is_no_place(void **state) {
        Carried a = bound_over("a.service", OF_A_SERVER);

        meet_leader(NULL, 0);
        order(&a, 5);
        await_failure("a.service", 1, OF_A_SERVER ", where File=data is to be, is in /etc, where systemd itself looks, and lies on a file system of a server or "
                                                  "of a program on this node");
        is_local_now = true;
        try_again_now("a.service");
        await_ask(1);
        answer_all(&a, 5);
        loop_until(pid1_is_active(pid1, "a.service"));
        is_local_now = false;
        buf_done(&a.content);
}

static void count_answer(const char *why, void *userdata) {
        assert_string_equal(why, NO_ANSWER(DEAD "more"));
        ++*(unsigned *) userdata;
}

static void those_who_wait_are_answered_some_in_each_turn(void **state) {
        enum { MANY = 40 };
        Carried a = bound_over("a.service", DEAD "a");
        unsigned n = 0, read;

        meet_leader(NULL, 0);
        order(&a, 5);
        loop_until(n_stuck == 1);
        await_no_longer();
        await_failure("a.service", 1, NO_ANSWER(DEAD "a"));
        for (unsigned i = 0; i < MANY; i++) {
                AgentPlaces places = {.list = calloc(1, sizeof(*places.list)), .n = 1};

                assert_non_null(places.list);
                places.list[0] = (struct AgentPlace){.path = strdup(DEAD "more"), .source = strdup("data"), .is_file = true};
                assert_int_equal(agent_places_look(w.agent, &places, count_answer, &n), 0);
        }
        read = n_tables;
        agent_places_turn(w.agent);
        assert_true(n > 0 && n < MANY);
        assert_int_equal(n_tables, read + 1);
        loop_until(n == MANY);
        let_dead_be();
        is_alive_again = false;
        buf_done(&a.content);
}

// No thread is left for any other.
static void with_too_many_dead_ones_nothing_is_looked_at(void **state) {
        static const char *const units[] = {"a.service", "b.service", "c.service"};
        Carried many[3], alive = bound_over("d.service", ALIVE);

        meet_leader(NULL, 0);
        for (unsigned i = 0; i < 3; i++) {
                _cleanup_free_ char *place = str_printf(DEAD "%u", i);

                many[i] = bound_over(units[i], place);
                one_mount_for_each = true;
                order(&many[i], 5 + i);
                loop_until(n_stuck == i + 1);
                await_no_longer();
        }
        order(&alive, 9);
        await_failure("d.service", 1, ALIVE ", where File=data is to be, cannot be looked at, since 3 looks at other places of this node get no answer, as that at " DEAD "2");
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
        Carried a = bound_over("a.service", DEAD "a");

        meet_leader(NULL, 0);
        order(&a, 5);
        loop_until_stuck_and_let_be();
        await_ask(1);
        answer(&a);
        loop_until_stuck_and_let_be();
        loop_until(pid1_is_active(pid1, "a.service") && answered("a.service", 5));
        send_order((Order){.name = a.unit, .content = (const char *) a.content.data, .revision = 6, .start = 5, .restart = 6});
        loop_until(n_stuck == 1);
        assert_true(pid1_is_active(pid1, "a.service"));
        send_order((Order){.name = a.unit, .content = (const char *) a.content.data, .loaded_only = true, .revision = 7, .start = 5, .restart = 6, .stop = 7});
        loop_until(answered("a.service", 7));
        assert_false(pid1_is_active(pid1, "a.service"));
        assert_int_equal(pid1_runs(pid1, "a.service"), 1);
        assert_int_equal(n_stuck, 1);
        agent_down(); // which does not wait for it either
        assert_int_equal(n_stuck, 1);
        uv_sem_post(&let_be);
        agent_up();
        buf_done(&a.content);
}

// Before a restart, while what is to be restarted still runs.
static void what_is_bound_to_a_unit_that_is_looked_at_does_not_go_along_with_it(void **state) {
        Carried a = bound_over("a.service", DEAD "a");
        Argosy__DownCause cause;

        meet_leader(NULL, 0);
        is_alive_again = true;
        order(&a, 5);
        await_ask(1);
        answer_all(&a, 5);
        send_order((Order){.name = "b.service", .content = "[Unit]\nBindsTo=a.service\n[Service]\nExecStart=/bin/sleep 3\n", .revision = 6, .start = 6});
        loop_until(answered("b.service", 6));
        is_alive_again = false;
        send_order((Order){.name = a.unit, .content = (const char *) a.content.data, .revision = 7, .start = 5, .restart = 7});
        loop_until(n_stuck == 1);
        pid1_stop(pid1, "b.service"); // by hand
        loop_until(report_of("b.service")->down != ARGOSY__DOWN_CAUSE__DOWN_NOT);
        cause = report_of("b.service")->down;
        let_dead_be();
        assert_int_equal(cause, ARGOSY__DOWN_CAUSE__DOWN_STOPPED);
        loop_until(answered("a.service", 7));
        is_alive_again = false;
        buf_done(&a.content);
}

static void start_anew(const char *unit) {
        pid1_stop(pid1, unit);
        pid1_start(pid1, unit);
        loop_until(find(unit)->watch.runtime.active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
}

// Whoever starts the unit anew, with Restart= or by hand, makes it read them; that it had been started so before does not.
static void files_that_a_failed_reload_did_not_read_are_read_by_the_next_run(void **state) {
        Carried a = carried_beside("web.service", CHANGES("ExecReload=false\n", "reload"), small, sizeof(small) - 1),
                b = carried_beside("web.service", CHANGES("ExecReload=false\n", "reload"), large, LARGE);

        meet_leader(NULL, 0);
        order(&a, 5);
        await_ask(1);
        answer_all(&a, 5);
        start_anew("web.service");
        order(&b, 6);
        for (unsigned i = 2; i <= 4; i++) {
                await_ask(i);
                answer(&b);
        }
        loop_until(str_has_prefix(error_of("web.service"), AGENT_RELOAD_FAILED_TEXT ": "));
        agent_down();
        agent_up();
        meet(&b, 6);
        loop_until(streq(error_of("web.service"), AGENT_RELOAD_FAILED_TEXT));
        assert_int_equal(find("web.service")->held.reload, LEDGER_RELOAD_FAILED);
        start_anew("web.service");
        loop_until(find("web.service")->held.reload == LEDGER_RELOAD_NONE);
        loop_until(!*error_of("web.service"));
        assert_int_equal(pid1_runs(pid1, "web.service"), 3);
        buf_done(&a.content);
        buf_done(&b.content);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                WORLD_TEST(a_file_comes_piece_by_piece_and_the_unit_starts_behind_the_last),
                WORLD_TEST(another_leader_is_asked_for_the_rest),
                WORLD_TEST(what_the_former_leader_says_late_is_passed_over),
                WORLD_TEST(what_nobody_asked_for_is_passed_over),
                WORLD_TEST(a_file_with_another_hash_stops_nothing),
                WORLD_TEST(a_file_of_another_size_is_not_taken),
                WORLD_TEST(what_the_cluster_does_not_have_any_more_is_said),
                WORLD_TEST(a_host_without_room_says_so_and_goes_on_when_there_is_some),
                WORLD_TEST(a_piece_that_never_comes_holds_up_nothing_else),
                WORLD_TEST(a_content_is_fetched_once_for_all_who_wait_for_it),
                WORLD_TEST(a_refusal_for_one_unit_is_none_for_another_that_waits),
                WORLD_TEST(a_file_that_one_leaves_and_another_gets_stays),
                WORLD_TEST(a_folder_that_has_gone_while_argosyd_was_down_is_made_again),
                WORLD_TEST(a_place_that_cannot_be_seen_is_none),
                WORLD_TEST(a_dead_file_system_is_no_place_and_holds_up_nobody_else),
                WORLD_TEST(what_hangs_behind_a_link_bars_what_lies_beneath_the_link),
                WORLD_TEST(a_dead_file_system_is_known_by_its_device),
                WORLD_TEST(what_systemd_would_hang_with_is_no_place),
                WORLD_TEST(those_who_wait_are_answered_some_in_each_turn),
                WORLD_TEST(with_too_many_dead_ones_nothing_is_looked_at),
                WORLD_TEST(a_stop_overtakes_a_look_and_so_does_the_end),
                WORLD_TEST(what_is_bound_to_a_unit_that_is_looked_at_does_not_go_along_with_it),
                WORLD_TEST(files_that_could_not_be_put_in_place_go_back_without_a_stop),
                WORLD_TEST(files_that_a_failed_reload_did_not_read_are_read_by_the_next_run),
                WORLD_TEST(a_new_run_of_argosyd_asks_from_the_beginning_and_keeps_what_is_whole),
        };

        assert_int_equal(uv_sem_init(&let_be, 0), 0);
        for (size_t i = 0; i < LARGE; i++)
                large[i] = (uint8_t) (i * 7 + i / 251);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
