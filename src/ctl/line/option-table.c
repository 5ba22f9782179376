// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of argosyctl's options: name, letter, argument and help; the parser, help and completion read
// it. Options with the same letter never belong to the same verb, and either all of them take a value or
// none does. A table: nothing fails. Which verb takes which option is in verbs/verb-rows.h.

#include "macro.h"
#include "option-table.h"

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
        {OPT_UNPINNED, "unpinned", 0, NULL,
         "Take containers' files without asking registries for digests of their images"},
        {OPT_PULL, "pull", 0, NULL,
         "Ask the registry anew what the tag of the container's image stands for"},
        {OPT_NO_BLOCK, "no-block", 0, NULL, "Return when the cluster has taken the request"},
        {OPT_VERBOSE, "verbose", 'v', NULL, "Print a line for each unit that is done"},
        {OPT_LOCAL, "local", 0, NULL,
         "This host's units only, without asking the leader; verify: this machine's systemd only"},
        {OPT_LINES, "lines", 'n', "N", "Number of log lines (default 10)"},
        {OPT_FOLLOW, "follow", 'f', NULL, "Go on printing new lines"},
        {OPT_NODE, "node", 0, "NODE",
         "Only this one of several nodes; jobs: only those whose records name it"},
        {OPT_FORCE, "force", 0, NULL,
         "Leave without asking the rest of the cluster; detach without stopping anything; undo what was "
         "changed since, too; "
         "apply an empty folder, or prune most of a set"},
        {OPT_LEADER, "leader", 0, "PID", "The container's init, where systemd-machined does not know it"},
        {OPT_DISCARD, "discard", 0, NULL, "Give up this host's own cluster although it has units"},
        {OPT_TTL, "ttl", 0, "SPAN", "How long the token can be used (default: a day; token create: 90d)"},
        {OPT_RIGHT, "right", 0, "RIGHT", "What the token lets do: view, operate, deploy or admin"},
        {OPT_NAME, "name", 0, "NAME", "What the token is called"},
        {OPT_FILE, "file", 0, "FILE", "Read the secret from this file, not from standard input"},
        {OPT_RESTART, "restart", 0, "[=rolling]",
         "Restart the units that have an older version, all at once or a few at a time"},
        {OPT_CERTIFICATE, "certificate", 0, NULL,
         "Make a key and a certificate instead of a text, for clients of fleet's API"},
        {OPT_YES, "yes", 0, NULL, "Really do it"},
        {OPT_DEADLINE, "deadline", 0, "SPAN", "Stop what has not left by then (default: let it stay)"},
        {OPT_REASON, "reason", 0, "TEXT", "Why: kept with the job, and shown where a node refuses a unit"},
        {OPT_KEY, "key", 0, "TEXT", "Do nothing if the same was done under this key before"},
        {OPT_IF_REVISION, "if-revision", 0, "N",
         "Only if what is named has not changed since that revision"},
        {OPT_HOLD, "hold", 0, NULL, "Do not begin before somebody releases the job"},
        {OPT_AFTER, "after", 0, "JOB[,JOB...]",
         "Begin when these jobs are done; if one is not, be cancelled"},
        {OPT_QUEUE, "queue", 0, NULL,
         "Wait for an update or a rebalance that it cannot be done beside, instead of being refused"},
        {OPT_AT, "at", 0, "JOB", "As it was when that job was done"},
        {OPT_ONLY_UNTOUCHED, "only-untouched", 0, NULL, "Leave alone what somebody has changed since"},
        {OPT_PLAN, "plan", 0, NULL, "Say what would be done, and do nothing"},
        {OPT_SET, "set", 0, "NAME", "The set of units (default: as argosy.set says, or the folder's name)"},
        {OPT_PRUNE, "prune", 0, NULL, "Destroy units of the set that the folder does not have"},
        {OPT_ADOPT, "adopt", 0, NULL, "Take over units that belong to no set, or to another one"},
        {OPT_LIMIT, "limit", 0, "N", "List no more than this (default 100)"},
        {OPT_ALL, "all", 0, NULL, "List all that are kept, however many"},
        {OPT_SINCE, "since", 0, "TIME|CURSOR|@JOB",
         "Only what is newer: a span like 2h, or YYYY-MM-DD [HH:MM[:SS]]; watch: than that event, from @JOB "
         "on, or 0: the whole state first"},
        {OPT_UNIT, "unit", 0, "PATTERN", "Only jobs that changed such a unit"},
        {OPT_AUTHOR, "author", 0, "PATTERN", "Only jobs of such a USER, or USER@HOST"},
        {OPT_FOR, "for", 0, "STATE|NAME",
         "What to wait for: active, inactive, failed or gone; cluster token: the only host that may join "
         "with it"},
        {OPT_ONCE, "once", 0, NULL, "One host may join with the token, and no other after it"},
        {OPT_FINISH, "finish", 0, NULL, "End the rotation although some hosts have no new certificate yet"},
        {OPT_KINDS, "kinds", 0, "LIST",
         "Only events of these kinds, separated by commas (see watch --help)"},
        {OPT_CURSOR_FILE, "cursor-file", 0, "FILE", "Keep the cursor there, and go on behind it"},
        {OPT_EXEC, "exec", 0, "PROGRAM", "Run this for each event, one after the other"},
        {OPT_MAX_UNAVAILABLE, "max-unavailable", 0, "N|N%",
         "How many may be down at a time (default: MaxUnavailable=, or 1)"},
        {OPT_HEALTH, "health", 0, "SPAN", "How long each is to be active before the next (default 2s)"},
        {OPT_ROLLING, "rolling", 0, NULL, "A few at a time: all instances of a template, or all nodes"},
        {OPT_ABORT, "abort", 0, NULL, "End what is under way; an update goes back"},
        {OPT_DRY_RUN, "dry-run", 0, NULL, "Say what would be done, and do nothing"},
        {OPT_PORT, "port", 0, "N", "Listen there (default: a port that is free)"},
        {OPT_MAX_MOVES, "max-moves", 0, "N", "Move no more units than this (default and limit: 1000)"},
        {OPT_STATE, "state", 0, "LIST",
         "Only units with one of these load, active or sub states; unit files, nodes or jobs in one of "
         "these"},
        {OPT_LABEL, "label", 0, "KEY=VALUE[,...]", "Only nodes with all of these labels, or units on them"},
        {OPT_ITERATIONS, "iterations", 'n', "N", "End after so many (default: 1 if nobody watches)"},
        {OPT_DELAY, "delay", 'd', "SPAN", "Time between two readings (default 1s)"},
        {OPT_BATCH, "batch", 'b', NULL, "Print one table after the other, without keys"},
        {OPT_ORDER, "order", 0, "WORD", "Sort by path, cpu, memory, tasks or io (default cpu)"},
};
const size_t n_options = ELEMENTSOF(option_table);

bool option_is_global(Option option) {
        return option > OPT_NONE && option < _OPT_GLOBAL_MAX;
}
