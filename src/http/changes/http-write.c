// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      http_write_parse() -> the headers -> the body's members, each looked for in the table -> the verb's function -> Request
//
// What is borrowed from the JSON until the message is copied is kept in one Write. Whether units are there, and who may do what, is
// the leader's to say; here it is only that names are names.

#include "http-write.h"

#include <errno.h>

#include "arena.h"
#include "array.h"
#include "http-carried.h"
#include "http-drop-ins.h"
#include "http-json.h"
#include "http-verbs.h"
#include "macro.h"
#include "map.h"
#include "message.h"
#include "quadlet.h"
#include "random.h"
#include "request-key.h"
#include "request-kind.h"
#include "secret-name.h"
#include "str.h"
#include "unit-name-hint.h"

enum { TARGETS_MAX = 16 }; // that a job is kept with: as argosyctl has it

typedef struct Write Write;

typedef struct WriteVerb {
        const char *name;
        int (*make)(Write *w, const struct WriteVerb *verb);
        Argosy__Verb verb;
        unsigned takes;
} WriteVerb;

struct Write {
        const cJSON *body; // NULL: it has none
        char **ret_why;
        uint8_t id[REQUEST_KEY_ID_SIZE];
        Argosy__Request request;
        Argosy__Request__Job job;
        Argosy__Request__Change change;
        Argosy__Request__Verify verify;
        Argosy__Request__SecretSet secret_set;
        Argosy__Request__SecretDelete secret_delete;
        char **names; // borrowed ones
        size_t n_names;
        Map named; // these
        Argosy__NamedFile *files, **file_pointers;
        size_t n_files;
        HttpDropIns drop_ins;
        HttpCarried carried;
        uint64_t after[HTTP_AFTER_MAX];
        Arena arena; // of what http-verbs.c makes
};

// ---- members

enum {
        OF_ALL = 0,
        OF_UNITS = 1 << 0,
        OF_FILES = 1 << 1,
        OF_PLAN = 1 << 2,
        OF_JOB = 1 << 3,
};

static int refuse_name(Write *w, const char *name, const char *why) {
        _cleanup_free_ char *escaped = NULL;
        UnitNameMistake m;

        if (unit_name_mistake(name, &m))
                return str_refuse(w->ret_why, "'%.128s' is %s, not a unit file; %s", name, m.is, m.advice);
        if (unit_name_escape(name, &escaped) < 0)
                return -ENOMEM;
        return escaped ? str_refuse(w->ret_why,
                                    "'%.128s' is no name of a unit: what stands behind the '@' is escaped, as by "
                                    "systemd-escape; say '%s'",
                                    name, escaped)
                       : str_refuse(w->ret_why, "'%.128s' is no name of a unit: %s", name, why);
}

// One that is given twice counts once.
static int add_name(Write *w, char *name) {
        const char *why;
        int r;

        quadlet_unit_in_place(name);
        if (unit_name_kind(name, &why) == UNIT_NAME_INVALID)
                return refuse_name(w, name, why);
        r = map_add_str(&w->named, name, name);
        if (r < 0)
                return r == -EEXIST ? 0 : r;
        if (w->n_names == CHANGE_UNITS_MAX)
                return str_refuse(w->ret_why, "a request names at most %i units", (int) CHANGE_UNITS_MAX);
        if (ARRAY_RESERVE(w->names, w->n_names + 1) < 0)
                return -ENOMEM;
        w->names[w->n_names++] = name;
        return 0;
}

static int read_units(Write *w, const cJSON *value) {
        int r = 0;

        if (!cJSON_IsArray(value))
                return str_refuse(w->ret_why, "'units' is an array of names");
        for (const cJSON *m = value->child; m && r == 0; m = m->next)
                r = cJSON_IsString(m) ? add_name(w, m->valuestring)
                                      : str_refuse(w->ret_why, "'units' is an array of names");
        return r;
}

// The path is what messages about a line of it begin with.
static int add_file(Write *w, char *name, char *content, size_t len) {
        const char *why;

        if (quadlet_is_container(name) && !quadlet_is(content, len))
                return str_refuse(w->ret_why, "%.300s has no section [Container]", name);
        quadlet_unit_in_place(name);
        if (unit_name_kind(name, &why) == UNIT_NAME_INVALID)
                return refuse_name(w, name, why);
        if (w->n_files == HTTP_FILES_MAX)
                return str_refuse(w->ret_why, "a request brings at most %i files", (int) HTTP_FILES_MAX);
        if (ARRAY_RESERVE(w->files, w->n_files + 1) < 0)
                return -ENOMEM;
        w->files[w->n_files] = (Argosy__NamedFile) ARGOSY__NAMED_FILE__INIT;
        w->files[w->n_files].name = w->files[w->n_files].path = name;
        w->files[w->n_files].content = (ProtobufCBinaryData){len, (uint8_t *) content};
        w->n_files++;
        return 0;
}

static int add_file_or_drop_in(Write *w, char *name, char *content) {
        return http_drop_ins_is_one(name) ? http_drop_ins_add(&w->drop_ins, name, content, w->ret_why)
                                          : add_file(w, name, content, strlen(content));
}

// Then it was meant to be a unit's, or File= is misspelt.
static int refuse_unused(Write *w) {
        const char *name = http_carried_unused(&w->carried), *why = "";

        if (!name)
                return 0;
        (void) unit_name_kind(name, &why);
        return refuse_name(w, name, why);
}

static int read_files(Write *w, const cJSON *value) {
        int r = 0;

        if (!cJSON_IsObject(value))
                return str_refuse(w->ret_why, "'files' is an object: names and contents");
        for (const cJSON *m = value->child; m && r == 0; m = m->next)
                if (http_carried_is_one(m->string))
                        r = http_carried_add(&w->carried, m, w->ret_why);
                else
                        r = cJSON_IsString(m) ? add_file_or_drop_in(w, m->string, m->valuestring)
                                              : str_refuse(w->ret_why, "'files' is an object: names and contents");
        if (r == 0)
                r = http_drop_ins_take(&w->drop_ins, &w->arena, &w->files, &w->n_files, w->ret_why);
        if (r == 0)
                r = http_carried_take(&w->carried, w->files, w->n_files, w->ret_why);
        return r < 0 ? r : refuse_unused(w);
}

static int read_bool(Write *w, const cJSON *value, protobuf_c_boolean *ret) {
        if (!cJSON_IsBool(value))
                return str_refuse(w->ret_why, "'%s' is true or false", value->string);
        *ret = cJSON_IsTrue(value);
        return 0;
}

static int read_replace(Write *w, const cJSON *value) {
        return read_bool(w, value, &w->change.replace);
}

static int read_plan(Write *w, const cJSON *value) {
        return read_bool(w, value, &w->change.dry_run);
}

static int read_hold(Write *w, const cJSON *value) {
        return read_bool(w, value, &w->job.hold);
}

static int read_queue(Write *w, const cJSON *value) {
        return read_bool(w, value, &w->job.queue);
}

static int read_reason(Write *w, const cJSON *value) {
        if (!cJSON_IsString(value) || !str_is_plain(value->valuestring))
                return str_refuse(w->ret_why, "'reason' is a text without control characters");
        w->job.reason = value->valuestring;
        return 0;
}

static bool read_number(const cJSON *value, uint64_t *ret) {
        const double most = 9007199254740992; // 2^53, beyond which not each number is one in JSON
        double n = cJSON_IsNumber(value) ? value->valuedouble : 0;

        if (n < 1 || n > most || n != (double) (uint64_t) n)
                return false;
        *ret = (uint64_t) n;
        return true;
}

static int read_job(Write *w, const cJSON *value) {
        return read_number(value, &w->job.retries) ? 0 : str_refuse(w->ret_why, "'job' is the number of a job");
}

static int read_after(Write *w, const cJSON *value) {
        w->job.after = w->after;
        for (const cJSON *m = cJSON_IsArray(value) ? value->child : value; m; m = m->next)
                if (!cJSON_IsArray(value) || w->job.n_after == HTTP_AFTER_MAX ||
                    !read_number(m, &w->after[w->job.n_after++]))
                        return str_refuse(w->ret_why, "'after' is an array of numbers of at most %i jobs",
                                          (int) HTTP_AFTER_MAX);
        return 0;
}

static const struct {
        const char *name;
        unsigned of; // verbs that take it have that; 0: all
        int (*read)(Write *w, const cJSON *value);
} members[] = {
        {"units", OF_UNITS, read_units},     {"files", OF_FILES, read_files},
        {"replace", OF_FILES, read_replace}, {"plan", OF_PLAN, read_plan},
        {"reason", OF_ALL, read_reason},     {"hold", OF_ALL, read_hold},
        {"after", OF_ALL, read_after},       {"queue", OF_ALL, read_queue},
        {"job", OF_JOB, read_job},
};

static int refuse_member(Write *w, const char *verb, const char *member) {
        if (streq(member, "plan"))
                return str_refuse(w->ret_why, "of '%.64s' there is no plan", verb);
        return str_refuse(w->ret_why, "'%.64s' has no member '%.64s'", verb, member);
}

static int read_member(Write *w, const WriteVerb *verb, const cJSON *value) {
        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                if (streq(members[i].name, value->string) && (members[i].of & verb->takes) == members[i].of)
                        return members[i].read(w, value);
        if (streq(value->string, "verb"))
                return 0;
        return refuse_member(w, verb->name, value->string);
}

// ---- verbs

static int make_change(Write *w, const WriteVerb *verb) {
        w->change.verb = verb->verb;
        w->request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        w->request.change = &w->change;
        if (w->n_names == 0) // what is brought is what is meant
                for (size_t i = 0; i < w->n_files; i++) {
                        int r = add_name(w, w->files[i].name);

                        if (r < 0)
                                return r;
                }
        return w->n_names > 0 ? 0 : str_refuse(w->ret_why, "'%s' names no units", verb->name);
}

// Which units, and what is asked of them, is known when that job was looked at (work-retry.c).
static int make_retry(Write *w, const WriteVerb *verb) {
        w->request.what_case = ARGOSY__REQUEST__WHAT_CHANGE;
        w->request.change = &w->change;
        return w->job.retries > 0 ? 0 : str_refuse(w->ret_why, "'%s' names no job", verb->name);
}

static const WriteVerb verbs[] = {
        {"submit", make_change, ARGOSY__VERB__VERB_SUBMIT, OF_UNITS | OF_FILES},
        {"load", make_change, ARGOSY__VERB__VERB_LOAD, OF_UNITS | OF_FILES},
        {"start", make_change, ARGOSY__VERB__VERB_START, OF_UNITS | OF_FILES | OF_PLAN},
        {"stop", make_change, ARGOSY__VERB__VERB_STOP, OF_UNITS},
        {"restart", make_change, ARGOSY__VERB__VERB_RESTART, OF_UNITS},
        {"unload", make_change, ARGOSY__VERB__VERB_UNLOAD, OF_UNITS},
        {"destroy", make_change, ARGOSY__VERB__VERB_DESTROY, OF_UNITS},
        {"job retry", make_retry, 0, OF_JOB},
};

static const WriteVerb *find_verb(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

const char *http_write_verb(size_t i) {
        return i < ELEMENTSOF(verbs) ? verbs[i].name : http_verb_name(i - ELEMENTSOF(verbs));
}

const char *http_write_member(size_t i, size_t k) {
        bool is_of_units = i < ELEMENTSOF(verbs);
        unsigned takes = is_of_units ? verbs[i].takes : 0;

        for (size_t m = 0; m < ELEMENTSOF(members); m++)
                if ((members[m].of & takes) == members[m].of && k-- == 0)
                        return members[m].name;
        return is_of_units ? NULL : http_verb_member(i - ELEMENTSOF(verbs), k);
}

// ---- the whole

static int read_headers(Write *w, const HttpWriteHeaders *h) {
        char digits[24];
        size_t len;

        if (h->if_none_match)
                return str_refuse(w->ret_why, "If-None-Match means nothing here; If-Match does");
        if (h->key && !request_key_is_valid(h->key))
                return str_refuse(w->ret_why, "Idempotency-Key is a text of 1 to %i characters", (int) REQUEST_KEY_MAX);
        w->job.keyed = h->key != NULL;
        if (h->key)
                request_key_id(h->key, 0, w->id);
        else
                random_bytes(w->id, sizeof(w->id));
        if (!h->if_match)
                return 0;
        len = strlen(h->if_match);
        if (len < 3 || len - 2 >= sizeof(digits) || h->if_match[0] != '"' || h->if_match[len - 1] != '"')
                return str_refuse(w->ret_why, "If-Match is a revision in quotes");
        str_fit(digits, sizeof(digits), "%.*s", (int) (len - 2), h->if_match + 1);
        if (!parse_u64(digits, INT64_MAX, &w->job.if_revision) || w->job.if_revision == 0)
                return str_refuse(w->ret_why, "If-Match is a revision in quotes");
        return 0;
}

// What all take, or what is of this verb.
static int read_other_member(Write *w, const HttpVerb *verb, const char *name, const cJSON *value) {
        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                if (members[i].of == OF_ALL && streq(members[i].name, value->string))
                        return members[i].read(w, value);
        if (streq(value->string, "verb") || http_verb_takes(verb, value->string))
                return 0;
        return refuse_member(w, name, value->string);
}

// The one that the update brings, with what comes with it.
static int take_update_files(Write *w) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(w->body, "files");
        Argosy__Request__Rollout *rollout = w->request.rollout;
        int r;

        if (w->request.what_case != ARGOSY__REQUEST__WHAT_ROLLOUT || !value)
                return 0;
        r = read_files(w, value);
        if (r < 0)
                return r;
        if (w->n_files != 1 || !streq(w->files[0].name, rollout->name))
                return str_refuse(w->ret_why, "'files' has the file of '%.128s', what stands beside that, and no other unit", rollout->name);
        rollout->file = &w->files[0];
        return 0;
}

// What is about something else than units.
static int read_other(Write *w, const char *name) {
        const HttpVerb *verb = http_verb_find(name);
        int r = 0;

        if (!verb)
                return str_refuse(w->ret_why, "there is no verb '%.64s'", name);
        for (const cJSON *m = w->body->child; m && r == 0; m = m->next)
                r = read_other_member(w, verb, name, m);
        if (r == 0)
                r = http_verb_make(verb, w->body, w->job.reason, &w->arena, &w->request, w->ret_why);
        return r < 0 ? r : take_update_files(w);
}

static int read_body(Write *w) {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(w->body, "verb");
        const WriteVerb *verb = cJSON_IsString(name) ? find_verb(name->valuestring) : NULL;
        int r = 0;

        if (!cJSON_IsString(name))
                return str_refuse(w->ret_why, "the body has no 'verb'");
        if (!verb)
                return read_other(w, name->valuestring);
        for (const cJSON *m = w->body->child; m && r == 0; m = m->next)
                r = read_member(w, verb, m);
        return r < 0 ? r : verb->make(w, verb);
}

static int read_file(Write *w, const HttpTarget *t, const char *body, size_t len) {
        int r = len > 0 ? add_file(w, t->name, (char *) body, len) : str_refuse(w->ret_why, "the body is empty");

        w->change.replace = true;
        return r < 0 ? r : make_change(w, find_verb("submit"));
}

static int read_removal(Write *w, const HttpTarget *t) {
        int r = add_name(w, t->name);

        return r < 0 ? r : make_change(w, find_verb("destroy"));
}

// The body is borrowed and nowhere else: no error says anything of it.
static int read_secret(Write *w, const HttpTarget *t, const char *body, size_t len) {
        if (len == 0)
                return str_refuse(w->ret_why, "the body is empty: a secret has at least one byte");
        if (len > SECRET_VALUE_MAX) {
                int r = str_refuse(w->ret_why, "the body is too long: a secret has at most %i bytes", (int) SECRET_VALUE_MAX);

                return r == -ENOMEM ? r : -E2BIG;
        }
        w->secret_set = (Argosy__Request__SecretSet) ARGOSY__REQUEST__SECRET_SET__INIT;
        w->secret_set.name = t->name;
        w->secret_set.value = (ProtobufCBinaryData){len, (uint8_t *) body};
        w->request.what_case = ARGOSY__REQUEST__WHAT_SECRET_SET;
        w->request.secret_set = &w->secret_set;
        return 0;
}

static int read_secret_removal(Write *w, const HttpTarget *t) {
        w->secret_delete = (Argosy__Request__SecretDelete) ARGOSY__REQUEST__SECRET_DELETE__INIT;
        w->secret_delete.names = (char **) &t->name;
        w->secret_delete.n_names = 1;
        w->request.what_case = ARGOSY__REQUEST__WHAT_SECRET_DELETE;
        w->request.secret_delete = &w->secret_delete;
        return 0;
}

ProtobufCBinaryData *http_write_id(Argosy__Request *q) {
        switch (q->what_case) {
        case ARGOSY__REQUEST__WHAT_CHANGE:
                return &q->change->id;
        case ARGOSY__REQUEST__WHAT_ROLLOUT:
                return &q->rollout->id;
        case ARGOSY__REQUEST__WHAT_REBALANCE:
                return &q->rebalance->id;
        default:
                return &q->job->id;
        }
}

// Everything that was borrowed stands in `w`.
static Argosy__Request *request_of(Write *w) {
        ProtobufCBinaryData id = {sizeof(w->id), w->id};

        w->file_pointers = calloc(w->n_files + 1, sizeof(*w->file_pointers));
        if (!w->file_pointers)
                return NULL;
        for (size_t i = 0; i < w->n_files; i++)
                w->file_pointers[i] = &w->files[i];
        w->change.names = w->names;
        w->change.n_names = w->n_names;
        w->change.files = w->file_pointers;
        w->change.n_files = w->n_files;
        w->job.targets = w->names;
        w->job.n_targets = MIN_OF(w->n_names, (size_t) TARGETS_MAX);
        w->job.more_targets = (uint32_t) (w->n_names - w->job.n_targets);
        w->request.job = &w->job;
        *http_write_id(&w->request) = id;
        return message_copy(&w->request);
}

static bool has_json(const HttpTarget *t) {
        return http_resource(t->resource)->body_schema;
}

// No job: files, and perhaps the only node that is asked.
static int read_question(Write *w) {
        int r = 0;

        w->verify = (Argosy__Request__Verify) ARGOSY__REQUEST__VERIFY__INIT;
        for (const cJSON *m = w->body->child; m && r == 0; m = m->next) {
                if (streq(m->string, "files"))
                        r = read_files(w, m);
                else if (streq(m->string, "node") && cJSON_IsString(m))
                        w->verify.node = m->valuestring;
                else
                        r = str_refuse(w->ret_why, "the body has 'files' and, if need be, 'node', but no such '%.64s'", m->string);
        }
        return r < 0 || w->n_files > 0 ? r : str_refuse(w->ret_why, "the body has no 'files'");
}

static Argosy__Request *question_of(Write *w) {
        w->file_pointers = calloc(w->n_files + 1, sizeof(*w->file_pointers));
        if (!w->file_pointers)
                return NULL;
        for (size_t i = 0; i < w->n_files; i++) {
                w->file_pointers[i] = &w->files[i];
                w->files[i].n_files = 0; // systemd reads none of them
        }
        w->verify.files = w->file_pointers;
        w->verify.n_files = w->n_files;
        w->request.what_case = ARGOSY__REQUEST__WHAT_VERIFY;
        w->request.verify = &w->verify;
        return message_copy(&w->request);
}

// Who asks there for a plan gets nothing else, whatever the body says.
static int make_plan(Write *w, cJSON *body) {
        const cJSON *plan = cJSON_GetObjectItemCaseSensitive(body, "plan");

        if (plan && !cJSON_IsTrue(plan))
                return str_refuse(w->ret_why, "what is asked for here is a plan");
        if (!plan && !cJSON_AddTrueToObject(body, "plan"))
                return -ENOMEM;
        return 0;
}

static int parse(Write *w, const HttpTarget *t, const HttpWriteHeaders *h, const char *body, size_t len) {
        int r = read_headers(w, h);

        if (r < 0)
                return r;
        if (t->resource == HTTP_VERIFY)
                return read_question(w);
        if (has_json(t))
                return read_body(w);
        switch (t->resource) {
        case HTTP_PUT_SECRET:
                return read_secret(w, t, body, len);
        case HTTP_DELETE_SECRET:
                return read_secret_removal(w, t);
        case HTTP_PUT_UNIT_FILE:
                return read_file(w, t, body, len);
        default:
                return read_removal(w, t);
        }
}

int http_write_parse(const HttpTarget *t, const HttpWriteHeaders *headers, const char *body, size_t len,
                     Argosy__Request **ret, char **ret_why) {
        Write w = {.ret_why = ret_why,
                   .request = ARGOSY__REQUEST__INIT,
                   .job = ARGOSY__REQUEST__JOB__INIT,
                   .change = ARGOSY__REQUEST__CHANGE__INIT};
        cJSON *json = NULL;
        const char *why;
        int r = 0;

        *ret_why = NULL;
        if (has_json(t)) {
                r = http_json_parse(body, len, &json, &why);
                if (r < 0)
                        *ret_why = strdup(why);
                w.body = json;
        }
        if (r == 0 && t->resource == HTTP_PLAN)
                r = make_plan(&w, json);
        if (r == 0)
                r = parse(&w, t, headers, body, len);
        if (r == 0) {
                *ret = t->resource == HTTP_VERIFY ? question_of(&w) : request_of(&w);
                r = *ret ? 0 : -ENOMEM;
        }
        map_done(&w.named);
        free(w.names);
        free(w.files);
        free(w.file_pointers);
        http_drop_ins_done(&w.drop_ins);
        http_carried_done(&w.carried);
        arena_done(&w.arena);
        cJSON_Delete(json);
        return r;
}
