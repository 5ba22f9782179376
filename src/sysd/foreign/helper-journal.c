// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   the unit and how many lines -> the newest batch -> "go on" -> the next -> ... -> at the end: "go on when
//   there is something", or another unit
//
// The place in the journal is this process: while nobody asks, nothing is read, and nobody keeps lines. The
// files belong to the container: what they hold may be made to crash their parser, which ends this
// process and no other, or to keep it busy, which ends it too (helper-link.c).
//
// Nothing may be loaded from inside: newer versions of sd-journal load what decompresses when they need it,
// and the C library the time zone, so both are asked before.

#include "helper-journal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

enum {
        NICE = 10,
        PAUSE_MS = 100, // between two looks, so a writer without end causes one look in this time
};

int helper_journal_prepare(void) {
        static const char *const decompress[] = {"libzstd.so.1", "liblz4.so.1", "liblzma.so.5"};
        int fd;

        for (size_t i = 0; i < ELEMENTSOF(decompress); i++)
                (void) dlopen(decompress[i], RTLD_NOW); // what is not there is not used
        if (setenv("TZ", ":/etc/localtime", 0) < 0) // so that it is not looked at again
                return -errno;
        tzset();
        (void) setpriority(PRIO_PROCESS, 0, NICE);
        fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
                return -errno;
        close(fd);
        return 0;
}

void helper_journal_done(HelperJournal *j) {
        j->source = journal_source_close(j->source);
}

static int begin(HelperJournal *j, const Argosy__HelperJournal *asked) {
        const JournalQuestion q = {.manager = JOURNAL_SYSTEM,
                                   .unit = asked->unit,
                                   .n_lines = asked->lines,
                                   .follow = asked->follow,
                                   .batch_bytes = asked->batch_bytes,
                                   .cause_within_us = asked->cause_within_us};

        helper_journal_done(j);
        return journal_source_open(&q, &j->source);
}

// -ECONNRESET: the link says something, and nobody asks twice. 0: the journal does, or that time is over.
static int wait_for(int link, int journal, int timeout_ms) {
        struct pollfd p[] = {{.fd = link, .events = POLLIN}, {.fd = journal, .events = POLLIN}};

        if (poll(p, ELEMENTSOF(p), timeout_ms) < 0 && errno != EINTR)
                return -errno;
        return p[0].revents ? -ECONNRESET : 0;
}

static int wait_for_more(HelperJournal *j, int link) {
        uint64_t now = clock_boot_us(), due = j->woken_us + PAUSE_MS * USEC_PER_MSEC;
        int r = j->woken_us > 0 && now < due ? wait_for(link, -1, (int) ((due - now) / USEC_PER_MSEC) + 1)
                                             : 0;

        if (r == 0)
                r = wait_for(link, journal_source_fd(j->source), -1);
        j->woken_us = clock_boot_us();
        return r;
}

int helper_journal_answer(HelperJournal *j, const Argosy__HelperRequest *q, int link,
                          Argosy__HelperReply *reply) {
        bool first = q->journal && *q->journal->unit;
        int r = 0;

        if (!q->journal || (!first && !j->source) ||
            (q->journal->wait && (first || journal_source_fd(j->source) < 0)))
                return -EBADMSG;
        if (first)
                r = begin(j, q->journal);
        while (r >= 0) {
                r = journal_source_read(j->source, &reply->lines, &reply->n_lines);
                if (r < 0 || reply->n_lines > 0 || r == JOURNAL_MORE || !q->journal->wait)
                        break;
                r = wait_for_more(j, link);
                if (r < 0)
                        return r;
        }
        reply->error = MIN_OF(r, 0);
        reply->at_end = r == JOURNAL_END;
        return 0;
}
