// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   files of a request -> which of them are containers' with a tag -> is that content, with its digest, what
//   units have already? -> then it is in place of the file that came
//
// The same file handed in again so keeps its digest, and asks nobody. What was replaced is noted: a folder
// says which content a unit is to have by the hash of what came (image_pinning_content()). Nothing fails but
// for memory.

#include "image-files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cluster-state.h"
#include "disruption-budget.h"
#include "group-contents.h"
#include "image-pinning.h"
#include "message-of.h"
#include "message.h"
#include "node-calls.h"
#include "nodes.h"
#include "planner.h"
#include "scheduler.h"
#include "str.h"
#include "tables.h"
#include "unit-file.h"
#include "unit-name.h"

void image_pin_done(ImagePin *p) {
        free(p->unit);
        free(p->image);
        free(p->why);
        free(p->here);
}

static void images_free(PendingRequest *t, RequestWork *work) {
        ImagePinning *p = CONTAINER_OF(work, ImagePinning, work);

        for (size_t i = 0; i < p->n; i++)
                image_pin_done(&p->pins[i]);
        free(p->pins);
        free(p->pinned);
        request_deadline_clear(t, &p->deadline);
        free(p);
}

static bool images_ask(const PendingRequest *t, const RequestWork *work, Buf *what) {
        return image_pinning_asks(t, CONTAINER_OF(work, const ImagePinning, work), what);
}

static const RequestWorkKind images_kind = {images_free, images_ask};

ImagePinning *image_files_work(const PendingRequest *t) {
        RequestWork *work = request_work(t, &images_kind);

        return work ? CONTAINER_OF(work, ImagePinning, work) : NULL;
}

void image_pinning_forget(PendingRequest *t) {
        RequestWork *work = request_take_work(t, &images_kind);

        if (work)
                images_free(t, work);
        t->has_digests = t->images_untaken = false;
}

int image_files_begin(PendingRequest *t) {
        ImagePinning *p = image_files_work(t) ? NULL : calloc(1, sizeof(*p));

        if (p)
                request_add_work(t, &images_kind, &p->work);
        return image_files_work(t) ? 0 : -ENOMEM;
}

// --------------------------------------------------------------------------------------- files of a request

typedef struct Files {
        Argosy__NamedFile ***list;
        size_t *n;
        bool unpinned; // they are taken as they are
} Files;

static Files files_of(PendingRequest *t) {
        Argosy__Request *m = t->request;

        switch (m->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                return (Files){&m->change->files, &m->change->n_files, m->change->unpinned};
        case ARGOSY__REQUEST__WHAT_APPLY:
                return (Files){&m->apply->files, &m->apply->n_files, m->apply->unpinned};
        default:
                return (Files){};
        }
}

Argosy__NamedFile *image_files_at(PendingRequest *t, size_t i) {
        Files f = files_of(t);

        return f.list ? (*f.list)[i] : t->request->rollout->file;
}

bool image_files_are_unpinned(PendingRequest *t) {
        return t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT ? t->request->rollout->unpinned
                                                                      : files_of(t).unpinned;
}

size_t image_files_count(PendingRequest *t) {
        Files f = files_of(t);

        if (f.list)
                return *f.n;
        return t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT && t->request->rollout->file;
}

bool image_files_are_brought(const PendingRequest *t) {
        const Argosy__Request *m = t->request;

        switch (m->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                return request_takes_file(m->change);
        case ARGOSY__REQUEST__WHAT_APPLY:
                return m->apply->n_files > 0 && !m->apply->preview;
        case ARGOSY__REQUEST__WHAT_ROLLOUT:
                return !m->rollout->abort && (m->rollout->file || m->rollout->pull);
        default:
                return false;
        }
}

static bool is_among(uint32_t number, const uint32_t *numbers, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (numbers[i] == number)
                        return true;
        return false;
}

Node *image_files_find_node(Leader *l, const Argosy__NamedFile *f, const UnitFile *file, const char *unit,
                            const uint32_t *asked, size_t n_asked) {
        UnitOptions *options = NULL;
        Node *found = NULL;

        if (unit_file_expand(file, f->name, unit, &options, NULL) < 0)
                return NULL;
        map_foreach (slot, &l->nodes) {
                Node *n = slot->value;

                if (!node_calls_knows_names(n) || is_among(n->number, asked, n_asked) ||
                    !node_admits(l, n, options))
                        continue;
                found = n;
                break;
        }
        unit_options_unref(options);
        return found;
}

static int note_pinned(PendingRequest *t, const Hash *source, const void *content, size_t len) {
        ImagePinning *p = image_files_work(t);
        int r = ARRAY_GROW(p->pinned, p->pinned_allocated, p->n_pinned + 1);

        if (r == 0)
                p->pinned[p->n_pinned++] = (struct Pinned){*source, hash_of(content, len)};
        return r;
}

int image_files_replace(PendingRequest *t, Argosy__NamedFile *f, const void *content, size_t len) {
        Hash source = hash_of(f->content.data, f->content.len);
        uint8_t *copy = malloc(len ?: 1);
        int r = copy ? image_files_begin(t) : -ENOMEM;

        if (r == 0)
                r = note_pinned(t, &source, content, len);
        if (r < 0) {
                free(copy);
                return r;
        }
        memcpy(copy, content, len);
        free(f->content.data);
        f->content = (ProtobufCBinaryData){.data = copy, .len = len};
        return 0;
}

Argosy__NamedFile *image_files_named(const char *unit, const char *path, const void *content, size_t len) {
        Argosy__NamedFile f =
                MESSAGE_OF(named_file, .name = (char *) unit, .path = (char *) path,
                           .content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = len});

        return message_copy(&f);
}

// ------------------------------------------------------------------------------------ what is there already

int image_files_needs_digest(const char *unit, const void *content, size_t len, ContentImage *ret) {
        int r = content_image_read(unit, content, len, ret);

        return r < 0 ? r
                     : (ret->kind == CONTENT_IMAGE_TAG || ret->kind == CONTENT_IMAGE_VARIES) &&
                               !*ret->digest;
}

// 1: that has the same source, and so has the file the same image now; also if neither has a digest.
static int adopt_from(PendingRequest *t, Argosy__NamedFile *f, const SpecEntry *spec) {
        int r = spec ? content_image_same_source(f->content.data, f->content.len, spec->content, spec->len)
                     : 0;

        if (r > 0 && (f->content.len != spec->len || memcmp(f->content.data, spec->content, spec->len) != 0))
                return image_files_replace(t, f, spec->content, spec->len) ?: 1;
        return r;
}

SpecEntry *image_files_spec(const PendingRequest *t, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(t->leader->state, name);

        return e ? e->spec : NULL;
}

// What the instances of a template have, if it is the same.
static SpecEntry *spec_of_siblings(const PendingRequest *t, const char *template) {
        const DisruptionBudget *g = unit_name_kind(template, NULL) == UNIT_NAME_TEMPLATE
                                            ? disruption_budget_find(t->leader, template)
                                            : NULL;
        bool several;

        return g ? group_contents_common(t->leader, g, &several) : NULL;
}

const char *image_files_name_at(const PendingRequest *t, size_t i) {
        const Argosy__Request *m = t->request;

        switch (m->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                return i < m->change->n_names ? m->change->names[i] : NULL;
        case ARGOSY__REQUEST__WHAT_APPLY:
                return i < m->apply->n_units ? m->apply->units[i]->name : NULL;
        default:
                return i == 0 ? m->rollout->name : NULL;
        }
}

int image_files_adopt_one(PendingRequest *t, Argosy__NamedFile *f) {
        int r = adopt_from(t, f, image_files_spec(t, f->name));
        const char *name;

        if (r == 0)
                r = adopt_from(t, f, spec_of_siblings(t, f->name));
        for (size_t i = 0; r == 0 && (name = image_files_name_at(t, i)); i++)
                if (unit_name_is_instance_of(name, f->name))
                        r = adopt_from(t, f, image_files_spec(t, name));
        return r;
}

int image_pinning_adopt(PendingRequest *t) {
        int r = 0;

        if (t->lent || (image_files_work(t) && image_files_work(t)->listed))
                return 0;
        for (size_t i = 0; r >= 0 && i < image_files_count(t); i++) {
                _cleanup_content_image_ ContentImage image = {};
                Argosy__NamedFile *f = image_files_at(t, i);

                r = image_files_needs_digest(f->name, f->content.data, f->content.len, &image);
                if (r > 0)
                        r = image_files_adopt_one(t, f);
        }
        return MIN_OF(r, 0);
}

Hash image_pinning_content(const PendingRequest *t, const SpecEntry *now, const Hash *source) {
        _cleanup_buf_ Buf text = {};
        const UnitFile *file;

        for (size_t i = 0; image_files_work(t) && i < image_files_work(t)->n_pinned; i++)
                if (hash_equal(&image_files_work(t)->pinned[i].source, source))
                        return image_files_work(t)->pinned[i].content;
        if (now && !hash_equal(&now->hash, source) && spec_entry_file((SpecEntry *) now, &file) == 0 &&
            file->container && content_image_unpin(now->content, now->len, &text) == 0) {
                Hash hash = hash_of(text.data, text.len);

                if (hash_equal(&hash, source))
                        return now->hash;
        }
        return *source;
}
