// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The scheduler alone: no I/O, one core, seeded. 10,000 hosts of three sizes with labels, 200 spec classes
// in random order, filled to 80 %; then units go and others come, one after the other, each placed at once.
// The baseline is what one would write first: look at every node. Both decide by the same rules; one in a
// thousand answers (all of fair-round) is compared with brute force (tests/lib/brute-placement.c), which
// shares nothing with either.
#include <stdio.h>
#include <time.h>

#include "../../src/placement/placement-private.h"
#include "../lib/brute-placement.h"
#include "rebalance.h"

enum { NODES = 10000, CLASSES = 200, UNITS = 600000, BLOCK = 1000, BLOCKS = 40, NAME = 24, ROLES = 50 };

typedef struct Fleet {
        uint64_t seed;
        Placement *p;
        Brute brute;
        uint32_t n_nodes, n_units, roles[ROLES];
        char text[CLASSES][2][NAME];
        const char *values[CLASSES][2][4], *conflicts[CLASSES][2];
        PlacementTerm terms[CLASSES][2];
        PlacementSpec specs[CLASSES];
        uint32_t classes[CLASSES];
        PlacementLabel (*labels)[5];
        char (*names)[NAME];
        uint32_t *units, *handles; // handles of those that are placed; by handle: index in names
        uint32_t n_placed, n_named;
        // for the plain scan
        int32_t *cpu, *memory, *cpus, *memories;
        uint32_t *counts;
        uint8_t *admits; // [class][node]
} Fleet;

#define MUST(call)                                                         \
        do {                                                               \
                int _r = (call);                                           \
                if (_r < 0) {                                              \
                        fprintf(stderr, "%s: %s\n", #call, strerror(-_r)); \
                        exit(1);                                           \
                }                                                          \
        } while (0)

static uint64_t now_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); // nothing here waits; others may use the machine
        return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

static unsigned roll(Fleet *f, unsigned n) {
        f->seed ^= f->seed << 13;
        f->seed ^= f->seed >> 7;
        f->seed ^= f->seed << 17;
        return (unsigned) (f->seed >> 11) % n;
}

static void emit(const char *bench, const char *metric, double value, const char *unit, double baseline) {
        printf("{\"bench\": \"%s\", \"metric\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"", bench, metric,
               value, unit);
        if (baseline > 0)
                printf(", \"baseline\": %.6g, \"ratio\": %.4g", baseline, value / baseline);
        printf("}\n");
        fflush(stdout);
}

// ------------------------------------------------------------------------------------------------ the fleet

static const char *const zones[] = {"z0", "z1", "z2", "z3", "z4", "z5", "z6", "z7", "z8", "z9"};
static const char *const disks[] = {"hdd", "ssd", "nvme"}, *const archs[] = {"x86-64", "arm64"};
static const char *const generations[] = {"g1", "g2", "g3", "g4"};

static void make_class(Fleet *f, unsigned i) {
        PlacementSpec *s = &f->specs[i];
        unsigned n = 1 + roll(f, 3), first = roll(f, 10);

        *s = (PlacementSpec){.terms = f->terms[i]};
        s->demand.of[PLACEMENT_CPU] = (int32_t) (50 * (1 + roll(f, 40)));
        s->demand.of[PLACEMENT_MEMORY] = (int32_t) (64 * (1 + roll(f, 100)));
        if (roll(f, 2)) {
                for (unsigned k = 0; k < n; k++)
                        f->values[i][0][k] = zones[(first + 3 * k) % 10];
                f->terms[i][s->n_terms++] = (PlacementTerm){PLACEMENT_IN, "zone", f->values[i][0]};
        }
        if (roll(f, 2)) {
                bool disk = roll(f, 2);

                f->values[i][1][0] = disk ? disks[roll(f, 3)] : generations[roll(f, 4)];
                f->terms[i][s->n_terms++] = (PlacementTerm){disk ? PLACEMENT_IN : PLACEMENT_NOT_IN,
                                                            disk ? "disk" : "generation", f->values[i][1]};
        }
}

static void constrain_class(Fleet *f, unsigned i) {
        PlacementSpec *s = &f->specs[i];

        if (i % 2 == 0) {
                s->spread = i % 4 ? "rack" : "zone";
                snprintf(f->text[i][0], NAME, "group%u", i);
                s->spread_group = f->text[i][0];
                s->spread_soft = i % 3;
                s->spread_skew = (uint16_t) (1 + roll(f, 3));
        }
        if (i % 3 == 0) {
                snprintf(f->text[i][1], NAME, "c%03u-*.service", (i + 1 + roll(f, 5)) % CLASSES);
                f->conflicts[i][0] = f->text[i][1];
                s->conflicts = f->conflicts[i];
        }
}

static void add_nodes(Fleet *f, uint32_t n) {
        static const int32_t cores[] = {16, 32, 64}, gigabytes[] = {3, 4, 5}; // these for each core
        static char racks[200][8];

        f->labels = calloc(n, sizeof *f->labels);
        f->cpu = calloc(n, sizeof *f->cpu);
        f->memory = calloc(n, sizeof *f->memory);
        f->cpus = calloc(n, sizeof *f->cpu);
        f->memories = calloc(n, sizeof *f->memory);
        f->counts = calloc(n, sizeof *f->counts);
        for (unsigned i = 0; i < 200; i++)
                snprintf(racks[i], sizeof racks[i], "r%u", i);
        for (uint32_t i = 0; i < n; i++) {
                int32_t n_cores = cores[roll(f, 3)];
                PlacementVector offers = {{n_cores * 1000, n_cores * 1024 * gigabytes[roll(f, 3)]}};
                unsigned rack = roll(f, 200);
                uint32_t host, node;

                f->labels[i][0] = (PlacementLabel){"zone", zones[rack / 20]};
                f->labels[i][1] = (PlacementLabel){"rack", racks[rack]};
                f->labels[i][2] = (PlacementLabel){"disk", disks[roll(f, 3)]};
                f->labels[i][3] = (PlacementLabel){"arch", archs[roll(f, 2)]};
                f->labels[i][4] = (PlacementLabel){"generation", generations[roll(f, 4)]};
                placement_host_add(f->p, &offers, PLACEMENT_SIZE_ONE, &host);
                placement_node_add(f->p, host, f->labels[i], 5, &node);
                placement_node_set_state(f->p, node, PLACEMENT_OPEN);
                brute_host(&f->brute, host, &offers, PLACEMENT_SIZE_ONE);
                brute_node(&f->brute, node, host, f->labels[i], 5);
                f->cpus[i] = f->cpu[i] = offers.of[PLACEMENT_CPU];
                f->memories[i] = f->memory[i] = offers.of[PLACEMENT_MEMORY];
        }
        f->n_nodes = n;
}

static void add_classes(Fleet *f) {
        f->admits = calloc(CLASSES, f->n_nodes);
        for (unsigned i = 0; i < CLASSES; i++) {
                MUST(placement_class_get(f->p, &f->specs[i], &f->classes[i]));
                for (uint32_t n = 0; n < f->n_nodes; n++)
                        f->admits[i * f->n_nodes + n] = brute_admits(&f->brute, &f->specs[i], n);
        }
}

static void add_role(Fleet *f, unsigned i, const int64_t *limit, uint32_t weight) {
        PlacementRole role = {.weight = weight};

        for (unsigned k = 0; k < PLACEMENT_RESOURCES_MAX; k++)
                role.limit[k] = limit ? limit[k] : -1;
        MUST(placement_role_add(f->p, &role, &f->roles[i]));
}

static void fleet_init(Fleet *f, uint64_t seed) {
        *f = (Fleet){.seed = seed};
        f->p = placement_new();
        f->names = calloc(UNITS, sizeof *f->names);
        f->units = calloc(UNITS, sizeof *f->units);
        f->handles = calloc(UNITS, sizeof *f->handles);
}

static void fleet_done(Fleet *f) {
        placement_free(f->p);
        brute_done(&f->brute);
        free(f->labels);
        free(f->names);
        free(f->units);
        free(f->handles);
        free(f->cpu);
        free(f->memory);
        free(f->cpus);
        free(f->memories);
        free(f->counts);
        free(f->admits);
}

// ------------------------------------------------------------------------------------------------ one unit

typedef struct Step { // a unit that goes, and one that comes
        uint32_t gone, unit, node;
        unsigned class;
} Step;

static uint32_t place(Fleet *f, unsigned class, uint32_t name, uint32_t role, uint32_t *ret_node) {
        const PlacementBudget one = {.decisions = 1};
        const PlacementDecision *d;
        uint32_t unit;
        size_t n;

        placement_unit_add(f->p, f->names[name], f->classes[class], role, 0, &unit);
        placement_unit_want(f->p, unit, true);
        placement_round(f->p, 0, &one, &d, &n);
        *ret_node = n ? d[0].to : PLACEMENT_NONE;
        return unit;
}

// The new one takes the name's place of the one that went: names are made before the clock runs.
static void name_unit(Fleet *f, uint32_t name, unsigned class) {
        snprintf(f->names[name], NAME, "c%03u-%06u.service", class, name);
}

static void keep(Fleet *f, uint32_t unit, uint32_t name) {
        f->handles[unit] = name;
        f->units[f->n_placed++] = unit;
}

// Until 80 % of the cores or of the memory are reserved.
static void fill(Fleet *f) {
        int64_t cpu = 0, memory = 0, cpus = 0, memories = 0;
        uint32_t n_refused = 0;

        for (uint32_t i = 0; i < f->n_nodes; i++) {
                cpus += f->cpus[i];
                memories += f->memories[i];
        }
        while (cpu * 10 < cpus * 8 && memory * 10 < memories * 8 && n_refused < f->n_named / 10 + 1000) {
                unsigned class = roll(f, CLASSES);
                uint32_t name = f->n_named, node, unit;

                if (name + 1 == UNITS) {
                        fprintf(stderr, "too many units\n");
                        exit(1);
                }
                name_unit(f, name, class);
                unit = place(f, class, name, f->roles[class % ROLES], &node);
                if (node == PLACEMENT_NONE) { // this class is at its end
                        placement_unit_remove(f->p, unit);
                        n_refused++;
                        continue;
                }
                f->n_named++;
                cpu += f->specs[class].demand.of[PLACEMENT_CPU];
                memory += f->specs[class].demand.of[PLACEMENT_MEMORY];
                brute_unit(&f->brute, unit, f->names[name], &f->specs[class]);
                brute_put(&f->brute, unit, node);
                keep(f, unit, name);
        }
        fprintf(stderr, "%u units, %.0f %% of the cores and %.0f %% of the memory\n", f->n_placed,
                100.0 * (double) cpu / (double) cpus, 100.0 * (double) memory / (double) memories);
}

static void compare(Fleet *f, uint32_t unit, unsigned class, uint32_t name, uint32_t got,
                    const char *bench) {
        uint32_t expected;

        brute_unit(&f->brute, unit, f->names[name], &f->specs[class]);
        expected = brute_choose(&f->brute, unit);
        if (got == expected)
                return;
        fprintf(stderr, "%s: class %u went to %u, brute force says %u\n", bench, class, got, expected);
        exit(1);
}

// The limit of a role is none of brute force's business: roles are wide enough in what is compared.
static double churn(Fleet *f, const char *bench) {
        Step steps[BLOCK];
        uint32_t names[BLOCK], picks[BLOCK];
        uint64_t ns = 0, refused = 0;

        for (int block = 0; block < BLOCKS; block++) {
                uint64_t begin;

                for (int i = 0; i < BLOCK; i++) {
                        steps[i].class = roll(f, CLASSES);
                        picks[i] = roll(f, f->n_placed);
                }
                begin = now_ns();
                for (int i = 0; i < BLOCK; i++) {
                        uint32_t gone = f->units[picks[i]];

                        steps[i].gone = gone;
                        names[i] = f->handles[gone];
                        placement_unit_remove(f->p, gone);
                        // any name of the class will do for its globs; the number keeps it unique
                        memcpy(f->names[names[i]],
                               (char[]){'c', (char) ('0' + steps[i].class / 100),
                                        (char) ('0' + steps[i].class / 10 % 10),
                                        (char) ('0' + steps[i].class % 10)},
                               4);
                        steps[i].unit = place(f, steps[i].class, names[i], f->roles[steps[i].class % ROLES],
                                              &steps[i].node);
                        if (steps[i].node == PLACEMENT_NONE) // it is compared, but not kept waiting
                                placement_unit_want(f->p, steps[i].unit, false);
                        f->units[picks[i]] = steps[i].unit;
                        f->handles[steps[i].unit] = names[i];
                }
                ns += now_ns() - begin;
                for (int i = 0; i < BLOCK; i++) {
                        brute_drop(&f->brute, steps[i].gone);
                        if (i == BLOCK - 1)
                                compare(f, steps[i].unit, steps[i].class, names[i], steps[i].node, bench);
                        brute_unit(&f->brute, steps[i].unit, f->names[names[i]], &f->specs[steps[i].class]);
                        if (steps[i].node != PLACEMENT_NONE)
                                brute_put(&f->brute, steps[i].unit, steps[i].node);
                        refused += steps[i].node == PLACEMENT_NONE;
                }
        }
        fprintf(stderr, "%s: %llu of %d refused\n", bench, (unsigned long long) refused, BLOCK * BLOCKS);
        return 1e9 * BLOCK * BLOCKS / (double) ns;
}

// ------------------------------------------------------------------------------------------- the plain scan

static uint32_t load_of(const Fleet *f, uint32_t n, bool fit) {
        int64_t whole = fit ? 4095 : PLACEMENT_SHARE;
        int64_t cpu = (f->cpus[n] - f->cpu[n]) * whole / f->cpus[n];
        int64_t memory = (f->memories[n] - f->memory[n]) * whole / f->memories[n];
        uint32_t share = (uint32_t) (cpu > memory ? cpu : memory);

        return fit ? 4095 - share : share + PLACEMENT_UNIT_LOAD * f->counts[n];
}

static uint32_t scan(const Fleet *f, unsigned class, bool fit) {
        const PlacementSpec *s = &f->specs[class];
        const uint8_t *admits = f->admits + (size_t) class * f->n_nodes;
        uint32_t best = PLACEMENT_NONE, best_load = UINT32_MAX;

        for (uint32_t n = 0; n < f->n_nodes; n++)
                if (admits[n] && f->cpu[n] >= s->demand.of[PLACEMENT_CPU] &&
                    f->memory[n] >= s->demand.of[PLACEMENT_MEMORY]) {
                        uint32_t load = load_of(f, n, fit);

                        if (load < best_load) {
                                best = n;
                                best_load = load;
                        }
                }
        return best;
}

static void take(Fleet *f, uint32_t node, const PlacementSpec *s, int step) {
        f->cpu[node] -= step * s->demand.of[PLACEMENT_CPU];
        f->memory[node] -= step * s->demand.of[PLACEMENT_MEMORY];
        f->counts[node] += (uint32_t) step;
}

static double scan_rate(Fleet *f, bool fit) {
        enum { SCANS = 4000 };
        uint64_t begin;

        for (uint32_t u = 0; u < f->n_placed; u++) {
                const BruteUnit *b = &f->brute.units[f->units[u]];

                if (b->node != PLACEMENT_NONE)
                        take(f, b->node, b->spec, +1);
        }
        begin = now_ns();
        for (int i = 0; i < SCANS; i++) {
                const BruteUnit *b = &f->brute.units[f->units[roll(f, f->n_placed)]];
                unsigned class = roll(f, CLASSES);
                uint32_t node;

                if (b->node != PLACEMENT_NONE)
                        take(f, b->node, b->spec, -1);
                node = scan(f, class, fit);
                if (b->node != PLACEMENT_NONE)
                        take(f, b->node, b->spec, +1);
                if (node == PLACEMENT_NONE)
                        continue;
                take(f, node, &f->specs[class], +1);
                take(f, node, &f->specs[class], -1);
        }
        return 1e9 * SCANS / (double) (now_ns() - begin);
}

// ------------------------------------------------------------------------------------------- the benchmarks

static void bench_place(const char *bench, bool constrained, PlacementPolicy policy) {
        Fleet f;
        double rate;

        fleet_init(&f, UINT64_C(0x2545f4914f6cdd1d));
        for (unsigned i = 0; i < CLASSES; i++) {
                make_class(&f, i);
                if (constrained)
                        constrain_class(&f, i);
                f.specs[i].policy = policy;
        }
        add_nodes(&f, NODES);
        add_classes(&f);
        for (unsigned i = 0; i < ROLES; i++) {
                const int64_t quota[PLACEMENT_RESOURCES_MAX] = {1000000000, 1000000000, -1, -1,
                                                                -1,         -1,         -1, -1};

                add_role(&f, i, constrained ? quota : NULL, 1 + i % 7);
        }
        fill(&f);
        rate = churn(&f, bench);
        emit(bench, "rate", rate, "1/s", scan_rate(&f, policy == PLACEMENT_BEST_FIT));
        fleet_done(&f);
}

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
        uint64_t begin = now_ns();

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
        return (double) (now_ns() - begin) / 1e6;
}

// Every role has ten units waiting (five, of 2,000), 10,000 grants; all nodes and all roles have just
// changed.
static void bench_fair(const char *metric, uint32_t nodes, unsigned n_roles) {
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
                make_class(&f, i);
        add_nodes(&f, nodes);
        add_classes(&f);
        for (unsigned i = 0; i < ROLES; i++)
                add_role(&f, i, NULL, 1);
        fill(&f);
        for (unsigned i = 0; i < n_roles; i++) {
                PlacementRole role = {.weight = r.weights[i] = 1 + roll(&f, 20)};

                for (unsigned k = 0; k < PLACEMENT_RESOURCES_MAX; k++)
                        role.limit[k] = -1;
                MUST(placement_role_add(f.p, &role, &r.handles[i]));
                for (unsigned k = 0; k < per_role; k++) {
                        unsigned class = roll(&f, CLASSES);
                        uint32_t name = f.n_named++, u;

                        name_unit(&f, name, class);
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
        begin = now_ns();
        placement_round(f.p, 0, &all, &d, &n);
        ms = (double) (now_ns() - begin) / 1e6;
        if (n != GRANTS) {
                fprintf(stderr, "fair-round: %zu grants\n", n);
                exit(1);
        }
        check_order(&f, &r, d, n, role_of, class_of);
        memset(r.usage, 0, n_roles * sizeof *r.usage);
        baseline = sorting(&f, &r, GRANTS, queue, class_of);
        emit("fair-round", metric, ms, "ms", baseline);
        fleet_done(&f);
        free(r.handles);
        free(r.weights);
        free(r.waiting);
        free(r.usage);
        free(role_of);
        free(class_of);
        free(queue);
}

static void check_moves(Fleet *f, const PlacementDecision *d, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const BruteUnit *u = &f->brute.units[d[i].unit];

                if (!brute_eligible(&f->brute, d[i].unit, d[i].to) || d[i].from != u->node ||
                    (i % 30 == 0 && brute_choose(&f->brute, d[i].unit) != d[i].to)) {
                        fprintf(stderr, "mass-loss: wrong move of %s\n", u->name);
                        exit(1);
                }
                brute_put(&f->brute, d[i].unit, d[i].to);
        }
}

// 30 units on each of 10,000 nodes. The baseline looks at every node for each unit.
static void bench_mass_loss(void) {
        enum { LOST = 100, EACH = 30 };
        const PlacementBudget all = {.decisions = LOST * EACH};
        const PlacementDecision *d;
        double ms, baseline;
        uint64_t begin;
        Fleet f;
        size_t n;

        fleet_init(&f, UINT64_C(0x2545f4914f6cdd1d));
        for (unsigned i = 0; i < CLASSES; i++) {
                make_class(&f, i);
                f.specs[i].demand.of[PLACEMENT_CPU] = (int32_t) (50 * (1 + roll(&f, 15)));
                f.specs[i].demand.of[PLACEMENT_MEMORY] = (int32_t) (32 * (1 + roll(&f, 50)));
        }
        add_nodes(&f, NODES);
        add_classes(&f);
        for (unsigned i = 0; i < ROLES; i++)
                add_role(&f, i, NULL, 1);
        for (uint32_t i = 0; i < NODES * EACH; i++) {
                unsigned class = roll(&f, CLASSES);
                uint32_t unit;

                while (!f.admits[(size_t) class * NODES + i / EACH])
                        class = roll(&f, CLASSES);
                name_unit(&f, i, class);
                placement_unit_add(f.p, f.names[i], f.classes[class], f.roles[class % ROLES], 0, &unit);
                placement_unit_put(f.p, unit, i / EACH);
                placement_unit_want(f.p, unit, true);
                brute_unit(&f.brute, unit, f.names[i], &f.specs[class]);
                brute_put(&f.brute, unit, i / EACH);
                keep(&f, unit, i);
        }
        for (uint32_t i = 0; i < LOST; i++)
                f.brute.nodes[i * 97].state = PLACEMENT_LOST;
        begin = now_ns();
        for (uint32_t i = 0; i < LOST; i++)
                placement_node_set_state(f.p, i * 97, PLACEMENT_LOST);
        for (uint32_t i = 0; i < LOST; i++)
                for (uint32_t k = 0; k < EACH; k++)
                        placement_unit_release(f.p, f.units[i * 97 * EACH + k], true);
        placement_round(f.p, 1, &all, &d, &n);
        ms = (double) (now_ns() - begin) / 1e6;
        if (n != LOST * EACH) {
                fprintf(stderr, "mass-loss: %zu moves\n", n);
                exit(1);
        }
        check_moves(&f, d, n);
        baseline = LOST * EACH / scan_rate(&f, false) * 1e3;
        emit("mass-loss", "wall", ms, "ms", baseline);
        fleet_done(&f);
}

static size_t index_bytes(const Placement *p, const Index *ix) {
        size_t n = 0;

        if (!ix->on)
                return 0;
        for (uint32_t k = 0; k < INDEX_KEYS; k++)
                n += ix->keys[k].nodes ? p->node_words * sizeof(Word) : 0;
        return n + INDEX_KEYS * sizeof *ix->keys + p->masks_allocated * sizeof *ix->links +
               (size_t) (INDEX_KEYS + INDEX_MIDS + INDEX_TOPS) * p->n_words * sizeof(Word);
}

// Bytes of memory that it takes altogether.
static size_t bytes_of(const Placement *p) {
        const Map *maps[] = {&p->classes_by_key, &p->selectors_by_key, &p->shapes_by_key, &p->globs_by_text,
                             &p->groups_by_name, &p->keys_by_name,     &p->pairs_by_text, &p->queues_by_key};
        size_t n = sizeof *p;

        for (size_t i = 0; i < ELEMENTSOF(maps); i++)
                n += maps[i]->n_slots * sizeof(MapSlot);
        for (int i = 0; i < N_INDEXES; i++)
                n += index_bytes(p, &p->indexes[i]);
        n += p->hosts_allocated * sizeof *p->hosts + p->nodes_allocated * sizeof *p->nodes +
             p->classes_allocated * sizeof *p->classes + p->selectors_allocated * sizeof *p->selectors +
             p->shapes_allocated * sizeof *p->shapes + p->globs_allocated * sizeof *p->globs +
             p->groups_allocated * sizeof *p->groups + p->spreads_allocated * sizeof *p->spreads +
             p->roles_allocated * sizeof *p->roles + p->queues_allocated * sizeof *p->queues +
             p->units_allocated * sizeof *p->units + p->links_allocated * sizeof *p->links +
             p->keys_allocated * sizeof *p->keys + p->pairs_allocated * sizeof *p->pairs +
             p->exclusions_allocated * sizeof *p->exclusions + p->decisions_allocated * sizeof *p->decisions;
        return n;
}

static void bench_memory(void) {
        size_t empty, nodes, units;
        uint32_t unit;
        Fleet f;

        fleet_init(&f, UINT64_C(0x2545f4914f6cdd1d));
        for (unsigned i = 0; i < CLASSES; i++) {
                make_class(&f, i);
                constrain_class(&f, i);
                f.specs[i].policy = i % 2 ? PLACEMENT_BEST_FIT : PLACEMENT_LEAST_LOADED;
        }
        for (unsigned i = 0; i < ROLES; i++)
                add_role(&f, i, NULL, 1);
        empty = bytes_of(f.p);
        add_nodes(&f, NODES);
        add_classes(&f);
        for (unsigned i = 0; i < CLASSES; i++) { // one unit of each, for what a class in use needs per node
                name_unit(&f, i, i);
                placement_unit_add(f.p, f.names[i], f.classes[i], f.roles[0], 0, &unit);
                placement_unit_put(f.p, unit, i);
        }
        nodes = bytes_of(f.p);
        for (uint32_t i = CLASSES; i < 300000; i++) {
                unsigned class = roll(&f, CLASSES);

                name_unit(&f, i, class);
                placement_unit_add(f.p, f.names[i], f.classes[class], f.roles[class % ROLES], 0, &unit);
                placement_unit_put(f.p, unit, i % NODES);
        }
        units = bytes_of(f.p);
        emit("place-memory", "per-unit", (double) (units - nodes) / (300000 - CLASSES), "B", 0);
        emit("place-memory", "per-node", (double) (nodes - empty) / NODES, "B", 0);
        fleet_done(&f);
}

static void copy_bytes(size_t n, double *ret_ms) {
        char *from = calloc(1, n), *to;
        uint64_t begin;

        memset(from, 1, n);
        begin = now_ns();
        to = malloc(n);
        memcpy(to, from, n);
        *ret_ms = (double) (now_ns() - begin) / 1e6;
        if (to[n - 1] != 1)
                exit(1);
        free(from);
        free(to);
}

// 25 units on each of 4,000 nodes, and 1,000 that have none: what a rebalance costs the loop (a copy, and in the end
// what of the plan is still right), and the pool (the search). The baseline of a copy is one of as many bytes.
static void bench_rebalance(void) {
        enum { ALL = 5000, IN_USE = 4000, EACH = 25, ROUNDS = 5, MOVES = 1000 };
        const RebalanceRules rules = {.max_moves = MOVES};
        double ms = 0, baseline = 0, one;
        RebalanceMove *moves;
        size_t n, kept;
        uint64_t begin;
        Placement *p;
        bool more;
        Fleet f;

        fleet_init(&f, UINT64_C(0x2545f4914f6cdd1d));
        for (unsigned i = 0; i < CLASSES; i++) {
                make_class(&f, i);
                constrain_class(&f, i);
                f.specs[i].demand.of[PLACEMENT_CPU] = (int32_t) (50 * (1 + roll(&f, 15)));
                f.specs[i].demand.of[PLACEMENT_MEMORY] = (int32_t) (32 * (1 + roll(&f, 50)));
        }
        add_nodes(&f, ALL);
        add_classes(&f);
        add_role(&f, 0, NULL, 1);
        for (uint32_t i = 0; i < IN_USE * EACH; i++) {
                unsigned class = roll(&f, CLASSES);
                uint32_t unit;

                while (!f.admits[(size_t) class * ALL + i / EACH])
                        class = roll(&f, CLASSES);
                name_unit(&f, i, class);
                placement_unit_add(f.p, f.names[i], f.classes[class], f.roles[0], 0, &unit);
                placement_unit_put(f.p, unit, i / EACH);
                placement_unit_want(f.p, unit, true);
        }
        for (uint32_t i = 0; i < ALL; i++) { // each has one that is its own, as nodes have
                PlacementLabel labels[6];
                char name[NAME];

                memcpy(labels, f.labels[i], sizeof f.labels[i]);
                snprintf(name, sizeof name, "n%u", i);
                labels[5] = (PlacementLabel){"name", name};
                placement_node_label(f.p, i, labels, ELEMENTSOF(labels));
        }
        for (int i = 0; i < ROUNDS; i++) {
                begin = now_ns();
                p = placement_copy(f.p);
                ms += (double) (now_ns() - begin) / 1e6 / ROUNDS;
                placement_free(p);
                copy_bytes(bytes_of(f.p), &one);
                baseline += one / ROUNDS;
        }
        emit("rebalance", "copy", ms, "ms", baseline);
        p = placement_copy(f.p);
        begin = now_ns();
        rebalance_plan(p, &rules, &moves, &n, &more);
        emit("rebalance", "search", (double) (now_ns() - begin) / 1e6, "ms", 0);
        placement_free(p);
        kept = n;
        begin = now_ns();
        rebalance_revise(f.p, moves, &kept);
        emit("rebalance", "revise", (double) (now_ns() - begin) / 1e6, "ms", 0);
        if (n < MOVES / 2 || kept != n) {
                fprintf(stderr, "rebalance: %zu moves, %zu of them kept\n", n, kept);
                exit(1);
        }
        free(moves);
        fleet_done(&f);
}

int main(void) {
        bench_place("place-simple", false, PLACEMENT_LEAST_LOADED);
        bench_place("place-constrained", true, PLACEMENT_LEAST_LOADED);
        bench_place("place-bestfit", false, PLACEMENT_BEST_FIT);
        bench_fair("10k-1k", 10000, 1000);
        bench_fair("20k-2k", 20000, 2000);
        bench_mass_loss();
        bench_rebalance();
        bench_memory();
        return 0;
}
