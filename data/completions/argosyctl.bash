# SPDX-License-Identifier: LGPL-2.1-or-later
# bash completion of argosyctl. Verbs, options and fields come from argosyctl itself, units and nodes from the cluster.

_argosyctl_cluster_words() { # list-unit-files|list-nodes FIELD
    argosyctl "${user[@]}" "$1" --no-legend --no-pager --full --quiet --timeout=2s --fields="$2" 2>/dev/null
}

_argosyctl_first_words() { # role|pool|secret VERB
    argosyctl "${user[@]}" "$1" "$2" --no-legend --quiet --timeout=2s 2>/dev/null | cut -d " " -f 1
}

# The word under the cursor as it will be read, in `whole`. bash breaks it at '@' and ':' and replaces only what stands behind (with the '@'):
# so many characters, `shown`, of each candidate are there already.
_argosyctl_whole_word() {
    local line="${COMP_LINE:0:COMP_POINT}" raw i breaks="${COMP_WORDBREAKS-@:}"

    raw="${line##*[[:space:]]}" whole="" shown=0
    case "$raw" in
    \'*) whole="${raw:1}" ;;
    *)
        [[ $raw == \"* ]] && raw="${raw:1}" breaks=""
        for ((i = 0; i < ${#raw}; i++)); do
            if [[ ${raw:i:1} == "\\" ]]; then
                ((i++))
            elif [[ ${raw:i:1} == [@:] && $breaks == *"${raw:i:1}"* ]]; then
                shown=${#whole}
                [[ ${raw:i:1} == "@" ]] || ((shown++))
            fi
            whole+="${raw:i:1}"
        done
        ;;
    esac
}

# Of the names on standard input those that begin with that, as they are: compgen would take backslashes out of them.
_argosyctl_add_names() {
    local name whole shown

    _argosyctl_whole_word
    while IFS= read -r name; do
        [[ -n $name && $name == "$whole"* ]] && found+=("${name:shown}")
    done
    compopt -o filenames # bash quotes them
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
    --node)
        # of one option: bash breaks it at the '='
        local COMP_LINE="$cur" COMP_POINT=${#cur}
        _argosyctl_add_names < <(_argosyctl_cluster_words list-nodes node)
        ;;
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
                    unit) _argosyctl_add_names < <(_argosyctl_cluster_words list-unit-files unit) ;;
                    node) _argosyctl_add_names < <(_argosyctl_cluster_words list-nodes node) ;;
                    role | pool) _argosyctl_add_names < <(_argosyctl_first_words "$word" show) ;;
                    secret) _argosyctl_add_names < <(_argosyctl_first_words "$word" list | uniq) ;;
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
