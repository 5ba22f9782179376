// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Plays stories of a leader: each from a seed, the same one each time. See ../README.md.
//
//      leader-sim --seed N            one story
//      leader-sim --seeds A B         all from A to B, in processes of their own
//      leader-sim --file PATH         one that was written or shrunk
//
// A story that is red prints its last lines, the check, and the command that plays it again; exit status 1.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checks.h"
#include "log.h"
#include "macro.h"
#include "process.h"
#include "world.h"

enum { STORIES_OF_A_NIGHT = 1000 }; // of which each check must have said something

// What a process that plays many tells the one that began it.
typedef struct Tally {
        uint64_t seed, n_events, n_transitions, virtual_us, premises[CHECKS_MAX];
        uint64_t digests[];
} Tally;

static struct {
        StoryOutput output;
        uint64_t seed, first, last;
        const char *file, *digests;
} options;

static bool is_playing;

// A check that fails ends the process (verdict.c).
static void on_exit_while_playing(void) {
        if (!is_playing)
                return;
        fflush(stdout);
        story_show_end();
        if (world.plan.seed)
                fprintf(stderr, "red: seed %" PRIu64 ", step %zu; again: tools/sim --seed %" PRIu64 " --prose\n", world.plan.seed, world.step, world.plan.seed);
        else
                fprintf(stderr, "red: step %zu\n", world.step);
        _exit(1);
}

static void play(const StoryPlan *plan) {
        is_playing = true;
        world_play(plan, options.output);
        is_playing = false;
}

static StoryPlan plan;

static int play_one(void) {
        if (!options.file)
                story_plan_draw(&plan, options.seed);
        else if (story_plan_read(&plan, options.file) < 0)
                return 2;
        play(&plan);
        printf("%016" PRIx64 "  %" PRIu64 " events, %" PRIu64 " transitions\n", story_digest_value(), story_n_events(), world.n_transitions);
        return 0;
}

// ------------------------------------------------------------------------------------------------ many

static void play_from(Tally *t, uint64_t seed) {
        for (t->seed = seed; t->seed <= options.last; t->seed++) {
                uint64_t begin_us;

                story_plan_draw(&plan, t->seed);
                begin_us = 1000 * UINT64_C(1000000);
                play(&plan);
                t->n_events += story_n_events();
                t->n_transitions += world.n_transitions;
                t->virtual_us += world.rig.now_us - begin_us;
                t->digests[t->seed - options.first] = story_digest_value();
        }
        memcpy(t->premises, check_premises, sizeof(check_premises));
}

static int write_digests(const Tally *t) {
        FILE *f = options.digests ? fopen(options.digests, "we") : NULL;

        if (options.digests && !f)
                return -errno;
        for (uint64_t seed = options.first; f && seed <= options.last; seed++)
                fprintf(f, "%" PRIu64 " %016" PRIx64 "\n", seed, t->digests[seed - options.first]);
        return f ? fclose(f) : 0;
}

static double children_seconds(void) {
        struct rusage usage;

        if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
                return 0;
        return (double) usage.ru_utime.tv_sec + (double) usage.ru_utime.tv_usec / 1e6 + (double) usage.ru_stime.tv_sec + (double) usage.ru_stime.tv_usec / 1e6;
}

// A check whose premise never came true has said nothing: of many stories that is red. Returns how many are.
static unsigned show_premises(const Tally *t) {
        bool many = options.last - options.first + 1 >= STORIES_OF_A_NIGHT;
        unsigned n_red = 0;

        for (unsigned i = 0; i < n_checks; i++) {
                printf("%12" PRIu64 "  %s: %s\n", t->premises[i], checks[i].name, checks[i].premise);
                if (many && t->premises[i] == 0) {
                        fprintf(stderr, "red: check %s has said nothing: never was it so that %s\n", checks[i].name, checks[i].premise);
                        n_red++;
                }
        }
        return n_red;
}

static int play_many(void) {
        size_t size = sizeof(Tally) + (options.last - options.first + 1) * sizeof(uint64_t);
        Tally *t = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        uint64_t next = options.first, n_red = 0;

        if (t == MAP_FAILED)
                return 2;
        while (next <= options.last) {
                pid_t pid = fork();
                int status;

                if (pid == 0) {
                        play_from(t, next);
                        _exit(0);
                }
                if (pid < 0 || waitpid(pid, &status, 0) < 0)
                        return 2;
                if (status == 0)
                        break;
                n_red++;
                if (WIFSIGNALED(status))
                        fprintf(stderr, "red: seed %" PRIu64 " ended by signal %d\n", t->seed, WTERMSIG(status));
                next = t->seed + 1;
        }
        if (write_digests(t) < 0)
                return 2;
        printf("%" PRIu64 " stories, %" PRIu64 " red, %" PRIu64 " events, %" PRIu64 " transitions, %" PRIu64 " virtual seconds, %.0f events per CPU second\n",
               options.last - options.first + 1, n_red, t->n_events, t->n_transitions, t->virtual_us / 1000000,
               (double) t->n_events / MAX_OF(children_seconds(), 0.001));
        return show_premises(t) > 0 || n_red > 0;
}

// ------------------------------------------------------------------------------------------------ the command line

static int parse(int argc, char **argv) {
        static const struct option known[] = {
                {"seed", required_argument, NULL, 's'}, {"seeds", required_argument, NULL, 'S'},   {"file", required_argument, NULL, 'f'},
                {"prose", no_argument, NULL, 'p'},      {"events", no_argument, NULL, 'e'},        {"digests", required_argument, NULL, 'd'},
                {},
        };

        for (int c; (c = getopt_long(argc, argv, "", known, NULL)) >= 0;)
                switch (c) {
                case 's':
                        options.seed = strtoull(optarg, NULL, 10);
                        break;
                case 'S':
                        if (sscanf(optarg, "%" SCNu64 "..%" SCNu64, &options.first, &options.last) != 2)
                                return -EINVAL;
                        break;
                case 'f':
                        options.file = optarg;
                        break;
                case 'd':
                        options.digests = optarg;
                        break;
                case 'p':
                        options.output.prose = true;
                        break;
                case 'e':
                        options.output.events = true;
                        break;
                default:
                        return -EINVAL;
                }
        return options.seed || options.last || options.file ? 0 : -EINVAL;
}

int main(int argc, char **argv) {
        if (parse(argc, argv) < 0) {
                fprintf(stderr, "leader-sim --seed N | --seeds A..B | --file PATH  [--prose] [--events] [--digests PATH]\n");
                return 2;
        }
        log_set_level(LOG_CRIT);
        atexit(on_exit_while_playing);
        return options.last ? play_many() : play_one();
}
