# Completion of skillrun for bash. The program itself knows what can be completed.
_skillrun() {
    local found
    COMPREPLY=()
    if found=$("$1" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); then
        if [[ -n $found ]]; then
            mapfile -t COMPREPLY <<<"$found"
            COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
        fi
    else
        compopt -o default 2>/dev/null
    fi
}
complete -o nosort -F _skillrun skillrun 2>/dev/null || complete -F _skillrun skillrun
