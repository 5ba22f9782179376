// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An apply that gives a unit another file of a network gives it to all units that have the former one, in
// other sets, too (changes/request-networks.c). Its plan names them.
//
//      each unit that gets another content -> the networks that it changes -> all of these, each once
//      -> who names them, has the former file of one, and is not changed by the apply itself
//
// One request changes at most REQUEST_TIED_MAX units with those that it is about, so an apply that would
// change more is refused as a whole.
//
// Cost: a look at each unit of the folder, of which instances mostly have one content, and one at each unit
// that names one of the networks. The first NAMED_MAX are named, the others are counted.
//
// Failures: -ENOMEM alone. A content that cannot be parsed changes nothing: the apply refuses its unit.

#include "apply-networks.h"

#include <errno.h>

#include "network-change.h"
#include "ordering.h"
#include "registry.h"
#include "request-ties.h"
#include "response.h"
#include "str.h"
#include "tables.h"

enum {
        NAMED_MAX = 1024, // more are counted
};

typedef struct Networks {
        const ApplyList *list;
        Argosy__Response__ApplyPlan *plan; // NULL: they are counted
        size_t n;
        NetworkChange change; // all of them
        const ApplyItem *last; // whose contents were compared last
        const UnitEntry *entry; // of the unit that is looked at
        const char *name;
        size_t at; // of `change`: whose units are looked at
        // The content of the unit that was looked at last, as thousands may have it, and which of the
        // networks change for it.
        const SpecEntry *seen;
        char *names; // NULL: none
        int r;
} Networks;

// ------------------------------------------------------------------------------------------------ networks

static int add_changed(Networks *w, const void *content, size_t len) {
        NetworkChange change;
        int r = network_change_of(w->name, w->entry->spec->content, w->entry->spec->len, content, len,
                                  &change);

        for (size_t i = 0; i < change.n && r == 0; i++)
                r = network_change_add_once(&w->change, &change.list[i]);
        network_change_done(&change);
        return r;
}

static bool gets_content(const ApplyItem *item) {
        return item->entry && (item->to.aimed || item->lost) && !item->to.aim.remove &&
               !hash_equal(&item->entry->spec->hash, &item->unit.spec);
}

// Instances mostly go from one content to another together.
static bool is_as_last(const Networks *w, const ApplyItem *item) {
        return w->last && w->last->entry->spec == item->entry->spec &&
               hash_equal(&w->last->unit.spec, &item->unit.spec);
}

static int look_at(Networks *w, const ApplyItem *item) {
        const SpecEntry *spec = item->to.aim.spec;
        size_t file = item->to.aim.file;
        const ProtobufCBinaryData *sent = file > 0 ? &w->list->m->files[file - 1]->content : NULL;

        if (!gets_content(item) || (!spec && !sent) || is_as_last(w, item))
                return 0;
        w->last = item;
        w->entry = item->entry;
        w->name = item->to.name;
        return spec ? add_changed(w, spec->content, spec->len) : add_changed(w, sent->data, sent->len);
}

// --------------------------------------------------------------------------------------------- who has them

static bool is_changed_itself(const ApplyList *list, const char *name) {
        const AimItem *item = map_find_str(&list->aims.by_name, name);

        return item && (item->aimed || apply_list_item(item)->lost);
}

// Which of them change for a unit with that content.
static int see(Networks *w, const SpecEntry *spec) {
        const NetworkChange *c = &w->change;
        _cleanup_buf_ Buf text = {};
        int r = 0;

        if (w->seen == spec)
                return 0;
        w->seen = spec;
        free(TAKE_PTR(w->names));
        for (size_t i = 0; i < c->n && r == 0; i++)
                if (network_change_concerns(&(NetworkChange){.list = &c->list[i], .n = 1}, spec))
                        r = buf_printf(&text, "%s%s", text.len > 0 ? ", " : "", c->list[i].file);
        if (r < 0 || text.len == 0)
                return r;
        w->names = buf_take_string(&text);
        return w->names ? 0 : -ENOMEM;
}

static int name_it(const Networks *w, const UnitEntry *e) {
        Leader *l = w->list->leader;
        const Unit *u = unit_find(l, e->record->name);
        Argosy__Response__ApplySharer *sharer = malloc(sizeof(*sharer));

        if (!sharer)
                return -ENOMEM;
        argosy__response__apply_sharer__init(sharer);
        if (FIELD_APPEND(w->plan->sharers, w->plan->n_sharers, sharer) < 0)
                return -ENOMEM;
        sharer->restarts = ordering_standing(l, e->record->name) == STANDING_UP;
        return field_set(&sharer->unit, e->record->name) ?: field_set(&sharer->set, e->record->set)
                       ?: field_set(&sharer->networks, w->names)
                       ?: u && u->node ? field_set(&sharer->node, u->node->name) : 0;
}

static int tell_one(Networks *w, const char *name) {
        const UnitEntry *e = cluster_state_find_unit(w->list->leader->state, name);
        const NetworkChange earlier = {.list = w->change.list, .n = w->at};
        int r;

        if (!e || is_changed_itself(w->list, name))
                return 0;
        r = see(w, e->spec);
        if (r < 0 || !w->names || (w->at > 0 && network_change_concerns(&earlier, e->spec)))
                return r;
        w->n++;
        if (w->plan && w->n <= NAMED_MAX)
                return name_it(w, e);
        return 0;
}

static void on_user(const char *name, void *userdata) {
        Networks *w = userdata;

        if (w->plan || w->n <= REQUEST_TIED_MAX)
                w->r = w->r ?: tell_one(w, name);
}

static int look_at_all(Networks *w) {
        const ApplyList *list = w->list;

        for (size_t i = 0; i < list->aims.n && w->r == 0; i++)
                w->r = look_at(w, &list->items[i]);
        for (; w->at < w->change.n && w->r == 0; w->at++)
                stop_dependents_each(&list->leader->network_users, w->change.list[w->at].file, on_user, w);
        network_change_done(&w->change);
        free(w->names);
        return w->r;
}

int apply_networks_tell(const ApplyList *list, Argosy__Response__ApplyPlan *plan) {
        Networks w = {.list = list, .plan = plan};
        int r = look_at_all(&w);

        plan->more_sharers = (uint32_t) (w.n - plan->n_sharers);
        return r;
}

int apply_networks_refuse(const ApplyList *list, Buf *b) {
        Networks w = {.list = list};
        int r = look_at_all(&w);

        if (r < 0 || w.n <= REQUEST_TIED_MAX)
                return r;
        return buf_printf(b,
                          "more than %d units share networks that it changes, and are not changed by it "
                          "themselves: `update` of one of their containers does that node by node",
                          REQUEST_TIED_MAX);
}
