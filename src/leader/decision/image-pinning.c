// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a request with a container's file -> its images without a digest (image-pins.c) -> one host that may run
//   each asks the registry (ToHost.Call.image) -> the digest becomes part of the file -> the request is
//   decided, with that file
//
// So what follows knows of no image: a content with its digest is a content. Nothing of this is in the log
// before the digest is. A leader that has asked and goes takes its question with it; the request comes again
// to the next one, which asks again, unless units have got the digest with an earlier chunk of the request.
//
// An image whose name depends on the instance gives each instance a file of its own, with its own digest.
//
// A host that cannot ask (no skopeo, no way to the registry, no session any more) leaves it to another one,
// IMAGE_PIN_HOSTS_MAX times, and so does one that has said nothing within HOST_MS, which is longer than it
// waits for the registry itself (agent-image-asks.c). One whose session has ended has said nothing, and may
// be asked again: a host attaches anew when its podman is another one. If no other is left, it is waited for
// while its Attach is on its way.
// What the registry says refuses the request: a file without a digest would be another image on each host
// and each day. `unpinned` takes it as it is, and asks nobody.

#include "image-pinning.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "content-image.h"
#include "image-auth.h"
#include "image-files.h"
#include "image-pins.h"
#include "message.h"
#include "node-calls.h"
#include "registry.h"
#include "response.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"

enum {
        HOST_MS = 20 * 1000, // that a host has for its answer
};

static bool is_attaching(const Node *n) {
        return n && n->host->linked && !n->host->attached;
}

// It is looked at again when the host is there, or has gone: not in each turn.
static bool pin_waits(const Leader *l, const ImagePin *pin) {
        return pin->call || (pin->waits_for_attach && is_attaching(node_find(l, pin->silent)));
}

// One that asks for the same image, and has asked for it.
static const ImagePin *find_alike(const ImagePinning *p, const ImagePin *pin) {
        for (const ImagePin *other = p->pins; other < pin; other++)
                if (streq(other->image, pin->image))
                        return other;
        return NULL;
}

// The next host is to be asked, or the request is refused for it.
static bool pin_goes_on(const Leader *l, const ImagePinning *p, const ImagePin *pin) {
        return pin->why || (!*pin->digest && !pin_waits(l, pin) && !find_alike(p, pin));
}

static void say(const Leader *l, const ImagePin *pin, size_t n_more, Buf *what) {
        const Node *n = node_find(l, pin->call ? pin->asked[pin->n_asked - 1] : pin->silent);

        (void) buf_printf(what, "%s to %sresolve %s", n ? n->name : "a host",
                          pin->call ? "" : "attach and to ", pin->image);
        if (n_more > 0)
                (void) buf_printf(what, " and %zu more image%s", n_more, n_more > 1 ? "s" : "");
}

bool image_pinning_asks(const PendingRequest *t, const ImagePinning *p, Buf *what) {
        const ImagePin *first = NULL;
        size_t n = 0;

        for (size_t i = 0; i < p->n; i++) {
                const ImagePin *pin = &p->pins[i];

                if (pin_goes_on(t->leader, p, pin))
                        return false;
                if (!pin_waits(t->leader, pin))
                        continue;
                first = first ?: pin;
                n++;
        }
        if (first && what)
                say(t->leader, first, n - 1, what);
        return first;
}

static ImagePin *find_call(ImagePinning *p, uint64_t call) {
        for (size_t i = 0; p && i < p->n; i++)
                if (p->pins[i].call == call)
                        return &p->pins[i];
        return NULL;
}

static void on_answered(PendingRequest *t, Node *n, const Argosy__ToVoter__ImageAnswer *answer,
                        uint64_t number, void *userdata) {
        ImagePin *pin = find_call(image_files_work(t), number);

        leader_mark(t->leader);
        if (!pin)
                return;
        pin->call = 0;
        if (!answer)
                pin->silent = pin->asked[--pin->n_asked];
        if (!answer || answer->here) { // another one is asked
                free(pin->here);
                pin->here = answer ? str_printf("%s: %s", n->name, answer->error) : NULL;
                return;
        }
        if (content_image_digest_is_valid(answer->digest))
                memcpy(pin->digest, answer->digest, CONTENT_IMAGE_DIGEST_SIZE);
        else
                pin->why = str_printf("%s: %s", n->name,
                                      *answer->error ? answer->error : "what it answers is no digest");
}

// ------------------------------------------------------------------------------------------ within its time

static void on_time(PendingRequest *t, RequestDeadline *d);

// The first of those that are asked.
static int set_deadline(PendingRequest *t) {
        ImagePinning *p = image_files_work(t);
        uint64_t first = 0;

        for (size_t i = 0; i < p->n; i++)
                if (p->pins[i].call && (first == 0 || p->pins[i].until_us < first))
                        first = p->pins[i].until_us;
        if (first > 0)
                return request_deadline_set(t, &p->deadline, on_time, first);
        request_deadline_clear(t, &p->deadline);
        return 0;
}

// What it says later is about nothing any more (find_call()).
static void give_up(const Leader *l, ImagePin *pin) {
        const Node *n = node_find(l, pin->asked[pin->n_asked - 1]);

        pin->call = 0;
        free(pin->here);
        pin->here = str_printf("%s has not said within %d seconds what the registry says",
                               n ? n->name : "the host", HOST_MS / 1000);
}

static void on_time(PendingRequest *t, RequestDeadline *d) {
        ImagePinning *p = CONTAINER_OF(d, ImagePinning, deadline);

        for (size_t i = 0; i < p->n; i++)
                if (p->pins[i].call && p->pins[i].until_us <= leader_now(t->leader))
                        give_up(t->leader, &p->pins[i]);
        leader_mark(t->leader);
}

// --------------------------------------------------------------------------------------------------- asking

static int fail(ImagePin *pin, char *why) {
        pin->why = why;
        return why ? 0 : -ENOMEM;
}

static int ask_with(PendingRequest *t, ImagePin *pin, Node *n, const char *registry_auth) {
        _cleanup_(image_auth_done) ImageAuth auth = {};
        char *why = NULL;
        int r = image_auth_open(t->leader, registry_auth, &auth, &why);
        const NodeImageQuestion question = {.image = pin->image, .registry_auth = auth.value};

        pin->is_wrong = r == -EINVAL;
        if (r == -EINVAL)
                return fail(pin, why);
        if (r < 0)
                return r;
        pin->asked[pin->n_asked++] = n->number;
        pin->n_tries++;
        pin->until_us = leader_now(t->leader) + HOST_MS * USEC_PER_MSEC;
        return node_calls_ask_image(t->leader, t, n, &question, on_answered, t, &pin->call);
}

static int ask(PendingRequest *t, ImagePin *pin) {
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        const Argosy__NamedFile *f = image_files_at(t, pin->file);
        int r = unit_file_parse(f->name, f->content.data, f->content.len, &file, NULL);
        Node *n = r == 0 && pin->n_tries < IMAGE_PIN_HOSTS_MAX
                          ? image_files_find_node(t->leader, f, file, pin->unit, pin->asked, pin->n_asked)
                          : NULL;

        pin->waits_for_attach = !n && pin->n_tries < IMAGE_PIN_HOSTS_MAX &&
                                is_attaching(node_find(t->leader, pin->silent));
        if (n)
                return ask_with(t, pin, n, file->registry_auth);
        if (pin->waits_for_attach)
                return 0;
        return fail(pin, pin->here ? TAKE_PTR(pin->here)
                                   : strdup("no host that may run it can ask the registry"));
}

// Whether all have their digests. Else *ret_why is the first that will not.
static int ask_all(PendingRequest *t, const ImagePin **ret_failed) {
        ImagePinning *p = image_files_work(t);
        bool all = true;
        int r = 0;

        for (ImagePin *pin = p->pins; r == 0 && pin < p->pins + p->n; pin++) {
                const ImagePin *alike = find_alike(p, pin);

                if (alike)
                        memcpy(pin->digest, alike->digest, sizeof(pin->digest));
                else if (!pin->why && pin_goes_on(t->leader, p, pin))
                        r = ask(t, pin);
                if (pin->why && !*ret_failed)
                        *ret_failed = pin;
                all &= *pin->digest != 0;
        }
        r = r < 0 ? r : set_deadline(t);
        return r < 0 ? r : all;
}

static int refuse(PendingRequest *t, const ImagePin *pin) {
        return request_refuse(t, pin->is_wrong ? EINVAL : EREMOTEIO,
                              "the image %s of %s cannot be resolved to a digest: %s; nothing%s was "
                              "changed, and --unpinned takes the file without one",
                              pin->image, pin->unit, pin->why, t->job > 0 ? " more" : "");
}

// Of an instance of a template: a file of its own.
static int put_digest(PendingRequest *t, const ImagePin *pin, char **ret_why) {
        Argosy__NamedFile *f = image_files_at(t, pin->file), *own = f;
        _cleanup_buf_ Buf content = {};
        int r = content_image_pin(pin->unit, f->content.data, f->content.len, pin->image, pin->digest,
                                  &content, ret_why);

        if (r < 0)
                return r;
        if (streq(f->name, pin->unit))
                return image_files_replace(t, f, content.data, content.len);
        own = image_files_named(pin->unit, f->path, content.data, content.len);
        return own ? FIELD_APPEND(t->request->change->files, t->request->change->n_files, own) : -ENOMEM;
}

// What units have already keeps a file from being taken, and may be gone when the request is looked at
// again: then all is listed anew, of which those that have their digests by now need none.
static void note_listed(PendingRequest *t) {
        ImagePinning *p = image_files_work(t);

        t->has_digests = !t->images_untaken;
        if (t->has_digests || !p)
                return;
        while (p->n > 0)
                image_pin_done(&p->pins[--p->n]);
        p->listed = false;
}

static int put_all(PendingRequest *t) {
        ImagePinning *p = image_files_work(t);
        _cleanup_free_ char *why = NULL;
        int r = 0;

        for (size_t i = 0; r == 0 && i < p->n; i++)
                r = put_digest(t, &p->pins[i], &why);
        if (r == -EINVAL)
                return request_settle(t, response_error(EINVAL, "%s", why));
        if (r < 0)
                return r;
        note_listed(t);
        return t->has_digests ? STEP_PASSED : image_pinning_admit(t); // hosts were asked in a turn before
}

static bool is_rolled(const PendingRequest *t) {
        return t->request->what_case == ARGOSY__REQUEST__WHAT_ROLLOUT ||
               (t->request->what_case == ARGOSY__REQUEST__WHAT_APPLY && t->request->apply->rolling);
}

int image_pinning_admit(PendingRequest *t) {
        const ImagePin *failed = NULL;
        int r;

        if (t->has_digests || !image_files_are_brought(t) || t->lent)
                return STEP_PASSED;
        // What was done before is planned again for the answer alone, with what units have.
        if (image_files_are_unpinned(t) || request_was_carried_out(t)) {
                if (image_files_work(t))
                        image_files_work(t)->listed = false;
                r = image_pinning_adopt(t);
                t->has_digests = r == 0;
                return r < 0 ? r : STEP_PASSED;
        }
        r = image_pins_list(t);
        if (r == -E2BIG)
                return request_settle(
                        t, response_error(E2BIG, "it brings more than %d images at once", IMAGE_PINS_MAX));
        if (r == -EOPNOTSUPP)
                return request_settle(
                        t, response_error(EOPNOTSUPP,
                                          "the image of each instance is another one (Image= has a "
                                          "specifier), and %s gives "
                                          "all of them one file: `start --replace` names the instances",
                                          is_rolled(t) ? "an update" : "an apply"));
        if (r == 0 && (!image_files_work(t) || image_files_work(t)->n == 0)) {
                note_listed(t);
                return STEP_PASSED;
        }
        if (r == 0)
                r = ask_all(t, &failed);
        if (r < 0)
                return r;
        if (failed)
                return refuse(t, failed);
        return r > 0 ? put_all(t) : PLAN_SETTLED;
}
