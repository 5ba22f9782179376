// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Secrets on their way to hosts: each order names those that its unit starts with, and the message has their
// values, each once. The values are opened when the message is made and wiped when it has been sent; nothing
// of them is kept.

#include "leader-core.h"
#include "rollout-content.h"
#include "secret-bytes.h"

typedef struct SecretOrders { // zero-initialised: none
        struct SecretsOfOrder **orders; // what they name
        size_t n_orders;
        Argosy__SecretValue *values;
        Argosy__SecretValue **value_pointers; // for a message
        SecretBytes *bytes;                   // of each value
        size_t n_values;
} SecretOrders;

void secret_orders_done(SecretOrders *s);
// What the order's unit has by that content. *bytes grows by what the message does. 0 or -ENOMEM.
int secret_orders_add(Leader *l, SecretOrders *s, const UnitEntry *e, const Content *c, Argosy__UnitOrder *o,
                      size_t *bytes);
// What a host is to show the registry of an image: the newest value of that secret, to be sent while
// *ret_bytes, which the caller ends, is there. 0; -ENOENT: there is no such secret; -ENOKEY, -EBADMSG: it
// cannot be opened here; -ENOMEM.
int secret_orders_registry_auth(Leader *l, const char *name, Argosy__SecretValue *ret,
                                SecretBytes *ret_bytes);
// A record has changed: which secrets the unit has. 0 or -ENOMEM.
int secret_orders_on_unit(Leader *l, const UnitEntry *e);
