// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the rules of the queue ask of a request: who, what, why, and which units it names, with their roles.
// A Change names them, an Apply, too, a rollout its template and the instances that there are; an undo what
// its job has changed. What comes along because of a unit's own file is not asked about.
//
// The role of a unit that is there is what its file says now; of one that comes, what the file says that
// comes with it, or else that of its template in the cluster. Files are read only if a rule asks for a role,
// and each once: it is the name that makes the role in few of them.
//
// Tens of thousands of units are looked at in several turns (QueueLook). What was found is so until the
// rules change, or the file of a unit, or of a template, whose role was asked for: then it begins anew, so
// that no job begins by what a unit was in an earlier turn. An instance that comes meanwhile was asked about
// with the request that brought it.
//
// A job that a rule holds keeps what was asked of units for that (QueueWatch): when one of them is gone, is
// there again or has another file, or when the template that it is about has another instance, it is judged
// anew. The log's entries tell, at one search in a map for each unit, whoever has asked for it.
//
// An update, or a restart a few at a time, is one thing: another one of the same units, and other content
// for them, are refused as long as it is under way. So is a rebalance, of which there is one at a time.
//
// Failures: what cannot be read has no role. Without memory the process ends (oom.h).

#include "queue-subject.h"

#include <stdlib.h>

#include "author.h"
#include "job-words.h"
#include "message.h"
#include "oom.h"
#include "queue-policy.h"
#include "request-kind.h"
#include "scheduler-roles.h"
#include "str.h"
#include "pending-requests.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-name.h"
#include "unit-record.h"

enum {
        ROLE_SIZE = LABEL_MAX + 1,
        FREED_AT_ONCE = 100,   // names, at about 1.5 us; those of most requests
        FREED_PER_TURN = 1000,
        READ_WORK = 20,  // of a file, beside one comparison at less than 1 us
        EXPAND_WORK = 5, // for one more name
};

// A name that somebody has asked about; in Leader.queue_names.
typedef struct QueueName {
        ListNode seen; // Seen.by_name
        char name[];
} QueueName;

// What it was then.
typedef struct Seen {
        QueueWatch *watch;
        QueueName *of;
        ListNode by_name;
        ListNode by_watch; // QueueWatch.all
        Hash spec;
        bool exists;
        bool by_role; // its file says something
        bool group;   // so does which instances it has, as a template
} Seen;

struct QueueWatch {
        Leader *leader;
        Map seen;     // by name; empty once it is retired
        ListNode all; // Seen.by_watch
        bool stale; // a unit has another file than when it was asked for its role
        struct HeldJob *job; // that waits for another answer; NULL: it is still looked for
        ListNode changed;    // in Leader.queue_changed: there may be one
        QueueWatch *retired; // the next one in Leader.queue_retired
};

// A file that comes with the request.
typedef struct SentFile {
        const Argosy__NamedFile *file;
        char *role; // of all units that have it; NULL: it is not known, or differs
} SentFile;

// A template and its instances, in the order of their names.
typedef struct Group {
        const char *name; // the template, or the unit; NULL: it is none
        char *prefix;     // with which names of instances begin; NULL: there are none
        char *at;         // name of the instance that is at hand; NULL: none yet
        size_t i;         // which one it is, counted from 1
} Group;

typedef struct Subject {
        const Leader *leader;
        const Argosy__Request *request;
        Group group;  // of a rollout
        char **units; // of an undo; NULL: the request names them
        size_t n_units; // they are the record's
        Argosy__JobRecord *undone;
        SentFile *files; // of a Change: all of them, once one was asked for; of others at most one
        size_t n_files;
        Map files_by_name;
        UnitFile *parsed; // the one that was read last
        const Argosy__NamedFile *parsed_of;
        char role[ROLE_SIZE]; // that was asked for last
        QueueWatch *watch;    // names that were asked about; NULL: nobody wants to know
} Subject;

struct QueueLook {
        RequestWork work; // while it is a pending request's
        Subject subject;
        QueueWalk walk;
        uint64_t revision; // of the rules
        // files of the request: they are gone if who has sent them may bring none any more
        size_t n_sent;
        bool known;
        uint32_t rule; // that counts; 0: none
};

static void forget_seen(Leader *l, Seen *seen) {
        list_unlink(&seen->by_name);
        list_unlink(&seen->by_watch);
        l->n_queue_groups -= seen->group;
        if (list_is_empty(&seen->of->seen)) {
                map_take_str(&l->queue_names, seen->of->name);
                free(seen->of);
        }
        free(seen);
}

// False: there is more to free. What is freed is taken off *left.
static bool free_some(QueueWatch *w, size_t *left) {
        for (; !list_is_empty(&w->all); --*left) {
                if (*left == 0)
                        return false;
                forget_seen(w->leader, CONTAINER_OF(w->all.next, Seen, by_watch));
        }
        free(w);
        return true;
}

QueueWatch *queue_watch_free(QueueWatch *w) {
        size_t left = FREED_AT_ONCE;

        if (!w)
                return NULL;
        w->job = NULL;
        list_unlink(&w->changed);
        map_done(&w->seen); // its keys go one by one
        if (!w->leader->queue_retired && free_some(w, &left))
                return NULL;
        w->retired = w->leader->queue_retired;
        w->leader->queue_retired = w;
        leader_mark(w->leader);
        return NULL;
}

static void free_retired(Leader *l, size_t left) {
        while (l->queue_retired && left > 0) {
                QueueWatch *w = l->queue_retired, *next = w->retired;

                left--;
                if (free_some(w, &left))
                        l->queue_retired = next;
        }
}

void queue_watches_turn(Leader *l) {
        free_retired(l, FREED_PER_TURN);
        if (l->queue_retired)
                leader_mark(l);
}

void queue_watches_retire(Leader *l) {
        free_retired(l, SIZE_MAX);
}

static QueueWatch *watch_new(Leader *l) {
        QueueWatch *w = oom_checked(calloc(1, sizeof(*w)));

        w->leader = l;
        list_init(&w->all);
        list_init(&w->changed);
        return w;
}

static void subject_done(Subject *s) {
        free(s->group.prefix);
        free(s->group.at);
        free(s->units);
        message_free(s->undone);
        for (size_t i = 0; i < s->n_files; i++)
                free(s->files[i].role);
        map_done(&s->files_by_name);
        queue_watch_free(s->watch);
        free(s->files);
        unit_file_free(s->parsed);
}

// ------------------------------------------------------------------------------------------------ units

static const char *unit_of_group(Subject *s, size_t i);

static const char *unit_at(size_t i, void *userdata) {
        Subject *s = userdata;
        const Argosy__Request *q = s->request;

        if (s->group.name)
                return unit_of_group(s, i);
        if (s->units)
                return i < s->n_units ? s->units[i] : NULL;
        if (q->what_case == ARGOSY__REQUEST__WHAT_CHANGE)
                return i < q->change->n_names ? q->change->names[i] : NULL;
        if (q->what_case != ARGOSY__REQUEST__WHAT_APPLY)
                return NULL;
        if (i < q->apply->n_units)
                return q->apply->units[i]->name;
        i -= q->apply->n_units;
        return i < q->apply->n_gone ? q->apply->gone[i] : NULL;
}

static void name_undone(Subject *s, uint64_t job) {
        size_t n = 0;

        if (cluster_state_read_job(s->leader->state, job, &s->undone) < 0)
                return;
        for (size_t g = 0; g < s->undone->n_units; g++)
                n += s->undone->units[g]->n_names;
        s->units = oom_checked(calloc(n + 1, sizeof(*s->units)));
        for (size_t g = 0; g < s->undone->n_units; g++)
                for (size_t i = 0; i < s->undone->units[g]->n_names; i++)
                        s->units[s->n_units++] = s->undone->units[g]->names[i];
}

// ------------------------------------------------------------------------------------- what was asked about

static QueueName *name_get(Leader *l, const char *name) {
        QueueName *n = map_find_str(&l->queue_names, name);

        if (n)
                return n;
        n = oom_checked(MAP_NEW_STR(&l->queue_names, QueueName, name, name));
        list_init(&n->seen);
        return n;
}

static Seen *seen_get(QueueWatch *w, const char *name, const UnitEntry *e) {
        Seen *seen = map_find_str(&w->seen, name);

        if (seen)
                return seen;
        seen = oom_checked(calloc(1, sizeof(*seen)));
        seen->watch = w;
        seen->of = name_get(w->leader, name);
        list_append(&seen->of->seen, &seen->by_name);
        list_append(&w->all, &seen->by_watch);
        seen->exists = e;
        if (e)
                seen->spec = e->spec->hash;
        (void) oom_check(map_add_str(&w->seen, seen->of->name, seen));
        return seen;
}

static void note_role(Subject *s, const char *name, const UnitEntry *e) {
        if (s->watch)
                seen_get(s->watch, name, e)->by_role = true;
}

static void note_instance(Subject *s, const UnitEntry *e) {
        if (s->watch)
                (void) seen_get(s->watch, e->record->name, e);
}

static void note_group(Subject *s, const char *template) {
        if (!s->watch)
                return;
        seen_get(s->watch, template, cluster_state_find_unit(s->leader->state, template))->group = true;
        s->watch->leader->n_queue_groups++;
}

static bool has_other_file(const Seen *seen, const UnitEntry *e) {
        return seen->by_role &&
               (seen->exists == e->removed || (seen->exists && !hash_equal(&seen->spec, &e->spec->hash)));
}

// A job that waits is judged in a later turn, however many of its units an entry changes.
static void note_changed(QueueWatch *w) {
        if (!w->job || list_is_linked(&w->changed))
                return;
        list_append(&w->leader->queue_changed, &w->changed);
        leader_mark(w->leader);
}

static void look_at_group(Leader *l, const UnitEntry *e) {
        _cleanup_free_ char *template = oom_checked(unit_name_template(e->record->name));
        const QueueName *n = map_find_str(&l->queue_names, template);

        if (n)
                list_foreach (i, &n->seen) {
                        const Seen *seen = CONTAINER_OF(i, Seen, by_name);

                        if (seen->group && !map_find_str(&seen->watch->seen, e->record->name))
                                note_changed(seen->watch);
                }
}

void queue_names_on_unit(Leader *l, const UnitEntry *e) {
        const QueueName *n = map_find_str(&l->queue_names, e->record->name);

        if (n)
                list_foreach (i, &n->seen) {
                        const Seen *seen = CONTAINER_OF(i, Seen, by_name);

                        seen->watch->stale |= has_other_file(seen, e);
                        if (seen->exists == e->removed || has_other_file(seen, e))
                                note_changed(seen->watch);
                }
        if (l->n_queue_groups > 0 && !e->removed &&
            unit_name_kind(e->record->name, NULL) == UNIT_NAME_INSTANCE)
                look_at_group(l, e);
}

struct HeldJob *queue_take_changed(Leader *l) {
        QueueWatch *w;

        if (list_is_empty(&l->queue_changed))
                return NULL;
        w = CONTAINER_OF(l->queue_changed.next, QueueWatch, changed);
        list_unlink(&w->changed);
        return w->job;
}

// ----------------------------------------------------------------------------- a template and its instances

// Whether the unit is an instance of the group's template.
static bool is_instance(const Group *g, const UnitEntry *e) {
        return !e->record->global && unit_name_is_instance_of(e->record->name, g->name);
}

// The next one by name; those of one template stand together but for others whose names only begin like
// theirs.
static const UnitEntry *next_instance(const Leader *l, const Group *g) {
        const char *behind = g->at ?: g->prefix;
        const UnitEntry *e;

        while ((e = cluster_state_next_unit(l->state, behind)) &&
               str_has_prefix(e->record->name, g->prefix)) {
                if (is_instance(g, e))
                        return e;
                behind = e->record->name;
        }
        return NULL;
}

static void go_back(Group *g) {
        free(TAKE_PTR(g->at));
        g->i = 0;
}

static bool step(Subject *s) {
        Group *g = &s->group;
        const UnitEntry *e = next_instance(s->leader, g);
        char *name = e ? oom_checked(strdup(e->record->name)) : NULL;

        if (!name)
                return false;
        free(g->at);
        g->at = name;
        g->i++;
        note_instance(s, e);
        return true;
}

// The i-th unit of the group. Each rule asks for them one after the other from the beginning; units that
// come or go meanwhile move only those behind them.
static const char *unit_of_group(Subject *s, size_t i) {
        Group *g = &s->group;

        if (i < g->i)
                go_back(g);
        while (g->i < i)
                if (!g->prefix || !step(s))
                        return NULL;
        return g->at ?: g->name;
}

static void name_group(Subject *s, const char *name) {
        s->group.name = name;
        if (unit_name_kind(name, NULL) != UNIT_NAME_TEMPLATE)
                return;
        s->group.prefix = oom_checked(strndup(name, (size_t) (strchr(name, '@') - name) + 1));
        note_group(s, name);
}

// ------------------------------------------------------------------------------------------------ roles

static const char *keep_role(Subject *s, UnitOptions *options) {
        str_fit(s->role, sizeof(s->role), "%s", options->role ?: ROLE_DEFAULT);
        unit_options_unref(options);
        return s->role;
}

static const char *role_by_file(Subject *s, const UnitFile *file, const char *unit) {
        UnitOptions *options;

        return oom_check(unit_file_expand(file, unit, unit, &options, NULL)) < 0 ? NULL
                                                                                 : keep_role(s, options);
}

static const char *role_by_spec(Subject *s, SpecEntry *spec, const char *unit) {
        const UnitFile *file;

        return !spec || oom_check(spec_entry_file(spec, &file)) < 0 ? NULL : role_by_file(s, file, unit);
}

static void spend(size_t *left, size_t work) {
        *left -= MIN_OF(*left, work);
}

static const UnitFile *read_file(Subject *s, const Argosy__NamedFile *file, const char *unit, size_t *left) {
        if (s->parsed_of != file) {
                spend(left, READ_WORK);
                s->parsed = unit_file_free(s->parsed);
                s->parsed_of = file;
                if (oom_check(unit_file_parse(unit, file->content.data, file->content.len, &s->parsed,
                                              NULL)) < 0)
                        s->parsed = NULL;
        }
        return s->parsed;
}

static const char *role_by_sent(Subject *s, SentFile *sent, const char *unit, size_t *left) {
        const UnitFile *file = sent->role ? NULL : read_file(s, sent->file, unit, left);
        const char *role = sent->role;

        if (file) {
                spend(left, EXPAND_WORK);
                role = role_by_file(s, file, unit);
                if (role && !unit_file_rank_varies(file))
                        sent->role = oom_checked(strdup(role));
        }
        return role;
}

static void list_files(Subject *s, Argosy__NamedFile *const *files, size_t n) {
        s->files = oom_checked(calloc(n + 1, sizeof(*s->files)));
        s->n_files = n;
        for (size_t i = 0; i < n; i++) {
                s->files[i].file = files[i];
                // of two the first
                (void) oom_check(map_add_str(&s->files_by_name, files[i]->name, &s->files[i]));
        }
}

// That came with the request for it, or for its template; NULL: none did.
static SentFile *file_of(Subject *s, size_t i, const char *unit, const char *template) {
        const Argosy__Request *q = s->request;
        SentFile *sent;

        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                if (!s->files)
                        list_files(s, q->change->files, q->change->n_files);
                break;
        case ARGOSY__REQUEST__WHAT_ROLLOUT:
                if (!s->files)
                        list_files(s, &q->rollout->file, q->rollout->file != NULL);
                return q->rollout->file ? &s->files[0] : NULL;
        case ARGOSY__REQUEST__WHAT_APPLY:
                if (!s->files)
                        list_files(s, q->apply->files, q->apply->n_files);
                if (i >= q->apply->n_units || q->apply->units[i]->file == 0 ||
                    q->apply->units[i]->file > q->apply->n_files)
                        return NULL;
                return &s->files[q->apply->units[i]->file - 1];
        default:
                return NULL;
        }
        sent = map_find_str(&s->files_by_name, unit);
        return sent || !template ? sent : map_find_str(&s->files_by_name, template);
}

// The content that the cluster has for a new unit; NULL: none.
static SpecEntry *spec_of_new(Subject *s, size_t i, const char *template) {
        const Argosy__Request *q = s->request;
        const UnitEntry *e = template ? cluster_state_find_unit(s->leader->state, template) : NULL;
        Hash hash;

        if (q->what_case != ARGOSY__REQUEST__WHAT_APPLY) {
                if (template)
                        note_role(s, template, e);
                return e ? e->spec : NULL;
        }
        if (i >= q->apply->n_units ||
            !hash_from_bytes(q->apply->units[i]->spec.data, q->apply->units[i]->spec.len, &hash))
                return NULL;
        return cluster_state_find_spec(s->leader->state, &hash);
}

static const char *role_of_new(Subject *s, size_t i, const char *unit, size_t *left) {
        bool is_instance = unit_name_kind(unit, NULL) == UNIT_NAME_INSTANCE;
        _cleanup_free_ char *template = is_instance ? oom_checked(unit_name_template(unit)) : NULL;
        SentFile *sent = file_of(s, i, unit, template);

        return sent ? role_by_sent(s, sent, unit, left) : role_by_spec(s, spec_of_new(s, i, template), unit);
}

static const char *role_at(size_t i, size_t *left, void *userdata) {
        Subject *s = userdata;
        const char *unit = unit_at(i, s);
        const UnitEntry *e = unit ? cluster_state_find_unit(s->leader->state, unit) : NULL;

        if (unit)
                note_role(s, unit, e);
        if (e)
                return role_by_spec(s, e->spec, unit);
        return unit ? role_of_new(s, i, unit, left) : NULL;
}

// ---------------------------------------------------------------------------------------- what is under way

static uint64_t job_of_rollout(const Leader *l, const char *name) {
        const Argosy__RolloutRecord *r = cluster_state_find_rollout(l->state, name);
        RequestKey key;

        if (!rollout_is_under_way(r) || r->request.len != REQUEST_JOB_ID_SIZE ||
            !cluster_state_find_key(l->state, r->request.data, &key) ||
            cluster_state_job_state(l->state, key.job) != ARGOSY__JOB_STATE__JOB_RUNNING)
                return 0;
        return key.job;
}

static bool brings_content(const Argosy__Request *q) {
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                return q->change->n_files > 0;
        case ARGOSY__REQUEST__WHAT_APPLY:
        case ARGOSY__REQUEST__WHAT_UNDO:
                return true;
        default:
                return false;
        }
}

static uint64_t job_of_unit(const Leader *l, const char *unit) {
        _cleanup_free_ char *template =
                unit_name_kind(unit, NULL) == UNIT_NAME_INSTANCE ? unit_name_template(unit) : NULL;
        uint64_t job = template ? job_of_rollout(l, template) : 0;

        return job > 0 ? job : job_of_rollout(l, unit);
}

bool rebalance_job_is_asked_by(const RebalanceJob *job, const Argosy__Request *request) {
        const ProtobufCBinaryData *a = &job->request->rebalance->id, *b = &request->rebalance->id;

        return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

static uint64_t exclusive_rollout(const Leader *l, const Argosy__Request *request) {
        Subject s = {.leader = l, .request = request};
        const char *unit;
        uint64_t job = 0;
        size_t n;

        if (request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT)
                return job_of_rollout(l, request->rollout->name);
        (void) cluster_state_rollouts(l->state, &n);
        if (n == 0 || !brings_content(request))
                return 0;
        if (request->what_case == ARGOSY__REQUEST__WHAT_UNDO)
                name_undone(&s, request->undo->job);
        for (size_t i = 0; job == 0 && (unit = unit_at(i, &s)); i++)
                job = job_of_unit(l, unit);
        subject_done(&s);
        return job;
}

// Whether a rebalance excludes the request. Units of one that is over, or of another leader's, may still be
// coming up.
static bool exclusive_rebalance(const Leader *l, const Argosy__Request *request, uint64_t *ret) {
        const RebalanceJob *job = l->rebalance_job;

        if (job && rebalance_job_is_asked_by(job, request))
                return false;
        *ret = job ? job->number ?: job->held ?: job->flying : l->rebalance_open;
        return job || cluster_state_job_state(l->state, *ret) == ARGOSY__JOB_STATE__JOB_RUNNING;
}

bool queue_exclusive_job(const Leader *l, const Argosy__Request *request, uint64_t *ret) {
        if (request->what_case == ARGOSY__REQUEST__WHAT_REBALANCE)
                return exclusive_rebalance(l, request, ret);
        *ret = exclusive_rollout(l, request);
        return *ret > 0;
}

// ------------------------------------------------------------------------------------------------ the rule

static bool is_of_rules_only(const Argosy__JobRecord *job) {
        for (size_t i = 0; i < job->n_settings; i++)
                if (job->settings[i]->kind != ARGOSY__SETTING_KIND__SETTING_RULE &&
                    job->settings[i]->kind != ARGOSY__SETTING_KIND__SETTING_QUEUE)
                        return false;
        return job->n_settings > 0 && job->n_units == 0;
}

bool queue_undoes_rules(const Leader *l, const Argosy__Request *request) {
        Argosy__JobRecord *job;
        bool is;

        if (request->what_case != ARGOSY__REQUEST__WHAT_UNDO ||
            cluster_state_read_job(l->state, request->undo->job, &job) < 0)
                return false;
        is = is_of_rules_only(job);
        message_free(job);
        return is;
}

QueueLook *queue_look_free(QueueLook *look) {
        if (!look)
                return NULL;
        subject_done(&look->subject);
        queue_walk_done(&look->walk);
        free(look);
        return NULL;
}

static void look_free(PendingRequest *t, RequestWork *work) {
        (void) queue_look_free(CONTAINER_OF(work, QueueLook, work));
}

static const RequestWorkKind look_kind = {look_free};

QueueLook *queue_look_take(PendingRequest *t) {
        RequestWork *work = request_take_work(t, &look_kind);

        return work ? CONTAINER_OF(work, QueueLook, work) : NULL;
}

void queue_look_keep(PendingRequest *t, QueueLook *look) {
        if (look)
                request_add_work(t, &look_kind, &look->work);
}

static size_t count_sent(const Argosy__Request *request) {
        return request->what_case == ARGOSY__REQUEST__WHAT_CHANGE ? request->change->n_files : 0;
}

QueueWatch *queue_look_take_watch(QueueLook *look, struct HeldJob *job) {
        QueueWatch *w = look ? TAKE_PTR(look->subject.watch) : NULL;

        if (w)
                w->job = job;
        return w;
}

static bool is_outdated(const Leader *l, const QueueLook *look) {
        return look->subject.watch->stale || look->revision != cluster_state_queue_revision(l->state) ||
               look->n_sent != count_sent(look->subject.request);
}

static QueueLook *look_new(Leader *l, const Argosy__Request *request) {
        QueueLook *look = oom_checked(calloc(1, sizeof(*look)));

        look->revision = cluster_state_queue_revision(l->state);
        look->n_sent = count_sent(request);
        look->subject.leader = l;
        look->subject.watch = watch_new(l);
        look->subject.request = request;
        if (request->what_case == ARGOSY__REQUEST__WHAT_UNDO)
                name_undone(&look->subject, request->undo->job);
        else if (request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT)
                name_group(&look->subject, request->rollout->name);
        return look;
}

// Whether it is known now.
static bool walk(const Leader *l, const Argosy__Author *author, QueueLook *look, size_t *left) {
        const Argosy__HostRecord *host = cluster_state_find_host(l->state, author->host);
        const Argosy__Request *request = look->subject.request;
        const Argosy__QueueRule *rule;
        char user[AUTHOR_TEXT_SIZE];
        int r = queue_policy_walk(cluster_state_queue(l->state),
                                  &(QueueSubject){
                                          .user = author_text(author, user),
                                          .host = host ? host->name : "",
                                          .verb = job_verb(request),
                                          .reason = request->job ? request->job->reason : "",
                                          .unit = unit_at,
                                          .role = role_at,
                                          .userdata = &look->subject,
                                  },
                                  &look->walk, left, &rule);

        look->known = oom_check(r) == 0;
        look->rule = rule ? rule->number : 0;
        return look->known;
}

static const Argosy__QueueRule *rule_of(const Leader *l, const QueueLook *look) {
        const Argosy__QueueRecord *queue = cluster_state_queue(l->state);

        for (size_t i = 0; look->rule > 0 && i < queue->n_rules; i++)
                if (queue->rules[i]->number == look->rule)
                        return queue->rules[i];
        return NULL;
}

bool queue_rule_find(Leader *l, const Argosy__Author *author, const Argosy__Request *request, size_t *left,
                     QueueLook **look, const Argosy__QueueRule **ret) {
        *ret = NULL;
        if (cluster_state_queue(l->state)->n_rules == 0 || !queue_policy_is_for(request, author)) {
                *look = queue_look_free(*look);
                return true;
        }
        if (*look && is_outdated(l, *look))
                *look = queue_look_free(*look);
        *look = *look ?: look_new(l, request);
        if (!(*look)->known && !walk(l, author, *look, left))
                return false;
        *ret = rule_of(l, *look);
        return true;
}
