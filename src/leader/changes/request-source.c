// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where the content of a unit of a Change comes from (the order is in request.h): its own record, a file
// that the client sent, the template's record, what its siblings have. A file that was sent is parsed once
// for all units that use it. Who has no content, or none that counts, is refused with the reason; what only
// differs from what was sent is a warning.

#include <errno.h>

#include "carried-files.h"
#include "planner.h"
#include "response.h"
#include "unit-name.h"
#include "unit-state.h"

int request_number_files(Planner *p) {
        const Argosy__Request__Change *c = p->change;

        for (size_t i = 0; i < c->n_files; i++) // of two of the same name the first one counts
                if (map_add_str(&p->files, c->files[i]->name, (void *) (i + 1)) == -ENOMEM)
                        return -ENOMEM;
        return 0;
}

bool request_find_text(const Planner *p, const Source *source, ChangeContent *ret) {
        const SpecEntry *spec = source->content ? NULL : cluster_state_find_spec(p->state, &source->hash);

        ret->text = source->content ?: spec ? spec->content : NULL;
        ret->len = source->content ? source->len : spec ? spec->len : 0;
        return ret->text;
}

int request_find_file(const Planner *p, const char *name) {
        uintptr_t number;

        if (p->files.count == 1) // a template's, of which each of thousands asks
                return streq(p->change->files[0]->name, name) ? 0 : -ENOENT;
        number = (uintptr_t) map_find_str(&p->files, name);
        return number ? (int) number - 1 : -ENOENT;
}

int request_find_file_of(const Planner *p, const char *name) {
        _cleanup_free_ char *template = NULL;
        int i = request_find_file(p, name);

        if (i >= 0 || unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return i;
        template = unit_name_template(name);
        return template ? request_find_file(p, template) : -ENOMEM;
}

// Parses a file that the client sent, once for all units that use it. 0, or -EINVAL with *ret_why.
static int parse_sent(Planner *p, int i, const UnitFile **ret, char **ret_why) {
        const Argosy__NamedFile *f = p->change->files[i];
        const char *path = *f->path ? f->path : f->name;
        int r;

        if (!p->parsed[i]) {
                _cleanup_(unit_file_freep) UnitFile *file = NULL;

                r = unit_file_parse(path, f->content.data, f->content.len, &file, ret_why);
                if (r >= 0)
                        r = unit_file_check_sections(path, f->content.data, f->content.len, ret_why);
                if (r >= 0)
                        r = carried_files_check(path, f->name, f->content.data, f->content.len, file,
                                                ret_why);
                if (r < 0)
                        return r;
                p->parsed[i] = TAKE_PTR(file);
        }
        *ret = p->parsed[i];
        return 0;
}

static const Hash *hash_sent(Planner *p, int i) {
        const Argosy__NamedFile *f = p->change->files[i];

        if (hash_is_zero(&p->hashes[i]))
                p->hashes[i] = hash_of(f->content.data, f->content.len);
        return &p->hashes[i];
}

static int take_sent(Planner *p, int i, bool from_template, Source *ret,
                     Argosy__Response__UnitResult *result) {
        _cleanup_free_ char *why = NULL;
        const UnitFile *file = NULL;
        int r = parse_sent(p, i, &file, &why);

        if (r == -EINVAL) {
                r = unit_result_fail(result, EINVAL, why);
                return r < 0 ? r : UNIT_REFUSED;
        }
        if (r < 0)
                return r;
        *ret = (Source){
                .file = file,
                .hash = *hash_sent(p, i),
                .content = p->change->files[i]->content.data,
                .len = p->change->files[i]->content.len,
                .path = *p->change->files[i]->path ? p->change->files[i]->path : p->change->files[i]->name,
                .from_template = from_template,
                .changes = true,
        };
        return 0;
}

static int take_spec(SpecEntry *spec, bool from_template, bool changes, Source *ret) {
        const UnitFile *file;
        int r;

        r = spec_entry_file(spec, &file);
        if (r < 0)
                return r;
        *ret = (Source){
                .file = file, .hash = spec->hash, .from_template = from_template, .changes = changes};
        return 0;
}

// Which file the client found for this name: its own, or that of its template.
static int find_sent(const Planner *p, const char *name, const char *template, bool *ret_template) {
        int i = request_find_file(p, name);

        *ret_template = false;
        if (i < 0 && template) {
                i = request_find_file(p, template);
                *ret_template = true;
        }
        return i;
}

static bool may_replace(Argosy__Verb verb, Argosy__Target current) {
        switch (verb) {
        case ARGOSY__VERB__VERB_SUBMIT:
                return current == ARGOSY__TARGET__TARGET_INACTIVE;
        case ARGOSY__VERB__VERB_LOAD:
                return current != ARGOSY__TARGET__TARGET_LAUNCHED;
        default:
                return true;
        }
}

static int warn_differs(Argosy__Response__UnitResult *result, const char *path, const char *whose) {
        return field_printf(&result->message,
                            "%s differs from what %s has in the cluster; --replace takes it over", path,
                            whose);
}

// For a unit that exists. As request_find_source().
static int source_of_record(Planner *p, UnitEntry *u, const char *template, Source *ret,
                            Argosy__Response__UnitResult *result) {
        const Argosy__UnitRecord *record = u->record;
        bool from_template;
        int i = find_sent(p, record->name, template, &from_template), r;

        r = take_spec(u->spec, record->from_template, false, ret);
        if (r < 0 || i < 0 || !request_takes_file(p->change))
                return r;
        // An instance with a file of its own has nothing to do with the template's.
        if (from_template && !record->from_template)
                return 0;
        if (hash_equal(hash_sent(p, i), &u->spec->hash))
                return 0;
        if (!p->change->replace)
                return warn_differs(result, p->change->files[i]->path, record->name);
        if (!may_replace(p->change->verb, record->target)) {
                result->status = EEXIST;
                r = field_printf(
                        &result->message,
                        "the unit is %s; `start --replace` takes over the new file and starts it with that",
                        target_to_string(record->target));
                return r < 0 ? r : UNIT_REFUSED;
        }
        return take_sent(p, i, from_template, ret, result);
}

// As ChangeOps.siblings(), which is asked once for all the new instances of a template.
static int find_siblings(Planner *p, const char *template, SpecEntry **ret) {
        if (!p->ops->siblings)
                return 0;
        if (!p->sibling_of || !streq(p->sibling_of, template)) {
                free(p->sibling_of);
                p->sibling_of = strdup(template);
                if (!p->sibling_of)
                        return -ENOMEM;
                p->sibling_found = p->ops->siblings(template, &p->sibling_spec, p->userdata);
        }
        *ret = p->sibling_spec;
        return p->sibling_found;
}

// For a unit that does not exist yet. As request_find_source().
static int source_of_new(Planner *p, const char *name, const char *template, Source *ret,
                         Argosy__Response__UnitResult *result) {
        UnitEntry *t = template ? cluster_state_find_unit(p->state, template) : NULL;
        SpecEntry *spec;
        bool from_template;
        int i = find_sent(p, name, template, &from_template), r;

        if (i >= 0 && (!from_template || !t || p->change->replace))
                return take_sent(p, i, from_template, ret, result);
        if (t) {
                if (i >= 0 && !hash_equal(hash_sent(p, i), &t->spec->hash)) {
                        r = warn_differs(result, p->change->files[i]->path, template);
                        if (r < 0)
                                return r;
                }
                return take_spec(t->spec, true, true, ret);
        }
        r = template ? find_siblings(p, template, &spec) : 0;
        if (r == -ENOTUNIQ) {
                result->status = EINVAL;
                r = field_printf(&result->message,
                                 "the instances of %s have different contents, and the template itself is "
                                 "not in the cluster; say it where the file is",
                                 template);
                return r < 0 ? r : UNIT_REFUSED;
        }
        if (r != 0)
                return r < 0 ? r : take_spec(spec, true, true, ret);
        r = unit_result_fail(
                result, ENOENT,
                template ? "no such unit in the cluster, no file of that name, and no template either"
                         : "no such unit in the cluster, and no file of that name");
        return r < 0 ? r : UNIT_REFUSED;
}

int request_find_source(Planner *p, const char *name, UnitEntry *u, Source *ret,
                        Argosy__Response__UnitResult *result) {
        _cleanup_free_ char *template = NULL;

        if (unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE) {
                template = unit_name_template(name);
                if (!template)
                        return -ENOMEM;
        }
        return u ? source_of_record(p, u, template, ret, result)
                 : source_of_new(p, name, template, ret, result);
}

static int take_aimed(Planner *p, const ChangeAim *aim, Source *ret, Argosy__Response__UnitResult *result) {
        int r;

        if (!hash_equal(hash_sent(p, (int) aim->file - 1), &aim->hash)) {
                r = unit_result_fail(result, EINVAL,
                                     "the content that came is not the one that it is to have");
                return r < 0 ? r : UNIT_REFUSED;
        }
        return take_sent(p, (int) aim->file - 1, aim->from_template, ret, result);
}

int request_find_aimed(Planner *p, const UnitEntry *u, const ChangeAim *aim, Source *ret,
                       Argosy__Response__UnitResult *result) {
        int r;

        if (aim->file > 0)
                r = take_aimed(p, aim, ret, result);
        else
                r = take_spec(aim->spec, aim->from_template, !u || u->spec != aim->spec, ret);
        if (r == -EINVAL) { // an older version took it
                r = unit_result_fail(result, EINVAL, "its file of before is not valid any more");
                return r < 0 ? r : UNIT_REFUSED;
        }
        ret->set = aim->set;
        return r;
}
