// SPDX-License-Identifier: LGPL-2.1-or-later
//
//      http_write_parse() -> the headers -> the body's members, each looked for in the table -> the verb's
//      function -> Request
//
// What is borrowed from the JSON until the message is copied is kept in one Write. Whether units are there,
// and who may do what, is the leader's to say; here it is only that names are names.

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
        const HttpMember *members;
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

static int refuse_name(Write *w, const char *name, const char *why) {
        _cleanup_free_ char *escaped = NULL;
        UnitNameMistake m;

        if (unit_name_mistake(name, &m))
                return str_refuse(w->ret_why, "'%.128s' is %s, not a unit file; %s", name, m.is, m.advice);
        if (unit_name_escape(name, &escaped) < 0)
                return -ENOMEM;
        return escaped ? str_refuse(w->ret_why,
                                    "'%.128s' is no name of a unit: what stands behind the '@' is escaped, "
                                    "as by "
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

static int read_units(HttpReading *g, const HttpMember *of, const cJSON *value, void *message) {
        Write *w = message;
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

// Refuses files that no unit of the request names: probably File= is missing or misspelt.
static int refuse_unused(Write *w) {
        const char *name = http_carried_unused(&w->carried), *why = "";

        if (!name)
                return 0;
        (void) unit_name_kind(name, &why);
        return refuse_name(w, name, why);
}

static int take_files(Write *w, const cJSON *value) {
        int r = 0;

        if (!cJSON_IsObject(value))
                return str_refuse(w->ret_why, "'files' is an object: names and contents");
        for (const cJSON *m = value->child; m && r == 0; m = m->next)
                if (http_carried_is_one(m->string))
                        r = http_carried_add(&w->carried, m, w->ret_why);
                else
                        r = cJSON_IsString(m)
                                    ? add_file_or_drop_in(w, m->string, m->valuestring)
                                    : str_refuse(w->ret_why, "'files' is an object: names and contents");
        if (r == 0)
                r = http_drop_ins_take(&w->drop_ins, &w->arena, &w->files, &w->n_files, w->ret_why);
        if (r == 0)
                r = http_carried_take(&w->carried, w->files, w->n_files, w->ret_why);
        return r < 0 ? r : refuse_unused(w);
}

static int read_files(HttpReading *g, const HttpMember *of, const cJSON *value, void *message) {
        return take_files(message, value);
}

static int read_reason(HttpReading *g, const HttpMember *of, const cJSON *value, void *message) {
        if (!cJSON_IsString(value) || !str_is_plain(value->valuestring))
                return str_refuse(g->ret_why, "'reason' is a text without control characters");
        ((Write *) message)->job.reason = value->valuestring;
        return 0;
}

static int read_job(HttpReading *g, const HttpMember *of, const cJSON *value, void *message) {
        if (!http_value_is_number(value, HTTP_NUMBER_MAX))
                return str_refuse(g->ret_why, "'job' is the number of a job");
        ((Write *) message)->job.retries = (uint64_t) value->valuedouble;
        return 0;
}

static int read_after(HttpReading *g, const HttpMember *of, const cJSON *value, void *message) {
        bool valid = cJSON_IsArray(value);
        Write *w = message;

        w->job.after = w->after;
        for (const cJSON *m = valid ? value->child : NULL; m && valid; m = m->next) {
                valid = w->job.n_after < HTTP_AFTER_MAX && http_value_is_number(m, HTTP_NUMBER_MAX);
                if (valid)
                        w->after[w->job.n_after++] = (uint64_t) m->valuedouble;
        }
        return valid ? 0
                     : str_refuse(g->ret_why, "'after' is an array of numbers of at most %i jobs",
                                  (int) HTTP_AFTER_MAX);
}

static const HttpMemberKind units = {SHAPE_TEXTS, read_units};
static const HttpMemberKind files = {SHAPE_FILES_BY_NAME, read_files};
static const HttpMemberKind reason = {SHAPE_TEXT, read_reason};
static const HttpMemberKind job_number = {SHAPE_NUMBER, read_job};
static const HttpMemberKind job_numbers = {SHAPE_NUMBERS, read_after};

#define AT(name) .at = offsetof(Write, name)

// What all verbs take.
static const HttpMember common_members[] = {
        {"reason", &reason},
        {"hold", &http_member_flag, AT(job.hold)},
        {"after", &job_numbers},
        {"queue", &http_member_flag, AT(job.queue)},
        {},
};
static const HttpMember of_units[] = {{"units", &units}, {}};
static const HttpMember of_units_and_files[] = {
        {"units", &units},
        {"files", &files},
        {"replace", &http_member_flag, AT(change.replace)},
        {"unpinned", &http_member_flag, AT(change.unpinned)},
        {},
};
static const HttpMember of_start[] = {
        {"units", &units},
        {"files", &files},
        {"replace", &http_member_flag, AT(change.replace)},
        {"unpinned", &http_member_flag, AT(change.unpinned)},
        {"plan", &http_member_flag, AT(change.preview)},
        {},
};
static const HttpMember of_retry[] = {{"job", &job_number, true}, {}};

static int refuse_member(Write *w, const char *verb, const char *member) {
        if (streq(member, "plan"))
                return str_refuse(w->ret_why, "of '%.64s' there is no plan", verb);
        return str_refuse(w->ret_why, "'%.64s' has no member '%.64s'", verb, member);
}

// Those that all take, and those of this verb; the first one that it does not take is refused.
static int read_members(Write *w, const char *verb, const HttpMember *own) {
        HttpReading reading = {&w->arena, w->ret_why};

        for (const cJSON *m = w->body->child; m; m = m->next)
                if (!streq(m->string, "verb") && !http_members_find(common_members, m->string) &&
                    !http_members_find(own, m->string))
                        return refuse_member(w, verb, m->string);
        return http_members_read(&reading, common_members, w->body, w);
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
        return 0;
}

static const WriteVerb verbs[] = {
        {"submit", make_change, ARGOSY__VERB__VERB_SUBMIT, of_units_and_files},
        {"load", make_change, ARGOSY__VERB__VERB_LOAD, of_units_and_files},
        {"start", make_change, ARGOSY__VERB__VERB_START, of_start},
        {"stop", make_change, ARGOSY__VERB__VERB_STOP, of_units},
        {"restart", make_change, ARGOSY__VERB__VERB_RESTART, of_units},
        {"unload", make_change, ARGOSY__VERB__VERB_UNLOAD, of_units},
        {"destroy", make_change, ARGOSY__VERB__VERB_DESTROY, of_units},
        {"job retry", make_retry, 0, of_retry},
};

static const WriteVerb *find_verb(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

const char *http_write_verb(size_t i) {
        const HttpVerb *other;

        if (i < ELEMENTSOF(verbs))
                return verbs[i].name;
        other = http_verb_at(i - ELEMENTSOF(verbs));
        return other ? http_verb_name(other) : NULL;
}

const HttpMember *http_write_member(size_t i, size_t k) {
        const HttpMember *own = i < ELEMENTSOF(verbs)
                                        ? verbs[i].members
                                        : http_verb_members(http_verb_at(i - ELEMENTSOF(verbs)));
        const HttpMember *lists[] = {own, common_members};

        for (size_t l = 0; l < ELEMENTSOF(lists); l++)
                for (const HttpMember *m = lists[l]; m && m->name; m++)
                        if (k-- == 0)
                                return m;
        return NULL;
}

// ---- the whole

static int read_headers(Write *w, const HttpWriteHeaders *h) {
        char digits[24];
        size_t len;

        if (h->if_none_match)
                return str_refuse(w->ret_why, "If-None-Match means nothing here; If-Match does");
        if (h->key && !request_key_is_valid(h->key))
                return str_refuse(w->ret_why, "Idempotency-Key is a text of 1 to %i characters",
                                  (int) REQUEST_KEY_MAX);
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

// The one that the update brings, with what comes with it.
static int take_update_files(Write *w) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(w->body, "files");
        Argosy__Request__Rollout *rollout = w->request.rollout;
        int r;

        if (w->request.what_case != ARGOSY__REQUEST__WHAT_ROLLOUT || !value)
                return 0;
        r = take_files(w, value);
        if (r < 0)
                return r;
        if (w->n_files != 1 || !streq(w->files[0].name, rollout->name))
                return str_refuse(
                        w->ret_why,
                        "'files' has the file of '%.128s', what stands beside that, and no other unit",
                        rollout->name);
        rollout->file = &w->files[0];
        return 0;
}

// What is about something else than units.
static int read_other(Write *w, const char *name) {
        const HttpVerb *verb = http_verb_find(name);
        int r;

        if (!verb)
                return str_refuse(w->ret_why, "there is no verb '%.64s'", name);
        r = read_members(w, name, http_verb_members(verb));
        if (r == 0)
                r = http_verb_make(verb, w->body, w->job.reason, &w->arena, &w->request, w->ret_why);
        return r < 0 ? r : take_update_files(w);
}

static int read_body(Write *w) {
        const cJSON *name = cJSON_GetObjectItemCaseSensitive(w->body, "verb");
        const WriteVerb *verb = cJSON_IsString(name) ? find_verb(name->valuestring) : NULL;
        HttpReading reading = {&w->arena, w->ret_why};
        int r;

        if (!cJSON_IsString(name))
                return str_refuse(w->ret_why, "the body has no 'verb'");
        if (!verb)
                return read_other(w, name->valuestring);
        r = read_members(w, verb->name, verb->members);
        if (r == 0)
                r = http_members_read(&reading, verb->members, w->body, w);
        return r < 0 ? r : verb->make(w, verb);
}

static int read_file(Write *w, const HttpTarget *t, const char *body, size_t len) {
        int r = len > 0 ? add_file(w, t->name, (char *) body, len)
                        : str_refuse(w->ret_why, "the body is empty");

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
                int r = str_refuse(w->ret_why, "the body is too long: a secret has at most %i bytes",
                                   (int) SECRET_VALUE_MAX);

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
                        r = take_files(w, m);
                else if (streq(m->string, "node") && cJSON_IsString(m))
                        w->verify.node = m->valuestring;
                else
                        r = str_refuse(w->ret_why,
                                       "the body has 'files' and, if need be, 'node', but no such '%.64s'",
                                       m->string);
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

// A request to the plan's path gets a plan, whatever the body says.
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
