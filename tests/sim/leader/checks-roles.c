// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of rights, unit by unit: what somebody's job does to a unit, and which units an answer names,
// against the grants and tokens of that moment. A right that was taken away while a request was under way
// counts as there: the request was looked at before. An event is judged by the role that its unit had when
// it was made.
//
// See ../lib/checks-rights.c for what needs a right at all.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "event-asks.h"
#include "macro.h"
#include "message.h"
#include "request-kind.h"
#include "str.h"
#include "test.h"

enum { VIEWERS = AUTHOR_TOKEN + LOG_TOKENS_MAX + 1, ROLES = ELEMENTSOF(world_roles), ALL = ROLES };

// Behind which entry each viewer (an author, or AUTHOR_TOKEN and the number of a token) had each right last,
// of each role and, behind these, of all units.
static uint64_t had_at[VIEWERS][ARGOSY__RIGHT__RIGHT_ADMIN + 1][ROLES + 1];
// What counted after the entry before, so that only a change is looked at.
static LogToken tokens_then[LOG_TOKENS_MAX + 1];
// Which roles a unit has had, and since which revision and index of the log.
typedef struct RoleSince {
        uint64_t revision, index;
        size_t role; // ROLES: nothing is known of it
} RoleSince;

enum { CHANGES_KEPT = 64 };

static struct {
        RoleSince of[CHANGES_KEPT];
        size_t n;
} roles_had[WORLD_UNITS_MAX];
// By which entry each unit was changed last: its role may have been another one.
static uint64_t changed_at[WORLD_UNITS_MAX];
// Contents that the log had before the entry.
static bool is_known[WORLD_CONTENTS_MAX];

static bool has_by(const LogGrant *grants, size_t n, const LogToken *tokens, unsigned viewer,
                   Argosy__Right right, size_t role) {
        const char *name = role < ROLES ? world_roles[role] : NULL;
        const LogToken *t;

        if (viewer < AUTHOR_TOKEN)
                return log_has_right(grants, n, (WorldAuthor) viewer, right, name);
        t = &tokens[viewer - AUTHOR_TOKEN];
        return t->right >= right && (!*t->role || (name && strcmp(t->role, name) == 0));
}

static void note_viewer(unsigned viewer) {
        for (Argosy__Right right = 0; right <= ARGOSY__RIGHT__RIGHT_ADMIN; right++)
                for (size_t role = 0; role <= ROLES; role++)
                        if (has_by(log_truth.grants, log_truth.n_grants, log_truth.tokens, viewer, right,
                                   role) ||
                            has_by(log_truth.grants_before, log_truth.n_grants_before, tokens_then, viewer,
                                   right, role))
                                had_at[viewer][right][role] = log_truth.n_entries;
}

static unsigned viewer_of(const WorldAsked *a) {
        return a->author == AUTHOR_TOKEN ? AUTHOR_TOKEN + (a->token <= LOG_TOKENS_MAX ? a->token : 0)
                                         : a->author;
}

// Now, or by an entry behind that one.
static bool had(unsigned viewer, Argosy__Right right, size_t role, uint64_t since) {
        return has_by(log_truth.grants, log_truth.n_grants, log_truth.tokens, viewer, right, role) ||
               had_at[viewer][right][role] > since;
}

void unit_rights_begin(void) {
        memset(had_at, 0, sizeof(had_at));
        memset(tokens_then, 0, sizeof(tokens_then));
        memset(roles_had, 0, sizeof(roles_had));
        memset(changed_at, 0, sizeof(changed_at));
        memset(is_known, 0, sizeof(is_known));
}

// ROLES: its content is nobody's, so nothing is known of it.
static size_t role_of(const Hash *spec) {
        const WorldContent *c = world_content_find(spec->bytes);
        const char *role = c && c->role ? c->role : "default";

        for (size_t i = 0; c && i < ROLES; i++)
                if (strcmp(world_roles[i], role) == 0)
                        return i;
        return ROLES;
}

// Of one that is gone those may be told who could see it.
static void note_role(const struct LogTouched *t) {
        RoleSince *of = roles_had[t->unit].of;
        size_t *n = &roles_had[t->unit].n, role = role_of(&t->after.spec);

        if (!t->after.exists || (*n > 0 && of[*n - 1].role == role))
                return;
        if (*n == CHANGES_KEPT)
                memmove(of, of + 1, --*n * sizeof(*of));
        of[(*n)++] = (RoleSince){log_truth.units[t->unit].revision, world.rig.entry_index, role};
}

// --------------------------------------------------------------------------------------------- what is done

// 0: it is root's, or of a token, whose name two may have one after the other.
static unsigned author_of(const LogJob *j) {
        for (unsigned who = AUTHOR_ALICE; who < AUTHOR_TOKEN; who++)
                if (strcmp(j->user, world_authors[who]) == 0)
                        return who;
        return 0;
}

static void note_contents(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < batch->n_ops; i++) {
                const WorldContent *c = NULL;

                if (batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_UNIT &&
                    batch->ops[i]->unit->unit->spec.len == HASH_SIZE)
                        c = world_content_find(batch->ops[i]->unit->unit->spec.data);
                if (c)
                        is_known[c - asks.contents] = true;
        }
}

static bool is_new(const Hash *spec) {
        const WorldContent *c = world_content_find(spec->bytes);

        return c && !is_known[c - asks.contents];
}

// Nobody else changes anything in this entry.
static bool is_alone(uint64_t job) {
        for (size_t i = 0; i < log_truth.n_touched; i++)
                if (log_truth.touched[i].job != job)
                        return false;
        return true;
}

// Another unit of the job's requires it: who brought that one's file has said so (argosyd judges the units
// that are named).
static bool is_required(uint64_t job, unsigned unit) {
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];
                const WorldContent *c =
                        t->job == job && t->after.exists ? world_content_find(t->after.spec.bytes) : NULL;

                if (t->unit != unit && c && (c->requires | c->binds_to | c->wants) & 1u << unit)
                        return true;
        }
        return false;
}

// A job of several entries, or one that was held, was allowed before.
static void one_unit(const struct LogTouched *t) {
        const LogJob *j = t->job > 0 && t->job <= log_truth.n_jobs ? log_truth.jobs[t->job] : NULL;
        unsigned who = j && t->asked && !t->goes_on && j->has_id ? author_of(j) : 0;
        const char *name = asks.units[t->unit].name;
        size_t role = role_of(&t->before.spec);
        uint64_t before = log_truth.n_entries - 1; // it was decided behind that one

        if (who == 0 || had(who, ARGOSY__RIGHT__RIGHT_DEPLOY, ALL, before))
                return;
        check_says("units-are-ones-own");
        if (!t->before.exists && !is_required(t->job, t->unit))
                check_fail("units-are-ones-own",
                           "job %" PRIu64 " of %s brings %s, and to bring it is not his right", t->job,
                           world_authors[who], name);
        if (is_new(&t->after.spec) && is_alone(t->job))
                check_fail("units-are-ones-own",
                           "job %" PRIu64 " of %s gives %s a new content, and to bring one is not his right",
                           t->job, world_authors[who], name);
        if (role < ROLES && !had(who, ARGOSY__RIGHT__RIGHT_OPERATE, role, before))
                check_fail("units-are-ones-own", "job %" PRIu64 " (%s) of %s changes %s, whose role is %s",
                           t->job, j->verb, world_authors[who], name, world_roles[role]);
}

void unit_rights_on_entry(const Argosy__LogBatch *batch) {
        bool changed = log_truth.n_grants != log_truth.n_grants_before ||
                       memcmp(log_truth.grants, log_truth.grants_before,
                              log_truth.n_grants * sizeof(*log_truth.grants)) != 0 ||
                       memcmp(log_truth.tokens, tokens_then, sizeof(tokens_then)) != 0;

        for (unsigned i = 0; changed && i < VIEWERS; i++)
                if (i < AUTHOR_TOKEN || i - AUTHOR_TOKEN <= asks.n_tokens)
                        note_viewer(i);
        memcpy(tokens_then, log_truth.tokens, sizeof(tokens_then));
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                changed_at[log_truth.touched[i].unit] = log_truth.n_entries;
                note_role(&log_truth.touched[i]);
                one_unit(&log_truth.touched[i]);
        }
        note_contents(batch);
}

// --------------------------------------------------------------------------------------------- what is told

static void one_name(const WorldAsked *a, const char *name) {
        int i = world_unit_index(name);
        size_t role = i >= 0 && log_truth.units[i].exists ? role_of(&log_truth.units[i].spec) : ROLES;

        if (role == ROLES || changed_at[i] > a->asked_at)
                return;
        check_says("names-are-ones-own");
        if (!had(viewer_of(a), ARGOSY__RIGHT__RIGHT_VIEW, role, a->asked_at))
                check_fail("names-are-ones-own", "%s is told of %s, whose role is %s, by %s (%zu)",
                           world_authors[a->author], name, world_roles[role],
                           request_kind(a->request->what_case)->name, (size_t) (a - asks.asked) + 1);
}

// Of those words that are the names of units.
static void names(const WorldAsked *a, char *const *words, size_t n) {
        for (size_t i = 0; i < n; i++)
                one_name(a, words[i]);
}

static void job_rows(const WorldAsked *a, const Argosy__Response__Jobs *jobs) {
        for (size_t i = 0; i < jobs->n_rows; i++) {
                const Argosy__Response__JobRow *row = jobs->rows[i];

                names(a, row->targets, row->n_targets);
                for (size_t k = 0; k < row->n_units; k++)
                        one_name(a, row->units[k]->unit);
                for (size_t k = 0; k < row->n_ends; k++)
                        one_name(a, row->ends[k]->unit);
        }
}

static bool may_see(const WorldAsked *a, size_t role) {
        return role == ROLES || had(viewer_of(a), ARGOSY__RIGHT__RIGHT_VIEW, role, a->asked_at);
}

static size_t role_at(int unit, uint64_t revision) {
        for (size_t i = roles_had[unit].n; i > 0; i--)
                if (roles_had[unit].of[i - 1].revision <= revision)
                        return roles_had[unit].of[i - 1].role;
        return ROLES; // too long ago
}

// What all of these are, or ROLES if one of them may be seen: a report counts by the role that was known.
static size_t unseen_since(const WorldAsked *a, int unit, uint64_t index) {
        const RoleSince *of = roles_had[unit].of;
        size_t n = roles_had[unit].n;

        for (size_t i = n; i > 0; i--) {
                if (may_see(a, of[i - 1].role))
                        return ROLES;
                if (of[i - 1].index <= index)
                        return of[n - 1].role;
        }
        return ROLES;
}

// An event is from when it was made, and the unit may have had another role then.
static void one_event(const WorldAsked *a, const Argosy__Event *e) {
        int unit = world_unit_index(e->values[0]);
        size_t role = ROLES;
        uint64_t revision;

        if (unit < 0 || (e->kind == ARGOSY__EVENT_KIND__EVENT_STATE &&
                         e->mark != ARGOSY__EVENT_MARK__EVENT_NEW)) {
                one_name(a, e->values[0]);
                return;
        }
        if (e->kind == ARGOSY__EVENT_KIND__EVENT_STATE)
                role = unseen_since(a, unit, e->index);
        else if (parse_u64(event_field(e, "revision"), UINT64_MAX, &revision))
                role = role_at(unit, revision);
        if (role == ROLES)
                return;
        check_says("names-are-ones-own");
        if (!may_see(a, role))
                check_fail("names-are-ones-own", "%s is told of %s, whose role was %s, by an event (%zu)",
                           world_authors[a->author], asks.units[unit].name, world_roles[role],
                           (size_t) (a - asks.asked) + 1);
}

static void event_rows(const WorldAsked *a, const Argosy__Response__Events *events) {
        for (size_t i = 0; i < events->n_events; i++) {
                Argosy__Event *e =
                        argosy__event__unpack(NULL, events->events[i].len, events->events[i].data);

                assert_non_null(e);
                if ((e->kind == ARGOSY__EVENT_KIND__EVENT_UNIT ||
                     e->kind == ARGOSY__EVENT_KIND__EVENT_STATE) &&
                    e->n_values > 0 && !e->gone) // whoever could see it before is told that it has gone
                        one_event(a, e);
                message_free(e);
        }
}

static void check_token(const WorldAsked *a) {
        Argosy__Right right = request_right(a->request);
        size_t role = 0;

        if (a->request->what_case == ARGOSY__REQUEST__WHAT_CHANGE && right > ARGOSY__RIGHT__RIGHT_OPERATE)
                right = ARGOSY__RIGHT__RIGHT_OPERATE; // of some units it is enough
        while (role <= ROLES && !had(viewer_of(a), right, role, a->asked_at))
                role++;
        check_says("tokens-let-in");
        if (role > ROLES)
                check_fail("tokens-let-in", "token %u is answered %s (%zu), and does not give the right",
                           a->token, request_kind(a->request->what_case)->name,
                           (size_t) (a - asks.asked) + 1);
}

void unit_rights_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        if (a->author == AUTHOR_ROOT || r->status != 0)
                return;
        if (a->author == AUTHOR_TOKEN && a->token <= LOG_TOKENS_MAX)
                check_token(a);
        switch (r->what_case) {
        case ARGOSY__RESPONSE__WHAT_UNITS:
                for (size_t i = 0; i < r->units->n_rows; i++)
                        one_name(a, r->units->rows[i]->unit);
                break;
        case ARGOSY__RESPONSE__WHAT_UNIT_FILES:
                for (size_t i = 0; i < r->unit_files->n_rows; i++)
                        one_name(a, r->unit_files->rows[i]->unit);
                break;
        case ARGOSY__RESPONSE__WHAT_USAGE:
                for (size_t i = 0; i < r->usage->n_rows; i++)
                        one_name(a, r->usage->rows[i]->unit);
                break;
        case ARGOSY__RESPONSE__WHAT_CAT:
                one_name(a, r->cat->name);
                break;
        case ARGOSY__RESPONSE__WHAT_STATUS_REPLY:
                one_name(a, r->status_reply->row ? r->status_reply->row->unit : "");
                break;
        case ARGOSY__RESPONSE__WHAT_JOBS:
                job_rows(a, r->jobs);
                break;
        case ARGOSY__RESPONSE__WHAT_EVENTS:
                event_rows(a, r->events);
                break;
        default:
                break;
        }
}
