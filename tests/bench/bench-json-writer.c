// SPDX-License-Identifier: LGPL-2.1-or-later
//
// json-writer: rows as /v1/units has them, written by our writer, by cJSON (which makes a tree and prints
// that) and by RapidJSON. Each writes the same text; they take turns, and the median of the rounds counts.

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench-json-writer.h"
#include "json.h"
#include "str.h"

enum { ROWS = 20000, ROUNDS = 15, NAME = 64 };

const char *const json_row_keys[JSON_ROW_STRINGS] = {"unit", "node",   "load", "active",
                                                     "sub",  "result", "error"};

typedef size_t (*WriteRows)(const JsonRow *rows, size_t n);

static char *newest; // of those that write to memory of their own, for comparison

static size_t ours(const JsonRow *rows, size_t n) {
        static Json j;

        j.text.len = 0;
        j.used[0] = false;
        json_begin(&j, '[');
        for (size_t i = 0; i < n; i++) {
                json_begin(&j, '{');
                for (size_t k = 0; k < JSON_ROW_STRINGS; k++) {
                        json_key(&j, json_row_keys[k]);
                        json_string(&j, rows[i].strings[k]);
                }
                json_key(&j, "drift");
                json_bool(&j, rows[i].drift);
                json_key(&j, "since");
                json_u64(&j, rows[i].since);
                json_end(&j, '}');
        }
        json_end(&j, ']');
        newest = (char *) j.text.data;
        return j.text.len;
}

static size_t with_cjson(const JsonRow *rows, size_t n) {
        cJSON *array = cJSON_CreateArray();
        char *text;
        size_t len;

        for (size_t i = 0; i < n; i++) {
                cJSON *row = cJSON_CreateObject();

                for (size_t k = 0; k < JSON_ROW_STRINGS; k++)
                        cJSON_AddItemToObjectCS(row, json_row_keys[k],
                                                cJSON_CreateString(rows[i].strings[k]));
                cJSON_AddItemToObjectCS(row, "drift", cJSON_CreateBool(rows[i].drift));
                cJSON_AddItemToObjectCS(row, "since", cJSON_CreateNumber((double) rows[i].since));
                cJSON_AddItemToArray(array, row);
        }
        text = cJSON_PrintUnformatted(array);
        len = strlen(text);
        free(text);
        cJSON_Delete(array);
        return len;
}

#ifndef HAVE_RAPIDJSON
size_t rapidjson_write(const JsonRow *rows, size_t n) {
        return 0;
}
#endif

static const struct {
        const char *name;
        WriteRows write;
} writers[] = {{"ours", ours}, {"cjson", with_cjson}, {"rapidjson", rapidjson_write}};
enum { WRITERS = sizeof(writers) / sizeof(writers[0]) };

static double now_us(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double) t.tv_sec * 1e6 + (double) t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b) {
        double x = *(const double *) a, y = *(const double *) b;

        return (x > y) - (x < y);
}

int main(void) {
        static JsonRow rows[ROWS];
        static char names[ROWS][NAME];
        static double took[WRITERS][ROUNDS];
        size_t bytes[WRITERS] = {0};

        for (size_t i = 0; i < ROWS; i++) {
                str_fit(names[i], NAME, "load@%zu.service", i);
                rows[i] = (JsonRow){{names[i], "n17.example.org", "loaded", "active", "running", "success",
                                     i % 100 == 0 ? "it said \"no\" to \xc3\xa4\n" : ""},
                                    i % 7 == 0,
                                    UINT64_C(1795433385852531) + i};
        }
        for (size_t round = 0; round < ROUNDS; round++)
                for (size_t k = 0; k < WRITERS; k++) {
                        size_t w = (round + k) % WRITERS;
                        double began = now_us();

                        bytes[w] = writers[w].write(rows, ROWS);
                        took[w][round] = now_us() - began;
                }
        for (size_t w = 0; w < WRITERS; w++) {
                if (bytes[w] == 0) {
                        fprintf(stderr, "%s was not there when this was built\n", writers[w].name);
                        continue;
                }
                if (bytes[w] != bytes[0])
                        fprintf(stderr, "%s writes %zu bytes, and ours are %zu\n", writers[w].name, bytes[w],
                                bytes[0]);
                qsort(took[w], ROUNDS, sizeof(took[w][0]), compare);
        }
        for (size_t w = 0; w < WRITERS; w++)
                if (bytes[w] > 0) // "ratio" is how many times as fast ours is
                        printf("{\"bench\":\"json-writer\",\"metric\":\"%s\",\"value\":%.1f,\"unit\":\"MB/"
                               "s\",\"ratio\":%.2f}\n",
                               writers[w].name, (double) bytes[w] / took[w][ROUNDS / 2],
                               (double) bytes[0] / took[0][ROUNDS / 2] /
                                       ((double) bytes[w] / took[w][ROUNDS / 2]));
        return 0;
}
