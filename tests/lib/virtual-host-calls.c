// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the leader asks a host about its units: status, journal, resource use. A virtual host says what is
// true of it: the state that it plays, a line about what it did, and that nothing uses anything. Who follows
// a journal hears that line and no other, for as long as he listens. A question that it does not know is
// answered with an error, as by an older agent.
#include "virtual-host-private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error-response.h"
#include "unit-state.h"

enum { TEXT_MAX = 512 };

static void reply(VirtualHost *h, uint64_t id, Argosy__Response *response) {
        Argosy__ToVoter__CallReply m = ARGOSY__TO_VOTER__CALL_REPLY__INIT;

        m.id = id;
        m.response = response;
        // no link: the leader has forgotten the call
        (void) virtual_host_send(h, ARGOSY__TO_VOTER__MSG_CALL_REPLY, &m);
}

static void fail(VirtualHost *h, uint64_t id, int status, const char *why) {
        Argosy__Response response = error_response(status, why);

        reply(h, id, &response);
}

// ---- status

static void fill_status(const VirtualUnit *u, Argosy__Response__Status *status,
                        Argosy__Response__UnitRow *row, char spec[static HASH_HEX_SIZE]) {
        hash_hex(&u->order.spec, HASH_SIZE, spec);
        row->load = (char *) load_state_to_string(ARGOSY__LOAD_STATE__LOAD_LOADED);
        row->active = (char *) active_state_to_string(u->active);
        row->sub = (char *) virtual_unit_sub(u);
        row->spec = spec;
        status->desired = (char *) target_to_string(u->order.target);
        status->revision = virtual_unit_is_under_way(u) ? u->answered : u->order.revision;
}

static void answer_status_of(VirtualHost *h, uint64_t id, char *name, bool last) {
        Argosy__Response__UnitRow row = ARGOSY__RESPONSE__UNIT_ROW__INIT;
        Argosy__Response__Status status = ARGOSY__RESPONSE__STATUS__INIT;
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        const VirtualUnit *u = virtual_host_find(h, name);
        char spec[HASH_HEX_SIZE];

        row.unit = name;
        status.row = &row;
        if (u) {
                fill_status(u, &status, &row, spec);
        } else {
                row.load = "-";
                row.active = "inactive";
                row.sub = "dead";
                status.why = "this node does not hold it";
        }
        response.what_case = ARGOSY__RESPONSE__WHAT_STATUS_REPLY;
        response.status_reply = &status;
        response.final = last;
        reply(h, id, &response);
}

static void answer_status(VirtualHost *h, uint64_t id, const Argosy__Request__Status *q) {
        for (size_t i = 0; i < q->n_names; i++)
                answer_status_of(h, id, q->names[i], i + 1 == q->n_names);
        if (q->n_names == 0)
                fail(h, id, EINVAL, "no unit is named");
}

// ---- journal

static void answer_journal(VirtualHost *h, uint64_t id, const Argosy__Request__Journal *q) {
        Argosy__Response__Journal journal = ARGOSY__RESPONSE__JOURNAL__INIT;
        Argosy__Response response = ARGOSY__RESPONSE__INIT;
        const VirtualUnit *u = virtual_host_find(h, q->name);
        char text[TEXT_MAX], *line = text;

        if (u)
                snprintf(text, sizeof(text), "%s: virtual, %s after %u starts and %u restarts", u->name,
                         active_state_to_string(u->active), u->starts, u->restarts);
        else
                snprintf(text, sizeof(text), "%s: this node does not hold it", q->name);
        journal.lines = &line;
        journal.n_lines = 1;
        response.what_case = ARGOSY__RESPONSE__WHAT_JOURNAL;
        response.journal = &journal;
        response.final = !q->follow;
        reply(h, id, &response);
}

// ---- resource use

static void answer_top(VirtualHost *h, uint64_t id, const Argosy__Request__Top *q) {
        Argosy__Response__Usage usage = ARGOSY__RESPONSE__USAGE__INIT;
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        usage.last = true; // its units have no control groups
        response.what_case = ARGOSY__RESPONSE__WHAT_USAGE;
        response.usage = &usage;
        response.final = q->interval_ms == 0;
        reply(h, id, &response);
}

// ---- verify: of each file one warning, which is its name; its podman refuses a container with "Unheard="

static void look_at_container(const Argosy__NamedFile *file, Argosy__Response__Finding *f) {
        if (!memmem(file->content.data, file->content.len, "\nUnheard=", strlen("\nUnheard=")))
                return;
        f->line = 0;
        f->kind = ARGOSY__FINDING_KIND__FINDING_REFUSED;
        f->text = (char *) "podman's generator: unsupported key 'Unheard'";
}

static void answer_verify(VirtualHost *h, uint64_t id, const Argosy__Request__Verify *q) {
        enum { FILES_MAX = 64 };
        Argosy__Response__FileFindings files[FILES_MAX], *file_pointers[FILES_MAX];
        Argosy__Response__Finding findings[FILES_MAX], *finding_pointers[FILES_MAX];
        Argosy__Response__Verify verify = ARGOSY__RESPONSE__VERIFY__INIT;
        Argosy__Response response = ARGOSY__RESPONSE__INIT;

        verify.n_files = MIN_OF(q->n_files, (size_t) FILES_MAX);
        for (size_t i = 0; i < verify.n_files; i++) {
                argosy__response__file_findings__init(&files[i]);
                argosy__response__finding__init(&findings[i]);
                findings[i].line = 1;
                findings[i].text = q->files[i]->name;
                look_at_container(q->files[i], &findings[i]);
                finding_pointers[i] = &findings[i];
                files[i].findings = &finding_pointers[i];
                files[i].n_findings = 1;
                file_pointers[i] = &files[i];
        }
        verify.systemd = (char *) "systemd 252";
        verify.files = file_pointers;
        response.what_case = ARGOSY__RESPONSE__WHAT_VERIFY;
        response.verify = &verify;
        response.final = true;
        reply(h, id, &response);
}

// ---- names

static void answer_names(VirtualHost *h, uint64_t id, const Argosy__ToHost__NameCheck *names) {
        Argosy__ToVoter__CallReply m = ARGOSY__TO_VOTER__CALL_REPLY__INIT;
        Argosy__ToVoter__NameAnswer answer = ARGOSY__TO_VOTER__NAME_ANSWER__INIT;
        char **refusals = calloc(names->n_units ?: 1, sizeof(*refusals));

        if (!refusals) {
                fail(h, id, ENOMEM, strerror(ENOMEM));
                return;
        }
        for (size_t i = 0; i < names->n_units; i++)
                refusals[i] =
                        (char *) ((h->ops->foreign ? h->ops->foreign(names->units[i]->name, h->userdata)
                                                   : NULL)
                                          ?: "");
        answer.refusals = refusals;
        answer.n_refusals = names->n_units;
        m.id = id;
        m.names = &answer;
        (void) virtual_host_send(h, ARGOSY__TO_VOTER__MSG_CALL_REPLY, &m);
        free(refusals);
}

// ---- images

static void answer_image(VirtualHost *h, uint64_t id, const char *image, bool pull) {
        Argosy__ToVoter__CallReply m = ARGOSY__TO_VOTER__CALL_REPLY__INIT;
        Argosy__ToVoter__ImageAnswer answer = ARGOSY__TO_VOTER__IMAGE_ANSWER__INIT;
        Hash hash = hash_of(image, strlen(image));
        char digest[7 + HASH_HEX_SIZE] = "sha256:";
        const char *said = digest, *why = "";
        bool here = false;

        hash_hex(&hash, HASH_SIZE, digest + strlen(digest));
        if (pull) {
                why = (h->ops->pull ? h->ops->pull(image, h->userdata) : NULL) ?: "";
                said = NULL;
        } else if (h->ops->image)
                said = h->ops->image(image, &why, &here, h->userdata);
        answer.here = here;
        answer.digest = (char *) (said ?: "");
        answer.error = (char *) why;
        m.id = id;
        m.image = &answer;
        (void) virtual_host_send(h, ARGOSY__TO_VOTER__MSG_CALL_REPLY, &m);
}

void virtual_host_answer(VirtualHost *h, const Argosy__ToHost__Call *call) {
        if (call->names)
                answer_names(h, call->id, call->names);
        if (*call->image)
                answer_image(h, call->id, call->image, call->pull);
        if (!call->request)
                return;
        switch (call->request->what_case) {
        case ARGOSY__REQUEST__WHAT_STATUS:
                answer_status(h, call->id, call->request->status);
                break;
        case ARGOSY__REQUEST__WHAT_JOURNAL:
                answer_journal(h, call->id, call->request->journal);
                break;
        case ARGOSY__REQUEST__WHAT_TOP:
                answer_top(h, call->id, call->request->top);
                break;
        case ARGOSY__REQUEST__WHAT_VERIFY:
                answer_verify(h, call->id, call->request->verify);
                break;
        default:
                fail(h, call->id, EOPNOTSUPP, "virtual hosts do not know that question");
        }
}
