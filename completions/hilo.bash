# Completion of the hilo command for bash; it is installed as bash-completion/completions/hilo.

_hilo() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()

    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'run compile explain check bench opt ops devices kir cache calibrate
            generate tokenize perplexity emit quantize help --help --version' -- "$word")
        return
    fi
    case $previous in
    --backend)
        mapfile -t COMPREPLY < <(compgen -W 'auto reference codegen library interpreter' -- "$word")
        return
        ;;
    --emit)
        mapfile -t COMPREPLY < <(compgen -W 'hilo stablehlo plan kir llvm asm object' -- "$word")
        return
        ;;
    --input | -o)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -X '!*.np[yz]' -- "$word"; compgen -d -- "$word")
        return
        ;;
    -m)
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
    --precision)
        mapfile -t COMPREPLY < <(compgen -W 'auto f32 bf16 f16 int8 int4 int4z' -- "$word")
        return
        ;;
    --engine)
        mapfile -t COMPREPLY < <(compgen -W 'hilo reference pjrt:' -- "$word")
        return
        ;;
    --graph)
        mapfile -t COMPREPLY < <(compgen -W 'decode prefill score grow' -- "$word")
        return
        ;;
    --floats)
        mapfile -t COMPREPLY < <(compgen -W 'exact no-nan reassoc' -- "$word")
        return
        ;;
    --runs | --seconds) return ;;
    --entry | --timing | --threads | --filter | --timeout | --elide | --passes | --stop-after | --dump) return ;;
    --disable-rule | --rule-limit | -p | -n | --system | --temperature | --top-k | --top-p | --min-p) return ;;
    --repetition-penalty | --seed | --stop | --context | --batch | --tokens) return ;;
    esac

    if [[ $word == -* ]]; then
        local options='--help' compile='-O0 -O1 -O2 -O3 --passes --dump-dir --backend --threads --memory-limit'
        local model='-m --precision --engine --context --threads -O0 -O1 -O2 -O3'
        case ${COMP_WORDS[1]} in
        run) options+=" $compile --no-cache --entry --input -o --timing --json --trace --compare --tolerance" ;;
        compile) options+=" $compile --entry -o --emit --target-cpu" ;;
        explain) options+=" $compile --entry --input -o --run --runs" ;;
        check) options+=" $compile -j --filter --timeout --reload --verbose" ;;
        bench) options+=" $compile --runs --seconds --timeout --input --entry --json" ;;
        opt)
            options+=' -O1 -O2 -O3 --passes --stop-after --dump --disable-rule --rule-limit --floats --stats'
            options+=' --list-passes --generic --locations --elide'
            ;;
        ops) options+=' --markdown --json' ;;
        calibrate) options+=' --show' ;;
        devices) options+=' --json' ;;
        kir) options+=' --expand --clean --run --seed --emit --target' ;;
        generate)
            options+=" $model -p -f -n --system --raw --special --temperature --top-k --top-p --min-p"
            options+=' --repetition-penalty --seed --stop --timing --json'
            ;;
        tokenize) options+=' -m -f --special --pieces --decode --json' ;;
        perplexity) options+=" $model -f --json" ;;
        emit) options+=' -m --graph -o --precision --batch --context --tokens --logits' ;;
        quantize) options+=' -o --int8 --int4 --int4z --bf16 --f16' ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -X '!*.mlir' -- "$word"; compgen -d -- "$word")
    fi
}
complete -F _hilo hilo
