// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The guard of units with CutOff=stop, as a process of its own beside a lease that the test writes. What is
// asserted of time is only that the guard does not end too early.
#include "test.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "fileio.h"
#include "lease-file.h"
#include "tmpdir.h"

int guard_main(int argc, char **argv); // its main()

enum { EXPIRED = 75, BROKEN = 1, PATIENCE_SEC = 60 };

static LeaseFile *lease;
static int notified;

static int set_up(void **state) {
        struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "notify"};
        struct timeval patience = {.tv_sec = PATIENCE_SEC};

        assert_int_equal(tmpdir_enter(state), 0);
        assert_int_equal(lease_file_open("lease", &lease), 0);
        notified = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(notified, (struct sockaddr *) &at, sizeof(at)), 0);
        assert_int_equal(setsockopt(notified, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
        return setenv("NOTIFY_SOCKET", "notify", 1);
}

static int tear_down(void **state) {
        lease = lease_file_close(lease);
        close(notified);
        return tmpdir_drop(state);
}

static void lease_until(uint64_t us) {
        atomic_store(&lease->until_us, us);
}

static pid_t begin(const char *seconds) {
        char *argv[] = {"argosy-guard", "lease", (char *) seconds, NULL};
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
                _exit(guard_main(3, argv));
        return pid;
}

static int end_of(pid_t pid) {
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static void assert_ready(void) {
        char text[16];

        assert_int_equal(recv(notified, text, sizeof(text), 0), 7);
        assert_memory_equal(text, "READY=1", 7);
}

static void assert_never_ready(void) {
        char text[16];

        assert_int_equal(recv(notified, text, sizeof(text), MSG_DONTWAIT), -1);
}

static void it_is_ready_while_the_lease_lasts_and_ends_with_it(void **state) {
        uint64_t until = clock_boot_us() + USEC_PER_SEC;

        lease_until(until);
        pid_t pid = begin("0");
        assert_ready();
        assert_int_equal(end_of(pid), EXPIRED);
        assert_true(clock_boot_us() >= until);
}

static void what_is_renewed_lasts_longer(void **state) {
        uint64_t until, longer;
        bool in_time;

        do { // a machine that does something else meanwhile renews too late

                until = clock_boot_us() + USEC_PER_SEC / 2;
                longer = until + USEC_PER_SEC / 4;
                lease_until(until);
                pid_t pid = begin("0");
                assert_ready();
                lease_until(longer);
                in_time = clock_boot_us() < until;
                assert_int_equal(end_of(pid), EXPIRED);
        } while (!in_time);
        assert_true(clock_boot_us() >= longer);
}

static void what_the_unit_allows_comes_on_top(void **state) {
        uint64_t until = clock_boot_us() - USEC_PER_SEC;

        lease_until(until);
        pid_t pid = begin("2");
        assert_ready();
        assert_int_equal(end_of(pid), EXPIRED);
        assert_true(clock_boot_us() >= until + 2 * USEC_PER_SEC);
}

static void without_a_lease_it_is_never_ready(void **state) {
        assert_int_equal(end_of(begin("1")), EXPIRED);
        assert_never_ready();
        lease_until(clock_boot_us() - USEC_PER_SEC);
        assert_int_equal(end_of(begin("0")), EXPIRED);
        assert_never_ready();
}

static void what_is_no_lease_is_none(void **state) {
        lease_until(clock_boot_us() + 60 * USEC_PER_SEC);
        lease->magic[0] ^= 1;
        assert_int_equal(end_of(begin("0")), BROKEN);
        assert_int_equal(truncate("lease", 8), 0);
        assert_int_equal(end_of(begin("0")), BROKEN);
        assert_int_equal(unlink("lease"), 0);
        assert_int_equal(end_of(begin("0")), BROKEN);
        assert_int_equal(end_of(begin("soon")), BROKEN);
        assert_never_ready();
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

RUN_TESTS(
        T(it_is_ready_while_the_lease_lasts_and_ends_with_it),
        T(what_is_renewed_lasts_longer),
        T(what_the_unit_allows_comes_on_top),
        T(without_a_lease_it_is_never_ready),
        T(what_is_no_lease_is_none)
)
