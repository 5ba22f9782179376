// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of verbs: name, another name, arguments, group, options, the fewest and the most arguments, who
// carries it out, and one sentence of help. A new verb is a row here and a function in its family's file:
// verbs.h declares the function by this row, parser, help and completions follow.
//
// No guard: the including file defines VERB(), and the macro is undefined at the end.

#define CHANGE(name, options, run, help) \
        VERB(name, NULL, "UNIT...", GROUP_CHANGE, options, 1, ARGS_MAX, run, help)

CHANGE("submit", OPTIONS(OPT_REPLACE, OPT_UNPINNED, OPT_VERBOSE, OPT_JSON, OPTIONS_JOB), verb_submit,
       "Make unit files known to the cluster")
CHANGE("load", OPTIONS(OPT_REPLACE, OPT_UNPINNED, OPTIONS_WAITING, OPTIONS_JOB), verb_load,
       "Place units on nodes without starting them")
CHANGE("start", OPTIONS(OPT_REPLACE, OPT_UNPINNED, OPTIONS_WAITING, OPTIONS_JOB), verb_start,
       "Place and start units")
CHANGE("stop", OPTIONS(OPTIONS_WAITING, OPT_LOCAL, OPTIONS_JOB), verb_stop,
       "Stop units; they stay on their nodes")
CHANGE("restart", OPTIONS(OPTIONS_WAITING, OPT_ROLLING, OPT_MAX_UNAVAILABLE, OPT_HEALTH, OPTIONS_JOB),
       verb_restart, "Stop and start units again")
CHANGE("update",
       OPTIONS(OPT_MAX_UNAVAILABLE, OPT_HEALTH, OPT_PULL, OPT_UNPINNED, OPT_ABORT, OPT_NO_BLOCK, OPT_VERBOSE,
               OPTIONS_JOB),
       verb_update, "Give units new files, a few at a time, and go back if one fails")
CHANGE("unload", OPTIONS(OPTIONS_WAITING, OPTIONS_JOB), verb_unload,
       "Stop units and take them off their nodes")
CHANGE("plan", OPTIONS(OPT_REPLACE, OPT_IF_REVISION, OPT_JSON, OPT_FULL), verb_plan,
       "Say what `start` would do, and do nothing")
VERB("apply", NULL, "DIR", GROUP_CHANGE,
     OPTIONS(OPT_SET, OPT_PRUNE, OPT_ADOPT, OPT_FORCE, OPT_PLAN, OPT_ROLLING, OPT_MAX_UNAVAILABLE,
             OPT_HEALTH, OPT_UNPINNED, OPTIONS_WAITING, OPTIONS_JOB),
     1, 1, verb_apply,
     "Make the units of a set what a folder says")
CHANGE("destroy", OPTIONS(OPTIONS_WAITING, OPTIONS_JOB), verb_destroy, "Stop units and forget them")

VERB("verify", NULL, "FILE...|DIR...", GROUP_CHANGE, OPTIONS(OPT_LOCAL, OPT_NODE, OPT_JSON), 1, ARGS_MAX,
     verb_verify, "Say what argosy and systemd ignore or refuse in unit files, and do nothing")
VERB("undo", NULL, "JOB", GROUP_CHANGE,
     OPTIONS(OPT_PLAN, OPT_ONLY_UNTOUCHED, OPT_FORCE, OPT_ROLLING, OPT_MAX_UNAVAILABLE, OPT_HEALTH,
             OPTIONS_WAITING, OPTIONS_JOB),
     1, 1, verb_undo,
     "Put back what a job changed: files, what units are to be, labels, nodes, roles, pools, rules")

VERB("status", NULL, "UNIT...", GROUP_SEE, OPTIONS(OPT_NO_PAGER, OPT_FULL, OPT_LINES, OPT_JSON), 1, ARGS_MAX,
     verb_status, "Show what units do, where, and why not")
VERB("why", NULL, "UNIT...", GROUP_SEE, OPTIONS(OPT_NO_PAGER, OPT_FULL, OPT_JSON), 1, ARGS_MAX, verb_why,
     "Say why units are not as they are wanted, for each node")
VERB("list-units", NULL, "[PATTERN...]", GROUP_SEE, OPTIONS(OPTIONS_LIST, OPT_LOCAL, OPT_STATE, OPT_LABEL),
     0, ARGS_MAX, verb_list_units, "List units and their states on nodes")
VERB("list-unit-files", NULL, "[PATTERN...]", GROUP_SEE, OPTIONS(OPTIONS_LIST, OPT_AT, OPT_STATE, OPT_LABEL),
     0, ARGS_MAX, verb_list_unit_files, "List units as the cluster wants them")
VERB("list-nodes", "list-machines", "", GROUP_SEE, OPTIONS(OPTIONS_LIST, OPT_STATE, OPT_LABEL), 0, 0,
     verb_list_nodes, "List the nodes")
VERB("list-jobs", "jobs", "", GROUP_SEE,
     OPTIONS(OPTIONS_LIST, OPT_LIMIT, OPT_ALL, OPT_UNIT, OPT_NODE, OPT_AUTHOR, OPT_STATE, OPT_SINCE), 0, 0,
     verb_list_jobs, "List what was changed, by whom and why, newest first")
VERB("job show", "show-job", "JOB...", GROUP_SEE, OPTIONS(OPT_JSON, OPT_NO_LEGEND, OPT_NO_PAGER, OPT_FULL),
     1, ARGS_MAX, verb_job_show, "Show what a job changed, how it ended, and how that stands now")
VERB("job wait", "wait-job", "JOB...", GROUP_SEE, OPTIONS(OPT_VERBOSE), 1, ARGS_MAX, verb_job_wait,
     "Wait until jobs have ended, whoever asked for them")
VERB("job release", "release-job", "JOB...", GROUP_CHANGE, OPTIONS(OPTIONS_CHANGES), 1, ARGS_MAX,
     verb_job_release, "Let jobs begin that are held back")
VERB("job cancel", "cancel-job", "JOB...", GROUP_CHANGE, OPTIONS(OPTIONS_CHANGES), 1, ARGS_MAX,
     verb_job_cancel, "Call jobs off: what has not begun of them never does")
VERB("job retry", "retry-job", "JOB...", GROUP_CHANGE, OPTIONS(OPT_NO_BLOCK, OPT_VERBOSE, OPTIONS_JOB), 1,
     ARGS_MAX, verb_job_retry, "Ask again for the units of jobs that did not end well")
// these before `history`, for the second word counts
VERB("history forget", NULL, "JOB|UNIT...", GROUP_SEE, OPTIONS(OPTIONS_CHANGES, OPT_KEY), 1, ARGS_MAX,
     verb_history_forget, "Erase the old files that jobs or units are remembered with")
VERB("history limit", NULL, "SIZE", GROUP_ROLES, OPTIONS(OPTIONS_CHANGES, OPT_KEY), 1, 1, verb_history_limit,
     "Say how much is kept of jobs that are over, and of the files that only they know")
VERB("history", NULL, "UNIT...", GROUP_SEE, OPTIONS(OPTIONS_LIST, OPT_LIMIT, OPT_AUTHOR), 1, ARGS_MAX,
     verb_history, "List the jobs that changed a unit, and what they did to it, newest first")
VERB("diff", NULL, "UNIT [JOB [JOB]]|@JOB [@JOB]", GROUP_SEE, OPTIONS(OPT_NO_PAGER, OPT_JSON), 1, 3,
     verb_diff,
     "Print what the last job that changed a unit's file, or what came after a job, did to it, or to all")
VERB("cat", NULL, "UNIT...", GROUP_SEE, OPTIONS(OPT_NO_PAGER, OPT_AT), 1, ARGS_MAX, verb_cat,
     "Print unit files, byte for byte as submitted")
VERB("export", NULL, "DIR", GROUP_SEE, OPTIONS(OPT_SET), 1, 1, verb_export,
     "Write a set of units to a folder, which apply takes")
VERB("journal", NULL, "UNIT", GROUP_SEE, OPTIONS(OPT_LINES, OPT_FOLLOW, OPT_NODE, OPT_NO_PAGER), 1, 1,
     verb_journal, "Print a unit's log from its node")
VERB("top", NULL, "[PATTERN...]", GROUP_SEE,
     OPTIONS(OPT_JSON, OPT_NO_LEGEND, OPT_FULL, OPT_FIELDS, OPT_LOCAL, OPT_NODE, OPT_ITERATIONS, OPT_DELAY,
             OPT_BATCH, OPT_ORDER),
     0, ARGS_MAX, verb_top, "Show what units use, again and again")
VERB("dashboard", NULL, "", GROUP_SEE, OPTIONS(OPT_PORT), 0, 0, verb_dashboard,
     "Serve the page of the cluster to one browser of this machine")
VERB("is-active", NULL, "UNIT...", GROUP_SEE, 0, 1, ARGS_MAX, verb_is_active,
     "Print the active states; exit 0 if one is active")
VERB("wait", NULL, "UNIT...", GROUP_SEE, OPTIONS(OPT_FOR, OPT_VERBOSE, OPT_JSON), 1, ARGS_MAX, verb_wait,
     "Wait until units are active, inactive, failed or gone")
VERB("watch", NULL, "[PATTERN...]", GROUP_SEE,
     OPTIONS(OPT_KINDS, OPT_SINCE, OPT_JSON, OPT_CURSOR_FILE, OPT_EXEC), 0, ARGS_MAX, verb_watch,
     "Tell what the cluster comes to be, event by event")

VERB("cordon", NULL, "NODE...", GROUP_NODES, OPTIONS(OPTIONS_JOB), 1, ARGS_MAX, verb_cordon,
     "Let nodes take no new units")
VERB("uncordon", NULL, "NODE...", GROUP_NODES, OPTIONS(OPTIONS_JOB), 1, ARGS_MAX, verb_uncordon,
     "Open nodes again: ends cordon, drain and maintenance")
VERB("drain", NULL, "NODE...", GROUP_NODES, OPTIONS(OPT_DEADLINE, OPTIONS_JOB, OPT_NO_BLOCK), 1, ARGS_MAX,
     verb_drain, "Move units away from nodes, and let them take no new ones")
VERB("maintenance", NULL, "NODE...", GROUP_NODES, OPTIONS(OPT_DEADLINE, OPTIONS_JOB, OPT_NO_BLOCK), 1,
     ARGS_MAX, verb_maintenance, "Drain nodes and stop their global units too")
VERB("rebalance", NULL, "[PATTERN...]", GROUP_NODES,
     OPTIONS(OPT_DRY_RUN, OPT_MAX_MOVES, OPT_HEALTH, OPT_ABORT, OPT_NO_BLOCK, OPT_JSON, OPT_NO_LEGEND,
             OPT_FULL, OPTIONS_CHANGES, OPTIONS_HELD),
     0, ARGS_MAX, verb_rebalance, "Move units to where they are better off, as few as possible")
VERB("label", NULL, "NODE KEY=VALUE|KEY-...", GROUP_NODES, OPTIONS(OPTIONS_JOB), 2, ARGS_MAX, verb_label,
     "Set labels of a host, or take them back")

VERB("manager list", NULL, "", GROUP_NODES, OPTIONS(OPTIONS_LIST), 0, 0, verb_manager_list,
     "List the systemd managers that this host serves")
VERB("manager attach", NULL, "user@USER|container@NAME...", GROUP_NODES, OPTIONS(OPT_LEADER, OPT_NO_BLOCK),
     1, ARGS_MAX, verb_manager_attach, "Make managers of this host's users and containers nodes too")
VERB("manager detach", NULL, "user@USER|container@NAME...", GROUP_NODES, OPTIONS(OPT_FORCE), 1, ARGS_MAX,
     verb_manager_detach, "Stop and remove what runs in them, and forget them")

VERB("role set", NULL, "ROLE [SETTING=VALUE...]", GROUP_ROLES, OPTIONS(OPTIONS_JOB), 1, ARGS_MAX,
     verb_role_set, "Set how much a role's units may have")
VERB("role show", NULL, "[ROLE...]", GROUP_ROLES, OPTIONS(OPT_JSON, OPT_NO_LEGEND), 0, ARGS_MAX,
     verb_role_show, "Show roles and what they have")
VERB("role delete", NULL, "ROLE...", GROUP_ROLES, OPTIONS(OPTIONS_JOB), 1, ARGS_MAX, verb_role_delete,
     "Forget roles that no unit has")
VERB("pool set", NULL, "POOL NODE|KEY=VALUE...", GROUP_ROLES, OPTIONS(OPTIONS_JOB), 2, ARGS_MAX,
     verb_pool_set, "Say which nodes are a pool, for Pool=")
VERB("pool show", NULL, "[POOL...]", GROUP_ROLES, OPTIONS(OPT_JSON, OPT_NO_LEGEND), 0, ARGS_MAX,
     verb_pool_show, "Show pools and the nodes in them")
VERB("pool delete", NULL, "POOL...", GROUP_ROLES, OPTIONS(OPTIONS_JOB), 1, ARGS_MAX, verb_pool_delete,
     "Forget pools")

VERB("access grant", NULL, "RIGHT to user:|group:NAME [on role ROLE]", GROUP_ROLES, OPTIONS(OPTIONS_JOB), 3,
     6, verb_access_grant, "Let somebody view, operate, deploy or admin")
VERB("access revoke", NULL, "RIGHT from user:|group:NAME [on role ROLE]", GROUP_ROLES, OPTIONS(OPTIONS_JOB),
     3, 6, verb_access_revoke, "Take a right back")
VERB("access list", NULL, "", GROUP_ROLES, OPTIONS(OPT_JSON, OPT_NO_LEGEND), 0, 0, verb_access_list,
     "Show who may do what")

VERB("token create", NULL, "[on role ROLE]", GROUP_ROLES,
     OPTIONS(OPT_RIGHT, OPT_NAME, OPT_TTL, OPT_CERTIFICATE, OPTIONS_CHANGES, OPT_JSON), 0, 3,
     verb_token_create, "Print a token with which programs may view, operate, deploy or admin")
VERB("token revoke", NULL, "NAME|ID...", GROUP_ROLES, OPTIONS(OPTIONS_CHANGES, OPT_KEY), 1, ARGS_MAX,
     verb_token_revoke, "End tokens at once, and what goes on with them")
VERB("token list", NULL, "", GROUP_ROLES, OPTIONS(OPT_JSON, OPT_NO_LEGEND), 0, 0, verb_token_list,
     "Show tokens, and when they were used last")

VERB("secret set", NULL, "SECRET", GROUP_ROLES,
     OPTIONS(OPT_FILE, OPT_RESTART, OPT_MAX_UNAVAILABLE, OPT_HEALTH, OPT_NO_BLOCK, OPT_VERBOSE,
             OPTIONS_CHANGES, OPT_KEY, OPT_JSON),
     1, 1, verb_secret_set, "Give units another secret, read from standard input or a file")
VERB("secret list", NULL, "[SECRET...]", GROUP_ROLES, OPTIONS(OPT_JSON, OPT_NO_LEGEND), 0, ARGS_MAX,
     verb_secret_list, "Show secrets, never their values, and which units have them where")
VERB("secret rotate-key", NULL, "", GROUP_ROLES, OPTIONS(OPT_ABORT, OPTIONS_JOB), 0, 0,
     verb_secret_rotate_key, "Seal all secrets in the log with another key")
VERB("secret delete", NULL, "SECRET...", GROUP_ROLES, OPTIONS(OPTIONS_JOB), 1, ARGS_MAX, verb_secret_delete,
     "Forget secrets that no unit has")

VERB("queue rule", NULL, "add ACTION [KEY=PATTERN...]|list|delete RULE...", GROUP_ROLES,
     OPTIONS(OPTIONS_CHANGES, OPT_KEY, OPT_JSON, OPT_NO_LEGEND), 1, ARGS_MAX, verb_queue_rule,
     "Say which requests are held back, refused or limited")
VERB("queue close", NULL, "", GROUP_ROLES, OPTIONS(OPTIONS_CHANGES, OPT_KEY), 0, 0, verb_queue_close,
     "Hold back all jobs that come, until the queue opens")
VERB("queue open", NULL, "", GROUP_ROLES, OPTIONS(OPTIONS_CHANGES, OPT_KEY), 0, 0, verb_queue_open,
     "Let jobs begin again, and those that the closed queue held")
VERB("queue limit", NULL, "NUMBER", GROUP_ROLES, OPTIONS(OPTIONS_CHANGES, OPT_KEY), 1, 1, verb_queue_limit,
     "Say how many open jobs an author may have")
VERB("files limit", NULL, "file=SIZE|unit=SIZE|all=SIZE...", GROUP_ROLES, OPTIONS(OPTIONS_CHANGES, OPT_KEY),
     1, 3, verb_files_limit, "Say how much files that come with units may have")

VERB("cluster status", NULL, "", GROUP_CLUSTER, OPTIONS(OPT_JSON, OPT_NO_LEGEND), 0, 0, verb_cluster_status,
     "Show members, leader and log")
VERB("cluster token", NULL, "", GROUP_CLUSTER,
     OPTIONS(OPT_TTL, OPT_FOR, OPT_ONCE, OPTIONS_CHANGES, OPT_JSON), 0, 0, verb_cluster_token,
     "Print a token with which hosts can join")
VERB("cluster join", NULL, "ADDRESS[:PORT] TOKEN|-", GROUP_CLUSTER, OPTIONS(OPT_DISCARD), 2, 2,
     verb_cluster_join, "Make this host a member of another cluster")
VERB("cluster leave", NULL, "", GROUP_CLUSTER, OPTIONS(OPT_FORCE, OPTIONS_CHANGES), 0, 0, verb_cluster_leave,
     "Take this host out of its cluster")
VERB("cluster remove", NULL, "NODE", GROUP_CLUSTER, OPTIONS(OPT_FORCE, OPTIONS_JOB), 1, 1,
     verb_cluster_remove, "Take a host out of the cluster, also a dead one")
VERB("cluster promote", NULL, "NODE", GROUP_CLUSTER, OPTIONS(OPTIONS_JOB), 1, 1, verb_cluster_promote,
     "Let a host vote")
VERB("cluster demote", NULL, "NODE", GROUP_CLUSTER, OPTIONS(OPTIONS_JOB), 1, 1, verb_cluster_demote,
     "Let a host no longer vote")
VERB("cluster voters", NULL, "1|3|5", GROUP_CLUSTER, OPTIONS(OPTIONS_JOB), 1, 1, verb_cluster_voters,
     "Say how many hosts keep the log and vote")
VERB("cluster rotate-ca", NULL, "", GROUP_CLUSTER, OPTIONS(OPT_FINISH, OPTIONS_JOB), 0, 0,
     verb_cluster_rotate_ca, "Give the cluster another CA, and all hosts new certificates")
VERB("cluster set-time", NULL, "[TIME]", GROUP_CLUSTER, OPTIONS(OPTIONS_JOB), 0, 1, verb_cluster_set_time,
     "Set the time by which the log dates, after a clock was wrong")
VERB("cluster peers", NULL, "ADDRESS[:PORT]...", GROUP_CLUSTER, 0, 1, 4, verb_cluster_peers,
     "Tell this host where else to look for the voters")
VERB("cluster recover", NULL, "", GROUP_CLUSTER, OPTIONS(OPT_YES), 0, 0, verb_cluster_recover,
     "Offline: when most voters are gone for good, go on with the log of this host")

VERB("counters", NULL, "", GROUP_OTHER, OPTIONS(OPT_JSON, OPT_NO_LEGEND), 0, 0, verb_counters,
     "Print what this host's argosyd has counted")
VERB("http-certificate", NULL, "", GROUP_OTHER, OPTIONS(OPT_JSON), 0, 0, verb_http_certificate,
     "Print the certificate that this host shows over TLS, and its fingerprints")
VERB("version", NULL, "", GROUP_OTHER, OPTIONS(OPT_JSON), 0, 0, verb_version,
     "Print the versions of argosyctl and argosyd")
VERB("help", NULL, "[VERB]", GROUP_OTHER, 0, 0, 2, verb_help, "Print this help, or that of a verb or family")
VERB("complete", NULL, "", GROUP_HIDDEN, 0, 1, ARGS_MAX, verb_complete,
     "Words for the shells' completions")

#undef CHANGE
#undef VERB
