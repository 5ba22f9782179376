# SPDX-License-Identifier: LGPL-2.1-or-later
# bash completion of argosyctl. Verbs, options and fields come from argosyctl itself, units and nodes from the cluster.

_argosyctl_cluster_words() { # list-unit-files|list-nodes FIELD
    argosyctl "$1" --no-legend --no-pager --full --quiet --timeout=2s --fields="$2" 2>/dev/null
}

_argosyctl() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD - 1]}" word i
    local -a verb=() found=()

    # bash splits --json=short at the '='.
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" && COMP_CWORD -ge 2 ]]; then
        prev="${COMP_WORDS[COMP_CWORD - 2]}"
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        case "$word" in
        -n | --lines | --socket | --timeout | --json | --fields | --node | --ttl | --state)
            [[ ${COMP_WORDS[i + 1]} == "=" ]] && ((i++))
            ((i++))
            ;;
        -* | =) ;;
        *)
            verb+=("$word")
            [[ ${verb[0]} == cluster && ${#verb[@]} -lt 2 ]] || break
            ;;
        esac
    done

    case "$prev" in
    --json) found=($(compgen -W "short pretty off" -- "$cur")) ;;
    --fields)
        local before=""
        [[ $cur == *,* ]] && before="${cur%,*},"
        found=($(compgen -P "$before" -W "$(argosyctl complete fields "${verb[0]}" 2>/dev/null)" -- "${cur##*,}"))
        compopt -o nospace
        ;;
    --state) found=($(compgen -W "active inactive failed unknown activating deactivating running exited dead" -- "$cur")) ;;
    --node) found=($(compgen -W "$(_argosyctl_cluster_words list-nodes node)" -- "$cur")) ;;
    --socket) found=($(compgen -f -- "$cur")) ;;
    -n | --lines | --timeout | --ttl) return ;;
    *)
        if [[ $cur == -* ]]; then
            found=($(compgen -W "$(argosyctl complete options "${verb[@]}" 2>/dev/null)" -- "$cur"))
            [[ ${#found[@]} -eq 1 && ${found[0]} == *= ]] && compopt -o nospace
        else
            case "${verb[*]}" in
            "") found=($(compgen -W "$(argosyctl complete verbs 2>/dev/null)" -- "$cur")) ;;
            cluster) found=($(compgen -W "$(argosyctl complete cluster 2>/dev/null)" -- "$cur")) ;;
            submit | load | start)
                found=($(compgen -W "$(_argosyctl_cluster_words list-unit-files unit)" -- "$cur") $(compgen -f -- "$cur"))
                compopt -o filenames
                ;;
            stop | restart | unload | destroy | status | cat | journal | is-active | list-units | list-unit-files)
                found=($(compgen -W "$(_argosyctl_cluster_words list-unit-files unit)" -- "$cur"))
                ;;
            "cluster remove" | "cluster promote" | "cluster demote")
                found=($(compgen -W "$(_argosyctl_cluster_words list-nodes node)" -- "$cur"))
                ;;
            help) found=($(compgen -W "$(argosyctl complete verbs 2>/dev/null)" -- "$cur")) ;;
            esac
        fi
        ;;
    esac
    COMPREPLY=("${found[@]}")
}

complete -F _argosyctl argosyctl
