// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// What a registry said, out of what podman or skopeo printed when it failed.

#include <stdbool.h>
#include <stddef.h>

// The reason in the last line of that text: without the time, the level and the word "Error". Of text that
// has no line: "it did not say why". A new string of printable characters, at most REGISTRY_WORDS_MAX bytes;
// NULL: out of memory.
char *registry_words(const void *said, size_t len);

enum { REGISTRY_WORDS_MAX = 400 };

// Whether the registry itself says so: it does not have the image, or does not give it. Else it was not
// reached, which may be for the host.
bool registry_words_deny(const char *words);
