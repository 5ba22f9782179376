// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of changes: what a request makes of the units that it names is what its verb and its files say
// (changes-are-as-asked); and who asked is told of each unit what the log has of it (answers-are-as-done).
//
// Nothing is said of units that go along with others, of containers, whose content gets a digest, and of
// what another request has changed since.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks-private.h"
#include "macro.h"
#include "str.h"
#include "test.h"

// The entry that changed each unit last, by LogTruth.n_entries, and how often it did so.
static struct {
        uint64_t entry;
        unsigned times;
} touched[WORLD_UNITS_MAX];

static char sets[WORLD_UNITS_MAX][24]; // of each unit, as they were before the entry

void changes_begin(void) {
        memset(touched, 0, sizeof(touched));
        memset(sets, 0, sizeof(sets));
}

static void note_touched(void) {
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                unsigned unit = log_truth.touched[i].unit;

                touched[unit].times =
                        touched[unit].entry == log_truth.n_entries ? touched[unit].times + 1 : 1;
                touched[unit].entry = log_truth.n_entries;
        }
}

// ------------------------------------------------------------------------------------------------ the verb

static const Argosy__Request__Change *find_change(const LogJob *j) {
        const WorldAsked *a = log_asked_of(j);

        return a && a->request->what_case == ARGOSY__REQUEST__WHAT_CHANGE ? a->request->change : NULL;
}

static bool is_named(const Argosy__Request__Change *m, const char *name) {
        for (size_t i = 0; i < m->n_names; i++)
                if (streq(m->names[i], name))
                        return true;
        return false;
}

// What the unit is to be then; of a submit that is left as it was.
static bool is_aim(Argosy__Verb verb, const LogUnit *before, const LogUnit *after) {
        switch (verb) {
        case ARGOSY__VERB__VERB_START:
        case ARGOSY__VERB__VERB_RESTART:
                return after->exists && after->target == ARGOSY__TARGET__TARGET_LAUNCHED;
        case ARGOSY__VERB__VERB_STOP:
                return after->exists && after->target == ARGOSY__TARGET__TARGET_LOADED;
        case ARGOSY__VERB__VERB_LOAD: // what runs goes on
                return after->exists &&
                       after->target ==
                               MAX_OF(before->exists ? before->target : ARGOSY__TARGET__TARGET_LOADED,
                                      ARGOSY__TARGET__TARGET_LOADED);
        case ARGOSY__VERB__VERB_UNLOAD:
                return after->exists && after->target == ARGOSY__TARGET__TARGET_INACTIVE;
        case ARGOSY__VERB__VERB_SUBMIT:
                return after->exists &&
                       after->target == (before->exists ? before->target : ARGOSY__TARGET__TARGET_INACTIVE);
        case ARGOSY__VERB__VERB_DESTROY:
                return !after->exists;
        default:
                return true;
        }
}

// It begins anew if somebody says so, and not else.
static bool begins_as_asked(Argosy__Verb verb, const LogUnit *before, const LogUnit *after) {
        bool starts = after->start_rev != before->start_rev,
             restarts = after->restart_rev != before->restart_rev;

        if (!after->exists || !before->exists)
                return true;
        if (verb == ARGOSY__VERB__VERB_RESTART)
                return starts && restarts == (before->target == ARGOSY__TARGET__TARGET_LAUNCHED);
        return starts == (verb == ARGOSY__VERB__VERB_START) && !restarts;
}

// ------------------------------------------------------------------------------------------------ the file

static const WorldContent *sent_for(const Argosy__Request__Change *m, unsigned unit) {
        for (size_t i = 0; i < m->n_files; i++)
                if (streq(m->files[i]->name, asks.units[unit].file))
                        return world_content_sent(m->files[i]);
        return NULL;
}

static bool brings_file(Argosy__Verb verb) {
        return verb == ARGOSY__VERB__VERB_START || verb == ARGOSY__VERB__VERB_LOAD ||
               verb == ARGOSY__VERB__VERB_SUBMIT;
}

static bool is_plain(const LogUnit *u) {
        const WorldContent *c = log_content(u);

        return c && c->image == 0 && c->own == 0;
}

// It may come along with another one before its own turn.
static bool shares_network(const LogUnit *u) {
        const WorldContent *c = log_content(u);

        return u->exists && (!c || c->own > 0);
}

static bool has_content(const LogUnit *u, const Hash *spec) {
        return memcmp(&u->spec, spec, sizeof(*spec)) == 0;
}

// Without a file it is like its siblings, and these are alike. Of those that the entry changes nothing is
// said.
static void judge_like_siblings(const LogUnit *after, unsigned unit) {
        for (unsigned i = 0; i < asks.n_units; i++) {
                const LogUnit *u = &log_truth.units_before[i];

                if (i == unit || !u->exists || streq(asks.units[unit].name, asks.units[unit].file) ||
                    !streq(asks.units[i].file, asks.units[unit].file) ||
                    !has_content(u, &log_truth.units[i].spec) || u->global)
                        continue;
                if (!has_content(u, &after->spec))
                        check_fail("changes-are-as-asked", "%s came without a file, and is not like %s",
                                   asks.units[unit].name, asks.units[i].name);
        }
}

static void judge_content(const Argosy__Request__Change *m, const struct LogTouched *t) {
        const LogUnit *before = &t->before, *after = &t->after;
        const WorldContent *sent = brings_file(m->verb) ? sent_for(m, t->unit) : NULL;
        const char *name = asks.units[t->unit].name;
        bool takes = sent && (!before->exists || m->replace);

        if (!after->exists || !is_plain(after) || (before->exists && !is_plain(before)) ||
            m->verb == ARGOSY__VERB__VERB_UNLOAD)
                return;
        if (takes && !has_content(after, &sent->hash))
                check_fail("changes-are-as-asked", "%s has not got the file that came with its request",
                           name);
        if (!takes && before->exists && !has_content(after, &before->spec))
                check_fail("changes-are-as-asked", "%s has another content, and nobody asked for that",
                           name);
        if (!sent && !before->exists && brings_file(m->verb) && m->n_files == 0)
                judge_like_siblings(after, t->unit);
}

static void judge_touched(const Argosy__Request__Change *m, const struct LogTouched *t) {
        const char *name = asks.units[t->unit].name;

        check_says("changes-are-as-asked");
        if (!is_aim(m->verb, &t->before, &t->after))
                check_fail("changes-are-as-asked", "%s is to be %d behind verb %d, and was %d", name,
                           (int) t->after.target, (int) m->verb, (int) t->before.target);
        if (!begins_as_asked(m->verb, &log_truth.units_before[t->unit], &log_truth.units[t->unit]))
                check_fail("changes-are-as-asked", "%s begins anew, or does not, behind verb %d", name,
                           (int) m->verb);
        judge_content(m, t);
}

// What goes back since it did not start is a part of its job without words.
static bool has_words(const Argosy__LogBatch *batch, uint64_t place) {
        for (size_t i = 0; i < batch->n_ops; i++)
                if (batch->ops[i]->op_case == ARGOSY__LOG_OP__OP_JOB &&
                    batch->ops[i]->job->number == place && !*batch->ops[i]->job->job->verb)
                        return false;
        return true;
}

// ------------------------------------------------------------------------------------------------ a folder

static void note_sets(void) {
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                unsigned unit = log_truth.touched[i].unit;
                const Argosy__UnitRecord *r = asks_record(asks.units[unit].name);

                snprintf(sets[unit], sizeof(sets[unit]), "%s", r ? r->set : "");
        }
}

static const Argosy__Request__Apply *find_apply(const LogJob *j) {
        const WorldAsked *a = log_asked_of(j);

        return a && a->request->what_case == ARGOSY__REQUEST__WHAT_APPLY ? a->request->apply : NULL;
}

static const Argosy__Request__Apply__Unit *find_in_folder(const Argosy__Request__Apply *m,
                                                          const char *name) {
        for (size_t i = 0; i < m->n_units; i++)
                if (streq(m->units[i]->name, name))
                        return m->units[i];
        return NULL;
}

// What goes has been of the set, and is not in the folder; what is another set's stays, unless it is
// adopted.
static void judge_applied(const Argosy__Request__Apply *m, const struct LogTouched *t) {
        const char *name = asks.units[t->unit].name, *set = sets[t->unit];
        const Argosy__Request__Apply__Unit *u = find_in_folder(m, name);

        if (shares_network(&t->before) || shares_network(&t->after))
                return;
        check_says("changes-are-as-asked");
        if (!t->after.exists && (!m->prune || !streq(set, m->set) || (u && !u->brought)))
                check_fail("changes-are-as-asked", "%s of set '%s' goes by a folder of '%s'", name, set,
                           m->set);
        if (!t->after.exists || !u || u->brought)
                return;
        if (t->before.exists && *set && !streq(set, m->set) && !m->adopt)
                check_fail("changes-are-as-asked", "%s of set '%s' is changed by a folder of '%s'", name,
                           set, m->set);
        if (t->after.target != u->target)
                check_fail("changes-are-as-asked", "%s is to be %d by its folder, and is %d", name,
                           (int) u->target, (int) t->after.target);
        if (is_plain(&t->after) && !m->rolling && u->spec.len == HASH_SIZE &&
            memcmp(t->after.spec.bytes, u->spec.data, HASH_SIZE) != 0)
                check_fail("changes-are-as-asked", "%s has not the content that its folder has", name);
}

static void judge_folders(const Argosy__LogBatch *batch) {
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];
                const LogJob *j = t->asked && t->job > 0 ? log_truth.jobs[t->job] : NULL;
                const Argosy__Request__Apply *m = j && !*j->rollout ? find_apply(j) : NULL;

                if (m && touched[t->unit].times == 1 && has_words(batch, t->job))
                        judge_applied(m, t);
        }
}

void changes_on_entry(const Argosy__LogBatch *batch) {
        note_touched();
        judge_folders(batch);
        note_sets();
        for (size_t i = 0; i < log_truth.n_touched; i++) {
                const struct LogTouched *t = &log_truth.touched[i];
                const LogJob *j = t->asked && t->job > 0 ? log_truth.jobs[t->job] : NULL;
                const Argosy__Request__Change *m = j ? find_change(j) : NULL;

                // One may be taken along with another one before its own turn, which may be in a later part.
                if (m && !j->parted && is_named(m, asks.units[t->unit].name) && has_words(batch, t->job) &&
                    touched[t->unit].times == 1 && !shares_network(&t->before) && !shares_network(&t->after))
                        judge_touched(m, t);
        }
}

// ------------------------------------------------------------------------------------------------ an answer

// Nothing is said of nodes with other names, and of second managers.
static bool is_node(const char *said, uint32_t node) {
        uint32_t host = places_host_of(node);
        char name[16];

        snprintf(name, sizeof(name), "n%u", host);
        return node == 0 ? !*said
                         : host == 0 || world_host_lies(host) || strchr(said, '/') || streq(said, name);
}

static bool is_as_left(const LogJob *j, unsigned unit) {
        return touched[unit].entry == j->entry && touched[unit].times == 1 && log_truth.units[unit].exists &&
               !log_truth.units[unit].global;
}

static void judge_result(const WorldAsked *a, const Argosy__Response__UnitResult *u, const LogJob *j,
                         unsigned unit) {
        const size_t request = (size_t) (a - asks.asked) + 1;
        const LogUnit *now = &log_truth.units[unit];
        bool is_changed = j->touched & 1u << unit;

        if (shares_network(now))
                return;
        check_says("answers-are-as-done");
        if (u->status != 0 && is_changed && a->request->what_case == ARGOSY__REQUEST__WHAT_CHANGE)
                check_fail("answers-are-as-done",
                           "request %zu is told that %s is refused (%s), and its job has changed it",
                           request, u->name, u->message);
        if (u->status != 0 || !is_changed || !is_as_left(j, unit))
                return;
        if (u->revision > 0 && u->revision != now->revision)
                check_fail("answers-are-as-done",
                           "request %zu is told of revision %" PRIu64 " of %s, and the log has %" PRIu64,
                           request, u->revision, u->name, now->revision);
        if (now->target != ARGOSY__TARGET__TARGET_INACTIVE && !is_node(u->node, now->node))
                check_fail("answers-are-as-done",
                           "request %zu is told that %s is on '%s', and the log has node %u", request,
                           u->name, u->node, now->node);
}

static bool has_result(const Argosy__Response__Change *c, const char *name) {
        size_t n = 0;

        for (size_t i = 0; i < c->n_units; i++)
                n += streq(c->units[i]->name, name);
        return n == 1;
}

// Each name has one, in an answer that is whole.
static void judge_names(const WorldAsked *a, const Argosy__Response__Change *c) {
        const Argosy__Request__Change *m = a->request->change;

        for (size_t i = 0; i < m->n_names; i++)
                if (!has_result(c, m->names[i]))
                        check_fail("answers-are-as-done", "request %zu is not told what became of %s",
                                   (size_t) (a - asks.asked) + 1, m->names[i]);
}

void done_on_answer(const WorldAsked *a, const Argosy__Response *r) {
        uint64_t place = r->job > 0 ? log_place(r->job) : 0;
        const LogJob *j = place > 0 && place <= log_truth.n_jobs ? log_truth.jobs[place] : NULL;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_CHANGE || r->held || r->status != 0 || !j || j->parted ||
            j->entry <= a->asked_at || a->again_of || r->change->first > 0)
                return;
        for (size_t i = 0; i < r->change->n_units; i++) {
                int unit = world_unit_index(r->change->units[i]->name);

                if (unit >= 0 && !r->change->units[i]->repeated && !r->change->units[i]->setting)
                        judge_result(a, r->change->units[i], j, (unsigned) unit);
        }
        if (a->request->what_case == ARGOSY__REQUEST__WHAT_CHANGE && r->final)
                judge_names(a, r->change);
}
