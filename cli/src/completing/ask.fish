# While it completes, fish tells nothing of what is behind the cursor.
function __ntrace_found
    set -l before (commandline -opc)
    $before[1] completions fish -- (count $before) (commandline -ct | string collect --allow-empty) $before 2>/dev/null
end

complete -c ntrace -n "__fish_ntrace_using_subcommand list" -f -a '(__ntrace_found)'
