// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What differs between two moments, of the changes between them (job-changes.h): first state and last of
// each unit and setting, in the order of names, without those that are again as they were. From the later to
// the earlier the two change places. It borrows the changes. Without memory it is -ENOMEM, and there is
// nothing to be freed.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job-changes.h"
#include "macro.h"
#include "str.h"

static bool differs(const UnitChange *u) {
        return !streq(u->before.rev, u->after.rev) || !streq(u->before.desired, u->after.desired);
}

static int by_unit(const void *a, const void *b) {
        const UnitChange *x = *(UnitChange *const *) a, *y = *(UnitChange *const *) b;

        return strcmp(x->unit, y->unit);
}

static int by_setting(const void *a, const void *b) {
        const SettingChange *x = *(SettingChange *const *) a, *y = *(SettingChange *const *) b;

        return strcmp(x->setting, y->setting);
}

static void turn_unit(UnitChange *u) {
        UnitThen before = u->before;

        u->before = u->after;
        u->after = before;
}

static void turn_setting(SettingChange *s) {
        char *before = s->before;

        s->before = s->after;
        s->after = before;
}

int job_difference(JobChanges *c, uint64_t from, uint64_t to, JobDifference *ret) {
        bool backwards = to > 0 && from != c->since;
        JobDifference d = {
                .from = from, .to = to, .incomplete = c->cut || c->late_left_out || c->late_forgotten};

        d.units = calloc(c->units.count + 1, sizeof(*d.units));
        d.settings = calloc(c->settings.count + 1, sizeof(*d.settings));
        if (!d.units || !d.settings) {
                job_difference_done(&d);
                return -ENOMEM;
        }
        map_foreach (slot, &c->units) {
                if (backwards)
                        turn_unit(slot->value);
                if (differs(slot->value))
                        d.units[d.n_units++] = slot->value;
        }
        map_foreach (slot, &c->settings) {
                SettingChange *s = slot->value;

                if (backwards)
                        turn_setting(s);
                if (!streq(s->before, s->after))
                        d.settings[d.n_settings++] = s;
        }
        if (d.n_units > 0)
                qsort(d.units, d.n_units, sizeof(*d.units), by_unit);
        if (d.n_settings > 0)
                qsort(d.settings, d.n_settings, sizeof(*d.settings), by_setting);
        *ret = d;
        return 0;
}

void job_difference_done(JobDifference *d) {
        free(d->units);
        free(d->settings);
        *d = (JobDifference){};
}

// ---- JSON

static const char *change_of(const char *before, const char *after) {
        return !*before ? "make" : !*after ? "destroy" : "change";
}

static void json_settings(const JobDifference *d, Json *j) {
        json_member_begin(j, "settings", '[');
        for (size_t i = 0; i < d->n_settings; i++) {
                const SettingChange *s = d->settings[i];
                const char *const words[][2] = {{"setting", s->setting},
                                                {"change", change_of(s->before, s->after)},
                                                {"before", s->before},
                                                {"after", s->after}};

                json_begin(j, '{');
                json_strings(j, words, ELEMENTSOF(words));
                json_end(j, '}');
        }
        json_end(j, ']');
}

static void json_units(const JobDifference *d, Json *j) {
        json_member_begin(j, "units", '[');
        for (size_t i = 0; i < d->n_units; i++) {
                const UnitChange *u = d->units[i];
                const char *const words[][2] = {{"unit", u->unit},
                                                {"change", change_of(u->before.rev, u->after.rev)},
                                                {"rev", u->before.rev},
                                                {"rev_after", u->after.rev},
                                                {"desired", u->before.desired},
                                                {"desired_after", u->after.desired}};

                json_begin(j, '{');
                json_strings(j, words, ELEMENTSOF(words));
                json_end(j, '}');
        }
        json_end(j, ']');
}

void job_difference_json(const JobDifference *d, Json *j) {
        json_begin(j, '{');
        json_member_u64(j, "from", d->from);
        json_key(j, "to");
        if (d->to > 0)
                json_u64(j, d->to);
        else
                json_null(j);
        json_member_bool(j, "incomplete", d->incomplete);
        json_settings(d, j);
        json_units(d, j);
        json_end(j, '}');
}
