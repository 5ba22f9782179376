// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The columns of all lists, one table each: where a value is in its row, and how it is shown to people.
// Those that others than argosyctl have, too, and how a row becomes JSON, are in model/row-fields.c.
// `--fields` chooses among them; a word that is no field is refused together with those that there are.

#include <errno.h>
#include <inttypes.h>

#include "argosy.pb-c.h"
#include "fields.h"
#include "top-view.h"

#define AT(type, member) offsetof(Argosy__Response__##type, member)

static const Field of_managers[] = {
        {"manager", NULL, "MANAGER", FIELD_STRING, AT(ManagerRow, manager), true, true},
        {"node", NULL, "NODE", FIELD_STRING, AT(ManagerRow, node), true, true},
        {"state", NULL, "STATE", FIELD_STRING, AT(ManagerRow, state), true, false},
        {"units", NULL, "UNITS", FIELD_U32, AT(ManagerRow, units), true, false},
        {"origin", NULL, "ORIGIN", FIELD_STRING, AT(ManagerRow, origin), true, false},
        {"reason", NULL, "REASON", FIELD_STRING, AT(ManagerRow, reason), true, true},
};

static const Field of_top[] = {
        {"unit", NULL, "UNIT", FIELD_STRING, offsetof(TopRow, unit), true, true},
        {"node", "machine", "NODE", FIELD_STRING, offsetof(TopRow, node), true, true},
        {"tasks", NULL, "TASKS", FIELD_COUNT, offsetof(TopRow, tasks), true, false},
        {"cpu", NULL, "%CPU", FIELD_PERMILLE, offsetof(TopRow, cpu_permille), true, false},
        {"memory", NULL, "MEMORY", FIELD_BYTES, offsetof(TopRow, memory), true, false},
        {"read", NULL, "READ/S", FIELD_BYTES, offsetof(TopRow, io_read_rate), true, false},
        {"written", NULL, "WRITTEN/S", FIELD_BYTES, offsetof(TopRow, io_write_rate), true, false},
        {"cpu-time", NULL, "CPU-TIME", FIELD_USEC, offsetof(TopRow, cpu_us), false, false},
        {"read-total", NULL, "READ", FIELD_BYTES, offsetof(TopRow, io_read), false, false},
        {"written-total", NULL, "WRITTEN", FIELD_BYTES, offsetof(TopRow, io_write), false, false},
};

static Colour unit_colour(const Field *f, const void *row) {
        const Argosy__Response__UnitRow *u = row;
        bool is_active = f->offset == AT(UnitRow, active), is_sub = f->offset == AT(UnitRow, sub);

        if (f->offset == AT(UnitRow, error))
                return COLOUR_RED;
        if (f->offset == AT(UnitRow, load))
                return streq(u->load, "loaded") || streq(u->load, "-") || !*u->load ? COLOUR_NONE
                       : streq(u->load, "unknown")                                  ? COLOUR_YELLOW
                                                                                    : COLOUR_RED;
        if (!is_active && !is_sub)
                return COLOUR_NONE;
        if (streq(u->active, "failed"))
                return COLOUR_RED;
        if (streq(u->active, "unknown"))
                return COLOUR_YELLOW;
        return streq(u->active, "active") && is_active ? COLOUR_GREEN : COLOUR_NONE;
}

static Colour unit_file_colour(const Field *f, const void *row) {
        const Argosy__Response__UnitFileRow *u = row;

        return f->offset == AT(UnitFileRow, state) && !streq(u->state, u->desired) ? COLOUR_YELLOW
                                                                                   : COLOUR_NONE;
}

static Colour node_colour(const Field *f, const void *row) {
        const Argosy__Response__NodeRow *n = row;

        if (f->type != FIELD_STATE)
                return COLOUR_NONE;
        return streq(n->state, "online") && !*n->mode ? COLOUR_GREEN
               : streq(n->state, "lost")              ? COLOUR_RED
                                                      : COLOUR_YELLOW;
}

static Colour top_colour(const Field *f, const void *row) {
        return COLOUR_NONE;
}

static Colour job_colour(const Field *f, const void *row) {
        const Argosy__Response__JobRow *job = row;

        return f->offset == AT(JobRow, state) ? job_state_colour(job->state) : COLOUR_NONE;
}

Colour job_state_colour(const char *state) {
        return streq(state, "done")     ? COLOUR_GREEN
               : streq(state, "failed") ? COLOUR_RED
               : *state                 ? COLOUR_YELLOW
                                        : COLOUR_NONE;
}

const FieldList top_fields = {"top", of_top, ELEMENTSOF(of_top), top_colour};
const FieldList job_fields = {"list-jobs", job_row_fields, JOB_ROW_FIELDS, job_colour};
const FieldList history_fields = {"history", history_row_fields, HISTORY_ROW_FIELDS, job_colour};
static Colour manager_colour(const Field *f, const void *row) {
        const Argosy__Response__ManagerRow *m = row;

        if (f->offset != AT(ManagerRow, state))
                return COLOUR_NONE;
        return streq(m->state, "online") ? COLOUR_GREEN : COLOUR_YELLOW;
}

const FieldList manager_fields = {"manager list", of_managers, ELEMENTSOF(of_managers), manager_colour};
const FieldList unit_fields = {"list-units", unit_row_fields, UNIT_ROW_FIELDS, unit_colour};
const FieldList unit_file_fields = {"list-unit-files", unit_file_row_fields, UNIT_FILE_ROW_FIELDS,
                                    unit_file_colour};
const FieldList node_fields = {"list-nodes", node_row_fields, NODE_ROW_FIELDS, node_colour};

static const Field *find(const FieldList *list, const char *word, size_t len) {
        for (size_t i = 0; i < list->n_fields; i++) {
                const Field *f = &list->fields[i];

                if ((strlen(f->name) == len && strncmp(f->name, word, len) == 0) ||
                    (f->alias && strlen(f->alias) == len && strncmp(f->alias, word, len) == 0))
                        return f;
        }
        return NULL;
}

static int complain(const FieldList *list, const char *word, size_t len, Buf *why) {
        (void) buf_printf(why, "%s has no field '%.*s'; it has", list->verb, (int) len, word);
        for (size_t i = 0; i < list->n_fields; i++)
                (void) buf_printf(why, "%s %s", i ? "," : "", list->fields[i].name);
        return -EINVAL;
}

int fields_select(const FieldList *list, const char *text, bool all, const Field **ret, size_t *ret_n,
                  Buf *why) {
        size_t n = 0;

        if (!text) {
                for (size_t i = 0; i < list->n_fields; i++)
                        if (all || list->fields[i].by_default)
                                ret[n++] = &list->fields[i];
                *ret_n = n;
                return 0;
        }
        for (const char *p = text;; p++) {
                size_t len = strcspn(p, ",");
                const Field *f = find(list, p, len);

                if (!f)
                        return complain(list, p, len, why);
                if (n == FIELDS_MAX) {
                        (void) buf_printf(why, "more than %d fields", FIELDS_MAX);
                        return -EINVAL;
                }
                ret[n++] = f;
                p += len;
                if (!*p)
                        break;
        }
        *ret_n = n;
        return 0;
}

void fields_words(FILE *f, const FieldList *list) {
        for (size_t i = 0; i < list->n_fields; i++)
                fprintf(f, "%s\n", list->fields[i].name);
}

static const void *at(const Field *f, const void *row) {
        return (const char *) row + f->offset;
}

static int append_number(FieldType type, uint64_t n, Buf *out) {
        if (n == UINT64_MAX)
                return 0;
        if (type == FIELD_BYTES)
                return text_append_bytes(out, n);
        if (type == FIELD_USEC)
                return text_append_span(out, n);
        return type == FIELD_PERMILLE ? buf_printf(out, "%" PRIu64 ".%" PRIu64, n / 10, n % 10)
                                      : buf_printf(out, "%" PRIu64, n);
}

int job_groups_append(const Argosy__Response__JobRow *job, Buf *out) {
        int r = 0;

        for (size_t i = 0; i < job->n_groups && r == 0; i++)
                r = buf_printf(out, "%s%s", i ? " " : "", job->groups[i]);
        return r;
}

int job_targets_append(const Argosy__Response__JobRow *job, Buf *out) {
        int r = 0;

        for (size_t i = 0; i < job->n_targets && r == 0; i++)
                r = buf_printf(out, "%s%s", i ? " " : "", job->targets[i]);
        return r < 0 || job->more_targets == 0 ? r
                                               : buf_printf(out, " and %" PRIu32 " more", job->more_targets);
}

int job_state_append(const Argosy__Response__JobRow *job, Buf *out) {
        const struct {
                uint32_t n;
                const char *word;
        } counts[] = {{job->failed, "failed"},
                      {job->unplaced, "unplaced"},
                      {job->overtaken, "overtaken"},
                      {job->cancelled, "cancelled"}};
        const char *before = " (";
        int r = buf_printf(out, "%s", *job->state ? job->state : "its end was not recorded");

        for (size_t i = 0; i < ELEMENTSOF(counts) && r == 0; i++)
                if (counts[i].n > 0) {
                        r = buf_printf(out, "%s%" PRIu32 " %s", before, counts[i].n, counts[i].word);
                        before = ", ";
                }
        if (r == 0 && *before == ',')
                r = buf_printf(out, ")");
        return r < 0 || !*job->message ? r : buf_printf(out, ": %s", job->message);
}

enum { PARTS_SHOWN = 2 }; // names that a line has room for

static int append_parts(const Argosy__Response__Parts *p, Buf *out) {
        size_t all = (size_t) p->added + p->changed + p->removed;
        int r = buf_printf(out, " (");

        for (size_t i = 0; r == 0 && i < p->n_rows && i < PARTS_SHOWN; i++)
                r = buf_printf(out, "%s%s %s", i > 0 ? ", " : "", p->rows[i]->part, p->rows[i]->change);
        if (r == 0 && all > PARTS_SHOWN)
                r = buf_printf(out, " and %zu more", all - PARTS_SHOWN);
        return r < 0 ? r : buf_printf(out, ")");
}

// "launched -> loaded", "file 0123456 -> 89abcde", "new, launched", "removed"; "-": it was only started, or
// again.
static int job_change_append(const Argosy__Response__JobUnitRow *u, Buf *out) {
        bool file = !streq(u->rev, u->rev_after), target = !streq(u->desired, u->desired_after);

        if (u->at_us > 0)
                return buf_printf(out, "%s -> %s", *u->from ? u->from : "-", *u->node ? u->node : "-");
        if (!*u->rev)
                return buf_printf(out, "new, %s", u->desired_after);
        if (u->gone)
                return buf_printf(out, "removed");
        if (!file && !target)
                return buf_printf(out, "-");
        if (file && buf_printf(out, "file %.*s -> %.*s", HASH_SHOWN, u->rev, HASH_SHOWN, u->rev_after) < 0)
                return -ENOMEM;
        if (file && u->parts && append_parts(u->parts, out) < 0)
                return -ENOMEM;
        return target ? buf_printf(out, "%s%s -> %s", file ? ", " : "", u->desired, u->desired_after) : 0;
}

static int append_change(const Argosy__Response__JobRow *job, Buf *out) {
        size_t more = job->n_units + job->more_units;
        int r;

        if (job->n_units == 0)
                return 0;
        r = job_change_append(job->units[0], out);
        return r < 0 || more == 1 ? r
                                  : buf_printf(out, " (%s), and %zu more", job->units[0]->unit, more - 1);
}

int field_append(const Field *f, const void *row, Buf *out) {
        const Argosy__Response__NodeRow *node = row;
        int r = 0;

        switch (f->type) {
        case FIELD_STRING:
                return buf_printf(out, "%s", field_string(f, row));
        case FIELD_HASH:
                return buf_printf(out, "%.*s", HASH_SHOWN, field_string(f, row));
        case FIELD_ROLE:
                return buf_printf(out, "%s", node->leader ? "leader" : node->role);
        case FIELD_STATE:
                return buf_printf(out, "%s%s%s", node->state, *node->mode ? "," : "", node->mode);
        case FIELD_BOOL:
                return buf_printf(out, "%s", *(const protobuf_c_boolean *) at(f, row) ? "yes" : "no");
        case FIELD_U32:
                return buf_printf(out, "%" PRIu32, *(const uint32_t *) at(f, row));
        case FIELD_RESTARTS:
                return streq(((const Argosy__Response__UnitRow *) row)->active, "unknown")
                               ? 0
                               : buf_printf(out, "%" PRIu32, *(const uint32_t *) at(f, row));
        case FIELD_U64:
                return buf_printf(out, "%" PRIu64, *(const uint64_t *) at(f, row));
        case FIELD_TIME:
                return *(const uint64_t *) at(f, row) ? text_append_time(out, *(const uint64_t *) at(f, row))
                                                      : 0;
        case FIELD_TARGETS:
                return job_targets_append(row, out);
        case FIELD_GROUPS:
                return job_groups_append(row, out);
        case FIELD_CHANGE:
                return append_change(row, out);
        case FIELD_COUNT:
        case FIELD_BYTES:
        case FIELD_PERMILLE:
        case FIELD_USEC:
                return append_number(f->type, *(const uint64_t *) at(f, row), out);
        case FIELD_LABELS:
                for (size_t i = 0; i < node->n_labels && r == 0; i++)
                        r = buf_printf(out, "%s%s=%s", i ? "," : "", node->labels[i]->key,
                                       node->labels[i]->value);
                return r;
        case FIELD_OK: // what became of a request is no table
        case FIELD_REFUSALS:
        case FIELD_MAY_RUN:
        case FIELD_WORD: // nor is what has no columns
        case FIELD_ENUM:
        case FIELD_ENUM_OR_NULL:
        case FIELD_WORDS:
        case FIELD_NUMBERS:
        case FIELD_ROWS:
                break;
        }
        return -EINVAL;
}
