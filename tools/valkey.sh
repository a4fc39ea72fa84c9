#!/bin/bash
# Fetches a Valkey server from the backports of this Debian and runs the module's tests in it.
# usage: tools/valkey.sh [pytest's options]
#
# Nothing is installed: the packages are unpacked in build/valkey, where the server stays for the
# next time. LETHE_SERVER=program makes the tests use any other server.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/build/valkey
server=$folder/usr/bin/valkey-server

fetch() {
    local release uri
    # shellcheck disable=SC1091
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # shellcheck disable=SC2016 # apt fills it in
    uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security |
        sort -u | head -n 1)
    mkdir -p "$folder"/apt/{lists,archives}/partial
    echo "deb $uri $release-backports main" >"$folder/apt/sources.list"
    local apt=(apt-get -qq -o "Dir::Etc::SourceList=$folder/apt/sources.list"
        -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$folder/apt/lists"
        -o "Dir::Cache=$folder/apt" -o APT::Sandbox::User=root)
    "${apt[@]}" update
    (cd "$folder/apt" && "${apt[@]}" download valkey-server valkey-tools)
    for package in "$folder"/apt/*.deb; do
        dpkg -x "$package" "$folder"
    done
}

[ -x "$server" ] || fetch
"$server" --version
LETHE_SERVER=$server /usr/bin/python3 -m pytest -q tests/module "$@"
