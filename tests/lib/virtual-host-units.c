// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a virtual host holds: an order comes -> the unit is what it says, at once or when the time for that
// is over -> its report is due -> told, many at a time. What cannot be obeyed is a violation, and left
// undone. Out of memory ends the process.
#include "virtual-host-private.h"

#include <errno.h>

#include "clock.h"
#include "feature-level.h"
#include "oom.h"
#include "unit-state.h"

// ---- units

VirtualUnit *virtual_host_find(const VirtualHost *h, const char *name) {
        return map_find_str(&h->units, name);
}

static VirtualUnit *unit_new(const char *name) {
        size_t len = strlen(name);
        VirtualUnit *u = oom_checked(calloc(1, SIZE_WITH_NAME(VirtualUnit, len)));

        memcpy(u->name, name, len + 1);
        list_init(&u->due);
        list_init(&u->awaits);
        return u;
}

static VirtualUnit *unit_get(VirtualHost *h, const char *name) {
        VirtualUnit *u = virtual_host_find(h, name);

        if (u)
                return u;
        u = unit_new(name);
        (void) oom_check(map_add_str(&h->units, u->name, u));
        return u;
}

static void unit_free(VirtualUnit *u) {
        list_unlink(&u->awaits);
        list_unlink(&u->due);
        free(u);
}

static bool is_up(const VirtualUnit *u) {
        return u->active == ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE;
}

// It is held no longer. Whoever still speaks of it owns it.
static void take_out(VirtualHost *h, VirtualUnit *u) {
        h->n_active -= is_up(u);
        deadline_heap_clear(&h->ends, &u->ending);
        list_unlink(&u->due);
        list_unlink(&u->awaits);
        map_take_str(&h->units, u->name);
}

void virtual_host_forget(VirtualHost *h) {
        map_foreach (slot, &h->units) {
                VirtualUnit *u = slot->value;

                take_out(h, u);
                unit_free(u);
        }
        virtual_host_drop_final_reports(h);
        virtual_host_forget_files(h);
}

bool virtual_unit_is_under_way(const VirtualUnit *u) {
        return deadline_is_set(&u->ending) || list_is_linked(&u->awaits);
}

static void mark(VirtualHost *h, VirtualUnit *u) {
        if (!list_is_linked(&u->due))
                list_append(&h->changed, &u->due);
}

static void become(VirtualHost *h, VirtualUnit *u, Argosy__ActiveState active) {
        if (u->active == active)
                return;
        h->n_active -= is_up(u);
        u->active = active;
        h->n_active += is_up(u);
        u->since_us = h->ops->wall_us(h->userdata);
        u->changed_us = h->ops->now_us(h->userdata);
}

// ---- contents

static void content_free(void *value) {
        VirtualContent *c = value;

        carried_files_done(&c->files);
        free(c);
}

void virtual_host_forget_contents(VirtualHost *h) {
        map_done_with(&h->contents, content_free);
}

void virtual_host_learn(VirtualHost *h, Argosy__Spec *const *specs, size_t n) {
        for (size_t i = 0; i < n; i++) {
                Hash hash = hash_of(specs[i]->content.data, specs[i]->content.len), claimed;
                VirtualContent *c;

                if (!hash_from_bytes(specs[i]->hash.data, specs[i]->hash.len, &claimed) ||
                    !hash_equal(&hash, &claimed)) {
                        h->ops->violation("a content does not have the hash that it comes with",
                                          h->userdata);
                        continue;
                }
                h->specs_received++;
                if (map_find(&h->contents, hash.bytes, HASH_SIZE))
                        continue;
                c = oom_checked(calloc(1, sizeof(*c)));
                c->hash = hash;
                if (carried_files_read(specs[i]->content.data, specs[i]->content.len, &c->files) < 0)
                        h->ops->violation("a content has a list of files that nobody can read", h->userdata);
                (void) oom_check(map_add(&h->contents, c->hash.bytes, HASH_SIZE, c));
        }
}

static bool has_content(const VirtualHost *h, const VirtualUnit *u, const Hash *spec) {
        return map_find(&h->contents, spec->bytes, HASH_SIZE) ||
               (u && u->ordered && hash_equal(&u->order.spec, spec));
}

// ---- starts and stops

// What was under way is over, well or not.
static void end_step(VirtualHost *h, VirtualUnit *u) {
        bool stopped = u->stopping;

        u->stopping = false;
        u->answered = u->order.revision;
        u->stays = u->order.stay;
        if (stopped)
                become(h, u, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
        else if (h->ops->fails(u, h->userdata)) {
                become(h, u, ARGOSY__ACTIVE_STATE__ACTIVE_FAILED);
                if (h->ops->ends && h->ops->ends(u, h->userdata))
                        u->outcome = ARGOSY__OUTCOME__KIND__FAILED;
        } else
                become(h, u, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVE);
        mark(h, u);
}

void virtual_host_end_due(VirtualHost *h) {
        uint64_t now_us = h->ops->now_us(h->userdata);
        Deadline *d;

        while ((d = deadline_heap_pop(&h->ends, now_us)))
                end_step(h, CONTAINER_OF(d, VirtualUnit, ending));
}

static void end_in(VirtualHost *h, VirtualUnit *u, uint64_t us) {
        (void) oom_check(deadline_heap_set(&h->ends, &u->ending, h->ops->now_us(h->userdata) + us));
}

static void begin_start(VirtualHost *h, VirtualUnit *u) {
        uint64_t takes_us = h->ops->takes_us(u, false, h->userdata);

        u->stopping = false;
        u->n_restarts = 0; // as systemd does for a start that was asked for
        u->looping = false;
        u->outcome = ARGOSY__OUTCOME__KIND__NONE;
        become(h, u, ARGOSY__ACTIVE_STATE__ACTIVE_ACTIVATING);
        if (takes_us > 0) {
                end_in(h, u, takes_us);
                return;
        }
        deadline_heap_clear(&h->ends, &u->ending);
        end_step(h, u);
}

static bool is_down(const VirtualUnit *u) {
        return u->active == ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN ||
               u->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE;
}

static void begin_stop(VirtualHost *h, VirtualUnit *u) {
        uint64_t takes_us;

        if (u->stopping)
                return;
        deadline_heap_clear(&h->ends, &u->ending);
        if (u->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED) // and stays so: there is nothing to stop
                return;
        takes_us = is_down(u) ? 0 : h->ops->takes_us(u, true, h->userdata);
        if (takes_us == 0) {
                become(h, u, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE);
                return;
        }
        become(h, u, ARGOSY__ACTIVE_STATE__ACTIVE_DEACTIVATING);
        u->stopping = true;
        end_in(h, u, takes_us);
}

void virtual_host_settle(VirtualHost *h, VirtualUnit *u) {
        deadline_heap_clear(&h->ends, &u->ending);
        list_unlink(&u->awaits);
        u->stopping = false;
        u->answered = u->order.revision;
        u->stays = u->order.stay;
}

// ---- orders

// `u` is in no table: it is what is reported last.
static void queue_final(VirtualHost *h, VirtualUnit *u, uint32_t node, uint64_t revision) {
        u->order.node = node;
        u->order.revision = revision;
        list_append(&h->final_reports, &u->due);
}

// It is held no more, or never was.
static void let_go(VirtualHost *h, const char *name, uint32_t node, uint64_t revision) {
        VirtualUnit *u = virtual_host_find(h, name);

        if (u)
                take_out(h, u);
        else
                u = unit_new(name);
        u->gone = true;
        queue_final(h, u, node, revision);
}

// The name is somebody else's there. An agent refuses nothing that it holds: that is its own.
static void refuse(VirtualHost *h, const Argosy__UnitOrder *o) {
        VirtualUnit *u = unit_new(o->name);

        u->refused = true;
        queue_final(h, u, o->node, o->revision);
}

// False: it makes no sense.
static bool decode(const Argosy__UnitOrder *o, VirtualOrder *ret) {
        *ret = (VirtualOrder){
                .revision = o->revision,
                .start_rev = o->start_rev,
                .restart_rev = o->restart_rev,
                .node = o->node,
                .target = o->target,
                .outcome = o->outcome ? o->outcome->kind : ARGOSY__OUTCOME__KIND__NONE,
                .stay = o->stay,
        };
        return hash_from_bytes(o->spec.data, o->spec.len, &ret->spec);
}

static bool is_older(const VirtualUnit *u, const VirtualOrder *o) {
        return u && u->ordered && o->revision < u->order.revision && !o->stay;
}

// NULL: it can be obeyed.
static const char *why_not(const VirtualHost *h, const VirtualUnit *u, const VirtualOrder *o) {
        if (!has_content(h, u, &o->spec))
                return "a unit was ordered without its content";
        if (is_older(u, o))
                return "an order is older than the one before it";
        return NULL;
}

// What the order that has just become the unit's makes of it.
static void follow(VirtualHost *h, VirtualUnit *u, const VirtualOrder *before) {
        const VirtualOrder *o = &u->order;
        bool launched = o->target == ARGOSY__TARGET__TARGET_LAUNCHED,
             other_content = u->ordered && !hash_equal(&before->spec, &o->spec),
             again_up = u->ordered && before->target != ARGOSY__TARGET__TARGET_LAUNCHED;

        if (o->start_rev != before->start_rev && o->outcome == ARGOSY__OUTCOME__KIND__NONE)
                u->outcome = ARGOSY__OUTCOME__KIND__NONE; // it was that of another run
        if (!launched && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_FAILED && other_content)
                become(h, u, ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE); // what failed is not what is there
        if (launched && !is_down(u) && (other_content || o->restart_rev > before->restart_rev)) {
                u->restarts++;
                begin_start(h, u);
        } else if (launched && o->outcome == ARGOSY__OUTCOME__KIND__NONE &&
                   (o->start_rev > before->start_rev || o->restart_rev > before->restart_rev || again_up) &&
                   !is_up(u)) {
                u->starts++;
                begin_start(h, u);
        } else if (!launched || u->active == ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN)
                begin_stop(h, u);
}

static void carry_out(VirtualHost *h, VirtualUnit *u) {
        follow(h, u, &u->before);
        u->ordered = true;
        if (!virtual_unit_is_under_way(u)) {
                u->answered = u->order.revision;
                u->stays = u->order.stay;
        }
        mark(h, u);
}

const char *virtual_host_awaits(VirtualHost *h, const Hash *file, const char *but) {
        list_foreach (n, &h->awaiting) {
                const VirtualUnit *u = CONTAINER_OF(n, VirtualUnit, awaits);
                const VirtualContent *c = map_find(&h->contents, u->order.spec.bytes, HASH_SIZE);

                for (size_t i = 0; c && i < c->files.n; i++)
                        if (hash_equal(&c->files.list[i].hash, file) && !(but && streq(u->name, but)))
                                return u->name;
        }
        return NULL;
}

void virtual_host_on_file(VirtualHost *h) {
        list_foreach_safe (n, &h->awaiting) {
                VirtualUnit *u = CONTAINER_OF(n, VirtualUnit, awaits);
                const VirtualContent *c = map_find(&h->contents, u->order.spec.bytes, HASH_SIZE);

                if (!c || !virtual_host_has_files(h, c)) // of an earlier session: it is ordered again
                        continue;
                list_unlink(&u->awaits);
                carry_out(h, u);
        }
}

static void obey(VirtualHost *h, const Argosy__UnitOrder *o) {
        bool launched = o->target == ARGOSY__TARGET__TARGET_LAUNCHED;
        VirtualUnit *u = virtual_host_find(h, o->name);
        const VirtualContent *c;
        VirtualOrder order;
        const char *why;

        h->n_orders++;
        if (o->node != h->node && !(h->manager && o->node == h->manager_node)) {
                h->ops->violation("an order is about a node of another host", h->userdata);
                return;
        }
        if (o->remove) {
                let_go(h, o->name, o->node, o->revision);
                return;
        }
        if (!(u && u->ordered) && h->ops->foreign && h->ops->foreign(o->name, h->userdata)) {
                refuse(h, o);
                return;
        }
        if (o->stay && launched) // as it is; what was ordered before stays ordered
                return;
        why = decode(o, &order) ? why_not(h, u, &order) : "an order has no content";
        if (why) {
                h->ops->violation(why, h->userdata);
                return;
        }
        u = unit_get(h, o->name);
        if (!list_is_linked(&u->awaits)) // else what it goes by is older
                u->before = u->order;
        u->order = order;
        list_unlink(&u->awaits);
        c = map_find(&h->contents, order.spec.bytes, HASH_SIZE);
        if (!c || virtual_host_has_files(h, c)) {
                carry_out(h, u);
                return;
        }
        list_append(&h->awaiting, &u->awaits);
        virtual_host_fetch(h, c);
}

void virtual_host_obey(VirtualHost *h, Argosy__UnitOrder *const *orders, size_t n) {
        for (size_t i = 0; i < n; i++)
                obey(h, orders[i]);
}

void virtual_host_obey_wanted(VirtualHost *h, Argosy__UnitOrder *const *orders, size_t n) {
        if (h->parts == 0)
                map_foreach (slot, &h->units)
                        ((VirtualUnit *) slot->value)->named = false;
        for (size_t i = 0; i < n; i++) {
                VirtualUnit *u;

                obey(h, orders[i]);
                u = virtual_host_find(h, orders[i]->name);
                if (u)
                        u->named = true;
        }
}

void virtual_host_drop_unnamed(VirtualHost *h) {
        map_foreach (slot, &h->units) {
                VirtualUnit *u = slot->value;

                if (!u->named)
                        let_go(h, u->name, u->order.node, 0);
        }
}

// ---- what is said of them

const char *virtual_unit_sub(const VirtualUnit *u) {
        return is_up(u) ? "running" : "dead";
}

static void fill(const VirtualHost *h, const VirtualUnit *u, Argosy__UnitReport *r) {
        bool under_way = virtual_unit_is_under_way(u);

        argosy__unit_report__init(r);
        r->node = u->order.node;
        r->name = (char *) u->name;
        r->revision = under_way ? u->answered : u->order.revision;
        r->gone = u->gone;
        r->refused = u->refused;
        if (u->refused)
                r->error =
                        (char *) (h->ops->foreign(u->name, h->userdata) ?: "the name was somebody else's");
        if (u->gone || u->refused)
                return;
        r->spec = (ProtobufCBinaryData){
                HASH_SIZE, (uint8_t *) (list_is_linked(&u->awaits) ? &u->before : &u->order)->spec.bytes};
        r->stays = under_way ? u->stays : u->order.stay;
        r->load = ARGOSY__LOAD_STATE__LOAD_LOADED;
        r->active = u->active;
        if (u->drift && u->active == ARGOSY__ACTIVE_STATE__ACTIVE_INACTIVE)
                r->down = ARGOSY__DOWN_CAUSE__DOWN_STOPPED;
        r->sub = (char *) virtual_unit_sub(u);
        r->since_us = u->since_us;
        r->changed_ms = h->ops->reported_ms(u->changed_us, h->userdata);
        r->probation = u->probation ?: h->on_probation && is_up(u) ? ARGOSY__PROBATION__PROBATION_ON : 0;
        r->probation_ms = r->changed_ms;
        r->restarts = u->n_restarts;
        r->failed_restarts = u->failed_restarts;
        r->looping = u->looping;
}

int virtual_host_say_lived(VirtualHost *h) {
        Argosy__ToVoter__Reports m = ARGOSY__TO_VOTER__REPORTS__INIT;

        m.lived_ms = h->ops->reported_ms(h->ops->now_us(h->userdata), h->userdata);
        return virtual_host_send(h, ARGOSY__TO_VOTER__MSG_REPORTS, &m);
}

static void fill_outcome(const VirtualUnit *u, Argosy__Outcome__Kind kind, Argosy__Outcome *ret) {
        argosy__outcome__init(ret);
        ret->kind = kind;
        ret->node = u->order.node;
        ret->start_rev = u->order.start_rev;
}

// One message of what comes first in the list. False: it was not taken, and waits.
static bool send_some(VirtualHost *h, ListNode *list) {
        Argosy__ToVoter__Reports m = ARGOSY__TO_VOTER__REPORTS__INIT;
        Argosy__UnitReport rows[VIRTUAL_REPORTS_PER_MESSAGE], *pointers[VIRTUAL_REPORTS_PER_MESSAGE];
        Argosy__Outcome outcomes[VIRTUAL_REPORTS_PER_MESSAGE];

        list_foreach (n, list) {
                const VirtualUnit *u = CONTAINER_OF(n, const VirtualUnit, due);

                if (m.n_reports == ELEMENTSOF(rows))
                        break;
                fill(h, u, &rows[m.n_reports]);
                if (u->outcome != ARGOSY__OUTCOME__KIND__NONE && !u->gone && !u->refused) {
                        fill_outcome(u, u->outcome, &outcomes[m.n_reports]);
                        rows[m.n_reports].outcome = &outcomes[m.n_reports];
                }
                pointers[m.n_reports] = &rows[m.n_reports];
                m.n_reports++;
        }
        m.reports = pointers;
        if (virtual_host_send(h, ARGOSY__TO_VOTER__MSG_REPORTS, &m) < 0)
                return false;
        h->n_reports += m.n_reports;
        for (; m.n_reports > 0; m.n_reports--) {
                VirtualUnit *u = CONTAINER_OF(list->next, VirtualUnit, due);

                list_unlink(&u->due);
                if (u->gone || u->refused)
                        unit_free(u);
        }
        return true;
}

void virtual_host_send_final_reports(VirtualHost *h) {
        while (!list_is_empty(&h->final_reports) && send_some(h, &h->final_reports))
                continue;
}

void virtual_host_send_reports(VirtualHost *h) {
        virtual_host_send_final_reports(h);
        while (!list_is_empty(&h->changed) && send_some(h, &h->changed))
                continue;
}

void virtual_host_drop_final_reports(VirtualHost *h) {
        while (!list_is_empty(&h->final_reports))
                unit_free(CONTAINER_OF(h->final_reports.next, VirtualUnit, due));
}

void virtual_host_end(VirtualHost *h, VirtualUnit *u, Argosy__ActiveState active,
                      Argosy__Outcome__Kind kind) {
        become(h, u, active);
        u->outcome = kind;
        mark(h, u);
}

void virtual_host_restart(VirtualHost *h, VirtualUnit *u, bool failed, bool looping) {
        u->n_restarts++;
        u->failed_restarts += failed;
        u->looping = looping;
        u->since_us = h->ops->wall_us(h->userdata);
        u->changed_us = h->ops->now_us(h->userdata);
        mark(h, u);
}

void virtual_host_report(VirtualHost *h, VirtualUnit *u, Argosy__ActiveState active,
                         Argosy__Outcome__Kind kind) {
        Argosy__ToVoter__Reports m = ARGOSY__TO_VOTER__REPORTS__INIT;
        Argosy__Outcome outcome;
        Argosy__UnitReport row, *pointer = &row;

        become(h, u, active);
        u->outcome = kind; // again with the next Attach: a leader that goes does not put it into the log
        fill(h, u, &row);
        if (kind != ARGOSY__OUTCOME__KIND__NONE) {
                fill_outcome(u, kind, &outcome);
                outcome.result = kind == ARGOSY__OUTCOME__KIND__DONE ? "success" : "exit-code";
                row.outcome = &outcome;
                row.result = outcome.result;
        }
        m.reports = &pointer;
        m.n_reports = 1;
        h->n_reports++;
        (void) virtual_host_send(h, ARGOSY__TO_VOTER__MSG_REPORTS, &m);
}

// ---- Attach

typedef struct Row {
        Argosy__UnitReport report;
        Argosy__Outcome outcome;
} Row;

void virtual_host_held(const VirtualHost *h, Argosy__UnitReport ***ret, size_t *ret_n) {
        Argosy__UnitReport **held = oom_checked(calloc(h->units.count + 1, sizeof(*held)));
        Row *rows = oom_checked(calloc(h->units.count + 1, sizeof(*rows)));
        size_t n = 0;

        held[0] = &rows[0].report;
        map_foreach (slot, &h->units) {
                const VirtualUnit *u = slot->value;

                if (!u->ordered) // it has nothing yet but the order
                        continue;
                fill(h, u, &rows[n].report);
                if (u->outcome != ARGOSY__OUTCOME__KIND__NONE) {
                        fill_outcome(u, u->outcome, &rows[n].outcome);
                        rows[n].report.outcome = &rows[n].outcome;
                }
                held[n] = &rows[n].report;
                n++;
        }
        *ret = held;
        *ret_n = n;
}

void virtual_host_held_free(Argosy__UnitReport **held) {
        static_assert(offsetof(Row, report) == 0, "the first report is where the rows begin");

        free(held[0]);
        free(held);
}
