// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a helper that parses a stranger's bytes can do no more, and that it can still do its work.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper-journal.h"
#include "helper-sandbox.h"
#include "test.h"

enum { SIZE = 4096 };

// The line in which a process that is locked in fails; 0: nowhere.
static int inside(int (*work)(void)) {
        int status;
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
                if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || helper_journal_prepare() < 0 ||
                    helper_sandbox_enter() < 0)
                        _exit(255);
                _exit(work());
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

#define MUST(condition)                \
        do {                           \
                if (!(condition))      \
                        return __LINE__ % 255 ?: 1; \
        } while (0)

static int read_a_file(void) {
        char byte;
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

        MUST(fd >= 0);
        MUST(read(fd, &byte, 1) == 1);
        void *p = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
        MUST(p != MAP_FAILED);
        MUST(munmap(p, SIZE) == 0);
        return 0;
}

static int do_harm(void) {
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

        MUST(socket(AF_UNIX, SOCK_STREAM, 0) < 0);
        MUST(kill(getpid(), 0) < 0);
        MUST(fork() < 0);
        MUST(execl("/bin/true", "true", NULL) < 0);
        MUST(open("/dev/null", O_WRONLY | O_CLOEXEC) < 0 && errno == EPERM);
        MUST(open("/dev/null", O_RDWR | O_CLOEXEC) < 0 && errno == EPERM);
        MUST(open("/tmp/argosy-sandbox", O_RDONLY | O_CREAT | O_CLOEXEC, 0600) < 0 && errno == EPERM);
        MUST(unlink("/tmp/argosy-nothing") < 0 && errno != ENOENT);
        MUST(fd >= 0 && mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED);
        void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        MUST(p != MAP_FAILED);
        MUST(mprotect(p, SIZE, PROT_READ | PROT_EXEC) < 0);
        MUST(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0);
        return 0;
}

// Whatever this machine's journal has, or has not.
static int read_the_journal(void) {
        const JournalQuestion q = {
                .manager = JOURNAL_SYSTEM, .unit = "argosy-test-nobody.service", .follow = true};
        _cleanup_(journal_source_closep) JournalSource *s = NULL;
        char **lines;
        size_t n;
        int r = journal_source_open(&q, &s);

        MUST(r == 0 || r == -EACCES);
        MUST(r < 0 || journal_source_read(s, &lines, &n) == JOURNAL_END);
        return 0;
}

static void it_reads(void **state) {
        assert_int_equal(inside(read_a_file), 0);
}

static void it_does_nothing_else(void **state) {
        assert_int_equal(inside(do_harm), 0);
}

static void it_can_read_a_journal(void **state) {
        assert_int_equal(inside(read_the_journal), 0);
}

RUN_TESTS(
        cmocka_unit_test(it_reads),
        cmocka_unit_test(it_does_nothing_else),
        cmocka_unit_test(it_can_read_a_journal)
)
