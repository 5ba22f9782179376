// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Random lives of units that depend on each other.

#include "ordering-words.h"
#include "random-numbers.h"

enum { UNITS = 10, LIVES = 60, STEP_MS = 250 };

static unsigned random_state;

typedef enum Way { STARTS, STOPS, RESTARTS } Way;

typedef struct Life {
        unsigned seed;
        char names[UNITS][16], contents[UNITS][1024];
        bool after[UNITS][UNITS]; // the first one after the second
        Argosy__ActiveState was[UNITS];
        bool anew[UNITS]; // it has begun again, of those that are restarted
} Life;

static Argosy__ActiveState state_of(const char *name) {
        for (uint32_t i = 1; i <= 3; i++)
                if (on(i, name) != ARGOSY__ACTIVE_STATE__ACTIVE_UNKNOWN)
                        return on(i, name);
        return DOWN;
}

// Who has begun to start finds everybody up that it comes after; who has begun to stop finds everybody down
// that comes after it.
static void check_step(Life *v, Way way) {
        for (unsigned a = 0; a < UNITS; a++) {
                Argosy__ActiveState now = state_of(v->names[a]), was = v->was[a];
                bool began = way != STOPS && was == DOWN && now != DOWN;
                bool ends = way != STARTS && was == UP && now != UP;

                v->anew[a] |= way == RESTARTS && (began || (ends && now == ACTIVATING));
                for (unsigned b = 0; b < UNITS; b++) {
                        if (began && v->after[a][b] &&
                            (state_of(v->names[b]) != UP || (way == RESTARTS && !v->anew[b])))
                                fail_msg("seed %u: %s began before %s was up", v->seed, v->names[a],
                                         v->names[b]);
                        if (ends && v->after[b][a] && state_of(v->names[b]) != DOWN)
                                fail_msg("seed %u: %s is stopped before %s", v->seed, v->names[a],
                                         v->names[b]);
                }
        }
        for (unsigned a = 0; a < UNITS; a++)
                v->was[a] = state_of(v->names[a]);
}

static void play(Life *v, Way way) {
        Argosy__ActiveState goal = way == STOPS ? DOWN : UP;
        unsigned left = UNITS;

        memset(v->anew, 0, sizeof(v->anew));
        check_step(v, way);
        for (unsigned step = 0; left > 0; step++) {
                if (step > UNITS * 8)
                        fail_msg("seed %u: %u units have not got there", v->seed, left);
                if (dice(8) == 0) {
                        rig_elect_anew(&g);
                        check_step(v, way);
                }
                g.start_ms = STEP_MS * (1 + dice(4));
                g.stop_ms = STEP_MS * (1 + dice(4));
                rig_pass_ms(&g, STEP_MS);
                check_step(v, way);
                left = 0;
                for (unsigned a = 0; a < UNITS; a++)
                        left += state_of(v->names[a]) != goal || (way == RESTARTS && !v->anew[a]);
        }
}

static void invent(Life *v) {
        static const char *const keys[] = {"After", "Requires", "BindsTo"}, *const places[] = {"one", "two",
                                                                                               "three"};

        for (unsigned a = 0; a < UNITS; a++) {
                char *text = v->contents[a];

                // Not in the order of their numbers, so that the order of the request is no help.
                snprintf(v->names[a], sizeof(v->names[a]), "u%u.service", (a * 7 + v->seed) % UNITS);
                sprintf(text, "[Service]\nExecStart=/bin/sleep 1\n[X-Argosy]\nMachineMetadata=on=%s\n",
                        places[dice(3)]);
                for (unsigned b = 0; b < a; b++) {
                        if (dice(3))
                                continue;
                        if (dice(5) == 0) // said by the other one
                                sprintf(v->contents[b] + strlen(v->contents[b]), "Before=%s\n", v->names[a]);
                        else
                                sprintf(text + strlen(text), "%s=%s\n", keys[dice(3)], v->names[b]);
                        v->after[a][b] = true;
                }
        }
}

static void starts_are_in_order_and_stops_in_reverse_whatever_happens(void **state) {
        for (unsigned seed = 1; seed <= LIVES; seed++) {
                Life v = {.seed = seed};
                char *names[UNITS], *contents[UNITS];

                setup(NULL);
                random_state = seed;
                invent(&v);
                for (unsigned i = 0; i < UNITS; i++) {
                        names[i] = v.names[i];
                        contents[i] = v.contents[i];
                        v.was[i] = DOWN;
                }
                g.start_ms = g.stop_ms = STEP_MS;
                change_many(START, UNITS, names, contents);
                play(&v, STARTS);
                change_many(STOP, UNITS, names, NULL);
                play(&v, STOPS);
                change_many(START, UNITS, names, NULL);
                play(&v, STARTS);
                change_many(RESTART, UNITS, names, NULL);
                play(&v, RESTARTS);
                rig_stop(&g);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
                cmocka_unit_test(starts_are_in_order_and_stops_in_reverse_whatever_happens),
#undef T
        };

        return cmocka_run_group_tests_name("ordering", tests, NULL, NULL);
}
