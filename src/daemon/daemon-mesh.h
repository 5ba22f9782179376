// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

// This host's sessions with the others (mesh.h): what arrives is handed to whom it is for.

typedef struct Daemon Daemon;

// Dials the voters of the peers file. 0, or negative errno; `d->mesh` stays until mesh_close().
int daemon_mesh_open(Daemon *d);
