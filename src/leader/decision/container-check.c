// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a request with a container's file that the cluster does not know -> one host that may run it asks its
//   podman (Request.Verify) -> refused: nothing is stored, and the generator's line is told
//                                      '-> taken, or nobody can say within WITHIN_MS: the request is decided
//
// A host that goes before it has answered, or cannot say it, is no answer: the next one that may run the
// file is asked, as long as WITHIN_MS are not over since the first. The host itself keeps to what is left of
// them. One that hangs does not, as long as its session lives: then the leader waits no longer.
//
// What a generator refuses would be refused by each node that gets it (agent-verify.h), one after the other,
// with the unit stored and nowhere. Another podman may take what this one refuses, and the other way round:
// nodes judge for themselves in any case, so one host's word is enough here, and none at all is only noted
// in the answer. Files whose content some unit has or had are not asked about. Nothing of this is in the
// log: a leader that goes takes its questions with it, and the request comes again to the next one.

#include "container-check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "cluster-state.h"
#include "image-files.h"
#include "node-calls.h"
#include "nodes.h"
#include "registry.h"
#include "request-deadlines.h"
#include "str.h"
#include "tables.h"
#include "turn.h"
#include "unit-file.h"
#include "unit-name.h"

#define REFUSAL "podman's generator: "
#define UNCHECKED                                                                     \
        "no host that may run it could say whether podman takes its file, so that is unchecked"

enum {
        WITHIN_MS = 5000,
        ASKED_MAX = 64, // files of one request; more are unchecked
        HOSTS_MAX = 5,  // that are asked about one file
};

typedef struct ContainerFile {
        char *unit; // the file's name
        size_t number; // of the file, among those of the request
        uint64_t call; // 0: no host is asked at present
        uint32_t asked[HOSTS_MAX]; // nodes
        size_t n_asked;
        char *why;     // it is refused; NULL: it is not
        bool is_unchecked; // nobody has said it
        bool is_to_ask;    // the next host
} ContainerFile;

typedef struct ContainerCheck {
        RequestWork work;
        ContainerFile *list;
        size_t n, allocated;
        uint64_t until_us; // for so long hosts are asked
        RequestDeadline deadline; // then
} ContainerCheck;

static void say(const Leader *l, const ContainerFile *file, size_t n_more, Buf *what) {
        const Node *n = node_find(l, file->asked[file->n_asked - 1]);

        (void) buf_printf(what, "podman on %s to check %s", n ? n->name : "a host", file->unit);
        if (n_more > 0)
                (void) buf_printf(what, " and %zu more file%s", n_more, n_more > 1 ? "s" : "");
}

static void check_free(PendingRequest *t, RequestWork *work) {
        ContainerCheck *c = CONTAINER_OF(work, ContainerCheck, work);

        for (size_t i = 0; i < c->n; i++) {
                free(c->list[i].unit);
                free(c->list[i].why);
        }
        free(c->list);
        request_deadline_clear(t, &c->deadline);
        free(c);
}

// Not, if the next host is to be asked about a file, or one is refused.
static bool check_asks(const PendingRequest *t, const RequestWork *work, Buf *what) {
        const ContainerCheck *c = CONTAINER_OF(work, const ContainerCheck, work);
        const ContainerFile *first = NULL;
        size_t n = 0;

        for (size_t i = 0; i < c->n; i++) {
                if (c->list[i].is_to_ask || c->list[i].why)
                        return false;
                if (!c->list[i].call)
                        continue;
                first = first ?: &c->list[i];
                n++;
        }
        if (first && what)
                say(t->leader, first, n - 1, what);
        return first;
}

static const RequestWorkKind check_kind = {check_free, check_asks};

// NULL: its files were not looked at yet.
static ContainerCheck *check_of(const PendingRequest *t) {
        RequestWork *work = request_work(t, &check_kind);

        return work ? CONTAINER_OF(work, ContainerCheck, work) : NULL;
}

void container_check_forget(PendingRequest *t) {
        RequestWork *work = request_take_work(t, &check_kind);

        if (work)
                check_free(t, work);
}

// ----------------------------------------------------------------------------------------------- the answer

static ContainerFile *find_call(ContainerCheck *c, uint64_t call) {
        for (size_t i = 0; c && i < c->n; i++)
                if (c->list[i].call == call)
                        return &c->list[i];
        return NULL;
}

// The generator's line; NULL: it takes the file.
static const char *refusal_of(const Argosy__Response__FileFindings *f) {
        for (size_t i = 0; i < f->n_findings; i++)
                if (f->findings[i]->kind == ARGOSY__FINDING_KIND__FINDING_REFUSED &&
                    str_has_prefix(f->findings[i]->text, REFUSAL))
                        return f->findings[i]->text + strlen(REFUSAL);
        return NULL;
}

// A host without Quadlet says that of the file, too.
static bool is_of_no_podman(const Argosy__Response__FileFindings *f) {
        for (size_t i = 0; i < f->n_findings; i++)
                if (f->findings[i]->kind == ARGOSY__FINDING_KIND__FINDING_MISSING &&
                    f->findings[i]->line == 0)
                        return true;
        return false;
}

static void on_verified(PendingRequest *t, Node *n, const Argosy__Response *answer, uint64_t number,
                        void *userdata) {
        ContainerFile *file = find_call(check_of(t), number);
        const Argosy__Response__FileFindings *said =
                answer && answer->status == 0 && answer->what_case == ARGOSY__RESPONSE__WHAT_VERIFY &&
                                answer->verify->n_files == 1
                        ? answer->verify->files[0]
                        : NULL;
        const char *refusal = said ? refusal_of(said) : NULL;

        leader_mark(t->leader);
        if (!file)
                return;
        file->call = 0;
        file->is_unchecked = !said || is_of_no_podman(said);
        file->is_to_ask = file->is_unchecked;
        if (refusal)
                file->why = str_printf("podman's generator on %s: %s", n->name, refusal);
        if (refusal && !file->why)
                file->is_unchecked = true; // out of memory: its nodes will say it
}

// ------------------------------------------------------------------------------------------------ asking

// Of a millisecond that has begun as much as of a whole one. 0: it is too late.
static uint32_t left_ms(const PendingRequest *t) {
        uint64_t now = leader_now(t->leader), until = check_of(t)->until_us;

        return until > now ? (uint32_t) ((until - now + USEC_PER_MSEC - 1) / USEC_PER_MSEC) : 0;
}

static int ask(PendingRequest *t, const Argosy__NamedFile *f, const UnitFile *file, ContainerFile *ret) {
        Argosy__Request__Verify question = ARGOSY__REQUEST__VERIFY__INIT;
        Argosy__NamedFile *files[] = {(Argosy__NamedFile *) f};
        bool may_ask = ret->n_asked < HOSTS_MAX && left_ms(t) > 0;
        Node *n = may_ask ? image_files_find_node(t->leader, f, file, f->name, ret->asked, ret->n_asked)
                          : NULL;

        ret->is_unchecked = !n;
        if (!n)
                return 0;
        ret->asked[ret->n_asked++] = n->number;
        question.files = files;
        question.n_files = 1;
        question.within_ms = left_ms(t);
        return node_calls_ask_verify(t->leader, t, n, &question, on_verified, t, &ret->call);
}

// Of a unit that there is a file counts with --replace only.
static bool is_taken(const PendingRequest *t, const Argosy__NamedFile *f) {
        const Argosy__Request *m = t->request;

        return m->what_case != ARGOSY__REQUEST__WHAT_CHANGE || m->change->replace ||
               !cluster_state_find_unit(t->leader->state, f->name);
}

// Asks the next host about files of which the one before has not said it.
static int ask_again(PendingRequest *t, ContainerCheck *c) {
        int r = 0;

        for (size_t i = 0; i < c->n && r == 0; i++) {
                ContainerFile *file = &c->list[i];
                _cleanup_(unit_file_freep) UnitFile *parsed = NULL;
                const Argosy__NamedFile *f;

                if (!file->is_to_ask)
                        continue;
                file->is_to_ask = false;
                f = image_files_at(t, file->number);
                if (unit_file_parse(f->name, f->content.data, f->content.len, &parsed, NULL) >= 0)
                        r = ask(t, f, parsed, file);
        }
        return r;
}

static int look_at(PendingRequest *t, size_t number) {
        const Argosy__NamedFile *f = image_files_at(t, number);
        _cleanup_(unit_file_freep) UnitFile *file = NULL;
        ContainerCheck *c = check_of(t);
        Hash hash = hash_of(f->content.data, f->content.len);
        int r;

        if (!is_taken(t, f) || cluster_state_find_spec(t->leader->state, &hash))
                return 0;
        r = unit_file_parse(f->name, f->content.data, f->content.len, &file, NULL);
        if (r < 0 || !file->container)
                return r == -ENOMEM ? r : 0; // what is wrong with it is told when it is decided
        r = ARRAY_GROW(c->list, c->allocated, c->n + 1);
        if (r < 0)
                return r;
        c->list[c->n] = (ContainerFile){.unit = strdup(f->name),
                                        .number = number,
                                        .is_unchecked = c->n >= ASKED_MAX};
        if (!c->list[c->n].unit)
                return -ENOMEM;
        c->n++;
        return c->n <= ASKED_MAX ? ask(t, f, file, &c->list[c->n - 1]) : 0;
}

// What a host says later is about no file any more (find_call()).
static void on_time(PendingRequest *t, RequestDeadline *d) {
        ContainerCheck *c = CONTAINER_OF(d, ContainerCheck, deadline);

        for (size_t i = 0; i < c->n; i++) {
                c->list[i].is_unchecked |= c->list[i].call != 0;
                c->list[i].call = 0;
        }
        leader_mark(t->leader);
}

static int begin(PendingRequest *t) {
        ContainerCheck *c = calloc(1, sizeof(*c));
        int r = c ? 0 : -ENOMEM;

        if (r < 0)
                return r;
        c->until_us = leader_now(t->leader) + WITHIN_MS * USEC_PER_MSEC;
        request_add_work(t, &check_kind, &c->work);
        for (size_t i = 0; r == 0 && i < image_files_count(t); i++)
                r = look_at(t, i);
        if (r == 0 && check_asks(t, &c->work, NULL))
                r = request_deadline_set(t, &c->deadline, on_time, c->until_us);
        return r;
}

static const ContainerFile *first_refused(const ContainerCheck *c) {
        for (size_t i = 0; i < c->n; i++)
                if (c->list[i].why)
                        return &c->list[i];
        return NULL;
}

int container_check_admit(PendingRequest *t) {
        const ContainerFile *refused;
        ContainerCheck *c;
        int r = 0;

        if (!image_files_are_brought(t) || t->lent || request_was_carried_out(t))
                return STEP_PASSED;
        c = check_of(t);
        r = c ? ask_again(t, c) : begin(t);
        if (r < 0)
                return r;
        c = check_of(t);
        if (check_asks(t, &c->work, NULL))
                return PLAN_SETTLED;
        refused = first_refused(c);
        if (refused)
                return request_refuse(t, EINVAL, "%s: %s; nothing%s was changed", refused->unit,
                                      refused->why, t->job > 0 ? " more" : "");
        return STEP_PASSED;
}

// ------------------------------------------------------------------------------------------------ unchecked

static bool is_of_file(const char *unit, const ContainerFile *f) {
        _cleanup_free_ char *template = NULL;

        if (streq(unit, f->unit))
                return true;
        template = unit_name_template(unit);
        return template && streq(template, f->unit);
}

static int note_one(Argosy__Response__UnitResult *result, const ContainerFile *f) {
        _cleanup_free_ char *before = strdup(result->message);

        if (!before)
                return -ENOMEM;
        return field_printf(&result->message, "%s%s%s", before, *before ? "; " : "", UNCHECKED);
}

int container_check_note(PendingRequest *t) {
        const ContainerCheck *c = check_of(t);
        Argosy__Response *response = t->response;
        int r = 0;

        if (!c || !response || response->what_case != ARGOSY__RESPONSE__WHAT_CHANGE)
                return 0;
        for (size_t i = 0; i < c->n; i++)
                for (size_t k = 0; r == 0 && c->list[i].is_unchecked && k < response->change->n_units; k++) {
                        Argosy__Response__UnitResult *result = response->change->units[k];

                        if (result->status == 0 && is_of_file(result->name, &c->list[i]))
                                r = note_one(result, &c->list[i]);
                }
        return r;
}
