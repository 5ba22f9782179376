// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A round of the scheduler after everything has changed: roles with ten units each, and 10,000 grants, each
// of which has to go to a role that nobody waiting was behind of. The baseline sorts all roles for each
// grant, without looking for nodes.
#include "bench-placement.h"

typedef struct Share {
        double share;
        unsigned role;
} Share;

static int share_compare(const void *a, const void *b) {
        const Share *x = a, *y = b;

        if (x->share != y->share)
                return x->share < y->share ? -1 : 1;
        return (x->role > y->role) - (x->role < y->role);
}

typedef struct Roles {
        unsigned n;
        uint32_t *handles, *weights, *waiting;
        int64_t (*usage)[2];
        int64_t total[2];
} Roles;

static double share_of(const Roles *r, unsigned i) {
        double cpu = (double) r->usage[i][0] / (double) r->total[0];
        double memory = (double) r->usage[i][1] / (double) r->total[1];

        return (cpu > memory ? cpu : memory) / r->weights[i];
}

// Every grant went to a role that nobody waiting was behind of.
static void check_order(const Fleet *f, Roles *r, const PlacementDecision *d, size_t n,
                        const uint32_t *role_of, const unsigned *class_of) {
        for (size_t i = 0; i < n; i++) {
                unsigned role = role_of[d[i].unit];
                const PlacementVector *demand = &f->specs[class_of[d[i].unit]].demand;

                for (unsigned k = 0; k < r->n; k++)
                        if (r->waiting[k] > 0 && share_of(r, k) < share_of(r, role)) {
                                fprintf(stderr, "fair-round: role %u before role %u\n", role, k);
                                exit(1);
                        }
                r->waiting[role]--;
                r->usage[role][0] += demand->of[0];
                r->usage[role][1] += demand->of[1];
        }
}

// The same order by sorting all roles for each grant, without looking for nodes.
static double sorting(const Fleet *f, Roles *r, size_t grants, const uint32_t *queue,
                      const unsigned *class_of) {
        Share *shares = calloc(r->n, sizeof *shares);
        uint32_t *taken = calloc(r->n, sizeof *taken);
        uint64_t begin = bench_now_ns();

        for (size_t g = 0; g < grants; g++) {
                unsigned role = 0;

                for (unsigned i = 0; i < r->n; i++)
                        shares[i] = (Share){share_of(r, i), i};
                qsort(shares, r->n, sizeof *shares, share_compare);
                for (unsigned i = 0; i < r->n; i++)
                        if (taken[shares[i].role] < 10) {
                                role = shares[i].role;
                                break;
                        }
                const PlacementVector *demand = &f->specs[class_of[queue[role * 10 + taken[role]]]].demand;

                taken[role]++;
                r->usage[role][0] += demand->of[0];
                r->usage[role][1] += demand->of[1];
        }
        free(shares);
        free(taken);
        return (double) (bench_now_ns() - begin) / 1e6;
}

// Every role has ten units waiting (five, of 2,000), 10,000 grants; all nodes and all roles have just
// changed.
void bench_fair(const char *metric, uint32_t nodes, unsigned n_roles) {
        enum { GRANTS = 10000 };
        const PlacementBudget all = {.decisions = GRANTS};
        const PlacementDecision *d;
        uint32_t *role_of = calloc(UNITS, sizeof *role_of), *queue = calloc(UNITS, sizeof *queue);
        unsigned *class_of = calloc(UNITS, sizeof *class_of), per_role = 10;
        Roles r = {.n = n_roles};
        Fleet f;
        uint64_t begin;
        double ms, baseline;
        size_t n;

        r.handles = calloc(n_roles, sizeof *r.handles);
        r.weights = calloc(n_roles, sizeof *r.weights);
        r.waiting = calloc(n_roles, sizeof *r.waiting);
        r.usage = calloc(n_roles, sizeof *r.usage);
        fleet_init(&f, UINT64_C(0x2545f4914f6cdd1d));
        for (unsigned i = 0; i < CLASSES; i++)
                fleet_make_class(&f, i);
        fleet_add_nodes(&f, nodes);
        fleet_add_classes(&f);
        for (unsigned i = 0; i < ROLES; i++)
                fleet_add_role(&f, i, NULL, 1);
        fleet_fill(&f);
        for (unsigned i = 0; i < n_roles; i++) {
                PlacementRole role = {.weight = r.weights[i] = 1 + fleet_roll(&f, 20)};

                for (unsigned k = 0; k < PLACEMENT_RESOURCES_MAX; k++)
                        role.limit[k] = -1;
                MUST(placement_role_add(f.p, &role, &r.handles[i]));
                for (unsigned k = 0; k < per_role; k++) {
                        unsigned class = fleet_roll(&f, CLASSES);
                        uint32_t name = f.n_named++, u;

                        fleet_name_unit(&f, name, class);
                        placement_unit_add(f.p, f.names[name], f.classes[class], r.handles[i], 0, &u);
                        placement_unit_want(f.p, u, true);
                        role_of[u] = i;
                        class_of[u] = class;
                        queue[i * per_role + k] = u;
                        r.waiting[i]++;
                }
        }
        for (uint32_t i = 0; i < nodes; i++) { // everything is dirty
                PlacementVector offers = {{f.cpus[i] + 1000, f.memories[i] + 1024}};

                placement_host_set(f.p, i, &offers, PLACEMENT_SIZE_ONE);
                r.total[0] += offers.of[0];
                r.total[1] += offers.of[1];
        }
        begin = bench_now_ns();
        placement_round(f.p, 0, &all, &d, &n);
        ms = (double) (bench_now_ns() - begin) / 1e6;
        if (n != GRANTS) {
                fprintf(stderr, "fair-round: %zu grants\n", n);
                exit(1);
        }
        check_order(&f, &r, d, n, role_of, class_of);
        memset(r.usage, 0, n_roles * sizeof *r.usage);
        baseline = sorting(&f, &r, GRANTS, queue, class_of);
        bench_emit("fair-round", metric, ms, "ms", baseline);
        fleet_done(&f);
        free(r.handles);
        free(r.weights);
        free(r.waiting);
        free(r.usage);
        free(role_of);
        free(class_of);
        free(queue);
}
