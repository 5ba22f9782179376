// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A problem is the status once more, with its name, and a sentence for people. What a program does about it
// follows from the status alone: there is one type of problem for each, which RFC 9457 calls about:blank. A
// status that is not in the table is none that we send.

#include "http-problem.h"

#include <errno.h>

#include "json.h"

static const struct {
        unsigned status;
        const char *title;
        int errors[8]; // up to the first that is 0
} problems[] = {
        {400, "Bad Request", {EINVAL, EBADMSG}},
        {401, "Unauthorized", {EKEYREJECTED, EKEYEXPIRED, EKEYREVOKED}},
        {403, "Forbidden", {EACCES, EPERM}},
        {404, "Not Found", {ENOENT}},
        {405, "Method Not Allowed", {}},
        {409,
         "Conflict",
         {ECANCELED, EEXIST, EALREADY, ENOSPC, EHOSTDOWN, ENOTCONN, ENODATA, EPROTONOSUPPORT}},
        {411, "Length Required", {}},
        {412, "Precondition Failed", {ESTALE}},
        {413, "Content Too Large", {E2BIG, EMSGSIZE}},
        {415, "Unsupported Media Type", {}},
        {421, "Misdirected Request", {}},
        {429, "Too Many Requests", {EDQUOT}},
        {500, "Internal Server Error", {}},
        {501, "Not Implemented", {EOPNOTSUPP, ENOSYS}},
        {502, "Bad Gateway", {EREMOTEIO}}, // a registry
        {503,
         "Service Unavailable",
         {EBUSY, EAGAIN, ENOMEM, ESHUTDOWN, EHOSTUNREACH, ETIMEDOUT, ECONNRESET}},
        {504, "Gateway Timeout", {EINPROGRESS}}, // its outcome is unknown
};

unsigned http_status_of(int error) {
        for (size_t i = 0; i < ELEMENTSOF(problems); i++)
                for (size_t k = 0; k < ELEMENTSOF(problems[i].errors) && problems[i].errors[k]; k++)
                        if (problems[i].errors[k] == error)
                                return problems[i].status;
        return 500;
}

static const char *title_of(unsigned status) {
        for (size_t i = 0; i < ELEMENTSOF(problems); i++)
                if (problems[i].status == status)
                        return problems[i].title;
        return "Unknown";
}

static void write_what(Json *j, const HttpProblem *p) {
        if (p->detail && *p->detail)
                json_strings(j, (const char *const[][2]){{"detail", p->detail}}, 1);
        if (p->unit)
                json_strings(j, (const char *const[][2]){{"unit", p->unit}}, 1);
        if (p->node)
                json_strings(j, (const char *const[][2]){{"node", p->node}}, 1);
        if (p->line > 0) {
                json_member_u64(j, "line", p->line);
        }
}

void http_problem_members(const HttpProblem *problem, Json *j) {
        json_strings(j,
                     (const char *const[][2]){{"type", "about:blank"}, {"title", title_of(problem->status)}},
                     2);
        json_member_u64(j, "status", problem->status);
        write_what(j, problem);
}

char *http_problem(const HttpProblem *problem) {
        Json j = {};
        char *text;

        json_begin(&j, '{');
        http_problem_members(problem, &j);
        json_end(&j, '}');
        json_finish(&j);
        text = j.failed ? NULL : buf_take_string(&j.text);
        json_done(&j);
        return text;
}
