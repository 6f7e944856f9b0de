#!/bin/sh
# Makes an OCI image of falkirk from Debian's packages and a wheel, without a registry: build.sh WHEEL LAYOUT
# LAYOUT, a folder that is not there yet, gets the image `falkirk` as OCI lays it out.
# Needs Debian's packages mmdebstrap and umoci, root, a `python` with pip, and requirements.lock, which pins what is
# installed. Where MIRROR is set, it names the file of apt's sources to use. SOURCE_DATE_EPOCH dates all files.
set -eu
[ $# = 2 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
for tool in mmdebstrap umoci; do
    command -v "$tool" > /dev/null || { echo "build.sh: install Debian's package $tool" >&2; exit 1; }
done
wheel=$(realpath "$1")
layout=$2
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(stat -c %Y "$wheel")}"

root=$work/root
mmdebstrap --quiet --variant=extract --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
    --include=base-files,coreutils,dash,libc-bin,python3,sed,tzdata bookworm "$root" ${MIRROR:+"$MIRROR"}
# No package manager is in the image, nor where its packages came from; dpkg's list of them is, for scanners.
(cd "$root" && rm -rf boot etc/apt etc/hostname etc/resolv.conf home media mnt opt srv usr/share/doc usr/share/locale \
    usr/share/man var/cache/apt var/lib/apt var/log)

# Debian 12 has Python 3.11. What is fetched is of the lock's versions, and each file has one of the lock's hashes.
lock=$here/../../requirements.lock
sed -n 's/^\([A-Za-z0-9._-]*==[^ ;]*\).*/\1/p' "$lock" > "$work/versions"
python -m pip download --quiet --dest "$work/wheels" --python-version 3.11 --only-binary :all: \
    --constraint "$work/versions" "$wheel"
for file in "$work"/wheels/*; do
    digest=$(sha256sum "$file" | cut -d ' ' -f 1)
    grep -q "sha256:$digest" "$lock" || cmp -s "$file" "$wheel" || { echo "build.sh: $file is not in the lock" >&2; exit 1; }
done
site=$root/usr/local/lib/python3.11/dist-packages
mkdir -p "$site"
python -m pip install --quiet --target "$site" --python-version 3.11 --only-binary :all: --no-compile --no-index \
    --find-links "$work/wheels" "$wheel"
rm -rf "$site/bin"
install -D -m 755 "$here/falkirk" "$root/usr/local/bin/falkirk"
printf 'root:x:0:0::/:/bin/sh\nfalkirk:x:1000:1000::/var/lib/falkirk:/bin/sh\n' > "$root/etc/passwd"
printf 'root:x:0:\nfalkirk:x:1000:\n' > "$root/etc/group"
install -d -o 1000 -g 1000 -m 750 "$root/var/lib/falkirk"
chroot "$root" python3 -m compileall -qq --invalidation-mode unchecked-hash /usr/lib/python3.11 "${site#"$root"}"
tar --create --file "$work/root.tar" --directory "$root" --sort=name --numeric-owner --mtime "@$SOURCE_DATE_EPOCH" .

created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)
umoci init --layout "$layout"
umoci new --image "$layout:falkirk"
umoci raw add-layer --image "$layout:falkirk" --history.created "$created" "$work/root.tar"
umoci config --image "$layout:falkirk" --created "$created" --no-history --config.entrypoint /usr/local/bin/falkirk \
    --config.user 1000:1000 --config.workingdir /var/lib/falkirk --config.volume /var/lib/falkirk \
    --config.env PYTHONUNBUFFERED=1 --config.env PYTHONDONTWRITEBYTECODE=1
umoci gc --layout "$layout"
