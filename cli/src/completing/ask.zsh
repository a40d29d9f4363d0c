_ntrace() {
    local found
    local -a all whole parts
    if found=$(${(Q)words[1]/#\~/$HOME} completions zsh -- $((CURRENT - 1)) "${(Q)PREFIX}" \
        "${(@Q)words[1,CURRENT-1]}" "${(@Q)words[CURRENT+1,-1]}" 2>/dev/null); then
        all=("${(@f)found}")
        # A module and a path of names go on; other words end with a space.
        parts=(${(M)all:#*[:!./]})
        whole=(${all:#*[:!./]})
        (($#whole)) && compadd -a whole
        (($#parts)) && compadd -S '' -a parts
        return 0
    fi
    _ntrace_declared "$@"
}

if [ "$funcstack[1]" = "_ntrace" ]; then
    _ntrace "$@"
else
    compdef _ntrace ntrace
fi
