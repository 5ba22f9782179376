// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What carries the verbs out, one file for each family. Each takes the words behind the verb, whose
// number the table has checked, and returns the exit code.

#include <stddef.h>

typedef struct Ctl Ctl;

int verb_submit(Ctl *ctl, char **args, size_t n);
int verb_load(Ctl *ctl, char **args, size_t n);
int verb_start(Ctl *ctl, char **args, size_t n);
int verb_stop(Ctl *ctl, char **args, size_t n);
int verb_restart(Ctl *ctl, char **args, size_t n);
int verb_unload(Ctl *ctl, char **args, size_t n);
int verb_destroy(Ctl *ctl, char **args, size_t n);
int verb_status(Ctl *ctl, char **args, size_t n);
int verb_top(Ctl *ctl, char **args, size_t n);
int verb_is_active(Ctl *ctl, char **args, size_t n);
int verb_list_units(Ctl *ctl, char **args, size_t n);
int verb_list_unit_files(Ctl *ctl, char **args, size_t n);
int verb_list_nodes(Ctl *ctl, char **args, size_t n);
int verb_cat(Ctl *ctl, char **args, size_t n);
int verb_journal(Ctl *ctl, char **args, size_t n);
int verb_manager_list(Ctl *ctl, char **args, size_t n);
int verb_manager_attach(Ctl *ctl, char **args, size_t n);
int verb_manager_detach(Ctl *ctl, char **args, size_t n);
int verb_cluster_status(Ctl *ctl, char **args, size_t n);
int verb_cluster_token(Ctl *ctl, char **args, size_t n);
int verb_cluster_join(Ctl *ctl, char **args, size_t n);
int verb_cluster_leave(Ctl *ctl, char **args, size_t n);
int verb_cluster_remove(Ctl *ctl, char **args, size_t n);
int verb_cluster_promote(Ctl *ctl, char **args, size_t n);
int verb_cluster_peers(Ctl *ctl, char **args, size_t n);
int verb_cluster_demote(Ctl *ctl, char **args, size_t n);
int verb_cluster_voters(Ctl *ctl, char **args, size_t n);
int verb_cluster_recover(Ctl *ctl, char **args, size_t n);
int verb_cordon(Ctl *ctl, char **args, size_t n);
int verb_uncordon(Ctl *ctl, char **args, size_t n);
int verb_drain(Ctl *ctl, char **args, size_t n);
int verb_maintenance(Ctl *ctl, char **args, size_t n);
int verb_update(Ctl *ctl, char **args, size_t n);
int verb_rebalance(Ctl *ctl, char **args, size_t n);
int verb_label(Ctl *ctl, char **args, size_t n);
int verb_role_set(Ctl *ctl, char **args, size_t n);
int verb_role_show(Ctl *ctl, char **args, size_t n);
int verb_role_delete(Ctl *ctl, char **args, size_t n);
int verb_pool_set(Ctl *ctl, char **args, size_t n);
int verb_pool_show(Ctl *ctl, char **args, size_t n);
int verb_pool_delete(Ctl *ctl, char **args, size_t n);
int verb_plan(Ctl *ctl, char **args, size_t n);
int verb_why(Ctl *ctl, char **args, size_t n);
int verb_counters(Ctl *ctl, char **args, size_t n);
int verb_version(Ctl *ctl, char **args, size_t n);
int verb_help(Ctl *ctl, char **args, size_t n);
int verb_complete(Ctl *ctl, char **args, size_t n);
