// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// The functions of the table in asks.c. `message`: of the kind that its row names, initialised.

#include "asks.h"

// asks-units.c
bool ask_change(Draw *d, void *message);
bool ask_change_several(Draw *d, void *message);
bool ask_change_crowd(Draw *d, void *message);
bool ask_rollout(Draw *d, void *message);
bool ask_rebalance(Draw *d, void *message);

// asks-jobs.c
bool ask_undo(Draw *d, void *message);
bool ask_forget(Draw *d, void *message);
bool ask_list_jobs(Draw *d, void *message);
bool ask_job_release(Draw *d, void *message);
bool ask_job_cancel(Draw *d, void *message);
bool ask_queue_change(Draw *d, void *message);
bool ask_queue_rule(Draw *d, void *message); // one that holds much, or the end of the first one

// asks-apply.c
bool ask_apply(Draw *d, void *message);

// asks-nodes.c
bool ask_node_change(Draw *d, void *message);
bool ask_node_change_several(Draw *d, void *message);
bool ask_label_change(Draw *d, void *message);
bool ask_role_change(Draw *d, void *message);
bool ask_pool_change(Draw *d, void *message);
bool ask_cluster_remove(Draw *d, void *message);
bool ask_cluster_role(Draw *d, void *message);
bool ask_cluster_voters(Draw *d, void *message);
bool ask_cluster_rotate_ca(Draw *d, void *message);
bool ask_cluster_set_time(Draw *d, void *message);
bool ask_cluster_token(Draw *d, void *message);
bool ask_join(Draw *d, void *message);

// asks-access.c
bool ask_access_change(Draw *d, void *message);
bool ask_right_of_role(Draw *d, void *message);
bool ask_right_of_group(Draw *d, void *message);
bool ask_token_of_role(Draw *d, void *message);
bool ask_right_check(Draw *d, void *message);
bool ask_token_create(Draw *d, void *message);
bool ask_token_revoke(Draw *d, void *message);
bool ask_secret_set(Draw *d, void *message);
bool ask_secret_delete(Draw *d, void *message);
bool ask_secret_list(Draw *d, void *message);
bool ask_secret_rotate_key(Draw *d, void *message);

// asks-looks.c
bool ask_nothing_more(Draw *d, void *message); // the kind says it all
bool ask_list_units(Draw *d, void *message);
bool ask_list_unit_files(Draw *d, void *message);
bool ask_list_nodes(Draw *d, void *message);
bool ask_role_list(Draw *d, void *message);
bool ask_pool_list(Draw *d, void *message);
bool ask_cat(Draw *d, void *message);
bool ask_why(Draw *d, void *message);
bool ask_status(Draw *d, void *message);
bool ask_journal(Draw *d, void *message);
bool ask_top(Draw *d, void *message);
bool ask_verify(Draw *d, void *message);

// asks-waits.c
bool ask_wait(Draw *d, void *message);
bool ask_drain_wait(Draw *d, void *message);
bool ask_rollout_wait(Draw *d, void *message);
bool ask_manager_wait(Draw *d, void *message);
bool ask_job_wait(Draw *d, void *message);
bool ask_events(Draw *d, void *message);

// asks.c, for asks-wrong.c: one of that kind is made and asked, if there is room and the program has such;
// a kind is drawn; the request that is being made has the key of that one, counted from 1.
void asks_make_and_ask(Draw *d, const AskKind *kind, WorldAsked by);
const AskKind *asks_draw_kind(Draw *d);
void asks_note_key_of(size_t first);

// asks-wrong.c
void asks_wrong(Draw *d);
