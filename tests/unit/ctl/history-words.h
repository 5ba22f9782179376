// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A daemon that tells of jobs of a unit and of contents of the past.

#include <unistd.h>

#include "command-words.h"
#include "messages.h"

#define ONE "1111111111111111111111111111111111111111111111111111111111111111"
#define TWO "2222222222222222222222222222222222222222222222222222222222222222"

typedef struct Change {
        uint64_t job;
        const char *before, *desired; // hashes; "": there was no unit
        const char *after, *desired_after;
} Change;

static const Change changes[] = {{9, TWO, "loaded", "", ""},
                                 {7, TWO, "launched", TWO, "loaded"},
                                 {5, ONE, "launched", TWO, "launched"},
                                 {4, ONE, "launched", ONE, "launched"},
                                 {2, "", "", ONE, "launched"}};

static Argosy__Response__Parts *parts_of_job_5; // NULL: the answer has none

// What the unit's jobs from `first` on (an index) are, and where to go on.
static inline void reply_changes(FakeDaemon *d, size_t first, size_t n, uint64_t before) {
        Argosy__Response__JobUnitRow units[ELEMENTSOF(changes)], *unit_pointers[ELEMENTSOF(changes)];
        Argosy__Response__JobRow rows[ELEMENTSOF(changes)], *pointers[ELEMENTSOF(changes)];
        Argosy__Response__Jobs jobs = ARGOSY__RESPONSE__JOBS__INIT;
        Argosy__Response r = RESPONSE_OF(JOBS, jobs, &jobs, .final = true);

        for (size_t i = 0; i < n; i++) {
                const Change *c = &changes[first + i];

                units[i] = (Argosy__Response__JobUnitRow)
                        JOB_UNIT_ROW_OF(.unit = (char *) "a.service", .rev = (char *) c->before,
                                        .desired = (char *) c->desired, .rev_after = (char *) c->after,
                                        .desired_after = (char *) c->desired_after, .gone = !*c->after,
                                        .revision = 10 * c->job,
                                        .parts = c->job == 5 ? parts_of_job_5 : NULL);
                unit_pointers[i] = &units[i];
                rows[i] = (Argosy__Response__JobRow) JOB_ROW_OF(.job = c->job, .revision = 10 * c->job,
                                                                .author = (char *) "root@n1",
                                                                .verb = (char *) "start",
                                                                .units = &unit_pointers[i], .n_units = 1);
                pointers[i] = &rows[i];
        }
        jobs.rows = pointers;
        jobs.n_rows = n;
        jobs.before = before;
        fake_reply(d, &r);
}

static inline void read_history(FakeDaemon *d, uint64_t before) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->changes);
        assert(q->list_jobs->n_patterns == 1 && streq(q->list_jobs->patterns[0], "a.service"));
        assert(q->list_jobs->before == before);
}

static inline void tells_the_moment(FakeDaemon *d, uint64_t number, uint64_t revision) {
        Argosy__Response__JobRow row = JOB_ROW_OF(.job = number, .revision = revision), *rows = &row;
        Argosy__Response__Jobs jobs = MESSAGE_OF(response__jobs, .rows = &rows, .n_rows = 1);
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->number == number);
        fake_reply(d, A_RESPONSE(JOBS, jobs, &jobs, .final = true));
}

// The job is kept.
static inline void knows_job(FakeDaemon *d, uint64_t number) {
        tells_the_moment(d, number, 10 * number);
}

// None was under way then, or held back.
static inline void tells_of_no_late_jobs(FakeDaemon *d) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->late_after > 0 &&
               q->list_jobs->changes);
        reply_changes(d, 0, 0, 0);
}

static inline void reply_content(FakeDaemon *d, const char *rev, const char *content) {
        Argosy__Response__Cat cat = ARGOSY__RESPONSE__CAT__INIT;
        Argosy__Response r = RESPONSE_WITH(.final = true);
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_CAT && streq(q->cat->names[0], "a.service"));
        assert(q->cat->n_revs == (rev != NULL) && (!rev || streq(q->cat->revs[0], rev)));
        cat.name = (char *) "a.service";
        cat.content = (ProtobufCBinaryData){strlen(content ?: ""), (uint8_t *) content};
        if (content) {
                r.what_case = ARGOSY__RESPONSE__WHAT_CAT;
                r.cat = &cat;
        } else {
                r.status = ENOENT;
                r.message = (char *) "a.service: its file of then is not kept any more";
        }
        fake_reply(d, &r);
}

static inline void read_all_changes(FakeDaemon *d, uint64_t before) {
        _cleanup_request_ Argosy__Request *q = fake_read(d);

        assert(q->what_case == ARGOSY__REQUEST__WHAT_LIST_JOBS && q->list_jobs->changes);
        assert(q->list_jobs->n_patterns == 0 && q->list_jobs->before == before &&
               q->list_jobs->begun_before == 0);
}
