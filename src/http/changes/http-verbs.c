// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      verb -> its row -> the members that it needs are there and of their kind -> Request
//
// What is looked at here is the form alone. Whether there is such a node, role or job, and who may do that, is the leader's to say, as it
// is for argosyctl.

#include "http-verbs.h"

#include <errno.h>

#include "access-token.h"
#include "access.h"
#include "clock.h"
#include "cluster-setting.h"
#include "macro.h"
#include "str.h"
#include "unit-file.h"
#include "unit-options.h"

enum {
        MEMBERS_MAX = 7,
        DEADLINE_SEC_MAX = 30 * 86400,
        HEALTH_DEFAULT_US = 2000000, // as argosyctl has it
        HEALTH_SEC_MAX = 3600,
        MOVES_MAX = 1000,
        RULE_MAX = UINT32_MAX / 2,
        WEIGHT_MAX = 10000,
};

#define NUMBER_MAX 9007199254740992.0 // 2^53, beyond which not each number is one in JSON

typedef struct Make {
        const cJSON *body;
        const char *reason;
        Arena *arena;
        Argosy__Request *request;
        char **ret_why;
} Make;

struct HttpVerb {
        const char *name;
        const char *members[MEMBERS_MAX];
        int (*make)(Make *m, int which); // `which` is of its family
        int which;
};

// ---- members

static const cJSON *member(const Make *m, const char *name) {
        return cJSON_GetObjectItemCaseSensitive(m->body, name);
}

static void *room_for(Make *m, size_t n, size_t size) {
        void *room = arena_alloc(m->arena, MAX_OF(n, (size_t) 1) * size);

        if (room)
                memset(room, 0, n * size);
        return room;
}

// The field of the Request, initialised.
#define MESSAGE(m, type, upper, field)                                                          \
        ({                                                                                      \
                Argosy__Request__##type *_message = room_for(m, 1, sizeof(*_message));          \
                                                                                                \
                if (_message) {                                                                 \
                        *_message = (Argosy__Request__##type) ARGOSY__REQUEST__##upper##__INIT; \
                        (m)->request->what_case = ARGOSY__REQUEST__WHAT_##upper;                \
                        (m)->request->field = _message;                                         \
                }                                                                               \
                _message;                                                                       \
        })

static bool is_text(const cJSON *value) {
        return cJSON_IsString(value) && *value->valuestring;
}

// Optional ones leave *ret as it is.
static int take_text(Make *m, const char *name, bool needed, char **ret) {
        const cJSON *value = member(m, name);

        if (!value && !needed)
                return 0;
        if (!is_text(value))
                return str_refuse(m->ret_why, "'%s' is a text", name);
        *ret = value->valuestring;
        return 0;
}

static int take_bool(Make *m, const char *name, protobuf_c_boolean *ret) {
        const cJSON *value = member(m, name);

        if (value && !cJSON_IsBool(value))
                return str_refuse(m->ret_why, "'%s' is true or false", name);
        if (value)
                *ret = cJSON_IsTrue(value);
        return 0;
}

static bool is_number(const cJSON *value, double max) {
        double n = cJSON_IsNumber(value) ? value->valuedouble : 0;

        return n >= 1 && n <= max && n == (double) (uint64_t) n;
}

static int take_number(Make *m, const char *name, bool needed, double max, uint64_t *ret) {
        const cJSON *value = member(m, name);

        if (!value && !needed)
                return 0;
        if (!is_number(value, max))
                return str_refuse(m->ret_why, "'%s' is a whole number from 1 to %.0f", name, max);
        *ret = (uint64_t) value->valuedouble;
        return 0;
}

static int take_u32(Make *m, const char *name, bool needed, uint32_t max, uint32_t *ret) {
        uint64_t n = *ret;
        int r = take_number(m, name, needed, max, &n);

        *ret = (uint32_t) n;
        return r;
}

static int take_numbers(Make *m, const char *name, uint64_t **ret, size_t *ret_n) {
        const cJSON *list = member(m, name);
        uint64_t *numbers = room_for(m, (size_t) cJSON_GetArraySize(list), sizeof(*numbers));

        if (!numbers)
                return -ENOMEM;
        if (!cJSON_IsArray(list) || !list->child)
                return str_refuse(m->ret_why, "'%s' is an array of numbers", name);
        for (const cJSON *n = list->child; n; n = n->next) {
                if (!is_number(n, NUMBER_MAX))
                        return str_refuse(m->ret_why, "'%s' is an array of numbers", name);
                numbers[(*ret_n)++] = (uint64_t) n->valuedouble;
        }
        *ret = numbers;
        return 0;
}

static int take_texts(Make *m, const char *name, bool needed, char ***ret, size_t *ret_n) {
        const cJSON *list = member(m, name);
        char **texts = room_for(m, (size_t) cJSON_GetArraySize(list), sizeof(*texts));

        if (!texts)
                return -ENOMEM;
        if (!list && !needed)
                return 0;
        if (!cJSON_IsArray(list) || (needed && !list->child))
                return str_refuse(m->ret_why, "'%s' is an array of texts", name);
        for (const cJSON *n = list->child; n; n = n->next) {
                if (!is_text(n))
                        return str_refuse(m->ret_why, "'%s' is an array of texts", name);
                texts[(*ret_n)++] = n->valuestring;
        }
        *ret = texts;
        return 0;
}

static int take_span(Make *m, const char *name, uint64_t max_sec, uint64_t *ret_us) {
        const cJSON *value = member(m, name);

        if (!value)
                return 0;
        if (!is_text(value) || !parse_span_us(value->valuestring, ret_us) ||
            *ret_us / USEC_PER_SEC > max_sec)
                return str_refuse(m->ret_why, "'%s' is a time span, as \"30s\" or \"5min\"", name);
        return 0;
}

// {"zone": "a"}
static int take_labels(Make *m, const char *name, Argosy__Label ***ret, size_t *ret_n) {
        const cJSON *object = member(m, name);
        size_t n = (size_t) cJSON_GetArraySize(object);
        Argosy__Label **list = room_for(m, n, sizeof(*list)), *labels = room_for(m, n, sizeof(*labels));

        if (!list || !labels)
                return -ENOMEM;
        if (object && !cJSON_IsObject(object))
                return str_refuse(m->ret_why, "'%s' is an object of names and texts", name);
        for (const cJSON *l = object ? object->child : NULL; l; l = l->next) {
                if (!cJSON_IsString(l))
                        return str_refuse(m->ret_why, "'%s' is an object of names and texts", name);
                labels[*ret_n] = (Argosy__Label) ARGOSY__LABEL__INIT;
                labels[*ret_n].key = l->string;
                labels[*ret_n].value = l->valuestring;
                list[*ret_n] = &labels[*ret_n];
                ++*ret_n;
        }
        *ret = list;
        return 0;
}

// ---- nodes

// As argosyctl: one node is asked for by what every version knows.
static int make_mode(Make *m, int mode) {
        Argosy__Request__NodesChange *nodes = MESSAGE(m, NodesChange, NODES_CHANGE, nodes_change);
        Argosy__Request__NodeChange *one;
        uint64_t deadline_us = 0;
        int r = nodes ? take_texts(m, "nodes", true, &nodes->nodes, &nodes->n_nodes) : -ENOMEM;

        if (r == 0)
                r = take_span(m, "deadline", DEADLINE_SEC_MAX, &deadline_us);
        if (r < 0)
                return r;
        nodes->mode = (Argosy__NodeMode) mode;
        nodes->deadline_sec = (uint32_t) (deadline_us / USEC_PER_SEC);
        nodes->reason = (char *) m->reason;
        if (nodes->n_nodes > 1)
                return 0;
        one = MESSAGE(m, NodeChange, NODE_CHANGE, node_change);
        if (!one)
                return -ENOMEM;
        one->node = nodes->nodes[0];
        one->mode = nodes->mode;
        one->deadline_sec = nodes->deadline_sec;
        one->reason = nodes->reason;
        return 0;
}

static int make_label(Make *m, int which) {
        Argosy__Request__LabelChange *label = MESSAGE(m, LabelChange, LABEL_CHANGE, label_change);
        int r = label ? take_text(m, "node", true, &label->node) : -ENOMEM;

        if (r == 0)
                r = take_labels(m, "set", &label->set, &label->n_set);
        if (r == 0)
                r = take_texts(m, "unset", false, &label->unset, &label->n_unset);
        return r == 0 && label->n_set + label->n_unset == 0 ? str_refuse(m->ret_why, "label needs 'set', or 'unset'") : r;
}

// It is answered when it is begun: what becomes of it is its job's to say.
static int make_rebalance(Make *m, int which) {
        Argosy__Request__Rebalance *rebalance = MESSAGE(m, Rebalance, REBALANCE, rebalance);
        int r = rebalance ? take_texts(m, "patterns", false, &rebalance->patterns, &rebalance->n_patterns)
                          : -ENOMEM;

        if (r < 0)
                return r;
        rebalance->no_wait = true;
        rebalance->health_us = HEALTH_DEFAULT_US;
        r = take_bool(m, "plan", &rebalance->dry_run);
        if (r == 0)
                r = take_u32(m, "max-moves", false, MOVES_MAX, &rebalance->max_moves);
        return r == 0 ? take_span(m, "health", HEALTH_SEC_MAX, &rebalance->health_us) : r;
}

static int make_rebalance_abort(Make *m, int which) {
        Argosy__Request__Rebalance *rebalance = MESSAGE(m, Rebalance, REBALANCE, rebalance);

        if (!rebalance)
                return -ENOMEM;
        rebalance->abort = true;
        return 0;
}

// ---- roles, pools, rights

// "cpu" and "memory" as options of units have them, and any counted resource; null takes it back.
static int read_amount(Make *m, const cJSON *value, Argosy__Amount *a) {
        const char *text = is_text(value) ? value->valuestring : NULL;
        uint32_t n = 0;
        bool valid;

        *a = (Argosy__Amount) ARGOSY__AMOUNT__INIT;
        a->resource = value->string;
        a->unset = cJSON_IsNull(value);
        if (a->unset)
                valid = label_is_valid(value->string);
        else if (streq(value->string, "cpu"))
                valid = text && cpu_parse(text, &n);
        else if (streq(value->string, "memory"))
                valid = text && memory_parse(text, &n);
        else {
                valid = label_is_valid(value->string) && is_number(value, INT32_MAX);
                n = valid ? (uint32_t) value->valuedouble : 0;
        }
        a->amount = n;
        return valid ? 0
                     : str_refuse(m->ret_why,
                                  "'%.64s' is no amount: {\"cpu\": \"1.5\", \"memory\": \"2G\", \"NAME\": 3}, "
                                  "or null for none",
                                  value->string);
}

static int take_amounts(Make *m, const char *name, Argosy__Amount ***ret, size_t *ret_n) {
        const cJSON *object = member(m, name);
        size_t n = (size_t) cJSON_GetArraySize(object);
        Argosy__Amount **list = room_for(m, n, sizeof(*list)), *amounts = room_for(m, n, sizeof(*amounts));
        int r = 0;

        if (!list || !amounts)
                return -ENOMEM;
        if (object && !cJSON_IsObject(object))
                return str_refuse(m->ret_why, "'%s' is an object of resources and amounts", name);
        for (const cJSON *a = object ? object->child : NULL; a && r == 0; a = a->next) {
                r = read_amount(m, a, &amounts[*ret_n]);
                list[*ret_n] = &amounts[*ret_n];
                ++*ret_n;
        }
        *ret = list;
        return r;
}

static int make_role(Make *m, int remove) {
        Argosy__Request__RoleChange *role = MESSAGE(m, RoleChange, ROLE_CHANGE, role_change);
        int r = role ? take_text(m, "role", true, &role->name) : -ENOMEM;

        if (r < 0)
                return r;
        role->remove = remove;
        r = take_u32(m, "weight", false, WEIGHT_MAX, &role->weight);
        if (r == 0)
                r = take_amounts(m, "guarantee", &role->guarantee, &role->n_guarantee);
        return r == 0 ? take_amounts(m, "limit", &role->limit, &role->n_limit) : r;
}

static int make_pool(Make *m, int remove) {
        Argosy__Request__PoolChange *pool = MESSAGE(m, PoolChange, POOL_CHANGE, pool_change);
        int r = pool ? take_text(m, "pool", true, &pool->name) : -ENOMEM;

        if (r < 0)
                return r;
        pool->remove = remove;
        r = take_texts(m, "nodes", false, &pool->hosts, &pool->n_hosts);
        if (r == 0)
                r = take_labels(m, "labels", &pool->labels, &pool->n_labels);
        return r == 0 && !remove && pool->n_hosts + pool->n_labels == 0
                       ? str_refuse(m->ret_why, "pool set needs 'nodes', or 'labels'")
                       : r;
}

// {"right": "operate", "who": "user:ann@n1", "role": "web"}
static int make_access(Make *m, int revoke) {
        Argosy__Request__AccessChange *access = MESSAGE(m, AccessChange, ACCESS_CHANGE, access_change);
        char *right = NULL, *who = NULL, *copy;
        AccessSubject subject;
        int r = access ? take_text(m, "right", true, &right) : -ENOMEM;

        if (r == 0)
                r = take_text(m, "who", true, &who);
        if (r == 0)
                r = take_text(m, "role", false, &access->role);
        if (r < 0)
                return r;
        if (!right_from_string(right, &access->right))
                return str_refuse(m->ret_why, "'right' is one of view, operate, deploy and admin");
        copy = room_for(m, strlen(who) + 1, 1);
        if (!copy)
                return -ENOMEM;
        memcpy(copy, who, strlen(who));
        if (!access_subject_parse(copy, &subject))
                return str_refuse(m->ret_why, "'who' is one of user:NAME, user:NAME@HOST and group:NAME");
        access->revoke = revoke;
        access->user = (char *) subject.user;
        access->group = (char *) subject.group;
        access->host = (char *) subject.host;
        return 0;
}

// ---- tokens

// Of a secret that stays where it was made.
static int take_hash(Make *m, ProtobufCBinaryData *ret) {
        char *hex = NULL;
        int r = take_text(m, "hash", true, &hex);

        if (r < 0)
                return r;
        *ret = (ProtobufCBinaryData){HASH_SIZE, room_for(m, 1, HASH_SIZE)};
        if (!ret->data)
                return -ENOMEM;
        return hex_decode(hex, ret->data, HASH_SIZE)
                       ? 0
                       : str_refuse(m->ret_why, "'hash' is 64 hexadecimal digits: SHA-256 of the SHA-256 of the token's text");
}

// {"name": "ci", "right": "operate", "role": "web", "ttl": "30d", "hash": "..."}
static int make_token(Make *m, int which) {
        Argosy__Request__TokenCreate *token = MESSAGE(m, TokenCreate, TOKEN_CREATE, token_create);
        uint64_t ttl_us = 0;
        char *right = NULL;
        int r = token ? take_text(m, "name", true, &token->name) : -ENOMEM;

        if (r == 0)
                r = take_text(m, "right", true, &right);
        if (r == 0)
                r = take_text(m, "role", false, &token->role);
        if (r == 0)
                r = take_span(m, "ttl", ACCESS_TOKEN_TTL_MAX_SEC, &ttl_us);
        if (r == 0)
                r = take_hash(m, &token->hash);
        if (r < 0)
                return r;
        token->ttl_sec = ttl_us / USEC_PER_SEC;
        return right_from_string(right, &token->right) ? 0 : str_refuse(m->ret_why, "'right' is one of view, operate, deploy and admin");
}

static int make_token_revoke(Make *m, int which) {
        Argosy__Request__TokenRevoke *revoke = MESSAGE(m, TokenRevoke, TOKEN_REVOKE, token_revoke);

        return revoke ? take_texts(m, "tokens", true, &revoke->tokens, &revoke->n_tokens) : -ENOMEM;
}

// ---- jobs and rollouts

static int make_job_cancel(Make *m, int which) {
        Argosy__Request__JobCancel *cancel = MESSAGE(m, JobCancel, JOB_CANCEL, job_cancel);

        return cancel ? take_numbers(m, "jobs", &cancel->numbers, &cancel->n_numbers) : -ENOMEM;
}

static int make_job_release(Make *m, int which) {
        Argosy__Request__JobRelease *release = MESSAGE(m, JobRelease, JOB_RELEASE, job_release);

        return release ? take_numbers(m, "jobs", &release->numbers, &release->n_numbers) : -ENOMEM;
}

// 3, or "25%".
static int take_share(Make *m, const char *name, uint32_t *ret, protobuf_c_boolean *ret_percent) {
        const cJSON *value = member(m, name);
        UnitShare share = {};

        if (!value)
                return 0;
        if (is_number(value, INT32_MAX))
                share.value = (uint32_t) value->valuedouble;
        else if (!is_text(value) || !unit_share_parse(value->valuestring, &share))
                return str_refuse(m->ret_why, "'%s' is a number from 1 on, or a text like \"25%%\"", name);
        *ret = share.value;
        *ret_percent = share.percent;
        return 0;
}

// As with argosyctl, a pace means that it is rolling.
static int take_pace(Make *m, Argosy__Request__Undo *undo) {
        int r = take_bool(m, "rolling", &undo->rolling);

        undo->rolling |= member(m, "max-unavailable") || member(m, "health");
        if (r < 0 || !undo->rolling)
                return r;
        undo->health_us = HEALTH_DEFAULT_US;
        r = take_share(m, "max-unavailable", &undo->max_unavailable, &undo->percent);
        return r == 0 ? take_span(m, "health", HEALTH_SEC_MAX, &undo->health_us) : r;
}

static int make_undo(Make *m, int which) {
        Argosy__Request__Undo *undo = MESSAGE(m, Undo, UNDO, undo);
        int r = undo ? take_number(m, "job", true, NUMBER_MAX, &undo->job) : -ENOMEM;

        if (r == 0)
                r = take_bool(m, "plan", &undo->dry_run);
        if (r == 0)
                r = take_bool(m, "only-untouched", &undo->only_untouched);
        if (r == 0)
                r = take_bool(m, "force", &undo->force);
        if (r == 0)
                r = take_pace(m, undo);
        return r == 0 && undo->only_untouched && undo->force
                       ? str_refuse(m->ret_why, "'only-untouched' and 'force' exclude each other")
                       : r;
}

enum { UPDATE, RESTART, ABORT };

static int make_rollout(Make *m, int which) {
        Argosy__Request__Rollout *rollout = MESSAGE(m, Rollout, ROLLOUT, rollout);
        int r = rollout ? take_text(m, "unit", true, &rollout->name) : -ENOMEM;

        if (r < 0)
                return r;
        rollout->kind = which == RESTART ? ARGOSY__ROLLOUT_KIND__ROLLOUT_RESTART
                                         : ARGOSY__ROLLOUT_KIND__ROLLOUT_UPDATE;
        rollout->abort = which == ABORT;
        rollout->health_us = HEALTH_DEFAULT_US;
        r = take_share(m, "max-unavailable", &rollout->max_unavailable, &rollout->percent);
        return r == 0 ? take_span(m, "health", HEALTH_SEC_MAX, &rollout->health_us) : r;
}

static int make_forget(Make *m, int which) {
        Argosy__Request__Forget *forget = MESSAGE(m, Forget, FORGET, forget);

        return forget ? take_texts(m, "revs", true, &forget->revs, &forget->n_revs) : -ENOMEM;
}

// ---- the queue

enum { QUEUE_CLOSE, QUEUE_OPEN, QUEUE_LIMIT, RULE_DELETE };

static int make_queue(Make *m, int which) {
        Argosy__Request__QueueChange *queue = MESSAGE(m, QueueChange, QUEUE_CHANGE, queue_change);

        if (!queue)
                return -ENOMEM;
        queue->close = which == QUEUE_CLOSE;
        queue->open = which == QUEUE_OPEN;
        if (which == QUEUE_LIMIT)
                return take_u32(m, "number", true, RULE_MAX, &queue->open_max);
        return which == RULE_DELETE ? take_u32(m, "rule", true, RULE_MAX, &queue->remove) : 0;
}

// {"size": "64M"}
static int make_history_limit(Make *m, int which) {
        Argosy__Request__QueueChange *queue = MESSAGE(m, QueueChange, QUEUE_CHANGE, queue_change);
        char *size = NULL;
        int r = queue ? take_text(m, "size", true, &size) : -ENOMEM;

        if (r == 0 && !history_size_parse(size, &queue->history_mib))
                return str_refuse(m->ret_why, "'size' is a size in M or G, as \"64M\"");
        return r;
}

// {"file-max": "256K", "unit-max": "512K", "all-max": "32M"}
static int make_files_limit(Make *m, int which) {
        static const char *const members[][2] = {{"file-max", "file"}, {"unit-max", "unit"}, {"all-max", "all"}};
        Argosy__Request__QueueChange *queue = MESSAGE(m, QueueChange, QUEUE_CHANGE, queue_change);
        bool any = false;
        int r = queue ? 0 : -ENOMEM;

        for (size_t i = 0; r == 0 && i < ELEMENTSOF(members); i++) {
                char *size = NULL;

                r = take_text(m, members[i][0], false, &size);
                if (r == 0 && size && !files_limit_parse(members[i][1], size, queue))
                        return str_refuse(m->ret_why, "'%s' is a size, as \"%s\"", members[i][0], i < 2 ? "256K" : "64M");
                any |= size != NULL;
        }
        return r == 0 && !any ? str_refuse(m->ret_why, "one of 'file-max', 'unit-max' and 'all-max' says how much that may have") : r;
}

// {"action": "limit", "limit": 3, "verb": "start", "unit": "web@*.service", ...}
static int read_rule(Make *m, Argosy__QueueRule *rule) {
        static const char *const actions[] = {"accept", "hold", "refuse", "limit"};
        char *action = NULL;
        size_t i = 0;
        int r = take_text(m, "action", true, &action);

        while (r == 0 && i < ELEMENTSOF(actions) && !streq(actions[i], action))
                i++;
        if (r == 0 && i == ELEMENTSOF(actions))
                return str_refuse(m->ret_why, "'action' is one of accept, hold, refuse and limit");
        rule->action = (Argosy__QueueAction) i;
        if (r == 0)
                r = take_text(m, "text", rule->action == ARGOSY__QUEUE_ACTION__QUEUE_REFUSE, &rule->text);
        if (r == 0)
                r = take_u32(m, "limit", rule->action == ARGOSY__QUEUE_ACTION__QUEUE_LIMIT, RULE_MAX,
                             &rule->limit);
        if (r == 0)
                r = take_text(m, "author", false, &rule->author);
        if (r == 0)
                r = take_text(m, "verb", false, &rule->verb);
        if (r == 0)
                r = take_text(m, "unit", false, &rule->unit);
        if (r == 0)
                r = take_text(m, "role", false, &rule->role);
        return r == 0 ? take_text(m, "reason", false, &rule->reason) : r;
}

static int check_rule_members(Make *m, const cJSON *rule) {
        static const char *const known[] = {"action", "text", "limit", "author",
                                            "verb",   "unit", "role",  "reason"};

        if (!cJSON_IsObject(rule))
                return str_refuse(m->ret_why, "'rule' is an object");
        for (const cJSON *value = rule->child; value; value = value->next) {
                bool is_known = false;

                for (size_t i = 0; i < ELEMENTSOF(known); i++)
                        is_known |= streq(known[i], value->string);
                if (!is_known)
                        return str_refuse(m->ret_why, "a rule has no member '%.64s'", value->string);
        }
        return 0;
}

static int make_rule(Make *m, int which) {
        Argosy__Request__QueueChange *queue = MESSAGE(m, QueueChange, QUEUE_CHANGE, queue_change);
        Argosy__QueueRule *rule = room_for(m, 1, sizeof(*rule));
        Make inner = *m;
        int r = queue && rule ? take_u32(m, "before", false, RULE_MAX, &queue->before) : -ENOMEM;

        inner.body = member(m, "rule");
        if (r == 0)
                r = check_rule_members(m, inner.body);
        if (r < 0)
                return r;
        *rule = (Argosy__QueueRule) ARGOSY__QUEUE_RULE__INIT;
        queue->add = rule;
        return read_rule(&inner, rule);
}

// ---- the cluster

static int make_host_role(Make *m, int promote) {
        Argosy__Request__ClusterRole *role = MESSAGE(m, ClusterRole, CLUSTER_ROLE, cluster_role);

        if (!role)
                return -ENOMEM;
        role->promote = promote;
        return take_text(m, "node", true, &role->host);
}

static int make_removal(Make *m, int force) {
        Argosy__Request__ClusterRemove *removal = MESSAGE(m, ClusterRemove, CLUSTER_REMOVE, cluster_remove);

        if (!removal)
                return -ENOMEM;
        removal->force = force;
        return take_text(m, "node", true, &removal->host);
}

static int make_voters(Make *m, int which) {
        Argosy__Request__ClusterVoters *voters = MESSAGE(m, ClusterVoters, CLUSTER_VOTERS, cluster_voters);

        return voters ? take_u32(m, "number", true, UINT32_MAX, &voters->wanted) : -ENOMEM;
}

static int make_set_time(Make *m, int which) {
        Argosy__Request__ClusterSetTime *set = MESSAGE(m, ClusterSetTime, CLUSTER_SET_TIME, cluster_set_time);

        return set ? take_number(m, "time", false, NUMBER_MAX, &set->to_us) : -ENOMEM;
}

static int make_rotation(Make *m, int finish) {
        Argosy__Request__ClusterRotateCa *rotate = MESSAGE(m, ClusterRotateCa, CLUSTER_ROTATE_CA, cluster_rotate_ca);

        if (!rotate)
                return -ENOMEM;
        rotate->finish = finish;
        return 0;
}

static int make_key_rotation(Make *m, int abort) {
        Argosy__Request__SecretRotateKey *rotate = MESSAGE(m, SecretRotateKey, SECRET_ROTATE_KEY, secret_rotate_key);

        if (!rotate)
                return -ENOMEM;
        rotate->abort = abort;
        return 0;
}

// ---- the table

static const HttpVerb verbs[] = {
        {"cordon", {"nodes"}, make_mode, ARGOSY__NODE_MODE__MODE_CORDONED},
        {"uncordon", {"nodes"}, make_mode, ARGOSY__NODE_MODE__MODE_OPEN},
        {"drain", {"nodes", "deadline"}, make_mode, ARGOSY__NODE_MODE__MODE_DRAINING},
        {"maintenance", {"nodes", "deadline"}, make_mode, ARGOSY__NODE_MODE__MODE_MAINTENANCE},
        {"label", {"node", "set", "unset"}, make_label, 0},
        {"rebalance", {"patterns", "plan", "max-moves", "health"}, make_rebalance, 0},
        {"rebalance --abort", {NULL}, make_rebalance_abort, 0},
        {"update", {"unit", "files", "max-unavailable", "health"}, make_rollout, UPDATE},
        {"update --abort", {"unit"}, make_rollout, ABORT},
        {"restart --rolling", {"unit", "max-unavailable", "health"}, make_rollout, RESTART},
        {"undo",
         {"job", "plan", "only-untouched", "force", "rolling", "max-unavailable", "health"},
         make_undo,
         0},
        {"job cancel", {"jobs"}, make_job_cancel, 0},
        {"job release", {"jobs"}, make_job_release, 0},
        {"history forget", {"revs"}, make_forget, 0},
        {"history limit", {"size"}, make_history_limit, 0},
        {"files limit", {"file-max", "unit-max", "all-max"}, make_files_limit, 0},
        {"role set", {"role", "weight", "guarantee", "limit"}, make_role, false},
        {"role delete", {"role"}, make_role, true},
        {"pool set", {"pool", "nodes", "labels"}, make_pool, false},
        {"pool delete", {"pool"}, make_pool, true},
        {"access grant", {"right", "who", "role"}, make_access, false},
        {"access revoke", {"right", "who", "role"}, make_access, true},
        {"token create", {"name", "right", "role", "ttl", "hash"}, make_token, 0},
        {"token revoke", {"tokens"}, make_token_revoke, 0},
        {"queue rule add", {"rule", "before"}, make_rule, 0},
        {"queue rule delete", {"rule"}, make_queue, RULE_DELETE},
        {"queue close", {NULL}, make_queue, QUEUE_CLOSE},
        {"queue open", {NULL}, make_queue, QUEUE_OPEN},
        {"queue limit", {"number"}, make_queue, QUEUE_LIMIT},
        {"cluster promote", {"node"}, make_host_role, true},
        {"cluster demote", {"node"}, make_host_role, false},
        {"cluster remove", {"node"}, make_removal, false},
        {"cluster remove --force", {"node"}, make_removal, true},
        {"cluster voters", {"number"}, make_voters, 0},
        {"cluster rotate-ca", {NULL}, make_rotation, false},
        {"cluster rotate-ca --finish", {NULL}, make_rotation, true},
        {"secret rotate-key", {NULL}, make_key_rotation, false},
        {"secret rotate-key --abort", {NULL}, make_key_rotation, true},
        {"cluster set-time", {"time"}, make_set_time, 0},
};

const HttpVerb *http_verb_find(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

bool http_verb_takes(const HttpVerb *v, const char *name) {
        for (size_t i = 0; i < MEMBERS_MAX && v->members[i]; i++)
                if (streq(v->members[i], name))
                        return true;
        return false;
}

const char *http_verb_name(size_t i) {
        return i < ELEMENTSOF(verbs) ? verbs[i].name : NULL;
}

const char *http_verb_member(size_t i, size_t k) {
        return k < MEMBERS_MAX ? verbs[i].members[k] : NULL;
}

int http_verb_make(const HttpVerb *v, const cJSON *body, const char *reason, Arena *arena,
                   Argosy__Request *ret, char **ret_why) {
        Make m = {.body = body, .reason = reason, .arena = arena, .request = ret, .ret_why = ret_why};

        return v->make(&m, v->which);
}
