#!/bin/bash
# check_deb.sh - the Debian packages: built, looked at by lintian, installed, used, removed and purged.
#
#     tests/check_deb.sh                   installs into a copy of this system that is thrown away: an overlay in a mount
#                                          namespace of its own. This system is not changed.
#     tests/check_deb.sh --fresh           installs into a minimal Debian made by mmdebstrap (network; minutes), which has
#                                          nothing but what the packages depend on
#     tests/check_deb.sh --built [--fresh] takes the packages of build-deb/ as they are
#
# What the first cannot find: a dependency that is missing in debian/control while this system has it. Libraries are
# found by dpkg-shlibdeps, so that would be something else; --fresh finds it. Neither starts systemd: the unit is looked
# at by systemd-analyze, and the service runs with the command of the unit, as the user of the unit, without the sandbox.
#
# Needs root (a namespace, a chroot); 77, skipped, without.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

fail() {
    echo "check_deb: $*" >&2
    exit 1
}

# Reads to the end, unlike grep -q, which would make the command before it fail by a broken pipe.
has() { grep "$@" >/dev/null; }

# ---- Inside: the packages are in /packages, / is the system to install into --------------------------------------

# Names of everything that may be left behind; the package manager's own records change. Only where packages put files:
# elsewhere the system below the overlay is in use.
list_files() {
    find /etc /usr /opt /srv /var -xdev \( -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \
        -o -path /var/tmp \) -prune -o -print | sort
}

check_inside() {
    local kind=$1 here packages
    cd /
    export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
    command -v inmo >/dev/null && fail "inmo is installed here already"
    packages=(/packages/inmo_*.deb /packages/libinmo1_*.deb /packages/libinmo-dev_*.deb)
    if [ "$kind" = fresh ]; then
        apt-get -q update
        # What the packages need, and what looks at them: then installing adds only the packages.
        apt-get -q -y --no-install-recommends install man-db bash-completion zsh fish curl gcc libc6-dev pkg-config systemd
        # The documentation that minimal systems leave out.
        rm -f /etc/dpkg/dpkg.cfg.d/*docker* /etc/dpkg/dpkg.cfg.d/*slim*
        apt-get -q -y --no-install-recommends install "${packages[@]}"
        dpkg -P inmo libinmo-dev libinmo1
    fi
    list_files >/tmp/before
    dpkg -i "${packages[@]}" || fail "the packages cannot be installed"

    # The program, its manual page, and what the shells complete.
    inmo --version
    /packages/smoke.sh inmo
    man -P cat inmo 2>/dev/null | has 'inmo recommend' || fail "man inmo does not show the manual page"
    [ "$(bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader inmo; complete -p inmo')" ] ||
        fail "bash has no completion for inmo"
    bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader inmo
        COMP_WORDS=(inmo rec) COMP_CWORD=1 COMP_LINE="inmo rec" COMP_POINT=8
        $(complete -p inmo | sed "s/.*-F \([^ ]*\).*/\1/") inmo rec inmo; printf "%s\n" "${COMPREPLY[@]}"' |
        has '^recommend' || fail "bash does not complete inmo rec"
    zsh -c 'autoload -Uz compinit && compinit -u -d /tmp/zcompdump && (( ${+_comps[inmo]} ))' ||
        fail "zsh has no completion for inmo"
    fish -c 'complete -C "inmo rec"' | has '^recommend' || fail "fish does not complete inmo rec"

    # The library, as a program of somebody else uses it.
    here=$(mktemp -d)
    # shellcheck disable=SC2046 # flags are words
    cc -o "$here/unseen" /packages/unseen_user.c $(pkg-config --cflags --libs inmo)
    "$here/unseen" >/dev/null || fail "a program with libinmo1 fails"
    ldd "$here/unseen" | has 'libinmo.so.1 => /' || fail "the program does not use libinmo1"
    rm -rf "$here"

    check_service

    # Removed: the store and the settings stay. Purged: nothing does, but the system user, as is usual.
    touch /var/lib/inmo/kept
    dpkg -r inmo libinmo-dev libinmo1
    [ -e /etc/inmo/serve.conf ] && [ -e /var/lib/inmo/kept ] || fail "removing the packages removes what is kept"
    [ ! -e /usr/bin/inmo ] || fail "the program is left"
    dpkg -P inmo libinmo-dev libinmo1
    list_files >/tmp/after
    comm -13 /tmp/before /tmp/after >/tmp/left
    comm -23 /tmp/before /tmp/after >/tmp/lost
    # The accounts' backups, and the log of the users that were made.
    if grep -vE '^/etc/(passwd|group|shadow|gshadow)-$|^/etc/\.pwd\.lock$' /tmp/left /tmp/lost; then
        fail "these files were left or lost"
    fi
    dpkg-query -W 'inmo' 'libinmo*' 2>/dev/null | grep . && fail "packages are left"
    return 0
}

# The service without systemd: the user, the folder and the command of the unit.
check_service() {
    local unit=/lib/systemd/system/inmo.service command process code=0
    systemd-analyze verify $unit 2>&1 | tee /tmp/verify
    [ ! -s /tmp/verify ] || fail "systemd-analyze verify is not silent"
    systemd-analyze security --offline=true --threshold=20 $unit | tail -n 1 || fail "the unit is too open"
    id inmo || fail "there is no user inmo"
    [ "$(systemctl is-enabled inmo 2>/dev/null)" != enabled ] || fail "the service is enabled before it is set up"
    install -d -o inmo -g inmo -m 0750 /var/lib/inmo
    install -m 0640 -o root -g inmo /dev/null /etc/inmo/keys
    inmo serve --new-key test --rights admin --keys /etc/inmo/keys >/tmp/key
    command=$(sed -n 's/^ExecStart=//p' $unit)
    setpriv --reuid=inmo --regid=inmo --clear-groups $command --check
    setpriv --reuid=inmo --regid=inmo --clear-groups sh -c "cd /var/lib/inmo && exec $command --keys /etc/inmo/keys --port 0" \
        >/tmp/address 2>/tmp/log &
    process=$!
    for _ in $(seq 300); do [ -s /tmp/address ] || sleep 0.1; done
    curl -fsS -H "X-API-Key: $(head -n 1 /tmp/key)" -H 'Content-Type: application/json' \
        -d '[{"FeedbackType": "like", "UserId": "ann", "ItemId": "tea"}]' "$(cat /tmp/address)/api/feedback" |
        has '"RowAffected":1' || { cat /tmp/log; fail "the service does not take an event"; }
    kill -HUP $process # keys are reread, and it goes on
    curl -fsS "$(cat /tmp/address)/api/health/ready" | has true || fail "the service is not ready"
    kill -TERM $process
    wait $process || code=$?
    [ "$code" -eq 0 ] || { cat /tmp/log; fail "the service ends with $code"; }
    rm -f /etc/inmo/keys
}

if [ "${1-}" = --inside ]; then
    check_inside "$2"
    exit
fi

# ---- Outside -------------------------------------------------------------------------------------------------------

built= kind=overlay
for word in "$@"; do
    case $word in
    --built) built=1 ;;
    --fresh) kind=fresh ;;
    *) fail "unknown argument '$word'" ;;
    esac
done
if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
    echo "check_deb: skipped, it needs root and mount namespaces"
    exit 77
fi
cd "$root"
[ -n "$built" ] || tools/deb.sh
lintian --fail-on error,warning --tag-display-limit 0 build-deb/inmo_*.changes
echo "lintian: no error, no warning"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/packages" "$work/top"
cp build-deb/*.deb debian/smoke.sh examples/unseen_user.c tests/check_deb.sh "$work/packages"
if [ $kind = fresh ]; then
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -n 1 || true)
    mmdebstrap --variant=apt "$suite" "$work/top" ${mirror:+"$mirror"}
fi

# Everything that is mounted in the namespace goes with it. The overlay's upper layer is in memory.
# shellcheck disable=SC2016 # expanded by the inner shell
unshare -m --propagation private bash -euc '
    work=$1 kind=$2 top=$1/top
    if [ "$kind" = overlay ]; then
        mkdir "$work/memory" && mount -t tmpfs tmpfs "$work/memory" && mkdir "$work/memory/upper" "$work/memory/work"
        mount -t overlay overlay -o "lowerdir=/,upperdir=$work/memory/upper,workdir=$work/memory/work" "$top"
    fi
    mount -t proc proc "$top/proc"
    mount --rbind /dev "$top/dev"
    mount -t tmpfs tmpfs "$top/tmp"
    mount -t tmpfs tmpfs "$top/run"
    mkdir -p "$top/packages"
    mount --bind "$work/packages" "$top/packages"
    [ "$kind" = overlay ] || cp /etc/resolv.conf "$top/etc/resolv.conf"
    # Nothing that a package script does may start or stop a service outside.
    printf "#!/bin/sh\nexit 101\n" >"$top/usr/sbin/policy-rc.d"
    chmod +x "$top/usr/sbin/policy-rc.d"
    exec chroot "$top" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root OMP_WAIT_POLICY=passive \
        ${http_proxy:+http_proxy="$http_proxy"} bash /packages/check_deb.sh --inside "$kind"
' inner "$work" $kind
echo "check_deb: installed, used, removed and purged ($kind)"
