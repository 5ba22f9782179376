// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a request with a container's file -> what its units have already -> else one host that may run it asks
//   the
//   registry (ToHost.Call.image) -> the digest becomes part of the file -> the request is decided, with that
//   file
//
// So what follows knows of no image: a content with its digest is a content. Nothing of this is in the log
// before the digest is. A leader that has asked and goes takes its question with it; the request comes again
// to the next one, which asks again, unless units have got the digest with an earlier part of the request.
//
// An image whose name depends on the instance gives each instance a file of its own, with its own digest.
//
// A host that cannot ask (no skopeo, no way to the registry, no session any more) leaves it to another one,
// HOSTS_MAX times. What the registry says refuses the request: a file without a digest would be another
// image on each host and each day. `unpinned` takes it as it is, and asks nobody.

#include "image-pinning.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cluster-state.h"
#include "content-image.h"
#include "disruption-budget.h"
#include "group-contents.h"
#include "image-auth.h"
#include "message.h"
#include "node-calls.h"
#include "nodes.h"
#include "quadlet.h"
#include "registry.h"
#include "request-private.h"
#include "response.h"
#include "scheduler.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-name.h"

enum {
        IMAGES_MAX = 256, // of one request
        HOSTS_MAX = 4,    // that are asked for one image
};

typedef struct Pin {
        size_t file;       // in Files
        char *unit;        // whose Image= that is: the file's own name, or that of an instance
        char *image;       // "docker.io/library/web:1"
        char digest[CONTENT_IMAGE_DIGEST_SIZE];
        char *why;         // the registry's words; NULL: none
        char *here;        // those of the last host that could not ask it; NULL: all could
        uint64_t call;     // 0: nobody is asked
        uint32_t asked[HOSTS_MAX]; // nodes
        size_t n_asked;
} Pin;

typedef struct ImagePinning {
        TicketWork work;
        Pin *pins;
        size_t n, allocated;
        bool listed;  // `pins` are all that the request needs
        bool done;
        struct Pinned {
                Hash source, content;
        } *pinned; // of the files, those that got a digest
        size_t n_pinned, pinned_allocated;
} ImagePinning;

static void pin_done(Pin *p) {
        free(p->unit);
        free(p->image);
        free(p->why);
        free(p->here);
}

static void images_free(Ticket *t, TicketWork *work) {
        ImagePinning *p = CONTAINER_OF(work, ImagePinning, work);

        for (size_t i = 0; i < p->n; i++)
                pin_done(&p->pins[i]);
        free(p->pins);
        free(p->pinned);
        free(p);
}

static const TicketWorkKind images_kind = {images_free};

// NULL: it brings no container.
static ImagePinning *images_of(const Ticket *t) {
        TicketWork *work = ticket_work(t, &images_kind);

        return work ? CONTAINER_OF(work, ImagePinning, work) : NULL;
}

static int begin(Ticket *t) {
        ImagePinning *p = images_of(t) ? NULL : calloc(1, sizeof(*p));

        if (p)
                ticket_add_work(t, &images_kind, &p->work);
        return images_of(t) ? 0 : -ENOMEM;
}

bool image_pinning_waits(const Ticket *t) {
        for (size_t i = 0; images_of(t) && i < images_of(t)->n; i++)
                if (images_of(t)->pins[i].call)
                        return true;
        return false;
}

// --------------------------------------------------------------------------------------- files of a request

typedef struct Files {
        Argosy__NamedFile ***list;
        size_t *n;
        bool unpinned; // they are taken as they are
} Files;

static Files files_of(Ticket *t) {
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

static Argosy__NamedFile *file_at(Ticket *t, size_t i) {
        Files f = files_of(t);

        return f.list ? (*f.list)[i] : t->request->rollout->file;
}

static size_t count_files(Ticket *t) {
        Files f = files_of(t);

        if (f.list)
                return *f.n;
        return t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT && t->request->rollout->file;
}

static int note_pinned(Ticket *t, const Hash *source, const void *content, size_t len) {
        ImagePinning *p = images_of(t);
        int r = ARRAY_GROW(p->pinned, p->pinned_allocated, p->n_pinned + 1);

        if (r == 0)
                p->pinned[p->n_pinned++] = (struct Pinned){*source, hash_of(content, len)};
        return r;
}

// The file has this content from now on.
static int replace_content(Ticket *t, Argosy__NamedFile *f, const void *content, size_t len) {
        Hash source = hash_of(f->content.data, f->content.len);
        uint8_t *copy = malloc(len ?: 1);
        int r = copy ? begin(t) : -ENOMEM;

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

static Argosy__NamedFile *named_file(const char *unit, const char *path, const void *content, size_t len) {
        Argosy__NamedFile f = ARGOSY__NAMED_FILE__INIT;

        f.name = (char *) unit;
        f.path = (char *) path;
        f.content = (ProtobufCBinaryData){.data = (uint8_t *) content, .len = len};
        return message_copy(&f);
}

// ------------------------------------------------------------------------------------ what is there already

// Whether the file has a tag without a digest.
static int read_image(const char *unit, const void *content, size_t len, ContentImage *ret) {
        int r = content_image_read(unit, content, len, ret);

        return r < 0 ? r
                     : (ret->kind == CONTENT_IMAGE_TAG || ret->kind == CONTENT_IMAGE_VARIES) &&
                               !*ret->digest;
}

// 1: that has the same source, and so has the file the same image now; also if neither has a digest.
static int adopt_from(Ticket *t, Argosy__NamedFile *f, const SpecEntry *spec) {
        int r = spec ? content_image_same_source(f->content.data, f->content.len, spec->content, spec->len)
                     : 0;

        if (r > 0 && (f->content.len != spec->len || memcmp(f->content.data, spec->content, spec->len) != 0))
                return replace_content(t, f, spec->content, spec->len) ?: 1;
        return r;
}

static SpecEntry *spec_of(const Ticket *t, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(t->leader->state, name);

        return e ? e->spec : NULL;
}

// What the instances of a template have, if it is the same.
static SpecEntry *spec_of_siblings(const Ticket *t, const char *template) {
        const DisruptionBudget *g = unit_name_kind(template, NULL) == UNIT_NAME_TEMPLATE
                                            ? disruption_budget_find(t->leader, template)
                                            : NULL;
        bool several;

        return g ? group_contents_common(t->leader, g, &several) : NULL;
}

static bool is_of_template(const char *name, const char *template) {
        const char *at = strchr(template, '@');
        size_t len = at ? (size_t) (at + 1 - template) : 0;

        return len > 0 && strncmp(name, template, len) == 0 &&
               unit_name_kind(template, NULL) == UNIT_NAME_TEMPLATE;
}

// The name of a unit of the request, by its number; NULL: there are no more.
static const char *name_at(const Ticket *t, size_t i) {
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

// 1: it has what units have. Of units of one template the first that has it is enough.
static int adopt(Ticket *t, Argosy__NamedFile *f) {
        int r = adopt_from(t, f, spec_of(t, f->name));
        const char *name;

        if (r == 0)
                r = adopt_from(t, f, spec_of_siblings(t, f->name));
        for (size_t i = 0; r == 0 && (name = name_at(t, i)); i++)
                if (is_of_template(name, f->name))
                        r = adopt_from(t, f, spec_of(t, name));
        return r;
}

int image_pinning_adopt(Ticket *t) {
        int r = 0;

        if (t->lent || (images_of(t) && images_of(t)->listed))
                return 0;
        for (size_t i = 0; r >= 0 && i < count_files(t); i++) {
                _cleanup_content_image_ ContentImage image = {};
                Argosy__NamedFile *f = file_at(t, i);

                r = read_image(f->name, f->content.data, f->content.len, &image);
                if (r > 0)
                        r = adopt(t, f);
        }
        return MIN_OF(r, 0);
}

Hash image_pinning_content(const Ticket *t, const SpecEntry *now, const Hash *source) {
        _cleanup_buf_ Buf text = {};
        const UnitFile *file;

        for (size_t i = 0; images_of(t) && i < images_of(t)->n_pinned; i++)
                if (hash_equal(&images_of(t)->pinned[i].source, source))
                        return images_of(t)->pinned[i].content;
        if (now && !hash_equal(&now->hash, source) && spec_entry_file((SpecEntry *) now, &file) == 0 &&
            file->container && content_image_unpin(now->content, now->len, &text) == 0) {
                Hash hash = hash_of(text.data, text.len);

                if (hash_equal(&hash, source))
                        return now->hash;
        }
        return *source;
}

// -------------------------------------------------------------------------------------- what is to be asked

static int add_pin(Ticket *t, size_t file, const char *unit, const ContentImage *image) {
        ImagePinning *p = images_of(t);
        int r = p->n < IMAGES_MAX ? ARRAY_GROW(p->pins, p->allocated, p->n + 1) : -E2BIG;
        Pin *pin = r == 0 ? &p->pins[p->n] : NULL;

        if (!pin)
                return r;
        *pin = (Pin){.file = file, .unit = strdup(unit), .image = strdup(image->name)};
        if (!pin->unit || !pin->image) {
                pin_done(pin);
                return -ENOMEM;
        }
        p->n++;
        return 0;
}

// A file that came for a unit which has one counts with --replace only.
static bool takes(const Ticket *t, const char *name) {
        const Argosy__Request__Change *m = t->request->change;

        if (t->request->what_case != ARGOSY__REQUEST__WHAT_CHANGE)
                return true;
        return request_takes_file(m) && (m->replace || !cluster_state_find_unit(t->leader->state, name));
}

static bool takes_any(const Ticket *t, const char *file) {
        const char *name;

        if (t->request->what_case != ARGOSY__REQUEST__WHAT_CHANGE)
                return true;
        for (size_t i = 0; (name = name_at(t, i)); i++)
                if ((streq(name, file) || is_of_template(name, file)) && takes(t, name))
                        return true;
        return false;
}

static bool has_own_file(Ticket *t, const char *name, size_t n_files) {
        for (size_t i = 0; i < n_files; i++)
                if (streq(file_at(t, i)->name, name))
                        return true;
        return false;
}

static bool is_rolled(const Ticket *t) {
        return t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT ||
               (t->request->what_case == ARGOSY__REQUEST__WHAT_APPLY && t->request->apply->rolling);
}

// Each instance gets the content with a digest of its own, as a file of its own.
static int list_instance(Ticket *t, size_t file, const char *name) {
        Argosy__NamedFile *f = file_at(t, file);
        _cleanup_content_image_ ContentImage image = {};
        const SpecEntry *spec = spec_of(t, name);
        int r = read_image(name, f->content.data, f->content.len, &image);

        if (r <= 0)
                return r;
        r = spec ? content_image_same_source(f->content.data, f->content.len, spec->content, spec->len) : 0;
        return r != 0 ? MIN_OF(r, 0) : add_pin(t, file, name, &image);
}

static int list_file(Ticket *t, size_t i, size_t n_files, bool pulls) {
        Argosy__NamedFile *f = file_at(t, i);
        _cleanup_content_image_ ContentImage image = {};
        const char *name;
        int r = read_image(f->name, f->content.data, f->content.len, &image);

        if (r > 0 && !pulls) {
                int adopted = adopt(t, f);

                r = adopted < 0 ? adopted : adopted == 0;
        }
        if (r <= 0 || !takes_any(t, f->name))
                return MIN_OF(r, 0);
        if (image.kind == CONTENT_IMAGE_TAG)
                return add_pin(t, i, f->name, &image);
        if (t->request->what_case != ARGOSY__REQUEST__WHAT_CHANGE)
                return -EOPNOTSUPP;
        for (size_t k = 0; r >= 0 && (name = name_at(t, k)); k++)
                if (is_of_template(name, f->name) && unit_name_kind(name, NULL) == UNIT_NAME_INSTANCE &&
                    takes(t, name) && !has_own_file(t, name, n_files))
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

static int look_at_template(Ticket *t, const char *instance, Template *last) {
        _cleanup_content_image_ ContentImage image = {};
        const UnitFile *file;
        const SpecEntry *spec;
        int r = 0;

        if (last->name && is_of_template(instance, last->name))
                return 0;
        free(last->name);
        *last = (Template){.name = unit_name_template(instance)};
        if (!last->name)
                return -ENOMEM;
        spec = spec_of(t, last->name);
        if (spec && spec_entry_file((SpecEntry *) spec, &file) == 0 && file->container)
                r = read_image(last->name, spec->content, spec->len, &image);
        if (r > 0 && image.kind == CONTENT_IMAGE_VARIES)
                last->spec = spec;
        return MIN_OF(r, 0);
}

// A new instance of a template that the cluster has, with an image that depends on the instance: its content
// comes with the request, too.
static int add_file_of_template(Ticket *t, const char *name, Template *last) {
        Argosy__Request__Change *m = t->request->change;
        Argosy__NamedFile *f;
        int r;

        if (unit_name_kind(name, NULL) != UNIT_NAME_INSTANCE)
                return 0;
        r = look_at_template(t, name, last);
        if (r < 0 || !last->spec || !takes(t, name) || has_own_file(t, name, m->n_files) ||
            has_own_file(t, last->name, m->n_files))
                return r;
        f = named_file(name, last->name, last->spec->content, last->spec->len);
        return f ? FIELD_APPEND(m->files, m->n_files, f) : -ENOMEM;
}

// An update that is only to pull brings the file that its units have, whatever their digests are: an update
// before may have left some of them out.
static int add_file_of_rollout(Ticket *t) {
        Argosy__Request__Rollout *m = t->request->rollout;
        const DisruptionBudget *g = disruption_budget_find(t->leader, m->name);
        SpecEntry *spec = spec_of(t, m->name);
        int r = 0;

        if (!m->pull || m->file)
                return 0;
        if (!spec && g)
                r = group_contents_one_source(t->leader, g, &spec);
        if (r < 0 || !spec)
                return r;
        m->file = named_file(m->name, m->name, spec->content, spec->len);
        return m->file ? 0 : -ENOMEM;
}

// Its image is resolved anew, whatever its digest is.
static int drop_pin(Ticket *t) {
        Argosy__Request__Rollout *m = t->request->rollout;
        _cleanup_buf_ Buf source = {};
        int r = content_image_unpin(m->file->content.data, m->file->content.len, &source);

        return r < 0 ? r : replace_content(t, m->file, source.data, source.len);
}

static int complete_files(Ticket *t) {
        _cleanup_(template_done) Template last = {};
        const char *name;
        int r = 0;

        if (t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT) {
                r = add_file_of_rollout(t);
                return r == 0 && t->request->rollout->pull && t->request->rollout->file ? drop_pin(t) : r;
        }
        for (size_t i = 0;
             t->request->what_case == ARGOSY__REQUEST__WHAT_CHANGE && r >= 0 && (name = name_at(t, i)); i++)
                r = add_file_of_template(t, name, &last);
        return r;
}

static int list_pins(Ticket *t) {
        bool pulls = t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT && t->request->rollout->pull;
        int r = complete_files(t);
        size_t n;

        n = count_files(t);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = list_file(t, i, n, pulls);
        images_of(t)->listed = r == 0;
        return r;
}

// ------------------------------------------------------------------------------------------------ asking

static bool was_asked(const Pin *pin, const Node *n) {
        for (size_t i = 0; i < pin->n_asked; i++)
                if (pin->asked[i] == n->number)
                        return true;
        return false;
}

// One that may run it.
static Node *find_node(Leader *l, const Pin *pin, const Argosy__NamedFile *f, const UnitFile *file) {
        UnitOptions *options = NULL;
        Node *found = NULL;

        if (unit_file_expand(file, f->name, pin->unit, &options, NULL) < 0)
                return NULL;
        map_foreach (slot, &l->nodes) {
                Node *n = slot->value;

                if (!node_calls_knows_names(n) || was_asked(pin, n) || !node_admits(l, n, options))
                        continue;
                found = n;
                break;
        }
        unit_options_unref(options);
        return found;
}

static Pin *find_call(ImagePinning *p, uint64_t call) {
        for (size_t i = 0; p && i < p->n; i++)
                if (p->pins[i].call == call)
                        return &p->pins[i];
        return NULL;
}

static void on_answered(Ticket *t, Node *n, const Argosy__ToVoter__ImageAnswer *answer, uint64_t number,
                        void *userdata) {
        Pin *pin = find_call(images_of(t), number);

        leader_mark(t->leader);
        if (!pin)
                return;
        pin->call = 0;
        if (!answer || answer->here) { // another one is asked
                free(pin->here);
                pin->here = answer ? strdup(answer->error) : NULL;
                return;
        }
        if (content_image_digest_is_valid(answer->digest))
                memcpy(pin->digest, answer->digest, CONTENT_IMAGE_DIGEST_SIZE);
        else
                pin->why = strdup(*answer->error ? answer->error : "what it answers is no digest");
}

static int fail(Pin *pin, char *why) {
        pin->why = why;
        return why ? 0 : -ENOMEM;
}

static int ask_with(Ticket *t, Pin *pin, Node *n, const char *registry_auth) {
        _cleanup_(image_auth_done) ImageAuth auth = {};
        char *why = NULL;
        int r = image_auth_open(t->leader, registry_auth, &auth, &why);
        const NodeImageQuestion question = {.image = pin->image, .registry_auth = auth.value};

        if (r == -EINVAL)
                return fail(pin, why);
        if (r < 0)
                return r;
        pin->asked[pin->n_asked++] = n->number;
        return node_calls_ask_image(t->leader, t, n, &question, on_answered, t, &pin->call);
}

static int ask(Ticket *t, Pin *pin) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        const Argosy__NamedFile *f = file_at(t, pin->file);
        int r = unit_file_parse(f->name, f->content.data, f->content.len, &file, NULL);
        Node *n = r == 0 && pin->n_asked < HOSTS_MAX ? find_node(t->leader, pin, f, file) : NULL;

        if (n)
                return ask_with(t, pin, n, file->registry_auth);
        return fail(pin, pin->here ? TAKE_PTR(pin->here)
                                   : strdup("no host that may run it can ask the registry"));
}

// One that asks for the same image, and has asked for it.
static Pin *find_alike(ImagePinning *p, const Pin *pin) {
        for (Pin *other = p->pins; other < pin; other++)
                if (streq(other->image, pin->image))
                        return other;
        return NULL;
}

// Whether all have their digests. Else *ret_why is the first that will not.
static int ask_all(Ticket *t, const Pin **ret_failed) {
        ImagePinning *p = images_of(t);
        bool all = true;
        int r = 0;

        for (Pin *pin = p->pins; r == 0 && pin < p->pins + p->n; pin++) {
                const Pin *alike = find_alike(p, pin);

                if (alike)
                        memcpy(pin->digest, alike->digest, sizeof(pin->digest));
                else if (!*pin->digest && !pin->call && !pin->why)
                        r = ask(t, pin);
                if (pin->why && !*ret_failed)
                        *ret_failed = pin;
                all &= *pin->digest != 0;
        }
        return r < 0 ? r : all;
}

static int refuse(Ticket *t, const Pin *pin) {
        return ticket_settle(
                t, response_error(
                           EIO,
                           "the image %s of %s cannot be resolved to a digest: %s; nothing was changed, and "
                           "--unpinned takes the file without one",
                           pin->image, pin->unit, pin->why));
}

// Of an instance of a template: a file of its own.
static int put_digest(Ticket *t, const Pin *pin, char **ret_why) {
        Argosy__NamedFile *f = file_at(t, pin->file), *own = f;
        _cleanup_buf_ Buf content = {};
        int r = content_image_pin(pin->unit, f->content.data, f->content.len, pin->image, pin->digest,
                                  &content, ret_why);

        if (r < 0)
                return r;
        if (streq(f->name, pin->unit))
                return replace_content(t, f, content.data, content.len);
        own = named_file(pin->unit, f->path, content.data, content.len);
        return own ? FIELD_APPEND(t->request->change->files, t->request->change->n_files, own) : -ENOMEM;
}

static int put_all(Ticket *t) {
        ImagePinning *p = images_of(t);
        _cleanup_free_ char *why = NULL;
        int r = 0;

        for (size_t i = 0; r == 0 && i < p->n; i++)
                r = put_digest(t, &p->pins[i], &why);
        if (r == -EINVAL)
                return ticket_settle(t, response_error(EINVAL, "%s", why));
        p->done = r == 0;
        return r < 0 ? r : STEP_PASSED;
}

static bool is_about_files(const Ticket *t) {
        const Argosy__Request *m = t->request;

        switch (m->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                return request_takes_file(m->change);
        case ARGOSY__REQUEST__WHAT_APPLY:
                return m->apply->n_files > 0 && !m->apply->dry_run;
        case ARGOSY__REQUEST__WHAT_ROLLOUT:
                return !m->rollout->abort && (m->rollout->file || m->rollout->pull);
        default:
                return false;
        }
}

static bool is_unpinned(Ticket *t) {
        return t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT ? t->request->rollout->unpinned
                                                                      : files_of(t).unpinned;
}

int image_pinning_admit(Ticket *t) {
        const Pin *failed = NULL;
        int r;

        if (!is_about_files(t) || t->lent || (images_of(t) && images_of(t)->done))
                return STEP_PASSED;
        r = begin(t);
        if (r == 0 && is_unpinned(t)) {
                r = image_pinning_adopt(t);
                images_of(t)->done = r == 0;
                return r < 0 ? r : STEP_PASSED;
        }
        if (r == 0 && !images_of(t)->listed)
                r = list_pins(t);
        if (r == -E2BIG)
                return ticket_settle(
                        t, response_error(E2BIG, "it brings more than %d images at once", IMAGES_MAX));
        if (r == -EOPNOTSUPP)
                return ticket_settle(
                        t, response_error(EOPNOTSUPP,
                                          "the image of each instance is another one (Image= has a "
                                          "specifier), and %s gives "
                                          "all of them one file: `start --replace` names the instances",
                                          is_rolled(t) ? "an update" : "an apply"));
        if (r == 0)
                r = ask_all(t, &failed);
        if (r < 0)
                return r;
        if (failed)
                return refuse(t, failed);
        return r > 0 ? put_all(t) : PLAN_SETTLED;
}
