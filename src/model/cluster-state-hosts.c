// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Hosts, by number, node, key pin and what people call them, and what is remembered of those that were
// removed. A state_*() function returns 0 or negative errno as cluster-state-private.h says; what it cannot
// add, it leaves out.

#include "cluster-state-private.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "array.h"
#include "manager-name.h"
#include "message.h"
#include "sorted.h"
#include "str.h"

enum { HOST_PREFIX_MIN = 4, HOST_ID_SIZE = 16 };

const HostEntry *cluster_state_hosts(const ClusterState *s, size_t *ret_n) {
        *ret_n = s->n_hosts;
        return s->hosts;
}

size_t cluster_state_n_hosts(const ClusterState *s) {
        return s->n_hosts;
}

// Where the host of that number is, or would be.
static size_t place_of(const ClusterState *s, uint32_t host) {
        return SORTED_COUNT(s->n_hosts, i, s->hosts[i].record->host < host);
}

static HostEntry *find_host_entry(const ClusterState *s, uint32_t host) {
        size_t at = place_of(s, host);

        return at < s->n_hosts && s->hosts[at].record->host == host ? &s->hosts[at] : NULL;
}

const Argosy__HostRecord *cluster_state_next_host(const ClusterState *s, uint32_t after) {
        size_t at = after == UINT32_MAX ? s->n_hosts : place_of(s, after + 1);

        return at < s->n_hosts ? s->hosts[at].record : NULL;
}

const Argosy__HostRecord *cluster_state_find_host(const ClusterState *s, uint32_t host) {
        HostEntry *h = find_host_entry(s, host);

        return h ? h->record : NULL;
}

const Argosy__HostRecord *cluster_state_find_host_by_pin(const ClusterState *s, const Hash *pin) {
        return map_find(&s->pins, pin, sizeof *pin);
}

const Argosy__HostRecord *cluster_state_find_host_by_node(const ClusterState *s, uint32_t node) {
        NodeIndex *n = state_find_node(s, node);

        return n && n->host > 0 ? cluster_state_find_host(s, n->host) : NULL;
}

// -------------------------------------------------------------------------------------------- names and ids

static ProtobufCBinaryData key_of(const Argosy__HostRecord *h, HostKey by) {
        return by == HOST_KEY_NAME ? (ProtobufCBinaryData){strlen(h->name), (uint8_t *) h->name}
                                   : h->host_id;
}

static bool has_key(const Argosy__HostRecord *h, HostKey by, const void *key, size_t len) {
        ProtobufCBinaryData own = key_of(h, by);

        return own.len == len && memcmp(own.data, key, len) == 0;
}

// Any but `except`; NULL: there is none.
static Argosy__HostRecord *find_by_key(const ClusterState *s, HostKey by, const void *key, size_t len,
                                       const Argosy__HostRecord *except) {
        const HostIndex *x = &s->host_index[by];
        Argosy__HostRecord *h = map_find(&x->first, key, len);

        if (!h || h != except)
                return h;
        for (size_t i = 0; i < x->n_others; i++)
                if (x->others[i] != except && has_key(x->others[i], by, key, len))
                        return x->others[i];
        return NULL;
}

static int index_add(ClusterState *s, HostKey by, Argosy__HostRecord *h) {
        ProtobufCBinaryData key = key_of(h, by);
        HostIndex *x = &s->host_index[by];
        int r;

        if (key.len == 0)
                return 0;
        r = map_add(&x->first, key.data, key.len, h);
        if (r != -EEXIST)
                return r;
        if (ARRAY_GROW(x->others, x->others_allocated, x->n_others + 1) < 0)
                return -ENOMEM;
        x->others[x->n_others++] = h;
        return 0;
}

static bool drop_other(HostIndex *x, const Argosy__HostRecord *h) {
        for (size_t i = 0; i < x->n_others; i++)
                if (x->others[i] == h) {
                        x->others[i] = x->others[--x->n_others];
                        return true;
                }
        return false;
}

static int index_drop(ClusterState *s, HostKey by, Argosy__HostRecord *h) {
        ProtobufCBinaryData key = key_of(h, by);
        HostIndex *x = &s->host_index[by];
        Argosy__HostRecord *next;

        if (key.len == 0 || drop_other(x, h))
                return 0;
        next = find_by_key(s, by, key.data, key.len, h);
        map_take(&x->first, key.data, key.len);
        return next && drop_other(x, next) ? index_add(s, by, next) : 0;
}

enum { HOST_NAME_SIZE = 256 };

const Argosy__HostRecord *cluster_state_other_by_name(const ClusterState *s, const char *name,
                                                      const Argosy__HostRecord *than) {
        Argosy__HostRecord *found = find_by_key(s, HOST_KEY_NAME, name, strlen(name), than);
        char lower[HOST_NAME_SIZE];

        if (found || !str_copy(lower, sizeof(lower), name))
                return found;
        str_lower(lower); // as hosts call themselves
        return find_by_key(s, HOST_KEY_NAME, lower, strlen(lower), than);
}

const Argosy__HostRecord *cluster_state_other_by_id(const ClusterState *s, const void *id, size_t len,
                                                    const Argosy__HostRecord *than) {
        return find_by_key(s, HOST_KEY_ID, id, len, than);
}

// --------------------------------------------------------------------------------------------- the table

static int unlink_host(ClusterState *s, Argosy__HostRecord *record) {
        int r = 0;

        if (record->key_pin.len == HASH_SIZE)
                map_take(&s->pins, record->key_pin.data, HASH_SIZE);
        for (size_t i = 0; i < record->n_nodes; i++) {
                NodeIndex *n = state_find_node(s, record->nodes[i]->node);

                if (n && n->host == record->host) {
                        n->host = 0;
                        state_drop_unused_node(s, n);
                }
        }
        for (HostKey by = 0; r >= 0 && by < HOST_KEYS; by++)
                r = index_drop(s, by, record);
        return r;
}

static int link_host(ClusterState *s, Argosy__HostRecord *record) {
        if (record->key_pin.len == HASH_SIZE) {
                int r = map_add(&s->pins, record->key_pin.data, HASH_SIZE, record);

                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < record->n_nodes; i++) {
                NodeIndex *n = state_need_node(s, record->nodes[i]->node);

                if (!n)
                        return -ENOMEM;
                if (n->host > 0)
                        return -EEXIST;
                n->host = record->host;
        }
        for (HostKey by = 0; by < HOST_KEYS; by++) {
                int r = index_add(s, by, record);

                if (r < 0)
                        return r;
        }
        return 0;
}

int state_append_host(ClusterState *s, Argosy__HostRecord *record) {
        uint32_t number;

        if (ARRAY_RESERVE(s->hosts, s->n_hosts + 1) < 0 ||
            paged_table_add(&s->host_records, &record, &number) < 0) {
                message_free(record);
                return -ENOMEM;
        }
        s->hosts[s->n_hosts++] = (HostEntry){.record = record, .number = number};
        return link_host(s, record);
}

int state_replace_host(ClusterState *s, Argosy__HostRecord *record) {
        HostEntry *h = find_host_entry(s, record->host);
        int r = paged_table_set(&s->host_records, h->number, &record);

        if (r < 0) {
                message_free(record);
                return r;
        }
        r = unlink_host(s, h->record);
        state_retire_message(s, h->record);
        h->record = record;
        return r < 0 ? r : link_host(s, record);
}

int state_remove_host(ClusterState *s, uint32_t host) {
        HostEntry *h = find_host_entry(s, host);
        size_t behind = s->n_hosts - (size_t) (h - s->hosts) - 1;
        int r = paged_table_remove(&s->host_records, h->number);

        if (r < 0)
                return r;
        r = unlink_host(s, h->record);
        state_retire_message(s, h->record);
        memmove(h, h + 1, behind * sizeof *h);
        s->n_hosts--;
        return r;
}

static int mark_host(ClusterState *s, HostEntry *h) {
        if (h->dirty)
                return 0;
        if (ARRAY_GROW(s->dirty_hosts, s->dirty_hosts_allocated, s->n_dirty_hosts + 1) < 0)
                return -ENOMEM;
        s->dirty_hosts[s->n_dirty_hosts++] = h->record->host;
        h->dirty = true;
        return 0;
}

int state_mark_host(ClusterState *s, uint32_t host) {
        return mark_host(s, find_host_entry(s, host));
}

uint32_t cluster_state_next_dirty_host(ClusterState *s) {
        HostEntry *h;
        uint32_t host;

        if (s->n_dirty_hosts_taken == s->n_dirty_hosts) {
                s->n_dirty_hosts_taken = s->n_dirty_hosts = 0;
                return 0;
        }
        host = s->dirty_hosts[s->n_dirty_hosts_taken++];
        h = find_host_entry(s, host);
        if (h) // it was not removed
                h->dirty = false;
        return host;
}

static bool id_begins_with(const Argosy__HostRecord *h, const char *word, size_t len) {
        char hex[2 * HOST_ID_SIZE + 1] = "";

        if (h->host_id.len == HOST_ID_SIZE)
                hex_encode(h->host_id.data, HOST_ID_SIZE, hex);
        return strncasecmp(hex, word, len) == 0 || strncasecmp(h->machine_id, word, len) == 0;
}

const Argosy__HostRecord *cluster_state_resolve_host(const ClusterState *s, const char *word,
                                                     bool *ret_ambiguous) {
        const Argosy__HostRecord *found = cluster_state_other_by_name(s, word, NULL);
        size_t len = strlen(word), n = 0;

        if (found)
                n = cluster_state_other_by_name(s, word, found) ? 2 : 1;
        else if (len >= HOST_PREFIX_MIN) // what people have cut off is looked for everywhere
                for (size_t i = 0; i < s->n_hosts; i++)
                        if (id_begins_with(s->hosts[i].record, word, len)) {
                                found = s->hosts[i].record;
                                n++;
                        }
        if (ret_ambiguous)
                *ret_ambiguous = n > 1;
        return n == 1 ? found : NULL;
}

const Argosy__HostRecord *cluster_state_resolve_node(const ClusterState *s, const char *word,
                                                     uint32_t *ret_node, bool *ret_ambiguous) {
        const char *slash = strchr(word, '/');
        _cleanup_free_ char *host = slash ? strndup(word, (size_t) (slash - word)) : strdup(word);
        const Argosy__HostRecord *h = host ? cluster_state_resolve_host(s, host, ret_ambiguous) : NULL;

        for (size_t i = 0; h && i < h->n_nodes; i++)
                if (manager_name_is(h->nodes[i]->manager, slash ? slash + 1 : "system")) {
                        *ret_node = h->nodes[i]->node;
                        return h;
                }
        return NULL;
}

// --------------------------------------------------------------------------------------------- former hosts

static size_t former_index(const ClusterState *s, const void *host_id, size_t len) {
        size_t i = 0;

        while (i < s->n_former &&
               (s->former[i]->host_id.len != len || memcmp(s->former[i]->host_id.data, host_id, len) != 0))
                i++;
        return i;
}

static void remove_former(ClusterState *s, size_t i) {
        state_retire_message(s, s->former[i]);
        s->n_former--;
        memmove(&s->former[i], &s->former[i + 1], (s->n_former - i) * sizeof *s->former);
}

static bool had_key(const Argosy__FormerHost *f, const ProtobufCBinaryData *key_pin) {
        return f->key_pin.len > 0 && f->key_pin.len == key_pin->len &&
               memcmp(f->key_pin.data, key_pin->data, key_pin->len) == 0;
}

static void drop_key(ClusterState *s, const ProtobufCBinaryData *key_pin) {
        for (size_t i = s->n_former; i > 0; i--)
                if (had_key(s->former[i - 1], key_pin))
                        remove_former(s, i - 1);
}

int state_former_joins(ClusterState *s, const Argosy__HostRecord *host) {
        Argosy__FormerHost key = ARGOSY__FORMER_HOST__INIT, *copy;
        size_t i;

        drop_key(s, &host->key_pin);
        i = former_index(s, host->host_id.data, host->host_id.len);
        if (i == s->n_former)
                return 0;
        if (s->former[i]->key_pin.len == 0) {
                remove_former(s, i);
                return 0;
        }
        key.key_pin = s->former[i]->key_pin;
        copy = message_copy(&key);
        if (!copy)
                return -ENOMEM;
        state_retire_message(s, s->former[i]);
        s->former[i] = copy;
        return 0;
}

// The oldest without labels, else the oldest: of those there is less to forget.
static size_t least_former(const ClusterState *s) {
        for (size_t i = 0; i < s->n_former; i++)
                if (s->former[i]->n_set_labels == 0)
                        return i;
        return 0;
}

int state_add_former(ClusterState *s, Argosy__FormerHost *former) {
        if (ARRAY_RESERVE(s->former, s->n_former + 1) < 0)
                return -ENOMEM;
        drop_key(s, &former->key_pin);
        if (s->n_former == CLUSTER_FORMER_HOSTS_MAX)
                remove_former(s, least_former(s));
        s->former[s->n_former++] = former;
        return 0;
}

const Argosy__FormerHost *cluster_state_find_former(const ClusterState *s, const void *host_id, size_t len) {
        size_t i = former_index(s, host_id, len);

        return i < s->n_former ? s->former[i] : NULL;
}

const Argosy__FormerHost *cluster_state_find_former_by_pin(const ClusterState *s, const Hash *pin) {
        for (size_t i = 0; i < s->n_former; i++)
                if (s->former[i]->key_pin.len == HASH_SIZE &&
                    memcmp(s->former[i]->key_pin.data, pin->bytes, HASH_SIZE) == 0)
                        return s->former[i];
        return NULL;
}

void state_hosts_done(ClusterState *s) {
        for (size_t i = 0; i < s->n_hosts; i++)
                state_retire_message(s, s->hosts[i].record);
        for (size_t i = 0; i < s->n_former; i++)
                state_retire_message(s, s->former[i]);
        free(s->hosts);
        free(s->former);
        free(s->dirty_hosts);
        map_done(&s->pins);
        for (HostKey by = 0; by < HOST_KEYS; by++) {
                map_done(&s->host_index[by].first);
                free(s->host_index[by].others);
        }
        paged_table_done(&s->host_records);
}
