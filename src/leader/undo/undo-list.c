// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See undo-list.h. The record is read and its units are listed, each once; then each is judged by
// undo-policy.c, and what it is to have again is looked for. The job that has changed a unit since is found
// by the unit's revision, or else among the newest jobs, a limited number for all units together: for other
// units it is only said that they were changed.

#include "undo-list.h"

#include <errno.h>
#include <stdlib.h>

#include "batch-builder.h"
#include "changed-since.h"
#include "cluster-setting.h"
#include "content-image.h"
#include "message.h"
#include "response.h"
#include "str.h"
#include "unit-state.h"

enum { DIGEST_SHOWN = 7 + 12 }; // "sha256:" and as many digits as `status` shows

// ----------------------------------------------------------------------------------------- what the job did

static UndoState state_of(const ProtobufCBinaryData *spec, Argosy__Target target, bool from_template,
                          const char *set) {
        UndoState state = {.target = target, .from_template = from_template, .set = set};

        state.exists = hash_from_bytes(spec->data, spec->len, &state.spec);
        return state;
}

static UndoState state_after(const Argosy__JobUnits *group) {
        return group->gone ? (UndoState){}
                           : state_of(group->spec_after.len > 0 ? &group->spec_after : &group->spec,
                                      group->target_after, group->from_template, group->set_after);
}

// One that is in it twice (a rollout goes forward and back) was before as the first says, and is as the last
// says.
static int add_unit(UndoList *list, const Argosy__JobUnits *group, const char *name) {
        UndoItem *item = map_find_str(&list->by_name, name);

        if (!item) {
                item = &list->items[list->n++];
                item->to.name = name;
                item->unit.before = state_of(&group->spec, group->target, group->from_template, group->set);
                if (map_add_str(&list->by_name, name, item) < 0)
                        return -ENOMEM;
        }
        item->unit.after = state_after(group);
        return 0;
}

static size_t count_units(const Argosy__JobRecord *job) {
        size_t n = 0;

        for (size_t g = 0; g < job->n_units; g++)
                n += job->units[g]->n_names;
        return n;
}

int undo_list_fill(UndoList *list, size_t most) {
        const Argosy__JobRecord *job = list->job;

        for (; list->group < job->n_units; list->group++, list->unit = 0) {
                const Argosy__JobUnits *group = job->units[list->group];

                for (; list->unit < group->n_names; list->unit++) {
                        if (most-- == 0)
                                return UNDO_LIST_MORE;
                        if (add_unit(list, group, group->names[list->unit]) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

int undo_list_read(UndoList *list, const ClusterState *state, uint64_t job) {
        int r = cluster_state_read_job(state, job, &list->job);

        if (r < 0)
                return r;
        if (list->job->cut || count_units(list->job) > UNDO_UNITS_MAX)
                return -E2BIG;
        list->items = calloc(count_units(list->job) + 1, sizeof(*list->items));
        return list->items ? undo_settings_read(&list->settings, list->job) : -ENOMEM;
}

void undo_list_done(UndoList *list) {
        map_done(&list->by_name);
        undo_settings_done(&list->settings);
        free(list->items);
        message_free(list->job);
}

UndoItem *undo_list_find(const UndoList *list, const char *name) {
        return map_find_str(&list->by_name, name);
}

size_t undo_list_count(const UndoList *list, UndoVerdict verdict) {
        size_t n = 0;

        for (size_t i = 0; i < list->n; i++)
                n += list->items[i].verdict == verdict;
        return n;
}

// ------------------------------------------------------------------------------------------- what it is now

// It goes on as it is.
static bool is_about_set_only(const UndoItem *item) {
        const UndoState *now = &item->unit.now, *wanted = &item->wanted;

        return now->exists && hash_equal(&now->spec, &wanted->spec) && now->target == wanted->target;
}

// What to wait for when it is put back.
static Argosy__Verb verb_of(const UndoItem *item) {
        const UndoState *now = &item->unit.now, *wanted = &item->wanted;

        if (item->verdict == UNDO_REMOVE)
                return ARGOSY__VERB__VERB_DESTROY;
        if (is_about_set_only(item))
                return ARGOSY__VERB__VERB_NONE;
        switch (wanted->target) {
        case ARGOSY__TARGET__TARGET_LAUNCHED:
                return ARGOSY__VERB__VERB_START;
        case ARGOSY__TARGET__TARGET_LOADED:
                return now->exists && now->target == ARGOSY__TARGET__TARGET_LAUNCHED
                               ? ARGOSY__VERB__VERB_STOP
                               : ARGOSY__VERB__VERB_LOAD;
        default:
                return now->exists && now->target != ARGOSY__TARGET__TARGET_INACTIVE
                               ? ARGOSY__VERB__VERB_UNLOAD
                               : ARGOSY__VERB__VERB_NONE;
        }
}

static void aim(const ClusterState *state, UndoItem *item) {
        bool is_launched = item->unit.now.exists && item->unit.now.target == ARGOSY__TARGET__TARGET_LAUNCHED;

        item->to.aim = (ChangeAim){.remove = item->verdict == UNDO_REMOVE, .keeps_secrets = true};
        item->leaves_set = false;
        if (item->verdict != UNDO_PUT)
                return;
        item->to.aim.spec = cluster_state_find_spec(state, &item->wanted.spec);
        item->lost = !item->to.aim.spec;
        item->to.aim.from_template = item->wanted.from_template;
        item->to.aim.target = item->wanted.target;
        item->to.aim.set = item->wanted.set;
        item->leaves_set = item->unit.now.exists && !streq(item->unit.now.set ?: "", item->wanted.set ?: "");
        if (is_about_set_only(item))
                return;
        if (item->wanted.target == ARGOSY__TARGET__TARGET_LAUNCHED)
                item->to.aim.bump = BATCH_BUMP_START;
        else if (item->wanted.target == ARGOSY__TARGET__TARGET_LOADED && is_launched)
                item->to.aim.bump = BATCH_BUMP_STOP;
}

void undo_list_judge(UndoList *list, const ClusterState *state, size_t from, size_t to, bool force) {
        for (size_t i = from; i < to; i++) {
                UndoItem *item = &list->items[i];
                const UnitEntry *u = cluster_state_find_unit(state, item->to.name);

                item->unit.now = u ? state_of(&u->record->spec, u->record->target, u->record->from_template,
                                              u->record->set)
                                   : (UndoState){};
                item->verdict = undo_judge(&item->unit, force, &item->wanted);
                aim(state, item);
                item->to.aimed = (item->verdict == UNDO_PUT && !item->lost) || item->verdict == UNDO_REMOVE;
                item->to.verb = item->to.aimed ? verb_of(item) : ARGOSY__VERB__VERB_NONE;
        }
}

void undo_item_stays(UndoItem *item, UndoVerdict why) {
        item->verdict = why;
        item->to.aimed = false;
}

// ------------------------------------------------------------------------------------------------ in words

static bool has_changed_unit(const Argosy__JobRecord *job, const void *name) {
        for (size_t g = 0; g < job->n_units; g++)
                for (size_t i = 0; i < job->units[g]->n_names; i++)
                        if (streq(job->units[g]->names[i], name))
                                return true;
        return false;
}

static bool has_changed_setting(const Argosy__JobRecord *job, const void *which) {
        for (size_t i = 0; i < job->n_settings; i++)
                if (setting_is_same(job->settings[i], which))
                        return true;
        return false;
}

// The newest later one that has changed it. 0: it is not found, or it was no job.
static uint64_t find_later(UndoList *list, const ClusterState *state,
                           bool (*has_changed)(const Argosy__JobRecord *job, const void *what),
                           const void *what) {
        uint64_t number = cluster_state_job_before(state, UINT64_MAX), than = list->job->number;

        for (; number > than && list->n_looked < UNDO_JOBS_LOOKED;
             number = cluster_state_job_before(state, number)) {
                Argosy__JobRecord *job;
                bool found;

                if (cluster_state_read_job(state, number, &job) < 0)
                        return 0;
                found = has_changed(job, what);
                list->n_looked += 1 + (count_units(job) + job->n_settings) / 10;
                message_free(job);
                if (found)
                        return number;
        }
        return 0;
}

static uint64_t find_later_of_unit(UndoList *list, const ClusterState *state, const char *name) {
        const UnitEntry *u = cluster_state_find_unit(state, name);
        uint64_t by = u ? cluster_state_find_job_of(state, name, u->record->revision) : 0;

        return by > list->job->number ? by : find_later(list, state, has_changed_unit, name);
}

void undo_phrase_touched(UndoList *list, const ClusterState *state, const UndoItem *item, UndoPhrase ret) {
        changed_since_phrase(state, find_later_of_unit(list, state, item->to.name), ret);
}

void undo_phrase_setting_touched(UndoList *list, const ClusterState *state, const UndoSetting *s,
                                 UndoPhrase ret) {
        changed_since_phrase(state, find_later(list, state, has_changed_setting, s->first), ret);
}

static int add_words(Buf *b, const char *words, const char *more, const char *last) {
        return buf_printf(b, "%s%s%s%s", b->len > 0 ? ", " : "", words, more, last);
}

// Which image a container that is there goes to, if that is another one.
static int describe_image(const ClusterState *state, const UndoItem *item, Buf *b) {
        const SpecEntry *now = cluster_state_find_spec(state, &item->unit.now.spec),
                        *wanted = cluster_state_find_spec(state, &item->wanted.spec);
        _cleanup_content_image_ ContentImage from = {}, to = {};
        int r = wanted ? content_image_read(item->to.name, wanted->content, wanted->len, &to) : 0;

        if (r == 0 && now)
                r = content_image_read(item->to.name, now->content, now->len, &from);
        if (r < 0 || !to.name || (from.name && streq(from.name, to.name) && streq(from.digest, to.digest)))
                return r;
        return *to.digest ? buf_printf(b, " with the image %s, %.*s", to.name, DIGEST_SHOWN, to.digest)
                          : buf_printf(b, " with the image %s, whose digest is not known", to.name);
}

static int describe_aim(const ClusterState *state, const UndoItem *item, Buf *b) {
        const UndoState *now = &item->unit.now, *wanted = &item->wanted;
        char hex[15];
        int r = 0;

        if (item->verdict == UNDO_REMOVE)
                return add_words(b, "is destroyed", "", "");
        if (!now->exists)
                r = add_words(b, "is made again", "", "");
        if (r == 0 && now->exists && !hash_equal(&now->spec, &wanted->spec)) {
                hash_hex(&wanted->spec, 7, hex);
                hex[7] = 0;
                r = add_words(b, "gets its file of before (", hex, ")") ?: describe_image(state, item, b);
        }
        if (r == 0 && (!now->exists || now->target != wanted->target))
                r = add_words(b, "is to be ", target_to_string(wanted->target), " again");
        if (r == 0 && item->leaves_set)
                r = wanted->set && *wanted->set ? add_words(b, "belongs to the set ", wanted->set, " again")
                                                : add_words(b, "belongs to no set any more", "", "");
        return r;
}

int undo_item_describe(UndoList *list, const ClusterState *state, const UndoItem *item,
                       Argosy__Response__UnitResult *ret) {
        _cleanup_buf_ Buf words = {};
        UndoPhrase phrase;

        if (item->lost) {
                ret->status = ENODATA; // log_chunk_is_left()
                return field_set(&ret->message, "the file that it had before is not kept any more");
        }
        switch (item->verdict) {
        case UNDO_DONE:
                return field_set(&ret->message, "it is as it was before already");
        case UNDO_RAN:
                return field_set(&ret->message,
                                 "that it ran cannot be undone, and nothing else of it was changed");
        case UNDO_TOUCHED:
        case UNDO_CHANGED:
                if (item->verdict == UNDO_CHANGED)
                        ret->status = ESTALE; // log_chunk_is_left()
                undo_phrase_touched(list, state, item, phrase);
                return field_printf(&ret->message, "it %s, and stays as it is", phrase);
        case UNDO_BACK:
                return field_set(&ret->message, "it was put back, and somebody has changed it again since");
        default:
                return describe_aim(state, item, &words)
                               ?: field_printf(&ret->message, "%.*s", (int) words.len,
                                               (const char *) words.data);
        }
}
