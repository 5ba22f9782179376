// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The fastest general writer of JSON that Debian packages, for bench-json-writer.c alone.

#include "bench-json-writer.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

using Buffer = rapidjson::StringBuffer;
using Writer = rapidjson::Writer<Buffer>;

static Buffer buffer;

extern "C" size_t rapidjson_write(const JsonRow *rows, size_t n) {
        Writer writer(buffer);

        buffer.Clear();
        writer.StartArray();
        for (size_t i = 0; i < n; i++) {
                writer.StartObject();
                for (size_t k = 0; k < JSON_ROW_STRINGS; k++) {
                        writer.Key(json_row_keys[k]);
                        writer.String(rows[i].strings[k]);
                }
                writer.Key("drift");
                writer.Bool(rows[i].drift);
                writer.Key("since");
                writer.Uint64(rows[i].since);
                writer.EndObject();
        }
        writer.EndArray();
        return buffer.GetSize();
}
