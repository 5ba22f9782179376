#!/bin/sh
# Starts what has failed anew, and waits for it: for a cron job, or somebody in a hurry. Needs curl and jq.
set -eu
api() { curl --silent --show-error --fail-with-body --unix-socket "${ARGOSY_SOCKET:-/run/argosy/http.sock}" "$@"; }

api 'http://argosy/v1/units?state=failed' | jq -r '.units[].unit' | sort -u | while read -r unit; do
        jq -n --arg unit "$unit" '{verb: "start", units: [$unit], reason: "had failed"}' |
                api 'http://argosy/v1/jobs?wait=60' --json @- | jq -r '.jobs[] | "\(.targets[0]): \(.state)"'
done
