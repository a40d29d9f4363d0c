_ntrace_found() {
    local found number
    for ((number = 1; number < COMP_CWORD; number++)); do
        if [[ ${COMP_WORDS[number]} == -- ]]; then
            # The traced program and its arguments.
            if declare -F _command_offset >/dev/null; then
                _command_offset $((number + 1))
            elif ((number + 1 == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$2")
            fi
            return
        fi
    done
    if found=$("${1/#\~/$HOME}" completions bash -- "${COMP_LINE:0:COMP_POINT}" "${COMP_LINE:COMP_POINT}" "$2" 2>/dev/null); then
        COMPREPLY=()
        # No function is a file's name.
        compopt +o bashdefault +o default 2>/dev/null
        if [[ -n $found ]]; then
            mapfile -t COMPREPLY <<<"$found"
        fi
        if [[ $found == *[:!./] ]]; then
            compopt -o nospace 2>/dev/null
        fi
        return
    fi
    _ntrace "$@"
}

complete -F _ntrace_found -o nosort -o bashdefault -o default ntrace 2>/dev/null ||
    complete -F _ntrace_found -o bashdefault -o default ntrace
