// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      verb -> its row -> a message with the verb's defaults -> its members are read -> the whole is looked
//      at -> Request
//
// What is looked at here is the form alone. Whether there is such a node, role or job, and who may do that,
// is the leader's to say, as it is for argosyctl. A member of another form, or one that is missing, is
// refused by its name.

#include "http-verbs.h"

#include <errno.h>
#include <string.h>

#include "access-token.h"
#include "access.h"
#include "clock.h"
#include "cluster-setting.h"
#include "macro.h"
#include "str.h"

enum {
        DEADLINE_SEC_MAX = 30 * 86400,
        HEALTH_DEFAULT_US = 2000000, // as argosyctl has it
        HEALTH_SEC_MAX = 3600,
        MOVES_MAX = 1000,
        RULE_MAX = UINT32_MAX / 2,
        WEIGHT_MAX = 10000,
};

typedef struct Make {
        HttpReading reading;
        const cJSON *body;
        const char *reason;
        Argosy__Request *request;
} Make;

struct HttpVerb {
        const char *name;
        Argosy__Request__WhatCase what;          // its message
        const HttpMember *members;               // NULL: none
        int which;                               // of its family, for the two below; they may be NULL
        void (*begin)(void *message, int which); // defaults, and what the verb alone says
        int (*finish)(Make *m, void *message);   // what no member says alone
};

#define AT(type, name) .at = offsetof(Argosy__Request__##type, name)
#define LIST(type, name) AT(type, name), .other = offsetof(Argosy__Request__##type, n_##name)

static bool is_given(const Make *m, const char *name) {
        return cJSON_GetObjectItemCaseSensitive(m->body, name) != NULL;
}

static int refuse(Make *m, const char *why) {
        return str_refuse(m->reading.ret_why, "%s", why);
}

// ---- nodes

static const HttpMember of_mode[] = {
        {"nodes", &http_member_texts, true, LIST(NodeChange, nodes)},
        {},
};
static const HttpMember of_mode_with_deadline[] = {
        {"nodes", &http_member_texts, true, LIST(NodeChange, nodes)},
        {"deadline", &http_member_span_sec32, AT(NodeChange, deadline_sec), .max = DEADLINE_SEC_MAX},
        {},
};

static void begin_mode(void *message, int mode) {
        ((Argosy__Request__NodeChange *) message)->mode = (Argosy__NodeMode) mode;
}

static int finish_mode(Make *m, void *message) {
        ((Argosy__Request__NodeChange *) message)->reason = (char *) m->reason;
        return 0;
}

static const HttpMember of_label[] = {
        {"node", &http_member_text, true, AT(LabelChange, node)},
        {"set", &http_member_labels, LIST(LabelChange, set)},
        {"unset", &http_member_texts, LIST(LabelChange, unset)},
        {},
};

static int finish_label(Make *m, void *message) {
        const Argosy__Request__LabelChange *label = message;

        return label->n_set + label->n_unset == 0 ? refuse(m, "label needs 'set', or 'unset'") : 0;
}

static const HttpMember of_rebalance[] = {
        {"patterns", &http_member_texts, LIST(Rebalance, patterns)},
        {"plan", &http_member_flag, AT(Rebalance, preview)},
        {"max-moves", &http_member_number32, AT(Rebalance, max_moves), .max = MOVES_MAX},
        {"health", &http_member_span_us, AT(Rebalance, health_us), .max = HEALTH_SEC_MAX},
        {},
};

// It is answered when it is begun: what becomes of it is its job's to say.
static void begin_rebalance(void *message, int abort) {
        Argosy__Request__Rebalance *rebalance = message;

        rebalance->abort = abort;
        rebalance->no_wait = !abort;
        rebalance->health_us = abort ? 0 : HEALTH_DEFAULT_US;
}

// ---- roles, pools, rights

static const HttpMember of_role[] = {
        {"role", &http_member_text, true, AT(RoleChange, name)},
        {"weight", &http_member_number32, AT(RoleChange, weight), .max = WEIGHT_MAX},
        {"guarantee", &http_member_amounts, LIST(RoleChange, guarantee)},
        {"limit", &http_member_amounts, LIST(RoleChange, limit)},
        {},
};
static const HttpMember of_role_removal[] = {{"role", &http_member_text, true, AT(RoleChange, name)}, {}};

static void begin_role(void *message, int remove) {
        ((Argosy__Request__RoleChange *) message)->remove = remove;
}

static const HttpMember of_pool[] = {
        {"pool", &http_member_text, true, AT(PoolChange, name)},
        {"nodes", &http_member_texts, LIST(PoolChange, hosts)},
        {"labels", &http_member_labels, LIST(PoolChange, labels)},
        {},
};
static const HttpMember of_pool_removal[] = {{"pool", &http_member_text, true, AT(PoolChange, name)}, {}};

static void begin_pool(void *message, int remove) {
        ((Argosy__Request__PoolChange *) message)->remove = remove;
}

static int finish_pool(Make *m, void *message) {
        const Argosy__Request__PoolChange *pool = message;

        return !pool->remove && pool->n_hosts + pool->n_labels == 0
                       ? refuse(m, "pool set needs 'nodes', or 'labels'")
                       : 0;
}

static int read_subject(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        Argosy__Request__AccessChange *access = message;
        AccessSubject subject;
        char *copy;

        if (!http_value_is_text(value))
                return str_refuse(g->ret_why, "'%s' is a text", m->name);
        copy = http_reading_alloc(g, strlen(value->valuestring) + 1, 1);
        if (!copy)
                return -ENOMEM;
        memcpy(copy, value->valuestring, strlen(value->valuestring));
        if (!access_subject_parse(copy, &subject))
                return str_refuse(g->ret_why, "'%s' is one of user:NAME, user:NAME@HOST and group:NAME",
                                  m->name);
        access->user = (char *) subject.user;
        access->group = (char *) subject.group;
        access->host = (char *) subject.host;
        return 0;
}

static const HttpMemberKind subject = {SHAPE_TEXT, read_subject};

// {"right": "operate", "who": "user:ann@n1", "role": "web"}
static const HttpMember of_access[] = {
        {"right", &http_member_right, true, AT(AccessChange, right)},
        {"who", &subject, true},
        {"role", &http_member_text, AT(AccessChange, role)},
        {},
};

static void begin_access(void *message, int revoke) {
        ((Argosy__Request__AccessChange *) message)->revoke = revoke;
}

// ---- tokens

// Reads the hash of a token whose secret stays with its author.
static int read_hash(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        ProtobufCBinaryData *hash = &((Argosy__Request__TokenCreate *) message)->hash;

        if (!http_value_is_text(value))
                return str_refuse(g->ret_why, "'%s' is a text", m->name);
        *hash = (ProtobufCBinaryData){HASH_SIZE, http_reading_alloc(g, 1, HASH_SIZE)};
        if (!hash->data)
                return -ENOMEM;
        return hex_decode(value->valuestring, hash->data, HASH_SIZE)
                       ? 0
                       : str_refuse(
                                 g->ret_why,
                                 "'%s' is 64 hexadecimal digits: SHA-256 of the SHA-256 of the token's text",
                                 m->name);
}

static const HttpMemberKind hash = {SHAPE_TEXT, read_hash};

// {"name": "ci", "right": "operate", "role": "web", "ttl": "30d", "hash": "..."}
static const HttpMember of_token[] = {
        {"name", &http_member_text, true, AT(TokenCreate, name)},
        {"right", &http_member_right, true, AT(TokenCreate, right)},
        {"role", &http_member_text, AT(TokenCreate, role)},
        {"ttl", &http_member_span_sec, AT(TokenCreate, ttl_sec), .max = ACCESS_TOKEN_TTL_MAX_SEC},
        {"hash", &hash, true},
        {},
};
static const HttpMember of_token_revoke[] = {{"tokens", &http_member_texts, true, LIST(TokenRevoke, tokens)},
                                             {}};

// ---- jobs and rollouts

static const HttpMember of_job_cancel[] = {{"jobs", &http_member_numbers, true, LIST(JobCancel, numbers)},
                                           {}};
static const HttpMember of_job_release[] = {{"jobs", &http_member_numbers, true, LIST(JobRelease, numbers)},
                                            {}};

#define SHARE(type) AT(type, max_unavailable), .other = offsetof(Argosy__Request__##type, percent)

static const HttpMember of_undo[] = {
        {"job", &http_member_number, true, AT(Undo, job), .max = HTTP_NUMBER_MAX},
        {"plan", &http_member_flag, AT(Undo, preview)},
        {"only-untouched", &http_member_flag, AT(Undo, only_untouched)},
        {"force", &http_member_flag, AT(Undo, force)},
        {"rolling", &http_member_flag, AT(Undo, rolling)},
        {"max-unavailable", &http_member_share, SHARE(Undo)},
        {"health", &http_member_span_us, AT(Undo, health_us), .max = HEALTH_SEC_MAX},
        {},
};

// As with argosyctl, a pace means that it is rolling.
static int finish_undo(Make *m, void *message) {
        Argosy__Request__Undo *undo = message;

        undo->rolling |= is_given(m, "max-unavailable") || is_given(m, "health");
        if (undo->rolling && !is_given(m, "health"))
                undo->health_us = HEALTH_DEFAULT_US;
        return undo->only_untouched && undo->force
                       ? refuse(m, "'only-untouched' and 'force' exclude each other")
                       : 0;
}

enum { UPDATE, RESTART, ABORT };

static const HttpMemberKind files = {SHAPE_FILES_BY_NAME, NULL}; // http-write.c reads them

static const HttpMember of_update[] = {
        {"unit", &http_member_text, true, AT(Rollout, name)},
        {"files", &files},
        {"max-unavailable", &http_member_share, SHARE(Rollout)},
        {"health", &http_member_span_us, AT(Rollout, health_us), .max = HEALTH_SEC_MAX},
        {"pull", &http_member_flag, AT(Rollout, pull)},
        {"unpinned", &http_member_flag, AT(Rollout, unpinned)},
        {},
};
static const HttpMember of_rolling_restart[] = {
        {"unit", &http_member_text, true, AT(Rollout, name)},
        {"max-unavailable", &http_member_share, SHARE(Rollout)},
        {"health", &http_member_span_us, AT(Rollout, health_us), .max = HEALTH_SEC_MAX},
        {},
};
static const HttpMember of_update_abort[] = {{"unit", &http_member_text, true, AT(Rollout, name)}, {}};

static void begin_rollout(void *message, int which) {
        Argosy__Request__Rollout *rollout = message;

        rollout->kind = which == RESTART ? ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART
                                         : ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        rollout->abort = which == ABORT;
        rollout->health_us = HEALTH_DEFAULT_US;
}

static const HttpMember of_forget[] = {{"revs", &http_member_texts, true, LIST(Forget, revs)}, {}};

// ---- the queue

enum { QUEUE_CLOSE, QUEUE_OPEN };

static void begin_queue(void *message, int which) {
        Argosy__Request__QueueChange *queue = message;

        queue->close = which == QUEUE_CLOSE;
        queue->open = which == QUEUE_OPEN;
}

static const HttpMember of_queue_limit[] = {
        {"number", &http_member_number32, true, AT(QueueChange, open_max), .max = RULE_MAX}, {}};

static int read_history_size(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        if (!http_value_is_text(value))
                return str_refuse(g->ret_why, "'%s' is a text", m->name);
        return history_size_parse(value->valuestring,
                                  &((Argosy__Request__QueueChange *) message)->history_mib)
                       ? 0
                       : str_refuse(g->ret_why, "'%s' is a size in M or G, as \"64M\"", m->name);
}

static const HttpMemberKind history_size = {SHAPE_TEXT, read_history_size};
static const HttpMember of_history_limit[] = {{"size", &history_size, true}, {}};

// Reads the size of a member KEY-max.
static int read_files_size(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        char key[8];

        if (!http_value_is_text(value))
                return str_refuse(g->ret_why, "'%s' is a text", m->name);
        str_fit(key, sizeof(key), "%.*s", (int) strcspn(m->name, "-"), m->name);
        return files_limit_parse(key, value->valuestring, message)
                       ? 0
                       : str_refuse(g->ret_why, "'%s' is a size, as \"%s\"", m->name,
                                    streq(key, "all") ? "64M" : "256K");
}

static const HttpMemberKind files_size = {SHAPE_TEXT, read_files_size};

// {"file-max": "256K", "unit-max": "512K", "all-max": "32M"}
static const HttpMember of_files_limit[] = {
        {"file-max", &files_size}, {"unit-max", &files_size}, {"all-max", &files_size}, {}};

static int finish_files_limit(Make *m, void *message) {
        for (const HttpMember *of = of_files_limit; of->name; of++)
                if (is_given(m, of->name))
                        return 0;
        return refuse(m, "one of 'file-max', 'unit-max' and 'all-max' says how much that may have");
}

static int read_action(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        static const char *const actions[] = {"accept", "hold", "refuse", "limit"};
        size_t i = 0;

        if (!http_value_is_text(value))
                return str_refuse(g->ret_why, "'%s' is a text", m->name);
        while (i < ELEMENTSOF(actions) && !streq(actions[i], value->valuestring))
                i++;
        if (i == ELEMENTSOF(actions))
                return str_refuse(g->ret_why, "'%s' is one of accept, hold, refuse and limit", m->name);
        ((Argosy__QueueRule *) message)->action = (Argosy__QueueAction) i;
        return 0;
}

static const HttpMemberKind action = {SHAPE_TEXT, read_action};

#define RULE(name) .at = offsetof(Argosy__QueueRule, name)

// {"action": "limit", "limit": 3, "verb": "start", "unit": "web@*.service", ...}
static const HttpMember of_rule[] = {
        {"action", &action, true},
        {"text", &http_member_text, RULE(text)},
        {"limit", &http_member_number32, RULE(limit), .max = RULE_MAX},
        {"author", &http_member_text, RULE(author)},
        {"verb", &http_member_text, RULE(verb)},
        {"unit", &http_member_text, RULE(unit)},
        {"role", &http_member_text, RULE(role)},
        {"reason", &http_member_text, RULE(reason)},
        {},
};
// Two actions say nothing without these.
static const HttpMember of_refusing_rule[] = {{"text", &http_member_text, true, RULE(text)}, {}};
static const HttpMember of_limiting_rule[] = {
        {"limit", &http_member_number32, true, RULE(limit), .max = RULE_MAX}, {}};

static int read_rule(HttpReading *g, const HttpMember *m, const cJSON *value, void *message) {
        Argosy__QueueRule *rule = http_reading_alloc(g, 1, sizeof(*rule));
        int r;

        if (!rule)
                return -ENOMEM;
        if (!cJSON_IsObject(value))
                return str_refuse(g->ret_why, "'%s' is an object", m->name);
        for (const cJSON *one = value->child; one; one = one->next)
                if (!http_members_find(of_rule, one->string))
                        return str_refuse(g->ret_why, "a rule has no member '%.64s'", one->string);
        argosy__queue_rule__init(rule);
        ((Argosy__Request__QueueChange *) message)->add = rule;
        r = http_members_read(g, of_rule, value, rule);
        if (r == 0 && rule->action == ARGOSY__QUEUE_ACTION__QUEUE_REFUSE)
                r = http_members_read(g, of_refusing_rule, value, rule);
        if (r == 0 && rule->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT)
                r = http_members_read(g, of_limiting_rule, value, rule);
        return r;
}

static const HttpMemberKind rule = {SHAPE_OBJECT, read_rule};

static const HttpMember of_rule_add[] = {
        {"rule", &rule, true},
        {"before", &http_member_number32, AT(QueueChange, before), .max = RULE_MAX},
        {},
};
static const HttpMember of_rule_delete[] = {
        {"rule", &http_member_number32, true, AT(QueueChange, remove), .max = RULE_MAX}, {}};

// ---- the cluster

static const HttpMember of_host_role[] = {{"node", &http_member_text, true, AT(ClusterRole, host)}, {}};

static void begin_host_role(void *message, int promote) {
        ((Argosy__Request__ClusterRole *) message)->promote = promote;
}

static const HttpMember of_removal[] = {{"node", &http_member_text, true, AT(ClusterRemove, host)}, {}};

static void begin_removal(void *message, int force) {
        ((Argosy__Request__ClusterRemove *) message)->force = force;
}

static const HttpMember of_voters[] = {
        {"number", &http_member_number32, true, AT(ClusterVoters, wanted), .max = UINT32_MAX}, {}};
static const HttpMember of_set_time[] = {
        {"time", &http_member_number, AT(ClusterSetTime, to_us), .max = HTTP_NUMBER_MAX}, {}};

static void begin_rotation(void *message, int finish) {
        ((Argosy__Request__ClusterRotateCa *) message)->finish = finish;
}

static void begin_key_rotation(void *message, int abort) {
        ((Argosy__Request__SecretRotateKey *) message)->abort = abort;
}

// ---- the table

#define IS(upper) ARGOSY__REQUEST__WHAT_##upper

static const HttpVerb verbs[] = {
        {"cordon", IS(NODE_CHANGE), of_mode, ARGOSY__NODE_MODE__MODE_CORDONED, begin_mode, finish_mode},
        {"uncordon", IS(NODE_CHANGE), of_mode, ARGOSY__NODE_MODE__MODE_OPEN, begin_mode, finish_mode},
        {"drain", IS(NODE_CHANGE), of_mode_with_deadline, ARGOSY__NODE_MODE__MODE_DRAINING, begin_mode,
         finish_mode},
        {"maintenance", IS(NODE_CHANGE), of_mode_with_deadline, ARGOSY__NODE_MODE__MODE_MAINTENANCE,
         begin_mode, finish_mode},
        {"label", IS(LABEL_CHANGE), of_label, .finish = finish_label},
        {"rebalance", IS(REBALANCE), of_rebalance, false, begin_rebalance},
        {"rebalance --abort", IS(REBALANCE), NULL, true, begin_rebalance},
        {"update", IS(ROLLOUT), of_update, UPDATE, begin_rollout},
        {"update --abort", IS(ROLLOUT), of_update_abort, ABORT, begin_rollout},
        {"restart --rolling", IS(ROLLOUT), of_rolling_restart, RESTART, begin_rollout},
        {"undo", IS(UNDO), of_undo, .finish = finish_undo},
        {"job cancel", IS(JOB_CANCEL), of_job_cancel},
        {"job release", IS(JOB_RELEASE), of_job_release},
        {"history forget", IS(FORGET), of_forget},
        {"history limit", IS(QUEUE_CHANGE), of_history_limit},
        {"files limit", IS(QUEUE_CHANGE), of_files_limit, .finish = finish_files_limit},
        {"role set", IS(ROLE_CHANGE), of_role, false, begin_role},
        {"role delete", IS(ROLE_CHANGE), of_role_removal, true, begin_role},
        {"pool set", IS(POOL_CHANGE), of_pool, false, begin_pool, finish_pool},
        {"pool delete", IS(POOL_CHANGE), of_pool_removal, true, begin_pool},
        {"access grant", IS(ACCESS_CHANGE), of_access, false, begin_access},
        {"access revoke", IS(ACCESS_CHANGE), of_access, true, begin_access},
        {"token create", IS(TOKEN_CREATE), of_token},
        {"token revoke", IS(TOKEN_REVOKE), of_token_revoke},
        {"queue rule add", IS(QUEUE_CHANGE), of_rule_add},
        {"queue rule delete", IS(QUEUE_CHANGE), of_rule_delete},
        {"queue close", IS(QUEUE_CHANGE), NULL, QUEUE_CLOSE, begin_queue},
        {"queue open", IS(QUEUE_CHANGE), NULL, QUEUE_OPEN, begin_queue},
        {"queue limit", IS(QUEUE_CHANGE), of_queue_limit},
        {"cluster promote", IS(CLUSTER_ROLE), of_host_role, true, begin_host_role},
        {"cluster demote", IS(CLUSTER_ROLE), of_host_role, false, begin_host_role},
        {"cluster remove", IS(CLUSTER_REMOVE), of_removal, false, begin_removal},
        {"cluster remove --force", IS(CLUSTER_REMOVE), of_removal, true, begin_removal},
        {"cluster voters", IS(CLUSTER_VOTERS), of_voters},
        {"cluster rotate-ca", IS(CLUSTER_ROTATE_CA), NULL, false, begin_rotation},
        {"cluster rotate-ca --finish", IS(CLUSTER_ROTATE_CA), NULL, true, begin_rotation},
        {"secret rotate-key", IS(SECRET_ROTATE_KEY), NULL, false, begin_key_rotation},
        {"secret rotate-key --abort", IS(SECRET_ROTATE_KEY), NULL, true, begin_key_rotation},
        {"cluster set-time", IS(CLUSTER_SET_TIME), of_set_time},
};

const HttpVerb *http_verb_at(size_t i) {
        return i < ELEMENTSOF(verbs) ? &verbs[i] : NULL;
}

const HttpVerb *http_verb_find(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

const char *http_verb_name(const HttpVerb *v) {
        return v->name;
}

const HttpMember *http_verb_members(const HttpVerb *v) {
        return v->members;
}

// The one that the request is to have; all are fields of one union.
static void *begin_message(Make *m, Argosy__Request__WhatCase what) {
        const ProtobufCFieldDescriptor *of =
                protobuf_c_message_descriptor_get_field(&argosy__request__descriptor, (unsigned) what);
        const ProtobufCMessageDescriptor *type = of->descriptor;
        void *message = http_reading_alloc(&m->reading, 1, type->sizeof_message);

        if (!message)
                return NULL;
        protobuf_c_message_init(type, message);
        m->request->what_case = what;
        *(void **) ((char *) m->request + of->offset) = message;
        return message;
}

int http_verb_make(const HttpVerb *v, const cJSON *body, const char *reason, Arena *arena,
                   Argosy__Request *ret, char **ret_why) {
        Make m = {.reading = {arena, ret_why}, .body = body, .reason = reason, .request = ret};
        void *message = begin_message(&m, v->what);
        int r;

        if (!message)
                return -ENOMEM;
        if (v->begin)
                v->begin(message, v->which);
        r = http_members_read(&m.reading, v->members, body, message);
        return r == 0 && v->finish ? v->finish(&m, message) : r;
}
