// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Secrets of units that are put: a unit that is to run has those that its file names, and in which versions
// is said by one number, the revision as of which they are (UnitExtra.secrets). A start of what is not up, a
// restart and another content bring the newest, but not files alone for which it is not restarted; what puts
// back keeps what the unit has, and so does whatever only moves it.
//
// A secret that is missing refuses the unit by its line. What it has must not be deleted in the same entry
// (KEY_SECRET_USED).
#include <errno.h>

#include "carried-files.h"
#include "planner.h"
#include "response.h"

static int refuse_missing(const Source *source, const char *key, const char *name, unsigned line,
                          Argosy__Response__UnitResult *result) {
        int r;

        result->status = ENOENT;
        r = field_printf(&result->message,
                         "%s:%u: %s=%s: there is no such secret; `argosyctl secret set %s` makes it",
                         source->path ?: result->name, line, key, name, name);
        return r < 0 ? r : UNIT_REFUSED;
}

static int check_one(Planner *p, const Source *source, const char *key, const char *name, unsigned line,
                     Argosy__Target target, Argosy__Response__UnitResult *result) {
        if (batch_builder_has_secret(p->batch, name))
                return -EBUSY;
        if (target != ARGOSY__TARGET__TARGET_INACTIVE && !cluster_state_find_secret(p->state, name))
                return refuse_missing(source, key, name, line, result);
        return batch_builder_use_secret(p->batch, name);
}

int request_check_secrets(Planner *p, const Source *source, const UnitOptions *options,
                          Argosy__Target target, Argosy__Response__UnitResult *result) {
        const UnitFile *file = source->file;
        int r = 0;

        for (size_t i = 0; i < options->n_secrets && r == 0; i++) {
                const UnitSecret *secret = &options->secrets[i];

                r = check_one(p, source, "Secret", secret->name, secret->line, target, result);
        }
        return r == 0 && file->registry_auth
                       ? check_one(p, source, "RegistryAuth", file->registry_auth, file->registry_auth_line,
                                   target, result)
                       : r;
}

// It is not restarted for it (FileChange=).
static bool changes_in_place(const Planner *p, const UnitEntry *u, const Source *source) {
        const SpecEntry *there = source->content ? NULL : cluster_state_find_spec(p->state, &source->hash);
        const void *next = there ? there->content : source->content;

        return next && carried_files_change(u->spec->content, u->spec->len, source->file->file_change, next,
                                            there ? there->len : source->len) !=
                               ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
}

// Nobody hears of the node on which it was launched and stays: it may run on with what it has, and that
// would not be known.
static bool may_run_on(const Planner *p, const UnitEntry *u, const Argosy__UnitRecord *next) {
        return next->node > 0 && next->node == u->record->node && p->ops->is_unheard &&
               p->ops->is_unheard(next->name, p->userdata);
}

static bool raises(const Planner *p, const UnitEntry *u, const Source *source,
                   const Argosy__UnitRecord *next, unsigned bump, bool keeps) {
        bool is_up;

        if (!u || unit_record_secrets(u->record) == 0)
                return true;
        if (keeps)
                return false;
        if (bump & BATCH_BUMP_RESTART)
                return true;
        is_up = p->ops->is_up && p->ops->is_up(u->record->name, p->userdata);
        if (!hash_equal(&u->spec->hash, &source->hash))
                return !is_up || !changes_in_place(p, u, source);
        return (bump & BATCH_BUMP_START) && !is_up && !may_run_on(p, u, next);
}

// One of that name may run on where nobody has heard that it was destroyed, with secrets of then: as if a
// stop was missed, it is started again there.
static bool may_be_what_was_destroyed(const Planner *p, const UnitEntry *u, const char *name) {
        bool was_launched = u && u->record->target == ARGOSY__TARGET__TARGET_LAUNCHED;

        return !was_launched && cluster_state_tombstones_of(p->state, name);
}

unsigned request_bump_secrets(const Planner *p, const UnitEntry *u, const Source *source,
                              const UnitOptions *options, const Argosy__UnitRecord *next, unsigned bump,
                              bool keeps) {
        if (options->n_secrets == 0 || next->target == ARGOSY__TARGET__TARGET_INACTIVE)
                return 0;
        return (raises(p, u, source, next, bump, keeps) ? BATCH_BUMP_SECRETS : 0) |
               (may_be_what_was_destroyed(p, u, next->name) ? BATCH_BUMP_STOP : 0);
}
