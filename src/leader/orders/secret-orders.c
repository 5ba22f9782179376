// SPDX-License-Identifier: LGPL-2.1-or-later
//
// See secret-orders.h. Which secrets a unit has is what its content names, in the versions as of the
// revision that its record has (UnitExtra.secrets). What cannot be opened, since this leader lacks the key,
// is named without its value: the unit waits for it there.
//
// What its registry is to see (RegistryAuth=) is no version that the unit has: it is the newest, which each
// pull uses from then on, and nothing is restarted for it. So a new version is sent to all that name it.
//
// A value is sent with each order that names it, and not remembered as sent: orders are rare, and a host
// that has lost one is as well served as one that has it.
//
// Failures: without memory the message is not made, and the host hears everything again when it comes back.

#include "secret-orders.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "due.h"
#include "log.h"
#include "message-of.h"
#include "secret-box.h"
#include "secret-name.h"
#include "str.h"
#include "unit-name.h"
#include "unit-record.h"
#include "voter-secrets.h"

typedef struct SecretsOfOrder {
        UnitOptions *options; // the rest borrows its words
        char *registry; // the secret of RegistryAuth=; NULL: none
        Argosy__OrderSecret *list;
        Argosy__OrderSecret **pointers;
} SecretsOfOrder;

static SecretsOfOrder *of_order_free(SecretsOfOrder *o) {
        if (!o)
                return NULL;
        unit_options_unref(o->options);
        free(o->registry);
        free(o->list);
        free(o->pointers);
        free(o);
        return NULL;
}

static SecretsOfOrder *of_order_new(const UnitFile *file, UnitOptions *options) {
        SecretsOfOrder *o = calloc(1, sizeof(*o));

        if (!o)
                return NULL;
        o->list = calloc(options->n_secrets + 1, sizeof(*o->list));
        o->pointers = calloc(options->n_secrets + 1, sizeof(*o->pointers));
        o->registry = file->registry_auth ? strdup(file->registry_auth) : NULL;
        if (!o->list || !o->pointers || (file->registry_auth && !o->registry))
                return of_order_free(o);
        o->options = unit_options_ref(options);
        return o;
}

void secret_orders_done(SecretOrders *s) {
        for (size_t i = 0; i < s->n_orders; i++)
                of_order_free(s->orders[i]);
        for (size_t i = 0; i < s->n_values; i++)
                secret_bytes_done(&s->bytes[i]);
        free(s->orders);
        free(s->values);
        free(s->value_pointers);
        free(s->bytes);
        *s = (SecretOrders){};
}

// ------------------------------------------------------------------------------------------------ values

static bool has_value(const SecretOrders *s, const char *name, uint64_t version) {
        for (size_t i = 0; i < s->n_values; i++)
                if (s->values[i].version == version && streq(s->values[i].name, name))
                        return true;
        return false;
}

// -ENOKEY: this leader has not the key.
static int open_value(Leader *l, const char *name, const Argosy__SecretVersion *v, SecretBytes *ret) {
        const SecretLabel label = {.name = name, .version = v->version, .key = v->key};
        const SecretBytes *key =
                voter_secrets_find(l->ops.secrets(l->userdata), VOTER_SECRET_SECRETS, v->key);

        return key && key->len == SECRET_KEY_SIZE
                       ? secret_box_open(key->data, &label, v->sealed.data, v->sealed.len, ret)
                       : -ENOKEY;
}

static int add_value(SecretOrders *s, char *name, uint64_t version, SecretBytes *bytes) {
        size_t n = s->n_values;

        if (ARRAY_RESERVE(s->values, n + 1) < 0 || ARRAY_RESERVE(s->value_pointers, n + 1) < 0 ||
            ARRAY_RESERVE(s->bytes, n + 1) < 0)
                return -ENOMEM;
        s->values[n] =
                (Argosy__SecretValue) MESSAGE_OF(secret_value, .name = name, .version = version,
                                                 .value = (ProtobufCBinaryData){bytes->len, bytes->data});
        s->bytes[n] = *bytes;
        *bytes = (SecretBytes){};
        s->n_values++;
        for (size_t i = 0; i < s->n_values; i++) // the array may have moved
                s->value_pointers[i] = &s->values[i];
        return 0;
}

static int need_value(Leader *l, SecretOrders *s, char *name, const Argosy__SecretVersion *v,
                      size_t *bytes) {
        _cleanup_(secret_bytes_done) SecretBytes value = {};
        int r;

        if (has_value(s, name, v->version))
                return 0;
        r = open_value(l, name, v, &value);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                log_error("Version %" PRIu64 " of the secret %s cannot be read: %s.", v->version, name,
                          r == -ENOKEY ? "this host lacks the key" : "it is not what was sealed");
                return 0;
        }
        *bytes += value.len + strlen(name) + 16;
        return add_value(s, name, v->version, &value);
}

// ------------------------------------------------------------------------------------------------ orders

// NULL: there is none.
static const Argosy__SecretVersion *newest_of(const Leader *l, const char *name) {
        const Argosy__SecretRecord *record = cluster_state_find_secret(l->state, name);

        return record ? secret_record_newest(record) : NULL;
}

static int add_one(Leader *l, SecretOrders *s, Argosy__OrderSecret *o, char *id, char *name,
                   const Argosy__SecretVersion *v, size_t *bytes) {
        *o = (Argosy__OrderSecret) MESSAGE_OF(order_secret, .id = id, .name = name,
                                              .version = v ? v->version : 0);
        *bytes += strlen(id) + strlen(name) + 16;
        return v ? need_value(l, s, name, v, bytes) : 0;
}

static int add_named(Leader *l, SecretOrders *s, SecretsOfOrder *of, uint64_t revision, size_t *bytes) {
        size_t n = of->options->n_secrets;
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++) {
                const UnitSecret *secret = &of->options->secrets[i];
                const Argosy__SecretRecord *record = cluster_state_find_secret(l->state, secret->name);

                of->pointers[i] = &of->list[i];
                r = add_one(l, s, &of->list[i], secret->id, secret->name,
                            record ? secret_record_at(record, revision) : NULL, bytes);
        }
        if (r < 0 || !of->registry)
                return r;
        of->pointers[n] = &of->list[n];
        return add_one(l, s, &of->list[n], (char *) "", of->registry, newest_of(l, of->registry), bytes);
}

int secret_orders_add(Leader *l, SecretOrders *s, const UnitEntry *e, const Content *c, Argosy__UnitOrder *o,
                      size_t *bytes) {
        _cleanup_(unit_options_unrefp) UnitOptions *options = NULL;
        SecretsOfOrder *of;
        const UnitFile *file;
        int r = spec_entry_file(c->spec, &file);

        if (r < 0 || (!unit_file_has_secrets(file) && !file->registry_auth))
                return r == -ENOMEM ? r : 0;
        r = unit_file_expand(file, e->record->name, e->record->name, &options, NULL);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        if (ARRAY_RESERVE(s->orders, s->n_orders + 1) < 0)
                return -ENOMEM;
        of = of_order_new(file, options);
        if (!of)
                return -ENOMEM;
        s->orders[s->n_orders++] = of;
        o->secrets = of->pointers;
        o->n_secrets = options->n_secrets + (of->registry != NULL);
        return add_named(l, s, of, c->secrets, bytes);
}

int secret_orders_registry_auth(Leader *l, const char *name, Argosy__SecretValue *ret,
                                SecretBytes *ret_bytes) {
        const Argosy__SecretVersion *v = newest_of(l, name);
        int r = v ? open_value(l, name, v, ret_bytes) : -ENOENT;

        *ret = (Argosy__SecretValue) MESSAGE_OF(secret_value, .name = (char *) name,
                                                .version = v ? v->version : 0);
        if (r == 0)
                ret->value = (ProtobufCBinaryData){ret_bytes->len, ret_bytes->data};
        return r;
}

// ------------------------------------------------------------------------------------------------ users

int secret_orders_on_unit(Leader *l, const UnitEntry *e) {
        _cleanup_(unit_options_unrefp) UnitOptions *options = NULL;
        SecretUse uses[SECRETS_PER_UNIT + 1];
        const UnitFile *file = NULL;
        bool freed;
        size_t n = 0;
        int r = e->removed ? 0 : spec_entry_file(e->spec, &file);

        if (r == 0 && !e->removed && unit_file_has_secrets(file))
                r = unit_options_of(e, &options);
        if (r == -ENOMEM)
                return r;
        for (; options && n < options->n_secrets; n++) {
                const Argosy__SecretRecord *record =
                        cluster_state_find_secret(l->state, options->secrets[n].name);
                uint64_t revision = unit_record_secrets(e->record);

                uses[n] = (SecretUse){
                        .name = options->secrets[n].name,
                        .version = record && revision > 0 ? secret_record_at(record, revision)->version : 0};
        }
        if (r == 0 && file && file->registry_auth)
                uses[n++] = (SecretUse){.name = file->registry_auth};
        r = secret_users_set(&l->secret_users, e->record->name, uses, n, &freed);
        if (r == 0 && freed)
                leader_set_due(l, DUE_OLD_SECRETS);
        return r;
}
