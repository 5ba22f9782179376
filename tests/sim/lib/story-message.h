// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// A protobuf message as one line of text, for people.

#include <stdio.h>

#include <protobuf-c/protobuf-c.h>

// `out` gets each field that differs from its default, and a newline.
void story_message_show(FILE *out, const ProtobufCMessage *m);
