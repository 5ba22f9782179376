// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   files of a request -> those that units get -> for each image an ImagePin, of an image whose name depends
//   on the instance one for each instance
//
// An update that is to pull brings the file of its units, without its digest, and a new instance of a
// template brings that of the template, if its image is the instance's. What units have already is adopted
// (image-files.h) and needs no ImagePin. Refused are more than IMAGE_PINS_MAX images (-E2BIG), and one file
// for instances with images of their own (-EOPNOTSUPP).

#include "image-pins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cluster-state.h"
#include "disruption-budget.h"
#include "group-contents.h"
#include "planner.h"
#include "response.h"
#include "str.h"
#include "tables.h"
#include "unit-file.h"
#include "unit-name.h"

static int add_pin(PendingRequest *t, size_t file, const char *unit, const ContentImage *image) {
        int r = image_files_begin(t);
        ImagePinning *p = image_files_work(t);
        ImagePin *pin;

        if (r == 0)
                r = p->n < IMAGE_PINS_MAX ? ARRAY_GROW(p->pins, p->allocated, p->n + 1) : -E2BIG;
        if (r < 0)
                return r;
        pin = &p->pins[p->n];
        *pin = (ImagePin){.file = file, .unit = strdup(unit), .image = strdup(image->name)};
        if (!pin->unit || !pin->image) {
                image_pin_done(pin);
                return -ENOMEM;
        }
        p->n++;
        return 0;
}

// A file that came for a unit which has one counts with --replace only.
static bool takes(const PendingRequest *t, const char *name) {
        const Argosy__Request__Change *m = t->request->change;

        if (t->request->what_case != ARGOSY__REQUEST__WHAT_CHANGE)
                return true;
        return request_takes_file(m) && (m->replace || !cluster_state_find_unit(t->leader->state, name));
}

// Whether a unit takes that file. One that does not is noted: it may be gone when the request is decided.
static bool takes_any(PendingRequest *t, const char *file) {
        bool many = unit_name_kind(file, NULL) == UNIT_NAME_TEMPLATE, any = false;
        const char *name;

        if (t->request->what_case != ARGOSY__REQUEST__WHAT_CHANGE)
                return true;
        for (size_t i = 0; (name = image_files_name_at(t, i)) && !(any && t->images_untaken); i++) {
                if (!streq(name, file) && !(many && unit_name_is_instance_of(name, file)))
                        continue;
                if (takes(t, name))
                        any = true;
                else
                        t->images_untaken = true;
                if (!many)
                        break;
        }
        return any;
}

static bool has_own_file(PendingRequest *t, const char *name, size_t n_files) {
        for (size_t i = 0; i < n_files; i++)
                if (streq(image_files_at(t, i)->name, name))
                        return true;
        return false;
}

// Each instance gets the content with a digest of its own, as a file of its own.
static int list_instance(PendingRequest *t, size_t file, const char *name) {
        Argosy__NamedFile *f = image_files_at(t, file);
        _cleanup_content_image_ ContentImage image = {};
        const SpecEntry *spec = image_files_spec(t, name);
        int r = image_files_needs_digest(name, f->content.data, f->content.len, &image);

        if (r <= 0)
                return r;
        r = spec ? content_image_same_source(f->content.data, f->content.len, spec->content, spec->len) : 0;
        return r != 0 ? MIN_OF(r, 0) : add_pin(t, file, name, &image);
}

// One that no unit can have is refused when the request is decided, with its line: nobody is asked for it.
static int can_be_taken(const Argosy__NamedFile *f) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        int r = unit_file_parse(f->name, f->content.data, f->content.len, &file, NULL);

        return r == -ENOMEM ? r : r == 0;
}

static int list_file(PendingRequest *t, size_t i, size_t n_files, bool pulls) {
        Argosy__NamedFile *f = image_files_at(t, i);
        _cleanup_content_image_ ContentImage image = {};
        const char *name;
        int r = image_files_needs_digest(f->name, f->content.data, f->content.len, &image);

        if (r > 0 && !pulls) {
                int adopted = image_files_adopt_one(t, f);

                r = adopted < 0 ? adopted : adopted == 0;
        }
        if (r > 0 && takes_any(t, f->name))
                r = can_be_taken(f);
        else
                return MIN_OF(r, 0);
        if (r <= 0)
                return r;
        if (image.kind == CONTENT_IMAGE_TAG)
                return add_pin(t, i, f->name, &image);
        if (t->request->what_case != ARGOSY__REQUEST__WHAT_CHANGE)
                return -EOPNOTSUPP;
        for (size_t k = 0; r >= 0 && (name = image_files_name_at(t, k)); k++)
                if (unit_name_is_instance_of(name, f->name) &&
                    unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE && takes(t, name) &&
                    !has_own_file(t, name, n_files))
                        r = list_instance(t, i, name);
        return MIN_OF(r, 0);
}

typedef struct Template {
        char *name;            // that was looked at last; NULL: none
        const SpecEntry *spec; // of it, if its image depends on the instance; NULL: it does not
} Template;

static void template_done(Template *last) {
        free(last->name);
}

static int look_at_template(PendingRequest *t, const char *instance, Template *last) {
        _cleanup_content_image_ ContentImage image = {};
        const UnitFile *file;
        const SpecEntry *spec;
        int r = 0;

        if (last->name && unit_name_is_instance_of(instance, last->name))
                return 0;
        free(last->name);
        *last = (Template){.name = unit_name_template(instance)};
        if (!last->name)
                return -ENOMEM;
        spec = image_files_spec(t, last->name);
        if (spec && spec_entry_file((SpecEntry *) spec, &file) == 0 && file->container)
                r = image_files_needs_digest(last->name, spec->content, spec->len, &image);
        if (r > 0 && image.kind == CONTENT_IMAGE_VARIES)
                last->spec = spec;
        return MIN_OF(r, 0);
}

// A new instance of a template that the cluster has, with an image that depends on the instance: its content
// comes with the request, too.
static int add_file_of_template(PendingRequest *t, const char *name, Template *last) {
        Argosy__Request__Change *m = t->request->change;
        Argosy__NamedFile *f;
        int r;

        if (last->name && !last->spec && unit_name_is_instance_of(name, last->name))
                return 0; // as for most of a range
        if (unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return 0;
        r = look_at_template(t, name, last);
        if (r < 0 || !last->spec || !takes(t, name) || has_own_file(t, name, m->n_files) ||
            has_own_file(t, last->name, m->n_files))
                return r;
        f = image_files_named(name, last->name, last->spec->content, last->spec->len);
        return f ? FIELD_APPEND(m->files, m->n_files, f) : -ENOMEM;
}

// An update that is only to pull brings the file that its units have, whatever their digests are: an update
// before may have left some of them out.
static int add_file_of_rollout(PendingRequest *t) {
        Argosy__Request__Rollout *m = t->request->rollout;
        const DisruptionBudget *g = disruption_budget_find(t->leader, m->name);
        SpecEntry *spec = image_files_spec(t, m->name);
        int r = 0;

        if (!m->pull || m->file)
                return 0;
        if (!spec && g)
                r = group_contents_one_source(t->leader, g, &spec);
        if (r < 0 || !spec)
                return r;
        m->file = image_files_named(m->name, m->name, spec->content, spec->len);
        return m->file ? 0 : -ENOMEM;
}

// Its image is resolved anew, whatever its digest is.
static int drop_pin(PendingRequest *t) {
        Argosy__Request__Rollout *m = t->request->rollout;
        _cleanup_buf_ Buf source = {};
        int r = content_image_unpin(m->file->content.data, m->file->content.len, &source);

        return r < 0 ? r : image_files_replace(t, m->file, source.data, source.len);
}

static int complete_files(PendingRequest *t) {
        _cleanup_(template_done) Template last = {};
        const char *name;
        int r = 0;

        if (t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT) {
                r = add_file_of_rollout(t);
                return r == 0 && t->request->rollout->pull && t->request->rollout->file ? drop_pin(t) : r;
        }
        if (t->request->what_case != ARGOSY__REQUEST__WHAT_CHANGE)
                return 0;
        for (size_t i = 0; r >= 0 && (name = image_files_name_at(t, i)); i++)
                r = add_file_of_template(t, name, &last);
        return r;
}

int image_pins_list(PendingRequest *t) {
        bool pulls = t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT && t->request->rollout->pull;
        size_t n;
        int r;

        if (image_files_work(t) && image_files_work(t)->listed)
                return 0;
        t->images_untaken = false;
        r = complete_files(t);
        n = image_files_count(t);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = list_file(t, i, n, pulls);
        if (image_files_work(t))
                image_files_work(t)->listed = r == 0;
        return r;
}
