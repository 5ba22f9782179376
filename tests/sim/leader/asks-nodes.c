// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Requests about nodes: their modes and labels.
#include "asks-private.h"

bool ask_node_change(Draw *d, void *message) {
        static const Argosy__NodeMode modes[] = {ARGOSY__NODE_MODE__MODE_OPEN, ARGOSY__NODE_MODE__MODE_OPEN, ARGOSY__NODE_MODE__MODE_CORDONED,
                                                 ARGOSY__NODE_MODE__MODE_DRAINING, ARGOSY__NODE_MODE__MODE_MAINTENANCE};
        Argosy__Request__NodeChange *m = message;

        m->node = (char *) asks_node(d);
        m->mode = DRAW_PICK(d, modes);
        m->deadline_sec = draw_one_in(d, 4) ? (uint32_t) draw_log(d, 1, 60) : 0;
        return true;
}

bool ask_label_change(Draw *d, void *message) {
        static const char *const zones[] = {"a", "b"};
        Argosy__Request__LabelChange *m = message;

        m->node = (char *) asks_node(d);
        if (draw_one_in(d, 3)) {
                m->unset = asks_alloc(sizeof(*m->unset));
                m->unset[m->n_unset++] = (char *) "zone";
        } else {
                m->set = asks_alloc(sizeof(*m->set));
                m->set[m->n_set++] = ASKS_NEW(Argosy__Label, argosy__label__init);
                m->set[0]->key = (char *) "zone";
                m->set[0]->value = (char *) DRAW_PICK(d, zones);
        }
        return true;
}
