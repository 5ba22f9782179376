// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The fleet that the benchmarks of the scheduler work on: 10,000 hosts of three sizes with labels, 200 spec
// classes in random order, filled to 80 %; and what one would write first, a scan of all nodes. Both decide
// by the same rules.
#include <time.h>

#include "bench-placement.h"

uint64_t bench_now_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

unsigned fleet_roll(Fleet *f, unsigned n) {
        f->seed ^= f->seed << 13;
        f->seed ^= f->seed >> 7;
        f->seed ^= f->seed << 17;
        return (unsigned) (f->seed >> 11) % n;
}

void bench_emit(const char *bench, const char *metric, double value, const char *unit, double baseline) {
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

void fleet_make_class(Fleet *f, unsigned i) {
        PlacementSpec *s = &f->specs[i];
        unsigned n = 1 + fleet_roll(f, 3), first = fleet_roll(f, 10);

        *s = (PlacementSpec){.terms = f->terms[i]};
        s->demand.of[PLACEMENT_CPU] = (int32_t) (50 * (1 + fleet_roll(f, 40)));
        s->demand.of[PLACEMENT_MEMORY] = (int32_t) (64 * (1 + fleet_roll(f, 100)));
        if (fleet_roll(f, 2)) {
                for (unsigned k = 0; k < n; k++)
                        f->values[i][0][k] = zones[(first + 3 * k) % 10];
                f->terms[i][s->n_terms++] = (PlacementTerm){LABEL_IN, "zone", f->values[i][0]};
        }
        if (fleet_roll(f, 2)) {
                bool disk = fleet_roll(f, 2);

                f->values[i][1][0] = disk ? disks[fleet_roll(f, 3)] : generations[fleet_roll(f, 4)];
                f->terms[i][s->n_terms++] = (PlacementTerm){disk ? LABEL_IN : LABEL_NOT_IN,
                                                            disk ? "disk" : "generation", f->values[i][1]};
        }
}

void fleet_constrain_class(Fleet *f, unsigned i) {
        PlacementSpec *s = &f->specs[i];

        if (i % 2 == 0) {
                s->spread = i % 4 ? "rack" : "zone";
                snprintf(f->text[i][0], NAME, "group%u", i);
                s->spread_group = f->text[i][0];
                s->spread_soft = i % 3;
                s->spread_skew = (uint16_t) (1 + fleet_roll(f, 3));
        }
        if (i % 3 == 0) {
                snprintf(f->text[i][1], NAME, "c%03u-*.service", (i + 1 + fleet_roll(f, 5)) % CLASSES);
                f->conflicts[i][0] = f->text[i][1];
                s->conflicts = f->conflicts[i];
        }
}

void fleet_add_nodes(Fleet *f, uint32_t n) {
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
                int32_t n_cores = cores[fleet_roll(f, 3)];
                PlacementVector offers = {{n_cores * 1000, n_cores * 1024 * gigabytes[fleet_roll(f, 3)]}};
                unsigned rack = fleet_roll(f, 200);
                uint32_t host, node;

                f->labels[i][0] = (PlacementLabel){"zone", zones[rack / 20]};
                f->labels[i][1] = (PlacementLabel){"rack", racks[rack]};
                f->labels[i][2] = (PlacementLabel){"disk", disks[fleet_roll(f, 3)]};
                f->labels[i][3] = (PlacementLabel){"arch", archs[fleet_roll(f, 2)]};
                f->labels[i][4] = (PlacementLabel){"generation", generations[fleet_roll(f, 4)]};
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

void fleet_add_classes(Fleet *f) {
        f->admits = calloc(CLASSES, f->n_nodes);
        for (unsigned i = 0; i < CLASSES; i++) {
                MUST(placement_class_get(f->p, &f->specs[i], &f->classes[i]));
                for (uint32_t n = 0; n < f->n_nodes; n++)
                        f->admits[i * f->n_nodes + n] = brute_admits(&f->brute, &f->specs[i], n);
        }
}

void fleet_add_role(Fleet *f, unsigned i, const int64_t *limit, uint32_t weight) {
        PlacementRole role = {.weight = weight};

        for (unsigned k = 0; k < PLACEMENT_RESOURCES_MAX; k++)
                role.limit[k] = limit ? limit[k] : -1;
        MUST(placement_role_add(f->p, &role, &f->roles[i]));
}

void fleet_init(Fleet *f, uint64_t seed) {
        *f = (Fleet){.seed = seed};
        f->p = placement_new();
        f->names = calloc(UNITS, sizeof *f->names);
        f->units = calloc(UNITS, sizeof *f->units);
        f->handles = calloc(UNITS, sizeof *f->handles);
}

void fleet_done(Fleet *f) {
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

uint32_t fleet_place(Fleet *f, unsigned class, uint32_t name, uint32_t role, uint32_t *ret_node) {
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

void fleet_name_unit(Fleet *f, uint32_t name, unsigned class) {
        snprintf(f->names[name], NAME, "c%03u-%06u.service", class, name);
}

void fleet_keep(Fleet *f, uint32_t unit, uint32_t name) {
        f->handles[unit] = name;
        f->units[f->n_placed++] = unit;
}

void fleet_fill(Fleet *f) {
        int64_t cpu = 0, memory = 0, cpus = 0, memories = 0;
        uint32_t n_refused = 0;

        for (uint32_t i = 0; i < f->n_nodes; i++) {
                cpus += f->cpus[i];
                memories += f->memories[i];
        }
        while (cpu * 10 < cpus * 8 && memory * 10 < memories * 8 && n_refused < f->n_named / 10 + 1000) {
                unsigned class = fleet_roll(f, CLASSES);
                uint32_t name = f->n_named, node, unit;

                if (name + 1 == UNITS) {
                        fprintf(stderr, "too many units\n");
                        exit(1);
                }
                fleet_name_unit(f, name, class);
                unit = fleet_place(f, class, name, f->roles[class % ROLES], &node);
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
                fleet_keep(f, unit, name);
        }
        fprintf(stderr, "%u units, %.0f %% of the cores and %.0f %% of the memory\n", f->n_placed,
                100.0 * (double) cpu / (double) cpus, 100.0 * (double) memory / (double) memories);
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

double fleet_scan_rate(Fleet *f, bool fit) {
        enum { SCANS = 4000 };
        uint64_t begin;

        for (uint32_t u = 0; u < f->n_placed; u++) {
                const BruteUnit *b = &f->brute.units[f->units[u]];

                if (b->node != PLACEMENT_NONE)
                        take(f, b->node, b->spec, +1);
        }
        begin = bench_now_ns();
        for (int i = 0; i < SCANS; i++) {
                const BruteUnit *b = &f->brute.units[f->units[fleet_roll(f, f->n_placed)]];
                unsigned class = fleet_roll(f, CLASSES);
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
        return 1e9 * SCANS / (double) (bench_now_ns() - begin);
}

// ---------------------------------------------------------------------------------------------------- bytes

static size_t index_bytes(const Placement *p, const Index *ix) {
        size_t n = 0;

        if (!ix->on)
                return 0;
        for (uint32_t k = 0; k < INDEX_KEYS; k++)
                n += ix->keys[k].nodes ? p->node_words * sizeof(Word) : 0;
        return n + INDEX_KEYS * sizeof *ix->keys + p->masks_allocated * sizeof *ix->links +
               (size_t) (INDEX_KEYS + INDEX_MIDS + INDEX_TOPS) * p->n_words * sizeof(Word);
}

size_t bench_placement_bytes(const Placement *p) {
        const Map *maps[] = {&p->classes_by_key, &p->selectors_by_key, &p->shapes_by_key, &p->globs_by_text,
                             &p->groups_by_name, &p->keys_by_name,     &p->pairs_by_text, &p->queues_by_key};
        size_t n = sizeof *p;

        for (size_t i = 0; i < ELEMENTSOF(maps); i++)
                n += (maps[i]->n_slots + map_n_old(maps[i])) * sizeof(MapSlot);
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
