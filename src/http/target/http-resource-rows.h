// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of resources, in the order of the description (http-openapi.c): what it is called in the code,
// method, path, parameters of the query, one sentence of the description, and by name what else
// http-resource.h has of it. A new resource is a row here. For a question that nothing else asks
// http-resource.c has a function, too; for rows that nothing else has model/row-json.c has a table. What is
// in braces in a path is a name of that kind (http-parameters.c); it may stand anywhere.
//
// No guard: the including file defines RESOURCE(), and the macro is undefined at the end.

RESOURCE(HEALTHZ, HTTP_GET, "/healthz", 0, "This argosyd does its work", .is = HTTP_IS_OPEN)
RESOURCE(READYZ, HTTP_GET, "/readyz", 0, "And it knows who leads", .is = HTTP_IS_OPEN)
RESOURCE(UNITS, HTTP_GET, "/v1/units", TAKES_PATTERN | TAKES_STATE | TAKES_NODE | TAKES_LABEL | TAKES_PAGE,
         "What nodes say of units, whole or a page at a time", .ask = ask_for_units, .is = HTTP_IS_TAGGED,
         STATES(UNITS), ROWS("units", units, UNITS, Units, rows, unit_row), .wants = http_filter_wants_unit)
RESOURCE(UNIT, HTTP_GET, "/v1/units/{unit}", 0, "What nodes say of one unit, and why it is as it is",
         .ask = ask_for_units, .is = HTTP_IS_ONE, ROWS("units", units, UNITS, Units, rows, unit_row),
         .aside = HTTP_ASIDE_WHY, .schema = "unit")
RESOURCE(UNIT_FILES, HTTP_GET, "/v1/unit-files",
         TAKES_PATTERN | TAKES_STATE | TAKES_NODE | TAKES_LABEL | TAKES_PAGE,
         "What is wanted of units, whole or a page at a time", .ask = ask_for_files, .is = HTTP_IS_TAGGED,
         STATES(FILES), ROWS("unit_files", unit_files, UNIT_FILES, UnitFiles, rows, unit_file_row),
         .wants = http_filter_wants_file)
RESOURCE(UNIT_FILE, HTTP_GET, "/v1/unit-files/{unit}", TAKES_AT, "What is wanted of one unit, and its file",
         .ask = ask_for_files, .is = HTTP_IS_ONE,
         ROWS("unit_files", unit_files, UNIT_FILES, UnitFiles, rows, unit_file_at_row),
         .aside = HTTP_ASIDE_FILE, .schema = "unit_file")
RESOURCE(PUT_UNIT_FILE, HTTP_PUT, "/v1/unit-files/{unit}", TAKES_WAIT, "Submits the file of a unit",
         .is = HTTP_IS_CHANGE, .body = "text/plain", RESULTS)
RESOURCE(DELETE_UNIT_FILE, HTTP_DELETE, "/v1/unit-files/{unit}", TAKES_WAIT, "Destroys a unit",
         .is = HTTP_IS_CHANGE, RESULTS)
RESOURCE(NODES, HTTP_GET, "/v1/nodes", TAKES_STATE | TAKES_NODE | TAKES_LABEL, "Nodes", .ask = ask_for_nodes,
         STATES(NODES), ROWS("nodes", nodes, NODES, Nodes, rows, node_row),
         .wants = http_filter_wants_row_of_node)
RESOURCE(JOBS, HTTP_GET, "/v1/jobs", TAKES_PATTERN | TAKES_STATE | TAKES_NODE | TAKES_AUTHOR | TAKES_PAGE,
         "Jobs, the newest first, a page at a time", .ask = ask_for_jobs, STATES(JOBS),
         ROWS("jobs", jobs, JOBS, Jobs, rows, job_row))
RESOURCE(NEW_JOB, HTTP_POST, "/v1/jobs", TAKES_WAIT, "Asks for a change, or for thousands, one on a line",
         .is = HTTP_IS_CHANGE, .body = JSON, .body_schema = "change", RESULTS)
RESOURCE(PLAN, HTTP_POST, "/v1/plan", 0, "What a change would do; nothing is changed",
         .is = HTTP_IS_WRITTEN | HTTP_IS_OF_A_JOB, .body = JSON, .body_schema = "planned_change", RESULTS)
RESOURCE(VERIFY, HTTP_POST, "/v1/verify", 0,
         "What the systemd of nodes ignores in unit files, or refuses; nothing is changed",
         .is = HTTP_IS_WRITTEN, .body = JSON, .body_schema = "contents",
         ROWS("files", verify, VERIFY, Verify, files, findings_row), .schema = "files_verified",
         .write = write_findings, .aside = HTTP_ASIDE_ERRORS)
RESOURCE(JOB, HTTP_GET, "/v1/jobs/{job}", TAKES_WAIT,
         "One job, when it has ended or so many seconds are over", .ask = ask_for_jobs,
         .is = HTTP_IS_ONE | HTTP_IS_JOB, .key = "jobs", .row = &job_shown_row, .find = find_units_of_job,
         .schema = "job")
RESOURCE(JOB_TARGETS, HTTP_GET, "/v1/jobs/{job}/targets", 0, "The names of all units that a job is about",
         .ask = ask_for_jobs, .is = HTTP_IS_ONE | HTTP_IS_JOB, .key = "targets", .find = find_targets_of_job)
RESOURCE(HOSTS, HTTP_GET, "/v1/hosts", TAKES_STATE | TAKES_NODE, "Members of the cluster",
         ASKS(CLUSTER_STATUS), STATES(NODES),
         ROWS("hosts", cluster_status, CLUSTER_STATUS, ClusterStatus, members, member_row),
         .wants = http_filter_wants_host)
RESOURCE(ROLES, HTTP_GET, "/v1/roles", 0, "Roles, with what they are guaranteed and use", ASKS(ROLE_LIST),
         ROWS("roles", roles, ROLES, Roles, rows, role_row))
RESOURCE(POOLS, HTTP_GET, "/v1/pools", 0, "Pools", ASKS(POOL_LIST),
         ROWS("pools", pools, POOLS, Pools, rows, pool_row))
RESOURCE(QUEUE, HTTP_GET, "/v1/queue", 0, "The queue of jobs and its rules", ASKS(QUEUE_LIST),
         ROWS("rules", queue, QUEUE, Queue, rows, queue_rule_row), .beside = &queue_row)
RESOURCE(ACCESS, HTTP_GET, "/v1/access", 0, "Who may do what", ASKS(ACCESS_LIST),
         ROWS("access", access, ACCESS, Access, rows, grant_row), .beside = &access_row)
RESOURCE(TOKENS, HTTP_GET, "/v1/tokens", 0, "Tokens by which programs are let in", ASKS(TOKEN_LIST),
         ROWS("tokens", tokens, TOKENS, Tokens, rows, token_row))
RESOURCE(SECRETS, HTTP_GET, "/v1/secrets", 0, "Secrets, who has which version, and never a value",
         ASKS(SECRET_LIST), ROWS("secrets", secrets, SECRETS, Secrets, rows, secret_row))
RESOURCE(PUT_SECRET, HTTP_PUT, "/v1/secrets/{secret}", TAKES_WAIT, "Gives units another secret",
         .is = HTTP_IS_CHANGE, .body = "application/octet-stream", RESULTS)
RESOURCE(DELETE_SECRET, HTTP_DELETE, "/v1/secrets/{secret}", TAKES_WAIT,
         "Forgets a secret that no unit names", .is = HTTP_IS_CHANGE, RESULTS)
RESOURCE(EVENTS, HTTP_GET, "/v1/events", TAKES_PATTERN | TAKES_EVENTS,
         "What the cluster comes to be, as a stream", .ask = ask_for_events, .is = HTTP_IS_STREAM)
RESOURCE(JOURNAL, HTTP_GET, "/v1/journal/{unit}", TAKES_NODE | TAKES_JOURNAL,
         "What a unit has written, as a stream if it is followed", .ask = ask_for_journal,
         .is = HTTP_IS_STREAM)
RESOURCE(STATE, HTTP_GET, "/v1/state", TAKES_SINCE, "Everything as it is at one moment, or what has changed")
RESOURCE(HISTORY, HTTP_GET, "/v1/history/{unit}", TAKES_AUTHOR | TAKES_PAGE,
         "Jobs that have changed a unit, the newest first, a page at a time", .ask = ask_for_jobs,
         ROWS("history", jobs, JOBS, Jobs, rows, history_row))
RESOURCE(DIFF, HTTP_GET, "/v1/diff", TAKES_JOBS, "What jobs have changed together", .schema = "diff")
RESOURCE(USAGE, HTTP_GET, "/v1/usage", TAKES_PATTERN | TAKES_NODE, "What units use", .ask = ask_for_usage,
         ROWS("usage", usage, USAGE, Usage, rows, usage_row), .wants = http_filter_wants_usage,
         .write = write_usage, .aside = HTTP_ASIDE_ERRORS)
RESOURCE(METRICS, HTTP_GET, "/metrics", 0, "What this argosyd has counted", ASKS(COUNTERS))
RESOURCE(OPENAPI, HTTP_GET, "/v1/openapi.json", 0, "This document", .ask = ask_whether_known)
RESOURCE(LOGIN, HTTP_POST, "/v1/login", 0, "Begins the session of a browser", .ask = ask_whether_known,
         .is = HTTP_IS_PUBLIC, .body = JSON, .body_schema = "login")
RESOURCE(LOGOUT, HTTP_POST, "/v1/logout", 0, "Ends the session of a browser")
// for people, and so the last
RESOURCE(DASHBOARD, HTTP_GET, "/", 0, "", .is = HTTP_IS_PUBLIC)
RESOURCE(STATIC, HTTP_GET, "/dashboard/{file}", 0, "", .is = HTTP_IS_PUBLIC)

#undef RESOURCE
