// SPDX-License-Identifier: LGPL-2.1-or-later

// The description of fleet's API for programs that generate clients: Google's discovery format, from the
// tables below. fleet_discovery() -> the document, which the caller frees. Failure: NULL without memory. A
// new method or property of the API gets its row here.

#include "fleet-call.h"
#include "macro.h"

typedef struct Property {
        const char *name, *type;
        const char *of; // the type of an array's items
} Property;

static const struct {
        const char *name;
        Property properties[8];
} schemas[] = {
        {"Machine", {{"id", "string", NULL}, {"primaryIP", "string", NULL}, {"metadata", "object", NULL}}},
        {"MachinePage", {{"machines", "array", "Machine"}, {"nextPageToken", "string", NULL}}},
        {"UnitOption", {{"section", "string", NULL}, {"name", "string", NULL}, {"value", "string", NULL}}},
        {"Unit",
         {{"name", "string", NULL},
          {"options", "array", "UnitOption"},
          {"desiredState", "string", NULL},
          {"currentState", "string", NULL},
          {"machineID", "string", NULL}}},
        {"UnitPage", {{"units", "array", "Unit"}, {"nextPageToken", "string", NULL}}},
        {"UnitState",
         {{"name", "string", NULL},
          {"hash", "string", NULL},
          {"machineID", "string", NULL},
          {"systemdLoadState", "string", NULL},
          {"systemdActiveState", "string", NULL},
          {"systemdSubState", "string", NULL}}},
        {"UnitStatePage", {{"states", "array", "UnitState"}, {"nextPageToken", "string", NULL}}},
};

static const struct {
        const char *resource, *method, *id, *http, *path;
        const char *request, *response;
        const char *in_path;  // parameter
        const char *query[3]; // likewise
} methods[] = {
        {"Machines",
         "List",
         "fleet.Machine.List",
         "GET",
         "machines",
         NULL,
         "MachinePage",
         NULL,
         {"nextPageToken"}},
        {"Units", "List", "fleet.Unit.List", "GET", "units", NULL, "UnitPage", NULL, {"nextPageToken"}},
        {"Units", "Get", "fleet.Unit.Get", "GET", "units/{unitName}", NULL, "Unit", "unitName", {}},
        {"Units", "Delete", "fleet.Unit.Delete", "DELETE", "units/{unitName}", NULL, NULL, "unitName", {}},
        {"Units", "Set", "fleet.Unit.Set", "PUT", "units/{unitName}", "Unit", NULL, "unitName", {}},
        {"UnitState",
         "List",
         "fleet.UnitState.List",
         "GET",
         "state",
         NULL,
         "UnitStatePage",
         NULL,
         {"nextPageToken", "unitName", "machineID"}},
        {"UnitState",
         "Get",
         "fleet.UnitState.Get",
         "GET",
         "state/{unitName}",
         NULL,
         "UnitState",
         "unitName",
         {}},
};

static void text(Json *j, const char *name, const char *value) {
        json_strings(j, (const char *const[][2]){{name, value}}, 1);
}

static void begin(Json *j, const char *name) {
        json_member_begin(j, name, '{');
}

static void reference(Json *j, const char *name, const char *to) {
        begin(j, name);
        text(j, "$ref", to);
        json_end(j, '}');
}

static void show_property(Json *j, const Property *p) {
        begin(j, p->name);
        text(j, "type", p->type);
        if (p->of)
                reference(j, "items", p->of);
        else if (streq(p->type, "object")) {
                begin(j, "additionalProperties");
                text(j, "type", "string");
                json_end(j, '}');
        }
        json_end(j, '}');
}

static void show_schemas(Json *j) {
        begin(j, "schemas");
        for (size_t i = 0; i < ELEMENTSOF(schemas); i++) {
                begin(j, schemas[i].name);
                text(j, "id", schemas[i].name);
                text(j, "type", "object");
                begin(j, "properties");
                for (size_t k = 0; schemas[i].properties[k].name; k++)
                        show_property(j, &schemas[i].properties[k]);
                json_end(j, '}');
                json_end(j, '}');
        }
        json_end(j, '}');
}

static void show_parameter(Json *j, const char *name, const char *location, bool required) {
        begin(j, name);
        text(j, "type", "string");
        text(j, "location", location);
        if (required) {
                json_member_bool(j, "required", true);
        }
        json_end(j, '}');
}

static void show_method(Json *j, size_t i) {
        begin(j, methods[i].method);
        json_strings(j,
                     (const char *const[][2]){{"id", methods[i].id},
                                              {"httpMethod", methods[i].http},
                                              {"path", methods[i].path}},
                     3);
        begin(j, "parameters");
        if (methods[i].in_path)
                show_parameter(j, methods[i].in_path, "path", true);
        for (size_t k = 0; k < ELEMENTSOF(methods[i].query) && methods[i].query[k]; k++)
                show_parameter(j, methods[i].query[k], "query", false);
        json_end(j, '}');
        if (methods[i].request)
                reference(j, "request", methods[i].request);
        if (methods[i].response)
                reference(j, "response", methods[i].response);
        json_end(j, '}');
}

static void show_methods(Json *j) {
        const char *before = "";

        begin(j, "resources");
        for (size_t i = 0; i < ELEMENTSOF(methods); i++) {
                if (!streq(before, methods[i].resource)) {
                        if (*before) {
                                json_end(j, '}');
                                json_end(j, '}');
                        }
                        before = methods[i].resource;
                        begin(j, before);
                        begin(j, "methods");
                }
                show_method(j, i);
        }
        json_end(j, '}');
        json_end(j, '}');
        json_end(j, '}');
}

char *fleet_discovery(void) {
        static const char *const front[][2] = {
                {"kind", "discovery#restDescription"},
                {"discoveryVersion", "v1"},
                {"id", "fleet:v1"},
                {"name", "schema"},
                {"version", "v1"},
                {"title", "fleet API"},
                {"description", ""},
                {"protocol", "rest"},
                {"baseUrl", "$ENDPOINT/fleet/v1/"},
                {"basePath", "/fleet/v1/"},
                {"rootUrl", "$ENDPOINT/"},
                {"servicePath", "fleet/v1/"},
                {"batchPath", "batch"},
        };
        Json j = {};
        char *document;

        json_begin(&j, '{');
        json_strings(&j, front, ELEMENTSOF(front));
        begin(&j, "parameters");
        json_end(&j, '}');
        show_schemas(&j);
        show_methods(&j);
        json_end(&j, '}');
        json_finish(&j);
        document = j.failed ? NULL : buf_take_string(&j.text);
        json_done(&j);
        return document;
}
