// SPDX-License-Identifier: LGPL-2.1-or-later
//
//   a pull, a removal, a question -> systemd-run, in a service of its own (transient-command.h) -> its end
//
// Names begin with this process' id, so that the service of an argosyd that has crashed is in nobody's way;
// no unit of the cluster can have such a name. All of them run as root's, without argosyd's sandbox.
//
// Failures: what was not started is the caller's to tell. When the agent ends, services are stopped, and it
// is closed when the last of them is gone.

#include "agent-command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "str.h"

char *agent_command_unit(Agent *a) {
        return str_printf("argosyd-image-%d-%" PRIu64 ".service", (int) getpid(), ++a->images.n_commands);
}

int agent_command_start(Agent *a, const AgentCommand *command, TransientDone *done, void *userdata,
                        TransientCommand **ret) {
        const char *const environment[] = {"HOME=/root", command->auth_file, NULL};
        _cleanup_free_ char *unit = command->unit ? NULL : agent_command_unit(a);
        const TransientConfig config = {.loop = a->loop,
                                        .runner = a->images.runner,
                                        .unit = command->unit ?: unit,
                                        .description = command->description,
                                        .args = command->args,
                                        .environment = environment,
                                        .limit_sec = command->limit_sec,
                                        .output_max = command->output_max,
                                        .heard = command->heard};

        if (!config.unit || !config.description)
                return -ENOMEM;
        return transient_command_start(&config, done, userdata, ret);
}

static void on_closed(void *userdata) {
        agent_close_step(userdata);
}

void agent_command_cancel(Agent *a, TransientCommand **command) {
        if (!*command)
                return;
        a->n_open++;
        transient_command_cancel(TAKE_PTR(*command), on_closed, a);
}
