// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Jobs, newest first, or one with its units; what each did to units that are asked about, which is their
// history. Each answer looks at a bounded number and says where the next question is to go on, so nobody's
// question holds the loop, and nothing is kept between two of them.
//
// What is said of the units of one is answer-job-units.c's.
//
// An author that may not see everything sees the jobs that have changed units which it may see now, with the
// names of these instead of what was typed. So it does not see a job about nodes, nor one whose units are
// gone. A job that is held and has changed nothing yet is shown to its own author.
#include "answer-job-chunks.h"
#include "answer-job-units.h"
#include "answer-jobs.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>

#include "author.h"
#include "authorization.h"
#include "held-jobs.h"
#include "job-nodes.h"
#include "job-state.h"
#include "map.h"
#include "message.h"
#include "name-patterns.h"
#include "open-job.h"
#include "request-kind.h"
#include "response.h"
#include "setting-words.h"
#include "str.h"
#include "pending-requests.h"
#include "unit-state.h"
#include "utc-time.h"

enum {
        TARGETS_INSTEAD = 16,     // names of units
        BYTES_IN_A_LOOK = 4096,   // of contents that are compared
        GLOBS_IN_A_LOOK = 4,      // patterns that a unit is compared with in the time in which it is looked
                                  // at
        AUTHOR_PATTERN_MAX = 512, // bytes
        WAITING_SHOWN = 100,      // jobs that wait for one
        LATE_LISTED = 500,        // jobs that went on behind what came after them, in one answer
};

// ------------------------------------------------------------------------------------------ as it is by now

// The record with its end, as the log will have it: what is packed of a message is the message with what is
// packed behind it.
static Argosy__JobRecord *with_end(const Argosy__JobRecord *job, const Argosy__JobRecord *end) {
        _cleanup_buf_ Buf packed = {};
        size_t len = argosy__job_record__get_packed_size(job),
               len_end = argosy__job_record__get_packed_size(end);

        if (!buf_reserve(&packed, len + len_end))
                return NULL;
        argosy__job_record__pack(job, packed.data);
        argosy__job_record__pack(end, packed.data + len);
        return argosy__job_record__unpack(NULL, len + len_end, packed.data);
}

static Argosy__JobState state_of(const Leader *l, uint64_t number) {
        Argosy__JobState state = cluster_state_job_state(l->state, number);
        const Argosy__JobRecord *end =
                state == ARGOSY__JOB_STATE__JOB_RUNNING ? open_job_end_known(l, number) : NULL;

        return end ? end->state : state;
}

// Like cluster_state_read_job(), but a job whose end only the leader knows has ended: a client that has
// waited for its units may ask before the log has the end.
static int job_read(const Leader *l, uint64_t number, Argosy__JobRecord **ret) {
        int r = cluster_state_read_job(l->state, number, ret);
        const Argosy__JobRecord *end = r == 0 && (*ret)->state == ARGOSY__JOB_STATE__JOB_RUNNING
                                               ? open_job_end_known(l, number)
                                               : NULL;
        Argosy__JobRecord *ended;

        if (!end)
                return r;
        ended = with_end(*ret, end);
        message_free(*ret);
        *ret = ended;
        return ended ? 0 : -ENOMEM;
}

// ------------------------------------------------------------------------------------------------ jobs

// What an image has brought is not looked at as closely as what was applied.
static bool is_whole(const Argosy__JobRecord *job) {
        for (size_t i = 0; i < job->n_units; i++)
                if (job->units[i]->n_names != job->units[i]->n_revisions)
                        return false;
        return true;
}

typedef char JobAuthor[AUTHOR_TEXT_SIZE];

// Nobody has asked for what the cluster did by itself: its name is no user's, since these have a host behind
// it.
static const char *user_of(const Argosy__JobRecord *job, JobAuthor buf) {
        Argosy__Author author = ARGOSY__AUTHOR__INIT;

        if (job->own)
                return JOB_OWN_AUTHOR;

        author.user = job->user;
        author.uid = job->uid_known ? job->uid : UINT32_MAX;
        return author_text(&author, buf);
}

// "alice@n1", "uid 1234@n1".
static int fill_author(char **field, const Argosy__JobRecord *job) {
        JobAuthor buf;

        return field_printf(field, "%s%s%s", user_of(job, buf), *job->host_name ? "@" : "", job->host_name);
}

static bool is_by(const Argosy__JobRecord *job, const char *pattern) {
        _cleanup_free_ char *whole = NULL;
        JobAuthor buf;
        const char *user = user_of(job, buf);

        if (!*pattern || fnmatch(pattern, user, FNM_NOESCAPE) == 0)
                return true;
        whole = str_printf("%s@%s", user, job->host_name);
        return whole && fnmatch(pattern, whole, FNM_NOESCAPE) == 0;
}

// Those that it has changed, and those that it is about by having moved them: the cluster itself moves,
// others change.
static size_t n_units_of(const Argosy__JobRecord *job) {
        size_t n = 0;

        for (size_t i = 0; i < job->n_units; i++)
                n += job->units[i]->n_names;
        for (size_t i = 0; i < job->n_moves; i++)
                n += job->moves[i]->n_names;
        return n;
}

// False: `each` has said so of a unit, and the others were not looked at.
static bool each_unit(const Argosy__JobRecord *job, bool (*each)(const char *name, void *userdata),
                      void *userdata) {
        for (size_t g = 0; g < job->n_units; g++)
                for (size_t i = 0; i < job->units[g]->n_names; i++)
                        if (!each(job->units[g]->names[i], userdata))
                                return false;
        for (size_t g = 0; g < job->n_moves; g++)
                for (size_t i = 0; i < job->moves[g]->n_names; i++)
                        if (!each(job->moves[g]->names[i], userdata))
                                return false;
        return true;
}

static int add_groups(Argosy__Response__JobRow *row, const Argosy__JobRecord *job) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < job->n_groups; i++)
                r = FIELD_APPEND(row->groups, row->n_groups, strdup(job->groups[i]));
        return r;
}

static int add_after(Argosy__Response__JobRow *row, const Argosy__JobRecord *job) {
        if (job->n_after == 0)
                return 0;
        row->after = calloc(job->n_after, sizeof(*row->after));
        if (!row->after)
                return -ENOMEM;
        memcpy(row->after, job->after, job->n_after * sizeof(*row->after));
        row->n_after = job->n_after;
        return 0;
}

// What it waits for, and who waits for it: known to who leads.
static int add_waiting(const Leader *l, Argosy__Response__JobRow *row) {
        char why[HELD_WHY_SIZE];
        size_t n;

        held_job_phrase(l, row->job, why);
        if (field_set(&row->held_by, why) < 0)
                return -ENOMEM;
        row->waiting = calloc(WAITING_SHOWN, sizeof(*row->waiting));
        if (!row->waiting)
                return -ENOMEM;
        n = held_jobs_waiting(l, row->job, row->waiting, WAITING_SHOWN);
        row->n_waiting = MIN_OF(n, (size_t) WAITING_SHOWN);
        return 0;
}

// The asking author, and whether it may see all; which units and nodes it asks about.
typedef struct Viewer {
        const Argosy__Author *author;
        bool sees_all;
        NamePatterns names;
        JobNodes nodes;
} Viewer;

static int add_settings(const Viewer *v, Argosy__Response__JobRow *row, const Argosy__JobRecord *job) {
        int r = 0;

        for (size_t i = 0; r == 0 && v->sees_all && i < job->n_settings; i++)
                r = FIELD_APPEND(row->settings, row->n_settings, setting_row_new(job->settings[i]));
        return r;
}

// Units of one record may have gone for several reasons, of which it has one.
static bool has_other_reasons(const Argosy__JobRecord *job) {
        for (size_t i = 0; i < job->n_moves && job->own != ARGOSY__OWN_CAUSE__OWN_LOST; i++)
                if (!streq(job->moves[i]->reason, job->reason))
                        return true;
        return false;
}

// One that was gone on with after it had ended has the words of that in its record.
static int fill(Argosy__Response__JobRow *row, const Argosy__JobRecord *job) {
        bool is_open = job_state_is_open(job->state);

        row->job = job->number;
        row->at_us = job->at_us;
        row->cut = job->cut;
        row->revision_before = job->revision_before;
        row->revision = job->revision;
        row->changed = (uint32_t) n_units_of(job);
        row->ended_us = is_open ? 0 : job->ended_us;
        row->failed = job->failed;
        row->unplaced = job->unplaced;
        row->overtaken = job->overtaken;
        row->cancelled = job->cancelled;
        row->asked_us = job->asked_us;
        row->retries = job->retries;
        row->own = job->own;
        if (add_after(row, job) < 0 || add_groups(row, job) < 0)
                return -ENOMEM;
        if (field_set(&row->state, job_state_to_string(job->state)) < 0 ||
            field_set(&row->message, is_open ? "" : job->end_message) < 0)
                return -ENOMEM;
        if (fill_author(&row->author, job) < 0 || field_set(&row->verb, job->verb) < 0 ||
            field_set(&row->host, job->host_name) < 0)
                return -ENOMEM;
        if (job->times > 1)
                return field_printf(&row->reason, "%s (%" PRIu32 " times)", job->reason, job->times);
        if (has_other_reasons(job))
                return field_printf(&row->reason, "%s; others for other reasons", job->reason);
        return field_set(&row->reason, job->reason);
}

static bool is_own(const Viewer *v, const Argosy__JobRecord *job) {
        return job->uid_known && job->uid == v->author->uid && job->host == v->author->host;
}

typedef struct Look {
        const Leader *leader;
        const Argosy__Author *author;
} Look;

static bool may_view(const char *name, void *userdata) {
        const Look *look = userdata;

        return authorization_may_view(look->leader, look->author, name);
}

static bool is_for(const Leader *l, const Viewer *v, const Argosy__JobRecord *job) {
        size_t n = n_units_of(job);

        if (v->sees_all)
                return true;
        if (n == 0 && job->asked_us > 0)
                return is_own(v, job);
        if (n == 0 || n > AUTHORIZATION_UNITS_MAX || job->cut)
                return false;
        return each_unit(job, may_view, &(Look){l, v->author});
}

static int add_target(Argosy__Response__JobRow *row, const char *word) {
        char *target = strdup(word);

        if (!target || ARRAY_RESERVE(row->targets, row->n_targets + 1) < 0) {
                free(target);
                return -ENOMEM;
        }
        row->targets[row->n_targets++] = target;
        return 0;
}

static int add_typed(Argosy__Response__JobRow *row, const Argosy__JobRecord *job) {
        int r = 0;

        row->more_targets = job->more_targets;
        for (size_t i = 0; r == 0 && i < job->n_targets; i++)
                r = add_target(row, job->targets[i]);
        return r;
}

// Instead of what was typed, which may name others, too. What was moved more than once is one target.
static bool add_changed_unit(const char *name, void *userdata) {
        Argosy__Response__JobRow *row = userdata;

        for (size_t i = 0; i < row->n_targets; i++)
                if (streq(row->targets[i], name))
                        return true;
        if (row->n_targets < TARGETS_INSTEAD)
                return add_target(row, name) == 0;
        row->more_targets++;
        return true;
}

static int add_changed(Argosy__Response__JobRow *row, const Argosy__JobRecord *job) {
        return each_unit(job, add_changed_unit, row) ? 0 : -ENOMEM;
}

// What the cluster did by itself has nothing that was typed: a host that it is about, or else the units.
static bool is_about_units(const Argosy__JobRecord *job) {
        return job->own && job->n_targets == 0;
}

int job_fill_row(Argosy__Response__JobRow *row, const Argosy__JobRecord *job) {
        int r = is_about_units(job) ? add_changed(row, job) : add_typed(row, job);

        return r < 0 ? r : fill(row, job);
}

static int add_job(const Viewer *v, Argosy__Response__Jobs *jobs, const Argosy__JobRecord *job,
                   Argosy__Response__JobRow **ret) {
        Argosy__Response__JobRow *row = calloc(1, sizeof(*row));
        int r;

        if (!row)
                return -ENOMEM;
        argosy__response__job_row__init(row);
        if (FIELD_APPEND(jobs->rows, jobs->n_rows, row) < 0)
                return -ENOMEM;
        *ret = row;
        r = v->sees_all && !is_about_units(job) ? add_typed(row, job) : add_changed(row, job);
        return r < 0 ? r : fill(row, job);
}

static bool is_another(const char *name, void *userdata) {
        return !name_patterns_match(userdata, name);
}

static bool has_unit(const Argosy__JobRecord *job, const NamePatterns *names) {
        return names->n == 0 || !each_unit(job, is_another, (void *) names);
}

// A unit that was moved by the cluster itself: from where, and to where, when and why.
static int add_move(Argosy__Response__JobRow *row, const Argosy__JobRecord *job, const Argosy__JobMove *move,
                    size_t i) {
        Argosy__Response__JobUnitRow *unit = calloc(1, sizeof(*unit));

        if (!unit)
                return -ENOMEM;
        argosy__response__job_unit_row__init(unit);
        if (FIELD_APPEND(row->units, row->n_units, unit) < 0)
                return -ENOMEM;
        unit->at_us = move->at_us;
        return field_set(&unit->unit, move->names[i]) < 0 || field_set(&unit->from, move->from) < 0 ||
                               field_set(&unit->node, move->to) < 0 ||
                               field_set(&unit->message, *move->reason ? move->reason : job->reason) < 0
                       ? -ENOMEM
                       : 0;
}

static int add_moves(const Leader *l, Argosy__Response__JobRow *row, const Argosy__JobRecord *job,
                     const NamePatterns *names, uint32_t first) {
        uint32_t at = 0;

        for (size_t g = 0; g < job->n_moves; g++)
                for (size_t i = 0; i < job->moves[g]->n_names; i++) {
                        if ((names && !name_patterns_match(names, job->moves[g]->names[i])) || at++ < first)
                                continue;
                        if (row->n_units >= l->limits.job_units_listed)
                                row->more_units++;
                        else if (add_move(row, job, job->moves[g], i) < 0)
                                return -ENOMEM;
                }
        return 0;
}

// A record of moves has the reason of one of them; who asks about units is told why these went.
static int give_reason_of_unit(Argosy__Response__JobRow *row, const Argosy__JobRecord *job) {
        bool moved = job->own && job->own != ARGOSY__OWN_CAUSE__OWN_LOST;

        return moved && row->n_units > 0 ? field_set(&row->reason, row->units[0]->message) : 0;
}

static int add_changes(const Leader *l, JobChunks *parts, Argosy__Response__JobRow *row,
                       const Argosy__JobRecord *job, const NamePatterns *names) {
        for (size_t g = 0; g < job->n_units; g++)
                for (size_t i = 0; i < job->units[g]->n_names; i++) {
                        Argosy__Response__JobUnitRow *unit;

                        if (!name_patterns_match(names, job->units[g]->names[i]))
                                continue;
                        if (row->n_units >= l->limits.job_units_listed) {
                                row->more_units++;
                                continue;
                        }
                        unit = job_add_change(row, job->units[g], i);
                        if (!unit || job_chunks_fill(parts, job->units[g], unit) < 0)
                                return -ENOMEM;
                }
        return 0;
}

static bool is_in_state(Argosy__JobState state, const Argosy__Request__ListJobs *m) {
        for (size_t i = 0; i < m->n_states; i++)
                if (m->states[i] == state)
                        return true;
        return m->n_states == 0;
}

static bool is_meant(const Argosy__JobRecord *job, const Viewer *v, const Argosy__Request__ListJobs *m) {
        return job->at_us >= m->since_us && is_by(job, m->author) && has_unit(job, &v->names) &&
               job_nodes_match(&v->nodes, job, !v->sees_all);
}

static int list_one(const Leader *l, const Viewer *v, const Argosy__Request__ListJobs *m, uint64_t number,
                    Argosy__Response__Jobs *jobs, size_t *looked) {
        Argosy__Response__JobRow *row;
        Argosy__JobRecord *job;
        int r = job_read(l, number, &job);

        if (r < 0)
                return r == -ENOENT ? 0 : r; // only its number is left
        *looked += n_units_of(job) * (1 + v->names.n_globs / GLOBS_IN_A_LOOK) / (v->sees_all ? 10 : 1) +
                   job_nodes_cost(&v->nodes, job) / JOB_NODES_IN_A_LOOK;
        if (is_meant(job, v, m) && is_for(l, v, job)) {
                r = add_job(v, jobs, job, &row);
                if (r == 0 && job->state == ARGOSY__JOB_STATE__JOB_HELD)
                        r = add_waiting(l, row);
                if (r == 0 && m->changes && is_whole(job)) {
                        JobChunks parts = {.leader = l};

                        r = add_changes(l, &parts, row, job, &v->names) ?:
                            add_moves(l, row, job, &v->names, 0);
                        job_chunks_done(&parts);
                        *looked += parts.n_bytes / BYTES_IN_A_LOOK;
                        if (r == 0 && v->names.n == 0)
                                r = add_settings(v, row, job);
                        else if (r == 0)
                                r = give_reason_of_unit(row, job);
                        *looked += row->n_units + row->n_settings;
                }
        }
        message_free(job);
        return r;
}

static uint64_t newest_meant(const Leader *l, const Argosy__Request__ListJobs *m) {
        uint64_t number = cluster_state_job_before(l->state, m->before ?: UINT64_MAX);

        return m->begun_before > 0
                       ? MIN_OF(number, cluster_state_job_begun_before(l->state, m->begun_before))
                       : number;
}

// Newest first, from the one before `before` on. Of which state one is is known without reading it.
static int list(const Leader *l, const Viewer *v, const Argosy__Request__ListJobs *m,
                Argosy__Response__Jobs *jobs) {
        uint64_t number = newest_meant(l, m);
        size_t limit = m->limit > 0 ? m->limit : l->limits.jobs_looked;

        for (size_t looked = 0; number > 0 && looked < l->limits.jobs_looked && jobs->n_rows < limit;
             looked++) {
                int r = is_in_state(state_of(l, number), m)
                                ? list_one(l, v, m, number, jobs, &looked)
                                : 0;

                if (r < 0)
                        return r;
                jobs->before = number;
                number = cluster_state_job_before(l->state, number);
        }
        if (number == 0)
                jobs->before = 0;
        return 0;
}

// Their numbers do not say when they were carried out.
static int list_late(const Leader *l, const Viewer *v, const Argosy__Request__ListJobs *m,
                     Argosy__Response__Jobs *jobs) {
        uint64_t numbers[LATE_LISTED];
        size_t n = cluster_state_late_jobs(l->state, m->late_after, newest_meant(l, m) + 1, numbers,
                                           LATE_LISTED),
               looked = 0;
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++)
                if (looked >= l->limits.jobs_looked)
                        jobs->before = numbers[i];
                else if (is_in_state(state_of(l, numbers[i]), m))
                        r = list_one(l, v, m, numbers[i], jobs, &looked);
        if (n == LATE_LISTED)
                jobs->before = numbers[n - 1];
        return r;
}

// Since when jobs are kept, by the oldest of them; empty: nobody knows.
static void say_since(const Leader *l, uint64_t first, char ret[UTC_TIME_SIZE]) {
        Argosy__JobRecord *job;

        *ret = 0;
        if (cluster_state_read_job(l->state, first, &job) < 0)
                return;
        if (job->at_us > 0)
                utc_time_format(job->at_us, ret);
        message_free(job);
}

Argosy__Response *answer_no_such_job(const Leader *l, uint64_t number) {
        uint64_t last = cluster_state_last_job(l->state), first = cluster_state_first_job(l->state);
        char since[UTC_TIME_SIZE];

        if (number > last)
                return last > 0 ? response_error(ENOENT,
                                                 "there is no job %" PRIu64 ": the newest is %" PRIu64,
                                                 number, last)
                                : response_error(ENOENT, "there is no job %" PRIu64 ": there has been none",
                                                 number);
        if (first > last)
                return response_error(
                        ENOENT, "job %" PRIu64 " is not kept any more, and neither is any other", number);
        if (cluster_state_job_is_dropped(l->state, number))
                return response_error(ENOENT,
                                      "job %" PRIu64
                                      " is what the cluster did by itself, and is not kept any more",
                                      number);
        if (number > first)
                return response_error(ENOENT,
                                      "there is no job %" PRIu64
                                      ": the cluster was recovered, and the number may have been "
                                      "that of one that is lost",
                                      number);
        say_since(l, first, since);
        return response_error(
                ENOENT, "job %" PRIu64 " is not kept any more: the oldest that is kept is %" PRIu64 "%s%s",
                number, first, *since ? ", of " : "", since);
}

static Argosy__Response *refuse_job(const Argosy__Author *author, uint64_t number) {
        char who[AUTHOR_TEXT_SIZE];

        return response_error(
                EACCES,
                "job %" PRIu64
                ": this needs the right 'view' on all that it is about, which %s does not have",
                number, author_text(author, who));
}

static int show(Leader *l, const Viewer *v, const Argosy__Request__ListJobs *m, const Argosy__JobRecord *job,
                Argosy__Response__Jobs *jobs, JobLooks *later) {
        Argosy__Response__JobRow *row;
        int r = add_job(v, jobs, job, &row) ?: add_waiting(l, row);

        if (r == 0 && m->first_unit == 0)
                r = add_settings(v, row, job);
        if (r < 0 || !is_whole(job))
                return r;
        return job->own ? add_moves(l, row, job, NULL, m->first_unit)
                        : job_add_units(l, row, job, m->first_unit, later);
}

// A row with the units that are not as they were to be. NULL: out of memory.
static Argosy__Response *tell_end(const Viewer *v, const Argosy__JobRecord *job) {
        _cleanup_response_ Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT_JOBS);
        Argosy__Response__JobRow *row;

        if (!response || add_job(v, response->jobs, job, &row) < 0 || job_add_failed_units(row, job) < 0)
                return NULL;
        return TAKE_PTR(response);
}

// `r`: what came of reading it. It is freed.
static Argosy__Response *answer_read(const Leader *l, const Argosy__Author *author, uint64_t number, int r,
                                     Argosy__JobRecord *job) {
        Viewer viewer = {.author = author, .sees_all = authorization_views_all(l, author)};
        Argosy__Response *response;

        if (r < 0)
                return r == -ENOENT ? answer_no_such_job(l, number) : NULL;
        response = is_for(l, &viewer, job) ? tell_end(&viewer, job) : refuse_job(author, number);
        message_free(job);
        return response;
}

Argosy__Response *answer_job(Leader *l, const Argosy__Author *author, uint64_t number) {
        Argosy__JobRecord *job = NULL;
        int r = job_read(l, number, &job);

        return answer_read(l, author, number, r, job);
}

Argosy__Response *answer_job_of_log(const Leader *l, const Argosy__Author *author, uint64_t number) {
        Argosy__JobRecord *job = NULL;
        int r = cluster_state_read_job(l->state, number, &job);

        return answer_read(l, author, number, r, job);
}

static bool may_see_ends(const Leader *l, const Viewer *v, const Argosy__JobRecord *end) {
        for (size_t i = 0; i < end->n_ends; i++)
                if (!v->sees_all && !authorization_may_view(l, v->author, end->ends[i]->unit))
                        return false;
        return true;
}

Argosy__Response *answer_job_end(Leader *l, const Argosy__Author *author, const Argosy__JobRecord *end) {
        Viewer viewer = {.author = author, .sees_all = authorization_views_all(l, author)};
        _cleanup_response_ Argosy__Response *response = NULL;

        if (!may_see_ends(l, &viewer, end))
                return refuse_job(author, end->number);
        response = tell_end(&viewer, end);
        if (!response || field_set(&response->jobs->rows[0]->author, "") < 0)
                return NULL;
        return TAKE_PTR(response);
}

Argosy__Response *answer_jobs_refuse(const Argosy__Request *request) {
        const Argosy__Request__ListJobs *m = request->list_jobs;
        const char *error = name_patterns_error(m->patterns, m->n_patterns);

        if (error)
                return response_error(E2BIG, "%s", error);
        if (m->n_patterns > CHANGE_UNITS_MAX)
                return response_error(E2BIG, "the request names %zu units, more than %d", m->n_patterns,
                                      CHANGE_UNITS_MAX);
        if (strnlen(m->author, AUTHOR_PATTERN_MAX + 1) > AUTHOR_PATTERN_MAX)
                return response_error(EINVAL, "the author's pattern is longer than %d bytes",
                                      AUTHOR_PATTERN_MAX);
        if (m->n_nodes > JOB_NODES_MAX)
                return response_error(E2BIG, "the request names %zu nodes, more than %d", m->n_nodes,
                                      JOB_NODES_MAX);
        return NULL;
}

Argosy__Response *answer_jobs(Leader *l, const Argosy__Author *author, const Argosy__Request *request) {
        return answer_jobs_with(l, author, request, NULL);
}

Argosy__Response *answer_jobs_with(Leader *l, const Argosy__Author *author, const Argosy__Request *request,
                                   JobLooks *later) {
        _cleanup_response_ Argosy__Response *response = response_new(ARGOSY__RESPONSE__WHAT_JOBS);
        Viewer viewer = {.author = author, .sees_all = authorization_views_all(l, author)};
        const Argosy__Request__ListJobs *m = request->list_jobs;
        Argosy__JobRecord *job;
        int r;

        if (!response)
                return NULL;
        if (m->number == 0) {
                job_nodes_init(&viewer.nodes, l->state, m->nodes, m->n_nodes);
                r = name_patterns_init(&viewer.names, m->patterns, m->n_patterns);
                if (r == 0)
                        r = (m->late_after > 0 ? list_late : list)(l, &viewer, m, response->jobs);
                response->jobs->complete_from = cluster_state_jobs_complete_from(l->state);
                name_patterns_done(&viewer.names);
                return r < 0 ? NULL : TAKE_PTR(response);
        }
        r = job_read(l, m->number, &job);
        if (r == -ENOENT)
                return answer_no_such_job(l, m->number);
        if (r < 0)
                return NULL;
        if (!is_for(l, &viewer, job)) {
                message_free(job);
                return refuse_job(author, m->number);
        }
        r = show(l, &viewer, m, job, response->jobs, later);
        message_free(job);
        return r < 0 ? NULL : TAKE_PTR(response);
}
