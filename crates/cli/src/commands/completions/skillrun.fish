# Completion of skillrun for fish. The program itself knows what can be completed.
function __skillrun_complete
    set -l words (commandline --tokenize --current-process --cut-at-cursor)
    command --query $words[1]; or return
    set -l token (commandline --current-token --cut-at-cursor)
    set -l found (command $words[1] complete -- $words[2..] "$token" 2>/dev/null)
    if test $status -eq 0
        printf '%s\n' $found
    else
        __fish_complete_path "$token"
    end
end
complete --command skillrun --erase
complete --command skillrun --no-files --keep-order --arguments '(__skillrun_complete)'
