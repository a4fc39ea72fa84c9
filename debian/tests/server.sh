# shellcheck shell=sh
# Read by the tests redis and python-once: starts a server in a folder of its own, which loads the
# module as the package's configuration says. The folder is the current one; socket is in it.
work=$(mktemp -d "${AUTOPKGTEST_TMP:-${TMPDIR:-/tmp}}/redis.XXXXXX")
cd "$work" || exit 1
{
    echo "include /etc/lethe/redis.conf"
    echo "port 0"
    echo "unixsocket $work/socket"
    echo "save \"\""
    echo "dir $work"
    echo "daemonize yes"
    echo "pidfile $work/pid"
    echo "logfile $work/log"
} >redis.conf
ask() { redis-cli -s "$work/socket" "$@"; }
stop() {
    ask shutdown nosave >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap stop EXIT
redis-server redis.conf
tries=100
until ask ping >/dev/null 2>&1; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || {
        cat log
        exit 1
    }
    sleep 0.1
done
