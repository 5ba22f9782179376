# SPDX-License-Identifier: LGPL-2.1-or-later
# bash completion of argosyctl. Verbs, options and fields come from argosyctl itself, units and nodes from the cluster.

_argosyctl_cluster_words() { # list-unit-files|list-nodes FIELD
    argosyctl "${user[@]}" "$1" --no-legend --no-pager --full --quiet --timeout=2s --fields="$2" 2>/dev/null
}

_argosyctl_first_words() { # role|pool
    argosyctl "${user[@]}" "$1" show --no-legend --quiet --timeout=2s 2>/dev/null | cut -d " " -f 1
}

_argosyctl() {
    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD - 1]}" word i
    local -a verb=() found=() user=()
    local families=" $(argosyctl complete families 2>/dev/null | tr '\n' ' ')" valued=" $(argosyctl complete valued 2>/dev/null | tr '\n' ' ')"

    # bash splits --json=short at the '='.
    if [[ $cur == "=" ]]; then
        cur=""
    elif [[ $prev == "=" && COMP_CWORD -ge 2 ]]; then
        prev="${COMP_WORDS[COMP_CWORD - 2]}"
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        case "$word" in
        --user) user=(--user) ;;
        -*)
            [[ $valued == *" $word "* ]] || continue
            [[ ${COMP_WORDS[i + 1]} == "=" ]] && ((i++))
            ((i++))
            ;;
        =) ;;
        *)
            verb+=("$word")
            [[ $families == *" ${verb[0]} "* && ${#verb[@]} -lt 2 ]] || break
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
    --state) found=($(compgen -W "active inactive failed unknown activating deactivating running exited dead looping drift skipped bound conflict stale mismatch error launched loaded online suspect lost cordoned draining held done overtaken cancelled" -- "$cur")) ;;
    --right) found=($(compgen -W "view operate deploy admin" -- "$cur")) ;;
    --for) found=($(compgen -W "active inactive failed gone" -- "$cur")) ;;
    --kinds)
        local before=""
        [[ $cur == *,* ]] && before="${cur%,*},"
        found=($(compgen -P "$before" -W "$(argosyctl complete kinds 2>/dev/null)" -- "${cur##*,}"))
        ;;
    --cursor-file) found=($(compgen -f -- "$cur")) ;;
    --exec) found=($(compgen -c -- "$cur")) ;;
    --order) found=($(compgen -W "path cpu memory tasks io" -- "$cur")) ;;
    --node) found=($(compgen -W "$(_argosyctl_cluster_words list-nodes node)" -- "$cur")) ;;
    --socket) found=($(compgen -f -- "$cur")) ;;
    *)
        if [[ $prev == -* && $valued == *" $prev "* ]]; then
            return
        elif [[ $cur == -* ]]; then
            found=($(compgen -W "$(argosyctl complete options "${verb[@]}" 2>/dev/null)" -- "$cur"))
            [[ ${#found[@]} -eq 1 && ${found[0]} == *= ]] && compopt -o nospace
        else
            if [[ ${#verb[@]} -eq 0 ]]; then
                found=($(compgen -W "$(argosyctl complete verbs 2>/dev/null)" -- "$cur"))
            elif [[ ${#verb[@]} -eq 1 && $families == *" ${verb[0]} "* ]]; then
                found=($(compgen -W "$(argosyctl complete "${verb[0]}" 2>/dev/null)" -- "$cur"))
            else
                for word in $(argosyctl complete arguments "${verb[@]}" 2>/dev/null); do
                    case "$word" in
                    unit) found+=($(compgen -W "$(_argosyctl_cluster_words list-unit-files unit)" -- "$cur")) ;;
                    node) found+=($(compgen -W "$(_argosyctl_cluster_words list-nodes node)" -- "$cur")) ;;
                    role | pool) found+=($(compgen -W "$(_argosyctl_first_words "$word")" -- "$cur")) ;;
                    *=)
                        found+=($(compgen -W "$word" -- "$cur"))
                        compopt -o nospace
                        ;;
                    file)
                        found+=($(compgen -f -- "$cur"))
                        compopt -o filenames
                        ;;
                    *) found+=($(compgen -W "$word" -- "$cur")) ;;
                    esac
                done
            fi
        fi
        ;;
    esac
    COMPREPLY=("${found[@]}")
}

complete -F _argosyctl argosyctl
