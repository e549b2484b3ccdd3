#!/bin/sh
# What `make test` needs from the system: the commands of the Debian packages in apt-packages.txt.
# As root on Debian it installs what is missing; anywhere else it names the packages and fails.
#
#   deploy/prerequisites.sh [PACKAGE...]      default: every package of apt-packages.txt
set -eu

here=$(dirname "$0")
[ $# -gt 0 ] || set -- $(cat "$here/apt-packages.txt")

java_is_recent() {
    "${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>&1 |
        awk -F'[".]' '/version/ { exit !($2 >= 17) }'
}

docker_answers() {
    command -v docker >/dev/null 2>&1 && docker info >/dev/null 2>&1
}

present() {
    case $1 in
        curl) command -v curl >/dev/null 2>&1 ;;
        # The broker of the tests runs on Java and its jars come by Maven, or it is an image.
        default-jre-headless) { command -v java >/dev/null 2>&1 && java_is_recent; } || docker_answers ;;
        binutils) command -v strip >/dev/null 2>&1 ;;
        buildah | catatonit | debootstrap | podman) command -v "$1" >/dev/null 2>&1 ;;
        chromium) command -v chromium >/dev/null 2>&1 ;;
        coq) command -v coqc >/dev/null 2>&1 ;;
        gcc) command -v gcc >/dev/null 2>&1 ;;
        kcat) command -v kcat >/dev/null 2>&1 ;;
        libc6-dev) echo '#include <stdio.h>' | cpp >/dev/null 2>&1 ;;
        maven) command -v mvn >/dev/null 2>&1 || docker_answers ;;
        mosquitto) { command -v mosquitto || [ -x /usr/sbin/mosquitto ]; } >/dev/null 2>&1 ;;
        mosquitto-clients) command -v mosquitto_sub >/dev/null 2>&1 ;;
        postgresql) { command -v initdb || ls /usr/lib/postgresql/*/bin/initdb; } >/dev/null 2>&1 ;;
        python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null ;;
        prometheus-alertmanager) command -v prometheus-alertmanager >/dev/null 2>&1 ;;
        prometheus) command -v promtool >/dev/null 2>&1 ;;
        spin) command -v spin >/dev/null 2>&1 ;;
        *) echo "prerequisites.sh does not know the command of package $1" >&2; exit 1 ;;
    esac
}

missing=
for package in "$@"; do
    present "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing Debian packages:$missing"
    export DEBIAN_FRONTEND=noninteractive
    options="-q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=5"
    apt-get $options update
    apt-get $options install --no-install-recommends $missing
fi

for package in $missing; do
    present "$package" && continue
    echo "missing: $package (Debian's name). Install it, or run as root on Debian:" >&2
    echo "  apt-get install$missing" >&2
    exit 1
done
