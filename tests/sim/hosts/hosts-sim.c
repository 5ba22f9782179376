// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Plays stories of whole hosts: each from a seed, the same one each time. See ../README.md.
//
//      hosts-sim --seed N [--prose] [--events]     one story
//      hosts-sim --seeds A..B [--twice]            all of them, each in a process of its own; or in two, which are to tell the same
//
// A story that is red prints its last lines, the check, and the command that plays it again; exit status 1.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "daemon.h"
#include "hosts-checks.h"
#include "hosts-plan.h"
#include "log.h"
#include "sim-client.h"
#include "sim-host.h"
#include "sim-store.h"
#include "story.h"

enum { FILES_MAX = 16384 }; // descriptors of hosts that were killed stay open

#define PATIENCE_US (120 * USEC_PER_SEC)

static const char content[] = "[Service]\nExecStart=/bin/true\n";

typedef struct Outcome { // of one process that plays
        bool whole;
        uint64_t digest, virtual_us, cpu_ns, n_asks, n_acknowledged, n_entries, n_faults;
        uint64_t said[_HOSTS_CHECKS];
        SimFigures figures;
        SimNetFigures net;
} Outcome;

static struct {
        uint64_t seed, first, last;
        bool twice;
        StoryOutput output;
} options;

static HostsPlan plan;
static uint64_t until_us;

// ------------------------------------------------------------------------------------------------ words

void __wrap_log_write(int level, const char *file, int line, const char *field, const char *value, const char *format, ...) _printf_(6, 7);

// What a host would write to its journal is a line of the story.
void __wrap_log_write(int level, const char *file, int line, const char *field, const char *value, const char *format, ...) {
        char message[LOG_MESSAGE_MAX];
        va_list ap;

        if (level > LOG_ERR)
                return;
        va_start(ap, format);
        vsnprintf(message, sizeof(message), format, ap);
        va_end(ap);
        story_tell("host%u: %s", sim_current() ? sim_host_number(sim_current()) : 0, message);
}

// ------------------------------------------------------------------------------------------------ load

static void on_ask(void *data) {
        static const Argosy__Verb verbs[_HOSTS_VERBS] = {
#define HOSTS_VERB_OF(name) [HOSTS_VERB_##name] = ARGOSY__VERB__VERB_##name,
                HOSTS_VERBS(HOSTS_VERB_OF)
#undef HOSTS_VERB_OF
        };
        HostsVerb verb = (HostsVerb) draw_weighted(sim_draw(), plan.verbs, _HOSTS_VERBS);
        uint32_t at = 1 + draw_below(sim_draw(), plan.hosts);
        size_t n = sim_client_n_asks();
        bool has_file = verb == HOSTS_VERB_START || verb == HOSTS_VERB_LOAD;
        char name[64];

        if (sim_now_us() >= until_us)
                return;
        if (n > 0 && draw_below(sim_draw(), 100) < plan.again_percent) {
                const SimAsk *before = sim_client_ask(n - 1 - draw_below(sim_draw(), (unsigned) (n < 8 ? n : 8)));

                if (before->final && before->error) {
                        bool had_file = before->verb == ARGOSY__VERB__VERB_START || before->verb == ARGOSY__VERB__VERB_LOAD;

                        story_tell("at host%u: the request about %s again", at, before->name);
                        (void) sim_client_again(before, at, had_file ? content : NULL);
                }
        }
        hosts_checks_unit_name(draw_below(sim_draw(), plan.units), name);
        story_tell("at host%u: %s %s", at, hosts_verb_names[verb], name);
        story_event("ask", at, n, "%s %s", hosts_verb_names[verb], name);
        (void) sim_client_change(at, verbs[verb], name, has_file ? content : NULL);
        sim_at(sim_now_us() + draw_below(sim_draw(), (unsigned) (2 * plan.ask_us)), NULL, on_ask, NULL);
}

static void on_look(void *data) {
        hosts_checks_look();
        sim_at(sim_now_us() + USEC_PER_SEC, NULL, on_look, NULL);
}

// ------------------------------------------------------------------------------------------------ one story

static void fill_outcome(Outcome *ret) {
        for (uint64_t i = 1; i <= sim_store_committed(); i++)
                if (sim_store_entry(i)->data)
                        story_digest("entry", sim_store_entry(i)->data, sim_store_entry(i)->len);
        *ret = (Outcome){.whole = true,
                         .digest = story_digest_value(),
                         .virtual_us = sim_now_us(),
                         .cpu_ns = sim_cpu_ns(),
                         .n_asks = sim_client_n_asks(),
                         .n_entries = sim_store_committed(),
                         .figures = sim_figures(),
                         .net = sim_net_figures()};
        for (size_t i = 0; i < sim_client_n_asks(); i++)
                ret->n_acknowledged += !sim_client_ask(i)->error && sim_client_ask(i)->status == 0;
        for (size_t i = 0; i < _HOSTS_FAULTS; i++)
                ret->n_faults += hosts_faults_count((HostsFault) i);
        for (size_t i = 0; i < _HOSTS_CHECKS; i++)
                ret->said[i] = hosts_checks_said((HostsCheck) i);
}

static void play(uint64_t seed, Outcome *ret) {
        (void) setrlimit(RLIMIT_NOFILE, &(struct rlimit){FILES_MAX, FILES_MAX});
        plan = hosts_plan_draw(seed);
        if (options.output.prose)
                hosts_plan_print(&plan);
        sim_cluster_begin(seed, plan.hosts);
        story_begin(options.output, sim_clock());
        sim_client_begin();
        hosts_checks_begin(plan.units);
        until_us = sim_now_us() + plan.length_us;
        for (uint32_t i = 1; i <= plan.hosts; i++)
                sim_machine_start(sim_machine(i));
        hosts_faults_begin(&plan, until_us);
        sim_at(sim_now_us(), NULL, on_ask, NULL);
        sim_at(sim_now_us(), NULL, on_look, NULL);
        (void) sim_run_for(plan.length_us + PATIENCE_US); // what has begun ends by itself
        story_tell("all is mended");
        hosts_faults_mend();
        hosts_checks_calm();
        fill_outcome(ret);
        hosts_checks_end();
        sim_client_end();
        sim_cluster_end();
}

// In a process of its own: what a killed host had is given back with it.
static bool play_apart(uint64_t seed, Outcome *shared) {
        int status = 0;
        pid_t pid;

        memset(shared, 0, sizeof(*shared));
        fflush(NULL);
        pid = fork();
        if (pid < 0)
                abort();
        if (pid == 0) {
                play(seed, shared);
                fflush(NULL);
                _exit(0);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (status != 0 && WIFSIGNALED(status))
                fprintf(stderr, "signal %i\n", WTERMSIG(status));
        if (status == 0 && shared->whole)
                return true;
        fprintf(stderr, "red: seed %" PRIu64 "; again: hosts-sim --seed %" PRIu64 " --prose\n", seed, seed);
        return false;
}

static void print_outcome(uint64_t seed, const Outcome *o) {
        printf("seed %" PRIu64 ": %016" PRIx64 ", %" PRIu64 " s, %" PRIu64 " faults, %" PRIu64 " of %" PRIu64 " requests acknowledged, %" PRIu64
               " entries, %" PRIu64 " turns, %" PRIu64 " events, %.2f CPU s\n",
               seed, o->digest, o->virtual_us / USEC_PER_SEC, o->n_faults, o->n_acknowledged, o->n_asks, o->n_entries, o->figures.turns,
               o->figures.events, (double) o->cpu_ns / 1e9);
}

static int play_all(Outcome *shared) {
        Outcome sum = {}, first;
        unsigned n_red = 0;

        for (uint64_t seed = options.first; seed <= options.last; seed++) {
                if (!play_apart(seed, shared)) {
                        n_red++;
                        continue;
                }
                first = *shared;
                print_outcome(seed, &first);
                if (options.twice && (!play_apart(seed, shared) || shared->digest != first.digest)) {
                        fprintf(stderr, "red: seed %" PRIu64 " tells %016" PRIx64 " and then %016" PRIx64 "\n", seed, first.digest, shared->digest);
                        n_red++;
                }
                sum.virtual_us += first.virtual_us;
                sum.cpu_ns += first.cpu_ns;
                sum.figures.turns += first.figures.turns;
                sum.figures.events += first.figures.events;
                for (size_t i = 0; i < _HOSTS_CHECKS; i++)
                        sum.said[i] += first.said[i];
        }
        printf("%u red; %" PRIu64 " virtual seconds in %.1f CPU seconds: %.0f times as fast, %.0f turns and events a CPU second\n", n_red,
               sum.virtual_us / USEC_PER_SEC, (double) sum.cpu_ns / 1e9, (double) sum.virtual_us * 1e3 / (double) (sum.cpu_ns ?: 1),
               (double) (sum.figures.turns + sum.figures.events) * 1e9 / (double) (sum.cpu_ns ?: 1));
        for (size_t i = 0; i < _HOSTS_CHECKS; i++)
                printf("  %-22s %10" PRIu64 "%s\n", hosts_check_names[i], sum.said[i], sum.said[i] ? "" : "  never");
        return n_red > 0;
}

// ------------------------------------------------------------------------------------------------ options

static int usage(void) {
        fprintf(stderr, "hosts-sim --seed N [--prose] [--events] | --seeds A..B [--twice]\n");
        return 2;
}

static bool parse(int argc, char **argv) {
        enum { OPT_SEED = 256, OPT_SEEDS, OPT_PROSE, OPT_EVENTS, OPT_TWICE };
        static const struct option all[] = {
                {"seed", required_argument, NULL, OPT_SEED},   {"seeds", required_argument, NULL, OPT_SEEDS},
                {"prose", no_argument, NULL, OPT_PROSE},       {"events", no_argument, NULL, OPT_EVENTS},
                {"twice", no_argument, NULL, OPT_TWICE},       {},
        };
        int c;

        while ((c = getopt_long(argc, argv, "", all, NULL)) >= 0)
                switch (c) {
                case OPT_SEED:
                        options.first = options.last = options.seed = strtoull(optarg, NULL, 10);
                        break;
                case OPT_SEEDS:
                        if (sscanf(optarg, "%" SCNu64 "..%" SCNu64, &options.first, &options.last) != 2)
                                return false;
                        break;
                case OPT_PROSE:
                        options.output.prose = true;
                        break;
                case OPT_EVENTS:
                        options.output.events = true;
                        break;
                case OPT_TWICE:
                        options.twice = true;
                        break;
                default:
                        return false;
                }
        return optind == argc && options.last >= options.first && options.last > 0;
}

int main(int argc, char **argv) {
        Outcome *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (shared == MAP_FAILED || !parse(argc, argv))
                return usage();
        return play_all(shared);
}
