// SPDX-License-Identifier: LGPL-2.1-or-later
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "test.h"

#include "client.h"
#include "clock.h"
#include "fake-daemon.h"
#include "frame.h"
#include "messages.h"

static const volatile sig_atomic_t not_interrupted, interrupted = 1;

static uint64_t in_seconds(unsigned n) {
        return clock_boot_us() + n * USEC_PER_SEC;
}

// Sends a Version request and returns what receiving says.
static int ask(Client *c, uint64_t deadline_us, Argosy__Response **ret) {
        Argosy__Request__Version version = ARGOSY__REQUEST__VERSION__INIT;
        int r = client_send(c, A_REQUEST(VERSION, version, &version), deadline_us);

        return r < 0 ? r : client_receive(c, deadline_us, ret);
}

static void run(FakeScript script, int expected, bool lost, const char *why) {
        Argosy__Response *response = NULL;
        _cleanup_(fake_daemon_stop) FakeDaemon d;
        _cleanup_(client_done) Client c;

        fake_daemon_start(&d, script);
        client_init(&c, d.path, &not_interrupted);
        int r = ask(&c, in_seconds(20), &response);
        assert_int_equal(r, expected);
        if (r < 0) {
                assert_non_null(strstr(c.why, why));
                assert_int_equal(client_is_lost(&c, r), lost);
                assert_int_equal(c.fd, -1);
        } else
                argosy__response__free_unpacked(response, NULL);
}

static void slow_answer(FakeDaemon *d) {
        _cleanup_buf_ Buf frame = {};

        argosy__request__free_unpacked(fake_take(d), NULL);
        Argosy__Response response = RESPONSE_WITH(.id = d->last_id, .final = true);
        assert(frame_append(&frame, &response.base, FRAME_MAX_LOCAL) == 0);
        for (size_t i = 0; i < frame.len; i++)
                fake_send(d, frame.data + i, 1);
}

static void an_answer_may_come_byte_by_byte(void **state) {
        run(slow_answer, 0, false, "");
}

static void oversized(FakeDaemon *d) {
        argosy__request__free_unpacked(fake_take(d), NULL);
        fake_send(d, "\xff\xff\xff\xff", 4);
}

static void an_oversized_answer_is_refused_at_its_first_bytes(void **state) {
        run(oversized, -EMSGSIZE, false, "too large");
}

static void garbage(FakeDaemon *d) {
        argosy__request__free_unpacked(fake_take(d), NULL);
        fake_send(d, "\0\0\0\4\xff\xff\xff\xff", 8);
}

static void garbage_is_refused(void **state) {
        run(garbage, -EBADMSG, false, "garbage");
}

static void stranger(FakeDaemon *d) {
        argosy__request__free_unpacked(fake_take(d), NULL);
        fake_reply_last(d, A_RESPONSE_WITH(.id = 999));
}

static void an_answer_to_another_question_is_refused(void **state) {
        run(stranger, -EBADMSG, false, "not asked");
}

static void dies_in_a_frame(FakeDaemon *d) {
        argosy__request__free_unpacked(fake_take(d), NULL);
        fake_send(d, "\0\0\0\4\x08", 5);
        fake_hang_up(d);
}

static void half_an_answer_is_a_lost_connection(void **state) {
        run(dies_in_a_frame, -ECONNRESET, true, "lost");
}

static void nobody_listens_is_said_with_the_path(void **state) {
        Argosy__Response *response;
        _cleanup_(client_done) Client c;

        client_init(&c, "/nonexistent/argosy.sock", NULL);
        assert_int_equal(ask(&c, in_seconds(20), &response), -ENOENT);
        assert_string_equal(
                c.why, "cannot reach argosyd at /nonexistent/argosy.sock: No such file or directory; is "
                       "argosyd.service running?");
        assert_false(client_is_lost(&c, -ENOENT)); // it never was there
}

// As somebody who is in no group.
static void assert_forbidden(const char *path, const char *words) {
        Argosy__Response *response;
        _cleanup_(client_done) Client c;

        client_init(&c, path, NULL);
        assert_int_equal(seteuid(4712), 0);
        int r = ask(&c, in_seconds(20), &response);
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(r, -EACCES);
        assert_non_null(strstr(c.why, words));
}

static void who_may_use_it_is_said_of_the_socket_that_is_there(void **state) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        char dir[] = "/tmp/argosy-test-XXXXXX";
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (geteuid() != 0)
                skip();
        assert_non_null(mkdtemp(dir));
        assert_int_equal(chmod(dir, 0755), 0);
        snprintf(a.sun_path, sizeof(a.sun_path), "%s/sock", dir);
        assert_int_equal(bind(fd, (struct sockaddr *) &a, sizeof(a)), 0);
        assert_int_equal(chmod(a.sun_path, 0660), 0);
        assert_int_equal(chown(a.sun_path, 0, 1), 0);
        assert_forbidden(a.sun_path, getgrgid(1)->gr_name);
        assert_int_equal(chown(a.sun_path, 0, 4711), 0);
        assert_forbidden(a.sun_path, "only root and members of the group 4711 may use it");
        assert_int_equal(chmod(a.sun_path, 0600), 0);
        assert_forbidden(a.sun_path, "; only root may use it");
        assert_int_equal(chmod(dir, 0700), 0);
        assert_forbidden(a.sun_path, "; its directory lets nobody else through");
        close(fd);
        unlink(a.sun_path);
        rmdir(dir);
}

static void a_full_backlog_is_no_daemon_that_does_not_run(void **state) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        char dir[] = "/tmp/argosy-test-XXXXXX";
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), waiting;
        Argosy__Response *response;
        Client c;

        assert_non_null(mkdtemp(dir));
        snprintf(a.sun_path, sizeof(a.sun_path), "%s/sock", dir);
        assert_int_equal(bind(fd, (struct sockaddr *) &a, sizeof(a)), 0);
        assert_int_equal(listen(fd, 0), 0);
        waiting = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(waiting, (struct sockaddr *) &a, sizeof(a)), 0);
        client_init(&c, a.sun_path, NULL);
        assert_int_equal(ask(&c, in_seconds(20), &response), -EAGAIN);
        assert_non_null(strstr(c.why, "as many wait to be let in as there is room for"));
        client_done(&c);
        close(waiting);
        close(fd);
        unlink(a.sun_path);
        rmdir(dir);
}

static void a_path_that_is_too_long_is_no_overflow(void **state) {
        Argosy__Response *response;
        char path[300];
        _cleanup_(client_done) Client c;

        memset(path, 'x', sizeof(path) - 1);
        path[sizeof(path) - 1] = 0;
        client_init(&c, path, NULL);
        assert_int_equal(ask(&c, in_seconds(20), &response), -ENAMETOOLONG);
}

static void silent(FakeDaemon *d) {
        argosy__request__free_unpacked(fake_take(d), NULL);
}

static void silence_ends_at_the_deadline(void **state) {
        Argosy__Response *response;
        _cleanup_(fake_daemon_stop) FakeDaemon d;
        _cleanup_(client_done) Client c;

        fake_daemon_start(&d, silent);
        client_init(&c, d.path, &not_interrupted);
        assert_int_equal(ask(&c, clock_boot_us() + 50 * USEC_PER_MSEC, &response), -ETIMEDOUT);
}

static void an_interrupt_ends_waiting_at_once(void **state) {
        Argosy__Response *response;
        _cleanup_(fake_daemon_stop) FakeDaemon d;
        _cleanup_(client_done) Client c;

        fake_daemon_start(&d, silent);
        client_init(&c, d.path, &interrupted);
        assert_int_equal(ask(&c, CLIENT_NEVER, &response), -EINTR);
        assert_int_equal(client_pause(&c, CLIENT_NEVER), -EINTR);
}

static void a_request_beyond_a_frame_is_not_sent(void **state) {
        Argosy__NamedFile file = ARGOSY__NAMED_FILE__INIT, *files[] = {&file};
        _cleanup_free_ uint8_t *content = calloc(1, FRAME_MAX_LOCAL);
        _cleanup_(client_done) Client c;

        file.content.data = content;
        file.content.len = FRAME_MAX_LOCAL;
        Argosy__Request__Change change = MESSAGE_OF(request__change, .files = files, .n_files = 1);
        client_init(&c, "/nonexistent/argosy.sock", NULL);
        assert_int_equal(client_send(&c, A_REQUEST(CHANGE, change, &change), CLIENT_NEVER), -EMSGSIZE);
        assert_non_null(strstr(c.why, "larger than 32 MiB"));
}

RUN_TESTS(
        cmocka_unit_test(an_answer_may_come_byte_by_byte),
        cmocka_unit_test(an_oversized_answer_is_refused_at_its_first_bytes),
        cmocka_unit_test(garbage_is_refused),
        cmocka_unit_test(an_answer_to_another_question_is_refused),
        cmocka_unit_test(half_an_answer_is_a_lost_connection),
        cmocka_unit_test(nobody_listens_is_said_with_the_path),
        cmocka_unit_test(who_may_use_it_is_said_of_the_socket_that_is_there),
        cmocka_unit_test(a_full_backlog_is_no_daemon_that_does_not_run),
        cmocka_unit_test(a_path_that_is_too_long_is_no_overflow),
        cmocka_unit_test(silence_ends_at_the_deadline),
        cmocka_unit_test(an_interrupt_ends_waiting_at_once),
        cmocka_unit_test(a_request_beyond_a_frame_is_not_sent)
)
