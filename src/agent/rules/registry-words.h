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

// What the registry itself says by them. Else it was not reached, which may be for the host.
typedef enum RegistryDenial {
        REGISTRY_DENIES_NOTHING,
        REGISTRY_LACKS_IMAGE,  // or has none for such machines
        REGISTRY_WANTS_AUTH, // it gives the image to others, or lacks it: some say no more to strangers
} RegistryDenial;
RegistryDenial registry_words_denial(const char *words);
// What somebody may do about that, a clause behind the words; "": nobody knows. `shown`: it was shown what
// RegistryAuth= names. `pinned`: it was asked for a digest.
const char *registry_denial_hint(RegistryDenial d, bool shown, bool pinned);
