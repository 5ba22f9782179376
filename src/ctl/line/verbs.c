// SPDX-License-Identifier: LGPL-2.1-or-later
#include "verbs.h"
#include "ctl.h"
#include "str.h"

#define CHANGE(name, opts, fn, text) \
        { name, NULL, "UNIT...", GROUP_CHANGE, opts, 1, ARGS_MAX, fn, text }

const Verb verbs[] = {
        CHANGE("submit", OPT_REPLACE | OPT_VERBOSE | OPT_JSON, verb_submit,
               "Make unit files known to the cluster"),
        CHANGE("load", OPT_REPLACE | OPT_WAITING, verb_load, "Place units on nodes without starting them"),
        CHANGE("start", OPT_REPLACE | OPT_WAITING, verb_start, "Place and start units"),
        CHANGE("stop", OPT_WAITING | OPT_LOCAL, verb_stop, "Stop units; they stay on their nodes"),
        CHANGE("restart", OPT_WAITING | OPT_ROLLING | OPT_MAX_UNAVAILABLE | OPT_HEALTH, verb_restart,
               "Stop and start units again"),
        CHANGE("update", OPT_MAX_UNAVAILABLE | OPT_HEALTH | OPT_ABORT | OPT_NO_BLOCK | OPT_VERBOSE,
               verb_update, "Give units new files, a few at a time, and go back if one fails"),
        CHANGE("unload", OPT_WAITING, verb_unload, "Stop units and take them off their nodes"),
        CHANGE("plan", OPT_REPLACE | OPT_JSON | OPT_FULL, verb_plan,
               "Say what `start` would do, and do nothing"),
        CHANGE("destroy", OPT_WAITING, verb_destroy, "Stop units and forget them"),

        {"status", NULL, "UNIT...", GROUP_SEE, OPT_NO_PAGER | OPT_FULL | OPT_LINES | OPT_JSON, 1, ARGS_MAX,
         verb_status, "Show what units do, where, and why not"},
        {"why", NULL, "UNIT...", GROUP_SEE, OPT_NO_PAGER | OPT_FULL | OPT_JSON, 1, ARGS_MAX, verb_why,
         "Say why units are not as they are wanted, for each node"},
        {"list-units", NULL, "[PATTERN...]", GROUP_SEE, OPT_LIST | OPT_LOCAL | OPT_STATE, 0, ARGS_MAX,
         verb_list_units, "List units and their states on nodes"},
        {"list-unit-files", NULL, "[PATTERN...]", GROUP_SEE, OPT_LIST, 0, ARGS_MAX, verb_list_unit_files,
         "List units as the cluster wants them"},
        {"list-nodes", "list-machines", "", GROUP_SEE, OPT_LIST, 0, 0, verb_list_nodes, "List the nodes"},
        {"cat", NULL, "UNIT...", GROUP_SEE, OPT_NO_PAGER, 1, ARGS_MAX, verb_cat,
         "Print unit files, byte for byte as submitted"},
        {"journal", NULL, "UNIT", GROUP_SEE, OPT_LINES | OPT_FOLLOW | OPT_NODE | OPT_NO_PAGER, 1, 1,
         verb_journal, "Print a unit's log from its node"},
        {"top", NULL, "[PATTERN...]", GROUP_SEE,
         OPT_JSON | OPT_NO_LEGEND | OPT_FULL | OPT_FIELDS | OPT_LOCAL | OPT_NODE | OPT_ITERATIONS |
                 OPT_DELAY | OPT_BATCH | OPT_ORDER,
         0, ARGS_MAX, verb_top, "Show what units use, again and again"},
        {"is-active", NULL, "UNIT...", GROUP_SEE, 0, 1, ARGS_MAX, verb_is_active,
         "Print the active states; exit 0 if one is active"},

        {"cordon", NULL, "NODE...", GROUP_NODES, OPT_REASON, 1, ARGS_MAX, verb_cordon,
         "Let nodes take no new units"},
        {"uncordon", NULL, "NODE...", GROUP_NODES, 0, 1, ARGS_MAX, verb_uncordon,
         "Open nodes again: ends cordon, drain and maintenance"},
        {"drain", NULL, "NODE...", GROUP_NODES, OPT_DEADLINE | OPT_REASON | OPT_NO_BLOCK, 1, ARGS_MAX,
         verb_drain, "Move units away from nodes, and let them take no new ones"},
        {"maintenance", NULL, "NODE...", GROUP_NODES, OPT_DEADLINE | OPT_REASON | OPT_NO_BLOCK, 1, ARGS_MAX,
         verb_maintenance, "Drain nodes and stop their global units too"},
        {"rebalance", NULL, "[PATTERN...]", GROUP_NODES,
         OPT_DRY_RUN | OPT_MAX_MOVES | OPT_HEALTH | OPT_ABORT | OPT_NO_BLOCK | OPT_JSON | OPT_NO_LEGEND |
                 OPT_FULL,
         0, ARGS_MAX, verb_rebalance, "Move units to where they are better off, as few as possible"},
        {"label", NULL, "NODE KEY=VALUE|KEY-...", GROUP_NODES, 0, 2, ARGS_MAX, verb_label,
         "Set labels of a host, or take them back"},

        {"manager list", NULL, "", GROUP_NODES, OPT_LIST, 0, 0, verb_manager_list,
         "List the systemd managers that this host serves"},
        {"manager attach", NULL, "user@USER|container@NAME...", GROUP_NODES, OPT_LEADER | OPT_NO_BLOCK, 1,
         ARGS_MAX, verb_manager_attach, "Make managers of this host's users and containers nodes too"},
        {"manager detach", NULL, "user@USER|container@NAME...", GROUP_NODES, OPT_FORCE, 1, ARGS_MAX,
         verb_manager_detach, "Stop and remove what runs in them, and forget them"},

        {"role set", NULL, "ROLE [SETTING=VALUE...]", GROUP_ROLES, 0, 1, ARGS_MAX, verb_role_set,
         "Set how much a role's units may have"},
        {"role show", NULL, "[ROLE...]", GROUP_ROLES, OPT_JSON | OPT_NO_LEGEND, 0, ARGS_MAX, verb_role_show,
         "Show roles and what they have"},
        {"role delete", NULL, "ROLE...", GROUP_ROLES, 0, 1, ARGS_MAX, verb_role_delete,
         "Forget roles that no unit has"},
        {"pool set", NULL, "POOL NODE|KEY=VALUE...", GROUP_ROLES, 0, 2, ARGS_MAX, verb_pool_set,
         "Say which nodes are a pool, for Pool="},
        {"pool show", NULL, "[POOL...]", GROUP_ROLES, OPT_JSON | OPT_NO_LEGEND, 0, ARGS_MAX, verb_pool_show,
         "Show pools and the nodes in them"},
        {"pool delete", NULL, "POOL...", GROUP_ROLES, 0, 1, ARGS_MAX, verb_pool_delete, "Forget pools"},

        {"cluster status", NULL, "", GROUP_CLUSTER, OPT_JSON | OPT_NO_LEGEND, 0, 0, verb_cluster_status,
         "Show members, leader and log"},
        {"cluster token", NULL, "", GROUP_CLUSTER, OPT_TTL | OPT_JSON, 0, 0, verb_cluster_token,
         "Print a token with which hosts can join"},
        {"cluster join", NULL, "ADDRESS[:PORT] TOKEN|-", GROUP_CLUSTER, OPT_DISCARD, 2, 2, verb_cluster_join,
         "Make this host a member of another cluster"},
        {"cluster leave", NULL, "", GROUP_CLUSTER, OPT_FORCE, 0, 0, verb_cluster_leave,
         "Take this host out of its cluster"},
        {"cluster remove", NULL, "NODE", GROUP_CLUSTER, 0, 1, 1, verb_cluster_remove,
         "Take a host out of the cluster, also a dead one"},
        {"cluster promote", NULL, "NODE", GROUP_CLUSTER, 0, 1, 1, verb_cluster_promote, "Let a host vote"},
        {"cluster demote", NULL, "NODE", GROUP_CLUSTER, 0, 1, 1, verb_cluster_demote,
         "Let a host no longer vote"},
        {"cluster voters", NULL, "1|3|5", GROUP_CLUSTER, 0, 1, 1, verb_cluster_voters,
         "Say how many hosts keep the log and vote"},
        {"cluster peers", NULL, "ADDRESS[:PORT]...", GROUP_CLUSTER, 0, 1, 4, verb_cluster_peers,
         "Tell this host where else to look for the voters"},
        {"cluster recover", NULL, "", GROUP_CLUSTER, OPT_YES, 0, 0, verb_cluster_recover,
         "Offline: when most voters are gone for good, go on with the log of this host"},

        {"counters", NULL, "", GROUP_OTHER, OPT_JSON | OPT_NO_LEGEND, 0, 0, verb_counters,
         "Print what this host's argosyd has counted"},
        {"version", NULL, "", GROUP_OTHER, OPT_JSON, 0, 0, verb_version,
         "Print the versions of argosyctl and argosyd"},
        {"help", NULL, "[VERB]", GROUP_OTHER, 0, 0, 2, verb_help, "Print this help, or that of a verb or family"},
        {"complete", NULL, "", GROUP_HIDDEN, 0, 1, ARGS_MAX, verb_complete,
         "Words for the shells' completions"},
};
const size_t n_verbs = ELEMENTSOF(verbs);

const OptionInfo option_table[] = {
        {OPT_HELP, "help", 'h', NULL, "Print help and exit"},
        {OPT_VERSION, "version", 0, NULL, "Print argosyctl's version and exit"},
        {OPT_SOCKET, "socket", 0, "PATH",
         "argosyd's socket (default $ARGOSY_SOCKET or /run/argosy/argosy.sock)"},
        {OPT_USER, "user", 0, NULL, "Talk to this user's argosyd, not to the machine's"},
        {OPT_TIMEOUT, "timeout", 0, "SPAN",
         "Give up waiting after this time, e.g. 30s or 5min (default: never)"},
        {OPT_QUIET, "quiet", 'q', NULL, "Print no progress and no warnings"},
        {OPT_JSON, "json", 0, "MODE", "Print JSON: short, pretty or off"},
        {OPT_NO_PAGER, "no-pager", 0, NULL, "Do not pipe the output into a pager"},
        {OPT_NO_LEGEND, "no-legend", 0, NULL, "Print neither headers nor footers"},
        {OPT_FULL, "full", 'l', NULL, "Do not shorten names"},
        {OPT_FIELDS, "fields", 0, "LIST", "Print these columns, separated by commas"},
        {OPT_REPLACE, "replace", 0, NULL, "Replace unit files that are known with other content"},
        {OPT_NO_BLOCK, "no-block", 0, NULL, "Return when the cluster has taken the request"},
        {OPT_VERBOSE, "verbose", 'v', NULL, "Print a line for each unit that is done"},
        {OPT_LOCAL, "local", 0, NULL, "This host's units only, without asking the leader"},
        {OPT_LINES, "lines", 'n', "N", "Number of log lines (default 10)"},
        {OPT_FOLLOW, "follow", 'f', NULL, "Go on printing new lines"},
        {OPT_NODE, "node", 0, "NODE", "Only this one of several nodes"},
        {OPT_FORCE, "force", 0, NULL,
         "Leave without asking the rest of the cluster; detach without stopping anything"},
        {OPT_LEADER, "leader", 0, "PID", "The container's init, where systemd-machined does not know it"},
        {OPT_DISCARD, "discard", 0, NULL, "Give up this host's own cluster although it has units"},
        {OPT_TTL, "ttl", 0, "SPAN", "How long the token can be used (default: a day)"},
        {OPT_YES, "yes", 0, NULL, "Really do it"},
        {OPT_DEADLINE, "deadline", 0, "SPAN", "Stop what has not left by then (default: let it stay)"},
        {OPT_REASON, "reason", 0, "TEXT", "Shown wherever the node refuses a unit"},
        {OPT_MAX_UNAVAILABLE, "max-unavailable", 0, "N|N%",
         "How many may be down at a time (default: MaxUnavailable=, or 1)"},
        {OPT_HEALTH, "health", 0, "SPAN", "How long each is to be active before the next (default 2s)"},
        {OPT_ROLLING, "rolling", 0, NULL, "A few at a time: all instances of a template, or all nodes"},
        {OPT_ABORT, "abort", 0, NULL, "End what is under way; an update goes back"},
        {OPT_DRY_RUN, "dry-run", 0, NULL, "Say what would be done, and do nothing"},
        {OPT_MAX_MOVES, "max-moves", 0, "N", "Move no more units than this (default and limit: 1000)"},
        {OPT_STATE, "state", 0, "LIST", "Only units with one of these load, active or sub states"},
        {OPT_ITERATIONS, "iterations", 'n', "N", "End after so many (default: 1 if nobody watches)"},
        {OPT_DELAY, "delay", 'd', "SPAN", "Time between two readings (default 1s)"},
        {OPT_BATCH, "batch", 'b', NULL, "Print one table after the other, without keys"},
        {OPT_ORDER, "order", 0, "WORD", "Sort by path, cpu, memory, tasks or io (default cpu)"},
};
const size_t n_options = ELEMENTSOF(option_table);

// What follows the family's name and a space in the verb's name. NULL: the verb is not of this family.
static const char *second_word(const Verb *v, const char *family) {
        size_t len = strlen(family);

        return strncmp(v->name, family, len) == 0 && v->name[len] == ' ' ? v->name + len + 1 : NULL;
}

const Verb *verb_family(const char *word) {
        for (size_t i = 0; i < n_verbs; i++)
                if (second_word(&verbs[i], word))
                        return &verbs[i];
        return NULL;
}

const Verb *verb_find(char *const *words, size_t n, size_t *ret_words) {
        for (size_t i = 0; n > 0 && i < n_verbs; i++) {
                const Verb *v = &verbs[i];
                const char *second = second_word(v, words[0]);

                if (second && n > 1 && streq(words[1], second))
                        *ret_words = 2;
                else if (streq(words[0], v->name) || (v->alias && streq(words[0], v->alias)))
                        *ret_words = 1;
                else
                        continue;
                return v;
        }
        return NULL;
}

const OptionInfo *option_info(Option bit) {
        for (size_t i = 0; i < n_options; i++)
                if (option_table[i].bit == bit)
                        return &option_table[i];
        assert(false);
        return NULL;
}

enum { HELP_WIDTH = 80, HELP_VERBS = 39, HELP_OPTIONS = 25 }; // columns: all, and where the explanations begin

// What is explained, and in the second column what it means.
static void help_line(FILE *f, const char *left, size_t column, const char *text) {
        _cleanup_buf_ Buf lines = {};
        bool fits = strlen(left) + 3 <= column;

        if (buf_append_wrapped(&lines, text, column, column, HELP_WIDTH) < 0)
                return;
        fprintf(f, "  %-*s%s%*s%.*s\n", fits ? (int) column - 2 : 0, left, fits ? "" : "\n",
                fits ? 0 : (int) column, "", (int) lines.len, (const char *) lines.data);
}

static void help_option(FILE *f, const OptionInfo *o) {
        char left[40];

        snprintf(left, sizeof(left), "%c%c%s--%s%s%s", o->letter ? '-' : ' ', o->letter ?: ' ',
                 o->letter ? ", " : "  ", o->name, o->arg ? "=" : "", o->arg ?: "");
        help_line(f, left, HELP_OPTIONS, o->help);
}

static void help_one(FILE *f, const Verb *v) {
        char left[64];

        snprintf(left, sizeof(left), "%s %s", v->name, v->args);
        help_line(f, left, HELP_VERBS, v->help);
}

void help_all(FILE *f) {
        static const char *const titles[] = {
                "Changing units (UNIT: a name, a range like web@{1..100}, or a file)",
                "Looking",
                "Nodes",
                "Roles and pools",
                "The cluster",
                "Other"};

        fputs("argosyctl [OPTION...] VERB [ARGUMENT...]\n\nOne systemd out of many machines.\n", f);
        for (Group g = 0; g < GROUP_HIDDEN; g++) {
                fprintf(f, "\n%s:\n", titles[g]);
                for (size_t i = 0; i < n_verbs; i++)
                        if (verbs[i].group == g)
                                help_one(f, &verbs[i]);
        }
        fputs("\nOptions:\n", f);
        for (size_t i = 0; i < n_options; i++)
                help_option(f, &option_table[i]);
        fputs("\nSee argosyctl(1); argosyctl VERB --help shows which options a verb takes.\n", f);
}

void help_verb(FILE *f, const Verb *v) {
        fprintf(f, "argosyctl %s%s%s%s\n\n%s.\n", v->name, v->options ? " [OPTION...]" : "",
                *v->args ? " " : "", v->args, v->help);
        if (v->alias)
                fprintf(f, "Also: argosyctl %s\n", v->alias);
        fputs("\nOptions:\n", f);
        for (size_t i = 0; i < n_options; i++)
                if ((v->options | OPT_GLOBAL) & option_table[i].bit)
                        help_option(f, &option_table[i]);
}

void help_family(FILE *f, const char *family) {
        fprintf(f, "argosyctl %s VERB [ARGUMENT...]\n\n", family);
        for (size_t i = 0; i < n_verbs; i++)
                if (second_word(&verbs[i], family))
                        help_one(f, &verbs[i]);
        fprintf(f, "\nargosyctl %s VERB --help shows which options a verb takes.\n", family);
}

static void help_options(FILE *f, char *const *words, size_t n) {
        uint64_t bits = OPT_GLOBAL;
        const Verb *v;
        size_t taken;

        v = verb_find(words, n, &taken);
        if (v)
                bits |= v->options;
        for (size_t i = 0; i < n_options; i++)
                if (bits & option_table[i].bit)
                        fprintf(f, "--%s%s\n", option_table[i].name, option_table[i].arg ? "=" : "");
}

// Verbs of one family stand together in the table.
static void help_first_words(FILE *f, bool only_families) {
        size_t len = 0, before;

        for (size_t i = 0; i < n_verbs; i++) {
                const char *name = verbs[i].name;

                before = len;
                len = strcspn(name, " ");
                if (verbs[i].group == GROUP_HIDDEN || (only_families && !name[len]) ||
                    (i > 0 && len == before && strncmp(name, verbs[i - 1].name, len) == 0))
                        continue;
                fprintf(f, "%.*s\n", (int) len, name);
        }
}

static void help_valued(FILE *f) {
        for (size_t i = 0; i < n_options; i++) {
                const OptionInfo *o = &option_table[i];

                if (!o->arg)
                        continue;
                fprintf(f, "--%s\n", o->name);
                if (o->letter)
                        fprintf(f, "-%c\n", o->letter);
        }
}

static void help_arguments(FILE *f, char *const *words, size_t n) {
        size_t taken;
        const Verb *v = verb_find(words, n, &taken);

        if (!v)
                return;
        if (strstr(v->args, "UNIT") || strstr(v->args, "PATTERN"))
                fputs("unit\n", f);
        if (strstr(v->args, "FILE") || (v->options & OPT_REPLACE))
                fputs("file\n", f);
        if (strstr(v->args, "NODE"))
                fputs("node\n", f);
        if (strstr(v->args, "ROLE"))
                fputs("role\n", f);
        if (strstr(v->args, "SETTING"))
                fputs("Weight=\nGuaranteeCPU=\nGuaranteeMemory=\nGuaranteeResource=\nLimitCPU=\n"
                      "LimitMemory=\nLimitResource=\n",
                      f);
        if (strstr(v->args, "POOL"))
                fputs("pool\n", f);
        if (strstr(v->args, "1|3|5"))
                fputs("1\n3\n5\n", f);
        if (strstr(v->args, "VERB"))
                help_first_words(f, false);
}

bool help_words(FILE *f, const char *what, char *const *words, size_t n) {
        if (streq(what, "options"))
                help_options(f, words, n);
        else if (streq(what, "valued"))
                help_valued(f);
        else if (streq(what, "arguments"))
                help_arguments(f, words, n);
        else if (streq(what, "verbs") || streq(what, "families"))
                help_first_words(f, streq(what, "families"));
        else if (verb_family(what)) {
                for (size_t i = 0; i < n_verbs; i++)
                        if (second_word(&verbs[i], what))
                                fprintf(f, "%s\n", second_word(&verbs[i], what));
        } else
                return false;
        return true;
}
