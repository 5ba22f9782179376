#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What bash offers. $1: argosyctl, $2: the completion script.
PATH="$(dirname "$1"):$PATH"
compopt() { :; }
source "$2"

expect() { # WANTED WORD...
    local wanted="$1"
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=() COMP_LINE="$*"
    COMP_POINT=${#COMP_LINE}
    _argosyctl
    if [[ ${COMPREPLY[*]} != "$wanted" ]]; then
        echo "$*: offers '${COMPREPLY[*]}', not '$wanted'" >&2
        exit 1
    fi
}

expect "start status" argosyctl sta
expect "1 3 5" argosyctl cluster voters ""
expect "status token join leave remove promote demote voters rotate-ca set-time peers recover" argosyctl cluster ""
expect "join" argosyctl --timeout = 3 cluster j
expect "--lines=" argosyctl journal --li
expect "--user" argosyctl start --us
expect "join" argosyctl --user cluster j
expect "" argosyctl journal --rep
expect "--replace" argosyctl start --rep
expect "short pretty off" argosyctl list-units --json =
expect "inactive" argosyctl wait web --for = in
expect "job,grant" argosyctl watch --kinds = job,g
expect "unit,node unit,note" argosyctl list-units --fields = unit,n
expect "promote" argosyctl --timeout 3 cluster pro
[[ $(argosyctl complete arguments verify) == file ]] || { echo "verify takes other arguments" >&2; exit 1; }
[[ $(argosyctl complete arguments start) == $'unit\nfile' ]] || { echo "start takes other arguments" >&2; exit 1; }
expect "set show delete" argosyctl role ""
expect "Weight=" argosyctl role set web We
expect "grant revoke list" argosyctl access ""
expect "operate" argosyctl access grant op
expect "create revoke list" argosyctl token ""
expect "deploy" argosyctl token create --right = de
[[ $(argosyctl complete arguments role delete) == role ]] || { echo "role delete takes other arguments" >&2; exit 1; }
[[ $(argosyctl complete arguments secret delete) == secret ]] || { echo "secret delete takes other arguments" >&2; exit 1; }
expect "set list rotate-key delete" argosyctl secret ""
expect "--restart" argosyctl secret set --res
[[ $(argosyctl complete arguments pool set) == $'node\npool' ]] || { echo "pool set takes other arguments" >&2; exit 1; }
[[ $(argosyctl complete arguments cluster remove) == node ]] || { echo "cluster remove takes other arguments" >&2; exit 1; }
# Names are offered as they are, behind what bash leaves there: it breaks words at '@' and ':', and keeps the '@'.
_argosyctl_cluster_words() { printf '%s\n' 'srv-a\x2db.mount' web@1.service x:y.service '$(touch /tmp/never)' n2; }
expect 'srv-a\x2db.mount' argosyctl stop srv
expect 'srv-a\x2db.mount' argosyctl stop 'srv-a\\x2d'
expect 'srv-a\x2db.mount' argosyctl stop "'srv-a\\x2d"
expect '@1.service' argosyctl stop web@1
expect 'web@1.service' argosyctl stop "'web@1"
expect 'y.service' argosyctl stop x:
expect 'n2' argosyctl list-units --node = n
[[ $(argosyctl complete verbs | sort | uniq -d) == "" ]] || { echo "a verb is offered twice" >&2; exit 1; }
