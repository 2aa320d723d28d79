# What the benchmarks measure: three functions of the shell.

count() {
    i=0
    while [ "$i" -lt 2000 ]; do i=$((i + 1)); done
}

join() {
    text=
    for word in $(seq 300); do text=$text,$word; done
}

split() {
    IFS=,
    for word in $(seq -s, 600); do :; done
    unset IFS
}
