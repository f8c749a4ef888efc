#compdef skillrun
# Completion of skillrun for zsh. The program itself knows what can be completed.
_skillrun() {
    local -a lines described
    local line value
    lines=("${(@f)$("${(Q)words[1]}" complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    if (( $? )); then
        [[ $PREFIX == *=* ]] && compset -P '*='
        _files
        return
    fi
    for line in $lines; do
        value=${line%%$'\t'*}
        described+=("${value//:/\\:}:${line#*$'\t'}")
    done
    (( $#described )) && _describe -V 'skillrun' described
}
if [[ $funcstack[1] == _skillrun ]]; then
    _skillrun "$@"
else
    compdef _skillrun skillrun
fi
