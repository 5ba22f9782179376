// SPDX-License-Identifier: LGPL-2.1-or-later
//
// virtual-hosts: joins hosts that have no machine to a real cluster, where they do what an agent does
// (virtual-host.h), until it is told to end. So a cluster of a thousand hosts and a million units is one
// argosyd and one of these.
//
//      members join -> all are welcomed: "ready" -> commands on standard input -> its end, or SIGTERM: all
//      leave in order
//
// What it says on standard output is a line of JSON each: {"event": "ready"}, and {"event": "stats"} when it
// was asked. Anything that goes wrong before all have joined ends it with a reason and exit status 1;
// afterwards links are dialled again as by any host, and violations of the protocol by the leader are
// counted and logged.
#include "virtual-hosts.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>

#include "clock.h"
#include "log.h"
#include "str.h"
#include "stream.h"

enum { COMMAND_MAX = 256, HOSTS_MAX = 16384, HOSTS_DEFAULT = 50 };

typedef struct Input { // standard input, line by line
        uv_pipe_t pipe;
        char line[COMMAND_MAX];
        size_t len;
        bool open;
} Input;

static VirtualHosts all;
static Input input;
static uv_signal_t sigterm, sigint;

void virtual_hosts_fail(const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        fputs("virtual-hosts: ", stderr);
        vfprintf(stderr, format, ap);
        fputc('\n', stderr);
        va_end(ap);
        exit(EXIT_FAILURE);
}

// FNV-1a over what it is about, mixed by the end of splitmix64: Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", 2014.
uint64_t virtual_hosts_draw(const VirtualHosts *v, const char *word, uint64_t number, uint64_t min,
                            uint64_t max) {
        uint64_t x = UINT64_C(14695981039346656037) ^ v->options.seed;

        if (min >= max)
                return min;
        for (; *word; word++)
                x = (x ^ (uint8_t) *word) * UINT64_C(1099511628211);
        x += number * UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        x ^= x >> 31;
        return min + x % (max - min + 1);
}

// ---- commands

static void lose(size_t n) {
        for (size_t i = all.n_members; n > 0 && i > 0; i--)
                if (member_is_here(&all.members[i - 1])) {
                        member_lose(&all.members[i - 1]);
                        n--;
                }
}

static void leave(size_t n) {
        for (size_t i = all.n_members; n > 0 && i > 0; i--)
                if (member_is_here(&all.members[i - 1])) {
                        member_leave(&all.members[i - 1]);
                        n--;
                }
}

static void take_back(size_t n) {
        for (size_t i = 0; n > 0 && i < all.n_members; i++)
                if (all.members[i].lost && !all.members[i].mesh) {
                        member_return(&all.members[i]);
                        n--;
                }
}

static void print_stats(void) {
        uint64_t units = 0, active = 0, orders = 0, reports = 0, files = 0, late = 0;
        size_t in_session = 0;

        for (size_t i = 0; i < all.n_members; i++) {
                const Member *m = &all.members[i];

                orders += m->virtual.n_orders;
                reports += m->virtual.n_reports;
                files += m->virtual.n_files;
                late += m->virtual.late_acks;
                if (!member_is_here(m))
                        continue;
                in_session += m->virtual.welcomed;
                units += m->virtual.units.count;
                active += m->virtual.n_active;
        }
        printf("{\"event\": \"stats\", \"hosts\": %zu, \"units\": %" PRIu64 ", \"active\": %" PRIu64
               ", \"orders\": %" PRIu64 ", \"reports\": %" PRIu64 ", \"files\": %" PRIu64
               ", \"late\": %" PRIu64 ", \"violations\": %" PRIu64 "}\n",
               in_session, units, active, orders, reports, files, late, all.n_violations);
        fflush(stdout);
}

static void obey(const char *line) {
        static const struct {
                const char *word;
                void (*run)(size_t n);
        } verbs[] = {{"lose ", lose}, {"leave ", leave}, {"return ", take_back}};
        uint64_t n;

        if (streq(line, "stats")) {
                print_stats();
                return;
        }
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (str_has_prefix(line, verbs[i].word) &&
                    parse_u64(line + strlen(verbs[i].word), HOSTS_MAX, &n)) {
                        verbs[i].run((size_t) n);
                        return;
                }
        fprintf(stderr, "virtual-hosts: \"%s\": not one of stats, lose N, return N, leave N\n", line);
}

void virtual_hosts_on_ready(VirtualHosts *v) {
        printf("{\"event\": \"ready\", \"hosts\": %zu}\n", v->n_members);
        fflush(stdout);
        lose(v->options.n_lose);
}

// ---- the end

static void end(void) {
        if (all.ending)
                return;
        all.ending = true;
        leave(all.n_members);
        if (all.socket)
                stream_close(all.socket, 0, false);
        uv_close((uv_handle_t *) &sigterm, NULL);
        uv_close((uv_handle_t *) &sigint, NULL);
        if (input.open)
                uv_close((uv_handle_t *) &input.pipe, NULL);
        input.open = false;
        uv_close((uv_handle_t *) &all.timer, NULL);
        drain_close(&all.drain, NULL);
}

static void on_signal(uv_signal_t *handle, int number) {
        end();
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret) {
        *ret = uv_buf_init(input.line + input.len, (unsigned) (sizeof(input.line) - 1 - input.len));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
        char *end_of_line;

        // it is closed, or a line has no end
        if (n < 0 || input.len + (size_t) n >= sizeof(input.line) - 1) {
                end();
                return;
        }
        input.len += (size_t) n;
        input.line[input.len] = 0;
        while (input.open && (end_of_line = strchr(input.line, '\n'))) {
                *end_of_line = 0;
                obey(input.line);
                input.len -= (size_t) (end_of_line + 1 - input.line);
                memmove(input.line, end_of_line + 1, input.len + 1);
        }
}

// Without a pipe there are no commands: it runs until a signal comes.
static void open_input(void) {
        if (uv_guess_handle(0) != UV_NAMED_PIPE)
                return;
        if (uv_pipe_init(&all.loop, &input.pipe, 0) < 0 || uv_pipe_open(&input.pipe, 0) < 0 ||
            uv_read_start((uv_stream_t *) &input.pipe, on_alloc, on_read) < 0)
                virtual_hosts_fail("cannot read standard input");
        input.open = true;
}

// ---- options

static const char help[] =
        "virtual-hosts [OPTIONS...] SOCKET\n\n"
        "Joins hosts without machines to the cluster of the argosyd behind SOCKET.\n\n"
        "     --hosts=N          So many (50, at most 16384)\n"
        "     --prefix=WORD      They are called WORD1, WORD2, ... (v)\n"
        "     --label=KEY=VALUE  Which each of them has\n"
        "     --start=MS[-MS]    How long a start takes (0)\n"
        "     --stop=MS[-MS]     How long a stop takes (0)\n"
        "     --fail=N           So many of 1,000 starts fail (0)\n"
        "     --seed=N           From which times and failures are drawn (1)\n"
        "     --lose=N           So many lose power when all are welcomed\n"
        "     --user             The cluster is one of users' managers\n\n"
        "Standard input, if it is a pipe, takes: stats, lose N, return N, leave N; at its end all leave.\n";

enum { OPT_HOSTS = 256, OPT_PREFIX, OPT_LABEL, OPT_START, OPT_STOP, OPT_FAIL, OPT_SEED, OPT_LOSE, OPT_USER };

static const struct option option_table[] = {
        {"help", no_argument, NULL, 'h'},
        {"hosts", required_argument, NULL, OPT_HOSTS},
        {"prefix", required_argument, NULL, OPT_PREFIX},
        {"label", required_argument, NULL, OPT_LABEL},
        {"start", required_argument, NULL, OPT_START},
        {"stop", required_argument, NULL, OPT_STOP},
        {"fail", required_argument, NULL, OPT_FAIL},
        {"seed", required_argument, NULL, OPT_SEED},
        {"lose", required_argument, NULL, OPT_LOSE},
        {"user", no_argument, NULL, OPT_USER},
        {},
};

static uint64_t number(const char *text, uint64_t max) {
        uint64_t n;

        if (!parse_u64(text, max, &n))
                virtual_hosts_fail("\"%s\" is not a number of at most %" PRIu64, text, max);
        return n;
}

static Span span(char *text) {
        char *dash = strchr(text, '-');
        Span s;

        if (dash)
                *dash = 0;
        s.min_us = s.max_us = number(text, 3600000) * USEC_PER_MSEC;
        if (dash)
                s.max_us = number(dash + 1, 3600000) * USEC_PER_MSEC;
        return s;
}

static void set_label(char *text) {
        char *equals = strchr(text, '=');

        if (!equals)
                virtual_hosts_fail("\"%s\" is not KEY=VALUE", text);
        *equals = 0;
        argosy__label__init(&all.label);
        all.label.key = text;
        all.label.value = equals + 1;
        all.labels[0] = &all.label;
        all.n_labels = 1;
}

static void read_option(int c, char *value, VirtualOptions *o) {
        switch (c) {
        case 'h':
                fputs(help, stdout);
                exit(EXIT_SUCCESS);
        case OPT_HOSTS:
                o->n_hosts = (size_t) number(value, HOSTS_MAX);
                break;
        case OPT_PREFIX:
                o->prefix = value;
                break;
        case OPT_LABEL:
                set_label(value);
                break;
        case OPT_START:
                o->start = span(value);
                break;
        case OPT_STOP:
                o->stop = span(value);
                break;
        case OPT_FAIL:
                o->fail_permille = (unsigned) number(value, 1000);
                break;
        case OPT_SEED:
                o->seed = number(value, UINT64_MAX);
                break;
        case OPT_LOSE:
                o->n_lose = (size_t) number(value, HOSTS_MAX);
                break;
        case OPT_USER:
                o->user = true;
                break;
        default:
                exit(2);
        }
}

static VirtualOptions read_options(int argc, char **argv) {
        VirtualOptions o = {.n_hosts = HOSTS_DEFAULT, .prefix = "v", .seed = 1};
        int c;

        while ((c = getopt_long(argc, argv, "h", option_table, NULL)) >= 0)
                read_option(c, optarg, &o);
        if (optind + 1 != argc || o.n_hosts == 0)
                virtual_hosts_fail("wants the socket of an argosyd, and one host at least; see --help");
        o.socket = argv[optind];
        return o;
}

// A link each.
static void raise_limit(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
                limit.rlim_cur = limit.rlim_max;
                (void) setrlimit(RLIMIT_NOFILE, &limit); // else dialling says what is missing
        }
}

int main(int argc, char **argv) {
        signal(SIGPIPE, SIG_IGN);
        log_set_name("virtual-hosts");
        log_set_level(LOG_WARNING);
        raise_limit();
        all.options = read_options(argc, argv);
        if (uv_loop_init(&all.loop) < 0)
                virtual_hosts_fail("no loop");
        list_init(&all.marked);
        (void) drain_init(&all.drain, &all.loop, virtual_hosts_on_turn, &all);
        uv_timer_init(&all.loop, &all.timer);
        all.timer.data = &all;
        uv_signal_init(&all.loop, &sigterm);
        uv_signal_init(&all.loop, &sigint);
        uv_signal_start(&sigterm, on_signal, SIGTERM);
        uv_signal_start(&sigint, on_signal, SIGINT);
        open_input();
        all.n_members = all.options.n_hosts;
        all.members = calloc(all.n_members, sizeof(*all.members));
        if (!all.members)
                virtual_hosts_fail("%s", strerror(ENOMEM));
        for (size_t i = 0; i < all.n_members; i++)
                member_init(&all.members[i], &all, i + 1);
        virtual_hosts_join(&all);
        uv_run(&all.loop, UV_RUN_DEFAULT);
        for (size_t i = 0; i < all.n_members; i++)
                member_done(&all.members[i]);
        free(all.members);
        deadline_heap_done(&all.due);
        (void) uv_loop_close(&all.loop);
        return EXIT_SUCCESS;
}
