// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// Messages for people. Only `on_*` functions and main() log; everything else returns an error.
// Goes to the journal with fields when stderr is connected to it and the program has a sender
// (log-journal.h), else to stderr as text. The journal of the unit keeps an error even if the process ends
// at once.

#include <syslog.h>

#include "macro.h"

enum { LOG_MESSAGE_MAX = 2048 }; // bytes; longer messages are cut

// Hands a message on to the journal. field: NULL, or the name of a field of that value.
typedef void LogSender(int level, const char *name, const char *file, int line, const char *field,
                       const char *value, const char *message);

// Sets the function that sends structured messages; without one the journal gets text, with the level in
// front.
void log_set_sender(LogSender *sender);
// level: LOG_DEBUG ... LOG_ERR; messages above it (less urgent) are dropped. Default LOG_INFO.
void log_set_level(int level);
// Prefix of text messages, and SYSLOG_IDENTIFIER. `name` must stay valid for ever.
void log_set_name(const char *name);

void log_write(int level, const char *file, int line, const char *field, const char *value,
               const char *format, ...) _printf_(6, 7);

#define log_debug(...) log_write(LOG_DEBUG, __FILE__, __LINE__, NULL, NULL, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __FILE__, __LINE__, NULL, NULL, __VA_ARGS__)
#define log_notice(...) log_write(LOG_NOTICE, __FILE__, __LINE__, NULL, NULL, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, __FILE__, __LINE__, NULL, NULL, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERR, __FILE__, __LINE__, NULL, NULL, __VA_ARGS__)
// With one structured field, e.g. ARGOSY_UNIT or ARGOSY_HOST, so that `journalctl ARGOSY_UNIT=web.service`
// finds it.
#define log_unit(level, unit, ...) log_write(level, __FILE__, __LINE__, "ARGOSY_UNIT", unit, __VA_ARGS__)
#define log_host(level, host, ...) log_write(level, __FILE__, __LINE__, "ARGOSY_HOST", host, __VA_ARGS__)
