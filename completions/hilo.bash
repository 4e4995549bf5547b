# Completion of the hilo command for bash; it is installed as bash-completion/completions/hilo.

_hilo() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()

    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'run check opt ops devices --help --version' -- "$word")
        return
    fi
    case $previous in
    --backend)
        mapfile -t COMPREPLY < <(compgen -W 'reference library codegen auto' -- "$word")
        return
        ;;
    --input | -o)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -X '!*.np[yz]' -- "$word"; compgen -d -- "$word")
        return
        ;;
    --entry | --timing | --threads) return ;;
    esac

    if [[ $word == -* ]]; then
        local options='-O0 -O1 -O2 -O3 --backend --threads --json --help'
        case ${COMP_WORDS[1]} in
        run) options+=' --entry --input -o --timing' ;;
        check) ;;
        opt) options='--generic --passes= --help' ;;
        *) options='--json --help' ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -X '!*.mlir' -- "$word"; compgen -d -- "$word")
    fi
}
complete -F _hilo hilo
