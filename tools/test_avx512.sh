#!/usr/bin/env bash
# Runs the tests of the kernels on an emulated CPU with AVX-512, for machines that have none: Bochs boots a Debian kernel
# with nothing but the test programs. About half an hour.
#
#   tools/test_avx512.sh BUILD_FOLDER
#
# Left out: what the emulator itself gets wrong (rounding of 16-bit floats, the last bits of acos), and a test of threads
# that need two CPUs.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(cd "$1" && pwd)
sources=$(cd "$here/.." && pwd)
tests=(test_tile test_update test_softmax test_reduce test_conv test_kernels)
left_out=-TileConvert.SixteenBitFloats*:TileMath.Float64Functions*:GemmThreads.*

"$here/install_deps.sh" "$here/emulator_packages.txt"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p root/bin root/proc root/sys root/dev root/tmp disk/boot/grub

apt-get download "$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image-/ {print $2; exit}')" > /dev/null 2>&1
dpkg-deb -x linux-image-*.deb kernel
cp kernel/boot/vmlinuz-* disk/boot/vmlinuz

cp /bin/busybox root/bin/
for name in sh mount grep sort poweroff; do ln -s busybox "root/bin/$name"; done
for test in "${tests[@]}"; do
  install -D "$build/tests/$test" "root$build/tests/$test"
  # "libz.so.1 => /lib/…/libz.so.1 (0x…)", and the loader, whose path stands alone.
  ldd "$build/tests/$test" | grep -o '/[^ ]*' | sort -u | while read -r library; do
    [[ -e root$library ]] || install -D "$(realpath "$library")" "root$library"
  done
done
find root -type f -name '*isochron*' -exec strip {} +
mkdir -p "root$sources/tests/references"
cp "$sources"/tests/references/*.json "root$sources/tests/references/"
cat > root/init << END
#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /tmp
exec > /dev/ttyS0 2>&1
grep -q avx512f /proc/cpuinfo && echo "CPU: AVX-512"
for test in ${tests[@]}; do
  echo "== \$test"
  $build/tests/\$test --gtest_filter=$left_out && echo "passed: \$test"
done
echo "end of tests"
poweroff -f
END
chmod +x root/init
(cd root && find . | cpio --quiet -o -H newc) > disk/boot/initrd

# The emulator's XSAVEC does not report the sizes the kernel expects.
cat > disk/boot/grub/grub.cfg << END
set timeout=0
menuentry tests {
  linux /boot/vmlinuz console=ttyS0 mitigations=off clearcpuid=321,323 quiet panic=1
  initrd /boot/initrd
}
END
grub-mkrescue -o tests.iso disk > /dev/null 2>&1
cat > bochsrc << END
megs: 1024
cpu: model=corei7_skylake_x, count=1, ips=50000000
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0-master: type=cdrom, path=$work/tests.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/console
display_library: rfb, options="timeout=0"
clock: sync=none
sound: driver=dummy
log: $work/bochs.log
END
echo continue > commands
touch console
bochs -q -f bochsrc -rc commands < /dev/null > bochs.out 2>&1 &
emulator=$!
trap 'kill $emulator 2> /dev/null || true; rm -rf "$work"' EXIT
tail -n +1 -f --pid=$emulator console &
while kill -0 $emulator 2> /dev/null && ! grep -q "end of tests" console; do sleep 2; done
sleep 1

grep -q "CPU: AVX-512" console || { echo "the emulated CPU has no AVX-512"; exit 1; }
for test in "${tests[@]}"; do
  grep -q "passed: $test" console || { echo "$test failed on AVX-512"; exit 1; }
done
echo "all of ${tests[*]} passed on AVX-512"
