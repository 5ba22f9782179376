// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See queue-model.h: what the model asks the leader for, as a request. A repetition is the same to the
// letter.

#include "queue-model-private.h"

#include <inttypes.h>

#include "test.h"
#include "messages.h"

static const Argosy__Author *author_of(ModelAuthor author) {
        static Argosy__Author authors[MODEL_AUTHORS];
        static const char *const names[] = {"", "alice", "carol"};

        if (author == ROOT)
                return NULL;
        authors[author] =
                (Argosy__Author) AUTHOR_OF(.host = 2, .uid = 1000 + author, .user = (char *) names[author]);
        return &authors[author];
}

static void send_job(Rig *g, ModelAsk *a, Argosy__Request *request) {
        Argosy__Request__Job job = MESSAGE_OF(
                request__job, .id = (ProtobufCBinaryData){.data = (uint8_t *) a->id, .len = sizeof(a->id)},
                .reason = (char *) a->reason, .hold = a->hold, .queue = a->queue, .after = a->after,
                .n_after = a->n_after, .if_revision = a->if_revision, .retries = a->retries);

        request->job = &job;
        g->author = author_of(a->author);
        a->answer = rig_ask(g, request);
        g->author = NULL;
}

static const char *content_of(const ModelUnit *u, char ret[128]) {
        static const char *const options[] = {[UNIT_NOWHERE] = "[X-Argosy]\nHost=n9\n",
                                              [UNIT_PINNED] = "[X-Argosy]\nHost=n3\n",
                                              [UNIT_MANY] = ""};

        snprintf(ret, 128, "%s%s%s", u->kind == UNIT_BAD ? MODEL_BAD : MODEL_SERVICE, options[u->kind] ?: "",
                 *u->role ? "[X-Argosy]\nRole=db\n" : "");
        return ret;
}

static void send_change(Rig *g, ModelAsk *a) {
        static char many[MODEL_MANY][24];
        Argosy__Request__Change change = ARGOSY__REQUEST__CHANGE__INIT;
        Argosy__NamedFile files[2], *pointers[2] = {&files[0], &files[1]};
        Argosy__Request request = REQUEST_OF(CHANGE, change, &change);
        char *names[MODEL_MANY], texts[2][128];

        for (size_t i = 0; i < a->n_units; i++) {
                const ModelUnit *u = &model_units[a->units[i]];
                Argosy__NamedFile *f = &files[change.n_files];

                argosy__named_file__init(f);
                f->name = f->path = (char *) (u->kind == UNIT_MANY ? "m@.service" : u->name);
                f->content.data = (uint8_t *) content_of(u, texts[i]);
                f->content.len = strlen(texts[i]);
                change.n_files += model_brings_file(a->verb);
                for (size_t k = 0; u->kind == UNIT_MANY && k < MODEL_MANY; k++) {
                        snprintf(many[k], sizeof(many[k]), "m@%zu.service", k);
                        names[change.n_names++] = many[k];
                }
                if (u->kind != UNIT_MANY)
                        names[change.n_names++] = (char *) u->name;
        }
        change.id = (ProtobufCBinaryData){.data = (uint8_t *) a->id, .len = sizeof(a->id)};
        change.verb = a->verb;
        change.names = names;
        change.files = pointers;
        send_job(g, a, &request);
}

static void send_update(Rig *g, ModelAsk *a) {
        Argosy__Request__Rollout rollout = ARGOSY__REQUEST__ROLLOUT__INIT;
        char content[64];

        snprintf(content, sizeof(content), "[Service]\nExecStart=/bin/sleep %u\n", (unsigned) a->id[0]);
        Argosy__NamedFile file = NAMED_FILE_OF(.name = rollout.name = (char *) "w@.service",
                                               .content = (ProtobufCBinaryData){.data = (uint8_t *) content,
                                                                                .len = strlen(content)});
        rollout.id = (ProtobufCBinaryData){.data = (uint8_t *) a->id, .len = sizeof(a->id)};
        rollout.kind = ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        rollout.file = &file;
        rollout.health_us = 1000000;
        send_job(g, a, A_REQUEST(ROLLOUT, rollout, &rollout));
}

static void send_label(Rig *g, ModelAsk *a) {
        char value[24];

        snprintf(value, sizeof(value), "v%" PRIu64, a->id[0]);
        Argosy__Label set = MESSAGE_OF(label, .key = (char *) "rack", .value = value), *sets = &set;
        Argosy__Request__LabelChange label =
                MESSAGE_OF(request__label_change, .node = (char *) "n2", .set = &sets, .n_set = 1);
        send_job(g, a, A_REQUEST(LABEL_CHANGE, label_change, &label));
}

static void send_access(Rig *g, ModelAsk *a) {
        Argosy__Request__AccessChange access =
                ACCESS_CHANGE_OF(.revoke = a->revokes, .right = ARGOSY__RIGHT__RIGHT_DEPLOY,
                                 .user = (char *) "alice");

        send_job(g, a, A_REQUEST(ACCESS_CHANGE, access_change, &access));
}

static void send_to_queue(Rig *g, ModelAsk *a) {
        Argosy__Request__QueueChange queue = ARGOSY__REQUEST__QUEUE_CHANGE__INIT;
        Argosy__QueueRule rule = QUEUE_RULE_OF(.action = a->rule.action, .limit = a->rule.limit);
        Argosy__Request request = REQUEST_OF(QUEUE_CHANGE, queue_change, &queue);

        if (a->kind == ASK_RULE_ADD) {
                rule.author = (char *) a->rule.author;
                rule.verb = (char *) a->rule.verb;
                rule.unit = (char *) a->rule.unit;
                rule.role = (char *) a->rule.role;
                rule.reason = (char *) a->rule.reason;
                rule.text = (char *) a->rule.text;
                queue.add = &rule;
                queue.before = a->number;
        }
        queue.remove = a->kind == ASK_RULE_DELETE ? a->number : 0;
        queue.close = a->kind == ASK_CLOSE;
        queue.open = a->kind == ASK_OPEN;
        send_job(g, a, &request);
}

static void send_about_job(Rig *g, ModelAsk *a) {
        Argosy__Request__JobCancel cancel = ARGOSY__REQUEST__JOB_CANCEL__INIT;
        Argosy__Request request = ARGOSY__REQUEST__INIT;
        Argosy__Request__JobRelease release =
                MESSAGE_OF(request__job_release, .numbers = cancel.numbers = &a->target,
                           .n_numbers = cancel.n_numbers = 1);

        if (a->kind == ASK_RELEASE) {
                request.what_case = ARGOSY__REQUEST__WHAT_JOB_RELEASE;
                request.job_release = &release;
        } else {
                request.what_case = ARGOSY__REQUEST__WHAT_JOB_CANCEL;
                request.job_cancel = &cancel;
        }
        send_job(g, a, &request);
}

void model_send(Model *m, ModelAsk *a) {
        static void (*const ways[])(Rig * g, ModelAsk * a) = {
                send_change,   send_label,    send_access,   send_update,    send_to_queue,
                send_to_queue, send_to_queue, send_to_queue, send_about_job, send_about_job};

        a->noted = a->foretold = false;
        ways[a->kind](m->rig, a);
}
