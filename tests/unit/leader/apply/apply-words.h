// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A folder that is applied, and what its units are like then.

#include "leader-asks.h"
#include "leader-private.h"
#include "messages.h"

#define ONE "[Service]\nExecStart=/bin/sleep 1000\n"
#define TWO "[Service]\nExecStart=/bin/sleep 2000\n"
#define THREE "[Service]\nExecStart=/bin/sleep 3000\n"
#define LOADED ARGOSY__TARGET__TARGET_LOADED
#define LAUNCHED ARGOSY__TARGET__TARGET_LAUNCHED
#define INACTIVE ARGOSY__TARGET__TARGET_INACTIVE

enum { UNITS_MAX = 700 };

static Rig g;

FIXTURE(setup) {
        rig_start(&g, 3);
}

FIXTURE(teardown) {
        rig_stop(&g);
}

// ----------------------------------------------------------------------------------------------- the folder

typedef struct Wanted {
        const char *name, *content;
        Argosy__Target target;
        bool from_template;
        bool brought; // content NULL: the folder has none for it
} Wanted;

typedef struct Folder {
        const char *set;
        const Wanted *units;
        size_t n;
        bool prune, adopt, force, rolling;
        uint64_t id; // 0: a new one
        uint64_t if_revision;
} Folder;

static struct {
        Hash hashes[UNITS_MAX];
        Argosy__Request__Apply__Unit units[UNITS_MAX], *unit_pointers[UNITS_MAX];
        Argosy__NamedFile files[UNITS_MAX], *file_pointers[UNITS_MAX];
        char *gone[UNITS_MAX];
} room;

static inline Argosy__Request__Apply message_of(const Folder *f) {
        for (size_t i = 0; i < f->n; i++) {
                Argosy__Request__Apply__Unit *u = room.unit_pointers[i] = &room.units[i];

                *u = (Argosy__Request__Apply__Unit) MESSAGE_OF(request__apply__unit,
                                                               .name = (char *) f->units[i].name,
                                                               .brought = f->units[i].brought);
                if (f->units[i].content) {
                        room.hashes[i] = hash_of(f->units[i].content, strlen(f->units[i].content));
                        u->spec = (ProtobufCBinaryData){HASH_SIZE, room.hashes[i].bytes};
                }
                u->target = f->units[i].target;
                u->from_template = f->units[i].from_template;
        }
        Argosy__Request__Apply m =
                MESSAGE_OF(request__apply, .set = (char *) (f->set ?: "shop"), .units = room.unit_pointers,
                           .n_units = f->n, .prune = f->prune, .adopt = f->adopt, .force = f->force,
                           .rolling = f->rolling, .health_us = f->rolling ? 5 * USEC_PER_SEC : 0);
        return m;
}

static inline RigAnswer *ask(Argosy__Request__Apply *m, uint64_t number, uint64_t if_revision) {
        uint64_t id[2] = {number ?: ++g.id, 55};
        Argosy__Request__Job job =
                JOB_OF(.id = (ProtobufCBinaryData){.data = (uint8_t *) id, .len = sizeof(id)},
                       .if_revision = if_revision);

        return rig_ask(&g, A_REQUEST(APPLY, apply, m, .job = &job));
}

static const Argosy__Response *plan(Folder f) {
        Argosy__Request__Apply m = message_of(&f);

        m.preview = true;
        RigAnswer *a = ask(&m, 0, f.if_revision);
        rig_settle(&g);
        return rig_last(a);
}

static inline void add_files(Argosy__Request__Apply *m, const Folder *f) {
        for (size_t i = 0; i < f->n; i++) {
                const Wanted *w = &f->units[i];
                Argosy__NamedFile *file = room.file_pointers[i] = &room.files[i];

                argosy__named_file__init(file);
                if (!w->content)
                        continue;
                file->name = file->path = (char *) w->name;
                file->content = (ProtobufCBinaryData){strlen(w->content), (uint8_t *) w->content};
                room.units[i].file = (uint32_t) i + 1;
        }
        m->files = room.file_pointers;
        m->n_files = f->n;
}

// As it was planned: what the cluster does not have is sent.
static inline RigAnswer *begin(Folder f, const Argosy__Response__ApplyPlan *p) {
        Argosy__Request__Apply m = message_of(&f);

        for (size_t i = 0; i < p->n_rows; i++)
                if (p->rows[i]->removed)
                        room.gone[m.n_gone++] = p->rows[i]->unit;
        add_files(&m, &f);
        m.gone = room.gone;
        m.revision = p->revision;
        m.plan = p->plan;
        return ask(&m, f.id, f.if_revision);
}

static const Argosy__Response *apply_planned(Folder f, const Argosy__Response *p) {
        RigAnswer *a = begin(f, p->apply_plan);

        rig_settle(&g);
        return rig_last(a);
}

static const Argosy__Response *apply(Folder f) {
        return apply_planned(f, plan(f));
}

static const Wanted shop[] = {{"a.service", ONE, LAUNCHED},
                              {"b.service", ONE, LOADED},
                              {"c.service", TWO, LAUNCHED},
                              {"w@.service", ONE, INACTIVE},
                              {"w@1.service", ONE, LAUNCHED}};
static const Folder whole = {.units = shop, .n = ELEMENTSOF(shop)};

static inline void assert_unit(const char *name, const char *content, Argosy__Target target,
                               const char *set) {
        const Argosy__UnitRecord *record = rig_record(&g, name);

        assert_non_null(record);
        assert_true(rig_has_content(&g, name, content));
        assert_int_equal(record->target, target);
        assert_string_equal(record->set, set);
        assert_int_equal(rig_count_running(&g, name), target == LAUNCHED);
}

static inline uint64_t change(Argosy__Verb verb, const char *name, const char *content) {
        return rig_change_as_job(&g, verb, name, content);
}

static inline const Argosy__Response *undo(uint64_t job) {
        return rig_undo(&g, (RigUndo){job});
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
