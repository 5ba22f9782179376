// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of checks.h. Checks themselves are in checks-*.c.
#include "checks.h"

#include "checks-private.h"
#include "macro.h"

const Check checks[] = {
        // The first: others look at what it has read.
        {"records-are-the-log", "Records of units are what the log has put.", "an entry touched a unit", "removed-unit-stays",
                .begin = log_begin, .on_entry = log_on_entry, .end = log_end},
        {"voters-are-equal", "All voters' states are equal at an equal index.", "an entry was applied", "clock-not-in-the-image",
                .begin = voters_begin, .on_entry = voters_on_entry, .on_calm = voters_on_calm, .end = voters_end},
        {"counters-only-grow", "Revisions and the log's time never go back.", "an entry raised the revision", "log-time-goes-back", .on_entry = counters_on_entry},
        {"entry-within-limits", "Every limit is judged before the entry is made.", "an entry had several operations", NULL, .on_entry = limits_on_entry},

        {"acknowledged-is-kept", "An acknowledged request is in the log before it is acknowledged.", "a change was acknowledged", "jobs-of-an-entry-share-a-number",
                .on_answer = acknowledged_on_answer},
        {"acknowledged-once", "An acknowledged request is never applied twice.", "a request was acknowledged again", "asked-again-begun-again", .on_answer = once_on_answer},
        {"refused-is-undone", "What was refused has changed nothing.", "a change was refused", "asked-again-refused", .on_answer = refused_on_answer, .on_entry = refused_on_entry},
        {"author-is-whoever-asked", "A job is of whoever asked for it.", "a job was acknowledged", "jobs-of-uid-0", .on_answer = author_on_answer},

        {"work-is-allowed", "Nobody changes what his rights do not give.", "somebody who needs a right did something", "any-grant-gives-every-right",
                .begin = rights_begin, .on_entry = rights_on_entry},
        {"answers-are-allowed", "Nobody is told what his rights do not give.", "somebody who needs a right was answered", "anybodys-grant", .on_answer = rights_on_answer},
        {"units-are-ones-own", "Nobody changes units whose roles are not his.", "somebody without the right to all units changed one", "some-roles-are-all",
                .begin = unit_rights_begin, .on_entry = unit_rights_on_entry},
        {"names-are-ones-own", "Nobody is told of units that he may not see.", "somebody who needs a right was told of a unit", "every-unit-is-seen",
                .on_answer = unit_rights_on_answer},
        {"tokens-let-in", "A token gives its right and no other one.", "a token was shown, and answered", "token-gives-every-right"},
        {"undo-puts-back", "An undo puts back exactly what its job has changed.", "a job was undone that nothing has touched since", "undo-leaves-what-it-is-to-be",
                .on_answer = undo_on_answer, .on_calm = undo_on_calm},
        {"dry-runs-change-nothing", "A dry run changes nothing.", "a dry run was answered", "undo-asked-and-done", .on_answer = dry_on_answer},
        {"lists-are-true", "No word to a user is untrue.", "a unit was listed, and did nothing at the moment", "listed-as-down", .on_calm = lists_on_calm},

        {"rows-are-asked-for", "A list has what was asked for.", "somebody asked for some rows, and got some",
                "touched-name-not-asked-for", .on_answer = asked_for_on_answer},
        {"nodes-are-listed", "No word to a user is untrue.", "a node was listed", "suspect-is-listed-as-lost",
                .begin = nodes_begin, .on_entry = nodes_on_entry, .on_answer = nodes_on_answer},
        {"jobs-are-listed", "No word to a user is untrue.", "a job was listed", "own-jobs-are-somebodys", .on_answer = jobs_on_answer},
        {"jobs-end-as-told", "A job is done when its units are, and fails with them.", "a job was done, with a unit of which its node has spoken", "each-end-is-well",
                .begin = jobs_begin, .on_heard = jobs_on_heard, .on_entry = jobs_on_entry},

        {"waits-are-true", "No word to a user is untrue.", "somebody who waited was told that it has come to be", "down-here-is-down-everywhere",
                .begin = waits_begin, .on_heard = waits_on_heard, .on_answer = waits_on_answer},
        {"jobs-name-their-units", "A record says what its job has changed.", "a job was there at the end", "job-takes-all-operations", .on_finish = jobs_on_finish},
        {"jobs-come-to-an-end", "A job that has ended is over.", "a job was there at the end", "new-leader-forgets-running-jobs", .on_finish = open_on_finish},
        {"pages-are-the-list", "Parts of a list are the list.", "several units were listed", "page-never-begins-within-a-unit", .on_finish = pages_on_finish},
        {"next-leader-says-the-same", "What a leader keeps up to date is what the next one makes anew.", "another one led, and nothing was changed by that", "request-without-a-handler",
                .on_finish = next_on_finish},

        {"watchers-are-told", "Who watches is told of each change.", "somebody watched, and there was a unit", "report-is-no-event",
                .begin = watch_begin, .on_settled = watch_on_settled, .on_calm = watch_on_calm, .end = watch_end},

        {"news-are-new", "Cost follows what changes.", "who watched was told of a change", "the-same-again-is-news"},
        {"host-is-heard", "A host is lost when it was silent for a lease, under one leader.", "a unit left a host that is lost", "lease-half-as-long",
                .begin = heard_begin, .on_heard = heard_on_heard, .on_decided = heard_on_decided},
        {"fence-only-grows", "Nothing is ordered that is older than what was ordered before.", "a host was ordered something", "orders-of-an-older-log",
                .on_order = fence_on_order},
        {"ordered-as-recorded", "At most one revision of a unit is current.", "a unit was ordered to run", "ordered-to-run-whatever-it-is-to-be", .on_order = orders_on_order},
        {"two-places", "A unit runs in two places only as long as a host is lost.", "a unit was to start while a lost host had it", "starts-beside-who-is-heard",
                .on_order = two_places_on_order},
        {"stop-has-a-cause", "A healthy unit is not stopped because something else failed.", "an active unit was stopped", "each-change-restarts", .on_order = stops_on_order},
        {"move-has-a-cause", "What the cluster does by itself leaves a record of its cause.", "the cluster moved a unit by itself", "moves-in-silence",
                .on_entry = moves_on_entry},
        {"losses-are-few", "When too many hosts are lost at once nothing moves.", "a unit left a lost host, and not all may be lost", "two-hosts-are-no-mass",
                .on_entry = losses_on_entry},
        {"placed-where-allowed", "A unit is placed where its content lets it be.", "a unit with demands was placed", "placed-on-other-hosts",
                .begin = places_begin, .on_entry = places_on_entry},
        {"placed-where-open", "Nothing is placed on a node that takes none.", "a unit was placed", "closed-nodes-take-units"},

        {"room-is-there", "What a unit reserves is there when it is placed.", "a unit that reserves something was placed", "memory-is-not-reserved", .on_entry = room_on_entry},
        {"spread-is-kept", "Instances that are to be spread are.", "an instance was placed that is to be spread", "spread-is-no-demand"},
        {"budgets-are-kept", "No more units of a group are down by the cluster's own hand than its budget allows.", "a unit of a group had its turn in a rollout",
                "rollout-beyond-budget", .begin = budgets_begin, .on_heard = budgets_on_heard, .on_entry = budgets_on_entry},

        {"order-has-no-cycle", "No unit comes after itself.", "a unit was to come after another one",
                "cycle-over-a-batch-unseen", .on_entry = order_on_entry},
        {"left-is-forgotten", "What may still run somewhere is in the log, and nothing else.", "all was calm",
                "left-behind-for-good", .on_calm = left_on_calm},
        {"conflicts-are-apart", "Units in conflict are not on one node.", "a unit with conflicts had a node", "conflicts-are-no-demands", .on_calm = conflicts_on_calm},
        {"one-place", "A unit runs on the node that the log names, and nowhere else.", "a unit was to run", "what-is-to-go-stays", .on_calm = one_place_on_calm},

        {"turns-are-bounded", "What a turn does, and what a message holds, is limited.",
                "a turn did as much as it may", "orders-without-bound", .on_turn_begin = pace_on_turn_begin,
                .on_entry = pace_on_entry, .on_turn = pace_on_turn, .on_order = pace_on_order,
                .on_answer = pace_on_answer},
        {"full-hosts-wait", "A slow peer is not sent what can wait.",
                "a host that has much to take yet was sent something",
                "each-beat-acknowledged-to-who-takes-nothing"},
        {"room-is-bounded", "Everything that a peer can make grow has a limit.", "as much was kept as may be",
                "users-fill-the-leader", .on_turn = room_on_turn},

        {"requests-are-answered", "In the end every open request is answered.", "something was asked", "committed-and-not-said", .on_end = answered_on_end},
        {"queues-are-empty", "In the end all queues are empty.", "a story came to its end", "full-host-never-told-the-rest", .on_end = queues_on_end},
        {"wishes-are-reached", "In the end every wish is reached, or the reason has a name.", "a unit was to run in the end", "lost-units-never-leave",
                .on_end = reached_on_end},
        {"nothing-is-left", "What is kept for whoever asks goes with it.", "nobody asked for anything any more",
                NULL, .on_finish = rest_on_finish},
        {"wishes-stay-reached", "What is reached stays so.", "nothing more came to the log", NULL, .on_end = stays_on_end},
};
const unsigned n_checks = ELEMENTSOF(checks);
