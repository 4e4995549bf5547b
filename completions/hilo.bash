# Completion of the hilo command for bash; it is installed as bash-completion/completions/hilo.

_hilo() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()

    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'run check opt ops devices help --help --version' -- "$word")
        return
    fi
    case $previous in
    --backend)
        mapfile -t COMPREPLY < <(compgen -W 'auto reference' -- "$word")
        return
        ;;
    --input | -o)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -X '!*.np[yz]' -- "$word"; compgen -d -- "$word")
        return
        ;;
    --floats)
        mapfile -t COMPREPLY < <(compgen -W 'exact no-nan reassoc' -- "$word")
        return
        ;;
    --entry | --timing | --threads | --filter | --timeout | --elide | --passes | --stop-after | --dump) return ;;
    --disable-rule | --rule-limit) return ;;
    esac

    if [[ $word == -* ]]; then
        local options='--help' compile='-O0 -O1 -O2 -O3 --backend --threads'
        case ${COMP_WORDS[1]} in
        run) options+=" $compile --entry --input -o --timing --json" ;;
        check) options+=" $compile --filter --timeout --verbose" ;;
        opt)
            options+=' -O1 -O2 -O3 --passes --stop-after --dump --disable-rule --rule-limit --floats --stats'
            options+=' --list-passes --generic --locations --elide'
            ;;
        ops) options+=' --markdown --json' ;;
        devices) options+=' --json' ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -X '!*.mlir' -- "$word"; compgen -d -- "$word")
    fi
}
complete -F _hilo hilo
