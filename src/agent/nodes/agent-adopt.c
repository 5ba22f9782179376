// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What units there are at the start, from the ledger.
//
// After a restart of argosyd nothing of the specs is in memory; their contents are read back from the unit
// files, checked against the record's hash. The file of a container is what podman's generator made of the
// content: it is in place, and the content is not known.
//
// A unit whose files are not as recorded, or whose content is not known, is held without a spec: the leader
// is told so, and sends the spec again. Then the file is written again, unless it and those that go with the
// content are in place.
//
// A name that was about to become ours, and did not, is forgotten: what stands there is somebody else's,
// whatever it is.
//
// A soft-reboot stops all units but keeps /run, and with it the ledger. So a shutdown leaves a mark beside
// the ledger; who finds it takes what was launched for not launched, as after a reboot.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agent-adopt.h"
#include "agent-core.h"
#include "agent-links.h"
#include "agent-returns.h"
#include "agent-spec.h"
#include "agent-unit.h"
#include "buf.h"
#include "carried-store.h"
#include "fileio.h"
#include "str.h"
#include "unit-file.h"
#include "unit-name.h"

// The content of a held unit from its own file or its template's; NULL if neither has the recorded hash.
static AgentSpec *read_back(AgentNode *node, const LedgerRecord *record) {
        _cleanup_free_ char *template = NULL;
        const char *names[2] = {record->name, NULL};
        AgentSpec *s = agent_spec_find(node->agent, &record->spec);

        if (s)
                return agent_spec_ref(s);
        if (record->from_template)
                names[1] = template = unit_name_template(record->name);
        for (size_t i = 0; i < ELEMENTSOF(names) && names[i]; i++) {
                _cleanup_free_ char *path = str_printf("%s/%s", node->dir_path, names[i]);
                _cleanup_buf_ Buf content = {};

                if (path && file_read(AT_FDCWD, path, UNIT_FILE_MAX, &content) == 0 &&
                    agent_spec_get(node->agent, &record->spec, content.data, content.len, names[i], &s) == 0)
                        return s;
        }
        return NULL;
}

// A removal that an earlier run did not live to record has taken them away, and left the file of the
// template.
static bool has_carried(const AgentUnit *u, const AgentSpec *content) {
        return !content->carried ||
               carried_folder_has(u->node->agent->runtime_dir, u->name, &content->carried->files);
}

// -ENOMEM; any other failure of its files means that they do not count as ours, and are written again.
static int adopt_files(AgentUnit *u, const LedgerRecord *record) {
        AgentNode *node = u->node;
        AgentSpec *content;
        int r;

        u->half_written = !node->dir; // its helper looks; nothing is read back from there
        if (!node->dir)
                return 0;
        r = unit_dir_adopt(node->dir, record->name, record->from_template, &record->spec, record->slice);
        if (r == -ENOMEM)
                return r;
        content = read_back(node, record);
        u->content_known = content;
        u->file_present = r == 0 && (!content || has_carried(u, content));
        u->enabled = unit_dir_is_enabled(node->dir, record->name);
        agent_spec_unref(node->agent, content); // the record holds it
        return 0;
}

void agent_adopt_content(AgentUnit *u, const AgentSpec *content) {
        if (!u->has_held || !u->file_present || u->content_known || u->held.spec != content)
                return;
        u->content_known = true;
        u->file_present = has_carried(u, content);
}

static int adopt_record(const LedgerRecord *record, void *userdata) {
        AgentNode *node = userdata;
        AgentSpec *spec;
        AgentUnit *u;
        int r;

        r = agent_unit_new(node, record->name, &u);
        if (r < 0)
                return r;
        spec = agent_spec_name(node->agent, &record->spec);
        if (!spec)
                return -ENOMEM;
        agent_unit_hold(u, record, spec);
        r = adopt_files(u, record);
        if (r < 0)
                return r;
        if (node->units_were_stopped && !record->done && !record->failed && !record->unknown) {
                u->held.target = ARGOSY__TARGET__TARGET_INACTIVE; // as after a reboot
                u->held.pending = false;
        }
        u->parsed = record->revision > 0;
        u->unwatched = true;
        slices_add(&node->slices, record->slice);
        return 0;
}

static int put_records(Ledger *l, void *userdata) {
        AgentNode *node = userdata;
        int r = 0;

        agent_foreach_unit(u, node) if (u->has_held && r >= 0) {
                LedgerRecord record;

                agent_unit_fill_record(u, &record);
                r = ledger_put(l, &record);
        }
        return r < 0 ? r : agent_returns_put_all(l, node);
}

static int adopt_return(const LedgerReturn *back, void *userdata) {
        return agent_returns_adopt(userdata, back);
}

// Not before all are known: an instance may have its template from another one. (What a helper has written
// only that helper sees, when it writes again.)
static int give_back_claims(AgentNode *node) {
        agent_foreach_unit(u, node) {
                int r;

                if (!node->dir || !u->held.taking ||
                    unit_dir_has_content(node->dir, u->name, &u->held.spec->hash))
                        continue;
                unit_dir_disown(node->dir, u->name, &u->held.spec->hash);
                r = ledger_forget(node->ledger, u->name);
                if (r < 0)
                        return r;
                agent_unit_drop_held(u);
                agent_unit_free(u);
        }
        return 0;
}

int agent_node_adopt(AgentNode *node, const char *ledger_path) {
        int r;

        node->units_were_stopped = node->shutdown_mark && access(node->shutdown_mark, F_OK) == 0;
        r = ledger_open(ledger_path, adopt_record, adopt_return, put_records, node, &node->ledger);
        if (r >= 0)
                r = give_back_claims(node);
        if (r < 0)
                return r;
        agent_returns_adopted(node);
        agent_foreach_unit(u, node) agent_links_suspect(u);
        agent_links_taken(node);
        if (!node->units_were_stopped)
                return 0;
        r = put_records(node->ledger, node);
        if (r >= 0)
                r = ledger_flush(node->ledger);
        if (r >= 0 && unlink(node->shutdown_mark) < 0)
                r = -errno;
        return r;
}
