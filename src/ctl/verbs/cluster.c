// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The verbs of `cluster`: status, token, join, leave, remove, promote, demote, voters, rotate-ca, set-time,
// peers, recover.
//
//      words -> a request -> ctl_ask()
//          -> a table, JSON, or the daemon's sentence; recover executes argosyd --recover
//
// A change of membership is asked once: the daemon may restart because of it. Join tokens are overwritten
// after use. Failures: an exit code after its message.

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "ctl.h"
#include "json.h"
#include "message-of.h"
#include "str.h"
#include "table.h"
#include "terminal.h"
#include "verbs.h"

enum {
        TOKEN_MAX = 256,
        TOKEN_TTL_SEC_MAX = 30 * 86400,
        VOTERS_MAX = 5,
        HOSTS_NAMED_MAX = 3,
        CLOCK_OFF_US = 2000000,   // a warning is printed above this difference
        LOG_AHEAD_US = 60000000, // by which the log's time may be ahead of the clocks
};

// ---- status

static void json_members(Json *j, const Argosy__Response__ClusterStatus *c) {
        json_member_begin(j, "members", '[');
        for (size_t i = 0; i < c->n_members; i++) {
                const Argosy__Response__ClusterStatus__Member *m = c->members[i];
                const char *const texts[][2] = {{"name", m->name},
                                                {"address", m->address},
                                                {"role", m->role},
                                                {"state", m->state},
                                                {"version", m->version}};

                json_begin(j, '{');
                for (size_t k = 0; k < ELEMENTSOF(texts); k++) {
                        json_member_string(j, texts[k][0], texts[k][1]);
                }
                json_member_u64(j, "host", m->host);
                json_member_bool(j, "leader", m->leader);
                json_member_u64(j, "raft_id", m->raft_id);
                json_u64_or_null(j, "log_index", m->log_index, m->log_index > 0);
                json_u64_or_null(j, "lag", m->lag, m->log_index > 0);
                json_member_u64(j, "voters_configured", m->voters_configured);
                json_key(j, "clock_ahead_us");
                if (m->clock_known)
                        json_i64(j, m->clock_ahead_us);
                else
                        json_null(j);
                json_end(j, '}');
        }
        json_end(j, ']');
}

static void json_cluster(Ctl *ctl, const Argosy__Response__ClusterStatus *c) {
        Json j = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY};
        const char *const texts[][2] = {{"cluster_id", c->cluster_id},
                                        {"leader", c->leader},
                                        {"role", c->role},
                                        {"feature_notice", c->feature_notice},
                                        {"ca_notice", c->ca_notice},
                                        {"secrets_notice", c->secrets_notice},
                                        {"notice", c->notice}};
        const struct {
                const char *key;
                uint64_t value;
        } numbers[] = {{"generation", c->generation},
                       {"term", c->term},
                       {"index", c->index},
                       {"feature_level", c->feature_level},
                       {"voters_wanted", c->voters_wanted},
                       {"log_time", c->log_us}};

        json_begin(&j, '{');
        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                json_member_string(&j, texts[i][0], texts[i][1]);
        }
        for (size_t i = 0; i < ELEMENTSOF(numbers); i++) {
                json_member_u64(&j, numbers[i].key, numbers[i].value);
        }
        json_key(&j, "time");
        if (c->wall_us > 0)
                json_u64(&j, c->wall_us);
        else
                json_null(&j);
        json_member_bool(&j, "clocks_agree", c->clocks_agree);
        json_members(&j, c);
        json_end(&j, '}');
        json_finish(&j);
}

static int add_member(Table *t, const Argosy__Response__ClusterStatus__Member *m) {
        char index[32] = "", lag[32] = "";
        int r;

        if (m->log_index > 0) {
                snprintf(index, sizeof(index), "%" PRIu64, m->log_index);
                snprintf(lag, sizeof(lag), "%" PRIu64, m->lag);
        }
        r = table_add(t, m->name, COLOUR_NONE);
        if (r == 0)
                r = table_add(t, m->address, COLOUR_NONE);
        if (r == 0)
                r = table_add(t, m->leader ? "leader" : m->role, m->leader ? COLOUR_BOLD : COLOUR_NONE);
        if (r == 0)
                r = table_add(t, m->state,
                              streq(m->state, "online") ? COLOUR_GREEN
                              : streq(m->state, "lost") ? COLOUR_RED
                                                        : COLOUR_YELLOW);
        if (r == 0)
                r = table_add(t, index, COLOUR_NONE);
        if (r == 0)
                r = table_add(t, lag, m->lag > 0 ? COLOUR_YELLOW : COLOUR_NONE);
        return r < 0 ? r : table_add(t, m->version, COLOUR_NONE);
}

static int print_members(Ctl *ctl, const Argosy__Response__ClusterStatus *c) {
        static const char *const headers[] = {"NODE", "ADDRESS", "ROLE", "STATE", "INDEX", "LAG", "VERSION"};
        _cleanup_table_ Table t = {};
        _cleanup_buf_ Buf text = {};
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(headers); i++)
                table_add_column(&t, headers[i], i == 0, false);
        for (size_t i = 0; i < c->n_members && r == 0; i++)
                r = add_member(&t, c->members[i]);
        if (r == 0)
                r = table_format(&t, &ctl->term.style, !ctl->opt.given[OPT_NO_LEGEND], &text);
        if (r == 0)
                fwrite(text.data, 1, text.len, ctl->term.out);
        return r;
}

static bool wants_voters(const Argosy__Response__ClusterStatus__Member *m, uint32_t voters) {
        return m->voters_configured == voters;
}

// One line for all hosts that have the same Voters=.
static void warn_of_voters(Ctl *ctl, const Argosy__Response__ClusterStatus *c, uint32_t voters) {
        size_t n = 0, named = 0;

        for (size_t i = 0; i < c->n_members; i++)
                n += wants_voters(c->members[i], voters);
        fprintf(ctl->term.out, "      Warning: Voters=%" PRIu32 " is configured on ", voters);
        for (size_t i = 0; i < c->n_members && named < HOSTS_NAMED_MAX; i++)
                if (wants_voters(c->members[i], voters))
                        fprintf(ctl->term.out, "%s%s", named++ ? ", " : "", c->members[i]->name);
        if (n > named)
                fprintf(ctl->term.out, " and %zu more", n - named);
        fprintf(ctl->term.out, ": it counts for nothing\n");
}

// The number of voters is in the log; Voters= of a host only counts when its own cluster begins.
static void warn_of_configured_voters(Ctl *ctl, const Argosy__Response__ClusterStatus *c) {
        for (size_t i = 0; i < c->n_members; i++) {
                uint32_t voters = c->members[i]->voters_configured;
                bool known = voters == 0 || voters == c->voters_wanted;

                for (size_t k = 0; k < i && !known; k++)
                        known = wants_voters(c->members[k], voters);
                if (!known)
                        warn_of_voters(ctl, c, voters);
        }
}

static int print_span(Ctl *ctl, const char *what, uint64_t span_us, const char *than) {
        _cleanup_buf_ Buf text = {};
        int r = text_append_span(&text, span_us);

        if (r == 0)
                fprintf(ctl->term.out, "      Warning: %s %.*s %s\n", what, (int) text.len,
                        (const char *) text.data, than);
        return r;
}

// Differences up to CLOCK_OFF_US are not reported, since the host's reading needed time to arrive.
static int warn_of_clocks(Ctl *ctl, const Argosy__Response__ClusterStatus *c) {
        int r = 0;

        for (size_t i = 0; i < c->n_members && r == 0; i++) {
                const Argosy__Response__ClusterStatus__Member *m = c->members[i];
                uint64_t off_us =
                        (uint64_t) (m->clock_ahead_us < 0 ? -m->clock_ahead_us : m->clock_ahead_us);
                char what[320];

                if (!m->clock_known || off_us <= CLOCK_OFF_US)
                        continue;
                str_fit(what, sizeof(what), "the clock of %s is", m->name);
                r = print_span(ctl, what, off_us, m->clock_ahead_us > 0 ? "ahead" : "behind");
        }
        if (r == 0 && c->clocks_agree && c->log_us > c->wall_us + LOG_AHEAD_US)
                r = print_span(ctl, "the log's time is", c->log_us - c->wall_us,
                               "ahead: argosyctl cluster set-time");
        return r;
}

static int print_time(Ctl *ctl, const Argosy__Response__ClusterStatus *c) {
        _cleanup_buf_ Buf when = {};
        int r = c->wall_us > 0 ? text_append_time(&when, c->wall_us) : 0;

        if (r == 0 && c->wall_us > 0)
                fprintf(ctl->term.out, "         Time: %.*s%s\n", (int) when.len, (const char *) when.data,
                        c->clocks_agree
                                ? ""
                                : " (counted on from the log's: the clocks of most voters do not agree)");
        return r;
}

static int on_cluster_status(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        const Argosy__Response__ClusterStatus *c;
        size_t voters = 0;

        if (r->what_case != ARGOSY__RESPONSE__WHAT_CLUSTER_STATUS)
                return 0;
        c = r->cluster_status;
        if (ctl->opt.json != JSON_OFF) {
                json_cluster(ctl, c);
                return 0;
        }
        for (size_t i = 0; i < c->n_members; i++)
                voters += streq(c->members[i]->role, "voter");
        if (!ctl->opt.given[OPT_NO_LEGEND]) {
                fprintf(ctl->term.out, "      Cluster: %s (generation %" PRIu64 ")\n", c->cluster_id,
                        c->generation);
                fprintf(ctl->term.out, "       Leader: %s (term %" PRIu64 ")\n",
                        *c->leader ? c->leader : "none", c->term);
                fprintf(ctl->term.out, "       Voters: %zu of %" PRIu32 "\n", voters, c->voters_wanted);
                fprintf(ctl->term.out, "          Log: index %" PRIu64 "\n", c->index);
                ctl_say(ctl, "Feature level: %" PRIu32 "%s%s%s", c->feature_level,
                        *c->feature_notice ? " (" : "", c->feature_notice, *c->feature_notice ? ")" : "");
                if (print_time(ctl, c) < 0)
                        return -ENOMEM;
                if (*c->role)
                        ctl_say(ctl, "    This host: %s", c->role);
                if (*c->ca_notice)
                        ctl_say(ctl, "           CA: %s", c->ca_notice);
                if (*c->secrets_notice)
                        ctl_say(ctl, "      Secrets: %s", c->secrets_notice);
                if (*c->notice)
                        ctl_say(ctl, "       Notice: %s", c->notice);
                warn_of_configured_voters(ctl, c);
                if (warn_of_clocks(ctl, c) < 0)
                        return -ENOMEM;
                fputc('\n', ctl->term.out);
        }
        return print_members(ctl, c);
}

int verb_cluster_status(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ClusterStatus status = ARGOSY__REQUEST__CLUSTER_STATUS__INIT;
        Argosy__Request request = REQUEST_OF(CLUSTER_STATUS, cluster_status, &status);

        return ctl_ask(ctl, &request, 0, on_cluster_status, NULL);
}

// ---- token

static void print_how_to_join(Ctl *ctl, const Argosy__Response__Token *t, const Buf *when) {
        bool six = strchr(t->address, ':');

        fprintf(ctl->term.err, "It lets whoever has it join until %.*s", (int) when->len,
                (const char *) when->data);
        if (*t->address)
                fprintf(ctl->term.err, ", with: argosyctl%s cluster join %s%s%s:%" PRIu32 " TOKEN",
                        ctl->opt.given[OPT_USER] ? " --user" : "", six ? "[" : "", t->address,
                        six ? "]" : "", t->port);
        fputs(".\n", ctl->term.err);
}

static int on_token(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        _cleanup_buf_ Buf when = {};

        if (r->what_case != ARGOSY__RESPONSE__WHAT_TOKEN)
                return 0;
        if (ctl->opt.json != JSON_OFF) {
                Json j = {.f = ctl->term.out, .pretty = ctl->opt.json == JSON_PRETTY};

                json_begin(&j, '{');
                json_member_string(&j, "token", r->token->token);
                json_member_u64(&j, "expires_us", r->token->expires_us);
                json_member_string(&j, "address", r->token->address);
                json_member_u64(&j, "port", r->token->port);
                json_end(&j, '}');
                json_finish(&j);
                return 0;
        }
        fprintf(ctl->term.out, "%s\n", r->token->token);
        if (ctl->term.err_tty && !ctl->opt.given[OPT_QUIET] &&
            text_append_time(&when, r->token->expires_us) == 0)
                print_how_to_join(ctl, r->token, &when);
        return 0;
}

int verb_cluster_token(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ClusterToken token = ARGOSY__REQUEST__CLUSTER_TOKEN__INIT;
        Argosy__Request request = REQUEST_OF(CLUSTER_TOKEN, cluster_token, &token);

        if (ctl->opt.ttl_sec > TOKEN_TTL_SEC_MAX)
                return ctl_usage(ctl, "a token with which hosts join can be used for 30 days at most");
        token.ttl_sec = ctl->opt.ttl_sec;
        token.for_host = (char *) (ctl->opt.given[OPT_FOR] ? ctl->opt.for_what : "");
        token.once = ctl->opt.given[OPT_ONCE];
        return ctl_ask(ctl, &request, 0, on_token, NULL);
}

// ---- membership

// Prints the daemon's sentence, e.g. what still has to happen.
static int on_done(Ctl *ctl, const Argosy__Response *r, void *userdata) {
        if (*r->message && !ctl->opt.given[OPT_QUIET])
                ctl_say(ctl, "%s", r->message);
        return 0;
}

// Asked once: the daemon may restart because of the request, and a second answer would be that it is done
// already.
static int change_membership(Ctl *ctl, Argosy__Request *request) {
        return ctl_ask(ctl, request, CALL_PATIENT | CALL_ONCE | CALL_NOTE, on_done, NULL);
}

// A token on the command line can be seen by every process of the host; "-" reads it from standard input.
static int read_token(Ctl *ctl, const char *arg, char *ret, size_t size) {
        if (!streq(arg, "-")) {
                if (strlen(arg) >= size)
                        return ctl_usage(ctl, "that is not a join token");
                strcpy(ret, arg);
                return EXIT_OK;
        }
        if (!fgets(ret, (int) size, stdin))
                return ctl_fail(ctl, "no token on standard input");
        ret[strcspn(ret, "\r\n")] = 0;
        return EXIT_OK;
}

int verb_cluster_join(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ClusterJoin join = ARGOSY__REQUEST__CLUSTER_JOIN__INIT;
        Argosy__Request request = REQUEST_OF(CLUSTER_JOIN, cluster_join, &join);
        char token[TOKEN_MAX];
        int code;

        code = read_token(ctl, args[1], token, sizeof(token));
        if (code != EXIT_OK)
                return code;
        join.address = args[0];
        join.token = token;
        join.discard = ctl->opt.given[OPT_DISCARD];
        code = change_membership(ctl, &request);
        explicit_bzero(token, sizeof(token));
        return code;
}

int verb_cluster_leave(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ClusterLeave leave =
                MESSAGE_OF(request__cluster_leave, .force = ctl->opt.given[OPT_FORCE]);
        Argosy__Request request = REQUEST_OF(CLUSTER_LEAVE, cluster_leave, &leave);

        return change_membership(ctl, &request);
}

int verb_cluster_remove(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ClusterRemove remove =
                MESSAGE_OF(request__cluster_remove, .host = args[0], .force = ctl->opt.given[OPT_FORCE]);
        Argosy__Request request = REQUEST_OF(CLUSTER_REMOVE, cluster_remove, &remove);

        return change_membership(ctl, &request);
}

static int change_role(Ctl *ctl, char *host, bool promote) {
        Argosy__Request__ClusterRole role =
                MESSAGE_OF(request__cluster_role, .host = host, .promote = promote);
        Argosy__Request request = REQUEST_OF(CLUSTER_ROLE, cluster_role, &role);

        return change_membership(ctl, &request);
}

int verb_cluster_promote(Ctl *ctl, char **args, size_t n) {
        return change_role(ctl, args[0], true);
}

int verb_cluster_demote(Ctl *ctl, char **args, size_t n) {
        return change_role(ctl, args[0], false);
}

int verb_cluster_voters(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ClusterVoters voters = ARGOSY__REQUEST__CLUSTER_VOTERS__INIT;
        Argosy__Request request = REQUEST_OF(CLUSTER_VOTERS, cluster_voters, &voters);
        uint64_t wanted;

        if (!parse_u64(args[0], VOTERS_MAX, &wanted) || wanted % 2 == 0)
                return ctl_usage(ctl, "a cluster has 1, 3 or 5 voters, not '%s'", args[0]);
        voters.wanted = (uint32_t) wanted;
        return change_membership(ctl, &request);
}

int verb_cluster_rotate_ca(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ClusterRotateCa rotate =
                MESSAGE_OF(request__cluster_rotate_ca, .finish = ctl->opt.given[OPT_FINISH]);
        Argosy__Request request = REQUEST_OF(CLUSTER_ROTATE_CA, cluster_rotate_ca, &rotate);

        return change_membership(ctl, &request);
}

int verb_cluster_set_time(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ClusterSetTime set = ARGOSY__REQUEST__CLUSTER_SET_TIME__INIT;
        Argosy__Request request = REQUEST_OF(CLUSTER_SET_TIME, cluster_set_time, &set);

        if (n > 0 && !text_parse_date(args[0], &set.to_us))
                return ctl_usage(ctl, "'%s' is no date like '2026-01-31 22:00:00', in local time", args[0]);
        return change_membership(ctl, &request);
}

// ---- peers

int verb_cluster_peers(Ctl *ctl, char **args, size_t n) {
        Argosy__Request__ClusterPeers peers =
                MESSAGE_OF(request__cluster_peers, .addresses = args, .n_addresses = n);
        Argosy__Request request = REQUEST_OF(CLUSTER_PEERS, cluster_peers, &peers);

        return change_membership(ctl, &request);
}

// ---- recover

// user: "--user", or NULL. Runs the argosyd that lies beside this program, else the first one on the path.
// Returns only on failure.
static void exec_recover(const char *user) {
        char self[PATH_MAX], *slash;
        ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - sizeof("argosyd"));

        if (len > 0) {
                self[len] = 0;
                slash = strrchr(self, '/');
                if (slash) {
                        strcpy(slash + 1, "argosyd");
                        execl(self, "argosyd", "--recover", user, NULL);
                }
        }
        execlp("argosyd", "argosyd", "--recover", user, NULL);
        execl("/usr/sbin/argosyd", "argosyd", "--recover", user,
              NULL); // an administrator's path may end at /usr/bin
}

int verb_cluster_recover(Ctl *ctl, char **args, size_t n) {
        if (!ctl->opt.given[OPT_YES])
                return ctl_usage(
                        ctl,
                        "this makes this host the only voter of a new generation of its cluster; what "
                        "only the other voters knew is lost. Make sure that they are gone for good, stop "
                        "argosyd.socket and argosyd.service here, and say --yes");
        fflush(ctl->term.out);
        exec_recover(ctl->opt.given[OPT_USER] ? "--user" : NULL);
        return ctl_fail(ctl, "cannot run argosyd: %s", strerror(errno));
}
