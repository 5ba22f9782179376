// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Unit files of managers that are not the system's: written by a helper that can do no more there than the
// manager's owner. It is started for a batch, and told first what is ours, since it remembers nothing from
// one life to the next; a little later, with nothing more to do, it ends. If it does not answer in time, or
// ends, the batch has failed and is tried again with the units' own back-off.

#include <errno.h>

#include "agent-core.h"
#include "agent-unit.h"
#include "agent-writer.h"
#include "log.h"
#include "message-of.h"
#include "str.h"

static void finish(AgentNode *node, int error, const Argosy__HelperReply *reply) {
        void (*done)(int, const Argosy__HelperReply *, void *) = TAKE_PTR(node->written);

        if (done)
                done(error, reply, node->written_data);
}

static void on_reply(const Argosy__HelperReply *reply, int fd, void *userdata) {
        AgentNode *node = userdata;

        if (reply->error < 0) {
                _cleanup_free_ char *why = str_printable(reply->why, AGENT_ERROR_MAX);

                if (why && *why)
                        log_info("Unit files of %s: %s", node->manager, why);
                agent_writer_close(node);
                finish(node, reply->error, NULL);
        } else if (node->n_adopting > 0)
                node->n_adopting--;
        else
                finish(node, 0, reply);
}

static void on_ended(int error, void *userdata) {
        AgentNode *node = userdata;

        agent_writer_close(node);
        if (!node->written)
                return;
        log_warning("Whoever writes unit files for %s %s.", node->manager,
                    error == -ETIMEDOUT ? "does not answer" : "has ended unexpectedly");
        finish(node, error ?: -EPIPE, NULL);
}

static void on_closed(void *userdata) {
        agent_node_close_step(userdata);
}

void agent_writer_close(AgentNode *node) {
        HelperLink *writer = TAKE_PTR(node->writer);

        node->n_adopting = 0;
        if (writer)
                helper_link_close(writer);
}

void agent_writer_abort(AgentNode *node, int error) {
        agent_writer_close(node);
        finish(node, error, NULL);
}

// ---- what is ours already

static bool may_have_files(const AgentUnit *u) {
        return u->has_held && (u->file_present || u->half_written || u->held.revision > 0);
}

static int send_adopt(AgentNode *node, Argosy__HelperUnit **units, size_t n) {
        int r;

        if (n == 0)
                return 0;
        Argosy__HelperRequest q = MESSAGE_OF(helper_request, .adopt = units, .n_adopt = n);
        r = helper_link_send(node->writer, &q);
        if (r >= 0)
                node->n_adopting++;
        return r;
}

static int send_records(AgentNode *node) {
        _cleanup_free_ Argosy__HelperUnit *units = calloc(HELPER_UNITS_PER_REQUEST, sizeof(*units));
        _cleanup_free_ LedgerRecord *records = calloc(HELPER_UNITS_PER_REQUEST, sizeof(*records));
        Argosy__HelperUnit *pointers[HELPER_UNITS_PER_REQUEST];
        size_t n = 0;
        int r = 0;

        if (!units || !records)
                return -ENOMEM;
        agent_foreach_unit(u, node) {
                if (!may_have_files(u))
                        continue;
                argosy__helper_unit__init(&units[n]);
                agent_unit_fill_record(u, &records[n]);
                units[n].name = (char *) u->name;
                units[n].from_template = u->held.from_template;
                units[n].spec = (ProtobufCBinaryData){HASH_SIZE, u->held.spec->hash.bytes};
                units[n].slice = records[n].slice;
                pointers[n] = &units[n];
                if (++n < HELPER_UNITS_PER_REQUEST)
                        continue;
                r = send_adopt(node, pointers, n);
                if (r < 0)
                        return r;
                n = 0;
        }
        return send_adopt(node, pointers, n);
}

static int start(AgentNode *node) {
        static const HelperOps ops = {.reply = on_reply, .ended = on_ended, .closed = on_closed};
        HelperConfig config = {.loop = node->agent->loop,
                               .command = (const char *const *) node->agent->helper,
                               .manager = node->manager,
                               .leader = node->leader,
                               .born = node->leader_born,
                               .mode = HELPER_WRITE};
        int r = helper_link_new(&config, &ops, node, &node->writer);

        if (r < 0)
                return r;
        node->n_open++;
        return send_records(node);
}

// ---- a batch

static int find_content(Argosy__HelperRequest *q, const UnitDirItem *item, const Hash **hashes) {
        for (size_t i = q->n_contents; i-- > 0;)
                if (hash_equal(hashes[i], &item->spec))
                        return (int) i;
        hashes[q->n_contents] = &item->spec;
        q->contents[q->n_contents] = (ProtobufCBinaryData){item->len, (uint8_t *) item->content};
        return (int) q->n_contents++;
}

static int send_batch(AgentNode *node, const UnitDirItem *items, const bool *look, size_t n) {
        _cleanup_free_ Argosy__HelperItem *list = calloc(n, sizeof(*list));
        _cleanup_free_ Argosy__HelperItem **pointers = calloc(n, sizeof(*pointers));
        _cleanup_free_ ProtobufCBinaryData *contents = calloc(n, sizeof(*contents));
        _cleanup_free_ const Hash **hashes = calloc(n, sizeof(*hashes));

        if (!list || !pointers || !contents || !hashes)
                return -ENOMEM;
        Argosy__HelperRequest q =
                MESSAGE_OF(helper_request, .items = pointers, .n_items = n, .contents = contents);
        for (size_t i = 0; i < n; i++) {
                pointers[i] = &list[i];
                argosy__helper_item__init(&list[i]);
                list[i].name = (char *) items[i].name;
                list[i].remove = items[i].remove;
                list[i].look = look[i];
                if (items[i].remove)
                        continue;
                list[i].from_template = items[i].from_template;
                list[i].enable = items[i].enable;
                list[i].spec = (ProtobufCBinaryData){HASH_SIZE, (uint8_t *) items[i].spec.bytes};
                list[i].slice = (char *) (items[i].slice ?: "");
                list[i].content = (uint32_t) find_content(&q, &items[i], hashes);
        }
        return helper_link_send(node->writer, &q);
}

static int send_look(AgentNode *node, const Argosy__ToHost__NameCheck *names) {
        _cleanup_free_ Argosy__HelperItem *list = calloc(names->n_units ?: 1, sizeof(*list));
        _cleanup_free_ Argosy__HelperItem **pointers = calloc(names->n_units ?: 1, sizeof(*pointers));

        if (!list || !pointers)
                return -ENOMEM;
        Argosy__HelperRequest q = MESSAGE_OF(helper_request, .items = pointers, .n_items = names->n_units,
                                             .contents = names->contents, .n_contents = names->n_contents);
        for (size_t i = 0; i < names->n_units; i++) {
                uint32_t content = names->units[i]->content; // + 1; 0: none

                pointers[i] = &list[i];
                argosy__helper_item__init(&list[i]);
                list[i].name = names->units[i]->name;
                list[i].look = list[i].only_look = true;
                list[i].content = content ? content - 1 : UINT32_MAX;
        }
        return helper_link_send(node->writer, &q);
}

typedef void WriterDone(int error, const Argosy__HelperReply *reply, void *userdata);

// What was sent came to `r`; its end is awaited.
static int await_reply(AgentNode *node, int r, WriterDone *done, void *userdata) {
        if (r < 0) {
                agent_writer_close(node);
                return r;
        }
        node->written = done;
        node->written_data = userdata;
        return 0;
}

int agent_writer_apply(AgentNode *node, const UnitDirItem *items, const bool *look, size_t n,
                       WriterDone *done, void *userdata) {
        int r = node->writer ? 0 : start(node);

        assert(!node->written);
        return await_reply(node, r < 0 ? r : send_batch(node, items, look, n), done, userdata);
}

int agent_writer_look(AgentNode *node, const Argosy__ToHost__NameCheck *names, WriterDone *done,
                      void *userdata) {
        int r = node->writer ? 0 : start(node);

        assert(!node->written);
        return await_reply(node, r < 0 ? r : send_look(node, names), done, userdata);
}
