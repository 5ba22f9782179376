// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of kinds of events (event-kind.h): name, help text, and the fields of each kind in the order of
// their numbers. A row here plus its maker (leader/events/event-maker.c) make a new kind; the other code and
// the manual read the table. A kind that this build does not know has no row (NULL): such an event is left
// out.

#include "event-kind.h"

#include "macro.h"
#include "str.h"

static const EventKindInfo kinds[] = {
        [ARGOSY__EVENT_KIND__EVENT_STREAM] =
                {.name = "stream",
                 .what = "a word about the stream itself",
                 .n_names = 1,
                 .fields = {{"word", EVENT_TEXT,
                             "begins: the whole state follows, and what was told before counts no more; "
                             "complete: "
                             "everything has been told, and what follows is new"},
                            {"kinds", EVENT_TEXT,
                             "of begins: those that it is about, separated by blanks; empty: all"}}},
        [ARGOSY__EVENT_KIND__EVENT_LEADER] = {.name = "leader",
                                              .what = "who leads the cluster",
                                              .fields = {{"leader", EVENT_TEXT,
                                                          "the host that leads; empty, with mark here: "
                                                          "nobody does, as far as the serving host knows"},
                                                         {"term", EVENT_NUMBER, "grows with each election"},
                                                         {"reason", EVENT_TEXT,
                                                          "of mark here: why this host follows no leader"}}},
        [ARGOSY__EVENT_KIND__EVENT_NODE] =
                {.name = "node",
                 .what = "a node, as list-nodes shows it",
                 .n_names = 1,
                 .fields =
                         {{"node", EVENT_TEXT, "its name"},
                          {"state", EVENT_TEXT, "online, suspect, lost, down, leaving, offline"},
                          {"role", EVENT_TEXT, "leader, voter or spare"},
                          {"mode", EVENT_TEXT, "open, cordoned, draining or maintenance"},
                          {"mode_reason", EVENT_TEXT, "its owner's words about that"},
                          {"reason", EVENT_TEXT, "why it cannot be used"},
                          {"address", EVENT_TEXT, "where its host is reached"},
                          {"labels", EVENT_TEXT, "KEY=VALUE, separated by blanks"},
                          {"since", EVENT_TIME,
                           "when its state became what it is, as far as this leader knows, by its clock"}}},
        [ARGOSY__EVENT_KIND__EVENT_UNIT] =
                {.name = "unit",
                 .what = "what is wanted of a unit and where it is placed, as list-unit-files shows it",
                 .of_units = true,
                 .n_names = 1,
                 .fields = {{"unit", EVENT_TEXT, "its name"},
                            {"desired", EVENT_TEXT, "inactive, loaded or launched"},
                            {"state", EVENT_TEXT, "how far that is carried out"},
                            {"node", EVENT_TEXT, "where it is placed; global, or - for nowhere"},
                            {"rev", EVENT_TEXT, "the beginning of the SHA-256 of its file"},
                            {"revision", EVENT_NUMBER, "of the last change of what is wanted"},
                            {"description", EVENT_TEXT, "by its file"},
                            {"set", EVENT_TEXT, "the set of a folder that it belongs to"},
                            {"since", EVENT_TIME,
                             "of one that waits for a node: since when, as far as this leader knows, by its "
                             "clock"}}},
        [ARGOSY__EVENT_KIND__EVENT_STATE] =
                {.name = "state",
                 .what = "what a node says of a unit, as list-units shows it",
                 .of_units = true,
                 .n_names = 2,
                 .fields = {{"unit", EVENT_TEXT, "its name"},
                            {"node", EVENT_TEXT, "the node that says so"},
                            {"load", EVENT_TEXT, "systemd's load state"},
                            {"active", EVENT_TEXT,
                             "systemd's active state; unknown: the node cannot be asked"},
                            {"sub", EVENT_TEXT, "systemd's sub state"},
                            {"result", EVENT_TEXT, "systemd's result, where it has one"},
                            {"error", EVENT_TEXT,
                             "why the last thing that the node was to do with it failed"},
                            {"drift", EVENT_BOOL, "somebody else changed it there"},
                            {"stale", EVENT_BOOL, "its file there is newer than what systemd runs"},
                            {"since", EVENT_TIME,
                             "when its active state became what it is, by the node's clock, corrected by "
                             "the leader's"},
                            {"note", EVENT_TEXT,
                             "what is odd about it there, as list-units notes it, separated by commas"},
                            {"restarts", EVENT_NUMBER, "how often systemd has restarted it by itself"},
                            {"looping", EVENT_BOOL,
                             "it fails again and again, and systemd restarts it each time"}}},
        [ARGOSY__EVENT_KIND__EVENT_JOB] =
                {.name = "job",
                 .what = "what somebody has changed, as list-jobs shows it",
                 .of_log = true,
                 .n_names = 1,
                 .fields = {{"job", EVENT_NUMBER, "its number"},
                            {"author", EVENT_TEXT, "who asked, and on which host"},
                            {"verb", EVENT_TEXT, "what for"},
                            {"targets", EVENT_TEXT, "as they were typed, separated by blanks"},
                            {"reason", EVENT_TEXT, "see --reason"},
                            {"state", EVENT_TEXT, "held, running, done, failed, overtaken or cancelled"},
                            {"message", EVENT_TEXT, "why it ended so, if that is no unit's"}}},
        [ARGOSY__EVENT_KIND__EVENT_ROLLOUT] =
                {.name = "rollout",
                 .what = "an update or a restart, while it is on its way and how it has ended",
                 .of_log = true,
                 .of_units = true,
                 .n_names = 1,
                 .fields = {{"unit", EVENT_TEXT, "the template or unit that it is about"},
                            {"verb", EVENT_TEXT, "update or restart"},
                            {"phase", EVENT_TEXT, "running, returning, done, returned or stopped"},
                            {"rev", EVENT_TEXT, "the beginning of the SHA-256 of the file that it brings"},
                            {"nodes", EVENT_NUMBER,
                             "of a unit that runs on all nodes: how many had their turn"},
                            {"revision", EVENT_NUMBER, "of its beginning"},
                            {"reason", EVENT_TEXT, "why it goes or went back"}}},
        [ARGOSY__EVENT_KIND__EVENT_DRAIN] =
                {.name = "drain",
                 .what = "a node that is being emptied, until its owner opens it again",
                 .n_names = 1,
                 .fields = {{"node", EVENT_TEXT, "its name"},
                            {"mode", EVENT_TEXT, "draining or maintenance"},
                            {"left", EVENT_NUMBER, "units that are still there"},
                            {"stuck", EVENT_NUMBER, "of these, those that no other node takes"},
                            {"deadline", EVENT_TIME, "when what has not left is stopped"},
                            {"reason", EVENT_TEXT, "its owner's words about that"}}},
        [ARGOSY__EVENT_KIND__EVENT_ROLE] =
                {.name = "role",
                 .what = "a role, and what is its own of the cluster",
                 .of_log = true,
                 .n_names = 1,
                 .fields = {{"role", EVENT_TEXT, "its name"},
                            {"weight", EVENT_NUMBER,
                             "how much of a full cluster is its own, beside the others"},
                            {"guarantee", EVENT_TEXT,
                             "RESOURCE=AMOUNT, separated by blanks: kept free for it"},
                            {"limit", EVENT_TEXT, "RESOURCE=AMOUNT, separated by blanks: it gets no more"}}},
        [ARGOSY__EVENT_KIND__EVENT_POOL] =
                {.name = "pool",
                 .what = "a pool, and who is in it",
                 .of_log = true,
                 .n_names = 1,
                 .fields = {{"pool", EVENT_TEXT, "its name"},
                            {"hosts", EVENT_TEXT, "those that are named, separated by blanks"},
                            {"labels", EVENT_TEXT,
                             "KEY=VALUE, separated by blanks: those that have one of them"}}},
        [ARGOSY__EVENT_KIND__EVENT_GRANT] =
                {.name = "grant",
                 .what = "a right that somebody has, as access list shows it",
                 .of_log = true,
                 .n_names = 1,
                 .fields = {{"grant", EVENT_TEXT,
                             "all of it, as it is given: RIGHT to WHOM, or RIGHT to WHOM on role ROLE"},
                            {"right", EVENT_TEXT, "view, operate, deploy or admin"},
                            {"user", EVENT_TEXT, "whose it is, if it is a user's"},
                            {"group", EVENT_TEXT, "whose it is, if it is a group's"},
                            {"host", EVENT_TEXT, "of a user: where he asks; empty: anywhere"},
                            {"role", EVENT_TEXT, "on units of this role; empty: on all"}}},
        [ARGOSY__EVENT_KIND__EVENT_CONTENT] = {.name = "content",
                                               .what = "the unit file that a unit has, as cat shows it",
                                               .of_units = true,
                                               .n_names = 1,
                                               .fields = {{"unit", EVENT_TEXT, "whose it is"},
                                                          {"sha256", EVENT_TEXT,
                                                           "of the file; the unit's rev is its beginning"},
                                                          {"bytes", EVENT_NUMBER, "how long it is"}}},
        [ARGOSY__EVENT_KIND__EVENT_RULE] =
                {.name = "rule",
                 .what = "a rule of the queue, as queue rule list shows it",
                 .of_log = true,
                 .n_names = 1,
                 .fields = {{"rule", EVENT_NUMBER, "its number"},
                            {"place", EVENT_NUMBER, "from 1 on: the first rule that matches counts"},
                            {"action", EVENT_TEXT, "accept, hold, refuse or limit"},
                            {"limit", EVENT_NUMBER, "of its jobs, how many at a time"},
                            {"text", EVENT_TEXT, "what people are told who are refused"},
                            {"author", EVENT_TEXT, "whom it is about, as a pattern; empty: anybody"},
                            {"verb", EVENT_TEXT, "likewise"},
                            {"unit", EVENT_TEXT, "likewise"},
                            {"role", EVENT_TEXT, "likewise"},
                            {"reason", EVENT_TEXT, "likewise"}}},
        [ARGOSY__EVENT_KIND__EVENT_QUEUE] =
                {.name = "queue",
                 .what = "whether jobs may begin",
                 .of_log = true,
                 .fields = {{"closed", EVENT_BOOL, "what may be held is held until the queue is open again"},
                            {"reason", EVENT_TEXT, "its closer's words about that"}}},
};
static_assert(ELEMENTSOF(kinds) == EVENT_KINDS && EVENT_KINDS <= 32, "a set of kinds has a bit for each");

const EventKindInfo *event_kind_info(Argosy__EventKind kind) {
        size_t i = (size_t) kind;

        return i < ELEMENTSOF(kinds) && kinds[i].name ? &kinds[i] : NULL;
}

size_t event_kind_n_fields(const EventKindInfo *info) {
        size_t n = 0;

        while (n < EVENT_FIELDS_MAX && info->fields[n].name)
                n++;
        return n;
}

Argosy__EventKind event_kind_from_string(const char *word) {
        for (size_t i = 0; i < ELEMENTSOF(kinds); i++)
                if (kinds[i].name && streq(kinds[i].name, word))
                        return (Argosy__EventKind) i;
        return ARGOSY__EVENT_KIND__EVENT_NONE;
}
