// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Plays stories of a leader: each from a seed, the same one each time. See ../README.md.
//
//      leader-sim --seed N [--prose] [--events] [--messages] [--until STEP]    one story
//      leader-sim --file PATH ...                                 one that was written or shrunk
//      leader-sim --seeds A..B [--backwards] [--untried] [--all-due] [--figures] [--first-red]
//                                                             all of them, one behind the other
//                 [--digests PATH | --compare PATH]               writes their digests, or compares them
//                                                             --untried: without trials (trials.c)
//                                                             --all-due: each step of each turn is called
//      leader-sim --shrink (--seed N | --file PATH) --write PATH  the shortest story that is red for the
//                                                                 same reason
//      leader-sim --complete                                      none: says what could be asked of a leader
//                                                                 and never is
//
// A story that is red prints its last lines, the check, and the command that plays it again; exit status 1.
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
#include "coverage.h"
#include "log.h"
#include "macro.h"
#include "map.h"
#include "process.h"
#include "shrink.h"
#include "verdict.h"
#include "world-options.h"
#include "world.h"

enum {
        STORIES_OF_A_NIGHT = 1000, // of which each check must have said something
        STORY_CPU_MAX_S = 60,      // as good as endless
};

// What a process that plays tells the one that began it.
typedef struct Tally {
        uint64_t at; // the seed that is played, as a number from the first one on
        uint64_t n_events, n_transitions, virtual_us, premises[CHECKS_MAX];
        Coverage coverage;
        struct {
                size_t step;
                char sign[160], words[1024];
        } red;
        uint64_t digests[];
} Tally;

static struct {
        StoryOutput output;
        uint64_t seed, first, last;
        const char *file, *digests, *compare, *write;
        bool backwards, untried, figures, shrinks, complete, first_red;
} options;

static bool is_playing;
static Tally *tally;
static StoryPlan plan;

static uint64_t n_seeds(void) {
        return options.last ? options.last - options.first + 1 : 0;
}

// ------------------------------------------------------------------------------------------ one that is red

static void show_red(void) {
        story_show_end();
        fprintf(stderr, "%s (%s)\n", verdict_words(), verdict_sign());
        if (world.plan.seed)
                fprintf(stderr,
                        "red: seed %" PRIu64 ", step %zu, %s; again: tools/sim --seed %" PRIu64
                        " --prose; shorter: tools/sim --shrink %" PRIu64 "\n",
                        world.plan.seed, world.step, verdict_sign(), world.plan.seed, world.plan.seed);
        else
                fprintf(stderr, "red: step %zu, %s; again: tools/sim --file %s --prose\n", world.step,
                        verdict_sign(), options.file ?: "PATH");
}

static void end_red(void) {
        is_playing = false;
        tally->red.step = world.step;
        snprintf(tally->red.sign, sizeof(tally->red.sign), "%s", verdict_sign());
        snprintf(tally->red.words, sizeof(tally->red.words), "%s", verdict_words());
        fflush(stdout);
        if (!options.shrinks)
                show_red();
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

static void play(const StoryPlan *p) {
        struct itimerval limit = {.it_value.tv_sec = STORY_CPU_MAX_S};

        (void) setitimer(ITIMER_PROF, &limit, NULL);
        is_playing = true;
        coverage_begin(&tally->coverage);
        world_play(p, options.output);
        is_playing = false;
}

// ------------------------------------------------------------------------------------------------ one

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
        play(&plan);
        printf("%016" PRIx64 "  %" PRIu64 " events, %" PRIu64 " transitions\n", story_digest_value(),
               story_n_events(), world.n_transitions);
        return 0;
}

// ------------------------------------------------------------------------------------------------ many

static uint64_t seed_at(uint64_t at) {
        return options.backwards ? options.last - at : options.first + at;
}

static void play_rest(void) {
        for (; tally->at < n_seeds(); tally->at++) {
                uint64_t begin_us = 1000 * UINT64_C(1000000);

                story_plan_draw(&plan, seed_at(tally->at));
                if (options.untried)
                        plan.swarm.tried = 0;
                play(&plan);
                tally->n_events += story_n_events();
                tally->n_transitions += world.n_transitions;
                tally->virtual_us += world.rig.now_us - begin_us;
                tally->digests[plan.seed - options.first] = story_digest_value();
                for (unsigned i = 0; i < n_checks; i++)
                        tally->premises[i] += check_premises[i];
                memset(check_premises, 0, sizeof(check_premises));
        }
}

static int write_digests(void) {
        FILE *f = options.digests ? fopen(options.digests, "we") : NULL;

        if (options.digests && !f)
                return -errno;
        for (uint64_t i = 0; f && i < n_seeds(); i++)
                fprintf(f, "%" PRIu64 " %016" PRIx64 "\n", options.first + i, tally->digests[i]);
        return f ? fclose(f) : 0;
}

// The number of those that are others, or of which the file knows nothing.
static uint64_t compare_digests(void) {
        FILE *f = options.compare ? fopen(options.compare, "re") : NULL;
        uint64_t seed, digest, n_same = 0;
        unsigned n_said = 0;

        if (!options.compare)
                return 0;
        while (f && fscanf(f, "%" SCNu64 " %" SCNx64, &seed, &digest) == 2) {
                if (seed < options.first || seed > options.last)
                        continue;
                if (tally->digests[seed - options.first] == digest)
                        n_same++;
                else if (n_said++ < 5)
                        fprintf(stderr,
                                "seed %" PRIu64 " is another story than it was: what was asked, written or "
                                                "answered has changed\n",
                                seed);
        }
        if (f)
                fclose(f);
        if (n_same < n_seeds())
                fprintf(stderr,
                        "%" PRIu64 " of %" PRIu64
                        " stories are not as %s has them; if that is meant: tools/sim --write-digests\n",
                        n_seeds() - n_same, n_seeds(), options.compare);
        return n_seeds() - n_same;
}

static double children_seconds(void) {
        struct rusage usage;

        if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
                return 0;
        return (double) usage.ru_utime.tv_sec + (double) usage.ru_utime.tv_usec / 1e6 +
               (double) usage.ru_stime.tv_sec + (double) usage.ru_stime.tv_usec / 1e6;
}

// A check whose premise never came true has said nothing: of many stories that is red. Returns how many are.
static unsigned show_premises(void) {
        unsigned n_red = 0;

        for (unsigned i = 0; i < n_checks; i++) {
                printf("%12" PRIu64 "  %s: %s\n", tally->premises[i], checks[i].name, checks[i].premise);
                if (n_seeds() >= STORIES_OF_A_NIGHT && tally->premises[i] == 0) {
                        fprintf(stderr, "red: check %s has said nothing: never was it so that %s\n",
                                checks[i].name, checks[i].premise);
                        n_red++;
                }
        }
        return n_red;
}

// For programs (tools/sim).
static void show_figures(double seconds) {
        printf("figure stories %" PRIu64 "\nfigure events %" PRIu64 "\nfigure transitions %" PRIu64
               "\nfigure virtual_us %" PRIu64 "\nfigure cpu_us %.0f\n",
               n_seeds(), tally->n_events, tally->n_transitions, tally->virtual_us, seconds * 1e6);
        for (unsigned i = 0; i < n_checks; i++)
                printf("premise %s %" PRIu64 "\n", checks[i].name, tally->premises[i]);
        coverage_write(&tally->coverage, stdout);
}

// One process plays them until one is red; the next goes on behind it.
static int play_many(void) {
        uint64_t n_red = 0;
        double seconds;

        while (tally->at < n_seeds()) {
                pid_t pid;
                int status;

                fflush(NULL);
                pid = fork();
                if (pid == 0) {
                        play_rest();
                        exit(0); // also writes down which lines were executed, where somebody wants to know
                }
                if (pid < 0 || waitpid(pid, &status, 0) < 0)
                        return 2;
                if (status == 0)
                        break;
                n_red++;
                if (WIFSIGNALED(status))
                        fprintf(stderr,
                                "red: seed %" PRIu64 ", signal %d; again: tools/sim --seed %" PRIu64
                                " --prose\n",
                                seed_at(tally->at), WTERMSIG(status), seed_at(tally->at));
                tally->at++;
                if (options.first_red)
                        return 1;
        }
        if (write_digests() < 0)
                return 2;
        seconds = children_seconds();
        if (options.figures) {
                show_figures(seconds);
                return n_red > 0;
        }
        printf("%" PRIu64 " stories, %" PRIu64 " red, %" PRIu64 " events, %" PRIu64 " transitions, %" PRIu64
               " virtual seconds, %.0f events per CPU second\n",
               n_seeds(), n_red, tally->n_events, tally->n_transitions, tally->virtual_us / 1000000,
               seconds > 0 ? (double) tally->n_events / seconds : 0);
        coverage_show(&tally->coverage);
        return show_premises() + compare_digests() + n_red > 0;
}

// ------------------------------------------------------------------------------------------------ shorter

// Each in a process of its own. Says at which step it is red; false: it is not.
static bool play_apart(const StoryPlan *p) {
        pid_t pid;
        int status;

        tally->red.sign[0] = 0;
        fflush(NULL);
        pid = fork();
        if (pid == 0) {
                play(p);
                _exit(0);
        }
        if (pid < 0 || waitpid(pid, &status, 0) < 0)
                _exit(2);
        return tally->red.sign[0] != 0;
}

static bool is_red_likewise(const StoryPlan *p, size_t *ret_step, void *userdata) {
        const char *sign = userdata;

        if (!play_apart(p) || strcmp(tally->red.sign, sign) != 0)
                return false;
        *ret_step = tally->red.step;
        return true;
}

static int shrink_one(void) {
        char sign[sizeof(tally->red.sign)], heading[320];
        Shrink s = {.plan = &plan, .is_red = is_red_likewise, .userdata = sign};
        size_t n_steps;

        if (read_plan() < 0)
                return 2;
        n_steps = plan.n_steps;
        if (!play_apart(&plan)) {
                printf("it is not red\n");
                return 2;
        }
        strcpy(sign, tally->red.sign);
        s.red_step = tally->red.step;
        shrink(&s);
        (void) play_apart(&plan);
        snprintf(heading, sizeof(heading), "%.120s: %.160s", sign, tally->red.words);
        if (strchr(heading, '\n'))
                *strchr(heading, '\n') = 0;
        if (story_plan_write(&plan, options.write, heading) < 0)
                return 2;
        printf("%s\n%zu steps of %zu are left, %u hosts, %u units; %u stories played; again: tools/sim "
               "--file %s --prose\n",
               heading, plan.n_steps, n_steps, plan.swarm.hosts, plan.swarm.units, s.n_played,
               options.write);
        return 0;
}

// ----------------------------------------------------------------------------------------- the command line

static bool read_range(const char *text) {
        return sscanf(text, "%" SCNu64 "..%" SCNu64, &options.first, &options.last) == 2 &&
               options.first > 0 && options.first <= options.last;
}

static int parse(int argc, char **argv) {
        static const struct option known[] = {
                {"seed", required_argument, NULL, 's'},    {"seeds", required_argument, NULL, 'S'},
                {"file", required_argument, NULL, 'f'},    {"messages", no_argument, NULL, 'm'},
                {"prose", no_argument, NULL, 'p'},         {"events", no_argument, NULL, 'e'},
                {"until", required_argument, NULL, 'u'},   {"digests", required_argument, NULL, 'd'},
                {"compare", required_argument, NULL, 'c'}, {"backwards", no_argument, NULL, 'b'},
                {"figures", no_argument, NULL, 'F'},       {"shrink", no_argument, NULL, 'k'},
                {"write", required_argument, NULL, 'w'},   {"complete", no_argument, NULL, 'C'},
                {"first-red", no_argument, NULL, 'r'},     {"untried", no_argument, NULL, 'T'},
                {"all-due", no_argument, NULL, 'A'},       {},
        };

        for (int c; (c = getopt_long(argc, argv, "", known, NULL)) >= 0;)
                switch (c) {
                case 's':
                        options.seed = strtoull(optarg, NULL, 10);
                        break;
                case 'S':
                        if (!read_range(optarg))
                                return -EINVAL;
                        break;
                case 'f':
                        options.file = optarg;
                        break;
                case 'd':
                        options.digests = optarg;
                        break;
                case 'c':
                        options.compare = optarg;
                        break;
                case 'C':
                        options.complete = true;
                        break;
                case 'w':
                        options.write = optarg;
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
                case 'b':
                        options.backwards = true;
                        break;
                case 'A':
                        world.all_due = true;
                        break;
                case 'T':
                        options.untried = true;
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
                default:
                        return -EINVAL;
                }
        if (options.shrinks && (!options.write || options.last))
                return -EINVAL;
        return !!options.seed + !!options.last + !!options.file + options.complete == 1 && optind == argc
                       ? 0
                       : -EINVAL;
}

static int check_complete(void) {
        const char *kind = asks_missing(), *option = world_options_missing();

        if (kind)
                fprintf(stderr, "no story asks for %s: its row is missing in asks.c\n", kind);
        if (option)
                fprintf(stderr,
                        "%s=: world-options.c has no row for it, or that does not say what it demands\n",
                        option);
        return kind || option;
}

int main(int argc, char **argv) {
        if (parse(argc, argv) < 0) {
                fprintf(stderr, "leader-sim --seed N | --file PATH [--prose] [--events] [--messages] "
                                "[--until STEP] [--shrink --write PATH]\n"
                                "leader-sim --seeds A..B [--backwards] [--untried] [--all-due] "
                                "[--figures] [--first-red] [--digests PATH] [--compare PATH]\n"
                                "leader-sim --complete\n");
                return 2;
        }
        if (options.complete)
                return check_complete();
        log_set_level(LOG_CRIT);
        map_set_seed((const uint8_t[16]){29});
        tally = mmap(NULL, sizeof(*tally) + n_seeds() * sizeof(uint64_t), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (tally == MAP_FAILED)
                return 2;
        atexit(on_exit_while_playing);
        watch_signals();
        if (options.shrinks)
                return shrink_one();
        return options.last ? play_many() : play_one();
}
