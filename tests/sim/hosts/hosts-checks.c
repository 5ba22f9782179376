// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of checks.h for stories of whole hosts. Checks themselves are in hosts-checks-*.c, and in
// lib/checks-*.c.
#include "hosts-checks.h"

#include "hosts-members.h"
#include "hosts-recover.h"
#include "hosts-rot.h"
#include "macro.h"

const Check checks[] = {
        // The first: others look at what it has read.
        {"records-are-the-log", "Records of units are what the log has put.", "an entry touched a unit",
         "removed-unit-stays", .begin = log_begin, .on_entry = log_on_entry, .end = log_end},
        {"log-is-one",
         "No two voters have another entry at one index, no term has two leaders, and what is committed "
         "stays.",
         "an entry was applied", NULL, .begin = voters_begin, .end = voters_end},
        {"voters-are-equal", "All voters' states are equal at an equal index.",
         "two voters had applied an entry", NULL},
        {"nobody-ends", "argosyd does not end by itself, unless its disk is in trouble.", "all was mended",
         NULL, .begin = disk_begin, .on_entry = disk_on_entry, .end = disk_end},
        {"comes-up", "argosyd comes up; with a disk in trouble it may say instead why not.",
         "argosyd did not come up", "file-not-synced"},
        {"fence-is-kept",
         "What a host was to obey last before it went down it still knows when it is up again.",
         "a host read its fence again", "fence-lost-with-the-power"},
        {"units-are-whole", "A unit file has the whole content of one that the log has, at any moment.",
         "a host had a unit file", "unit-file-cut-short", .on_look = disk_on_look},
        {"rot-is-said", "A file that has rotten is named, and nothing is done by it.",
         "a host was started with a rotten file", "rotten-secrets-are-taken", .begin = hosts_rot_begin,
         .on_look = hosts_rot_on_look},
        {"secrets-come-back", "A voter whose secrets were removed gets them from another one.",
         "a file of secrets was removed", NULL, .on_calm = hosts_rot_on_calm},
        {"counters-only-grow", "Revisions and the log's time never go back.", "an entry raised the revision",
         "log-time-goes-back", .on_entry = counters_on_entry},

        {"acknowledged-is-kept", "An acknowledged request is in the log before it is acknowledged.",
         "a change was acknowledged", "jobs-of-an-entry-share-a-number",
         .on_answer = acknowledged_on_answer},
        {"acknowledged-once", "An acknowledged request is never applied twice.",
         "a request was acknowledged again", "asked-again-begun-again", .on_answer = once_on_answer},
        {"answered-as-it-is",
         "What was answered well is what the log wants as of the revision that the answer names.",
         "a unit's change was answered", "told-what-was-only-planned", .begin = past_begin,
         .on_entry = past_on_entry, .on_answer = past_on_answer, .end = past_end},
        {"refused-is-undone", "What was refused has changed nothing.", "a change was refused",
         "asked-again-refused", .on_answer = refused_on_answer, .on_entry = refused_on_entry},
        {"author-is-whoever-asked", "A job is of whoever asked for it.", "a job was acknowledged",
         "jobs-of-uid-0", .on_answer = author_on_answer},
        {"work-is-allowed", "Nobody changes what his rights do not give.",
         "somebody who needs a right did something", "any-grant-gives-every-right", .begin = rights_begin,
         .on_entry = rights_on_entry},
        {"answers-are-allowed", "Nobody is told what his rights do not give.",
         "somebody who needs a right was answered", "any-grant-gives-every-right",
         .on_answer = rights_on_answer},
        {"lists-are-ones-own", "Lists leave out what whoever asks may not see.",
         "somebody who needs a right was told of a unit", NULL, .on_answer = own_on_answer},
        {"undo-puts-back", "An undo puts back exactly what its job has changed.",
         "a job was undone that nothing has touched since", NULL, .on_answer = undo_on_answer},
        {"dry-runs-change-nothing", "A dry run changes nothing.", "a dry run was answered",
         "undo-asked-and-done", .on_answer = dry_on_answer},

        {"two-places", "A unit runs in two places only as long as a host is cut off.",
         "a unit ran on a host that was in order", NULL, .begin = places_begin, .on_entry = places_on_entry,
         .on_look = places_on_look},
        {"never-in-two-places", "A unit with CutOff=stop is never in two places.",
         "a unit with a guard began to run", "guards-are-not-waited-for"},
        {"members-are-one",
         "In the end each machine is a member by the log and by itself, or no member and without units of "
         "the cluster.",
         "hosts had come or gone", "held-leave-forgets", .on_entry = members_on_entry,
         .on_look = members_on_look, .on_calm = members_on_calm},
        {"recovery-is-one", "After a recovery there is one cluster, and every member knows its generation.",
         "most voters were lost, and one was recovered", "generation-is-not-raised",
         .begin = hosts_recover_begin, .on_entry = recover_on_entry, .on_calm = recover_on_calm},
        {"removed-run-nothing",
         "A host that was removed, and can be told, has nothing of the cluster a minute later.",
         "a host was removed a while ago", "removed-are-not-told"},
        {"tokens-are-used-once", "With a token of one use one host joins.",
         "a host had joined with such a token", "token-used-again"},
        {"all-find-the-leader", "In the end every host is attached to one leader, and has all of the log.",
         "all was mended", "next-leader-is-not-told", .on_calm = leader_on_calm},
        {"requests-are-answered", "In the end every open request is answered, or has lost its connection.",
         "all was mended, and something was asked", "committed-and-not-said", .on_calm = answered_on_calm},
        {"wishes-are-reached", "In the end every unit runs where the log wants it, and nowhere else.",
         "a unit was to run when all was mended", "lost-units-never-leave", .on_calm = reached_on_calm},
        {"lists-are-true", "In the end the list of units says what each systemd says.",
         "a unit ran when all was mended", "failed-is-told-as-ended", .on_calm = lists_on_calm},
        {"contents-are-told", "What runs with an older content than the list says is said to be stale.",
         "a unit ran when all was mended", "content-replaced-in-place", .on_calm = contents_on_calm},
        {"addresses-are-told", "In the end the list of nodes says where each host is.",
         "a host was a member when all was mended", "another-address-not-told",
         .on_calm = addresses_on_calm},
        {"wishes-stay-reached", "What is reached stays so.", "nothing more came to the log", NULL,
         .on_calm = stays_on_calm},
};
const unsigned n_checks = ELEMENTSOF(checks);
