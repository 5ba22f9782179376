// SPDX-License-Identifier: LGPL-2.1-or-later
//
// apply: a folder of unit files is the truth about a set of units.
//
//      1. the folder is read (unit-folder.c)
//      2. the leader is asked what it would change, by hashes alone
//      3. with --plan the leader is asked again with new files of containers, as these may change a network
//      that others share, and the difference is printed; else what the cluster does not have is sent, with
//      the plan's fingerprint
//      4. what each unit is to come to is waited for (mixed-change.c), or the end of the rollout that brings
//      it there (rollouts.c)
//
// When something has changed between 2 and 3, nothing is done and that is said. What the leader would
// refuse, --plan shows all the same, with the reason.

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "apply-plan.h"
#include "carried-diff.h"
#include "carried-files.h"
#include "content-difference.h"
#include "content-image.h"
#include "ctl.h"
#include "diff.h"
#include "file-warnings.h"
#include "image-diff.h"
#include "json.h"
#include "message-of.h"
#include "message.h"
#include "mixed-change.h"
#include "quadlet.h"
#include "rollouts.h"
#include "row-json.h"
#include "sorted.h"
#include "str.h"
#include "terminal.h"
#include "unit-folder.h"
#include "verbs.h"

static const MixedVerb apply_verb = {"apply", "applied"};

typedef struct Apply {
        Ctl *ctl;
        UnitFolder folder;
        char *set;
        Argosy__Request__Apply message;
        Argosy__Request__Apply__Unit *units, **unit_pointers; // as folder.units
        Argosy__NamedFile *files, **file_pointers;            // those that are sent
        char **gone;                                          // of `plan`
        Argosy__Response *answer;                             // NULL: none yet
        Argosy__Response__ApplyPlan *plan;                    // in it
} Apply;

static void apply_done(Apply *a) {
        unit_folder_done(&a->folder);
        free(a->set);
        free(a->units);
        free(a->unit_pointers);
        free(a->files);
        free(a->file_pointers);
        free(a->gone);
        message_free(a->answer);
}

// ---- the folder

// `dir` was named as the folder.
static int refuse_folder(Apply *a, const char *dir, const Buf *why) {
        struct stat st;

        if (stat(dir, &st) < 0 || !S_ISREG(st.st_mode))
                return ctl_fail(a->ctl, "%.*s", (int) why->len, (const char *) why->data);
        return ctl_usage(a->ctl,
                         "%s is a file, and apply takes a folder; `argosyctl start %s%s` starts what is in "
                         "a unit file",
                         dir, strchr(dir, '/') ? "" : "./", dir);
}

static int read_folder(Apply *a, const char *dir) {
        _cleanup_buf_ Buf why = {};
        int r = unit_folder_read(dir, &a->folder, &why);

        if (r < 0)
                return why.len > 0 && r != -ENOMEM ? refuse_folder(a, dir, &why) : ctl_oom(a->ctl);
        ctl_warn_ignored(a->ctl, dir, a->folder.ignored, a->folder.n_ignored);
        return apply_plan_name_set(a->ctl, dir, a->folder.set_file.set, &a->set);
}

// ---- the message

static int fill_message(Apply *a) {
        Argosy__Request__Apply *m = &a->message;
        const bool *given = a->ctl->opt.given;

        argosy__request__apply__init(m);
        free(a->units);
        free(a->unit_pointers);
        a->units = calloc(a->folder.n_units + 1, sizeof(*a->units));
        a->unit_pointers = calloc(a->folder.n_units + 1, sizeof(*a->unit_pointers));
        if (!a->units || !a->unit_pointers)
                return -ENOMEM;
        for (size_t i = 0; i < a->folder.n_units; i++) {
                const UnitFolderUnit *unit = &a->folder.units[i];
                Argosy__Request__Apply__Unit *u = a->unit_pointers[i] = &a->units[i];

                *u = (Argosy__Request__Apply__Unit) MESSAGE_OF(
                        request__apply__unit, .name = (char *) unit->name, .brought = unit->brought);
                if (unit->file)
                        u->spec = (ProtobufCBinaryData){.data = (uint8_t *) unit->file->hash.bytes,
                                                        .len = HASH_SIZE};
                u->from_template = unit->from_template;
                u->target = unit->target;
        }
        m->set = a->set;
        m->units = a->unit_pointers;
        m->n_units = a->folder.n_units;
        m->prune = given[OPT_PRUNE];
        m->force = given[OPT_FORCE];
        m->adopt = given[OPT_ADOPT];
        m->rolling = rollouts_wanted(a->ctl);
        if (m->rolling) {
                m->max_unavailable = a->ctl->opt.max_unavailable.value;
                m->percent = a->ctl->opt.max_unavailable.percent;
                m->health_us = rollouts_health_us(a->ctl);
        }
        return 0;
}

static int ask_plan(Apply *a) {
        int code = apply_plan_ask(a->ctl, &a->message, &a->answer);

        if (code == EXIT_OK)
                a->plan = a->answer->apply_plan;
        return code;
}

// ---- the plan, printed

static const UnitFolderUnit *find_unit(const Apply *a, const char *name) {
        const UnitFolderUnit *units = a->folder.units;
        size_t at = SORTED_COUNT(a->folder.n_units, i, strcmp(units[i].name, name) < 0);

        return at < a->folder.n_units && streq(units[at].name, name) ? &units[at] : NULL;
}

static int on_content(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        Buf *content = userdata;

        return r->what_case == ARGOSY__RESPONSE__WHAT_CAT
                       ? buf_append(content, r->cat->content.data, r->cat->content.len)
                       : 0;
}

static int fetch(Ctl *ctl, const Argosy__Response__ApplyRow *row, Buf *ret) {
        Argosy__Request__Cat cat = ARGOSY__REQUEST__CAT__INIT;
        Argosy__Request request = REQUEST_OF(CAT, cat, &cat);
        char *name = row->unit, *rev = row->rev;

        cat.names = &name;
        cat.n_names = 1;
        cat.revs = &rev;
        cat.n_revs = 1;
        return ctl_ask(ctl, &request, 0, on_content, ret);
}

static int describe_seen(const Argosy__Response__ApplyRow *row, Buf *b) {
        int r = buf_printf(b, "%s", apply_state_phrase(row->state));

        if (r == 0 && *row->node)
                r = buf_printf(b, ", on %s", row->node);
        if (r == 0 && *row->why && !streq(row->state, "stopped")) // that says nothing more
                r = buf_printf(b, ": %s", row->why);
        return r < 0 ? r : buf_printf(b, row->starts ? "; is started again\n" : "; is left as it is\n");
}

// `change`: what becomes of the unit if it runs.
static int describe_file(const Argosy__Response__ApplyRow *row, Argosy__FileChange change, Buf *b) {
        if (streq(row->rev, row->rev_after))
                return buf_printf(b, "with the same file");
        switch (change) {
        case ARGOSY__FILE_CHANGE__FILE_CHANGE_RELOAD:
                return buf_printf(b, "gets other files that come with it, and is reloaded if it is up");
        case ARGOSY__FILE_CHANGE__FILE_CHANGE_NONE:
                return buf_printf(b, "gets other files that come with it, and goes on if it is up");
        default:
                return buf_printf(b, "gets another file");
        }
}

static int describe_row(const Argosy__Response__ApplyRow *row, Argosy__FileChange change, Buf *b) {
        int r = buf_printf(b, "%s: ", row->unit);

        if (r == 0 && !apply_row_changes(row))
                return describe_seen(row, b);

        if (r == 0 && row->removed)
                return buf_printf(b, "is destroyed\n");
        if (r == 0 && row->made)
                return buf_printf(b, "is new, to be %s\n", row->desired_after);
        if (r == 0 && row->adopted)
                r = *row->set ? buf_printf(b, "is taken over from the set %s, ", row->set)
                              : buf_printf(b, "belongs to no set and is taken over, ");
        if (r == 0 && !streq(row->desired, row->desired_after))
                r = buf_printf(b, "%s -> %s, ", row->desired, row->desired_after);
        if (r == 0)
                r = describe_file(row, change, b);
        if (r == 0 && row->starts)
                r = buf_printf(b, ", and is started again: it %s", apply_state_phrase(row->state));
        return r < 0 ? r : buf_printf(b, "\n");
}

// What the unit file that is handed in asks for, where nothing changes but its files.
static Argosy__FileChange file_change_of(const Buf *before, const UnitFolderFile *next) {
        if (!next || !next->parsed ||
            !carried_files_same_settings(before->data, before->len, next->content.data, next->content.len))
                return ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
        return next->parsed->file_change;
}

static int diff_files(Apply *a, const Argosy__Response__ApplyRow *row, const DiffSide *from,
                      const DiffSide *to, const UnitFolderUnit *unit, Buf *out) {
        const CarriedSources *sent = unit && unit->file ? &unit->file->carried : NULL;

        return carried_diff_append(a->ctl, row->unit, &(CarriedSide){.content = from},
                                   &(CarriedSide){.content = to,
                                                  .sent = sent ? sent->list : NULL,
                                                  .n_sent = sent ? sent->n : 0},
                                   out);
}

static int append_network(const char *file, const UnitPart *part, void *userdata) {
        return buf_printf(userdata, "  %s changes for all units that have it, in other sets, too\n", file);
}

// Why the leader would refuse the unit for files beside it: it sees the next content only when that is sent.
static int refusal_of(const void *before, size_t len, const void *next, size_t next_len, char **ret) {
        int r = quadlet_beside_check_next(before, len, next, next_len, ret);

        return r == -EINVAL ? 0 : r;
}

static int append_beside(const DiffSide *from, const DiffSide *to, Buf *text) {
        _cleanup_free_ char *refusal = NULL;
        int r = refusal_of(from->data, from->len, to->data, to->len, &refusal);

        if (r == 0 && refusal)
                r = buf_printf(text, "  is refused: %s\n", refusal);
        return r ?: quadlet_networks_changed(from->data, from->len, to->data, to->len, append_network, text);
}

static int print_row(Apply *a, const Argosy__Response__ApplyRow *row) {
        const UnitFolderUnit *unit = find_unit(a, row->unit);
        _cleanup_buf_ Buf before = {}, text = {};
        _cleanup_free_ char *now = str_printf("%s, in the cluster", row->unit);
        bool differs = !streq(row->rev, row->rev_after);
        DiffSide from = {.name = "/dev/null"}, to = {.name = "/dev/null"};
        int code;

        if (!now)
                return ctl_oom(a->ctl);
        if (differs && *row->rev) {
                code = fetch(a->ctl, row, &before);
                if (code != EXIT_OK)
                        return code;
                from = (DiffSide){now, before.data, before.len};
        }
        if (describe_row(row, file_change_of(&before, unit ? unit->file : NULL), &text) < 0)
                return ctl_oom(a->ctl);
        if (differs && unit)
                to = (DiffSide){unit->file->path, unit->file->content.data, unit->file->content.len};
        if (differs && append_beside(&from, &to, &text) < 0)
                return ctl_oom(a->ctl);
        if (differs && image_diff_append(row->unit, &from, &to, !a->ctl->opt.given[OPT_UNPINNED],
                                         &a->ctl->term.style, a->ctl->term.out_tty, &text) < 0)
                return ctl_oom(a->ctl);
        code = differs ? diff_files(a, row, &from, &to, unit, &text) : EXIT_OK;
        if (code != EXIT_OK)
                return code;
        fwrite(text.data, 1, text.len, a->ctl->term.out);
        return EXIT_OK;
}

// Not of the folder's changes, but stops and starts with them.
static int describe_sharer(const Argosy__Response__ApplySharer *sharer, Buf *b) {
        int r = buf_printf(b, "%s: shares %s, which changes: ", sharer->unit, sharer->networks);

        r = r ?: buf_printf(b, sharer->restarts ? "stops and starts again" : "gets its new file");
        if (r == 0 && *sharer->node)
                r = buf_printf(b, ", on %s", sharer->node);
        if (r == 0 && *sharer->set)
                r = buf_printf(b, "; of the set %s", sharer->set);
        return r ?: buf_printf(b, "\n");
}

static int print_sharers(const Apply *a) {
        const Argosy__Response__ApplyPlan *plan = a->plan;
        _cleanup_buf_ Buf text = {};
        int r = 0;

        for (size_t i = 0; i < plan->n_sharers && r == 0; i++)
                r = describe_sharer(plan->sharers[i], &text);
        if (r == 0 && plan->more_sharers > 0)
                r = buf_printf(&text, "%" PRIu32 " more units share a network that changes\n",
                               plan->more_sharers);
        if (r < 0)
                return ctl_oom(a->ctl);
        fwrite(text.data, 1, text.len, a->ctl->term.out);
        return EXIT_OK;
}

static const char *change_word(const Argosy__Response__ApplyRow *row) {
        if (!apply_row_changes(row))
                return row->starts ? "start" : "none";
        return row->made ? "make" : row->removed ? "destroy" : "change";
}

// What the unit has, if it is to have another content, which is the folder's.
static const UnitFolderFile *fetch_other(Apply *a, const Argosy__Response__ApplyRow *row, Buf *before) {
        const UnitFolderUnit *unit = find_unit(a, row->unit);

        return unit && unit->file && *row->rev && !streq(row->rev, row->rev_after) &&
                               fetch(a->ctl, row, before) == EXIT_OK
                       ? unit->file
                       : NULL;
}

static void print_json_parts(Json *j, const Buf *before, const UnitFolderFile *next) {
        Argosy__Response__Parts *parts;
        _cleanup_buf_ Buf source = {}; // the folder has no digests

        if (!next || content_image_unpin(before->data, before->len, &source) < 0 ||
            content_difference_parts(source.data, source.len, next->content.data, next->content.len,
                                     &parts) < 0 ||
            !parts)
                return;
        json_key(j, "parts");
        parts_json(parts, j);
        message_free(parts);
}

// For programs: what differs, by hashes and parts, not how. `file_change`: "reload" or "none" of a unit for
// which that comes in place of a restart. `revision` is what --if-revision takes.
static void print_json_row(Apply *a, Json *j, const Argosy__Response__ApplyRow *row) {
        _cleanup_buf_ Buf before = {};
        const UnitFolderFile *next = fetch_other(a, row, &before);
        Argosy__FileChange change =
                next ? file_change_of(&before, next) : ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART;
        _cleanup_free_ char *refusal = NULL;
        int r = next ? refusal_of(before.data, before.len, next->content.data, next->content.len, &refusal)
                     : 0;
        const char *const words[][2] = {{"unit", row->unit},
                                        {"change", change_word(row)},
                                        {"rev", row->rev},
                                        {"rev_after", row->rev_after},
                                        {"desired", row->desired},
                                        {"desired_after", row->desired_after},
                                        {"set", row->set},
                                        {"state", row->state},
                                        {"why", row->why},
                                        {"node", row->node},
                                        {"refused", r < 0 ? strerror(-r) : refusal ?: ""},
                                        {"file_change", change == ARGOSY__FILE_CHANGE__FILE_CHANGE_RESTART
                                                                ? ""
                                                                : file_change_to_string(change)}};

        json_begin(j, '{');
        json_strings(j, words, ELEMENTSOF(words));
        json_member_bool(j, "adopt", row->adopted);
        json_member_bool(j, "wrong", row->wrong);
        json_member_u64(j, "revision", a->plan->revision);
        print_json_parts(j, &before, next);
        json_end(j, '}');
}

static void print_json_sharer(const Apply *a, Json *j, const Argosy__Response__ApplySharer *sharer) {
        const char *const words[][2] = {{"unit", sharer->unit},
                                        {"change", "share"},
                                        {"networks", sharer->networks},
                                        {"set", sharer->set},
                                        {"node", sharer->node}};

        json_begin(j, '{');
        json_strings(j, words, ELEMENTSOF(words));
        json_member_bool(j, "restarts", sharer->restarts);
        json_member_u64(j, "revision", a->plan->revision);
        json_end(j, '}');
}

static int print_json(Apply *a, int code) {
        Json j = {.f = a->ctl->term.out, .pretty = a->ctl->opt.json == JSON_PRETTY};

        json_begin(&j, '[');
        for (size_t i = 0; i < a->plan->n_rows; i++)
                print_json_row(a, &j, a->plan->rows[i]);
        for (size_t i = 0; i < a->plan->n_sharers; i++)
                print_json_sharer(a, &j, a->plan->sharers[i]);
        json_end(&j, ']');
        json_finish(&j);
        return code;
}

static void say_left(const Apply *a) {
        if (a->plan->left > 0)
                ctl_warn(a->ctl,
                         "%" PRIu32
                         " unit%s of the set %s %s not in the folder; --prune destroys what is not",
                         a->plan->left, a->plan->left == 1 ? "" : "s", a->set,
                         a->plan->left == 1 ? "is" : "are");
}

// What the plan comes to, as an exit status: apply_plan_code().
static int say_nothing_to_do(const Apply *a) {
        bool is_well = a->plan->n_rows == 0;

        if (!a->ctl->opt.given[OPT_QUIET])
                fprintf(a->ctl->term.out,
                        "The set %s is as the folder says: %" PRIu32 " unit%s, nothing to %s.\n", a->set,
                        a->plan->same, a->plan->same == 1 ? "" : "s", is_well ? "do" : "change");
        return EXIT_OK;
}

static int print_rows(Apply *a) {
        int code = EXIT_OK;

        if (a->plan->n_rows > 0)
                pager_open(&a->ctl->term);
        for (size_t i = 0; i < a->plan->n_rows && code == EXIT_OK; i++)
                code = print_row(a, a->plan->rows[i]);
        if (code == EXIT_OK)
                code = print_sharers(a);
        fflush(a->ctl->term.out);
        return code;
}

static int print_text(Apply *a) {
        int code = apply_plan_has_work(a->plan) ? EXIT_OK : say_nothing_to_do(a);

        return code == EXIT_OK ? print_rows(a) : code;
}

// Nothing is done, because only the plan was asked for or because there is nothing to do.
static int print_plan(Apply *a) {
        int code = a->ctl->opt.json != JSON_OFF ? print_json(a, EXIT_OK) : print_text(a);

        if (code != EXIT_OK)
                return code;
        if (*a->plan->refusal)
                ctl_warn(a->ctl, "this would be refused: %s", a->plan->refusal);
        if (apply_plan_say_wrong(a->ctl, a->plan) < 0)
                return ctl_oom(a->ctl);
        return apply_plan_code(a->plan);
}

// ---- what systemd says of files that the cluster does not have

static FileWarnings *begin_warnings(const Apply *a) {
        _cleanup_free_ HandedFile *files = calloc(a->plan->n_rows + 1, sizeof(*files));
        _cleanup_(map_done) Map noted = {};
        size_t n = 0;

        for (size_t i = 0; files && i < a->plan->n_rows; i++) {
                const Argosy__Response__ApplyRow *row = a->plan->rows[i];
                const UnitFolderUnit *unit =
                        streq(row->rev, row->rev_after) ? NULL : find_unit(a, row->unit);

                if (unit && unit->file && map_add_str(&noted, unit->file->name, (void *) unit) == 0)
                        files[n++] = (HandedFile){unit->name, unit->file->path, unit->file->content.data,
                                                  unit->file->content.len};
        }
        return files ? file_warnings_begin(a->ctl, files, n) : NULL;
}

// ---- files that go along

static int send_file(Apply *a, size_t unit, Map *sent, size_t *n) {
        const UnitFolderFile *file = a->folder.units[unit].file;
        uintptr_t number = (uintptr_t) map_find(sent, &file->hash, HASH_SIZE);

        if (number == 0) {
                Argosy__NamedFile *f = a->file_pointers[*n] = &a->files[*n];

                *f = (Argosy__NamedFile) MESSAGE_OF(
                        named_file, .name = file->name, .path = file->path,
                        .content =
                                (ProtobufCBinaryData){.data = file->content.data, .len = file->content.len},
                        .files = file->carried.list, .n_files = file->carried.n);
                number = ++*n;
                if (map_add(sent, &file->hash, HASH_SIZE, (void *) number) < 0)
                        return -ENOMEM;
        }
        a->units[unit].file = (uint32_t) number;
        return 0;
}

// For one file of each row.
static int make_room(Apply *a) {
        size_t n_rows = a->plan->n_rows;

        a->files = calloc(n_rows + 1, sizeof(*a->files));
        a->file_pointers = calloc(n_rows + 1, sizeof(*a->file_pointers));
        a->message.files = a->file_pointers;
        return a->files && a->file_pointers ? 0 : -ENOMEM;
}

static int add_containers(Apply *a) {
        _cleanup_(map_done) Map sent = {};
        int r = make_room(a);

        for (size_t i = 0; i < a->plan->n_rows && r == 0; i++) {
                const Argosy__Response__ApplyRow *row = a->plan->rows[i];
                const UnitFolderUnit *unit = row->need ? find_unit(a, row->unit) : NULL;

                if (unit && unit->file && unit->file->parsed && unit->file->parsed->container)
                        r = send_file(a, (size_t) (unit - a->folder.units), &sent, &a->message.n_files);
        }
        return r;
}

// Who shares a network that changes the leader knows only of contents that it has.
static int ask_for_sharers(Apply *a) {
        if (add_containers(a) < 0)
                return ctl_oom(a->ctl);
        return a->message.n_files > 0 ? ask_plan(a) : EXIT_OK;
}

// ---- doing it

static int add_what_it_needs(Apply *a) {
        Argosy__Request__Apply *m = &a->message;
        size_t n_rows = a->plan->n_rows;
        _cleanup_(map_done) Map sent = {};

        a->gone = calloc(n_rows + 1, sizeof(*a->gone));
        if (!a->gone || make_room(a) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < n_rows; i++) {
                const Argosy__Response__ApplyRow *row = a->plan->rows[i];
                const UnitFolderUnit *unit = find_unit(a, row->unit);

                if (row->removed)
                        a->gone[m->n_gone++] = row->unit;
                else if (row->need && unit &&
                         send_file(a, (size_t) (unit - a->folder.units), &sent, &m->n_files) < 0)
                        return -ENOMEM;
        }
        m->gone = a->gone;
        m->revision = a->plan->revision;
        m->plan = a->plan->plan;
        m->preview = false;
        return 0;
}

// Reports units that are not as they are to be now: started ones may have failed since, others are as
// before.
static int check_units(Ctl *ctl, MixedReport report, void *report_data, void *userdata) {
        Apply *a = userdata;
        int code = EXIT_OK;

        if (ctl->opt.given[OPT_NO_BLOCK])
                return EXIT_OK;
        if (fill_message(a) < 0)
                return ctl_oom(ctl);
        ctl->opt.if_revision = 0; // the units have changed since: that is our doing
        code = ask_plan(a);
        if (code != EXIT_OK)
                return code;
        for (size_t i = 0; report && i < a->plan->n_rows; i++)
                if (a->plan->rows[i]->wrong)
                        report(a->plan->rows[i]->unit, a->plan->rows[i]->node,
                               apply_state_phrase(a->plan->rows[i]->state), report_data);
        if (apply_plan_say_wrong(ctl, a->plan) < 0)
                return ctl_oom(ctl);
        return apply_plan_has_wrong(a->plan) ? EXIT_FAILED : EXIT_OK;
}

static int roll(Apply *a, const Argosy__Request *request) {
        int code = rollouts_ask(a->ctl, (Argosy__Request *) request, apply_verb.name, apply_verb.past);

        return code == EXIT_OK ? check_units(a->ctl, NULL, NULL, a) : code;
}

// Only started again is what needs no rollout.
static bool changes_something(const Apply *a) {
        for (size_t i = 0; i < a->plan->n_rows; i++)
                if (apply_row_changes(a->plan->rows[i]))
                        return true;
        return false;
}

static int carry_out(Apply *a) {
        if (add_what_it_needs(a) < 0)
                return ctl_oom(a->ctl);
        a->message.unpinned = a->ctl->opt.given[OPT_UNPINNED];
        a->message.rolling &= changes_something(a);
        Argosy__Request request = REQUEST_OF(APPLY, apply, &a->message);
        return a->message.rolling ? roll(a, &request)
                                  : mixed_change_run(a->ctl, &apply_verb, &request, check_units, a);
}

static int run(Apply *a, const char *dir) {
        FileWarnings *warnings;
        int code = read_folder(a, dir);

        if (code == EXIT_OK && fill_message(a) < 0)
                code = ctl_oom(a->ctl);
        if (code == EXIT_OK)
                code = ask_plan(a);
        if (code == EXIT_OK && a->ctl->opt.given[OPT_PLAN])
                code = ask_for_sharers(a);
        if (code != EXIT_OK)
                return code;
        say_left(a);
        warnings = begin_warnings(a);
        if (a->ctl->opt.given[OPT_PLAN] || (!apply_plan_has_work(a->plan) && !*a->plan->refusal))
                code = print_plan(a);
        else if (*a->plan->refusal)
                code = ctl_fail(a->ctl, "apply: %s; nothing was changed", a->plan->refusal);
        else
                code = carry_out(a);
        file_warnings_end(a->ctl, warnings);
        return code;
}

int verb_apply(Ctl *ctl, char **args, size_t n) {
        Apply a = {.ctl = ctl};
        int code = run(&a, args[0]);

        apply_done(&a);
        return code;
}
