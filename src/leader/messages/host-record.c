// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Changes of a host's record, each on a copy that its caller then puts into the log. What a host says of
// itself is judged first (host_attach_is_sound): what is too long or no name changes nothing, and the reason
// is for people. A change says whether anything is different; -ENOMEM leaves the copy half changed, to be
// thrown away.

#include "host-record.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "host-address.h"
#include "manager-name.h"
#include "response.h"
#include "str.h"

bool host_name_is_valid(const char *name) {
        size_t n = strlen(name);

        for (const char *c = name; *c; c++)
                if (!isalnum((unsigned char) *c) && *c != '-' && *c != '.' && *c != '_')
                        return false;
        return n > 0 && n <= HOST_NAME_LEN_MAX;
}

bool host_attach_is_sound(const Argosy__ToVoter__Attach *a, char *ret_why, size_t size) {
        if (*a->name && !host_name_is_valid(a->name))
                snprintf(ret_why, size, "its name is longer than %d characters, or is none",
                         HOST_NAME_LEN_MAX);
        else if (strlen(a->address) > HOST_ADDRESS_LEN_MAX)
                snprintf(ret_why, size, "its address is longer than %d characters", HOST_ADDRESS_LEN_MAX);
        else if (a->port > UINT16_MAX)
                snprintf(ret_why, size, "its port is %u", a->port);
        else if (a->n_labels > HOST_OWN_LABELS_MAX)
                snprintf(ret_why, size, "it announces %zu labels, more than %d", a->n_labels,
                         HOST_OWN_LABELS_MAX);
        else if (a->n_managers > MANAGERS_PER_HOST)
                snprintf(ret_why, size, "it announces %zu managers, more than %d", a->n_managers,
                         MANAGERS_PER_HOST);
        else
                return true;
        return false;
}

static void labels_clear(Argosy__Label **labels, size_t *n) {
        for (size_t i = 0; i < *n; i++)
                message_free(labels[i]);
        *n = 0;
}

static Argosy__Label *find_set(const Argosy__HostRecord *r, const char *key) {
        for (size_t i = 0; i < r->n_set_labels; i++)
                if (streq(r->set_labels[i]->key, key))
                        return r->set_labels[i];
        return NULL;
}

static int append_label(Argosy__HostRecord *r, const Argosy__Label *label) {
        return FIELD_APPEND(r->labels, r->n_labels, label_new(label->key, label->value));
}

int host_record_merge_labels(Argosy__HostRecord *r) {
        labels_clear(r->labels, &r->n_labels);
        for (size_t i = 0; i < r->n_own_labels; i++)
                if (!find_set(r, r->own_labels[i]->key) && append_label(r, r->own_labels[i]) < 0)
                        return -ENOMEM;
        for (size_t i = 0; i < r->n_set_labels; i++)
                if (append_label(r, r->set_labels[i]) < 0)
                        return -ENOMEM;
        return 0;
}

int host_record_set_label(Argosy__HostRecord *r, const char *key, const char *value) {
        Argosy__Label *label = find_set(r, key);

        if (label)
                return field_set(&label->value, value);
        if (r->n_set_labels >= HOST_SET_LABELS_MAX)
                return -E2BIG;
        return FIELD_APPEND(r->set_labels, r->n_set_labels, label_new(key, value));
}

bool host_record_unset_label(Argosy__HostRecord *r, const char *key) {
        size_t kept = 0;

        for (size_t i = 0; i < r->n_set_labels; i++)
                if (streq(r->set_labels[i]->key, key))
                        message_free(r->set_labels[i]);
                else
                        r->set_labels[kept++] = r->set_labels[i];
        if (kept == r->n_set_labels)
                return false;
        r->n_set_labels = kept;
        return true;
}

// Replaces set_labels by copies of these.
static int host_record_take_set_labels(Argosy__HostRecord *r, Argosy__Label *const *labels, size_t n) {
        labels_clear(r->set_labels, &r->n_set_labels);
        for (size_t i = 0; i < n; i++)
                if (FIELD_APPEND(r->set_labels, r->n_set_labels,
                                 label_new(labels[i]->key, labels[i]->value)) < 0)
                        return -ENOMEM;
        return 0;
}

static int node_set_mode(Argosy__NodeRecord *node, Argosy__NodeMode mode, const char *reason,
                         uint64_t deadline_us) {
        if (deadline_us == HOST_DEADLINE_KEEP)
                deadline_us = node->mode == mode ? node->mode_deadline_us : 0;
        if (node->mode == mode && streq(node->mode_reason, reason) && node->mode_deadline_us == deadline_us)
                return 0;
        node->mode = mode;
        node->mode_deadline_us = deadline_us;
        return field_set(&node->mode_reason, reason) < 0 ? -ENOMEM : HOST_RECORD_CHANGED;
}

int host_record_set_mode(Argosy__HostRecord *r, uint32_t node, Argosy__NodeMode mode, const char *reason,
                         uint64_t deadline_us) {
        int changed = 0;

        for (size_t i = 0; i < r->n_nodes; i++) {
                int k = 0;

                if (node == 0 || r->nodes[i]->node == node)
                        k = node_set_mode(r->nodes[i], mode, reason, deadline_us);
                if (k < 0)
                        return k;
                changed |= k;
        }
        return changed;
}

int host_record_set_address(Argosy__HostRecord *r, const char *address, const char *name, bool configured) {
        bool usable = host_address_may_be_announced(address, configured) &&
                      host_address_kind(address) != HOST_ADDRESS_NAME;

        if (usable && field_set(&r->address, address) < 0)
                return -ENOMEM;
        if (name && (!*name || host_address_kind(name) == HOST_ADDRESS_NAME) &&
            field_set(&r->address_name, name) < 0)
                return -ENOMEM;
        return 0;
}

const char *host_record_place(const Argosy__HostRecord *r) {
        return *r->address_name ? r->address_name : r->address;
}

bool host_records_equal(const Argosy__HostRecord *a, const Argosy__HostRecord *b) {
        _cleanup_buf_ Buf x = {}, y = {};
        size_t n = argosy__host_record__get_packed_size(a);

        if (n != argosy__host_record__get_packed_size(b) || !buf_reserve(&x, n + 1) ||
            !buf_reserve(&y, n + 1))
                return false;
        argosy__host_record__pack(a, x.data);
        argosy__host_record__pack(b, y.data);
        return memcmp(x.data, y.data, n) == 0;
}

static uint32_t number_of_manager(const Argosy__HostRecord *r, const char *manager) {
        for (size_t i = 0; i < r->n_nodes; i++)
                if (streq(r->nodes[i]->manager, manager))
                        return r->nodes[i]->node;
        return 0; // it is to get one
}

int host_record_keep(Argosy__HostRecord *pending_record, const Argosy__HostRecord *now) {
        int r = 0;

        for (size_t i = 0; i < pending_record->n_nodes; i++)
                pending_record->nodes[i]->node = number_of_manager(now, pending_record->nodes[i]->manager);

        pending_record->role = now->role;
        pending_record->raft_id = now->raft_id;
        pending_record->no_promote = now->no_promote;
        for (size_t i = 0; r >= 0 && i < now->n_nodes; i++)
                r = host_record_set_mode(pending_record, now->nodes[i]->node, now->nodes[i]->mode,
                                         now->nodes[i]->mode_reason, now->nodes[i]->mode_deadline_us);
        if (r >= 0)
                r = host_record_take_set_labels(pending_record, now->set_labels, now->n_set_labels);
        return r < 0 ? r : host_record_merge_labels(pending_record);
}

const char *node_mode_to_string(Argosy__NodeMode mode) {
        static const char *const words[] = {
                [ARGOSY__NODE_MODE__MODE_OPEN] = "",
                [ARGOSY__NODE_MODE__MODE_CORDONED] = "cordoned",
                [ARGOSY__NODE_MODE__MODE_DRAINING] = "draining",
                [ARGOSY__NODE_MODE__MODE_MAINTENANCE] = "maintenance",
        };

        return (size_t) mode < ELEMENTSOF(words) ? words[mode] : "closed"; // of a newer version
}

static size_t name_bytes(const Argosy__FleetUnits *said) {
        size_t n = 0;

        for (size_t i = 0; i < said->n_units; i++)
                n += strlen(said->units[i]) + 3;
        return n;
}

int host_record_set_fleet(Argosy__HostRecord *r, const Argosy__FleetUnits *said) {
        bool unknown = said && !*said->directory, none = !said || (said->n_units == 0 && !unknown);
        Argosy__FleetUnits much = ARGOSY__FLEET_UNITS__INIT;

        if (unknown && r->fleet)
                return 0;
        message_free(r->fleet);
        r->fleet = NULL;
        if (none)
                return 0;
        r->fleet = message_copy(name_bytes(said) > HOST_FLEET_BYTES_MAX ? &much : said);
        return r->fleet ? 0 : -ENOMEM;
}
