// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Small helpers on strings.

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "macro.h"

// A new string, or NULL (out of memory).
char *str_printf(const char *format, ...) _printf_(1, 2);
// The letters of ASCII, whatever the locale says.
void str_lower(char *s);
bool str_has_prefix(const char *s, const char *prefix);
// Whether the path is `dir`, or lies beneath it, by their names alone. `dir` has no slash at its end.
bool path_is_beneath(const char *path, const char *dir);
// A new object of `size` bytes, all zero, whose last field, `at` bytes from its begin, is a copy of `text`:
// char []. NULL: out of memory. What is assigned to the object as a whole would overwrite the text.
void *str_new_with(size_t size, size_t at, const char *text) _warn_unused_;
#define NEW_WITH_TEXT(type, field, text) ((type *) str_new_with(sizeof(type), offsetof(type, field), (text)))
// Copies into a buffer of `size` bytes; false (and an empty string) if it does not fit.
bool str_copy(char *ret, size_t size, const char *s);
// How many of the `len` bytes at `s` are kept of at most `max`: a character of UTF-8 is kept whole or not at
// all.
size_t str_cut_bytes(const char *s, size_t len, size_t max);
size_t str_cut(const char *s, size_t max);
// A copy of as much. NULL: out of memory.
char *str_dup_cut(const char *s, size_t max);
// As snprintf() for text of others: what is too long for the buffer ends with a whole character. Returns its
// length.
size_t str_fit(char *ret, size_t size, const char *format, ...) _printf_(3, 4);
size_t str_vfit(char *ret, size_t size, const char *format, va_list ap) _printf_(3, 0);
enum { STR_WHY_SIZE = 512 };
// What is wrong with what somebody has sent, cut to STR_WHY_SIZE as above; *ret_why is NULL without memory,
// and owned by the caller. Always -EINVAL.
int str_refuse(char **ret_why, const char *format, ...) _printf_(2, 3);
bool str_has_suffix(const char *s, const char *suffix);

// Length of the valid UTF-8 sequence at `p` (a NUL-terminated string): 1 to 4, or 0 if there is none.
// Overlong forms, surrogates and what is beyond U+10FFFF are invalid.
size_t str_utf8_len(const uint8_t *p);
// Whether the sequence of that length (not 0) is no control character, and none that turns the direction of
// text.
bool str_is_seen(const uint8_t *p, size_t len);
// The character of these bytes, of which str_utf8_len() has said how many they are.
uint32_t str_character(const uint8_t *p, size_t len);
// Words of people, that others are to read as they were written: UTF-8, without control characters and those
// that turn the direction of text.
bool str_is_plain(const char *s);

// `ret` has room for 2 * len + 1.
void hex_encode(const void *data, size_t len, char *ret);
// Exactly 2 * len hex digits, nothing behind them.
bool hex_decode(const char *hex, void *ret, size_t len);
// The first `len` bytes of a part of a URL: %XX is a byte, and where `plus_is_blank` a plus is a blank.
// Whether the new string is text is for who takes it to see. -EINVAL: behind a percent sign there are no two
// digits, or they are 00; -ENOMEM.
int percent_decode(const char *text, size_t len, bool plus_is_blank, char **ret);

// Decimal without sign, blanks or leading '+', at most `max`. False (and *ret untouched) otherwise.
// A copy of at most `max` bytes, in which everything but printable ASCII is a question mark: for text of
// strangers. NULL: out of memory.
char *str_printable(const char *s, size_t max);
bool parse_u64(const char *s, uint64_t max, uint64_t *ret);
// systemd's way to write a time span, as far as configuration needs it: "5", "5s", "500ms", "1.5", "2min",
// "30d". Microseconds.
bool parse_span_us(const char *s, uint64_t *ret);
