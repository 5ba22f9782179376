// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Plays stories of whole hosts: each from a seed, the same one each time. See ../README.md.
//
//      hosts-sim --seed N [--prose] [--events] [--messages] [--until STEP]    one story
//      hosts-sim --file PATH ...                                 one that was written or shrunk
//      hosts-sim --seeds A..B [--twice] [--figures] [--first-red]
//                                                            all of them; or each in two processes, which
//                                                            are to tell the same
//      hosts-sim --sweep all|NAME [--every N]                a small story, once for each place at which
//                                                            something may go wrong (hosts-sweep.h)
//      hosts-sim --shrink (--seed N | --file PATH) --write PATH  the shortest story that is red for the same
//                                                                reason
//
// Each is played in a process of its own: what a killed host had is given back with it. A story that is red
// prints its last lines, the check, and the command that plays it again; exit status 1.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asks.h"
#include "checks.h"
#include "clock.h"
#include "coverage.h"
#include "hosts-faults.h"
#include "hosts-story.h"
#include "hosts-sweep.h"
#include "macro.h"
#include "shrink.h"
#include "sim-client.h"
#include "sim-host.h"
#include "sim-store.h"
#include "str.h"
#include "verdict.h"

enum {
        FILES_MAX = 16384,         // descriptors of hosts that were killed stay open
        STORIES_OF_A_NIGHT = 1000, // of which each check must have said something
        STORY_CPU_MAX_S = 300,     // as good as endless
};

// What a process that plays tells the one that began it.
typedef struct Played {
        bool whole;
        uint64_t digest, virtual_us, cpu_ns, n_asks, n_entries, n_faults, n_transitions, n_events;
        uint64_t premises[CHECKS_MAX];
        SimFigures figures;
        SimNetFigures net;
        struct {
                size_t step;
                char sign[160], words[1024];
        } red;
} Played;

typedef struct Shared {
        Coverage coverage; // of all
        Played played;
        SweepPoint point;   // of a sweep, that is played
        SweepCounts counts; // what there was in it
} Shared;

static struct {
        StoryOutput output;
        uint64_t seed, first, last;
        const char *file, *write;
        const char *sweep, *fault; // fault: of these alone
        SweepPoint point; // --point
        uint64_t every;
        bool twice, figures, first_red, shrinks;
} options = {.every = 1};

static Shared *shared;
static StoryPlan plan;
static bool is_playing;

// ------------------------------------------------------------------------------------------------ one story

static void end_red(void) {
        is_playing = false;
        shared->played.red.step = hosts_story.step;
        snprintf(shared->played.red.sign, sizeof(shared->played.red.sign), "%s", verdict_sign());
        snprintf(shared->played.red.words, sizeof(shared->played.red.words), "%s", verdict_words());
        if (!options.shrinks) {
                story_show_end();
                fprintf(stderr, "%s (%s, at %" PRIu64 " ms)\n", verdict_words(), verdict_sign(),
                        sim_now_us() / USEC_PER_MSEC);
        }
        fflush(NULL);
        sim_cluster_remove();
        _exit(1);
}

// A check that fails ends the process (verdict.c).
static void on_exit_while_playing(void) {
        if (is_playing)
                end_red();
}

static void on_signal(int number) {
        if (!is_playing)
                _exit(128 + number);
        verdict_set_signal(number);
        if (!options.shrinks)
                verdict_show_callers();
        end_red();
}

static void watch_signals(void) {
        static const int all[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF};
        static char stack[64 * 1024];
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESETHAND};

        (void) sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
        for (size_t i = 0; i < ELEMENTSOF(all); i++)
                (void) sigaction(all[i], &action, NULL);
}

static void play(const StoryPlan *p, Played *ret) {
        struct itimerval limit = {.it_value.tv_sec = STORY_CPU_MAX_S};

        (void) setrlimit(RLIMIT_NOFILE, &(struct rlimit){FILES_MAX, FILES_MAX});
        (void) setitimer(ITIMER_PROF, &limit, NULL);
        watch_signals();
        atexit(on_exit_while_playing);
        is_playing = true;
        coverage_begin(&shared->coverage);
        if (options.sweep)
                hosts_sweep_play(options.sweep, shared->point, options.output, &shared->counts);
        else
                hosts_story_play(p, options.output);
        is_playing = false;
        ret->digest = story_digest_value();
        ret->n_events = story_n_events();
        ret->cpu_ns = sim_cpu_ns();
        ret->n_asks = asks.n_asked;
        ret->n_entries = hosts_story.truth_index;
        ret->n_faults = hosts_faults_count();
        ret->n_transitions = hosts_story.n_transitions;
        memcpy(ret->premises, check_premises, sizeof(ret->premises));
        ret->virtual_us = hosts_story.virtual_us;
        ret->figures = hosts_story.figures;
        ret->net = hosts_story.net;
        ret->whole = true;
}

static bool play_apart(const StoryPlan *p) {
        int status = 0;
        pid_t pid;

        memset(&shared->played, 0, sizeof(shared->played));
        fflush(NULL);
        pid = fork();
        if (pid < 0)
                abort();
        if (pid == 0) {
                play(p, &shared->played);
                fflush(NULL);
                _exit(0);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (status != 0 && WIFSIGNALED(status) && !*shared->played.red.sign)
                snprintf(shared->played.red.sign, sizeof(shared->played.red.sign), "signal %d",
                         WTERMSIG(status));
        return status == 0 && shared->played.whole;
}

static void tell_red(uint64_t seed) {
        if (options.file)
                fprintf(stderr, "red: %s, step %zu, %s\n", options.file, shared->played.red.step,
                        shared->played.red.sign);
        else
                fprintf(stderr,
                        "red: seed %" PRIu64 ", step %zu, %s; again: hosts-sim --seed %" PRIu64 " --prose\n",
                        seed, shared->played.red.step, shared->played.red.sign, seed);
}

// ------------------------------------------------------------------------------------------------ many

static void print_played(uint64_t seed, const Played *o) {
        printf("seed %" PRIu64 ": %016" PRIx64 ", %" PRIu64 " s, %" PRIu64 " faults, %" PRIu64
               " requests, %" PRIu64 " entries, %" PRIu64 " transitions, %" PRIu64 " turns, %" PRIu64
               " events, %.2f CPU s\n",
               seed, o->digest, o->virtual_us / USEC_PER_SEC, o->n_faults, o->n_asks, o->n_entries,
               o->n_transitions, o->figures.turns, o->figures.events, (double) o->cpu_ns / 1e9);
}

static void add(Played *sum, const Played *o) {
        sum->virtual_us += o->virtual_us;
        sum->cpu_ns += o->cpu_ns;
        sum->n_events += o->n_events;
        sum->n_transitions += o->n_transitions;
        sum->n_entries += o->n_entries;
        sum->n_asks += o->n_asks;
        sum->figures.turns += o->figures.turns;
        sum->figures.events += o->figures.events;
        for (size_t i = 0; i < n_checks; i++)
                sum->premises[i] += o->premises[i];
}

// A check whose premise never came true has said nothing: of many stories that is red. Returns how many are.
static unsigned show_premises(const Played *sum) {
        unsigned n_red = 0;

        for (size_t i = 0; i < n_checks; i++) {
                printf("%12" PRIu64 "  %s: %s\n", sum->premises[i], checks[i].name, checks[i].premise);
                if (options.last - options.first + 1 >= STORIES_OF_A_NIGHT && sum->premises[i] == 0) {
                        fprintf(stderr, "red: check %s has said nothing: never was it so that %s\n",
                                checks[i].name, checks[i].premise);
                        n_red++;
                }
        }
        return n_red;
}

// For programs (tools/sim).
static void show_figures(const Played *sum, uint64_t n) {
        printf("figure stories %" PRIu64 "\nfigure events %" PRIu64 "\nfigure transitions %" PRIu64
               "\nfigure virtual_us %" PRIu64 "\nfigure cpu_us %" PRIu64 "\n",
               n, sum->figures.turns + sum->figures.events, sum->n_transitions, sum->virtual_us,
               sum->cpu_ns / 1000);
        for (size_t i = 0; i < n_checks; i++)
                printf("premise %s %" PRIu64 "\n", checks[i].name, sum->premises[i]);
        coverage_write(&shared->coverage, stdout);
}

static void show_sum(const Played *sum, unsigned n_red) {
        double cpu_s = (double) MAX_OF(sum->cpu_ns, UINT64_C(1)) / 1e9,
               virtual_s = (double) MAX_OF(sum->virtual_us, UINT64_C(1)) / 1e6;

        printf("%u red; %.0f virtual seconds in %.1f CPU seconds: %.0f times as fast; %.0f turns and events "
               "a CPU second; load: %.2f transitions of units and "
               "%.2f entries a virtual second\n",
               n_red, virtual_s, cpu_s, virtual_s / cpu_s,
               (double) (sum->figures.turns + sum->figures.events) / cpu_s,
               (double) sum->n_transitions / virtual_s, (double) sum->n_entries / virtual_s);
        coverage_show(&shared->coverage);
}

static int play_all(void) {
        static Played sum, first;
        unsigned n_red = 0;

        for (uint64_t seed = options.first; seed <= options.last; seed++) {
                story_plan_draw(&plan, seed);
                if (!play_apart(&plan)) {
                        tell_red(seed);
                        n_red++;
                        if (options.first_red)
                                return 1;
                        continue;
                }
                first = shared->played;
                add(&sum, &first);
                if (!options.figures)
                        print_played(seed, &first);
                if (options.twice && (!play_apart(&plan) || shared->played.digest != first.digest)) {
                        fprintf(stderr,
                                "red: seed %" PRIu64 " tells %016" PRIx64 " and then %016" PRIx64 "\n", seed,
                                first.digest, shared->played.digest);
                        n_red++;
                }
        }
        if (options.figures) {
                show_figures(&sum, options.last - options.first + 1);
                return n_red > 0;
        }
        show_sum(&sum, n_red);
        return n_red + show_premises(&sum) > 0;
}

// ------------------------------------------------------------------------------------------------ sweeps

enum { PAIRS_OF_LAST = 8 }; // operations of which each two may be lost

typedef struct Swept {
        uint64_t n, n_red, cpu_ns;
} Swept;

static void play_point(SweepPoint point, Swept *sum) {
        shared->point = point;
        sum->n++;
        if (play_apart(&plan)) {
                sum->cpu_ns += shared->played.cpu_ns;
                return;
        }
        sum->n_red++;
        fprintf(stderr, "red: %s; again: hosts-sim --sweep %s --point %s:%u:%" PRIu64 ":%u:%u --prose\n",
                shared->played.red.sign, options.sweep, sweep_fault_names[point.fault], point.host, point.n,
                point.lost[0], point.lost[1]);
}

// Each subset of at most two of the last operations that were not synced behind that change.
static void play_pairs(SweepPoint point, unsigned unsynced, Swept *sum) {
        unsigned last = MIN_OF(unsynced, (unsigned) PAIRS_OF_LAST);

        for (unsigned a = 0; a <= last; a++)
                for (unsigned b = 0; b < MAX_OF(a, 1u); b++) {
                        point.lost[0] = a;
                        point.lost[1] = b;
                        if (!(options.first_red && sum->n_red > 0))
                                play_point(point, sum);
                }
}

static void play_points(SweepFault fault, uint32_t host, uint64_t n, const SweepCounts *counts, Swept *sum) {
        Swept mine = {};

        // Each `every`-th, not from the same one everywhere.
        for (uint64_t i = 1 + (host + fault) % options.every;
             i <= n && !(options.first_red && sum->n_red + mine.n_red > 0); i += options.every)
                if (fault == SWEEP_PAIR)
                        play_pairs((SweepPoint){fault, host, i, {}},
                                   i < SWEEP_CHANGES ? counts->unsynced[host][i] : 0, &mine);
                else
                        play_point((SweepPoint){fault, host, i, {}}, &mine);
        if (host)
                printf("%s: %s of n%u: %" PRIu64 " stories, %" PRIu64 " places, %" PRIu64 " red\n",
                       options.sweep, sweep_fault_names[fault], host, mine.n, n, mine.n_red);
        else
                printf("%s: %s: %" PRIu64 " stories, %" PRIu64 " places, %" PRIu64 " red\n", options.sweep,
                       sweep_fault_names[fault], mine.n, n, mine.n_red);
        fflush(stdout);
        *sum = (Swept){sum->n + mine.n, sum->n_red + mine.n_red, sum->cpu_ns + mine.cpu_ns};
}

static int sweep_one(void) {
        static SweepCounts counts;
        Swept sum = {};

        play_point((SweepPoint){}, &sum);
        counts = shared->counts;
        for (SweepFault fault = SWEEP_CRASH; fault < _SWEEP_FAULTS && sum.n_red == 0; fault++) {
                bool is_of_host = fault <= SWEEP_OLD;

                if (options.fault && !streq(options.fault, sweep_fault_names[fault]))
                        continue;

                for (uint32_t host = 1; is_of_host && host < SWEEP_HOSTS; host++)
                        if (counts.changes[host] > 0)
                                play_points(fault, host, counts.changes[host], &counts, &sum);
                if (!is_of_host)
                        play_points(fault, 0, counts.messages, &counts, &sum);
        }
        printf("%s: %" PRIu64 " stories, %" PRIu64 " red, %.1f CPU seconds\n", options.sweep, sum.n,
               sum.n_red, (double) sum.cpu_ns / 1e9);
        return sum.n_red > 0;
}

static int sweep(void) {
        const char *name;
        int r = 0;

        if (options.point.fault != SWEEP_NONE) {
                shared->point = options.point;
                return !play_apart(&plan);
        }
        if (!streq(options.sweep, "all"))
                return sweep_one();
        for (unsigned i = 0; (name = hosts_sweep_name(i)); i++) {
                options.sweep = name;
                r |= sweep_one();
        }
        return r;
}

// Of the command line: FAULT:HOST:N[:A:B].
static bool parse_point(const char *text, SweepPoint *ret) {
        char name[16];

        if (sscanf(text, "%15[a-z]:%" SCNu32 ":%" SCNu64 ":%u:%u", name, &ret->host, &ret->n, &ret->lost[0],
                   &ret->lost[1]) < 3)
                return false;
        for (ret->fault = SWEEP_CRASH;
             ret->fault < _SWEEP_FAULTS && !streq(sweep_fault_names[ret->fault], name);)
                ret->fault++;
        return ret->fault < _SWEEP_FAULTS;
}

// ----------------------------------------------------------------------------------------- one, and shorter

static int read_plan(void) {
        if (options.file)
                return story_plan_read(&plan, options.file);
        story_plan_draw(&plan, options.seed);
        return 0;
}

static int play_one(void) {
        char swarm[2048];

        if (read_plan() < 0)
                return 2;
        story_plan_describe(&plan, swarm, sizeof(swarm));
        if (options.output.prose)
                fprintf(stderr, "%s\n", swarm);
        if (!play_apart(&plan)) {
                tell_red(options.seed);
                return 1;
        }
        if (shared->played.whole)
                print_played(options.seed, &shared->played);
        return 0;
}

static bool is_red_likewise(const StoryPlan *p, size_t *ret_step, void *userdata) {
        const char *sign = userdata;

        if (play_apart(p) || strcmp(shared->played.red.sign, sign) != 0)
                return false;
        *ret_step = shared->played.red.step;
        return true;
}

static int shrink_one(void) {
        char sign[sizeof(shared->played.red.sign)], heading[320];
        Shrink s = {.plan = &plan, .is_red = is_red_likewise, .userdata = sign};
        size_t n_steps;

        if (read_plan() < 0)
                return 2;
        n_steps = plan.n_steps;
        if (play_apart(&plan)) {
                printf("it is not red\n");
                return 2;
        }
        strcpy(sign, shared->played.red.sign);
        s.red_step = shared->played.red.step;
        s.hosts_min = 3;
        shrink(&s);
        (void) play_apart(&plan);
        snprintf(heading, sizeof(heading), "%.120s: %.160s", sign, shared->played.red.words);
        if (strchr(heading, '\n'))
                *strchr(heading, '\n') = 0;
        if (story_plan_write(&plan, options.write, heading) < 0)
                return 2;
        printf("%s\n%zu steps of %zu are left, %u hosts, %u units; %u stories played; again: tools/sim "
               "--hosts --file %s --prose\n",
               heading, plan.n_steps, n_steps, plan.swarm.hosts, plan.swarm.units, s.n_played,
               options.write);
        return 0;
}

// ----------------------------------------------------------------------------------------- the command line

static bool parse(int argc, char **argv) {
        static const struct option known[] = {
                {"seed", required_argument, NULL, 's'},
                {"seeds", required_argument, NULL, 'S'},
                {"file", required_argument, NULL, 'f'},
                {"messages", no_argument, NULL, 'm'},
                {"prose", no_argument, NULL, 'p'},
                {"events", no_argument, NULL, 'e'},
                {"until", required_argument, NULL, 'u'},
                {"twice", no_argument, NULL, 't'},
                {"figures", no_argument, NULL, 'F'},
                {"first-red", no_argument, NULL, 'r'},
                {"shrink", no_argument, NULL, 'k'},
                {"write", required_argument, NULL, 'w'},
                {"sweep", required_argument, NULL, 'W'},
                {"point", required_argument, NULL, 'P'},
                {"every", required_argument, NULL, 'E'},
                {"fault", required_argument, NULL, 'x'},
                {},
        };

        for (int c; (c = getopt_long(argc, argv, "", known, NULL)) >= 0;)
                switch (c) {
                case 's':
                        options.seed = strtoull(optarg, NULL, 10);
                        break;
                case 'S':
                        if (sscanf(optarg, "%" SCNu64 "..%" SCNu64, &options.first, &options.last) != 2 ||
                            options.first == 0 || options.first > options.last)
                                return false;
                        break;
                case 'f':
                        options.file = optarg;
                        break;
                case 'p':
                        options.output.prose = true;
                        break;
                case 'e':
                        options.output.events = true;
                        break;
                case 'm':
                        options.output.messages = true;
                        break;
                case 'u':
                        options.output.until = strtoul(optarg, NULL, 10) + 1;
                        break;
                case 't':
                        options.twice = true;
                        break;
                case 'F':
                        options.figures = true;
                        break;
                case 'r':
                        options.first_red = true;
                        break;
                case 'k':
                        options.shrinks = true;
                        break;
                case 'w':
                        options.write = optarg;
                        break;
                case 'W':
                        options.sweep = optarg;
                        break;
                case 'P':
                        if (!parse_point(optarg, &options.point))
                                return false;
                        break;
                case 'x':
                        options.fault = optarg;
                        break;
                case 'E':
                        options.every = strtoull(optarg, NULL, 10);
                        break;
                default:
                        return false;
                }
        if (options.shrinks && (!options.write || options.last))
                return false;
        if (options.sweep &&
            ((!hosts_sweep_is_known(options.sweep) && !streq(options.sweep, "all")) || options.every == 0))
                return false;
        return !!options.seed + !!options.last + !!options.file + !!options.sweep == 1 && optind == argc;
}

int main(int argc, char **argv) {
        shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED || !parse(argc, argv)) {
                fprintf(stderr, "hosts-sim --seed N | --file PATH [--prose] [--events] [--messages] "
                                "[--until STEP] [--shrink --write PATH]\n"
                                "hosts-sim --seeds A..B [--twice] [--figures] [--first-red]\n"
                                "hosts-sim --sweep all|start|update|join|leave|empty|away|vote|sent|recover "
                                "[--every N] [--fault FAULT] [--point FAULT:HOST:N[:A:B] [--prose]]\n");
                return 2;
        }
        if (options.shrinks)
                return shrink_one();
        if (options.sweep)
                return sweep();
        return options.last ? play_all() : play_one();
}
