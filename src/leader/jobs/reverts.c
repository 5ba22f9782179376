// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A job gives a unit that runs another content, which does not start: the unit gets the one that it ran with
// again.
//
//      1. the Change marks the record of a unit that is up and gets another content (UnitExtra.trial)
//      2. the job's wait for its start fails: queries/open-jobs.c keeps that wait, and notes it
//      (OpenJob.reverting)
//      3. here the unit is put with what the job's own record says of it before; instances of a template go
//         together, with the template, as in an update, and so do all that share a network that goes back,
//         and whoever has come to that on one of their nodes since. This is the job's own doing, and one
//         more part of it in the log
//      4. the wait goes on, for the former content, and then fails with the reason (Trial.why)
//
// What was down before stays as it is (with a network it goes back, and is not started), and so does what
// the job has left alone. Of a record that names not all of its units, or whose former content is not kept
// any more, the unit stays with the new one: it has failed as it is. So does one whose former content would
// go in a cycle with the order that others have got since. One of which its node has another network by now
// goes back on another node, or waits for one.
//
// Nothing of it is lost with a leader: which units are on trial is in the log, and that one failed is told
// again.
#include "reverts.h"

#include <errno.h>
#include <stdlib.h>

#include "array.h"
#include "batch-builder.h"
#include "log.h"
#include "map.h"
#include "message-of.h"
#include "message.h"
#include "network-change.h"
#include "open-jobs.h"
#include "ordering.h"
#include "registry.h"
#include "rollout-networks.h"
#include "rollout-turns.h"
#include "str.h"
#include "tables.h"
#include "unit-name.h"
#include "unit-record.h"

enum { REASON_SIZE = 512 };

// A template whose instances have failed, and the first of those.
typedef struct FailedTemplate {
        char *name;
        const JobItem *item;
} FailedTemplate;

// The reverts of one job.
typedef struct Reverts {
        Decision *d;
        OpenJob *job;
        FailedTemplate *templates;
        size_t n_templates, allocated;
        NetworkChange networks;      // that come back with what has failed, each once
        const JobItem *network_item; // the first of those
        Map own;                     // UnitEntry by name: that have a former content of their own
        BatchBuilderMark mark;       // before them
        bool full; // the entry takes no more units
} Reverts;

// ------------------------------------------------------------------------------------------ what has failed

static const JobItem *find_failed_instance(const Reverts *r, const char *template) {
        for (size_t i = 0; i < r->n_templates; i++)
                if (streq(r->templates[i].name, template))
                        return r->templates[i].item;
        return NULL;
}

// Another instance of its template that has failed; NULL: none has. 0 or -ENOMEM.
static int find_failed_sibling(const Reverts *r, const UnitEntry *e, const JobItem **ret) {
        _cleanup_free_ char *template = NULL;

        *ret = NULL;
        if (!e->record->from_template)
                return 0;
        template = unit_name_template(e->record->name);
        if (!template)
                return -ENOMEM;
        *ret = find_failed_instance(r, template);
        return 0;
}

static int note_template(Reverts *r, const JobItem *item, const UnitEntry *e) {
        _cleanup_free_ char *name = NULL;

        if (!e->record->from_template)
                return 0;
        name = unit_name_template(e->record->name);
        if (!name)
                return -ENOMEM;
        if (find_failed_instance(r, name))
                return 0;
        if (ARRAY_GROW(r->templates, r->allocated, r->n_templates + 1) < 0)
                return -ENOMEM;
        r->templates[r->n_templates++] = (FailedTemplate){TAKE_PTR(name), item};
        return 0;
}

static int collect(Reverts *r) {
        Leader *l = r->d->leader;
        int e = 0;

        list_foreach_safe (i, &r->job->reverting) {
                JobItem *item = CONTAINER_OF(i, JobItem, reverting);

                if (e == 0 && open_job_item_reverts(l, item))
                        e = note_template(r, item, cluster_state_find_unit(l->state, item->wait.unit->name));
        }
        return e;
}

static void reverts_done(Reverts *r) {
        while (r->n_templates > 0)
                free(r->templates[--r->n_templates].name);
        free(r->templates);
        network_change_done(&r->networks);
        map_done(&r->own);
}

// ------------------------------------------------------------------------------------------- what goes back

// The job has given it what it has, and it had something before that is kept. NULL: nothing is to be put
// back.
static SpecEntry *former_of(const Leader *l, const UnitEntry *e, const Argosy__JobUnits *group) {
        Hash before, after;

        if (!hash_from_bytes(group->spec.data, group->spec.len, &before) ||
            !hash_from_bytes(group->spec_after.data, group->spec_after.len, &after) ||
            !hash_equal(&e->spec->hash, &after))
                return NULL;
        return cluster_state_find_spec(l->state, &before);
}

static bool shares_networks(const Reverts *r, const UnitEntry *e) {
        return network_change_concerns(&r->networks, e->spec);
}

// What has failed and takes the unit back: itself, another instance, or what goes back to a network of both.
// NULL: it does not go back. 0 or -ENOMEM.
static int find_cause(const Reverts *r, const UnitEntry *e, const JobItem **ret) {
        const Unit *u = unit_find(r->d->leader, e->record->name);
        const JobItem *item = u ? open_job_item(r->job, u) : NULL;
        int k;

        *ret = item && list_is_linked(&item->reverting) ? item : NULL;
        k = *ret || !record_is_on_trial(e->record) ? 0 : find_failed_sibling(r, e, ret);
        if (k == 0 && !*ret && shares_networks(r, e))
                *ret = r->network_item;
        return k;
}

// A unit that goes back to former networks: all that share them go with it.
static int note_networks(Reverts *r, const Argosy__JobUnits *group, const char *name) {
        const Leader *l = r->d->leader;
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        const SpecEntry *former = e ? former_of(l, e, group) : NULL;
        const JobItem *cause;
        NetworkChange change;
        int k = former ? find_cause(r, e, &cause) : 0;

        if (!former || k < 0 || !cause)
                return k;
        k = network_change_of(name, e->spec->content, e->spec->len, former->content, former->len, &change);
        for (size_t i = 0; i < change.n && k == 0; i++)
                k = network_change_add_once(&r->networks, &change.list[i]);
        if (r->networks.n > 0)
                r->network_item = r->network_item ?: cause;
        network_change_done(&change);
        return k;
}

static int note_own(Reverts *r, const Argosy__JobRecord *record) {
        const ClusterState *state = r->d->leader->state;
        int k = 0;

        for (size_t g = 0; k == 0 && g < record->n_units; g++)
                for (size_t i = 0; k == 0 && i < record->units[g]->n_names; i++) {
                        const char *name = record->units[g]->names[i];
                        UnitEntry *e = cluster_state_find_unit(state, name);

                        if (e && former_of(r->d->leader, e, record->units[g]))
                                k = map_add_str(&r->own, name, e);
                        k = k == -EEXIST ? 0 : k;
                }
        return k;
}

// With one network others may go back, which go back to more.
static int collect_networks(Reverts *r, const Argosy__JobRecord *record) {
        size_t before;
        int k = 0;

        do {
                before = r->networks.n;
                for (size_t g = 0; k == 0 && g < record->n_units; g++)
                        for (size_t i = 0; k == 0 && i < record->units[g]->n_names; i++)
                                k = note_networks(r, record->units[g], record->units[g]->names[i]);
        } while (k == 0 && r->networks.n > before);
        return k < 0 || r->networks.n == 0 ? k : note_own(r, record);
}

typedef struct Why {
        const char *text;
        bool along; // with another instance
} Why;

// Whoever has come to a network of a unit that goes back, on its node, goes with it.
typedef struct Joined {
        Reverts *r;
        const NetworkChange *change;
        size_t n;
        bool counts;
} Joined;

static int take_joined(Unit *v, void *userdata) {
        Joined *j = userdata;
        Decision *d = j->r->d;

        if (map_find_str(&j->r->own, v->name))
                return 0; // by its own former content
        if (batch_builder_has_unit(&d->batch, v->name))
                return batch_builder_has_unit_since(&d->batch, v->name, j->r->mark) ? 0 : -EBUSY;
        j->n++;
        return j->counts ? 0
                         : rollout_networks_put(d->leader, &d->batch, &d->scheduler, j->change, v, true);
}

// On its node, or on each that a unit of all nodes is on.
static int each_joined(Joined *j, const UnitEntry *e, const Unit *u) {
        const Leader *l = j->r->d->leader;
        int k = e->record->global ? 0 : rollout_networks_each(l, j->change, u, u->node, take_joined, j);

        if (e->record->global)
                list_foreach (i, &u->on_nodes)
                        k = k ?: rollout_networks_each(l, j->change, u,
                                                       CONTAINER_OF(i, UnitOnNode, by_unit)->node,
                                                       take_joined, j);
        return k;
}

// 0, -EBUSY, -ENOMEM; r->full: the entry has no room for all of them and the unit itself.
static int put_joined(Reverts *r, const UnitEntry *e, const SpecEntry *former, const Unit *u) {
        NetworkChange change;
        Joined j = {.r = r, .change = &change, .counts = true};
        int k = network_change_of(e->record->name, e->spec->content, e->spec->len, former->content,
                                  former->len, &change);

        if (k == 0 && change.n > 0)
                k = each_joined(&j, e, u);
        if (k == 0 && j.n > 0 && !batch_builder_takes_request(&r->d->batch, 1 + j.n))
                r->full = true;
        j.counts = false;
        if (k == 0 && j.n > 0 && !r->full)
                k = each_joined(&j, e, u);
        network_change_done(&change);
        return k;
}

// `why` NULL: a template.
static int put(Reverts *r, const UnitEntry *e, const Argosy__JobUnits *group, uint64_t revision,
               SpecEntry *former, const Why *why) {
        Argosy__UnitExtra extra;
        Argosy__UnitRecord next = *e->record;
        bool starts = next.target == ARGOSY__TARGET__TARGET_LAUNCHED && record_is_on_trial(e->record);
        Leader *l = r->d->leader;
        Unit *u = unit_find(l, next.name);
        int k = 0;

        if (batch_builder_has_unit(&r->d->batch, next.name))
                return -EBUSY;
        if (batch_builder_units_left(&r->d->batch) == 0) {
                r->full = true;
                return 0;
        }
        next.spec = (ProtobufCBinaryData){.data = former->hash.bytes, .len = HASH_SIZE};
        if (!why)
                return batch_builder_put_unit(&r->d->batch, &next, 0, e->record->revision);
        k = ordering_take(l, &r->d->planned, &r->d->batch, next.name, former, NULL);
        if (k < 0)
                return k == -EINVAL ? 0 : k;
        k = u ? put_joined(r, e, former, u) : 0;
        if (k < 0 || r->full)
                return k;
        next.from_template = group->from_template;
        Argosy__Trial trial =
                MESSAGE_OF(trial, .failed = revision, .why = (char *) why->text, .along = why->along);
        next.extra = unit_extra_with_trial(&extra, e->record, &trial);
        if (u && !next.global)
                k = rollout_place(l, u, former, &r->d->scheduler, &next);
        if (k < 0)
                return k;
        log_unit(LOG_WARNING, next.name, "%s goes back to the file of before: %s.", next.name, why->text);
        return batch_builder_put_unit(&r->d->batch, &next, starts ? BATCH_BUMP_START : 0,
                                      e->record->revision);
}

// It is well, and has a network that goes back.
static int put_sharer(Reverts *r, const UnitEntry *e, const Argosy__JobUnits *group, uint64_t revision,
                      SpecEntry *former) {
        char why[REASON_SIZE];

        str_fit(why, sizeof(why), "%s: %s", r->network_item->where, r->network_item->why);
        return put(r, e, group, revision, former, &(Why){why, true});
}

// An instance that is well goes with one that is not.
static int put_instance(Reverts *r, const UnitEntry *e, const Argosy__JobUnits *group, uint64_t revision,
                        SpecEntry *former) {
        const JobItem *failed;
        char why[REASON_SIZE];
        int k = find_failed_sibling(r, e, &failed);

        if (k < 0 || !failed)
                return k;
        str_fit(why, sizeof(why), "%s: %s", failed->where, failed->why);
        return put(r, e, group, revision, former, &(Why){why, true});
}

static int put_named(Reverts *r, const Argosy__JobUnits *group, size_t i, bool failed) {
        const Leader *l = r->d->leader;
        const char *name = group->names[i];
        const UnitEntry *e = cluster_state_find_unit(l->state, name);
        const Unit *u = unit_find(l, name);
        const JobItem *item = u ? open_job_item(r->job, u) : NULL;
        SpecEntry *former = e ? former_of(l, e, group) : NULL;

        if (!former || failed != (item && list_is_linked(&item->reverting)))
                return 0;
        if (unit_name_kind(name, NULL) == UNIT_NAME_TEMPLATE)
                return find_failed_instance(r, name) || shares_networks(r, e)
                               ? put(r, e, group, 0, former, NULL)
                               : 0;
        if (!record_is_on_trial(e->record) && !shares_networks(r, e))
                return 0;
        if (failed)
                return put(r, e, group, group->revisions[i], former, &(Why){item->why, false});
        if (shares_networks(r, e))
                return put_sharer(r, e, group, group->revisions[i], former);
        return put_instance(r, e, group, group->revisions[i], former);
}

// Those that have failed, or those that go along.
static int put_all(Reverts *r, const Argosy__JobRecord *record, bool failed) {
        int e = 0;

        for (size_t g = 0; e == 0 && g < record->n_units; g++) {
                const Argosy__JobUnits *group = record->units[g];

                for (size_t i = 0; e == 0 && i < MIN_OF(group->n_names, group->n_revisions); i++)
                        e = put_named(r, group, i, failed);
        }
        return e;
}

// For which the record of the job has no former content.
static void keep_the_rest(Reverts *r) {
        list_foreach_safe (i, &r->job->reverting) {
                JobItem *item = CONTAINER_OF(i, JobItem, reverting);

                if (!batch_builder_has_unit(&r->d->batch, item->wait.unit->name))
                        open_job_item_keep(r->d->leader, item);
        }
}

static int put_part(const Reverts *r) {
        Argosy__JobRecord record = ARGOSY__JOB_RECORD__INIT;
        size_t n = r->d->batch.n_ops - r->mark.n_ops;

        if (n == 0)
                return 0;
        Argosy__LogOp__JobPut part = MESSAGE_OF(log_op__job_put, .job = &record, .n_ops = (uint32_t) n,
                                                .number = r->job->number);
        return batch_builder_put_job(&r->d->batch, &part);
}

// -EBUSY: with the next entry.
static int revert(Reverts *r) {
        const Leader *l = r->d->leader;
        Argosy__JobRecord *record = NULL;
        int e = collect(r);

        r->mark = batch_builder_mark(&r->d->batch);

        if (e < 0 || list_is_empty(&r->job->reverting))
                return e;
        e = cluster_state_read_job(l->state, r->job->number, &record);
        if (e == 0)
                e = collect_networks(r, record);
        if (e == 0)
                e = put_all(r, record, false);
        if (e == 0 && !r->full) // last: who has failed says to the next entry who goes along
                e = put_all(r, record, true);
        message_free(record);
        if (e < 0 && e != -ENOENT)
                return e;
        if (!r->full)
                keep_the_rest(r);
        return put_part(r);
}

int reverts_decide(Decision *d) {
        int e = 0;

        list_foreach_safe (i, &d->leader->jobs_reverting) {
                Reverts r = {.d = d, .job = CONTAINER_OF(i, OpenJob, reverts)};
                DecisionMark mark = decision_mark(d);

                if (e < 0 || !batch_builder_takes_more(&d->batch))
                        break;
                e = revert(&r);
                reverts_done(&r);
                if (list_is_empty(&r.job->reverting))
                        list_unlink(&r.job->reverts);
                if (e == -EBUSY) {
                        decision_rollback(d, mark);
                        e = 0;
                }
        }
        return e;
}
