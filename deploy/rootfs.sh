#!/bin/sh
# Makes the root file system of the container image: the binary, the libraries that it needs, its user, and its folders.
#
# sh deploy/rootfs.sh BINARY FOLDER     as root; FOLDER must be empty, or not there yet
#
# There is no shell in it, and nothing else to run. All of it is root's and may be read only, but for the cache. The Dockerfile runs this,
# and so does tests/tests/container.rs, which starts a host from it without a container engine.
set -eu

# As in the Dockerfile. Not a user of the machine it runs on: the number is the one that "nonroot" has in many small images.
user=65532

die() {
  echo "rootfs.sh: $*" >&2
  exit 1
}
[ $# = 2 ] || die "usage: sh deploy/rootfs.sh BINARY FOLDER"
binary=$1
root=$2
here=$(dirname "$0")
[ -x "$binary" ] || die "there is no program $binary: build it, with \`cargo build --release --package wharf\`"
mkdir -p "$root"
[ -z "$(ls -A "$root")" ] || die "$root is not empty"
[ "$(id -u)" = 0 ] || die "run it as root: the cache in it belongs to user $user"

umask 022
mkdir -p "$root/etc/ssl/certs" "$root/etc/wharf" "$root/plugins" "$root/proc" "$root/usr/bin" "$root/var/cache/wharf"
install -m 0755 "$binary" "$root/usr/bin/wharf"

# The loader and the libraries, each where the binary looks for it. A static binary has none, which ldd calls a failure.
libraries=$(ldd "$binary" 2>/dev/null) || libraries=
case $libraries in
*"not found"*) die "a library of $binary is not there: $libraries" ;;
esac
for library in $(printf '%s\n' "$libraries" | sed -n 's/^[^/]*\(\/[^ ]*\).*/\1/p'); do
  mkdir -p "$root$(dirname "$library")"
  install -m 0755 "$library" "$root$library"
done

printf 'root:x:0:0::/:/usr/sbin/nologin\nwharf:x:%s:%s::/:/usr/sbin/nologin\n' "$user" "$user" > "$root/etc/passwd"
printf 'root:x:0:\nwharf:x:%s:\n' "$user" > "$root/etc/group"
printf 'hosts: files dns\n' > "$root/etc/nsswitch.conf"
# Whom to trust over HTTPS.
certificates=/etc/ssl/certs/ca-certificates.crt
if [ -f "$certificates" ]; then
  install -m 0644 "$certificates" "$root$certificates"
else
  echo "rootfs.sh: there is no $certificates, so nothing can be fetched over HTTPS: install ca-certificates" >&2
fi
install -m 0644 "$here/wharf.toml" "$root/etc/wharf/wharf.toml"

# Compiled code is taken from nowhere that somebody else may write.
chmod 0700 "$root/var/cache/wharf"
chown "$user:$user" "$root/var/cache/wharf"
