// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Of what kind each member of a change is (http-verbs.c, http-write.c), for the description. A member of one
// name is of one kind, but for the two that stand first. tests/unit/http/test-openapi.c asks for each member
// of each verb whether that is how it is read.

#include "http-members.h"

#include "macro.h"
#include "str.h"

static const struct {
        const char *name, *verb; // verb NULL: of all that have it
        HttpShape shape;
} members[] = {
        {"rule", "queue rule add", SHAPE_OBJECT},
        {"limit", "role set", SHAPE_OBJECT},
        {"action", NULL, SHAPE_TEXT},
        {"after", NULL, SHAPE_NUMBERS},
        {"all-max", NULL, SHAPE_TEXT},
        {"before", NULL, SHAPE_NUMBER},
        {"deadline", NULL, SHAPE_TEXT},
        {"file-max", NULL, SHAPE_TEXT},
        {"files", NULL, SHAPE_FILES_BY_NAME},
        {"force", NULL, SHAPE_BOOL},
        {"guarantee", NULL, SHAPE_OBJECT},
        {"hash", NULL, SHAPE_TEXT},
        {"health", NULL, SHAPE_TEXT},
        {"hold", NULL, SHAPE_BOOL},
        {"job", NULL, SHAPE_NUMBER},
        {"jobs", NULL, SHAPE_NUMBERS},
        {"labels", NULL, SHAPE_TEXTS_BY_NAME},
        {"max-moves", NULL, SHAPE_NUMBER},
        {"max-unavailable", NULL, SHAPE_NUMBER_OR_TEXT},
        {"name", NULL, SHAPE_TEXT},
        {"node", NULL, SHAPE_TEXT},
        {"nodes", NULL, SHAPE_TEXTS},
        {"number", NULL, SHAPE_NUMBER},
        {"only-untouched", NULL, SHAPE_BOOL},
        {"patterns", NULL, SHAPE_TEXTS},
        {"plan", NULL, SHAPE_BOOL},
        {"pool", NULL, SHAPE_TEXT},
        {"queue", NULL, SHAPE_BOOL},
        {"reason", NULL, SHAPE_TEXT},
        {"replace", NULL, SHAPE_BOOL},
        {"revs", NULL, SHAPE_TEXTS},
        {"right", NULL, SHAPE_TEXT},
        {"role", NULL, SHAPE_TEXT},
        {"rolling", NULL, SHAPE_BOOL},
        {"rule", NULL, SHAPE_NUMBER},
        {"set", NULL, SHAPE_TEXTS_BY_NAME},
        {"size", NULL, SHAPE_TEXT},
        {"time", NULL, SHAPE_NUMBER},
        {"tokens", NULL, SHAPE_TEXTS},
        {"ttl", NULL, SHAPE_TEXT},
        {"unit", NULL, SHAPE_TEXT},
        {"unit-max", NULL, SHAPE_TEXT},
        {"units", NULL, SHAPE_TEXTS},
        {"unset", NULL, SHAPE_TEXTS},
        {"weight", NULL, SHAPE_NUMBER},
        {"who", NULL, SHAPE_TEXT},
};

HttpShape http_member_shape(const char *verb, const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(members); i++)
                if (streq(members[i].name, name) && (!members[i].verb || streq(members[i].verb, verb)))
                        return members[i].shape;
        return SHAPE_ANY;
}
