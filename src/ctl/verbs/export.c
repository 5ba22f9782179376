// SPDX-License-Identifier: LGPL-2.1-or-later
//
// export: a set of units becomes a folder, the way back from apply.
//
//      1. the leader is asked what an empty folder would take away: that is each unit of the set, with the
//      hash of its file
//         and what it is to be, as they are at one moment
//      2. what the folder has already is compared with that by hashes (folder-export.c)
//      3. contents that differ are fetched by their hashes, all of them before the first file is written
//
// Nothing in the cluster changes. When a content is gone by the time it is fetched, nothing on the disk has
// changed either.

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "apply-plan.h"
#include "contents.h"
#include "ctl.h"
#include "folder-carried.h"
#include "folder-drop-ins.h"
#include "folder-export.h"
#include "message-of.h"
#include "message.h"
#include "str.h"
#include "unit-state.h"
#include "verbs.h"

typedef struct Export {
        Ctl *ctl;
        const char *dir;
        char *set;
        Argosy__Response *answer; // which has the names of `units`
        FolderExportUnit *units;
        FolderExport folder;
} Export;

static void export_done(Export *e) {
        folder_export_done(&e->folder);
        free(e->units);
        message_free(e->answer);
        free(e->set);
}

static int name_set(Export *e) {
        _cleanup_free_ char *found = NULL;

        return folder_export_find_set(e->dir, &found) == -ENOMEM
                       ? ctl_oom(e->ctl)
                       : apply_plan_name_set(e->ctl, e->dir, found, &e->set);
}

// ---- the set

static bool hash_from_hex(const char *hex, Hash *ret) {
        for (size_t i = 0; i < HASH_SIZE; i++) {
                unsigned byte;

                if (strspn(hex + 2 * i, "0123456789abcdef") < 2 || sscanf(hex + 2 * i, "%2x", &byte) != 1)
                        return false;
                ret->bytes[i] = (uint8_t) byte;
        }
        return !hex[2 * HASH_SIZE];
}

static bool take_row(const Argosy__Response__ApplyRow *row, FolderExportUnit *ret) {
        ret->name = row->unit;
        return row->removed && hash_from_hex(row->rev, &ret->spec) &&
               target_from_string(row->desired, &ret->target);
}

static int compare_units(const void *a, const void *b) {
        return strcmp(((const FolderExportUnit *) a)->name, ((const FolderExportUnit *) b)->name);
}

static int ask_units(Export *e) {
        Argosy__Request__Apply m = MESSAGE_OF(request__apply, .set = e->set, .prune = true);
        const Argosy__Response__ApplyPlan *plan;
        int code;

        code = apply_plan_ask(e->ctl, &m, &e->answer);
        if (code != EXIT_OK)
                return code;
        plan = e->answer->apply_plan;
        if (plan->n_rows == 0)
                return ctl_fail(e->ctl, "no unit belongs to the set %s; nothing was written", e->set);
        e->units = calloc(plan->n_rows, sizeof(*e->units));
        if (!e->units)
                return ctl_oom(e->ctl);
        for (size_t i = 0; i < plan->n_rows; i++)
                if (!take_row(plan->rows[i], &e->units[i]))
                        return ctl_fail(e->ctl, "argosyd does not say what %s is; nothing was written",
                                        plan->rows[i]->unit);
        qsort(e->units, plan->n_rows, sizeof(*e->units), compare_units);
        e->folder.set = e->set;
        e->folder.units = e->units;
        e->folder.n_units = plan->n_rows;
        return EXIT_OK;
}

// ---- the folder

// What the unit has by that hash. An exit status, or -1: what came is something else.
static int fetch(Export *e, const char *unit, const Hash *wanted, Buf *ret) {
        Content content = {};
        char hex[HASH_HEX_SIZE];
        Hash hash;
        int code;

        hash_hex(wanted, HASH_SIZE, hex);
        code = content_fetch(e->ctl, (char *) unit, hex, &content);
        *ret = content.bytes;
        if (code != EXIT_OK)
                return code;
        hash = hash_of(ret->data, ret->len);
        return hash_equal(&hash, wanted) ? EXIT_OK : -1;
}

static int fetch_file(Export *e, FolderExportFile *f) {
        int code = fetch(e, f->name, &f->hash, &f->content);

        return code >= 0 ? code
                         : ctl_fail(e->ctl, "argosyd did not send the file of %s; nothing was written",
                                    f->name);
}

static int fetch_carried(Export *e, FolderExportCarried *c) {
        int code = fetch(e, c->unit, &c->hash, &c->bytes);

        return code >= 0 ? code
                         : ctl_fail(e->ctl, "argosyd did not send the file %s of %s; nothing was written",
                                    c->name, c->unit);
}

static int fail_why(const Export *e, int error, const Buf *why) {
        return why->len > 0 && error != -ENOMEM
                       ? ctl_fail(e->ctl, "%.*s", (int) why->len, (const char *) why->data)
                       : ctl_oom(e->ctl);
}

// What the units bring that are written, when all their contents are there.
static int fetch_all_carried(Export *e) {
        _cleanup_buf_ Buf why = {};
        int code = EXIT_OK, r = 0;

        for (size_t i = 0; r == 0 && i < e->folder.n_files; i++)
                if (e->folder.files[i].differs)
                        r = folder_carried_note(&e->folder, &e->folder.files[i], &why);
        if (r < 0)
                return fail_why(e, r, &why);
        for (size_t i = 0; code == EXIT_OK && i < e->folder.n_carried; i++)
                if (!e->folder.carried[i].is_here)
                        code = fetch_carried(e, &e->folder.carried[i]);
        return code;
}

static int fetch_files(Export *e) {
        int code = EXIT_OK;

        for (size_t i = 0; i < e->folder.n_files && code == EXIT_OK; i++)
                if (e->folder.files[i].differs && e->folder.files[i].content.len == 0)
                        code = fetch_file(e, &e->folder.files[i]);
        return code;
}

static int fetch_all(Export *e) {
        bool more = true;
        int code = EXIT_OK;

        while (more && code == EXIT_OK) {
                code = fetch_files(e);
                if (code == EXIT_OK && folder_drop_ins_spread(&e->folder, &more) < 0)
                        code = ctl_oom(e->ctl);
        }
        if (code == EXIT_OK)
                code = fetch_all_carried(e);
        if (code == EXIT_OK && folder_drop_ins_decide(&e->folder) < 0)
                code = ctl_oom(e->ctl);
        return code;
}

static void say_done(const Export *e) {
        const FolderExport *f = &e->folder;
        size_t n = 0;

        if (e->ctl->opt.given[OPT_QUIET])
                return;
        for (size_t i = 0; i < f->n_files; i++)
                n += f->files[i].differs;
        if (folder_export_is_there(f))
                fprintf(e->ctl->term.out, "%s is as the set %s: %zu unit%s, nothing to do.\n", e->dir,
                        e->set, f->n_units, f->n_units == 1 ? "" : "s");
        else
                fprintf(e->ctl->term.out,
                        "%s has the set %s: %zu unit%s, %zu file%s written, %zu removed.\n", e->dir, e->set,
                        f->n_units, f->n_units == 1 ? "" : "s", n, n == 1 ? "" : "s", f->n_gone);
}

static int write_folder(Export *e) {
        _cleanup_buf_ Buf why = {};
        int r = folder_export_lay_out(&e->folder, &why), code;

        if (r == 0)
                r = folder_export_compare(&e->folder, e->dir, &why);
        if (r < 0)
                return fail_why(e, r, &why);
        code = fetch_all(e);
        if (code != EXIT_OK)
                return code;
        r = folder_export_write(&e->folder, e->dir, &why);
        if (r < 0)
                return fail_why(e, r, &why);
        say_done(e);
        return EXIT_OK;
}

int verb_export(Ctl *ctl, char **args, size_t n) {
        Export e = {.ctl = ctl, .dir = args[0]};
        int code = name_set(&e);

        if (code == EXIT_OK)
                code = ask_units(&e);
        if (code == EXIT_OK)
                code = write_folder(&e);
        export_done(&e);
        return code;
}
