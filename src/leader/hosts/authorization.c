// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See authorization.h. Whether an author has the right for all units takes one look at the list of rights,
// and nearly all authors have. Only for an author with the right for some roles are the units of its request
// looked at; a request that names none, or an answer of nodes without units, is for authors that may see
// everything. Lists are given to every author that may see something, without the rest.
//
// A unit that the author may not see and one that is not there are refused in the same words. Units that
// come along because of a unit's own file (Requires=, BindsTo=, LoadWith=) are not judged: the file was
// brought with the right to do so.

#include "authorization.h"

#include <errno.h>
#include <string.h>

#include "access-token.h"
#include "access-tokens.h"
#include "author.h"
#include "disruption-budget.h"
#include "group-contents.h"
#include "hash.h"
#include "host-link.h"
#include "message-of.h"
#include "message.h"
#include "pending-requests.h"
#include "registry.h"
#include "request-kind.h"
#include "response.h"
#include "scheduler-roles.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-record.h"

enum { REPORTED_HOSTS = 256 }; // of other grants, in one turn, at about 2 us each

AccessList authorization_list(const Leader *l) {
        AccessList list = cluster_state_access(l->state);

        list.now = (AccessTime){.wall_us = leader_wall(l), .counted_us = leader_counted(l)};
        return list;
}

AccessList authorization_list_for(const Leader *l, const Argosy__Author *author) {
        return access_shows_token(author) ? authorization_list(l) : cluster_state_access(l->state);
}

void authorization_author_at(const Leader *l, const Argosy__Author *author, char *ret, size_t size) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, author->host);
        char who[AUTHOR_TEXT_SIZE];

        str_fit(ret, size, "%s%s%s", author_text(author, who), host ? "@" : "", host ? host->name : "");
}

// ------------------------------------------------------------------------------------------------ units

static bool has_by_file(const Leader *l, const Argosy__Author *author, Argosy__Right right,
                        const UnitFile *file, const char *name) {
        UnitOptions *options;
        bool has;

        if (unit_file_expand(file, name, name, &options, NULL) < 0)
                return false;
        has = access_has(authorization_list(l), author, right, options->role ?: ROLE_DEFAULT);
        unit_options_unref(options);
        return has;
}

// Whether the author has the right for a unit that exists and whose file can be read.
static bool has_for_unit(const Leader *l, const Argosy__Author *author, Argosy__Right right,
                         const char *name) {
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        UnitOptions *options;
        bool has;

        if (!e || unit_options_of(e, &options) < 0)
                return false;
        has = access_has(authorization_list_for(l, author), author, right, options->role ?: ROLE_DEFAULT);
        unit_options_unref(options);
        return has;
}

// Whether the author has the right for all units of a group with this content. If its role depends on the
// name each unit is asked about.
static bool has_for_content(const Leader *l, const Argosy__Author *author, Argosy__Right right,
                            const DisruptionBudget *g, const GroupContent *c) {
        SpecEntry *spec = cluster_state_find_spec(l->state, &c->spec);
        const UnitFile *file;
        bool has = spec && spec_entry_file(spec, &file) >= 0;

        if (has && !unit_file_rank_varies(file))
                return has_by_file(l, author, right, file, g->name);
        list_foreach (i, &g->units) {
                const Unit *u = CONTAINER_OF(i, const Unit, of_budget);

                has = has && (u->content != c || has_for_unit(l, author, right, u->name));
        }
        return has;
}

// Whether the author has the right for a template and all its instances, or for one unit.
static bool has_for_group(const Leader *l, const Argosy__Author *author, Argosy__Right right,
                          const char *name) {
        const DisruptionBudget *g = disruption_budget_find(l, name);
        bool has = cluster_state_find_unit(l->state, name) ? has_for_unit(l, author, right, name)
                                                           : g && !list_is_empty(&g->units);

        if (g)
                map_foreach (slot, &g->contents)
                        has = has && has_for_content(l, author, right, g, slot->value);
        return has;
}

// ------------------------------------------------------------------------------------------------ requests

// It says what would become of units that it does not name, too.
static bool is_plan(const Argosy__Request *q) {
        return q->what_case == ARGOSY__REQUEST__WHAT_CHANGE && q->change->preview;
}

// Units that are not there are made by these.
static bool makes_units(const Argosy__Request *q) {
        return q->what_case == ARGOSY__REQUEST__WHAT_CHANGE &&
               (q->change->verb == ARGOSY__VERB__VERB_START || q->change->verb == ARGOSY__VERB__VERB_LOAD);
}

// ------------------------------------------------------------------------------------------------ judging

static bool refuse(const Argosy__Author *author, Argosy__Right right, const char *unit, bool makes,
                   char why[AUTHORIZATION_WHY_SIZE]) {
        char who[AUTHOR_TEXT_SIZE];

        if (!unit)
                str_fit(why, AUTHORIZATION_WHY_SIZE, "this needs the right '%s', which %s does not have",
                        right_to_string(right), author_text(author, who));
        else if (makes)
                str_fit(why, AUTHORIZATION_WHY_SIZE,
                        "%s: this needs the right '%s' on it, or 'deploy' if it is new; %s has neither",
                        unit, right_to_string(right), author_text(author, who));
        else
                str_fit(why, AUTHORIZATION_WHY_SIZE,
                        "%s: this needs the right '%s' on it, which %s does not have", unit,
                        right_to_string(right), author_text(author, who));
        return true;
}

static bool refuse_too_many(char why[AUTHORIZATION_WHY_SIZE]) {
        str_fit(why, AUTHORIZATION_WHY_SIZE, "who has a right for some roles only may name %d units at once",
                AUTHORIZATION_UNITS_MAX);
        return true;
}

// Judges an author with the right for some roles.
static bool refuses_units(const Leader *l, const Argosy__Author *author, const Argosy__Request *q,
                          Argosy__Right right, char why[AUTHORIZATION_WHY_SIZE]) {
        RequestAbout about = request_about(q);
        const char *unit;

        for (size_t i = 0; (unit = request_unit(q, i)); i++) {
                if (i >= AUTHORIZATION_UNITS_MAX)
                        return refuse_too_many(why);
                if (!(about == REQUEST_ABOUT_GROUP ? has_for_group : has_for_unit)(l, author, right, unit))
                        return refuse(author, right, unit, makes_units(q), why);
        }
        return false;
}

// Judges an author that may operate everything, but bring nothing.
static bool refuses_new(const Leader *l, const Argosy__Author *author, const Argosy__Request *q,
                        char why[AUTHORIZATION_WHY_SIZE]) {
        const char *unit;

        for (size_t i = 0; (unit = request_unit(q, i)); i++)
                if (!cluster_state_find_unit(l->state, unit)) {
                        char who[AUTHOR_TEXT_SIZE];

                        str_fit(why, AUTHORIZATION_WHY_SIZE,
                                "%s is not in the cluster, and to bring it needs the right 'deploy', which "
                                "%s does not have",
                                unit, author_text(author, who));
                        return true;
                }
        return false;
}

bool authorization_refuses(const Leader *l, const Argosy__Author *author, const Argosy__Request *q,
                           char why[AUTHORIZATION_WHY_SIZE]) {
        AccessList list = authorization_list_for(l, author);
        Argosy__Right right = request_right(q);

        if (access_token_error(list, author, why) > 0)
                return true;
        if (is_plan(q) && !access_has(list, author, ARGOSY__RIGHT__RIGHT_VIEW, NULL))
                return refuse(author, ARGOSY__RIGHT__RIGHT_VIEW, NULL, false, why);
        if (access_has(list, author, right, NULL))
                return makes_units(q) && !access_has(list, author, ARGOSY__RIGHT__RIGHT_DEPLOY, NULL) &&
                       refuses_new(l, author, q, why);
        if (!access_has_some(list, author, right) || request_about(q) == REQUEST_ABOUT_ALL)
                return refuse(author, right, NULL, false, why);
        return refuses_units(l, author, q, right, why);
}

int authorization_error(const Leader *l, const Argosy__Author *author) {
        return access_token_error(authorization_list_for(l, author), author, (char[ACCESS_TOKEN_WHY_SIZE]){})
                       ?: EACCES;
}

bool authorization_views_all(const Leader *l, const Argosy__Author *author) {
        return access_has(authorization_list_for(l, author), author, ARGOSY__RIGHT__RIGHT_VIEW, NULL);
}

bool authorization_may_view(const Leader *l, const Argosy__Author *author, const char *unit) {
        return authorization_views_all(l, author) ||
               has_for_unit(l, author, ARGOSY__RIGHT__RIGHT_VIEW, unit);
}

bool authorization_refuses_view(const Leader *l, const Argosy__Author *author, const char *unit,
                                char why[AUTHORIZATION_WHY_SIZE]) {
        return !authorization_may_view(l, author, unit) &&
               refuse(author, ARGOSY__RIGHT__RIGHT_VIEW, unit, false, why);
}

bool authorization_may_view_role(const Leader *l, const Argosy__Author *author, const char *role) {
        return access_has(authorization_list_for(l, author), author, ARGOSY__RIGHT__RIGHT_VIEW, role);
}

uint32_t authorization_scope(const Leader *l, const Argosy__Author *author) {
        AccessList list = authorization_list_for(l, author);
        const Argosy__AccessTokenRecord *token = access_token_of(list, author);
        uint32_t crc = 0;

        if (authorization_views_all(l, author))
                return 0;
        if (token)
                crc = crc32c(crc, token->role, strlen(token->role) + 1);
        for (size_t i = 0; i < list.n; i++)
                if (grant_is_of(list.grants[i], author))
                        crc = crc32c(crc, list.grants[i]->role, strlen(list.grants[i]->role) + 1);
        return crc | 1;
}

// ------------------------------------------------------------------- what an author may see and bring

static void filter_units(const Leader *l, const Argosy__Author *author, Argosy__Response__Units *units) {
        size_t kept = 0;

        for (size_t i = 0; i < units->n_rows; i++)
                if (authorization_may_view(l, author, units->rows[i]->unit))
                        units->rows[kept++] = units->rows[i];
                else
                        message_free(units->rows[i]);
        units->n_rows = kept;
}

static void filter_files(const Leader *l, const Argosy__Author *author, Argosy__Response__UnitFiles *files) {
        size_t kept = 0;

        for (size_t i = 0; i < files->n_rows; i++)
                if (authorization_may_view(l, author, files->rows[i]->unit))
                        files->rows[kept++] = files->rows[i];
                else
                        message_free(files->rows[i]);
        files->n_rows = kept;
}

// Drops rows that the author may not see, also of units that are not in the cluster any more.
static void filter_usage(const Leader *l, const Argosy__Author *author, Argosy__Response__Usage *usage) {
        size_t kept = 0;

        for (size_t i = 0; i < usage->n_rows; i++)
                if (authorization_may_view(l, author, usage->rows[i]->unit))
                        usage->rows[kept++] = usage->rows[i];
                else
                        message_free(usage->rows[i]);
        usage->n_rows = kept;
}

static Argosy__Right highest(const Leader *l, const Argosy__Author *author,
                             bool (*has)(AccessList list, const Argosy__Author *author,
                                         Argosy__Right right)) {
        Argosy__Right right = ARGOSY__RIGHT__RIGHT_ADMIN;

        while (right > ARGOSY__RIGHT__RIGHT_NONE && !has(authorization_list_for(l, author), author, right))
                right--;
        return right;
}

static bool has_of_all(AccessList list, const Argosy__Author *author, Argosy__Right right) {
        return access_has(list, author, right, NULL);
}

static void filter_access(const Leader *l, const Argosy__Author *author, Argosy__Response__Access *access) {
        size_t kept = 0;

        access->own = highest(l, author, has_of_all);
        access->own_of_some = highest(l, author, access_has_some);
        if (access_has(authorization_list_for(l, author), author, ARGOSY__RIGHT__RIGHT_ADMIN, NULL))
                return;
        for (size_t i = 0; i < access->n_rows; i++)
                if (grant_is_of(access->rows[i]->grant, author))
                        access->rows[kept++] = access->rows[i];
                else
                        message_free(access->rows[i]);
        access->n_rows = kept;
}

void authorization_filter(const Leader *l, const Argosy__Author *author, Argosy__Response *r) {
        switch (r->what_case) {
        case ARGOSY__RESPONSE__WHAT_UNITS:
                if (!authorization_views_all(l, author))
                        filter_units(l, author, r->units);
                break;
        case ARGOSY__RESPONSE__WHAT_UNIT_FILES:
                if (!authorization_views_all(l, author))
                        filter_files(l, author, r->unit_files);
                break;
        case ARGOSY__RESPONSE__WHAT_USAGE:
                if (!authorization_views_all(l, author))
                        filter_usage(l, author, r->usage);
                break;
        case ARGOSY__RESPONSE__WHAT_ACCESS:
                filter_access(l, author, r->access);
                break;
        default:
                break;
        }
}

bool authorization_drop_files(const Leader *l, PendingRequest *t) {
        Argosy__Request__Change *change = t->request->change;

        if (t->request->what_case != ARGOSY__REQUEST__WHAT_CHANGE || t->brings_nothing ||
            access_has(authorization_list_for(l, t->author), t->author, ARGOSY__RIGHT__RIGHT_DEPLOY, NULL))
                return false;
        t->brings_nothing = true;
        if (change->n_files == 0)
                return false;
        for (size_t i = 0; i < change->n_files; i++)
                message_free(change->files[i]);
        free(change->files);
        change->files = NULL;
        change->n_files = 0;
        return true;
}

// ----------------------------------------------------------------------------------------- what has changed

static bool only_listens(const PendingRequest *t) {
        const RequestKind *kind = request_kind(t->request->what_case);

        return kind && (kind->effect != REQUEST_CHANGES || is_plan(t->request)) && !t->ended;
}

void authorization_send(Leader *l, Host *h) {
        Argosy__ToHost__Access access = ARGOSY__TO_HOST__ACCESS__INIT;
        AccessList list = cluster_state_access(l->state);
        Argosy__ToHost m = TO_HOST_OF(ACCESS, access, &access);

        access.grants = (Argosy__GrantRecord **) list.grants;
        access.n_grants = list.n;
        access.revision = cluster_state_grants_revision(l->state);
        leader_to_host(l, h, &m);
}

// Sends the list of rights to all hosts. A host that attaches meanwhile gets it at that time, and perhaps
// once more.
static void tell_all(Leader *l) {
        l->grants_due = true;
        l->grants_host = 0;
        leader_mark(l);
}

void authorization_tell_some(Leader *l) {
        const Argosy__HostRecord *host = NULL;

        if (!l->grants_due)
                return;
        for (size_t i = 0; i < REPORTED_HOSTS && (host = cluster_state_next_host(l->state, l->grants_host));
             i++) {
                Host *h = host_find(l, host->host);

                l->grants_host = host->host;
                if (h && h->attached)
                        authorization_send(l, h);
        }
        l->grants_due = host;
        if (host)
                leader_mark(l);
}

static void judge_listeners(Leader *l) {
        char why[AUTHORIZATION_WHY_SIZE];

        list_foreach (i, &l->pending_requests) {
                PendingRequest *t = CONTAINER_OF(i, PendingRequest, all);

                if (only_listens(t) && authorization_refuses(l, t->author, t->request, why))
                        request_fail(t, response_error(authorization_error(l, t->author), "%s", why));
        }
}

void authorization_on_applied(Leader *l) {
        uint64_t revision = cluster_state_access_revision(l->state),
                 grants = cluster_state_grants_revision(l->state);

        if (l->access_revision == revision)
                return;
        l->access_revision = revision;
        l->token_expiry_us = access_tokens_next_expiry(l);
        if (l->leading && l->grants_revision != grants)
                tell_all(l);
        l->grants_revision = grants;
        judge_listeners(l);
}

void authorization_begin(Leader *l) {
        l->access_revision = cluster_state_access_revision(l->state);
        l->grants_revision = cluster_state_grants_revision(l->state);
        l->grants_due = false; // each is told when it attaches
        l->token_expiry_us = access_tokens_next_expiry(l);
}

void authorization_on_time(Leader *l) {
        if (l->token_expiry_us > 0 && l->token_expiry_us <= leader_now(l))
                authorization_on_wall(l);
}

void authorization_on_wall(Leader *l) {
        l->n_token_expiries++;
        l->token_expiry_us = access_tokens_next_expiry(l);
        judge_listeners(l);
}

uint64_t authorization_revision(const Leader *l) {
        return cluster_state_access_revision(l->state) + l->n_token_expiries;
}
